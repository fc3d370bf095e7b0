//! `gsim calibrate micro`: micro-benchmarks in the simulator, beside a GPU's answers.

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};

use crate::calibrate::micro;
use crate::cli::{SetArgs, print};
use crate::config::MicroFile;
use crate::error::Result;
use crate::native::MicroReport;
use crate::study::{Event, Options};

/// Arguments of `gsim calibrate micro`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct MicroArgs {
    /// The micro-benchmark file.
    #[arg(value_name = "MICRO.ron")]
    file: PathBuf,
    #[command(flatten)]
    set: SetArgs,
    /// The GPU's answers, which `gsim native micro` wrote.
    #[arg(long, value_name = "FILE")]
    native: Option<PathBuf>,
    /// Simulations at a time [1..=1024]; all cores without it.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// Folder of the results; these are in the folder of the file's name in it.
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
}

/// Simulates, compares, writes.
pub(super) fn run(args: &MicroArgs) -> Result<()> {
    let file = MicroFile::read(&args.file)?;
    let points = file.points(&args.set.pairs()?)?;
    let device = args.native.as_deref().map(MicroReport::read).transpose()?;
    let runs = 2 * points.len() as u64;
    let bar = if args.quiet { ProgressBar::hidden() } else { ProgressBar::new(runs) };
    let style = "{pos} of {len} runs {wide_bar} {elapsed}, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is right"));
    let options = Options { jobs: args.jobs.map_or(0, |jobs| jobs as usize), ..Options::default() };
    let compared = micro::compare(&file, &points, device.as_ref(), &options, &|event| {
        if event == Event::Simulated {
            bar.inc(1);
        }
    });
    bar.finish_and_clear();
    let folder = micro::save(&file, &compared?, device.as_ref(), &args.out)?;
    match args.quiet {
        true => Ok(()),
        false => print(&format!("Results in {}\n", folder.display())),
    }
}
