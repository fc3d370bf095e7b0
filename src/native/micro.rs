//! Micro-benchmarks on the GPU.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::device::{Device, DeviceFacts};
use super::report::NativeReport;
use super::run::{Options, run};
use crate::config::micro::{MicroFile, MicroPoint};
use crate::config::written::cannot_write;
use crate::error::{Error, Result};
use crate::report::{stored, write_file};
use crate::serial;

/// The answers of micro-benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MicroReport {
    /// Version of this layout.
    pub schema: u32,
    /// Version of gsim.
    pub gsim: String,
    /// Name of the micro-benchmark file.
    pub name: String,
    /// The GPU that answered.
    pub device: DeviceFacts,
    /// In the order of the file and of the axes.
    pub answers: Vec<Answer>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The benchmark.
    pub benchmark: String,
    /// The label of its point on each axis.
    pub labels: Vec<String>,
    /// Unit of the values.
    pub unit: String,
    /// With the medians of both runs' times.
    pub value: f64,
    /// With the first quartile of the one and the third of the other; the lesser of both ways.
    pub low: f64,
    /// The greater of both ways.
    pub high: f64,
}

const SCHEMA: u32 = 1;

impl MicroReport {
    /// Writes it to a file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serial::to_json(self);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|why| cannot_write(folder, &why))?;
        }
        write_file(path, text.as_bytes())
    }

    /// Reads a stored one.
    pub fn read(path: &Path) -> Result<Self> {
        stored::read(path, "answers of micro-benchmarks", SCHEMA, "answers")
    }

    /// The answer of a benchmark at a point of its axes.
    pub fn answer(&self, benchmark: &str, labels: &[String]) -> Option<&Answer> {
        self.answers.iter().find(|one| one.benchmark == benchmark && one.labels == labels)
    }
}

/// Asks the GPU. `observe` gets each answer.
///
/// # Errors
/// As [`run`].
pub fn micro(
    device: &Device,
    file: &MicroFile,
    points: &[MicroPoint],
    options: Options,
    observe: &mut dyn FnMut(&Answer),
) -> Result<MicroReport> {
    let mut answers = Vec::new();
    for point in points {
        let benchmark = &file.config.benchmarks[point.benchmark];
        let [less, more] = &point.runs;
        let named = |error: Error| {
            let place = [std::slice::from_ref(&benchmark.name), &point.labels].concat().join(", ");
            Error { message: format!("{place}: {}", error.message), ..error }
        };
        let less = cycles(&run(device, less, options).map_err(named)?);
        let more = cycles(&run(device, more, options).map_err(named)?);
        let answer = |more: f64, less: f64| benchmark.asks.answer(more - less, point.work);
        let ends = [answer(more.low, less.high), answer(more.high, less.low)];
        let answer = Answer {
            benchmark: benchmark.name.clone(),
            labels: point.labels.clone(),
            unit: benchmark.asks.unit(),
            value: answer(more.median, less.median),
            low: ends[0].min(ends[1]),
            high: ends[0].max(ends[1]),
        };
        observe(&answer);
        answers.push(answer);
    }
    Ok(MicroReport {
        schema: SCHEMA,
        gsim: env!("CARGO_PKG_VERSION").to_owned(),
        name: file.config.name.clone(),
        device: device.facts()?,
        answers,
    })
}

/// Core cycles of a whole run.
struct Cycles {
    median: f64,
    low: f64,
    high: f64,
}

fn cycles(report: &NativeReport) -> Cycles {
    let sum = |of: &dyn Fn(&super::report::Times) -> f64| {
        let launches = report.launches.iter();
        launches.map(|launch| of(&launch.cold)).sum::<f64>() * report.clock.mhz()
    };
    Cycles {
        median: sum(&|times| times.median),
        low: sum(&|times| times.quarter),
        high: sum(&|times| times.three_quarters),
    }
}
