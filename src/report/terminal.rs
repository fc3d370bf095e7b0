//! The summary of a run for the terminal, readable at 80 columns.

use std::cmp::Reverse;
use std::io::{self, Write};

use comfy_table::{Attribute, Cell, CellAlignment, Color, Table, presets};

use crate::gpu::BufferStatistics;
use crate::sm::BufferCounters;
use crate::stats::{Ledger, Reason, ratio};

use super::Report;
use super::colour::{Colour, look};
use super::headline::headlines;
use super::number::{counted, percent, short, thousands};

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
    kernels(out, report, style)?;
    let ledgers = &report.ledgers;
    let total = format!("{} scheduler cycles", thousands(ledgers.issue.total()));
    ledger(out, "Issue", &total, &ledgers.issue, style)?;
    let total = format!("{} SM cycles", thousands(ledgers.lsu.total()));
    ledger(out, "Load/store units", &total, &ledgers.lsu, style)?;
    let total = format!(
        "{} core cycles over {}",
        thousands(ledgers.latency.total()),
        counted(report.totals.load_accesses, "access", "accesses")
    );
    ledger(out, "Load latency", &total, &ledgers.latency, style)?;
    let total = format!("{} channel clocks", thousands(ledgers.dram.total()));
    ledger(out, "DRAM channels", &total, &ledgers.dram, style)?;
    lines(out, report, style)?;
    buffers(out, report, style)?;
    concurrent(out, report, style)?;
    writeln!(out, "\n{}", report.verdict_line())?;
    report.remarks().iter().try_for_each(|note| writeln!(out, "note: {note}"))
}

/// Prints what each of several kernels took, all of its launches together, the longest first.
fn kernels(out: &mut impl Write, report: &Report, style: Style) -> io::Result<()> {
    let mut kernels = report.by_kernel();
    if kernels.len() < 2 {
        return Ok(());
    }
    kernels.sort_by_key(|kernel| Reverse(kernel.cycles));
    let launches = counted(report.kernels.len() as u64, "launch", "launches");
    writeln!(out, "\n{}: {} in {launches}", bold("Kernels", style), kernels.len())?;
    let mut table = table(style);
    for kernel in kernels.iter().take(ROWS) {
        let share = ratio(kernel.cycles, report.totals.cycles);
        table.add_row([
            Cell::new(shortened(kernel.name)),
            right(counted(kernel.launches, "launch", "launches")),
            right(format!("{} cycles", thousands(kernel.cycles))),
            right(percent(share)),
            right(format!("IPC {}", short(ratio(kernel.warp_instructions, kernel.cycles)))),
        ]);
    }
    write_table(out, &table, style)?;
    more_in_report(out, kernels.len())
}

/// Says how many of so many kernels are not shown.
fn more_in_report(out: &mut impl Write, kernels: usize) -> io::Result<()> {
    match kernels.saturating_sub(ROWS) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more in {}", super::REPORT_FILE),
    }
}

/// Prints the lines at which warps stood longest, the first ones first.
fn lines(out: &mut impl Write, report: &Report, style: Style) -> io::Result<()> {
    let mut lines: Vec<_> =
        report.lines.iter().filter(|line| line.profile.waits.total() > 0).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let all = lines.iter().map(|line| line.profile.waits.total()).sum();
    lines.sort_by_key(|line| Reverse(line.profile.waits.total()));
    lines.truncate(ROWS);
    lines.retain(|line| line.profile.waits.total() as f64 >= LEAST_SHOWN * all as f64);
    let several = lines.iter().any(|line| line.kernel != lines[0].kernel);
    let title = bold("Lines", style);
    let what = "where warps stood, and what most were for";
    writeln!(out, "\n{title}: {} warp cycles {what}", thousands(all))?;
    let mut table = table(style);
    for line in lines {
        let total = line.profile.waits.total();
        let reasons = line.profile.waits.parts().max_by_key(|part| part.2);
        let (reason, _, most) = reasons.expect("a ledger has reasons");
        let what = match line.made_of.as_str() {
            "" => line.text.clone(),
            place => format!("{place}: {}", line.text),
        };
        let kernel = several.then(|| Cell::new(shortened(&line.kernel)));
        table.add_row(kernel.into_iter().chain([
            right(line.line.to_string()),
            right(format!("{:>7}", percent(ratio(total, all)))),
            Cell::new(reason),
            right(percent(ratio(most, total))),
            Cell::new(cut(&what, if several { 26 } else { 44 })),
        ]));
    }
    write_table(out, &table, style)
}

/// Prints where loads of each buffer found their lines.
fn buffers(out: &mut impl Write, report: &Report, style: Style) -> io::Result<()> {
    if report.buffers.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}: accesses, and where loads found their lines", bold("Buffers", style))?;
    let mut table = table(style);
    let head = ["loads", "L1", "merged", "L2", "DRAM", "latency", "writes"];
    table.set_header(std::iter::once(Cell::new("")).chain(head.map(right)));
    let mut buffers: Vec<_> = report.buffers.iter().collect();
    let accesses = |counters: &BufferCounters| {
        counters.load_accesses + counters.store_accesses + counters.atomic_accesses
    };
    buffers.sort_by_key(|buffer| Reverse(accesses(&buffer.profile.counters)));
    for BufferStatistics { name, profile, .. } in buffers.iter().take(ROWS) {
        let BufferCounters { loads, l1_hits, l1_merged, l2_hits, l2_merged, dram, .. } =
            profile.counters;
        // What waits in the L2 for another's fetch comes from the DRAM as well.
        let found = [l1_hits, l1_merged, l2_hits, l2_merged + dram];
        let share =
            |amount: u64| if loads == 0 { String::new() } else { percent(ratio(amount, loads)) };
        let latency = match loads {
            0 => String::new(),
            _ => short(ratio(profile.latency.total(), loads)),
        };
        let changes = profile.counters.store_accesses + profile.counters.atomic_accesses;
        let row = [Cell::new(cut(name, 16)), right(thousands(loads))];
        let shares = found.map(|amount| right(share(amount)));
        let rest = [right(latency), right(thousands(changes))];
        table.add_row(row.into_iter().chain(shares).chain(rest));
    }
    write_table(out, &table, style)
}

/// Prints when kernels ran that did at the same time: of the first launch of several, which others are mostly like.
fn concurrent(out: &mut impl Write, report: &Report, style: Style) -> io::Result<()> {
    let mut launches = report.kernels.iter().filter(|kernel| !kernel.concurrent.is_empty());
    let Some(launch) = launches.next() else { return Ok(()) };
    let cycles = launch.totals.cycles;
    let others = match launches.count() {
        0 => String::new(),
        1 => format!(", and once more in {}", super::REPORT_FILE),
        others => format!(", and {others} more times in {}", super::REPORT_FILE),
    };
    let title = bold("Kernels at the same time", style);
    writeln!(out, "\n{title}: {} core cycles{others}", thousands(cycles))?;
    let mut table = table(style);
    for kernel in launch.concurrent.iter().take(ROWS) {
        let times = format!("{} to {}", thousands(kernel.first_cta), thousands(kernel.end));
        let ctas = counted(kernel.ctas, "CTA", "CTAs");
        table.add_row([
            Cell::new(shortened(&kernel.name)),
            right(ctas),
            right(times),
            Cell::new(span(kernel.first_cta, kernel.end, cycles)),
        ]);
    }
    write_table(out, &table, style)?;
    more_in_report(out, launch.concurrent.len())
}

/// Kernels or lines that are shown.
const ROWS: usize = 16;
/// The least share of all warp cycles of a line that is shown.
const LEAST_SHOWN: f64 = 0.001;

/// A name that leaves room for others in its line.
fn shortened(name: &str) -> String {
    cut(name, 18)
}

/// A text in one line, with one space where there were several, of so many letters at most.
fn cut(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 2).chain("..".chars()).collect(),
        None => text,
    }
}

/// From `from` to `to` on a line of `all`, in half a bar's cells.
fn span(from: u64, to: u64, all: u64) -> String {
    const CELLS: u64 = BAR as u64 / 2;
    let cell = |cycle: u64| (cycle * CELLS / all.max(1)) as usize;
    let first = cell(from).min(CELLS as usize - 1);
    let last = cell(to.saturating_sub(1)).clamp(first, CELLS as usize - 1);
    format!("{}{}", " ".repeat(first), "█".repeat(last + 1 - first))
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
    parts.sort_by_key(|&(_, _, amount)| Reverse(amount));
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
    use crate::gpu::ConcurrentKernel;
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
    fn several_kernels_are_shown_by_what_they_took() {
        let (inputs, mut kernels, check) = sample::parts();
        kernels[3].name = "a_name_longer_than_all".to_owned();
        let report = crate::report::Report::new("x", inputs, kernels, check).unwrap();
        let mut out = Vec::new();
        super::kernels(&mut out, &report, Style::Plain).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn lines_are_shown_by_how_long_warps_stood_there() {
        let mut out = Vec::new();
        super::lines(&mut out, &sample::report_with_lines(), Style::Plain).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn buffers_are_shown_by_where_their_loads_found_lines() {
        let mut out = Vec::new();
        super::buffers(&mut out, &sample::report_with_lines(), Style::Plain).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn kernels_at_the_same_time_are_shown_on_one_line_of_time() {
        let (inputs, mut kernels, check) = sample::parts();
        let kernel = |name: &str, first_cta, end| ConcurrentKernel {
            name: name.to_owned(),
            ctas: 1024,
            cta_threads: 256,
            resident_warps: 48,
            warp_instructions: 9,
            first_cta,
            end,
        };
        let cycles = kernels[1].cycles;
        kernels[1].concurrent =
            vec![kernel("first", 0, cycles / 2), kernel("a_name_longer_than_all", 0, cycles)];
        kernels[2].concurrent = vec![kernel("last", cycles - 1, cycles); 20];
        let report = crate::report::Report::new("x", inputs, kernels, check).unwrap();
        let mut out = Vec::new();
        concurrent(&mut out, &report, Style::Plain).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_span_lies_where_its_time_does() {
        assert_eq!(span(0, 16, 16), "████████████████");
        assert_eq!(span(8, 9, 16), "        █");
        assert_eq!(span(16, 16, 16), "               █");
        assert_eq!(span(0, 0, 0), "█");
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(1.0), "█".repeat(BAR));
        assert_eq!(bar(0.5), "█".repeat(BAR / 2));
        assert_eq!(bar(0.0001), "▏");
    }
}
