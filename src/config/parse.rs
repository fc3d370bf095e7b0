//! From RON text to checked types, with errors of one line that point at the offending value.

use std::path::Path;

use ron::error::SpannedError;
use ron::extensions::Extensions;
use ron::ser::PrettyConfig;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::{Segment, Track};

use super::document::{Entry, Node, line_column};
use super::files::open;
use super::names::suggest;
use super::unreadable::cannot_read;
use crate::error::{Error, Result};
use crate::serial;

/// How gsim writes RON: `Some(x)` may be `x`, and `Stencil1d((..))` may be `Stencil1d(..)`.
fn options() -> ron::Options {
    ron::Options::default()
        .with_default_extension(Extensions::IMPLICIT_SOME | Extensions::UNWRAP_VARIANT_NEWTYPES)
}

/// Reads a machine, run or study file.
///
/// An error is one line: `file:line:column: field.path: what is wrong (hint: ..)`.
pub fn read<T: DeserializeOwned>(file: &Path) -> Result<T> {
    from_text(file, &read_ron(file)?)
}

/// The text of a RON file, as [`read_text`], without the mark that some editors put in front of UTF-8.
pub fn read_ron(file: &Path) -> Result<String> {
    read_text(file).map(without_mark)
}

/// A text without the mark that some editors put in front of UTF-8.
pub fn without_mark(mut text: String) -> String {
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    text
}

/// The text of a file; an error names the file and why it cannot be read.
pub fn read_text(file: &Path) -> Result<String> {
    std::io::read_to_string(open(file)?).map_err(|cause| cannot_read(file, &cause))
}

/// Reads a machine, run or study from the text of `file`. Errors are as for [`read`].
pub fn from_text<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T> {
    diagnose(text).map_err(|problem| {
        let (line, column) = problem.position;
        let place = problem.path.join(".");
        let message = match place.as_str() {
            "" => problem.message,
            _ => format!("{place}: {}", problem.message),
        };
        Error::input(message).hinted(problem.hint).at(file, line, column)
    })
}

/// RON text of a value, as the files of gsim are written: one field a line, small structs on one.
pub fn to_text<T: Serialize>(value: &T) -> String {
    let style = PrettyConfig::new().struct_names(false).depth_limit(3).new_line("\n");
    serial::to_ron(&options(), style, value).expect("configuration types can be written as RON")
}

/// A value that a test states as RON.
#[cfg(test)]
pub fn stated<T: DeserializeOwned>(text: &str) -> T {
    from_text(Path::new("test.ron"), text).unwrap()
}

/// What the files of gsim begin with, and what becomes of each.
const KINDS: [(&str, &str); 4] = [
    ("Run", "`gsim run` takes it"),
    ("Study", "`gsim study` takes it"),
    ("Machine", "a run names it as its machine"),
    ("Micro", "`gsim calibrate micro` takes it, and on a GPU `gsim native micro`"),
];

/// What is wrong with a RON text.
pub(super) struct Problem {
    /// The field, without the names of enum variants; empty for the whole.
    pub path: Vec<String>,
    /// Line and column, both from 1: of the field, of the value, or of the syntax error.
    pub position: (usize, usize),
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Reads a typed value, or says what is wrong where.
pub(super) fn diagnose<T: DeserializeOwned>(text: &str) -> std::result::Result<T, Problem> {
    let mut parser = ron::Deserializer::from_str_with_options(text, &options())
        .map_err(|error| explain(text, Vec::new(), error))?;
    let mut track = Track::new();
    match T::deserialize(serde_path_to_error::Deserializer::new(&mut parser, &mut track)) {
        Ok(value) => match parser.end() {
            Ok(()) => repeated(text).map_or(Ok(value), Err),
            Err(code) => Err(explain(text, Vec::new(), parser.span_error(code))),
        },
        Err(code) => {
            let path = track.path();
            let path = path.iter().filter_map(|segment| match segment {
                Segment::Seq { index } => Some(index.to_string()),
                Segment::Map { key } => Some(key.clone()),
                Segment::Enum { .. } | Segment::Unknown => None,
            });
            Err(explain(text, path.collect(), parser.span_error(code)))
        }
    }
}

/// A key that a map of this text has twice: of such, the parser keeps the last, and the text still has both.
fn repeated(text: &str) -> Option<Problem> {
    fn within(node: &Node, path: &mut Vec<String>) -> Option<usize> {
        for (number, entry) in node.entries.iter().enumerate() {
            path.push(entry.key.clone());
            let is_same = |other: &Entry| other.named && other.key == entry.key;
            if entry.named && node.entries[..number].iter().any(is_same) {
                return Some(entry.key_start);
            }
            if let Some(place) = within(&entry.value, path) {
                return Some(place);
            }
            path.pop();
        }
        None
    }
    if !text.contains('{') {
        return None;
    }
    let mut path = Vec::new();
    let place = within(&Node::parse(text), &mut path)?;
    let key = path.pop()?;
    let message = format!("{key} is stated twice");
    Some(Problem { path, position: line_column(text, place), message, hint: None })
}

/// Finds the place of an error, and says it in gsim's words.
fn explain(text: &str, mut path: Vec<String>, error: SpannedError) -> Problem {
    use ron::Error as Code;
    let root = Node::parse(text);
    let start_of = |path: &[String]| root.find(path).map(|node| node.start);
    if !is_struct_like(&text[root.start..root.end]) {
        // What the parser says of a text that is something else altogether helps nobody.
        let message = "no file of gsim begins like this".to_owned();
        let begins = KINDS.map(|(name, _)| format!("`{name}(`")).join(", ");
        let hint = Some(format!("one of {begins}"));
        return Problem { path, position: line_column(text, root.start), message, hint };
    }
    let (offset, message, hint) = match &error.code {
        Code::NoSuchStructField { expected, found, .. } => {
            leave(&mut path, found);
            (
                key_of(&root, &path, found),
                format!("no field {found}"),
                Some(suggest(found, expected)),
            )
        }
        Code::NoSuchEnumVariant { expected, found, .. } => {
            (start_of(&path), format!("no variant {found}"), Some(suggest(found, expected)))
        }
        Code::MissingStructField { field, .. } => {
            leave(&mut path, field);
            (start_of(&path), format!("field {field} is missing"), None)
        }
        Code::DuplicateStructField { field, .. } => {
            leave(&mut path, field);
            (key_of(&root, &path, field), format!("field {field} is stated twice"), None)
        }
        Code::InvalidValueForType { expected, found } => {
            let node = root.find(&path);
            // The text itself says more than its kind does: `many` rather than "a unit value".
            let written = node.map(|node| &text[node.start..node.end]);
            let found = written.filter(|value| value.len() <= 40).unwrap_or(found);
            (node.map(|node| node.start), format!("expected {expected}, found {found}"), None)
        }
        Code::ExpectedDifferentStructName { expected, found } => {
            let kind = KINDS.iter().find(|(name, _)| name == found);
            let hint = kind.map(|(_, fate)| (*fate).to_owned());
            let message = match path.last() {
                // The names of types are for whole files.
                None => format!("expected {expected}(..), found {found}(..)"),
                Some(_) => format!("expected (name: value, ..), found {found}"),
            };
            (start_of(&path), message, hint)
        }
        Code::Message(message) => {
            let node = root.find(&path);
            let named =
                node.and_then(|node| match mentioned_fields(node, message).into_iter().next() {
                    Some(first) => node.find(&first),
                    None => surrounding(node, message),
                });
            let is_clock = path.last().is_some_and(|field| field.ends_with("_khz"));
            let hint = is_clock.then(|| "in kHz: 1400 MHz are 1400000".to_owned());
            (named.or(node).map(|node| node.start), message.clone(), hint)
        }
        Code::SuggestRawIdentifier(found) | Code::InvalidIdentifier(found) => {
            (start_of(&path), format!("expected a name, found {found}"), None)
        }
        code @ (Code::ExpectedStructLike | Code::ExpectedNamedStructLike(_)) => {
            let node = root.find(&path);
            let written = node.map_or("", |node| &text[node.start..node.end]);
            let hint = example(path.last().map_or("", String::as_str), written);
            (node.map(|node| node.start), in_lower_case(&code.to_string()), Some(hint))
        }
        Code::ExpectedArray => {
            let node = root.find(&path);
            let list = node.map_or("..", |node| &text[node.start..node.end]);
            let hint = Some(format!("a list stands in brackets: [{list}]"));
            (node.map(|node| node.start), in_lower_case(&error.code.to_string()), hint)
        }
        // The value has the wrong type.
        code @ (Code::ExpectedBoolean
        | Code::ExpectedFloat
        | Code::ExpectedInteger
        | Code::ExpectedMap
        | Code::ExpectedString
        | Code::ExpectedUnit
        | Code::ExpectedDifferentLength { .. }
        | Code::IntegerOutOfBounds) => (start_of(&path), in_lower_case(&code.to_string()), None),
        Code::Eof => (None, "the text ends too early".to_owned(), None),
        Code::ExpectedStructLikeEnd => (
            None,
            "expected `,` or `)`".to_owned(),
            Some("a field reads `name: value,`".to_owned()),
        ),
        // The text is not RON; only the parser knows where.
        code => (None, in_lower_case(&said(code)), None),
    };
    let position = match offset {
        Some(offset) => line_column(text, offset),
        None => (error.span.end.line, error.span.end.col),
    };
    Problem { path, position, message: message.replace('\n', " "), hint }
}

/// From a field to what holds it, where the path leads to the field itself.
fn leave(path: &mut Vec<String>, field: &str) {
    if path.last().is_some_and(|last| last == field) {
        path.pop();
    }
}

/// Where the name of a field of what the path leads to stands.
fn key_of(root: &Node, path: &[String], field: &str) -> Option<usize> {
    let full: Vec<&str> = path.iter().map(String::as_str).chain([field]).collect();
    root.entry(&full).map(|entry| entry.key_start)
}

/// What the parser says, without its advice to programmers.
pub(super) fn said(code: &ron::Error) -> String {
    match code {
        ron::Error::ExceededRecursionLimit => "Nested too deeply".to_owned(),
        code => code.to_string(),
    }
}

/// An example for `field`, of which only `written` stands where a `(` belongs.
fn example(field: &str, written: &str) -> String {
    let example = match (field, written) {
        (_, "TwoLevel") => "TwoLevel(active: 8)",
        (_, "FrFcfs") => "FrFcfs(cap: 64)",
        ("compute_capability", _) => "(9, 0)",
        ("calibration", _) => "Uncalibrated(\"where the values come from\")",
        ("workload", "Stencil1d" | "Matmul" | "Stereo") => {
            return format!("for example {written}(element: Char)");
        }
        (_, name) if name.starts_with(char::is_uppercase) => {
            return format!("its fields stand in parentheses: {name}(name: value, ..)");
        }
        _ => return "fields stand in parentheses: (name: value, ..)".to_owned(),
    };
    format!("for example {example}")
}

/// Whether a RON value may be a struct: `Name(..)` or `(..)`.
fn is_struct_like(value: &str) -> bool {
    let name = |c: char| c.is_alphanumeric() || c == '_';
    value.trim_start_matches(name).trim_start().starts_with('(')
}

fn in_lower_case(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What is there of the first field below `node` that a message names by a path, such as `x` of `x.size`.
fn surrounding<'n>(node: &'n Node, message: &str) -> Option<&'n Node> {
    let words = message.split(|c: char| c.is_whitespace() || c == ':');
    let path: Vec<&str> = words
        .map(|word| word.split('.').collect())
        .find(|path: &Vec<&str>| path.len() > 1 && node.find(&path[..1]).is_some())?;
    (1..path.len()).rev().find_map(|length| node.find(&path[..length]))
}

/// Fields of `node` that a message names, as paths from it, in the order of the message, each once.
pub(super) fn mentioned_fields(node: &Node, message: &str) -> Vec<Vec<String>> {
    let mut found: Vec<Vec<String>> = Vec::new();
    let words = message.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
    for word in words {
        let path: Vec<String> =
            word.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let is_field =
            path.first().is_some_and(|first| !first.starts_with(|c: char| c.is_numeric()))
                && node.find(&path).is_some();
        if is_field && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::{Machine, RunConfig, presets};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Whatever is cut out of a file and put in: one line, at a place that the file has.
        #[test]
        fn a_damaged_file_is_refused_in_one_line_at_a_place_in_it(
            cut in 0.0..1.0f64,
            length in 0usize..12,
            put in "[\\PC\n(){}\\[\\]:,\"'/#*r0-9a-z]{0,8}",
            run in any::<bool>(),
        ) {
            let text = match run {
                true => include_str!("../../configs/runs/stencil-char.ron"),
                false => presets::find("gtx480").unwrap().text,
            };
            let start = (cut * text.len() as f64) as usize;
            let end = (start + length).min(text.len());
            let damaged = format!("{}{put}{}", &text[..start], &text[end..]);
            let file = Path::new("a.ron");
            let error = match run {
                true => from_text::<RunConfig>(file, &damaged).err(),
                false => from_text::<Machine>(file, &damaged).err(),
            };
            if let Some(error) = error {
                prop_assert!(!error.to_string().contains('\n'), "{error}");
                let (line, column) = error.location.unwrap().position.unwrap();
                let row = damaged.split('\n').nth(line - 1);
                prop_assert!(row.is_some_and(|row| column <= row.chars().count() + 1));
            }
        }
    }
}
