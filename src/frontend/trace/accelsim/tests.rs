//! No text makes the conversion panic, and what it writes can be read.

use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::frontend::trace::TraceReader;
use crate::isa::{Cta, LaunchSource};

/// One change of a text.
#[derive(Clone, Debug)]
enum Damage {
    /// A byte becomes another one.
    Byte(prop::sample::Index, u8),
    /// A line goes to the place of another, which goes to its.
    Swap(prop::sample::Index, prop::sample::Index),
    /// A word takes the place of another.
    Word(prop::sample::Index, prop::sample::Index),
    /// A line is gone.
    Drop(prop::sample::Index),
}

fn damages() -> impl Strategy<Value = Damage> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        (place(), b' '..b'z').prop_map(|(place, byte)| Damage::Byte(place, byte)),
        (place(), place()).prop_map(|(one, other)| Damage::Swap(one, other)),
        (place(), place()).prop_map(|(one, other)| Damage::Word(one, other)),
        place().prop_map(Damage::Drop),
    ]
}

fn damaged(text: &str, damage: &Damage) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    match damage {
        Damage::Byte(place, byte) => {
            let mut bytes = text.as_bytes().to_vec();
            let place = place.index(bytes.len());
            bytes[place] = *byte;
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        Damage::Swap(one, other) => {
            let count = lines.len();
            lines.swap(one.index(count), other.index(count));
        }
        Damage::Word(one, other) => {
            let words: Vec<&str> = text.split(' ').collect();
            let (one, other) = (one.index(words.len()), other.index(words.len()));
            let mut changed = words.clone();
            changed[one] = words[other];
            return changed.join(" ");
        }
        Damage::Drop(line) => {
            lines.remove(line.index(lines.len()));
        }
    }
    lines.join("\n")
}

proptest! {
    #[test]
    fn no_text_makes_the_conversion_panic(damage in vec(damages(), 1..4)) {
        let text = include_str!("../../../../tests/traces/kernel-1.traceg");
        let text = damage.iter().fold(text.to_owned(), |text, damage| damaged(&text, damage));
        let folder = TempDir::new().unwrap();
        let [from, to] = ["k.traceg", "k.gtrace"].map(|name| folder.path().join(name));
        fs::write(&from, text).unwrap();
        match import(&from, &to, 1, &mut |_, _| ()) {
            Ok(imported) => {
                let mut reader = TraceReader::open(&to).unwrap();
                let mut cta = Cta::default();
                while reader.begin().unwrap().is_some() {
                    while reader.next(&mut cta).unwrap() {}
                }
                prop_assert_eq!(reader.read(), imported.end);
            }
            Err(error) => {
                prop_assert!(error.location.is_some(), "{error}");
                prop_assert!(!to.exists());
            }
        }
    }
}
