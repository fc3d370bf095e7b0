//! `gsim report`: stored reports, shown again.

use std::fs;
use std::path::{Path, PathBuf};

use super::{print, text_style};
use crate::error::{Error, Result};
use crate::report::{OUTPUTS, Pictures, REPORT_FILE, Report, check_folder, terminal, write_file};

/// Arguments of `gsim report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    gsim report results/stencil-char\n  \
    gsim report results/stencil-char --out results   (draws the pictures of a run with --no-plots)")]
pub struct ReportArgs {
    /// Result folders of `gsim run`, or their `report.json`.
    #[arg(value_name = "DIR", required = true)]
    reports: Vec<PathBuf>,
    /// Also write each result folder anew, with pictures, into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
}

/// Prints every report's summary; with `--out`, writes their folders.
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    // All are read before anything is written.
    let reports = args.reports.iter().map(|path| Report::read(path));
    let reports = reports.collect::<Result<Vec<_>>>()?;
    for report in &reports {
        args.out.iter().try_for_each(|out| check_folder(out, &report.name, REPORT_FILE))?;
    }
    for (number, (path, report)) in args.reports.iter().zip(&reports).enumerate() {
        let mut text = Vec::new();
        if number > 0 {
            text.push(b'\n');
        }
        terminal::summary(report, text_style(), &mut text)
            .expect("writing to memory does not fail");
        if let Some(out) = &args.out {
            let folder =
                report.save_with(out, Pictures::All, |folder| copy_outputs(path, folder))?;
            text.extend(format!("\nResults in {}\n", folder.display()).bytes());
        }
        if !args.quiet {
            print(&String::from_utf8(text).expect("the summary is text"))?;
        }
    }
    Ok(())
}

/// Copies the buffers that stand beside a report.
fn copy_outputs(report: &Path, folder: &Path) -> Result<()> {
    let beside = if report.is_dir() { Some(report) } else { report.parent() };
    let from = beside.unwrap_or(Path::new("")).join(OUTPUTS);
    if !from.is_dir() {
        return Ok(());
    }
    let cannot =
        |why: std::io::Error| Error::run(format!("cannot be copied: {why}")).in_file(&from);
    let to = folder.join(OUTPUTS);
    fs::create_dir(&to).map_err(cannot)?;
    for entry in fs::read_dir(&from).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        write_file(&to.join(entry.file_name()), &fs::read(entry.path()).map_err(cannot)?)?;
    }
    Ok(())
}
