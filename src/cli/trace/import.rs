//! `gsim trace import`: traces of Accel-Sim.

use std::path::PathBuf;
use std::time::Instant;

use super::capture::{Compression, advance, progress, written};
use crate::cli::print;
use crate::error::Result;
use crate::frontend::trace::accelsim::{Imported, import};
use crate::report::number;

/// Arguments of `gsim trace import`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ImportArgs {
    /// Accel-Sim's list of a program's kernels, or the trace of one kernel.
    #[arg(value_name = "kernelslist.g")]
    list: PathBuf,
    /// The trace.
    #[arg(long, short, value_name = "FILE.gtrace")]
    out: PathBuf,
    #[command(flatten)]
    compression: Compression,
}

pub(super) fn run(args: &ImportArgs) -> Result<()> {
    let started = Instant::now();
    let bar = progress();
    let level = args.compression.level;
    let imported = import(&args.list, &args.out, level, &mut |kernel, ctas| {
        advance(&bar, kernel, ctas);
    })?;
    bar.finish_and_clear();
    let Imported { launches, partial, end, bytes } = imported;
    let mut text = written("Converted", launches, end, bytes, &args.out, started);
    for (file, there, whole) in partial {
        let [there, whole] = [there, whole].map(number::thousands);
        text.push_str(&format!("note: {file} has {there} of the {whole} CTAs of its grid\n"));
    }
    print(&text)
}
