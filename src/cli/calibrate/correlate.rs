//! `gsim calibrate correlate`: the simulator against a GPU, kernel by kernel.

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};

use crate::calibrate::correlate;
use crate::cli::runs::Selection;
use crate::cli::{SetArgs, print};
use crate::config::parse;
use crate::error::Result;
use crate::study::{Event, Options};

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
    /// Simulations at a time [1..=1024]; all cores without it.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// Folder of the results; these are in the folder `correlation` in it.
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
}

/// Simulates, compares, writes.
pub(super) fn run(args: &CorrelateArgs) -> Result<()> {
    let runs = args.selection.runs(&args.set)?;
    let findings = args.findings.as_deref().map(parse::read_text).transpose()?;
    let bar = if args.quiet { ProgressBar::hidden() } else { ProgressBar::new(runs.len() as u64) };
    let style = "{pos} of {len} runs {wide_bar} {elapsed}, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is right"));
    let options = Options { jobs: args.jobs.map_or(0, |jobs| jobs as usize), ..Options::default() };
    let runs = runs.into_iter().map(|(_, run)| run).collect();
    let pairs = correlate::correlate(runs, &args.native, &options, &|event| {
        if event == Event::Simulated {
            bar.inc(1);
        }
    });
    bar.finish_and_clear();
    let words = args.selection.words();
    let findings = findings.unwrap_or_default();
    let folder = correlate::save("correlation", &words, &findings, &pairs?, &args.out)?;
    match args.quiet {
        true => Ok(()),
        false => print(&format!("Results in {}\n", folder.display())),
    }
}
