//! `gsim compare`: stored reports, side by side.

use std::path::PathBuf;

use super::{print, text_style};
use crate::error::{Error, Result};
use crate::report::compare::{self, Comparison};
use crate::report::{Report, check_folder, write_file, write_folder};

/// The table's file in a result folder.
const TABLE: &str = "comparison.csv";
/// Numbers that an error names.
const NAMED: usize = 3;

/// Arguments of `gsim compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    gsim compare results/stencil-char results/mergers-16\n  \
    gsim compare before/stream after/stream --counters --tolerance 0\n  \
    gsim compare results/a results/b results/c --out results --name mergers")]
pub struct CompareArgs {
    /// The result folder of `gsim run`, or its `report.json`, that the others are held against.
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// Those to hold against it.
    #[arg(value_name = "DIR", required = true)]
    others: Vec<PathBuf>,
    /// Exit with 1 when a number that is shown changes by more than so many percent of what it is held against.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    tolerance: Option<f64>,
    /// Also show the counters that differ, component by component.
    #[arg(long)]
    counters: bool,
    /// Also write the comparison, as a table and as a picture, to the folder of its name in this one.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Name of the comparison's folder.
    #[arg(long, value_name = "NAME", default_value = "comparison", requires = "out")]
    name: String,
    /// Print nothing but errors.
    #[arg(long, short)]
    quiet: bool,
}

/// A percentage as a share.
fn percent(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if percent >= 0.0 && percent.is_finite() => Ok(percent / 100.0),
        _ => Err("a number of percent, at least 0".to_owned()),
    }
}

/// Compares, prints, writes, and fails where a change is not tolerated.
pub(super) fn run(args: &CompareArgs) -> Result<()> {
    let paths = || std::iter::once(&args.base).chain(&args.others);
    let reports = paths().map(|path| Report::read(path)).collect::<Result<Vec<_>>>()?;
    if let Some(out) = &args.out {
        check_folder(out, &args.name, TABLE)?;
    }
    let mut names: Vec<_> = reports.iter().map(|report| report.name.clone()).collect();
    let is_clear = (1..names.len()).all(|index| !names[..index].contains(&names[index]));
    if !is_clear {
        names = paths().map(|path| path.display().to_string()).collect();
    }
    let named: Vec<_> = names.into_iter().zip(reports).collect();
    let comparison = Comparison::new(&named, args.counters);
    if !args.quiet {
        let mut text = Vec::new();
        compare::write(&comparison, text_style(), &mut text)
            .expect("writing to memory does not fail");
        print(&String::from_utf8(text).expect("a comparison is text"))?;
    }
    if let Some(out) = &args.out {
        let folder = write_folder(out, &args.name, TABLE, |folder| {
            write_file(&folder.join(TABLE), &comparison.csv()?)?;
            comparison.chart().picture().write(&folder.join("comparison"))
        })?;
        if !args.quiet {
            print(&format!("\nResults in {}\n", folder.display()))?;
        }
    }
    args.tolerance.map_or(Ok(()), |tolerance| check(&comparison, tolerance))
}

/// Fails where a number changed by more than `tolerance`, a share.
fn check(comparison: &Comparison, tolerance: f64) -> Result<()> {
    let found = comparison.exceeding(tolerance);
    if found.is_empty() {
        return Ok(());
    }
    let named = found.iter().take(NAMED).map(|one| {
        let report = &comparison.names[one.report];
        format!("{} of {report} {}", one.row.name, one.row.shown_change(one.report))
    });
    let more = match found.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let named = named.collect::<Vec<_>>().join(", ");
    Err(Error::run(format!(
        "more than {} % off {}: {named}{more}",
        100.0 * tolerance,
        comparison.names[0]
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_percentage() {
        assert_eq!(percent("2.5"), Ok(0.025));
        assert_eq!(percent("0"), Ok(0.0));
        for wrong in ["-1", "inf", "NaN", "1 %", ""] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
