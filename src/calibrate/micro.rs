//! Micro-benchmarks in the simulator, beside a GPU's answers.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::Agreement;
use super::compared::Compared;
use super::samples::rows;
use crate::config::ResolvedRun;
use crate::config::micro::{Benchmark, MicroFile, MicroPoint, Points};
use crate::config::study::{Axis, StudyPoint, number_of, quoted};
use crate::error::{Error, Result};
use crate::native::MicroReport;
use crate::report::plot::{self, Body, Chart, LineSeries, Lines};
use crate::report::{number, write_file, write_folder};
use crate::study::{self, Event, Options};

/// The file that marks the result folder.
pub const TABLE_FILE: &str = "micro.csv";

/// Simulates every question and puts the answers beside those of `device`, where it has them.
///
/// # Errors
/// The first simulation that fails.
pub fn compare(
    file: &MicroFile,
    points: &[MicroPoint],
    device: Option<&MicroReport>,
    options: &Options,
    observe: &(dyn Fn(Event) + Sync),
) -> Result<Vec<Compared>> {
    let runs: Vec<StudyPoint> = points
        .iter()
        .flat_map(|point| {
            let benchmark = &file.config.benchmarks[point.benchmark].name;
            let of = |run: &ResolvedRun| StudyPoint {
                labels: point.labels.clone(),
                place: [std::slice::from_ref(benchmark), &point.labels].concat().join(", "),
                run: run.clone(),
            };
            point.runs.each_ref().map(of)
        })
        .collect();
    let reports = study::simulate(&runs, options, observe)?;
    let cycles = |report: &serde_json::Value| {
        let cycles = report.pointer("/totals/cycles").and_then(serde_json::Value::as_f64);
        cycles.ok_or_else(|| Error::internal("a report without cycles"))
    };
    let (pairs, _) = reports.as_chunks::<2>();
    let compared = points.iter().zip(pairs).map(|(point, [less, more])| {
        let benchmark = &file.config.benchmarks[point.benchmark];
        let answer = device.and_then(|device| device.answer(&benchmark.name, &point.labels));
        Ok(Compared {
            benchmark: point.benchmark,
            labels: point.labels.clone(),
            unit: benchmark.asks.unit(),
            simulated: benchmark.asks.answer(cycles(more)? - cycles(less)?, point.work),
            measured: answer.map(|answer| {
                [answer.low, answer.value, answer.high].map(|value| benchmark.at_clock(value))
            }),
        })
    });
    compared.collect()
}

/// Whether a GPU's answers have one to any of the questions.
pub fn is_answered(file: &MicroFile, points: &[MicroPoint], device: &MicroReport) -> bool {
    let name = |point: &MicroPoint| &file.config.benchmarks[point.benchmark].name;
    points.iter().any(|point| device.answer(name(point), &point.labels).is_some())
}

/// Writes `ROOT/NAME` with a table, a page and a picture of every benchmark that has an axis of numbers.
pub fn save(
    file: &MicroFile,
    sets: &str,
    compared: &[Compared],
    device: Option<&MicroReport>,
    root: &Path,
) -> Result<PathBuf> {
    let pictures: Vec<(String, plot::Picture)> = (0..file.config.benchmarks.len())
        .filter_map(|place| {
            let stem = file.config.benchmarks[place].picture();
            Some((stem, chart(file, compared, place)?.picture()))
        })
        .collect();
    write_folder(root, &file.config.name, TABLE_FILE, |folder| {
        for (name, picture) in &pictures {
            picture.write(&folder.join(name))?;
        }
        let rows = rows(file, compared);
        write_file(&folder.join(TABLE_FILE), &csv(file, &rows)?)?;
        let names: Vec<&str> = pictures.iter().map(|(name, _)| name.as_str()).collect();
        let page = page(file, sets, &rows, device, &names);
        write_file(&folder.join("README.md"), page.as_bytes())
    })
}

/// Both answers over the first axis, where its points are numbers; in their order, where they are samples.
fn chart(file: &MicroFile, compared: &[Compared], place: usize) -> Option<Chart> {
    let benchmark = &file.config.benchmarks[place];
    let [axis @ Axis::Field { .. }] = benchmark.axes.as_slice() else { return None };
    let of_this: Vec<&Compared> = compared.iter().filter(|one| one.benchmark == place).collect();
    let are_samples = benchmark.points == Points::Samples;
    let x: Option<Vec<f64>> = of_this
        .iter()
        .enumerate()
        .map(|(place, one)| match are_samples {
            true => Some(place as f64 + 1.0),
            false => number_of(&one.labels[0]),
        })
        .collect();
    let x = x.filter(|x| x.len() > 3)?;
    let line = |name: &str, mut values: Vec<f64>| {
        if are_samples {
            values.sort_by(f64::total_cmp);
        }
        let points = x.iter().copied().zip(values).collect();
        LineSeries { name: name.to_owned(), points, ..LineSeries::default() }
    };
    let mut series = vec![line("gsim", of_this.iter().map(|one| one.simulated).collect())];
    let measured = of_this.iter().map(|one| one.measured.map(|[_, value, _]| value));
    series.extend(measured.collect::<Option<_>>().map(|measured| line("GPU", measured)));
    let field = match axis.title() {
        "" => axis.name().rsplit('.').next().unwrap_or_default(),
        title => title,
    };
    let growing = x.iter().all(|x| *x > 0.0) && x[x.len() - 1] > 16.0 * x[0];
    let x_axis = match are_samples {
        true => plot::Axis::new(format!("{field}, from the least answer to the greatest")),
        false if growing => plot::Axis::log2(field),
        false => plot::Axis::new(field),
    };
    let x_axis = plot::Axis { format: plot::Format::Prefixed, ..x_axis };
    let y = plot::Axis::new(benchmark.asks.unit()).from_zero();
    Some(Chart {
        title: benchmark.name.clone(),
        body: Body::Lines(Lines { x: x_axis, y, series }),
        ..Chart::default()
    })
}

fn csv(file: &MicroFile, compared: &[Compared]) -> Result<Vec<u8>> {
    let failed = |why: csv::Error| Error::internal(format!("a table cannot be written: {why}"));
    let mut table = csv::Writer::from_writer(Vec::new());
    let head = ["benchmark", "point", "unit", "gpu", "gpu_low", "gpu_high", "gsim", "error"];
    table.write_record(head).map_err(failed)?;
    for one in compared {
        let benchmark = &file.config.benchmarks[one.benchmark];
        let [low, value, high] = match one.measured {
            Some(values) => values.map(|value| format!("{value:.6}")),
            None => Default::default(),
        };
        let error = one.error().map(|error| format!("{error:.5}")).unwrap_or_default();
        let simulated = format!("{:.6}", one.simulated);
        let labels = one.labels.join(" ");
        let cells = [&benchmark.name, &labels, &one.unit, &value, &low, &high, &simulated, &error];
        table.write_record(cells).map_err(failed)?;
    }
    table.into_inner().map_err(|why| Error::internal(format!("a table cannot be written: {why}")))
}

fn page(
    file: &MicroFile,
    sets: &str,
    compared: &[Compared],
    device: Option<&MicroReport>,
    pictures: &[&str],
) -> String {
    let config = &file.config;
    let mut page = format!("# {}\n\n", config.name);
    let _ = writeln!(
        page,
        "Made by `gsim calibrate micro {}{sets}` with gsim {}. Each value is a slope: the difference of two runs' times over \
         the difference of their work.\n",
        quoted(&file.path.display().to_string()),
        env!("CARGO_PKG_VERSION"),
    );
    if let Some(device) = device {
        let facts = &device.device;
        let _ = writeln!(
            page,
            "GPU: {}, driver {}, CUDA {}; measured with gsim {}.\n",
            facts.name, facts.driver, facts.cuda, device.gsim
        );
    }
    let with_clocks = config.benchmarks.iter().filter(|benchmark| benchmark.at_clock(1.0) != 1.0);
    for Benchmark { name, clock: (part, of), .. } in with_clocks {
        let (part, of) = (part.get(), of.get());
        let _ = writeln!(
            page,
            "- {name}: in cycles of {part}/{of} of the clock that was measured beside it"
        );
    }
    for (what, is_latency, near) in [("latencies", true, 0.02), ("throughputs", false, 0.05)] {
        let of_this =
            || compared.iter().filter(|one| one.unit.starts_with("cycles/") == is_latency);
        let pairs: Vec<(f64, f64)> =
            of_this().filter_map(|one| Some((one.simulated, one.measured?[1]))).collect();
        let errors = of_this().filter_map(Compared::error);
        if let Some(Agreement { pairs, mape: Some(mape), ratio: Some(ratio), .. }) =
            Agreement::of(&pairs)
        {
            let _ = writeln!(
                page,
                "- {pairs} {what}: {} within {:.0} %, mean absolute error {:.1} %, geometric mean of gsim/GPU {ratio:.3}",
                errors.filter(|error| error.abs() <= near).count(),
                100.0 * near,
                100.0 * mape
            );
        }
    }
    let _ = writeln!(
        page,
        "\n| benchmark | point | unit | GPU | gsim | error |\n| --- | --- | --- | --- | --- | --- |"
    );
    for one in compared {
        let measured = one.measured.map(|[_, value, _]| number::short(value)).unwrap_or_default();
        let error = one.error().map(|error| format!("{:+.1} %", 100.0 * error)).unwrap_or_default();
        let _ = writeln!(
            page,
            "| {} | {} | {} | {measured} | {} | {error} |",
            config.benchmarks[one.benchmark].name,
            one.labels.join(", "),
            one.unit,
            number::short(one.simulated),
        );
    }
    for name in pictures {
        let _ = write!(page, "\n![{name}]({name}.png)\n");
    }
    page
}
