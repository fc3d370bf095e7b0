//! Mistakes in a study, pointed at in its file: what a run of it, its figures and its tables find wrong.

use std::path::Path;

use super::{Axis, StudyFile};
use crate::config::document::{Node, line_column};
use crate::config::load::describe;
use crate::config::overrides::Setting;
use crate::error::Error;

impl StudyFile {
    /// Points an error at a field of this file.
    pub fn point(&self, field: &[String], error: Error) -> Error {
        point(&self.path, &self.text, field, error)
    }

    /// Points an error of a run at the override in this file or on the command line that it is about.
    pub(super) fn place(&self, set: &[(String, Setting)], error: Error) -> Error {
        // A mistake in the run or machine file has its own place.
        if error.location.is_some() {
            return error;
        }
        let Some((path, value)) = meant(set, &error) else {
            return error.in_file(&self.path);
        };
        if self.sets.iter().any(|(other, _)| other == path) {
            return of_command_line(error);
        }
        let of_axis = field_of_axis(&self.config.axes, path, value);
        let field = of_axis.unwrap_or_else(|| vec!["set".to_owned(), path.clone()]);
        self.point(&field, error)
    }
}

/// The override among those of a run that its error is about: the message begins with it, without `machine.` in front.
pub fn meant<'s>(set: &'s [(String, Setting)], error: &Error) -> Option<&'s (String, Setting)> {
    set.iter().rfind(|(path, value)| {
        let plain = path.strip_prefix("machine.").unwrap_or(path);
        [path.as_str(), plain]
            .iter()
            .any(|path| error.message.starts_with(&format!("{path}={value}: ")))
    })
}

/// The error of an override of the command line.
pub fn of_command_line(error: Error) -> Error {
    let message = format!("--set {}", error.message);
    Error { message, ..error }
}

/// Where one of these axes, which are the field `axes` of something, sets `path` to `value`.
pub fn field_of_axis(axes: &[Axis], path: &str, value: &Setting) -> Option<Vec<String>> {
    axes.iter().enumerate().find_map(|(axis, one)| {
        let (list, point) = match one {
            Axis::Field { path: varied, values, .. } => {
                ("values", values.iter().position(|other| varied == path && other == value))
            }
            Axis::Together { points, .. } => {
                ("points", points.iter().position(|point| point.set.get(path) == Some(value)))
            }
        };
        let mut field = vec!["axes".to_owned(), axis.to_string(), list.to_owned()];
        field.push(point?.to_string());
        if list == "points" {
            field.extend(["set".to_owned(), path.to_owned()]);
        }
        Some(field)
    })
}

/// As [`point`], at a field that names another file: a mistake in that has its own place, and that there is none has one here.
pub fn point_at_name(path: &Path, text: &str, field: &[impl AsRef<str>], error: Error) -> Error {
    match &error.location {
        Some(place) if place.position.is_some() => error,
        _ => point(path, text, field, error),
    }
}

/// Points an error at a field of a file, or at what holds it where the text does not have it.
pub fn point(path: &Path, text: &str, field: &[impl AsRef<str>], error: Error) -> Error {
    let root = Node::parse(text);
    let lengths = (0..=field.len()).rev();
    let start = lengths.filter_map(|length| root.find(&field[..length])).next();
    let (line, column) = line_column(text, start.map_or(0, |node| node.start));
    let field: Vec<&str> = field.iter().map(AsRef::as_ref).collect();
    let message = format!("{}: {}", field.join("."), describe(&error));
    Error { message, ..error }.at(path, line, column)
}
