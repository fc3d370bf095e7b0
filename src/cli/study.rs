//! `gsim study`: many runs.

use std::path::PathBuf;
use std::time::Instant;

use super::simulating::Jobs;
use super::{SetArgs, print};
use crate::config::StudyFile;
use crate::error::Result;
use crate::study;

/// Arguments of `gsim study`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  gsim study configs/studies/small-data-types.ron --jobs 4")]
pub struct StudyArgs {
    /// The study file.
    #[arg(value_name = "STUDY.ron")]
    file: PathBuf,
    #[command(flatten)]
    set: SetArgs,
    #[command(flatten)]
    jobs: Jobs,
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
    let study = StudyFile::read(&args.file)?.with(&args.set.pairs()?)?;
    let mut points = study.points()?;
    for point in &mut points {
        point.run.nvrtc.clone_from(&args.nvrtc);
    }
    study::check(&study, &points, &args.out)?;
    let started = Instant::now();
    let table = args.jobs.simulate(points.len(), args.quiet, |options, observe| {
        study::run(&study, &points, options, observe)
    });
    let folder = study::save(&study, &table?, &args.out)?;
    if args.quiet {
        return Ok(());
    }
    let (runs, seconds) = (points.len(), started.elapsed().as_secs_f64());
    print(&format!("{runs} runs in {seconds:.1} s.\nResults in {}\n", folder.display()))
}
