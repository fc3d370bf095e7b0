//! Micro-benchmark files: questions to a machine, each the slope of a run's time over its work.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::bounded::Bounded;
use super::kernel::Amount;
use super::load::{ResolvedRun, RunFile};
use super::names::plain;
use super::overrides::{Setting, Settings};
use super::parse;
use super::run::check_name;
use super::study::mistakes;
use super::study::{Axis, check_axes, combinations};
use super::workload::WorkloadSpec;
use super::{Check, Checked};
use crate::error::{Error, Result};

/// Micro-benchmarks, in the order in which tables show them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Micro")]
pub struct MicroFields {
    /// What the result folder is called.
    pub name: String,
    /// The machine that they ask about; it wins over that of the run files.
    pub machine: String,
    /// The questions.
    pub benchmarks: Vec<Benchmark>,
}

/// A micro-benchmark file whose names do not repeat.
pub type MicroConfig = Checked<MicroFields>;

/// One question: a run made twice with different amounts of work. What does not depend on the work, such as the
/// launch, cancels out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// Its name.
    pub name: String,
    /// The run file, relative to this file; its workload is a `Kernel`.
    pub run: String,
    /// Fields that it changes, by path.
    #[serde(default)]
    pub set: Settings,
    /// What is varied; each combination is a question of its own.
    #[serde(default)]
    pub axes: Vec<Axis>,
    /// What of its points is compared.
    #[serde(default)]
    pub points: Points,
    /// The parameter of the kernel that makes the difference, and its two values.
    pub over: (String, Setting, Setting),
    /// How much work a run does: an expression over the kernel's parameters.
    pub work: Amount,
    /// What is asked.
    pub asks: Asks,
    /// The clock of the GPU's SMs while the kernel runs, as a part of the one that was measured beside it [(count, of), 1..=1000 each]. On
    /// Hopper it is (10, 11) while tensor cores multiply.
    #[serde(default = "whole_clock")]
    pub clock: (Bounded<1, 1000>, Bounded<1, 1000>),
}

fn whole_clock() -> (Bounded<1, 1000>, Bounded<1, 1000>) {
    (Bounded::LEAST, Bounded::LEAST)
}

/// What of a question's points is compared with a GPU's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Points {
    /// Each.
    #[default]
    Each,
    /// Their mean and quartiles: they are samples of something that no program can choose and that differs from card to
    /// card, such as where a line or an SM lies.
    Samples,
}

/// What a micro-benchmark asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Asks {
    /// Core cycles for a unit of work, which has this name.
    CyclesPer(String),
    /// Units of work in a core cycle.
    PerCycle(String),
}

impl Benchmark {
    /// What its picture is called, without the extension.
    pub fn picture(&self) -> String {
        plain(&self.name.to_lowercase())
    }

    /// A GPU's answer, in cycles of the clock that was measured beside it, in those of the clock that the SMs had.
    pub fn at_clock(&self, answer: f64) -> f64 {
        let (part, of) = self.clock;
        let clock = f64::from(part.get()) / f64::from(of.get());
        match self.asks {
            Asks::CyclesPer(_) => answer * clock,
            Asks::PerCycle(_) => answer / clock,
        }
    }
}

impl Asks {
    /// The unit of the answer.
    pub fn unit(&self) -> String {
        match self {
            Asks::CyclesPer(what) => format!("cycles/{what}"),
            Asks::PerCycle(what) => format!("{what}s/cycle"),
        }
    }

    /// The answer, of the difference of two runs' cycles and work.
    pub fn answer(&self, cycles: f64, work: f64) -> f64 {
        match self {
            Asks::CyclesPer(_) => cycles / work,
            Asks::PerCycle(_) => work / cycles,
        }
    }
}

impl Check for MicroFields {
    fn check(&self) -> std::result::Result<(), String> {
        check_name(&self.name)?;
        for (place, benchmark) in self.benchmarks.iter().enumerate() {
            let before = &self.benchmarks[..place];
            // Two of one name would also have one picture.
            let is_taken = |other: &&Benchmark| other.picture() == benchmark.picture();
            if let Some(other) = before.iter().find(is_taken) {
                return Err(format!(
                    "benchmarks.{place}.name: {:?} and {:?} would have the same picture, {}.png",
                    other.name,
                    benchmark.name,
                    benchmark.picture()
                ));
            }
            check_axes(&benchmark.axes).map_err(|why| format!("benchmarks.{place}.{why}"))?;
            if benchmark.over.1 == benchmark.over.2 {
                return Err(format!("benchmarks.{place}.over: both values are the same"));
            }
        }
        Ok(())
    }
}

/// A micro-benchmark file.
#[derive(Clone, Debug)]
pub struct MicroFile {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// What it says.
    pub config: MicroConfig,
    text: String,
}

/// One combination of a benchmark's axes.
#[derive(Clone, Debug)]
pub struct MicroPoint {
    /// The benchmark's place in the file.
    pub benchmark: usize,
    /// The label of its point on each axis.
    pub labels: Vec<String>,
    /// The run with less and with more work, or the other way round.
    pub runs: [ResolvedRun; 2],
    /// How much more work the second does.
    pub work: f64,
}

/// Overrides, by path.
type Sets = [(String, Setting)];

impl MicroFile {
    /// Reads a micro-benchmark file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = parse::read_ron(path)?;
        let config = parse::from_text(path, &text)?;
        Ok(MicroFile { path: path.to_owned(), config, text })
    }

    /// Every question, all runs checked. `sets` win over what the file says.
    pub fn points(&self, sets: &Sets) -> Result<Vec<MicroPoint>> {
        let mut points = Vec::new();
        for (place, benchmark) in self.config.benchmarks.iter().enumerate() {
            let folder = self.path.parent().unwrap_or(Path::new(""));
            let file = RunFile::read(&folder.join(&benchmark.run)).map_err(|error| {
                let field = field_of(place, &["run".to_owned()]);
                mistakes::point_at_name(&self.path, &self.text, &field, error)
            })?;
            let machine = ("machine".to_owned(), Setting::new(&self.config.machine));
            let set = std::iter::once(machine).chain(benchmark.set.clone());
            for (labels, set) in combinations(&benchmark.axes, set.collect()) {
                let (parameter, less, more) = &benchmark.over;
                let path = format!("workload.parameters.{parameter}");
                let run = |number: usize, value: &Setting| -> Result<ResolvedRun> {
                    let mut all = set.clone();
                    all.push((path.clone(), value.clone()));
                    all.extend(sets.iter().cloned());
                    file.resolve_for("", folder, &all).map_err(|error| {
                        let of_over = ["over".to_owned(), number.to_string()];
                        self.place(place, (&path, &of_over), (&all, sets), error)
                    })
                };
                let refuse =
                    |why: String| self.point(place, &["work".to_owned()], Error::input(why));
                let work = |run: &ResolvedRun| -> Result<f64> {
                    let WorkloadSpec::Kernel(spec) = &run.config.workload else {
                        let why = Error::input("the run's workload is no Kernel");
                        return Err(self.point(place, &["run".to_owned()], why));
                    };
                    let amount = spec.scope().and_then(|scope| benchmark.work.whole(&scope));
                    amount.map(|amount| amount as f64).map_err(refuse)
                };
                let runs = [run(1, less)?, run(2, more)?];
                let work = work(&runs[1])? - work(&runs[0])?;
                if work == 0.0 {
                    return Err(refuse("both runs do the same".to_owned()));
                }
                points.push(MicroPoint { benchmark: place, labels, runs, work });
            }
        }
        Ok(points)
    }

    /// Points an error at a field of a benchmark.
    fn point(&self, benchmark: usize, field: &[String], error: Error) -> Error {
        mistakes::point(&self.path, &self.text, &field_of(benchmark, field), error)
    }

    /// Points an error of a run of a benchmark at the override that it is about: `over` is the path that its work varies, with the
    /// field of its value, and `sets` are those of the command line among `all`.
    fn place(
        &self,
        benchmark: usize,
        (over, of_over): (&str, &[String]),
        (all, sets): (&Sets, &Sets),
        error: Error,
    ) -> Error {
        // A mistake in another file has its own place.
        if error.location.is_some() {
            return error;
        }
        let Some((path, value)) = mistakes::meant(all, &error) else {
            return self.point(benchmark, &[], error);
        };
        if sets.iter().any(|(other, _)| other == path) {
            return mistakes::of_command_line(error);
        }
        let Benchmark { axes, set, .. } = &self.config.benchmarks[benchmark];
        match mistakes::field_of_axis(axes, path, value) {
            Some(field) => self.point(benchmark, &field, error),
            None if path == over => self.point(benchmark, of_over, error),
            None if set.contains_key(path) => {
                self.point(benchmark, &["set".to_owned(), path.clone()], error)
            }
            None => {
                // The field says what was set.
                let what = error.message.strip_prefix(&format!("{path}={value}: "));
                let message = what.unwrap_or(&error.message).to_owned();
                let error = Error { message, ..error };
                mistakes::point(&self.path, &self.text, &["machine"], error)
            }
        }
    }
}

/// A field of a benchmark, from the top.
fn field_of(benchmark: usize, field: &[String]) -> Vec<String> {
    [&["benchmarks".to_owned(), benchmark.to_string()], field].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a file whose only benchmark has these fields.
    fn wrong(machine: &str, fields: &str, sets: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.ron");
        let chase = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/micro/chase.ron");
        let fields = fields.replace("chase", chase.to_str().unwrap());
        let text = format!(
            "Micro(\n    name: \"m\",\n    machine: {machine:?},\n    benchmarks: [(\n        {fields}\n    )],\n)\n"
        );
        std::fs::write(&path, text).unwrap();
        let sets = sets.iter().map(|(path, value)| (path.to_string(), Setting::new(value)));
        let file = MicroFile::read(&path).unwrap();
        let error = file.points(&sets.collect::<Vec<_>>()).unwrap_err().to_string();
        error.replace(&format!("{}{}", folder.path().display(), std::path::MAIN_SEPARATOR), "")
    }

    #[test]
    fn a_mistake_is_pointed_at_where_it_stands() {
        const REST: &str = r#"work: "hops", asks: CyclesPer("load")"#;
        let over = r#"name: "a", run: "chase", over: ("hops", 8192, 24576), "#;
        let cases = [
            ("h20", String::new(), "m.ron:3:14: machine: no preset"),
            ("h200", r#"set: {"l1.way": 3}, "#.to_owned(), "m.ron:5:"),
            ("h200", r#"axes: [Field(path: "l1.way", values: [3])], "#.to_owned(), "m.ron:5:"),
        ];
        for (machine, more, expected) in cases {
            let message = wrong(machine, &format!("{over}{more}{REST}"), &[]);
            assert!(message.starts_with(expected), "{message}");
        }
        let of = |fields: &str| wrong("h200", &format!("{fields}{REST}"), &[]);
        let message = of(r#"name: "a", run: "chase", over: ("hop", 8192, 24576), "#);
        assert!(message.starts_with("m.ron:5:"), "{message}");
        assert!(
            message.contains("benchmarks.0.over.1: workload.parameters.hop=8192: no field hop"),
            "{message}"
        );
        let message = of(r#"name: "a", run: "none.ron", over: ("hops", 8192, 24576), "#);
        assert!(message.starts_with("m.ron:5:25: benchmarks.0.run: "), "{message}");
        let message = wrong("h200", &format!("{over}{REST}"), &[("l1.way", "3")]);
        assert!(message.starts_with("--set l1.way=3: no field way"), "{message}");
    }
}
