//! `gsim run`: one simulation.

use std::path::PathBuf;

use super::SetArgs;
use crate::config::load_run;
use crate::error::{Error, Result};
use crate::workload::registry;

/// Arguments of `gsim run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    gsim run configs/runs/stencil-char.ron\n  \
    gsim run configs/runs/stencil-char.ron --set l1.mshr_mergers=16 --set name=mergers-16\n  \
    gsim run configs/runs/stencil-char.ron --set l1.sets=64 --set l1.size=32768 --out mine")]
pub struct RunArgs {
    /// The run file.
    #[arg(value_name = "RUN.ron")]
    file: PathBuf,
    #[command(flatten)]
    set: SetArgs,
    /// Folder of the results; this run's are in the folder of its name in it.
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
    /// Write the numbers only, no pictures.
    #[arg(long)]
    no_plots: bool,
}

/// Loads and validates the run, simulates it, writes its report.
pub(super) fn run(args: RunArgs) -> Result<()> {
    let run = load_run(&args.file, &args.set.pairs()?)?;
    let workload = registry::build(&run.config.workload, run.config.seed)?;
    let _ = (workload, args.out, args.quiet, args.no_plots);
    // TO REPLACE: the call of the timing core.
    Err(Error::internal("not connected yet"))
}
