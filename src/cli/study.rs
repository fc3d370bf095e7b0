//! `gsim study`: many runs.

use std::path::PathBuf;

use super::SetArgs;
use crate::config::StudyFile;
use crate::error::{Error, Result};

/// Arguments of `gsim study`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  gsim study configs/studies/stencil-mergers.ron --jobs 4")]
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
}

/// Loads and validates the study, simulates what is not yet stored.
pub(super) fn run(args: StudyArgs) -> Result<()> {
    let study = StudyFile::read(&args.file)?;
    let points = study.points(&args.set.pairs()?)?;
    let _ = (points, args.jobs, args.out, args.quiet);
    // TO REPLACE: the plan and its runs.
    Err(Error::internal("not connected yet"))
}
