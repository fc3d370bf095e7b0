//! The page of a study, as Markdown: figures, comparisons, all runs.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::misplaced::{At, Result};
use super::table::{MISFIT, Table};
use crate::config::StudyFile;
use crate::config::figure::{Comparison, Place, Row, Show};
use crate::report::number;

/// The page. The study's findings go in as they are.
pub fn markdown(study: &StudyFile, table: &Table) -> Result<String> {
    let config = &study.config;
    let mut page = format!("# {}\n\n", study.name);
    if !config.about.is_empty() {
        let _ = writeln!(page, "{}\n", config.about.trim());
    }
    let _ = writeln!(
        page,
        "Made by `{}` with gsim {}. Every run can be repeated from that file.\n",
        study.command("gsim"),
        env!("CARGO_PKG_VERSION"),
    );
    if !study.findings.is_empty() {
        if !study.sets.is_empty() {
            let sets = study.settings();
            let _ = writeln!(page, "*What follows was found without `--set {sets}`.*\n");
        }
        let _ = writeln!(page, "{}\n", study.findings.trim());
    }
    for figure in &config.figures {
        let _ = writeln!(page, "![{}]({}.png)\n", figure.title, figure.file);
    }
    for (number, comparison) in config.comparisons.iter().enumerate() {
        push_comparison(&mut page, comparison, table).at(number).at("comparisons")?;
    }
    push_runs(&mut page, &config.columns, table)?;
    Ok(page)
}

fn push_table(page: &mut String, title: &str, head: &[String], rows: &[Vec<String>]) {
    let line = |cells: &[String]| {
        // What would end a cell or its row.
        let cells: Vec<String> =
            cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let _ = write!(page, "## {title}\n\n{}", line(head));
    let rule: Vec<String> = head.iter().map(|_| "---".to_owned()).collect();
    page.push_str(&line(&rule));
    for row in rows {
        page.push_str(&line(row));
    }
    page.push('\n');
}

fn push_comparison(page: &mut String, comparison: &Comparison, table: &Table) -> Result<()> {
    let others: BTreeSet<&String> =
        comparison.rows.iter().flat_map(|row| row.others.keys()).collect();
    let head: Vec<String> = ["quantity".to_owned()]
        .into_iter()
        .chain(others.iter().map(|name| (*name).clone()))
        .chain(["gsim".to_owned()])
        .collect();
    let mut rows = Vec::new();
    for (number, row) in comparison.rows.iter().enumerate() {
        let mut cells = vec![row.what.clone()];
        cells.extend(others.iter().map(|name| row.others.get(*name).cloned().unwrap_or_default()));
        cells.push(shown(row, table).at(number).at("rows")?);
        rows.push(cells);
    }
    push_table(page, &comparison.title, &head, &rows);
    Ok(())
}

/// A row's value as text.
fn shown(row: &Row, table: &Table) -> Result<String> {
    table.check_place(&row.at).at("at")?;
    let value = table.value(&row.at, &row.metric).at("metric")?;
    let against = match &row.show {
        Show::Value => None,
        Show::Change { against }
        | Show::Speed { against }
        | Show::Times { against }
        | Show::Difference { against } => Some(against),
    };
    let base = match against {
        Some(place) => table.value(place, &row.metric).at("against").at("show")?,
        None => value,
    };
    let change = |ratio| ratio_as(ratio, |ratio| format!("{:+.1} %", 100.0 * (ratio - 1.0)));
    Ok(match (value, base) {
        (None, _) => "does not fit".to_owned(),
        (_, None) => "none: what it is held against does not fit".to_owned(),
        (Some(value), Some(base)) => match &row.show {
            Show::Value => plain(value),
            Show::Change { .. } => change(value / base),
            Show::Speed { .. } => change(base / value),
            Show::Times { .. } => {
                ratio_as(base / value, |ratio| format!("{} times", number::short(ratio)))
            }
            Show::Difference { .. } => plain(value - base),
        },
    })
}

/// A ratio in words; to nothing there is none.
fn ratio_as(ratio: f64, words: impl Fn(f64) -> String) -> String {
    if ratio.is_finite() { words(ratio) } else { "none".to_owned() }
}

/// Whole numbers whole, others with three digits, however small.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", number::thousands(value.abs() as u64));
    }
    match value.abs() {
        size if size < 1e-6 => format!("{value:.2e}"),
        size if size < 0.1 => {
            let decimals = 2 - size.log10().floor() as i32;
            format!("{value:.0$}", decimals as usize)
        }
        _ => number::short(value),
    }
}

fn push_runs(page: &mut String, columns: &[String], table: &Table) -> Result<()> {
    // A column that no report has is one of the file's; what only some have shows in the table.
    for (number, column) in columns.iter().enumerate() {
        table.value_if_any(&Place::new(), column).at(number).at("columns")?;
    }
    let metrics = || std::iter::once("totals.cycles").chain(columns.iter().map(String::as_str));
    let names = metrics().map(|metric| metric.strip_prefix("totals.").unwrap_or(metric));
    let misfit = table.has_misfits().then_some(MISFIT);
    let head: Vec<String> = table.axes().chain(names).chain(misfit).map(str::to_owned).collect();
    let mut rows = Vec::new();
    for place in table.places() {
        let mut cells: Vec<String> = table.axes().map(|axis| place[axis].clone()).collect();
        for metric in metrics() {
            let value = table.value_if_any(&place, metric)?;
            cells.push(value.map_or_else(|| "none".to_owned(), plain));
        }
        if misfit.is_some() {
            cells.push(table.misfit(&place)?.unwrap_or_default().to_owned());
        }
        rows.push(cells);
    }
    push_table(page, "All runs", &head, &rows);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::config::study::Axis;
    use crate::study::Outcome;

    #[test]
    fn small_numbers_keep_three_digits() {
        let shown =
            [0.0, 3.0, 0.0241, 0.0044, 0.00044001, 0.0000091157, -0.00012, 1.5e-7].map(plain);
        assert_eq!(
            shown,
            ["0", "3", "0.0241", "0.00440", "0.000440", "0.00000912", "-0.000120", "1.50e-7"]
        );
    }

    #[test]
    fn what_is_shown_is_held_against_another_place() {
        let axes: Vec<Axis> = ron::from_str(r#"[Field(path: "n", values: [1, 2])]"#).unwrap();
        let report = |cycles| Outcome::Report(json!({"totals": {"cycles": cycles, "none": 0}}));
        let table = Table::new(&axes, [30, 120].map(report).to_vec());
        let at = |label: &str| Place::from([("n".to_owned(), label.to_owned())]);
        let row = |metric: &str, show| Row {
            what: String::new(),
            metric: metric.to_owned(),
            at: at("2"),
            show,
            others: BTreeMap::new(),
        };
        let against = || at("1");
        let shown = |metric, show| super::shown(&row(metric, show), &table).unwrap_or_default();
        assert_eq!(shown("totals.cycles", Show::Value), "120");
        assert_eq!(shown("totals.cycles", Show::Change { against: against() }), "+300.0 %");
        assert_eq!(shown("totals.cycles", Show::Speed { against: against() }), "-75.0 %");
        assert_eq!(shown("totals.cycles", Show::Times { against: against() }), "0.25 times");
        assert_eq!(shown("totals.cycles", Show::Difference { against: against() }), "90");
        let back =
            Row { at: at("1"), ..row("totals.cycles", Show::Difference { against: at("2") }) };
        assert_eq!(super::shown(&back, &table).unwrap(), "-90");
        assert_eq!(shown("totals.none", Show::Times { against: against() }), "none");
    }

    #[test]
    fn what_does_not_fit_is_said_to_be_so() {
        let axes: Vec<Axis> = ron::from_str(r#"[Field(path: "n", values: [1, 2])]"#).unwrap();
        let fits = Outcome::Report(json!({"totals": {"cycles": 30}}));
        let table = Table::new(&axes, vec![fits, Outcome::Misfit("no | room".to_owned())]);
        let at = |label: &str| Place::from([("n".to_owned(), label.to_owned())]);
        let shown = |place, show| {
            let metric = "totals.cycles".to_owned();
            let row =
                Row { what: String::new(), metric, at: at(place), show, others: BTreeMap::new() };
            super::shown(&row, &table).unwrap()
        };
        assert_eq!(shown("2", Show::Value), "does not fit");
        assert_eq!(shown("2", Show::Change { against: at("1") }), "does not fit");
        assert_eq!(
            shown("1", Show::Change { against: at("2") }),
            "none: what it is held against does not fit"
        );
        let mut page = String::new();
        push_runs(&mut page, &[], &table).unwrap();
        assert_eq!(
            page,
            "## All runs\n\n| n | cycles | misfit |\n| --- | --- | --- |\n| 1 | 30 |  |\n\
             | 2 | none | no \\| room |\n\n"
        );
    }

    #[test]
    fn what_would_end_a_cell_or_a_row_does_not() {
        let mut page = String::new();
        push_table(&mut page, "t", &["a|b".to_owned()], &[vec!["c\nd".to_owned()]]);
        assert_eq!(page, "## t\n\n| a\\|b |\n| --- |\n| c d |\n\n");
    }
}
