//! The simulator against a GPU, kernel by kernel: times, counters, and how far apart they are.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::pair::Pair;
use super::{Agreement, waits};
use crate::config::ResolvedRun;
use crate::config::machine::L2AtStart;
use crate::config::names::plain;
use crate::config::study::StudyPoint;
use crate::error::{Error, Result};
use crate::native::counters::{COUNTERS_FILE, CounterReport, METRICS};
use crate::native::{NATIVE_FILE, NativeReport};
use crate::report::plot::{Axis, Body, Chart, LineSeries, Lines};
use crate::report::{number, write_file, write_folder};
use crate::study::{self, Event, Options};

/// How many times as large as the other one a value is at the edge of the band in a picture.
const BAND: f64 = 1.1;
/// Runs outside the band that a picture names.
const NAMED: usize = 8;

/// The file that marks the result folder.
pub const TABLE_FILE: &str = "correlation.csv";

/// Runs that take at least this long on the GPU count in the sum of the cycles `[us]`.
pub const LONG: f64 = 10.0;

/// Quantities to which every launch adds what the model does not have, its instructions and parameters: runs with less are
/// left out in a second sum. `mandelbrot`, which reads no data, has 1,900 sectors and 9 KB.
const MERE_LAUNCH: [(&str, f64); 2] = [("L2 reads", 10_000.0), ("DRAM reads", 65_536.0)];

/// Reads what the GPU did from the folders in `native`, and simulates the same runs.
///
/// # Errors
/// A run without a recording, and the first simulation that fails.
pub fn correlate(
    runs: Vec<ResolvedRun>,
    native: &Path,
    options: &Options,
    observe: &(dyn Fn(Event) + Sync),
) -> Result<Vec<Pair>> {
    let mut recordings: Vec<(NativeReport, bool, Option<CounterReport>)> = Vec::new();
    for run in &runs {
        let folder = native.join(&run.config.name);
        let hint = "gsim native run makes it, on a machine with a GPU";
        let report =
            NativeReport::read(&folder.join(NATIVE_FILE)).map_err(|error| error.hint(hint))?;
        if report.workload != run.config.workload || report.seed != run.config.seed {
            let message = "was measured with another workload or seed than the run has now";
            return Err(Error::input(message).in_file(&folder.join(NATIVE_FILE)).hint(hint));
        }
        let is_warm = match run.machine.launch.l2 {
            L2AtStart::Cold => false,
            L2AtStart::Warm => true,
            L2AtStart::Flushed => {
                let message =
                    format!("{}: no GPU was measured with `launch.l2: Flushed`", run.config.name);
                return Err(Error::input(message).hint("Cold and Warm were"));
            }
        };
        if recordings.iter().any(|(_, other, _)| *other != is_warm) {
            let message =
                format!("{}: `launch.l2` is another than that of the runs before", run.config.name);
            return Err(Error::input(message).hint("warm and cold runs are compared apart"));
        }
        let counters = folder.join(COUNTERS_FILE);
        // They were read with caches cold.
        let has_counters = !is_warm && counters.is_file();
        let counters = has_counters.then(|| CounterReport::read(&counters)).transpose()?;
        recordings.push((report, is_warm, counters));
    }
    let points: Vec<StudyPoint> = runs
        .into_iter()
        // The simulator executes what the GPU did.
        .map(|run| StudyPoint {
            labels: vec![run.config.name.clone()],
            place: run.config.name.clone(),
            run: run.for_gpu(),
        })
        .collect();
    let reports = study::simulate(&points, options, observe)?;
    let all = points.into_iter().zip(recordings).zip(reports);
    let pairs = all.map(|((point, (native, is_warm, counters)), report)| Pair {
        name: point.run.config.name,
        native,
        is_warm,
        counters,
        report,
    });
    Ok(pairs.collect())
}

/// All runs are alike.
fn is_warm(pairs: &[Pair]) -> bool {
    pairs.first().is_some_and(|pair| pair.is_warm)
}

/// One row of the table: a quantity of a run.
struct Row<'a> {
    run: &'a str,
    what: &'a str,
    simulated: f64,
    measured: f64,
}

fn rows(pairs: &[Pair]) -> Result<Vec<Row<'_>>> {
    let mut rows = Vec::new();
    for pair in pairs {
        let (simulated, measured) = (pair.simulated_cycles()?, pair.measured_cycles());
        rows.push(Row { run: &pair.name, what: TIME, simulated, measured });
        for which in METRICS.iter().filter(|which| which.name != "cycles") {
            if let Some((simulated, measured)) = pair.values(which)? {
                rows.push(Row { run: &pair.name, what: which.name, simulated, measured });
            }
        }
    }
    Ok(rows)
}

/// Said of runs whose counters nobody read.
const WARM: &str = "The L2 held the buffers when the first kernel started, as copying them to their place leaves it (`launch.l2: Warm`). \
     Times were measured so as well, counters were not.\n\n";

/// The first row of every run.
const TIME: &str = "time in core cycles";

/// Writes `ROOT/correlation`, or `ROOT/correlation-warm` where the L2 held the buffers at the start, with every value, the sums,
/// scatter plots and a page.
pub fn save(files: &str, findings: &str, pairs: &[Pair], root: &Path) -> Result<PathBuf> {
    let name = if is_warm(pairs) { "correlation-warm" } else { "correlation" };
    let rows = rows(pairs)?;
    let mut kinds: Vec<&str> = Vec::new();
    for row in &rows {
        if !kinds.contains(&row.what) {
            kinds.push(row.what);
        }
    }
    let mut pictures = Vec::new();
    for what in &kinds {
        let of_kind = rows.iter().filter(|row| row.what == *what);
        // Logarithmic axes have no zero.
        let (points, zeros): (Vec<_>, Vec<_>) =
            of_kind.partition(|row| row.measured > 0.0 && row.simulated > 0.0);
        if points.len() > 1 {
            let stem = plain(&what.to_lowercase());
            let gpu = &pairs[0].native.device.name;
            pictures.push((stem, scatter((what, gpu), points, zeros.len()).picture()));
        }
    }
    let page = page(files, findings, pairs, &rows, &kinds, &pictures_of(&pictures))?;
    write_folder(root, name, TABLE_FILE, |folder| {
        for (stem, picture) in &pictures {
            picture.write(&folder.join(stem))?;
        }
        write_file(&folder.join(TABLE_FILE), &csv(&rows)?)?;
        write_file(&folder.join("README.md"), page.as_bytes())
    })
}

fn pictures_of<T>(pictures: &[(String, T)]) -> Vec<&str> {
    pictures.iter().map(|(stem, _)| stem.as_str()).collect()
}

/// Simulated over measured on `gpu`, with the diagonal and the band of ten per cent. The runs that are furthest from it are named;
/// `zeros` runs, of which one of both is zero, have no place in it.
fn scatter((what, gpu): (&str, &str), mut rows: Vec<&Row>, zeros: usize) -> Chart {
    let ratio = |row: &Row| (row.simulated / row.measured).ln().abs();
    rows.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let prefix = common_prefix(rows.iter().map(|row| row.run));
    let outside = rows.iter().filter(|row| ratio(row) > BAND.ln());
    let names = outside.take(NAMED).map(|row| row.run[prefix..].to_owned()).collect();
    let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.measured, row.simulated)).collect();
    let all = || points.iter().flat_map(|&(x, y)| [x, y]);
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let line = |name: &str, factor: f64| LineSeries {
        name: name.to_owned(),
        points: vec![(least, least * factor), (most, most * factor)],
        dashed: true,
        colour: Some(crate::report::Colour::GREY),
        ..LineSeries::default()
    };
    let unit = if what == TIME { " [core cycles]" } else { "" };
    let axis = |label: &str| Axis::log10(format!("{label}{unit}"));
    let dots = LineSeries {
        name: "runs".to_owned(),
        points: points.clone(),
        names,
        scattered: true,
        ..LineSeries::default()
    };
    Chart {
        title: what.to_owned(),
        subtitle: format!(
            "Dashed: equal, and 10 % more and less. Names: the runs furthest from equal.{}",
            match zeros {
                0 => String::new(),
                1 => " 1 more has a zero.".to_owned(),
                zeros => format!(" {zeros} more have a zero."),
            }
        ),
        body: Body::Lines(Lines {
            x: axis(gpu),
            y: axis("gsim"),
            series: vec![dots, line("", 1.0), line("", BAND), line("", 1.0 / BAND)],
        }),
        ..Chart::default()
    }
}

/// How many bytes all names begin with, up to the end of a word.
fn common_prefix<'a>(mut names: impl Iterator<Item = &'a str>) -> usize {
    let Some(first) = names.next() else { return 0 };
    let common = names.fold(first.len(), |most, name| {
        let pairs = first.bytes().zip(name.bytes()).take(most);
        pairs.take_while(|(a, b)| a == b).count()
    });
    first.as_bytes()[..common].iter().rposition(|&byte| byte == b'-').map_or(0, |dash| dash + 1)
}

fn csv(rows: &[Row]) -> Result<Vec<u8>> {
    let failed =
        |why: &dyn std::fmt::Display| Error::internal(format!("a table cannot be written: {why}"));
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(["run", "quantity", "gpu", "gsim", "ratio"]).map_err(|why| failed(&why))?;
    for row in rows {
        let numbers = [row.measured, row.simulated].map(|value| format!("{value:.1}"));
        let ratio = format!("{:.4}", row.simulated / row.measured);
        let cells = [row.run, row.what, &numbers[0], &numbers[1], &ratio];
        table.write_record(cells).map_err(|why| failed(&why))?;
    }
    table.into_inner().map_err(|why| failed(&why))
}

fn page(
    files: &str,
    findings: &str,
    pairs: &[Pair],
    rows: &[Row],
    kinds: &[&str],
    pictures: &[&str],
) -> Result<String> {
    let mut page = "# The simulator against the GPU\n\n".to_owned();
    let _ = writeln!(
        page,
        "Made by `gsim calibrate correlate {files}` with gsim {}.\n",
        env!("CARGO_PKG_VERSION")
    );
    if is_warm(pairs) {
        page.push_str(WARM);
    }
    if let Some(Pair { native, .. }) = pairs.first() {
        let facts = &native.device;
        let _ = writeln!(
            page,
            "GPU: {}, driver {}, CUDA {}, {:.0} MHz while it was measured.\n",
            facts.name,
            facts.driver,
            facts.cuda,
            native.clock.mhz()
        );
    }
    if !findings.is_empty() {
        let _ = writeln!(page, "## What was found\n\n{}\n", findings.trim());
    }
    let _ = writeln!(
        page,
        "## How far apart\n\nMAPE is the mean of |gsim - GPU| / GPU, and ratio the geometric mean of gsim / GPU, of the runs whose \
         value on the GPU is above zero. r is Pearson's correlation, and NRMSE the root mean square difference over the mean of the \
         GPU's values, of all runs; where a side has one value alone, there is no r. No run is left out but where a quantity names \
         a bound.\n\n\
         | quantity | runs | above zero | MAPE | ratio | r | NRMSE |\n| --- | --- | --- | --- | --- | --- | --- |"
    );
    let long: Vec<(f64, f64)> = pairs
        .iter()
        .filter(|pair| pair.measured_us() >= LONG)
        .map(|pair| Ok((pair.simulated_cycles()?, pair.measured_cycles())))
        .collect::<Result<_>>()?;
    push_agreement(&mut page, &format!("{TIME}, runs of {LONG:.0} us and more"), &long);
    for what in kinds {
        let values: Vec<(f64, f64)> = rows
            .iter()
            .filter(|row| row.what == *what)
            .map(|row| (row.simulated, row.measured))
            .collect();
        push_agreement(&mut page, what, &values);
        if let Some((_, least)) = MERE_LAUNCH.iter().find(|(name, _)| name == what) {
            let many = values.into_iter().filter(|(_, measured)| measured >= least);
            let title = format!("{what}, runs of {} and more", number::thousands(*least as u64));
            push_agreement(&mut page, &title, &many.collect::<Vec<_>>());
        }
    }
    let _ = writeln!(
        page,
        "\n## Time\n\n| run | GPU [us] | spread [us] | gsim [us] | gsim / GPU |\n| --- | --- | --- | --- | --- |"
    );
    for pair in pairs {
        let (measured, mhz) = (pair.measured_us(), pair.native.clock.mhz());
        let simulated = pair.simulated_cycles()? / mhz;
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {:.2} |",
            pair.name,
            number::short(measured),
            number::short(pair.spread_us()),
            number::short(simulated),
            simulated / measured
        );
    }
    let others: Vec<&str> = kinds.iter().copied().filter(|what| *what != TIME).collect();
    if !others.is_empty() {
        push_counters(&mut page, pairs, rows, &others);
    }
    for stem in pictures {
        let _ = write!(page, "\n![{stem}]({stem}.png)\n");
    }
    Ok(page)
}

/// The counters of every run, and what is compared with what.
fn push_counters(page: &mut String, pairs: &[Pair], rows: &[Row], others: &[&str]) {
    let _ = writeln!(page, "\n## Every counter, gsim / GPU\n");
    let _ = writeln!(
        page,
        "| run | {} |\n| --- |{}",
        others.join(" | "),
        " --- |".repeat(others.len())
    );
    for pair in pairs {
        let cell = |what: &&str| {
            let row = rows.iter().find(|row| row.run == pair.name && row.what == *what);
            row.map_or(String::new(), |row| match row.measured {
                0.0 => format!("{} / 0", number::short(row.simulated)),
                measured => format!("{:.2}", row.simulated / measured),
            })
        };
        let cells: Vec<String> = others.iter().map(cell).collect();
        let _ = writeln!(page, "| {} | {} |", pair.name, cells.join(" | "));
    }
    page.push_str(&waits::table(pairs));
    let _ = writeln!(
        page,
        "\n## What is compared\n\n| quantity | ncu | gsim | note |\n| --- | --- | --- | --- |"
    );
    for which in METRICS {
        let path = which.path.map_or(String::new(), |path| format!("`{path}`"));
        let _ =
            writeln!(page, "| {} | `{}` | {path} | {} |", which.name, which.counter, which.note);
    }
}

fn push_agreement(page: &mut String, what: &str, values: &[(f64, f64)]) {
    let Some(sum) = Agreement::of(values) else { return };
    let cell = |value: Option<f64>, digits: usize, unit: &str| {
        value.map_or(String::new(), |value| format!("{value:.digits$}{unit}"))
    };
    let _ = writeln!(
        page,
        "| {what} | {} | {} | {} | {} | {} | {} |",
        sum.pairs,
        sum.compared,
        cell(sum.mape.map(|error| 100.0 * error), 1, " %"),
        cell(sum.ratio, 3, ""),
        cell(sum.pearson, 4, ""),
        cell(sum.nrmse, 3, "")
    );
}
