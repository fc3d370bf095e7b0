//! `gsim study`: many runs.

use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use super::{SetArgs, print};
use crate::config::StudyFile;
use crate::error::Result;
use crate::study::{self, Event, Options};

/// Arguments of `gsim study`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  gsim study configs/studies/small-data-types.ron --jobs 4")]
pub struct StudyArgs {
    /// The study file.
    #[arg(value_name = "STUDY.ron")]
    file: PathBuf,
    #[command(flatten)]
    set: SetArgs,
    /// Simulations at a time [1..=1024]; all cores without it.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// Folder of the results; this study's are in the folder of its name in it.
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
    /// Path of libnvrtc.so, for a kernel that is CUDA C++ [default: GSIM_NVRTC, else the system's loader].
    #[arg(long, value_name = "PATH")]
    nvrtc: Option<PathBuf>,
}

/// Loads and validates the study, simulates every point, writes figures, tables and the page.
pub(super) fn run(args: StudyArgs) -> Result<()> {
    let study = StudyFile::read(&args.file)?;
    let mut points = study.points(&args.set.pairs()?)?;
    for point in &mut points {
        point.run.nvrtc.clone_from(&args.nvrtc);
    }
    let started = Instant::now();
    let bar =
        if args.quiet { ProgressBar::hidden() } else { ProgressBar::new(points.len() as u64) };
    let style = "{pos} of {len} runs {wide_bar} {elapsed}, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is right"));
    bar.tick();
    let jobs = args.jobs.map_or(0, |jobs| jobs as usize);
    let options = Options { jobs, ..Options::default() };
    let table = study::run(&study, &points, &options, &|event| {
        if event == Event::Simulated {
            bar.inc(1);
        }
    });
    bar.finish_and_clear();
    let folder = study::save(&study, &table?, &args.out)?;
    if args.quiet {
        return Ok(());
    }
    let (runs, seconds) = (points.len(), started.elapsed().as_secs_f64());
    print(&format!("{runs} runs in {seconds:.1} s.\nResults in {}\n", folder.display()))
}
