//! The summary of a run for the terminal, readable at 80 columns.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, CellAlignment, Color, Table, presets};

use crate::stats::{Ledger, Reason, ratio};

use super::Report;
use super::colour::{Colour, look};
use super::headline::headlines;
use super::number::{percent, thousands};

/// Cells of a bar that stands for everything.
const BAR: usize = 32;

/// Whether the terminal gets escape sequences for colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text only.
    Plain,
    /// Bars in the colours of the pictures, names in bold.
    Coloured,
}

/// Prints the totals, the ledgers and what the check found.
///
/// Reasons that were never charged are left out; the largest comes first.
pub fn summary(report: &Report, style: Style, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} on {}", bold(&report.name, style), report.machine_line())?;
    writeln!(out, "{}", report.workload_line())?;
    writeln!(out)?;
    write_table(out, &totals(report, style), style)?;
    let ledgers = &report.ledgers;
    let total = format!("{} scheduler cycles", thousands(ledgers.issue.total()));
    ledger(out, "Issue", &total, &ledgers.issue, style)?;
    let total = format!("{} SM cycles", thousands(ledgers.lsu.total()));
    ledger(out, "Load/store units", &total, &ledgers.lsu, style)?;
    let total = format!(
        "{} core cycles over {} accesses",
        thousands(ledgers.latency.total()),
        thousands(report.totals.load_accesses)
    );
    ledger(out, "Load latency", &total, &ledgers.latency, style)?;
    writeln!(out, "\n{}", report.verdict_line())
}

pub(super) fn bold(text: &str, style: Style) -> String {
    match style {
        Style::Plain => text.to_owned(),
        Style::Coloured => format!("\u{1b}[1m{text}\u{1b}[0m"),
    }
}

pub(super) fn table(style: Style) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    match style {
        Style::Plain => table.force_no_tty(),
        Style::Coloured => table.enforce_styling(),
    };
    table
}

pub(super) fn right(text: impl Into<String>) -> Cell {
    Cell::new(text.into()).set_alignment(CellAlignment::Right)
}

fn emphasised(cell: Cell, style: Style) -> Cell {
    match style {
        Style::Plain => cell,
        Style::Coloured => cell.add_attribute(Attribute::Bold),
    }
}

/// Prints a table with its borderless rows indented and free of trailing spaces.
pub(super) fn write_table(out: &mut impl Write, table: &Table, style: Style) -> io::Result<()> {
    for line in table.lines() {
        match style {
            Style::Plain => writeln!(out, " {}", line.trim_end())?,
            Style::Coloured => writeln!(out, " {line}")?,
        }
    }
    Ok(())
}

/// Two columns of names and values.
fn totals(report: &Report, style: Style) -> Table {
    let mut table = table(style);
    for pair in headlines(report).chunks(2) {
        let mut cells = Vec::new();
        for headline in pair {
            cells.push(Cell::new(headline.label));
            cells.push(emphasised(right(headline.shown()), style));
        }
        // A gap between the two columns.
        cells.insert(2, Cell::new("  "));
        table.add_row(cells);
    }
    table
}

/// A bar of `share`, in eighths of a cell; what is there but tiny still shows.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = ((share * (8 * BAR) as f64).round() as usize).clamp(1, 8 * BAR);
    let mut text = "█".repeat(eighths / 8);
    text.push_str(EIGHTHS[eighths % 8]);
    text
}

fn ledger<R: Reason, const N: usize>(
    out: &mut impl Write,
    name: &str,
    total: &str,
    ledger: &Ledger<R, N>,
    style: Style,
) -> io::Result<()> {
    writeln!(out, "\n{}: {total}", bold(name, style))?;
    let mut parts: Vec<_> = ledger.parts().filter(|&(_, _, amount)| amount > 0).collect();
    // The sort is stable: equal amounts stay in the order of declaration.
    parts.sort_by_key(|&(_, _, amount)| std::cmp::Reverse(amount));
    let mut table = table(style);
    for (reason, _, amount) in parts {
        let share = ratio(amount, ledger.total());
        let Colour(r, g, b) = look(reason).colour;
        let cell = Cell::new(format!("{:<BAR$}", bar(share)));
        let cell = match style {
            Style::Plain => cell,
            Style::Coloured => cell.fg(Color::Rgb { r, g, b }),
        };
        let row = [Cell::new(format!("{reason:<16}")), right(format!("{:>15}", thousands(amount)))];
        table.add_row(row.into_iter().chain([right(format!("{:>7}", percent(share))), cell]));
    }
    write_table(out, &table, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn printed(style: Style) -> String {
        let mut out = Vec::new();
        summary(&sample::report(), style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_summary_looks_like_this() {
        insta::assert_snapshot!(printed(Style::Plain));
    }

    #[test]
    fn the_summary_fits_into_80_columns() {
        for line in printed(Style::Plain).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn colours_come_only_when_asked_for() {
        assert!(!printed(Style::Plain).contains('\u{1b}'));
        let coloured = printed(Style::Coloured);
        assert!(coloured.contains("\u{1b}[38;2;206;48;33m"), "{coloured}");
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(1.0), "█".repeat(BAR));
        assert_eq!(bar(0.5), "█".repeat(BAR / 2));
        assert_eq!(bar(0.0001), "▏");
    }
}
