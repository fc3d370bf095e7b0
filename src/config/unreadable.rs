//! What is said of a file that cannot be read.

use std::io::ErrorKind;
use std::path::Path;

use super::files::folder_of;
use super::names;
use super::written::said;
use crate::error::Error;

/// The error for a file that could not be read because of `cause`. If there is no such file, its hint is the file beside it
/// whose name is most like it, or that there is no such folder either.
pub fn cannot_read(file: &Path, cause: &std::io::Error) -> Error {
    let error = match cause.kind() {
        ErrorKind::NotFound => Error::input("no such file").hinted(hint(file)),
        ErrorKind::IsADirectory => Error::input("is a folder, not a file"),
        ErrorKind::InvalidData => {
            let is_trace = file.extension().is_some_and(|extension| extension == "gtrace");
            let hint = "a trace is what a run file names: workload: Trace(file: \"..\")";
            Error::input("is not UTF-8 text").hinted(is_trace.then(|| hint.to_owned()))
        }
        _ => Error::input(format!("cannot be read: {}", said(cause))),
    };
    error.in_file(file)
}

fn hint(file: &Path) -> Option<String> {
    let folder = folder_of(file);
    // A relative path begins with nothing, which does not exist either.
    let named = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty());
    if let Some(missing) = named.take_while(|folder| !folder.exists()).last() {
        return Some(format!("there is no folder {}", missing.display()));
    }
    let wanted = file.file_name()?.to_str()?;
    let near = |name: String| {
        // The end of a name says little.
        let stem = Path::new(&name).file_stem()?.to_str()?;
        let distance = match stem.eq_ignore_ascii_case(wanted) {
            true => 0,
            false => names::distance(wanted, &name, stem.len())?,
        };
        Some((distance, name))
    };
    let files = std::fs::read_dir(folder).ok()?.flatten().filter(|entry| entry.path().is_file());
    let beside = files.filter_map(|entry| entry.file_name().into_string().ok());
    let (_, name) = beside.filter_map(near).min()?;
    Some(format!("did you mean {}?", file.with_file_name(name).display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_file_that_was_meant_is_named() {
        let folder = tempfile::TempDir::new().unwrap();
        for name in ["stream.ron", "stereo.ron", "k.ptx"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("streams.ron")).unwrap();
        let hint = |name: &str| hint(&folder.path().join(name));
        let meant =
            |name: &str| Some(format!("did you mean {}?", folder.path().join(name).display()));
        assert_eq!(hint("steam.ron"), meant("stream.ron"));
        assert_eq!(hint("Stereo.ron"), meant("stereo.ron"));
        assert_eq!(hint("stereo"), meant("stereo.ron"));
        // One letter of one says nothing, and another name is another file.
        assert_eq!(hint("l.ptx"), None);
        assert_eq!(hint("matmul.ron"), None);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::TempDir::new().unwrap();
        let missing = folder.path().join("runs");
        let want = format!("there is no folder {}", missing.display());
        assert_eq!(hint(&missing.join("small/stream.ron")), Some(want));
        assert_eq!(
            hint(Path::new("none/such/file.ron")),
            Some("there is no folder none".to_owned())
        );
        assert_eq!(hint(Path::new("no-such-file")), None);
    }
}
