//! `gsim trace`: instruction streams in files.

mod capture;
mod dump;
mod import;
mod info;

use clap::Subcommand;

use super::print;
use crate::error::Result;
use capture::CaptureArgs;
use dump::DumpArgs;
use import::ImportArgs;
use info::InfoArgs;

/// Subcommands of `gsim trace`.
#[derive(Debug, Subcommand)]
pub(super) enum TraceCommand {
    /// Execute a run without a machine, and write what its warps execute to a file.
    ///
    /// A run file whose workload is `Trace(file: "FILE.gtrace")` simulates it on any machine. Of the run's own machine only
    /// the instruction set counts (`sm.instructions`): whether instructions are those of PTX or of the GPU's code.
    #[command(after_help = "Examples:\n  \
        gsim trace capture configs/runs/spmv.ron\n  \
        gsim trace capture configs/runs/matmul.ron --set workload.size=128 --set machine=h200 --out product.gtrace")]
    Capture(CaptureArgs),
    /// Convert a trace of Accel-Sim.
    ///
    /// Of a whole program (kernelslist.g) or one kernel (kernel-N.traceg, also with .xz), as the post-processing of its tracer
    /// leaves them: tracer versions 3 and later.
    #[command(after_help = "Examples:\n  \
        gsim trace import traces/kernelslist.g --out program.gtrace\n  \
        gsim trace import traces/kernel-7.traceg.xz --out kernel-7.gtrace")]
    Import(ImportArgs),
    /// Read a trace from its beginning to its end, and say what it holds.
    #[command(after_help = "Example:\n  gsim trace info traces/spmv.gtrace")]
    Info(InfoArgs),
    /// Print what a warp of a trace executes: instructions, lanes, registers, addresses.
    #[command(after_help = "Examples:\n  \
        gsim trace dump traces/spmv.gtrace\n  \
        gsim trace dump traces/spmv.gtrace --cta 3 --warp 1")]
    Dump(DumpArgs),
}

pub(super) fn run(command: TraceCommand) -> Result<()> {
    match command {
        TraceCommand::Capture(args) => capture::run(&args),
        TraceCommand::Import(args) => import::run(&args),
        TraceCommand::Info(args) => print(&info::info(&args)?),
        TraceCommand::Dump(args) => print(&dump::dump(&args)?),
    }
}
