//! `gsim report`: stored reports, shown again.

use std::path::{Path, PathBuf};

use super::{Verbosity, written};
use crate::error::Result;
use crate::report::{REPORT_FILE, Report, stored, terminal};

/// Arguments of `gsim report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    gsim report results/stencil-char\n  \
    gsim report results/stencil-char results/mergers-16 --draw --quiet")]
pub struct ReportArgs {
    /// Result folders of `gsim run`, or their `report.json`.
    #[arg(value_name = "DIR", required = true)]
    reports: Vec<PathBuf>,
    /// Write the pictures, the page and the table of the ledgers anew, beside each report.
    #[arg(long)]
    draw: bool,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// Prints every report's summary; with `--draw`, writes what goes beside it.
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    // All are read before anything is written.
    let files: Vec<_> =
        args.reports.iter().map(|path| stored::file_in(path, REPORT_FILE)).collect();
    let reports = files.iter().map(|file| Report::read(file)).collect::<Result<Vec<_>>>()?;
    for (number, (file, report)) in files.iter().zip(&reports).enumerate() {
        let mut text = if number > 0 { "\n".to_owned() } else { String::new() };
        text += &written(|style, out| terminal::summary(report, style, out));
        if args.draw {
            let folder = file.parent().unwrap_or(Path::new(""));
            report.draw(folder)?;
            text += &format!("\nPictures in {}\n", folder.display());
        }
        args.verbosity.say(&text)?;
    }
    Ok(())
}
