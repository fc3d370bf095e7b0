//! Run files: found, read, their machine looked up, their overrides applied.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{Node, line_column};
use super::machine::Machine;
use super::overrides::{Refusal, Setting, Settings, Target};
use super::run::{RunConfig, check_name};
use super::workload::{SyntheticSpec, WorkloadSpec};
use super::{Checked, parse, presets};
use crate::error::{Error, Result};

/// A run file as it is written, before its overrides.
#[derive(Clone, Debug)]
pub struct RunFile {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// Its text, for positions in messages.
    text: String,
    /// What it says.
    pub config: RunConfig,
}

/// A run with every override applied: nothing is left to look up.
#[derive(Clone, Debug)]
pub struct ResolvedRun {
    /// The run file.
    pub path: PathBuf,
    /// The run. Its workload and seed are the final ones; `set` holds the overrides of the file and
    /// of the command line that made them so.
    pub config: RunConfig,
    /// The machine, with overrides.
    pub machine: Machine,
    /// Where the run's values come from, for messages about them.
    pub origin: Origin,
    /// Where NVRTC is, for a workload that is CUDA C++; `None` looks in the usual places.
    pub nvrtc: Option<PathBuf>,
    /// What warps do is counted by line of the kernels' sources.
    pub by_line: bool,
}

/// Where the values of a resolved run come from: the run file, and overrides.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The run file; `None` where there is none.
    file: Option<Arc<RunFile>>,
    /// What stands in front of an override from outside of the file.
    words: String,
    /// The overrides from outside of the file.
    given: Settings,
}

impl Origin {
    /// The folder that the workload's files are relative to: the run file's.
    pub fn folder(&self) -> &Path {
        let file = self.file.as_ref();
        file.and_then(|file| file.path.parent()).unwrap_or(Path::new(""))
    }

    /// Points an error at a value of the resolved run, by its path: `workload.source`.
    ///
    /// It names the place in the run file, or the override that made the value what it is. A value that
    /// the file leaves to its default is pointed at where it would stand.
    pub fn point(&self, path: &str, error: Error) -> Error {
        let is_over = |key: &&String| {
            path.strip_prefix(key.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let longest = |settings: &Settings| {
            settings.keys().filter(is_over).max_by_key(|key| key.len()).cloned()
        };
        if let Some(key) = longest(&self.given) {
            let (words, value) = (&self.words, self.given[&key].ron());
            let within = if key == path { String::new() } else { format!("{path}: ") };
            let message = format!("{words}{key}={value}: {within}{}", describe(&error));
            return Error { message, location: None, ..error };
        }
        let Some(file) = &self.file else {
            let message = format!("{path}: {}", describe(&error));
            return Error { message, location: None, ..error };
        };
        match longest(&file.config.set) {
            Some(key) => file.point(&["set", &key], path, error),
            None => {
                let root = Node::parse(&file.text);
                let mut parts: Vec<&str> = path.split('.').collect();
                while root.find(&parts).is_none() {
                    parts.pop();
                }
                file.point(&parts, path, error)
            }
        }
    }
}

impl ResolvedRun {
    /// The run as a GPU can execute it: a synthetic kernel becomes one in PTX.
    pub fn for_gpu(&self) -> ResolvedRun {
        let mut run = self.clone();
        if let WorkloadSpec::Synthetic(spec) = &mut run.config.workload {
            let kernel = SyntheticSpec { as_kernel: true, ..(**spec).clone() };
            *spec = Checked::new(kernel).expect("no other field depends on it");
        }
        run
    }
}

/// Reads a run file and applies its overrides and then those of `sets`, by path and RON value.
///
/// Errors are one line: `file:line:column: field.path: what is wrong (hint: ..)`, or
/// `--set path=value: ..` where one of `sets` is to blame.
pub fn load_run(path: &Path, sets: &[(String, Setting)]) -> Result<ResolvedRun> {
    RunFile::read(path)?.resolve(sets)
}

impl RunFile {
    /// Reads a run file.
    pub fn read(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("ptx" | "cu")) && path.exists() {
            return Err(Error::input("is a kernel, not a run file")
                .in_file(path)
                .hint("a run file names it: gsim workload show Kernel has an example"));
        }
        RunFile::from_text(path, parse::read_ron(path)?)
    }

    /// Takes a run from the text of the file at `path`.
    pub fn from_text(path: &Path, text: String) -> Result<Self> {
        let config = parse::from_text(path, &text)?;
        Ok(RunFile { path: path.to_owned(), text, config })
    }

    /// Looks the machine up and applies the overrides of the file and then those of the command line.
    ///
    /// In `sets`, `name` and `machine` are the run's own fields; `machine.name` is the machine's.
    /// The path of a machine file is relative to the run file, and in `sets` to the current folder.
    pub fn resolve(&self, sets: &[(String, Setting)]) -> Result<ResolvedRun> {
        self.resolve_for("--set ", Path::new(""), sets)
    }

    /// As [`RunFile::resolve`], for `sets` of another origin: in messages, `origin` stands in front of
    /// their `path=value`, and the path of a machine file is relative to `folder`.
    pub fn resolve_for(
        &self,
        origin: &str,
        folder: &Path,
        sets: &[(String, Setting)],
    ) -> Result<ResolvedRun> {
        // The last of several for one field counts, however the field is written.
        let given: Settings =
            sets.iter().map(|(path, setting)| (plain(path).to_owned(), setting.clone())).collect();
        let refuse = |path: &str, error: Error| {
            let value = given.get(path).map_or("", Setting::ron);
            let message = format!("{origin}{path}={value}: {}", describe(&error));
            Error { message, location: None, ..error }
        };
        let mut config = self.config.clone();
        if let Some(name) = given.get("name") {
            config.name = name.text();
            check_name(&config.name).map_err(|message| refuse("name", Error::input(message)))?;
        }
        let machine = match given.get("machine") {
            Some(reference) => {
                config.machine = reference.text();
                presets::machine(&config.machine, folder)
                    .map_err(|error| refuse("machine", error))?
            }
            None => self.machine()?,
        };

        let mut settings = self.own_settings()?;
        for (path, setting) in given.iter().filter(|(path, _)| !is_own(path)) {
            // A whole that is given replaces what the file says about its parts.
            let below = format!("{path}.");
            settings.retain(|part, _| !part.starts_with(&below));
            settings.insert(path.clone(), setting.clone());
        }
        let target = Target { machine, workload: config.workload, seed: config.seed };
        let target = target.change(&settings).map_err(|Refusal { path, error }| {
            match given.contains_key(&path) {
                true => refuse(&path, error),
                false => self.place(&path, error),
            }
        })?;
        config.workload = target.workload;
        config.seed = target.seed;
        config.set = settings;
        let words = origin.to_owned();
        let origin = Origin { file: Some(Arc::new(self.clone())), words, given };
        let machine = target.machine;
        Ok(ResolvedRun {
            path: self.path.clone(),
            config,
            machine,
            origin,
            nvrtc: None,
            by_line: false,
        })
    }

    /// The machine that the file names, without overrides.
    fn machine(&self) -> Result<Machine> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        presets::machine(&self.config.machine, folder).map_err(|error| match &error.location {
            // A mistake in a machine file has its own place.
            Some(place) if place.position.is_some() => error,
            _ => self.point(&["machine"], "machine", error),
        })
    }

    /// The overrides of the file, each field once.
    fn own_settings(&self) -> Result<Settings> {
        let mut settings = Settings::new();
        for (key, setting) in &self.config.set {
            let path = plain(key);
            let refuse = |error| Err(self.point(&["set", key], path, error));
            if is_own(path) {
                let hint = format!("change {path} of the run itself");
                return refuse(Error::input(format!("{path} cannot be set here")).hint(hint));
            }
            if settings.insert(path.to_owned(), setting.clone()).is_some() {
                return refuse(Error::input("this field is set twice"));
            }
        }
        Ok(settings)
    }

    /// Points an error at an override of this file.
    fn place(&self, path: &str, error: Error) -> Error {
        let written = self.config.set.keys().find(|key| plain(key) == path);
        let key = written.map_or(path, String::as_str);
        self.point(&["set", key], path, error)
    }

    /// Points an error at a value of this file; `name` is what the message calls it.
    fn point(&self, path: &[&str], name: &str, error: Error) -> Error {
        let offset = Node::parse(&self.text).find(path).map_or(0, |node| node.start);
        let (line, column) = line_column(&self.text, offset);
        let message = format!("{name}: {}", describe(&error));
        Error { message, ..error }.at(&self.path, line, column)
    }
}

/// Whether an override means a field of the run itself.
fn is_own(path: &str) -> bool {
    path == "name" || path == "machine"
}

/// The path of an override without `machine.` in front, unless it would become another field.
fn plain(path: &str) -> &str {
    match path.strip_prefix("machine.") {
        Some(rest) if !["name", "machine", "workload", "seed"].contains(&rest) => rest,
        _ => path,
    }
}

/// An error's message with its file in front, where it has one but no position.
pub(super) fn describe(error: &Error) -> String {
    match &error.location {
        Some(place) => match place.position {
            Some((line, column)) => {
                format!("{}:{line}:{column}: {}", place.file.display(), error.message)
            }
            None => format!("{}: {}", place.file.display(), error.message),
        },
        None => error.message.clone(),
    }
}
