//! Errors of what a study shows, with the field of the study file that they are about.

use crate::error::Error;

/// What can fail because of a field of a study file.
pub type Result<T> = std::result::Result<T, Misplaced>;

/// An error, and where in the study file it belongs.
#[derive(Clone, Debug)]
pub struct Misplaced {
    /// Path of the field, from whatever is looked at.
    pub field: Vec<String>,
    /// What is wrong.
    pub error: Error,
}

impl From<Error> for Misplaced {
    fn from(error: Error) -> Self {
        Misplaced { field: Vec::new(), error }
    }
}

/// Says in which field something has gone wrong, the innermost one first.
pub trait At<T> {
    /// Puts `field` in front of the path of an error.
    fn at(self, field: impl ToString) -> Result<T>;
}

impl<T, E: Into<Misplaced>> At<T> for std::result::Result<T, E> {
    fn at(self, field: impl ToString) -> Result<T> {
        self.map_err(|error| {
            let mut misplaced = error.into();
            misplaced.field.insert(0, field.to_string());
            misplaced
        })
    }
}
