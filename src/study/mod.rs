//! Studies: many runs from one file, and what they show together.
//!
//! [`simulate`] simulates points, many at a time; [`Table`] holds the reports by the labels of
//! their points; `figures` and `page` turn it into pictures, tables and a page in one result folder. [`Kept`] has the reports of
//! a study that was interrupted, or that several processes share.
//!
//! What a kernel computes does not depend on the machine. So the points that differ in their machine
//! only are a group (`groups`), whose workload is executed once. A thread executes it and writes the
//! CTAs into a window of bounded size (`window`), from which the simulations of the group read, each at
//! its own pace. Whoever waits for another lets others run (`permits`).

mod figures;
mod groups;
mod kept;
mod lines;
mod misplaced;
mod page;
mod part;
mod permits;
mod reports;
mod table;
mod window;

use std::path::{Path, PathBuf};

use groups::Keep;
pub use kept::Kept;
use misplaced::{At, Misplaced};
pub use part::{MOST_PARTS, Part};
pub use reports::Reports;
use serde_json::Value;
pub use table::{Table, metric};

use crate::config::StudyFile;
use crate::config::study::{Misfits, StudyPoint};
use crate::error::{Error, Result};
use crate::report::plot::Chart;
use crate::report::{check_folder, write_file, write_folder};

/// The file that marks a study's result folder.
pub const TABLE_FILE: &str = "runs.csv";

/// How a study is simulated. The results are the same with any of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Simulations and executions at a time; 0 for one a core.
    pub jobs: usize,
    /// What is kept of the executed instructions of a workload until every simulation has read it `[bytes]`.
    /// One CTA is kept, however large.
    pub window: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { jobs: 0, window: 64 << 20 }
    }
}

/// What came of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Its report, as JSON.
    Report(Value),
    /// No report, as a kernel does not fit the machine: why, in a line.
    Misfit(String),
}

impl Outcome {
    /// The report; `None` for a misfit.
    pub fn report(&self) -> Option<&Value> {
        match self {
            Outcome::Report(report) => Some(report),
            Outcome::Misfit(_) => None,
        }
    }
}

/// What has happened in a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The workload of one or several points has been executed.
    Executed {
        /// CTAs, of all its launches.
        ctas: u64,
    },
    /// The simulation of a point is over.
    Simulated,
}

/// Simulates points and gives their reports as JSON, in the order of the points, whatever the order of the runs. `observe` is called
/// from any thread.
///
/// Points of the same workload, seed and files share one execution; in a study of thousands of machines, 64
/// points do.
///
/// # Errors
/// The first point, in order, that fails; points behind it may have been left out.
pub fn simulate(
    points: &[StudyPoint],
    options: &Options,
    observe: &(dyn Fn(Event) + Sync),
) -> Result<Vec<Value>> {
    let outcomes = simulate_and(points, Misfits::Stop, options, observe, &|_, _| Ok(()))?;
    let report = |outcome| match outcome {
        Outcome::Report(report) => Ok(report),
        Outcome::Misfit(why) => Err(Error::misfit(why)),
    };
    outcomes.into_iter().map(report).collect()
}

/// As [`simulate`], and hands every outcome to `keep` as soon as it is there. Misfits are no errors where they are skipped.
fn simulate_and(
    points: &[StudyPoint],
    misfits: Misfits,
    options: &Options,
    observe: &(dyn Fn(Event) + Sync),
    keep: &Keep,
) -> Result<Vec<Outcome>> {
    let outcomes = groups::simulate_all(points, misfits, options, observe, keep)?;
    let mut done = Vec::with_capacity(points.len());
    for (point, outcome) in points.iter().zip(outcomes) {
        // A point that was left out comes with the failure of another.
        let Some(outcome) = outcome else { continue };
        done.push(outcome.map_err(|error| {
            let message = format!("the run {}: {}", point.place, error.message);
            Error { message, ..error }
        })?);
    }
    Ok(done)
}

/// Everything about a study that can be wrong after its simulations, before them: what it shows, and its result
/// folder in `root`.
///
/// # Errors
/// A figure or table that names an axis, a label or a metric that does not exist; a folder that cannot be made, or
/// would replace what is no study.
pub fn check(study: &StudyFile, points: &[StudyPoint], root: &Path) -> Result<()> {
    if let Some(point) = points.first() {
        shown(study, &Table::shape(&study.config.axes, &point.run))?;
    }
    check_folder(root, &study.name, TABLE_FILE, "give the study another name")
}

/// What a study shows.
struct Shown<'s> {
    /// By the names of their files.
    charts: Vec<(&'s str, Chart)>,
    page: String,
    csv: String,
}

fn shown<'s>(study: &'s StudyFile, table: &Table) -> Result<Shown<'s>> {
    let config = &study.config;
    let in_study = |Misplaced { field, error }: Misplaced| study.point(&field, error);
    let mut charts = Vec::new();
    for (number, figure) in config.figures.iter().enumerate() {
        let mut chart = figures::chart(figure, &config.axes, table)
            .at(number)
            .at("figures")
            .map_err(in_study)?;
        chart.note = note(&chart.note, study, table);
        charts.push((figure.file.as_str(), chart));
    }
    let page = page::markdown(study, table).map_err(in_study)?;
    let csv = table.csv(&config.columns)?;
    Ok(Shown { charts, page, csv })
}

/// A figure's note, with what its file cannot know: what the command line set, and that runs are missing.
fn note(note: &str, study: &StudyFile, table: &Table) -> String {
    let set = (!study.sets.is_empty()).then(|| format!("with {}", study.settings()));
    let misfits = "no value where the run does not fit its machine";
    let misfits = table.has_misfits().then(|| misfits.to_owned());
    figures::joined(note, [set, misfits])
}

/// Writes the result folder `ROOT/NAME`: `README.md`, `runs.csv`, the figures, and each run's report where it is kept.
///
/// # Errors
/// As [`check`], and where no run fits its machine.
pub fn save(study: &StudyFile, table: &Table, root: &Path, keep: Reports) -> Result<PathBuf> {
    if let Some(why) = table.why_empty() {
        let message = format!("no run of the study fits its machine; the first: {why}");
        return Err(Error::misfit(message).in_file(&study.path));
    }
    let shown = shown(study, table)?;
    write_folder(root, &study.name, TABLE_FILE, |folder| {
        if keep == Reports::All {
            reports::write(table, folder)?;
        }
        for (name, chart) in shown.charts {
            chart.picture().write(&folder.join(name))?;
        }
        write_file(&folder.join(TABLE_FILE), shown.csv.as_bytes())?;
        write_file(&folder.join("README.md"), shown.page.as_bytes())
    })
}
