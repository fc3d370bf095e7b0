//! Results that gsim wrote as JSON, read back.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::parse::read_text;
use crate::error::{Error, Result};

/// What every layout has.
#[derive(Deserialize)]
struct Header {
    schema: u32,
}

/// Reads `file`, which holds `what`: a report, counters.
///
/// # Errors
/// When it cannot be read, has a layout other than version `schema`, or is something else; with the place, where there is one.
pub fn read<T: DeserializeOwned>(file: &Path, what: &str, schema: u32) -> Result<T> {
    const AGAIN: &str = "make it again with this gsim";
    let text = read_text(file)?;
    let wrong = |why: serde_json::Error| {
        let (line, column) = (why.line(), why.column());
        let why = why.to_string();
        // The place stands in front.
        let why = why.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&why);
        Error::input(format!("not {what}: {why}")).at(file, line, column)
    };
    let header: Header = serde_json::from_str(&text).map_err(wrong)?;
    if header.schema != schema {
        let message = format!("{what} of schema {}, but this gsim reads {schema}", header.schema);
        return Err(Error::input(message).in_file(file).hint(AGAIN));
    }
    // It says what it is, so another gsim wrote it.
    serde_json::from_str(&text).map_err(|why| wrong(why).hint(AGAIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Stored {
        value: u32,
    }

    /// What is said of a file with this text.
    fn read_from(text: &str) -> Result<Stored> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("stored.json");
        std::fs::write(&file, text).unwrap();
        read(&file, "a value", 3).inspect_err(|error| {
            assert_eq!(error.location.as_ref().unwrap().file, file);
        })
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert_eq!(read_from(r#"{"schema": 3, "value": 1}"#).unwrap(), Stored { value: 1 });
        let told = |text: &str| {
            let error = read_from(text).unwrap_err();
            (error.location.unwrap().position, error.message, error.hint.is_some())
        };
        let said = |text: &str| text.to_owned();
        assert_eq!(
            told("{\"schema\": 3,\n oops"),
            (Some((2, 2)), said("not a value: key must be a string"), false)
        );
        assert_eq!(
            told("[]"),
            (
                Some((1, 2)),
                said("not a value: invalid length 0, expected struct Header with 1 element"),
                false
            )
        );
        assert_eq!(
            told(r#"{"schema": 99}"#),
            (None, said("a value of schema 99, but this gsim reads 3"), true)
        );
        assert_eq!(
            told(r#"{"schema": 3}"#),
            (Some((1, 13)), said("not a value: missing field `value`"), true)
        );
    }
}
