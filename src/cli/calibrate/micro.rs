//! `gsim calibrate micro`: micro-benchmarks in the simulator, beside a GPU's answers.

use std::path::PathBuf;

use crate::calibrate::micro;
use crate::cli::simulating::Jobs;
use crate::cli::{SetArgs, Verbosity};
use crate::config::MicroFile;
use crate::error::{Error, Result};
use crate::native::MicroReport;

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
    #[command(flatten)]
    jobs: Jobs,
    /// Folder of the results; these are in the folder of the file's name in it.
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// Simulates, compares, writes.
pub(super) fn run(args: &MicroArgs) -> Result<()> {
    let file = MicroFile::read(&args.file)?;
    let points = file.points(&args.set.pairs()?)?;
    let device = args.native.as_deref().map(MicroReport::read).transpose()?;
    if let (Some(device), Some(path)) = (&device, &args.native)
        && !micro::is_answered(&file, &points, device)
    {
        let message = format!("has no answer to a question of {}", args.file.display());
        return Err(Error::input(message).in_file(path));
    }
    let compared =
        args.jobs.simulate(2 * points.len(), args.verbosity.quiet, |options, observe| {
            micro::compare(&file, &points, device.as_ref(), options, observe)
        });
    let folder = micro::save(&file, &args.set.words(), &compared?, device.as_ref(), &args.out)?;
    args.verbosity.say(&format!("Results in {}\n", folder.display()))
}
