//! `gsim native run`: workloads on the GPU, verified and timed.

use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets::NOTHING};

use crate::cli::runs::Selection;
use crate::cli::{SetArgs, Verbosity, complain, print};
use crate::error::Result;
use crate::native::{self, Device, NativeReport, Options};

/// Arguments of `gsim native run`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RunArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    set: SetArgs,
    /// Timed passes over the launches of a workload, at most [1..=10000].
    #[arg(
        long,
        value_name = "N",
        default_value_t = 30,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    repeats: u32,
    /// Folder of the results; each run's native.json is in the folder of its name in it.
    #[arg(long, value_name = "DIR", default_value = "results/native")]
    out: PathBuf,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// Runs all of them; what fails is said at the end of the others.
pub(super) fn run(args: &RunArgs) -> Result<()> {
    // Mistakes of the files are said before the GPU is asked for.
    let runs = args.selection.runs(&args.set)?;
    let device = Device::open()?;
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header([
        "run",
        "launches",
        "cold [us]",
        "warm [us]",
        "empty [us]",
        "MHz",
        "bytes",
        "differ",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut first_error = None;
    for (_, run) in &runs {
        let done = native::run(&device, run, Options { repeats: args.repeats })
            .and_then(|report| report.save(&args.out).map(|_| report));
        match done {
            Ok(report) => {
                table.add_row(row(&report));
            }
            Err(error) => {
                complain(format_args!("{}: {error}", run.config.name));
                first_error.get_or_insert(error);
            }
        }
    }
    if !args.verbosity.quiet && !table.is_empty() {
        print(&format!("{}\n\nResults in {}\n", table.trim_fmt(), args.out.display()))?;
    }
    first_error.map_or(Ok(()), Err)
}

fn row(report: &NativeReport) -> [String; 8] {
    [
        report.name.clone(),
        report.launches.len().to_string(),
        format!("{:.2}", report.cold_us()),
        format!("{:.2}", report.warm_us()),
        format!("{:.2}", report.empty.median),
        format!("{:.0}", report.clock.mhz()),
        report.agreement.bytes().to_string(),
        report.agreement.differ().to_string(),
    ]
}
