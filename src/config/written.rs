//! Files that are written: what may stand in their place, and what is said of those that cannot be.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::files::{folder_of, open};
use crate::error::{Error, Result};

/// The cause in words, without the number that the system has for it.
pub fn said(cause: &io::Error) -> String {
    match cause.raw_os_error() {
        Some(_) => cause.kind().to_string(),
        None => cause.to_string(),
    }
}

/// The error for a file that could not be written because of `cause`.
pub fn cannot_write(path: &Path, cause: &io::Error) -> Error {
    Error::run(format!("cannot be written: {}", said(cause))).in_file(path)
}

/// The folder that a file is in, which must be there.
///
/// # Errors
/// When it is not there, or is no folder.
pub fn existing_folder_of(path: &Path) -> Result<&Path> {
    let folder = folder_of(path);
    let wrong = |what: &str| Err(Error::input(what).in_file(folder));
    match fs::metadata(folder) {
        Ok(is) if !is.is_dir() => wrong("is no folder"),
        Err(cause) if cause.kind() == ErrorKind::NotFound => wrong("no such folder"),
        // What else is wrong is said when the file is written.
        _ => Ok(folder),
    }
}

/// The file that a new one is to replace; none where nothing stands there.
///
/// # Errors
/// When what stands there is no plain file, or cannot be read.
pub fn replaced(path: &Path) -> Result<Option<File>> {
    match fs::symlink_metadata(path) {
        Ok(_) => open(path).map(Some),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_in_words() {
        assert_eq!(said(&io::Error::from_raw_os_error(2)), "entity not found");
        assert_eq!(said(&io::Error::other("too long")), "too long");
    }

    #[test]
    fn a_folder_must_be_there() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("a");
        assert_eq!(existing_folder_of(&file).unwrap(), folder.path());
        assert_eq!(existing_folder_of(Path::new("a")).unwrap(), Path::new("."));
        fs::write(&file, "").unwrap();
        let error = existing_folder_of(&file.join("b")).unwrap_err();
        assert_eq!(error, Error::input("is no folder").in_file(&file));
        let none = folder.path().join("none");
        let error = existing_folder_of(&none.join("b")).unwrap_err();
        assert_eq!(error, Error::input("no such folder").in_file(&none));
    }
}
