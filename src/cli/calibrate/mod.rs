//! `gsim calibrate`: the simulator against a GPU.

mod micro;

use clap::Subcommand;

use crate::error::Result;
use micro::MicroArgs;

/// Subcommands of `gsim calibrate`.
#[derive(Debug, Subcommand)]
pub(super) enum CalibrateCommand {
    /// Ask the simulator the questions of a micro-benchmark file, and compare with a GPU's answers.
    #[command(after_help = "Example:\n  \
        gsim calibrate micro configs/micro/h200.ron --native results/h200/micro.json --out results/h200")]
    Micro(MicroArgs),
}

pub(super) fn run(command: CalibrateCommand) -> Result<()> {
    match command {
        CalibrateCommand::Micro(args) => micro::run(&args),
    }
}
