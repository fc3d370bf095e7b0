//! `gsim workload`: what can be run.

mod build;
mod export;
mod list;
mod show;

use std::path::PathBuf;

use clap::Subcommand;

use super::print;
use crate::error::Result;
use build::BuildArgs;
use export::ExportArgs;

/// Subcommands of `gsim workload`.
#[derive(Debug, Subcommand)]
pub(super) enum WorkloadCommand {
    /// List the workloads with their parameters and defaults.
    #[command(after_help = "Example:\n  gsim workload list")]
    List,
    /// Show a workload, or a kernel of your own: parameters, entries, registers, instructions.
    ///
    /// For a workload of gsim's also an example to copy into a run file. A CUDA source is compiled first,
    /// which needs NVRTC. For a run file, the kernel that it names is shown.
    #[command(after_help = "Examples:\n  \
        gsim workload show Stencil1d\n  \
        gsim workload show Kernel\n  \
        gsim workload show configs/runs/spmv/spmv.ptx\n  \
        gsim workload show configs/runs/heat.ron")]
    Show {
        /// A workload's name, or the path of a kernel or run file (.ptx, .cu, .ron).
        #[arg(value_name = "NAME|FILE")]
        what: String,
        /// Path of libnvrtc.so, for a .cu [default: GSIM_NVRTC, else the system's loader].
        #[arg(long, value_name = "PATH")]
        nvrtc: Option<PathBuf>,
    },
    /// Compile CUDA sources to the PTX beside them.
    ///
    /// Of your own (FILE.cu), or those under workloads/ of gsim's source tree; as the PTX of the latter is part
    /// of the binary, gsim must be built again afterwards. Needs NVRTC, NVIDIA's run-time compiler, but no
    /// GPU. NVRTC is looked for at --nvrtc, else at the path in GSIM_NVRTC, else by the system's loader.
    #[command(after_help = "Examples:\n  \
        gsim workload build mine.cu\n  \
        gsim workload build mine.cu -- --gpu-architecture=compute_90 -I/usr/local/cuda/include\n  \
        gsim workload build stencil1d --nvrtc ~/venv/lib/python3.*/site-packages/nvidia/cu13/lib/libnvrtc.so.13\n  \
        gsim workload build --check")]
    Build(BuildArgs),
    /// Write the PTX that a run executes on a GPU.
    ///
    /// For a synthetic kernel it is generated; its header says how it is launched, and what it executes besides the
    /// accesses. `gsim run RUN.ron --set workload.as_kernel=true` simulates it.
    #[command(after_help = "Examples:\n  \
        gsim workload export configs/runs/gather.ron --out gather.ptx\n  \
        gsim workload export configs/runs/stream.ron --set workload.phases.0.in_flight=4")]
    Export(ExportArgs),
}

pub(super) fn run(command: WorkloadCommand) -> Result<()> {
    match command {
        WorkloadCommand::List => print(&list::list()),
        WorkloadCommand::Show { what, nvrtc } => print(&show::show(&what, nvrtc.as_deref())?),
        WorkloadCommand::Build(args) => build::run(&args),
        WorkloadCommand::Export(args) => export::run(&args),
    }
}
