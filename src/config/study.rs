//! A study file: one run, and the axes along which it is varied.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::bounded::{Check, Checked};
use super::document::{Node, line_column};
use super::figure::{Comparison, Figure};
use super::load::{ResolvedRun, RunFile, describe};
use super::overrides::{Setting, Settings};
use super::parse;
use super::run::{check_name, name};
use crate::error::{Error, Result};

/// Many simulations: every combination of the points of the axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Study")]
pub struct StudyFields {
    /// What the result folder is called: letters, digits, `-`, `_` and `.`, which does not come first.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// The run file that is varied, relative to this file.
    pub run: String,
    /// Fields that every run of the study changes, by path; they win over those of the run file.
    #[serde(default)]
    pub set: Settings,
    /// What is varied. The last axis varies fastest.
    pub axes: Vec<Axis>,
    /// What the study asks, in a sentence or two, for the head of its page.
    #[serde(default)]
    pub about: String,
    /// A Markdown file, relative to this one, with what was found; goes into the page as it is.
    #[serde(default)]
    pub findings: Option<String>,
    /// Pictures.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Tables of the study's values beside others.
    #[serde(default)]
    pub comparisons: Vec<Comparison>,
    /// Metrics that the table of all runs shows besides the cycles.
    #[serde(default)]
    pub columns: Vec<String>,
}

/// A study whose axes do not contradict each other.
pub type StudyConfig = Checked<StudyFields>;

/// One thing that is varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Axis {
    /// One field takes each of some values. Without overrides, `machine` is the run's machine.
    Field {
        /// The field's path, as in a run file's `set`.
        path: String,
        /// The values.
        values: Vec<Setting>,
    },
    /// Several fields change together.
    Together {
        /// What plots call the axis.
        name: String,
        /// Its points.
        points: Vec<AxisPoint>,
    },
}

/// A point of an axis along which several fields change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisPoint {
    /// What plots call it.
    pub label: String,
    /// The fields and their values.
    pub set: Settings,
}

impl Axis {
    /// What plots call the axis.
    pub fn name(&self) -> &str {
        match self {
            Axis::Field { path, .. } => path,
            Axis::Together { name, .. } => name,
        }
    }

    /// The fields that the axis changes, each once.
    fn fields(&self) -> BTreeSet<String> {
        self.points()
            .into_iter()
            .flat_map(|(_, set)| set.into_iter().map(|(path, _)| path))
            .collect()
    }

    /// The labels of its points.
    pub fn labels(&self) -> Vec<String> {
        self.points().into_iter().map(|(label, _)| label).collect()
    }

    /// Label and overrides of each point.
    fn points(&self) -> Vec<(String, Vec<(String, Setting)>)> {
        match self {
            Axis::Field { path, values } => values
                .iter()
                .map(|value| (value.text(), vec![(path.clone(), value.clone())]))
                .collect(),
            Axis::Together { points, .. } => points
                .iter()
                .map(|point| (point.label.clone(), point.set.clone().into_iter().collect()))
                .collect(),
        }
    }
}

/// Labels and overrides of every combination of the axes' points, which come after `fixed`; the last axis varies
/// fastest.
pub(super) fn combinations(axes: &[Axis], fixed: Vec<(String, Setting)>) -> Vec<Combination> {
    let mut combinations = vec![(Vec::new(), fixed)];
    for axis in axes {
        let points = axis.points();
        combinations = combinations
            .into_iter()
            .flat_map(|(labels, set)| {
                points.iter().map(move |(label, more)| {
                    let labels: Vec<String> = labels.iter().chain([label]).cloned().collect();
                    let set: Vec<(String, Setting)> = set.iter().chain(more).cloned().collect();
                    (labels, set)
                })
            })
            .collect();
    }
    combinations
}

/// The label of a point on each axis, and the overrides that make it.
pub(super) type Combination = (Vec<String>, Vec<(String, Setting)>);

/// The most runs of a study.
const MOST_RUNS: usize = 100_000;

impl Check for StudyFields {
    fn check(&self) -> std::result::Result<(), String> {
        check_name(&self.name)?;
        let mut runs = 1usize;
        let mut seen: Vec<(&str, String)> = Vec::new();
        for axis in &self.axes {
            let points = axis.points().len();
            if points == 0 {
                return Err(format!("axes: the axis {:?} has no points", axis.name()));
            }
            runs = runs.saturating_mul(points);
            for field in axis.fields() {
                if let Some((other, _)) = seen.iter().find(|(_, known)| *known == field) {
                    return Err(format!(
                        "axes: both {other:?} and {:?} change {field}",
                        axis.name()
                    ));
                }
                seen.push((axis.name(), field));
            }
        }
        if runs > MOST_RUNS {
            return Err(format!("axes: {runs} combinations, more than {MOST_RUNS}"));
        }
        for (number, figure) in self.figures.iter().enumerate() {
            let same = |other: &Figure| other.file.eq_ignore_ascii_case(&figure.file);
            if let Some(other) = self.figures[..number].iter().position(same) {
                return Err(format!(
                    "figures.{number}.file: {:?} is that of figures.{other} already",
                    figure.file
                ));
            }
        }
        Ok(())
    }
}

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
    text: String,
}

/// One run of a study.
#[derive(Clone, Debug)]
pub struct StudyPoint {
    /// The label of its point on each axis, in the order of the axes.
    pub labels: Vec<String>,
    /// The run.
    pub run: ResolvedRun,
}

impl StudyFile {
    /// Reads a study file and its run file.
    pub fn read(path: &Path) -> Result<Self> {
        StudyFile::new(path, parse::read_ron(path)?, RunFile::read)
    }

    /// Takes a study from the text of the file at `path`; `read` gets the path of its run file.
    fn new(path: &Path, text: String, read: impl FnOnce(&Path) -> Result<RunFile>) -> Result<Self> {
        let config: StudyConfig = parse::from_text(path, &text)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        // A mistake in the other file has its own place; that there is none has one here.
        let place = |field: &str, error: Error| match &error.location {
            Some(place) if place.position.is_some() => error,
            _ => point(path, &text, &[field], error),
        };
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

    /// Points an error at a field of this file.
    pub fn point(&self, field: &[String], error: Error) -> Error {
        point(&self.path, &self.text, field, error)
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

    /// The command that simulates this study, for a shell.
    pub fn command(&self) -> String {
        let mut command = format!("gsim study {}", quoted(&self.path.display().to_string()));
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
                Ok(StudyPoint { labels, run })
            })
            .collect()
    }

    /// Points an error of a run at the override in this file or on the command line that it is about.
    fn place(&self, set: &[(String, Setting)], error: Error) -> Error {
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
                Axis::Field { path: varied, values } => {
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

    /// The same as runs of their own, called by the study's name and the labels of their points.
    pub fn runs(&self) -> Result<Vec<ResolvedRun>> {
        let named = |StudyPoint { labels, mut run }: StudyPoint| {
            run.config.name = name_of(&self.name, &labels);
            run
        };
        Ok(self.points()?.into_iter().map(named).collect())
    }
}

/// Points an error at a field of a study file, or at what holds it where the text does not have it.
fn point(path: &Path, text: &str, field: &[impl AsRef<str>], error: Error) -> Error {
    let root = Node::parse(text);
    let lengths = (0..=field.len()).rev();
    let start = lengths.filter_map(|length| root.find(&field[..length])).next();
    let (line, column) = line_column(text, start.map_or(0, |node| node.start));
    let field: Vec<&str> = field.iter().map(AsRef::as_ref).collect();
    let message = format!("{}: {}", field.join("."), describe(&error));
    Error { message, ..error }.at(path, line, column)
}

/// A word of a command line, in quotes where a shell would make something else of it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// A folder's name made of labels: what a name may not hold becomes `-`.
fn name_of(study: &str, labels: &[String]) -> String {
    let parts = std::iter::once(study).chain(labels.iter().map(String::as_str));
    let name = parts.collect::<Vec<_>>().join("-");
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::WorkloadSpec;

    fn study(text: &str) -> Result<StudyFile> {
        let run = r#"Run(name: "r", machine: "gtx480", workload: Stencil1d(element: Char))"#;
        let path = Path::new("study.ron");
        let run = RunFile::from_text(Path::new("run.ron"), run.to_owned())?;
        StudyFile::new(path, text.to_owned(), |_| Ok(run))
    }

    #[test]
    fn the_axes_are_crossed_and_the_last_one_varies_fastest() {
        let study = study(
            r#"Study(name: "s", run: "run.ron", set: {"seed": 3}, axes: [
                Field(path: "workload.element", values: [Int, Char]),
                Together(name: "L1", points: [
                    (label: "16 KiB", set: {"l1.sets": 32}),
                    (label: "32 KiB", set: {"l1.sets": 64, "l1.size": 32768}),
                ]),
            ])"#,
        )
        .unwrap();
        let points = study.points().unwrap();
        let labels: Vec<String> = points.iter().map(|point| point.labels.join(" ")).collect();
        assert_eq!(labels, ["Int 16 KiB", "Int 32 KiB", "Char 16 KiB", "Char 32 KiB"]);
        let sizes: Vec<u32> = points.iter().map(|point| point.run.machine.l1.size.get()).collect();
        assert_eq!(sizes, [16384, 32768, 16384, 32768]);
        assert!(points.iter().all(|point| point.run.config.seed == 3));
    }

    #[test]
    fn the_command_of_a_study_has_what_was_set() {
        let text = r#"(name: "s", run: "r", axes: [Field(path: "seed", values: [1])])"#;
        let sets = [("l1.sets", "64"), ("name", "\"t\""), ("sm.policy", "TwoLevel(active: 8)")]
            .map(|(path, value)| (path.to_owned(), Setting::new(value)));
        let study = study(text).unwrap().with(&sets).unwrap();
        assert_eq!(
            study.command(),
            "gsim study study.ron --set name=t --set l1.sets=64 --set 'sm.policy=TwoLevel(active: 8)'"
        );
        assert_eq!((study.name.as_str(), study.config.name.as_str()), ("t", "s"));
        assert_eq!(quoted("a'b"), r"'a'\''b'");
        assert_eq!(
            study.with(&[("name".to_owned(), Setting::new("../t"))]).unwrap_err().to_string(),
            "--set name=../t: the name \"../t\" starts with a dot"
        );
    }

    #[test]
    fn a_study_that_contradicts_itself_is_refused() {
        for (axes, want) in [
            (
                r#"[Field(path: "seed", values: [])]"#,
                "study.ron:1:40: axes: the axis \"seed\" has no points",
            ),
            (
                r#"[Field(path: "seed", values: [1]), Field(path: "seed", values: [2])]"#,
                "study.ron:1:40: axes: both \"seed\" and \"seed\" change seed",
            ),
            (
                r#"[Field(path: "seed", value: [1])]"#,
                "study.ron:1:61: axes.0: no field value (hint: did you mean values?)",
            ),
            (
                r#"[], figures: [(file: "../x", title: "", panels: [])]"#,
                "study.ron:1:61: figures.0.file: the name \"../x\" starts with a dot",
            ),
            (
                r#"[], figures: [(file: "/x", title: "", panels: [])]"#,
                "study.ron:1:61: figures.0.file: the name \"/x\" has '/'; it may hold letters, digits, \
                 '-', '_' and '.'",
            ),
            (
                r#"[], figures: [(file: "", title: "", panels: [])]"#,
                "study.ron:1:61: figures.0.file: the name is empty",
            ),
            (
                r#"[], figures: [(file: "a", title: "", panels: []), (file: "A", title: "", panels: [])]"#,
                "study.ron:1:97: figures.1.file: \"A\" is that of figures.0 already",
            ),
        ] {
            let text = format!("Study(name: \"s\", run: \"run.ron\", axes: {axes})");
            assert_eq!(study(&text).unwrap_err().to_string(), want);
        }
        let text = r#"(name: "s", run: "r", axes: [Field(path: "seed", values: [1])])"#;
        let set = [("seed".to_owned(), Setting::new("2"))];
        assert_eq!(
            study(text).unwrap().with(&set).unwrap_err().to_string(),
            "--set seed=2: the axis \"seed\" varies this field (hint: change the axis in the study file)"
        );
        let text = r#"(name: "s", run: "r", axes: [Field(path: "l1.sets", values: [32, 64])])"#;
        assert_eq!(
            study(text).unwrap().points().unwrap_err().to_string(),
            "study.ron:1:66: axes.0.values.1: l1.sets=64: sets (64) x ways (4) x line (128) = 32768, but size is 16384 \
             (hint: set l1.ways, l1.line or l1.size too)"
        );
        let text = r#"(name: "s", run: "r", axes: [Together(name: "a", points: [(label: "b", set: {"l1.sets": 0})])])"#;
        assert_eq!(
            study(text).unwrap().points().unwrap_err().to_string(),
            "study.ron:1:89: axes.0.points.0.set.l1.sets: l1.sets=0: 0 is outside 1..=4096"
        );
        let text = r#"(name: "s", run: "r", axes: [])"#;
        let set = [("l1.mshr_mergers".to_owned(), Setting::new("65"))];
        assert_eq!(
            study(text).unwrap().with(&set).unwrap().points().unwrap_err().to_string(),
            "--set l1.mshr_mergers=65: 65 is outside 1..=64"
        );
    }

    #[test]
    fn the_studies_that_come_with_gsim_are_right() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/studies")];
        let mut studies = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "ron") {
                    let study = StudyFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
                    assert!(!study.points().unwrap_or_else(|error| panic!("{error}")).is_empty());
                    studies += 1;
                }
            }
        }
        assert!(studies >= 3, "{studies}");
    }

    #[test]
    fn an_axis_of_whole_workloads_goes_with_one_over_a_field_that_they_share() {
        let study = study(
            r#"Study(name: "s", run: "run.ron", axes: [
                Together(name: "application", points: [
                    (label: "product", set: {"workload": Matmul(element: Int, size: 64)}),
                    (label: "stereo", set: {"workload": Stereo(element: Int), "workload.width": 64}),
                ]),
                Field(path: "workload.element", values: [Int, Char]),
                Field(path: "machine", values: ["gtx480"]),
            ])"#,
        )
        .unwrap();
        let points = study.points().unwrap();
        let specs: Vec<WorkloadSpec> =
            points.into_iter().map(|point| point.run.config.workload).collect();
        let wanted = [
            "Matmul((element: Int, size: 64))",
            "Matmul((element: Char, size: 64))",
            "Stereo((element: Int, width: 64))",
            "Stereo((element: Char, width: 64))",
        ];
        assert_eq!(specs, wanted.map(|text| ron::from_str(text).unwrap()));
    }
}
