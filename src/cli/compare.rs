//! `gsim compare`: stored reports, side by side.

use std::path::PathBuf;

use super::{Verbosity, print, written};
use crate::config::run::check_name;
use crate::error::{Error, Result};
use crate::report::compare::{self, Comparison, Exceeding};
use crate::report::{Report, check_folder, write_file, write_folder};

/// The table's file in a result folder.
const TABLE: &str = "comparison.csv";
/// The largest tolerance [percent].
const MOST_PERCENT: f64 = 1e6;
/// Numbers that an error names.
const NAMED: usize = 3;

/// Arguments of `gsim compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    gsim compare results/stencil-char results/mergers-16\n  \
    gsim compare before/stream after/stream --tolerance 1\n  \
    gsim compare results/a results/b results/c --out results --name mergers")]
pub struct CompareArgs {
    /// The result folder of `gsim run`, or its `report.json`, that the others are compared with.
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// Result folders to compare with BASE.
    #[arg(value_name = "DIR", required = true)]
    others: Vec<PathBuf>,
    /// Exit with 1 when a number that is shown changes by more.
    ///
    /// A rate may change by so many percentage points, a reason by so many percent of its ledger's whole, any other number by
    /// so many percent of BASE's. Where BASE has zero, or one of the two has no number, any change is more. What is not shown
    /// is not compared.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = percent)]
    tolerance: Option<f64>,
    /// Also show the counters that differ, component by component.
    #[arg(long)]
    counters: bool,
    /// List all inputs that differ, and not the first dozen only.
    #[arg(long)]
    inputs: bool,
    /// Also write `comparison.csv`, `comparison.svg` and `comparison.png` to the folder NAME in this one.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Name of that folder.
    #[arg(long, value_name = "NAME", default_value = "comparison", requires = "out", value_parser = folder_name)]
    name: String,
    #[command(flatten)]
    verbosity: Verbosity,
}

fn percent(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (0.0..=MOST_PERCENT).contains(&percent) => Ok(percent),
        _ => Err(format!("a number of percent [0..={MOST_PERCENT}]")),
    }
}

fn folder_name(text: &str) -> std::result::Result<String, String> {
    check_name(text).map(|()| text.to_owned())
}

/// Compares, prints, writes, and fails where a change is not tolerated.
pub(super) fn run(args: &CompareArgs) -> Result<()> {
    let paths: Vec<_> =
        std::iter::once(&args.base).chain(&args.others).map(PathBuf::as_path).collect();
    let reports = paths.iter().map(|path| Report::read(path)).collect::<Result<Vec<_>>>()?;
    if let Some(out) = &args.out {
        check_folder(out, &args.name, TABLE, "choose another --name or --out")?;
    }
    let own: Vec<_> = reports.iter().map(|report| report.name.as_str()).collect();
    let names = compare::names(&own, &paths);
    let named: Vec<_> = names.into_iter().zip(reports).collect();
    let comparison = Comparison::new(&named, args.counters);
    if !args.verbosity.quiet {
        let inputs = if args.inputs { usize::MAX } else { compare::MOST_INPUTS };
        print(&written(|style, out| compare::write(&comparison, inputs, style, out)))?;
    }
    if let Some(out) = &args.out {
        let folder = write_folder(out, &args.name, TABLE, |folder| {
            write_file(&folder.join(TABLE), &comparison.csv()?)?;
            comparison.chart().picture().write(&folder.join("comparison"))
        })?;
        args.verbosity.say(&format!("\nResults in {}\n", folder.display()))?;
    }
    args.tolerance.map_or(Ok(()), |percent| check(&comparison, percent))
}

/// Fails where a number changed by more than is tolerated.
fn check(comparison: &Comparison, percent: f64) -> Result<()> {
    let found = comparison.exceeding(percent);
    if found.is_empty() {
        return Ok(());
    }
    let named = found.iter().take(NAMED).map(|&Exceeding { table, row, report }| {
        let (before, after, change) = (row.shown(0), row.shown(report), row.shown_change(report));
        format!(
            "{}: {}: {} {before} -> {after} ({change})",
            comparison.names[report], table.title, row.name
        )
    });
    let more = match found.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named = named.collect::<Vec<_>>().join("; ");
    Err(Error::run(format!("not within {percent} % of {}: {named}{more}", comparison.names[0])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_percentage() {
        assert_eq!(percent("2.5"), Ok(2.5));
        assert_eq!(percent("0"), Ok(0.0));
        for wrong in ["-1", "inf", "NaN", "1 %", "1e300", ""] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
