//! `gsim workload export`: the PTX of a run.

use std::path::PathBuf;

use crate::cli::{Compiler, SetArgs, print};
use crate::config::load_run;
use crate::config::written::existing_folder_of;
use crate::error::Result;
use crate::report::{check_file, write_file};
use crate::workload::registry;

/// Arguments of `gsim workload export`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ExportArgs {
    /// The run file.
    #[arg(value_name = "RUN.ron")]
    run: PathBuf,
    #[command(flatten)]
    set: SetArgs,
    /// Write to a file [default: the standard output].
    #[arg(long, short, value_name = "FILE.ptx")]
    out: Option<PathBuf>,
    #[command(flatten)]
    compiler: Compiler,
}

pub(super) fn run(args: &ExportArgs) -> Result<()> {
    let mut run = load_run(&args.run, &args.set.pairs()?)?;
    run.nvrtc.clone_from(&args.compiler.nvrtc);
    let workload = registry::build(&run.for_gpu())?;
    let launch = workload.launches.ptx().next().expect("a run for a GPU launches a kernel");
    let Some(file) = &args.out else { return print(&launch.ptx.text) };
    existing_folder_of(file)?;
    check_file(file, "PTX", |old| {
        old.is_empty() || String::from_utf8_lossy(old).contains(".version")
    })?;
    write_file(file, launch.ptx.text.as_bytes())
}
