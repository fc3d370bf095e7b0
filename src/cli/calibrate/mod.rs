//! `gsim calibrate`: the simulator against a GPU.

mod correlate;
mod micro;

use clap::Subcommand;

use crate::error::Result;
use correlate::CorrelateArgs;
use micro::MicroArgs;

/// Subcommands of `gsim calibrate`.
#[derive(Debug, Subcommand)]
pub(super) enum CalibrateCommand {
    /// Ask the simulator the questions of a micro-benchmark file, and compare with a GPU's answers.
    #[command(after_help = "Example:\n  \
        gsim calibrate micro configs/micro/h200.ron --native results/h200/micro.json --out results/h200")]
    Micro(MicroArgs),
    /// Simulate runs that a GPU has made, and compare the times and every counter.
    ///
    /// Times are those of kernels alone: what an empty launch costs is taken off both, which in a machine is
    /// `launch.latency` and `launch.completion`.
    #[command(after_help = "Example:\n  \
        gsim calibrate correlate configs/studies/h200.ron --native results/h200/native --out results/h200")]
    Correlate(CorrelateArgs),
}

pub(super) fn run(command: CalibrateCommand) -> Result<()> {
    match command {
        CalibrateCommand::Micro(args) => micro::run(&args),
        CalibrateCommand::Correlate(args) => correlate::run(&args),
    }
}
