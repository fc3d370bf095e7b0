//! One error type: what went wrong, where, what to do about it, and the exit code it deserves.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose fault it is; decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user's input is wrong: exit code 2.
    Input,
    /// No CTA of a kernel has room on an SM of the machine: exit code 2.
    Misfit,
    /// The run failed: a wrong result, a deadlock, a file that cannot be written. Exit code 1.
    Run,
    /// gsim broke one of its own promises, such as a ledger that does not sum. Exit code 1.
    Internal,
}

/// A place in a text file; line and column count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, as the user named it.
    pub file: PathBuf,
    /// Line and column, where known.
    pub position: Option<(usize, usize)>,
}

/// An error of one line, with a hint where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Decides the exit code.
    pub kind: ErrorKind,
    /// Where in the input.
    pub location: Option<Box<Location>>,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, location: None, message: message.into(), hint: None }
    }

    /// Bad input.
    pub fn input(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Input, message)
    }

    /// A kernel that does not fit its machine.
    pub fn misfit(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Misfit, message)
    }

    /// A failed run.
    pub fn run(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Run, message)
    }

    /// A broken invariant of gsim itself.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Internal, message)
    }

    /// Adds what to do about it.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.hinted(Some(hint.into()))
    }

    /// Adds what to do about it, where that is known.
    pub fn hinted(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Adds more of what to do about it, behind what is there.
    pub fn also_hint(self, more: impl std::fmt::Display) -> Self {
        let hint = match &self.hint {
            Some(hint) => format!("{hint}; {more}"),
            None => more.to_string(),
        };
        self.hint(hint)
    }

    /// Adds the file it is about.
    pub fn in_file(mut self, file: &Path) -> Self {
        self.location = Some(Box::new(Location { file: file.to_owned(), position: None }));
        self
    }

    /// Adds the place it is about; line and column count from 1.
    pub fn at(mut self, file: &Path, line: usize, column: usize) -> Self {
        let position = Some((line, column));
        self.location = Some(Box::new(Location { file: file.to_owned(), position }));
        self
    }

    /// The exit code: 2 for bad input, 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            ErrorKind::Input | ErrorKind::Misfit => 2,
            ErrorKind::Run | ErrorKind::Internal => 1,
        }
    }
}

/// Writes text without a line break: one in the name of a file is written as it is escaped.
struct OneLine<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(&text.replace('\n', "\\n").replace('\r', "\\r"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f = &mut OneLine(f);
        if let Some(location) = &self.location {
            write!(f, "{}:", location.file.display())?;
            if let Some((line, column)) = location.position {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        if self.kind == ErrorKind::Internal {
            f.write_str("internal error: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " (hint: {hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_name_has_two_lines_is_named_in_one() {
        let error = Error::input("g\n/x\r: no such file").in_file(Path::new("a\n.ron"));
        assert_eq!(error.to_string(), "a\\n.ron: g\\n/x\\r: no such file");
    }

    #[test]
    fn an_error_is_one_line_with_place_and_hint() {
        let error = Error::input("sets is 0").at(Path::new("a.ron"), 3, 7).hint("use a power of 2");
        assert_eq!(error.to_string(), "a.ron:3:7: sets is 0 (hint: use a power of 2)");
        assert_eq!(error.exit_code(), 2);
    }
}
