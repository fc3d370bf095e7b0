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
        // The message begins with the override, without `machine.` in front.
        let is_meant = |(path, value): &&(String, Setting)| {
            let plain = path.strip_prefix("machine.").unwrap_or(path);
            [path.as_str(), plain]
                .iter()
                .any(|path| error.message.starts_with(&format!("{path}={value}: ")))
        };
        let Some((path, value)) = set.iter().rfind(is_meant) else {
            return error.in_file(&self.path);
        };
        if self.sets.iter().any(|(other, _)| other == path) {
            let message = format!("--set {}", error.message);
            return Error { message, ..error };
        }
        let field = self.config.axes.iter().enumerate().find_map(|(axis, one)| {
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
                field.extend(["set".to_owned(), path.clone()]);
            }
            Some(field)
        });
        let field = field.unwrap_or_else(|| vec!["set".to_owned(), path.clone()]);
        self.point(&field, error)
    }
}

/// Points an error at a field of a study file, or at what holds it where the text does not have it.
pub(super) fn point(path: &Path, text: &str, field: &[impl AsRef<str>], error: Error) -> Error {
    let root = Node::parse(text);
    let lengths = (0..=field.len()).rev();
    let start = lengths.filter_map(|length| root.find(&field[..length])).next();
    let (line, column) = line_column(text, start.map_or(0, |node| node.start));
    let field: Vec<&str> = field.iter().map(AsRef::as_ref).collect();
    let message = format!("{}: {}", field.join("."), describe(&error));
    Error { message, ..error }.at(path, line, column)
}
