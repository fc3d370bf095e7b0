//! `gsim native counters`: hardware counters of workloads.

use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets::NOTHING};

use crate::cli::runs::{Selection, expand};
use crate::cli::{SetArgs, Verbosity, complain, print};
use crate::config::written::said;
use crate::error::{Error, Result};
use crate::native::counters::{self, CounterReport, METRICS};
use crate::native::{self, Device};
use crate::report::number;

/// Arguments of `gsim native counters`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CountersArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    set: SetArgs,
    /// Folder of the results; each run's counters.json is in the folder of its name in it.
    #[arg(long, value_name = "DIR", default_value = "results/native")]
    out: PathBuf,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// Arguments of `gsim native launch`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct LaunchArgs {
    /// The run or study file.
    #[arg(value_name = "FILE.ron")]
    file: PathBuf,
    #[command(flatten)]
    set: SetArgs,
    /// The run of this name.
    #[arg(long, value_name = "NAME")]
    only: String,
    /// Path of libnvrtc.so.
    #[arg(long, value_name = "PATH")]
    nvrtc: Option<PathBuf>,
}

/// Profiles every run in a process of its own.
pub(super) fn run(args: &CountersArgs) -> Result<()> {
    let runs = args.selection.runs(&args.set)?;
    // Says at once that there is no GPU.
    Device::open()?;
    let gsim = std::env::current_exe()
        .map_err(|cause| Error::run(format!("gsim does not find itself: {}", said(&cause))))?;
    let mut first_error = None;
    for (file, run) in &runs {
        let name = &run.config.name;
        let mut arguments = vec![file.display().to_string(), "--only".to_owned(), name.clone()];
        arguments.extend(args.set.arguments());
        arguments.extend(args.selection.nvrtc_arguments());
        let done = counters::profile(name, &gsim, &arguments)
            .and_then(|report| report.save(&args.out).map(|_| report));
        match done {
            Ok(report) if args.verbosity.quiet => drop(report),
            Ok(report) => print(&format!("{name}\n{}\n\n", table(&report)))?,
            Err(error) => {
                complain(format_args!("{name}: {error}"));
                first_error.get_or_insert(error);
            }
        }
    }
    args.verbosity.say(&format!("Results in {}\n", args.out.display()))?;
    first_error.map_or(Ok(()), Err)
}

fn table(report: &CounterReport) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    for metric in METRICS {
        let values = report.launches.iter().map(|launch| launch.values.get(metric.counter));
        let mut row = vec![metric.name.to_owned()];
        row.extend(values.map(|value| value.map_or(String::new(), |value| number::short(*value))));
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

/// Launches one run once, for the profiler that started this process.
pub(super) fn launch(args: &LaunchArgs) -> Result<()> {
    let runs = expand(std::slice::from_ref(&args.file), &args.set.pairs()?, args.nvrtc.as_deref())?;
    let run = runs.iter().find(|(_, run)| run.config.name == args.only);
    let (_, run) = run.ok_or_else(|| {
        Error::input(format!("no run is called {:?}", args.only)).in_file(&args.file)
    })?;
    native::launch(&Device::open()?, run)
}
