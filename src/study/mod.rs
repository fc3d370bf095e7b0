//! Studies: many runs from one file, and what they show together.
//!
//! [`run`] simulates every point on a pool of threads; [`Table`] holds the reports by the labels of
//! their points; `figures` and `page` turn it into pictures, tables and a page in one result folder.

mod figures;
mod page;
mod table;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

pub use table::Table;

use crate::config::study::StudyPoint;
use crate::config::{StudyFile, parse};
use crate::error::{Error, Result};
use crate::gpu::Stepping;
use crate::report::{write_file, write_folder};
use crate::simulate::simulate;

/// The file that marks a study's result folder.
pub const TABLE_FILE: &str = "runs.csv";

/// Simulates every point, `jobs` at a time (0 for one a core). `observe` is called after each, from
/// any thread. The order of the results is that of the points, whatever the order of the runs.
///
/// # Errors
/// The first point, in order, that failed; the points not yet begun by then are left out.
pub fn run(
    study: &StudyFile,
    points: &[StudyPoint],
    jobs: usize,
    observe: &(dyn Fn() + Sync),
) -> Result<Table> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build()
        .map_err(|cause| Error::run(format!("threads cannot be started: {cause}")))?;
    let failed = AtomicBool::new(false);
    let one = |point: &StudyPoint| {
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let report = simulate(&point.run, Stepping::SkipAhead, &mut |_| ());
        failed.fetch_or(report.is_err(), Ordering::Relaxed);
        observe();
        Some(report.map(|report| serde_json::to_value(report).expect("a report is plain data")))
    };
    let outcomes: Vec<_> = pool.install(|| points.par_iter().map(one).collect());
    let mut reports = Vec::with_capacity(points.len());
    for (point, outcome) in points.iter().zip(outcomes) {
        // A point that was left out comes with the failure of another.
        let Some(outcome) = outcome else { continue };
        let labels = point.labels.join(", ");
        reports.push(outcome.map_err(|error| {
            let message = format!("the run at {labels}: {}", error.message);
            Error { message, ..error }
        })?);
    }
    Ok(Table::new(&study.config.axes, reports))
}

/// Writes the result folder `ROOT/NAME`: `README.md`, `runs.csv`, and the figures.
///
/// # Errors
/// A figure or table that names an axis, a label or a metric that does not exist.
pub fn save(study: &StudyFile, table: &Table, root: &Path) -> Result<PathBuf> {
    let config = &study.config;
    let in_study = |error: Error| {
        if error.location.is_some() { error } else { error.in_file(&study.path) }
    };
    let pictures = config
        .figures
        .iter()
        .map(|figure| Ok((&figure.file, figures::chart(figure, table)?.picture())))
        .collect::<Result<Vec<_>>>()
        .map_err(in_study)?;
    let findings = match &config.findings {
        Some(file) => {
            let folder = study.path.parent().unwrap_or(Path::new(""));
            parse::read_text(&folder.join(file))?
        }
        None => String::new(),
    };
    let page = page::markdown(study, table, &findings).map_err(in_study)?;
    let csv = table.csv(&config.columns).map_err(in_study)?;
    write_folder(root, &config.name, TABLE_FILE, |folder| {
        for (name, picture) in &pictures {
            picture.write(&folder.join(name))?;
        }
        write_file(&folder.join(TABLE_FILE), csv.as_bytes())?;
        write_file(&folder.join("README.md"), page.as_bytes())
    })
}
