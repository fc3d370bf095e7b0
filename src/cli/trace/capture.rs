//! `gsim trace capture`: the trace of a run.

use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::{Compiler, SetArgs, print};
use crate::config::load_run;
use crate::error::Result;
use crate::frontend::trace::End;
use crate::report::number;
use crate::simulate::{Captured, capture};

/// Arguments of `gsim trace capture`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CaptureArgs {
    /// The run file.
    #[arg(value_name = "RUN.ron")]
    file: PathBuf,
    #[command(flatten)]
    set: SetArgs,
    /// The trace [default: the run's name with .gtrace, in the current folder].
    #[arg(long, short, value_name = "FILE.gtrace")]
    out: Option<PathBuf>,
    #[command(flatten)]
    compression: Compression,
    #[command(flatten)]
    compiler: Compiler,
}

/// How hard a trace is compressed.
#[derive(Debug, clap::Args)]
pub(super) struct Compression {
    /// Level of the compression, by Zstandard: the higher the slower and smaller [1..=19].
    #[arg(
        long,
        value_name = "LEVEL",
        default_value_t = 3,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(i32).range(1..=19)
    )]
    pub level: i32,
}

pub(super) fn run(args: &CaptureArgs) -> Result<()> {
    let mut run = load_run(&args.file, &args.set.pairs()?)?;
    run.nvrtc.clone_from(&args.compiler.nvrtc);
    let path = match &args.out {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{}.gtrace", run.config.name)),
    };
    let started = Instant::now();
    let bar = progress();
    let level = args.compression.level;
    let captured =
        capture(&run, &path, level, &mut |launches, ctas| advance(&bar, launches, ctas))?;
    bar.finish_and_clear();
    let Captured { launches, end, bytes } = captured;
    print(&written("Captured", launches, end, bytes, &path, started))
}

/// Says how far a long work has come, on the standard error and only on a terminal.
pub(super) fn progress() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template("{msg} {elapsed}").expect("the template is right"));
    bar
}

/// Tells the number of the launch, and of its CTAs so far.
pub(super) fn advance(bar: &ProgressBar, launches: u32, ctas: u64) {
    // A look at the time costs more than many a CTA.
    if ctas.is_multiple_of(256) {
        let ctas = number::counted(ctas, "CTA", "CTAs");
        bar.set_message(format!("kernel {launches}, {ctas}"));
        bar.tick();
    }
}

/// What was written, in two lines.
pub(super) fn written(
    how: &str,
    launches: u32,
    end: End,
    bytes: u64,
    path: &Path,
    started: Instant,
) -> String {
    let seconds = started.elapsed().as_secs_f64();
    format!(
        "{}, {}, {}: {}, {} bytes an instruction.\n{how} in {seconds:.2} s: {}\n",
        number::counted(launches.into(), "launch", "launches"),
        number::counted(end.ctas, "CTA", "CTAs"),
        number::counted(end.warp_instructions, "warp instruction", "warp instructions"),
        number::si(bytes as f64, "B"),
        number::short(bytes as f64 / end.warp_instructions.max(1) as f64),
        path.display()
    )
}
