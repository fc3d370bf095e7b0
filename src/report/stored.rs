//! Results that gsim wrote as JSON, read back.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::config::files::folder_of;
use crate::config::parse::read_text;
use crate::error::{Error, Result};

/// What every layout has.
#[derive(Deserialize)]
#[serde(expecting = "an object with its `schema`")]
struct Header {
    schema: u32,
}

/// The file that is meant by `path`: itself, or the one of that name in the folder.
pub fn file_in(path: &Path, name: &str) -> PathBuf {
    if path.is_dir() { path.join(name) } else { path.to_owned() }
}

/// Reads `file`, which holds `what`: a report, counters. Every version of its layout has `field`.
///
/// # Errors
/// When it cannot be read, has a layout other than version `schema`, or is something else; with the place, where there is one.
pub fn read<T: DeserializeOwned>(file: &Path, what: &str, schema: u32, field: &str) -> Result<T> {
    let text = read_text(file).map_err(|error| match folders_with(file) {
        _ if file.exists() => error,
        _ if file.with_file_name("runs.csv").exists() => {
            error.hint("the folder is a study's; --reports keeps its reports, in `reports` there")
        }
        folders if folders.is_empty() => error,
        folders => error.hint(format!("one of its folders: {}", folders.join(", "))),
    })?;
    let wrong = |why: serde_json::Error| {
        let (line, column) = (why.line(), why.column());
        let why = why.to_string();
        // The place stands in front.
        let why = why.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&why);
        // At the end of a file there is no letter.
        Error::input(format!("not {what}: {why}")).at(file, line, column.max(1))
    };
    let header: Header = serde_json::from_str(&text).map_err(wrong)?;
    let hint = "another gsim wrote it, or it is another file of gsim";
    if header.schema != schema {
        let fields: HashMap<String, IgnoredAny> = serde_json::from_str(&text).map_err(wrong)?;
        if !fields.contains_key(field) {
            let message = format!("not {what}: missing field `{field}`");
            return Err(Error::input(message).in_file(file).hint(hint));
        }
        let message = format!("{what} of schema {}, but this gsim reads {schema}", header.schema);
        return Err(Error::input(message).in_file(file).hint("make it again with this gsim"));
    }
    serde_json::from_str(&text).map_err(|why| wrong(why).hint(hint))
}

/// The folders beside a file in which there is one of the same name, by name.
fn folders_with(file: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder_of(file)).into_iter().flatten().flatten();
    let has_one = |folder: &Path| file.file_name().is_some_and(|name| folder.join(name).is_file());
    let folders = entries.filter(|entry| has_one(&entry.path()));
    let mut names: Vec<String> =
        folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
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
        read(&file_in(folder.path(), "stored.json"), "a value", 3, "value").inspect_err(|error| {
            assert_eq!(error.location.as_ref().unwrap().file, file);
        })
    }

    #[test]
    fn the_folders_that_have_such_a_file_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a", "empty"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in ["b", "a"] {
            std::fs::write(folder.path().join(name).join("stored.json"), "{}").unwrap();
        }
        let read = |folder: &Path| {
            read::<Stored>(&file_in(folder, "stored.json"), "a value", 3, "value").unwrap_err().hint
        };
        assert_eq!(read(folder.path()).unwrap(), "one of its folders: a, b");
        assert_eq!(read(&folder.path().join("empty")), None);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        assert_eq!(read_from(r#"{"schema": 3, "value": 1}"#).unwrap(), Stored { value: 1 });
        #[track_caller]
        fn check(text: &str, position: Option<(usize, usize)>, message: &str, is_hinted: bool) {
            let error = read_from(text).unwrap_err();
            assert_eq!(error.location.unwrap().position, position);
            assert_eq!((error.message.as_str(), error.hint.is_some()), (message, is_hinted));
        }
        let broken = "not a value: key must be a string";
        check("{\"schema\": 3,\n oops", Some((2, 2)), broken, false);
        let ended = "not a value: EOF while parsing a value";
        check("{\"schema\": 3,\n", Some((2, 1)), ended, false);
        let text = "not a value: invalid type: string \"3\", expected an object with its `schema`";
        check("\"3\"", Some((1, 3)), text, false);
        let other = "a value of schema 99, but this gsim reads 3";
        check(r#"{"schema": 99, "value": "1"}"#, None, other, true);
        let lacking = "not a value: missing field `value`";
        check(r#"{"schema": 99}"#, None, lacking, true);
        check(r#"{"schema": 3}"#, Some((1, 13)), lacking, true);
    }
}
