//! A comparison for the terminal.

use std::io::{self, Write};

use comfy_table::Cell;

use crate::report::terminal::{Style, bold, right, table, write_table};

use super::{Comparison, Table};

/// Inputs that are listed: two chips differ in a hundred.
pub const MOST_INPUTS: usize = 12;

/// Prints what was compared, what was put in differently, `most_inputs` of it at most, and the tables.
pub fn write(
    comparison: &Comparison,
    most_inputs: usize,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    for (name, [machine, workload]) in comparison.names.iter().zip(&comparison.subjects) {
        writeln!(out, "{} on {machine}\n  {workload}", bold(name, style))?;
    }
    write_inputs(comparison, most_inputs, style, out)?;
    comparison.remarks.iter().try_for_each(|remark| writeln!(out, "note: {remark}"))?;
    for numbers in &comparison.tables {
        let title = bold(&numbers.title, style);
        match numbers.meaning.as_str() {
            "" => writeln!(out, "\n{title}")?,
            meaning => writeln!(out, "\n{title}: {meaning}")?,
        }
        write_numbers(&comparison.names, numbers, style, out)?;
    }
    Ok(())
}

fn write_inputs(
    comparison: &Comparison,
    most: usize,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let found = &comparison.inputs;
    if found.is_empty() {
        return writeln!(out, "\nThe inputs are the same.");
    }
    writeln!(out, "\n{}", bold("Inputs that differ", style))?;
    let mut table = table(style);
    let names = comparison.names.iter().map(right);
    table.set_header([Cell::new("")].into_iter().chain(names));
    for one in found.iter().take(most) {
        table.add_row([Cell::new(&one.path)].into_iter().chain(one.values.iter().map(right)));
    }
    write_table(out, &table, style)?;
    match found.len().saturating_sub(most) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more, which --inputs lists"),
    }
}

/// One number a line: the first report's, and each other one's with its change.
fn write_numbers(
    names: &[String],
    numbers: &Table,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut table = table(style);
    let heads = names[1..].iter().flat_map(|name| [right(name), right("change")]);
    table.set_header([Cell::new(""), right(&names[0])].into_iter().chain(heads));
    for row in &numbers.rows {
        let others =
            (1..names.len()).flat_map(|report| [row.shown(report), row.shown_change(report)]);
        let cells = [Cell::new(&row.name), right(row.shown(0))];
        table.add_row(cells.into_iter().chain(others.map(right)));
    }
    write_table(out, &table, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::compare::tests::{base, changed};

    fn printed(comparison: &Comparison) -> String {
        let mut out = Vec::new();
        write(comparison, MOST_INPUTS, Style::Plain, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_comparison_looks_like_this() {
        let text = printed(&Comparison::new(&[base(), changed()], true));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn inputs_beyond_a_dozen_are_counted() {
        let (name, mut other) = base();
        other.inputs.machine = crate::config::presets::find("h200").unwrap().machine().unwrap();
        let text = printed(&Comparison::new(&[base(), (name, other)], false));
        let list =
            text.split("Inputs that differ\n").nth(1).unwrap().split("\nnote: ").next().unwrap();
        let lines: Vec<_> = list.lines().collect();
        // The reports' names above, and how many more beneath.
        assert_eq!(lines.len(), 1 + 12 + 1, "{text}");
        assert!(
            lines[13].starts_with("  and ") && lines[13].ends_with(" more, which --inputs lists"),
            "{text}"
        );
    }

    #[test]
    fn a_report_equals_itself() {
        let comparison = Comparison::new(&[base(), base()], true);
        let text = printed(&comparison);
        assert!(text.contains("\nThe inputs are the same.\n"), "{text}");
        let equal = text.lines().filter(|line| line.starts_with("  ") && line.ends_with(" ="));
        let rows = comparison.tables.iter().map(|table| table.rows.len());
        assert_eq!(equal.count(), rows.sum::<usize>(), "{text}");
    }
}
