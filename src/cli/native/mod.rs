//! `gsim native`: the same kernels on a GPU.

mod micro;
mod run;

use std::path::PathBuf;

use clap::Subcommand;

use super::SetArgs;
use crate::config::load_run;
use crate::error::Result;
use crate::native::{self, Device};
use micro::MicroArgs;
use run::RunArgs;

/// Subcommands of `gsim native`.
#[derive(Debug, Subcommand)]
pub(super) enum NativeCommand {
    /// Run workloads on the GPU: verify the result, measure the time.
    ///
    /// The result is held against the host reference and, bit by bit, against gsim's functional execution. Times are
    /// between events, caches cold and warm apart; an empty launch is measured and subtracted.
    #[command(after_help = "Examples:\n  \
        gsim native run configs/runs/stencil-char.ron\n  \
        gsim native run --all\n  \
        gsim native run configs/studies/h200.ron --out results/h200/native")]
    Run(RunArgs),
    /// Ask the GPU the questions of a micro-benchmark file.
    ///
    /// Each answer is a slope: a kernel is timed with two amounts of work, and what does not depend on the work, such
    /// as the launch, cancels out. `gsim calibrate micro` puts the simulator's answers beside them.
    #[command(
        after_help = "Example:\n  gsim native micro configs/micro/h200.ron --out results/h200/micro.json"
    )]
    Micro(MicroArgs),
    /// Launch a run once, for a profiler.
    #[command(hide = true)]
    Launch(LaunchArgs),
}

/// Arguments of `gsim native launch`.
#[derive(Debug, clap::Args)]
pub(super) struct LaunchArgs {
    /// The run file.
    #[arg(value_name = "RUN.ron")]
    file: PathBuf,
    #[command(flatten)]
    set: SetArgs,
}

pub(super) fn run(command: NativeCommand) -> Result<()> {
    match command {
        NativeCommand::Run(args) => run::run(&args),
        NativeCommand::Micro(args) => micro::run(&args),
        NativeCommand::Launch(args) => {
            let run = load_run(&args.file, &args.set.pairs()?)?;
            native::launch(&Device::open()?, &run)
        }
    }
}
