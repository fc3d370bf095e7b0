//! `gsim native`: the same kernels on a GPU.

mod counters;
mod micro;
mod run;

use clap::Subcommand;

use crate::error::Result;
use counters::{CountersArgs, LaunchArgs};
use micro::MicroArgs;
use run::RunArgs;

/// Subcommands of `gsim native`.
#[derive(Debug, Subcommand)]
pub(super) enum NativeCommand {
    /// Run workloads on the GPU: verify the result, measure the time.
    ///
    /// The result is held against the host reference and, bit by bit, against gsim's functional execution. Times are
    /// between events, caches cold and warm apart; an empty launch is measured and subtracted. A synthetic pattern runs
    /// as a kernel that is generated: `gsim workload export` writes it.
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
    /// Read the GPU's hardware counters for each launch, with NVIDIA's profiler `ncu`.
    #[command(after_help = "Examples:\n  \
        gsim native counters configs/runs/stencil-char.ron\n  \
        gsim native counters configs/studies/h200.ron --out results/h200/native")]
    Counters(CountersArgs),
    /// Launch a run once, for a profiler.
    #[command(hide = true)]
    Launch(LaunchArgs),
}

pub(super) fn run(command: NativeCommand) -> Result<()> {
    match command {
        NativeCommand::Run(args) => run::run(&args),
        NativeCommand::Micro(args) => micro::run(&args),
        NativeCommand::Counters(args) => counters::run(&args),
        NativeCommand::Launch(args) => counters::launch(&args),
    }
}
