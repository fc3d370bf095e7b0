//! A part of a study's runs, for one of several processes.

use std::str::FromStr;

/// One of several parts of about the same number of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which one `[1..=parts]`.
    number: usize,
    /// Parts that there are `[1..=MOST_PARTS]`.
    parts: usize,
}

/// The most parts of a study.
pub const MOST_PARTS: usize = 100_000;

impl Part {
    /// Its share of `all`: what lies together stays together.
    pub fn of<T>(self, all: &[T]) -> &[T] {
        let end = |number: usize| all.len() * number / self.parts;
        &all[end(self.number - 1)..end(self.number)]
    }
}

impl FromStr for Part {
    type Err = String;

    /// `2/8` is the second of eight parts.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, parts)| {
            Some(Part { number: number.parse().ok()?, parts: parts.parse().ok()? })
        });
        let is_there =
            |part: &Part| (1..=part.parts).contains(&part.number) && part.parts <= MOST_PARTS;
        numbers.filter(is_there).ok_or_else(|| {
            format!(
                "a part is its number and how many there are, such as 2/8; at most {MOST_PARTS}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_there_is_once_and_of_about_the_same_size() {
        for count in [0, 1, 7, 27, 100] {
            let all: Vec<usize> = (0..count).collect();
            for parts in [1, 2, 3, 8, 200] {
                let each = (1..=parts).map(|number| Part { number, parts }.of(&all));
                let each: Vec<&[usize]> = each.collect();
                assert_eq!(each.concat(), all);
                let sizes = each.iter().map(|part| part.len());
                assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn a_part_is_read_as_it_is_said() {
        assert_eq!("2/8".parse(), Ok(Part { number: 2, parts: 8 }));
        for wrong in ["0/8", "9/8", "8", "/", "1/0", "-1/8", "1/100001", "a/b"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }
}
