//! `gsim calibrate correlate`: the simulator against a GPU, kernel by kernel.

use std::path::PathBuf;

use crate::calibrate::correlate;
use crate::cli::runs::Selection;
use crate::cli::simulating::Jobs;
use crate::cli::{SetArgs, Verbosity};
use crate::config::parse;
use crate::error::Result;

/// Arguments of `gsim calibrate correlate`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct CorrelateArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    set: SetArgs,
    /// The folder that `gsim native run` and `gsim native counters` wrote.
    #[arg(long, value_name = "DIR", default_value = "results/native")]
    native: PathBuf,
    /// A Markdown file with what was found, for the page.
    #[arg(long, value_name = "FILE.md")]
    findings: Option<PathBuf>,
    #[command(flatten)]
    jobs: Jobs,
    /// Folder of the results; these are in the folder `correlation` in it, or `correlation-warm` with `--set launch.l2=Warm`.
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// Simulates, compares, writes.
pub(super) fn run(args: &CorrelateArgs) -> Result<()> {
    let runs = args.selection.runs(&args.set)?;
    let findings = args.findings.as_deref().map(parse::read_text).transpose()?;
    let runs: Vec<_> = runs.into_iter().map(|(_, run)| run).collect();
    let pairs = args.jobs.simulate(runs.len(), args.verbosity.quiet, |options, observe| {
        correlate::correlate(runs, &args.native, options, observe)
    });
    let words = args.selection.words() + &args.set.words();
    let findings = findings.unwrap_or_default();
    let folder = correlate::save(&words, &findings, &pairs?, &args.out)?;
    args.verbosity.say(&format!("Results in {}\n", folder.display()))
}
