//! A study file: one run, and the axes along which it is varied.

mod file;
pub(super) mod mistakes;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::bounded::{Check, Checked};
use super::figure::{Bars, Comparison, Figure};
use super::overrides::{Setting, Settings};
use super::run::{check_name, name};

pub use file::{StudyFile, StudyPoint, quoted};

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
    /// What becomes of the study where a kernel does not fit a machine.
    #[serde(default)]
    pub misfits: Misfits,
}

/// What becomes of a study at a run that has a misfit: a kernel of which no CTA has room on an SM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Misfits {
    /// The study ends with an error.
    #[default]
    Stop,
    /// The run has no values, and the study goes on.
    Skip,
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
        /// What the axis is, with its unit, for figures; empty for none.
        #[serde(default)]
        title: String,
        /// What figures call points, by their labels; others are called by their labels.
        #[serde(default)]
        names: BTreeMap<String, String>,
    },
    /// Several fields change together.
    Together {
        /// What plots call the axis.
        name: String,
        /// Its points.
        points: Vec<AxisPoint>,
        /// As of a `Field`.
        #[serde(default)]
        title: String,
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

    /// What the axis is, for figures; empty for none.
    pub fn title(&self) -> &str {
        match self {
            Axis::Field { title, .. } | Axis::Together { title, .. } => title,
        }
    }

    /// What figures call the point with a label.
    pub fn shown<'a>(&'a self, label: &'a str) -> &'a str {
        match self {
            Axis::Field { names, .. } => names.get(label).map_or(label, String::as_str),
            Axis::Together { .. } => label,
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
            Axis::Field { path, values, .. } => values
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

/// The number that a label is; `None` for one that is none.
pub fn number_of(label: &str) -> Option<f64> {
    label.replace('_', "").parse().ok().filter(|number: &f64| number.is_finite())
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

/// Whether points can be told apart by axis and label, and no two axes change the same field.
pub(super) fn check_axes(axes: &[Axis]) -> std::result::Result<(), String> {
    let mut seen: Vec<(&str, String)> = Vec::new();
    for (number, axis) in axes.iter().enumerate() {
        let name = axis.name();
        let labels = axis.labels();
        if labels.is_empty() {
            return Err(format!("axes: the axis {name:?} has no points"));
        }
        let mut known = BTreeSet::new();
        for (place, label) in labels.iter().enumerate() {
            if !known.insert(label) {
                let point = match axis {
                    Axis::Field { .. } => format!("values.{place}"),
                    Axis::Together { .. } => format!("points.{place}.label"),
                };
                return Err(format!("axes.{number}.{point}: {label:?} is there twice"));
            }
        }
        if let Axis::Field { names, .. } = axis
            && let Some(label) = names.keys().find(|label| !labels.contains(label))
        {
            return Err(format!(
                "axes.{number}.names.{label}: the axis {name:?} has no such point"
            ));
        }
        for field in axis.fields() {
            if let Some((other, _)) = seen.iter().find(|(_, known)| *known == field) {
                return Err(format!("axes: both {other:?} and {name:?} change {field}"));
            }
            seen.push((name, field));
        }
        if axes[..number].iter().any(|other| other.name() == name) {
            return Err(format!("axes.{number}: another axis is called {name:?} too"));
        }
    }
    Ok(())
}

/// The most runs of a study.
const MOST_RUNS: usize = 100_000;

impl Check for StudyFields {
    fn check(&self) -> std::result::Result<(), String> {
        check_name(&self.name)?;
        check_axes(&self.axes)?;
        let points = |axis: &Axis| axis.points().len();
        let runs = self.axes.iter().map(points).fold(1, usize::saturating_mul);
        if runs > MOST_RUNS {
            return Err(format!("axes: {runs} combinations, more than {MOST_RUNS}"));
        }
        const NAMELESS: &str = "the runs of a study have no names of their own";
        if self.set.contains_key("name") {
            return Err(format!("set.name: {NAMELESS}"));
        }
        for axis in &self.axes {
            if axis.fields().contains("name") {
                return Err(format!("axes: {:?} changes name, and {NAMELESS}", axis.name()));
            }
            if let Some(field) = axis.fields().iter().find(|&field| self.set.contains_key(field)) {
                let name = axis.name();
                return Err(format!("set.{field}: the axis {name:?} varies this field"));
            }
        }
        for (number, figure) in self.figures.iter().enumerate() {
            if figure.panels.is_empty() {
                return Err(format!("figures.{number}.panels: there is none"));
            }
            for (place, panel) in figure.panels.iter().enumerate() {
                if matches!(&panel.bars, Bars::Stack(parts) if parts.is_empty()) {
                    return Err(format!(
                        "figures.{number}.panels.{place}.bars: a stack of nothing"
                    ));
                }
            }
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
