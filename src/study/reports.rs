//! The reports of a study's runs, each in a folder of its own.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::table::Table;
use crate::config::written::said;
use crate::error::{Error, Result};
use crate::partial::uninterrupted;
use crate::report::{Pictures, Report};

/// The folder that holds them, in the study's.
const FOLDER: &str = "reports";

/// What a study keeps of each run beside its row in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// Nothing.
    None,
    /// Its report, as `gsim run` writes it without pictures, in `reports/NUMBER-LABELS`. The numbers are those of the table's
    /// rows, from one on; a row without a report has no folder.
    All,
}

/// Letters of a folder's name, at most.
const LONGEST: usize = 80;

/// Writes all reports to `folder`. Each takes the name of its folder.
pub(super) fn write(table: &Table, folder: &Path) -> Result<()> {
    let folder = folder.join(FOLDER);
    let count = table.outcomes().len();
    let digits = count.to_string().len();
    for (row, (place, outcome)) in table.places().iter().zip(table.outcomes()).enumerate() {
        let Some(report) = outcome.report() else { continue };
        let labels = table.axes().map(|axis| place[axis].as_str());
        let name = format!("{:0digits$}-{}", row + 1, words(labels));
        let mut report = Report::deserialize(report)
            .map_err(|why| Error::internal(format!("a report in memory: {why}")))?;
        // Labels may have no letter that goes into a name.
        let name = name.trim_end_matches('-').to_owned();
        let place = folder.join(&name);
        report.name = name;
        uninterrupted(|| fs::create_dir_all(&place))
            .map_err(|why| Error::run(format!("cannot be made: {}", said(&why))).in_file(&place))?;
        report.write(&place, Pictures::None)?;
    }
    Ok(())
}

/// Labels as a part of a folder's name, for every file system and shell: letters, digits, dots, underscores and dashes. A sign at
/// the end of a label is a word.
fn words<'t>(labels: impl Iterator<Item = &'t str>) -> String {
    let mut words = String::new();
    for label in labels {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._".contains(letter);
        let sign = match label.chars().next_back() {
            Some('+') => "plus",
            Some('-') => "minus",
            _ => "",
        };
        let parts = label.split(|letter| !is_plain(letter)).chain([sign]);
        for word in parts.filter(|word| !word.is_empty()) {
            let dash = if words.is_empty() { "" } else { "-" };
            let room = LONGEST - words.len();
            if dash.len() + word.len() > room {
                // Of a word that is longer than a name, there is the beginning.
                if words.is_empty() {
                    words += &word[..room];
                }
                return words;
            }
            words += dash;
            words += word;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_called_by_the_labels_as_far_as_names_go() {
        let words = |labels: &[&str]| words(labels.iter().copied());
        assert_eq!(words(&["Char", "32 x 8"]), "Char-32-x-8");
        assert_eq!(words(&["TwoLevel(active: 8)", "0.5"]), "TwoLevel-active-8-0.5");
        assert_eq!(words(&["../.."]), "..-..");
        assert_eq!(words(&["µ", "a|b"]), "a-b");
        let long = "a".repeat(50);
        assert_eq!(words(&[&long, &long]), long);
        assert_eq!(words(&[&"a".repeat(81)]), "a".repeat(80));
        assert_eq!(words(&["Int", "MSHR+"]), "Int-MSHR-plus");
        assert_eq!(words(&["Int", "MSHR-"]), "Int-MSHR-minus");
    }
}
