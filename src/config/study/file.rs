//! A study file with the run that it varies, and the runs that come of it.

use std::path::{Path, PathBuf};

use super::mistakes::point_at_name;
use super::{Axis, StudyConfig, combinations};
use crate::config::load::{ResolvedRun, RunFile};
use crate::config::names::plain;
use crate::config::overrides::Setting;
use crate::config::parse;
use crate::config::run::check_name;
use crate::error::{Error, Result};

/// A study file and the run file that it varies.
#[derive(Clone, Debug)]
pub struct StudyFile {
    /// The study file, as the user named it.
    pub path: PathBuf,
    /// What it says.
    pub config: StudyConfig,
    /// The run that is varied.
    pub run: RunFile,
    /// What was found, for its page.
    pub findings: String,
    /// What its result folder is called: as the file says, or as the command line does.
    pub name: String,
    /// The overrides of the command line but for the name, in its order.
    pub sets: Vec<(String, Setting)>,
    /// Its text, for positions in messages.
    pub(super) text: String,
}

/// One run of a study.
#[derive(Clone, Debug)]
pub struct StudyPoint {
    /// The label of its point on each axis, in the order of the axes.
    pub labels: Vec<String>,
    /// How messages call it: `at l1.mshr_mergers 8`.
    pub place: String,
    /// The run.
    pub run: ResolvedRun,
}

impl StudyFile {
    /// Reads a study file and its run file.
    pub fn read(path: &Path) -> Result<Self> {
        StudyFile::new(path, parse::read_ron(path)?, RunFile::read)
    }

    /// Takes a study from the text of the file at `path`; `read` gets the path of its run file.
    pub(super) fn new(
        path: &Path,
        text: String,
        read: impl FnOnce(&Path) -> Result<RunFile>,
    ) -> Result<Self> {
        let config: StudyConfig = parse::from_text(path, &text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let place = |field: &str, error: Error| point_at_name(path, &text, &[field], error);
        let run = read(&folder.join(&config.run)).map_err(|error| place("run", error))?;
        let findings = match &config.findings {
            Some(file) => {
                parse::read_text(&folder.join(file)).map_err(|error| place("findings", error))?
            }
            None => String::new(),
        };
        let (path, name) = (path.to_owned(), config.name.clone());
        Ok(StudyFile { path, config, run, findings, name, sets: Vec::new(), text })
    }

    /// The study with overrides of the command line, which win over its `set`.
    ///
    /// They cannot change what an axis varies. `name` is what the result folder is called.
    pub fn with(mut self, sets: &[(String, Setting)]) -> Result<Self> {
        for (path, value) in sets {
            let refuse = |message: String| Error::input(format!("--set {path}={value}: {message}"));
            if path == "name" {
                self.name = value.text();
                check_name(&self.name).map_err(refuse)?;
                continue;
            }
            let varies = |axis: &&Axis| axis.fields().contains(path);
            if let Some(axis) = self.config.axes.iter().find(varies) {
                let message = format!("the axis {:?} varies this field", axis.name());
                return Err(refuse(message).hint("change the axis in the study file"));
            }
            self.sets.push((path.clone(), value.clone()));
        }
        Ok(self)
    }

    /// The overrides but for the name, in words: `sm.policy=Gto, l1.mshr_mergers=16`.
    pub fn settings(&self) -> String {
        let sets = self.sets.iter().map(|(path, value)| format!("{path}={value}"));
        sets.collect::<Vec<_>>().join(", ")
    }

    /// The command that simulates this study, for a shell: the program, and what it is told.
    pub fn command(&self, program: &str) -> String {
        let mut study = self.path.display().to_string();
        if study.starts_with('-') {
            study.insert_str(0, "./");
        }
        let mut command = format!("{} study {}", quoted(program), quoted(&study));
        let name = (self.name != self.config.name).then(|| format!("name={}", self.name));
        let sets = self.sets.iter().map(|(path, value)| format!("{path}={value}"));
        for set in name.into_iter().chain(sets) {
            command.push_str(" --set ");
            command.push_str(&quoted(&set));
        }
        command
    }

    /// Every run, in the order of the axes, all of them checked.
    ///
    /// The path of a machine file is relative to the study file.
    pub fn points(&self) -> Result<Vec<StudyPoint>> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let fixed: Vec<(String, Setting)> =
            self.config.set.clone().into_iter().chain(self.sets.iter().cloned()).collect();
        combinations(&self.config.axes, fixed)
            .into_iter()
            .map(|(labels, set)| {
                let run = self
                    .run
                    .resolve_for("", folder, &set)
                    .map_err(|error| self.place(&set, error))?;
                let axes = self.config.axes.iter().map(Axis::name).zip(&labels);
                let place: Vec<String> =
                    axes.map(|(axis, label)| format!("{axis} {label}")).collect();
                let place = match place.as_slice() {
                    [] => "of the study".to_owned(),
                    place => format!("at {}", place.join(", ")),
                };
                Ok(StudyPoint { labels, place, run })
            })
            .collect()
    }

    /// The same as runs of their own, called by the study's name and the labels of their points.
    pub fn runs(&self) -> Result<Vec<ResolvedRun>> {
        let named = |StudyPoint { labels, mut run, .. }: StudyPoint| {
            run.config.name = name_of(&self.name, &labels);
            run
        };
        Ok(self.points()?.into_iter().map(named).collect())
    }
}

/// A word of a command line, in quotes where a shell would make something else of it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// What the run of a point is called.
fn name_of(study: &str, labels: &[String]) -> String {
    let parts = std::iter::once(study).chain(labels.iter().map(String::as_str));
    plain(&parts.collect::<Vec<_>>().join("-"))
}
