//! `gsim run`: one simulation.

use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use super::{Compiler, SetArgs, Verbosity, complain, print, written};
use crate::config::{ResolvedRun, load_run};
use crate::error::Result;
use crate::gpu::Stepping;
use crate::report::{self, Pictures, number, terminal};
use crate::simulate::{Outcome, Step, simulate_with_outputs};

/// Arguments of `gsim run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    gsim run configs/runs/stencil-char.ron\n  \
    gsim run configs/runs/stencil-char.ron --set l1.mshr_mergers=16 --set name=mergers-16\n  \
    gsim run configs/runs/stencil-char.ron --lines\n  \
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
    #[command(flatten)]
    verbosity: Verbosity,
    /// Count by line of the kernels' PTX where warps wait and what loads take, and by buffer where loads find their lines. Also
    /// writes `lines.csv` and `buffers.csv`.
    #[arg(long)]
    lines: bool,
    /// Write the numbers only, no pictures.
    #[arg(long)]
    no_plots: bool,
    /// Threads that simulate [1..=256]. The results are the same with any number.
    #[arg(
        long,
        short,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=256)
    )]
    threads: u32,
    #[command(flatten)]
    compiler: Compiler,
}

/// Loads and validates the run, simulates it, writes its report.
pub(super) fn run(args: RunArgs) -> Result<()> {
    let mut run = load_run(&args.file, &args.set.pairs()?)?;
    run.nvrtc = args.compiler.nvrtc;
    run.by_line = args.lines;
    let instead = "give the run another name";
    report::check_folder(&args.out, &run.config.name, report::REPORT_FILE, instead)?;
    let started = Instant::now();
    let Outcome { report, executed } =
        simulate_with_progress(&run, Stepping::threads(args.threads), args.verbosity.quiet)?;
    let simulated = started.elapsed();
    let pictures = if args.no_plots { Pictures::None } else { Pictures::All };
    let folder = report.save_with(&args.out, pictures, |folder| {
        executed.outputs.write(&folder.join(report::OUTPUTS))
    })?;
    if args.verbosity.quiet {
        // What makes the numbers doubtful is said in any case.
        report.notes.iter().for_each(|note| complain(format_args!("note: {note}")));
        return Ok(());
    }
    print(&written(|style, out| terminal::summary(&report, style, out)))?;
    let instructions = report.totals.warp_instructions;
    let seconds = simulated.as_secs_f64();
    print(&format!(
        "\nSimulated in {seconds:.2} s, {}.\nResults in {}\n",
        number::si(instructions as f64 / seconds, "warp instructions/s"),
        folder.display(),
    ))
}

/// Simulates behind a progress bar, which goes to the standard error and only to a terminal.
fn simulate_with_progress(run: &ResolvedRun, stepping: Stepping, quiet: bool) -> Result<Outcome> {
    let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
    let style = "{msg} {wide_bar} {percent}% {elapsed}";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is right"));
    let outcome = simulate_with_outputs(run, stepping, &mut |step: Step| {
        if bar.is_hidden() {
            return;
        }
        let Step { launches, progress } = step;
        let launch = progress.launch;
        bar.set_length(launches as u64 * progress.ctas);
        bar.set_position(launch as u64 * progress.ctas + progress.ctas_started);
        bar.set_message(format!(
            "kernel {} of {launches}, cycle {}",
            launch + 1,
            number::thousands(progress.cycles)
        ));
    });
    bar.finish_and_clear();
    outcome
}
