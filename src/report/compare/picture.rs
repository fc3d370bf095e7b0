//! A comparison as a picture.

use crate::report::colour::Colour;
use crate::report::plot::{Axis, BarSeries, Body, Chart, StackedBars};

use super::{Against, Comparison, Row, Table};

/// Reasons that are below this part of the first report's bar in every report share a colour.
const SMALL: f64 = 0.01;
/// Letters of a bar's name.
const LETTERS: usize = 20;
/// Inputs that are named.
const MOST_INPUTS: usize = 4;

impl Comparison {
    /// The ledgers, a bar for each report: as high as the run's cycles, or as the mean latency.
    pub fn chart(&self) -> Chart {
        let ledgers = self.tables.iter().filter(|table| table.adds_up);
        Chart {
            title: format!("{} against {}", self.names[1..].join(", "), self.names[0]),
            subtitle: self.subtitle(),
            note: self.note(),
            body: Body::Panels(ledgers.map(|table| self.panel(table)).collect()),
        }
    }

    /// What each report is about; the workload once, where it is the same.
    fn subtitle(&self) -> String {
        let each = self.names.iter().zip(&self.subjects);
        let is_one = self.subjects.iter().all(|[_, workload]| *workload == self.subjects[0][1]);
        match is_one {
            true => {
                let machines = each.map(|(name, [machine, _])| format!("{name}: {machine}"));
                let machines = machines.collect::<Vec<_>>().join(" | ");
                format!("{machines} · {}", self.subjects[0][1])
            }
            false => {
                let lines = each
                    .map(|(name, [machine, workload])| format!("{name}: {machine} · {workload}"));
                lines.collect::<Vec<_>>().join(" | ")
            }
        }
    }

    /// What was put in differently.
    fn note(&self) -> String {
        match self.inputs.len() {
            0 => "the inputs are the same".to_owned(),
            1..=MOST_INPUTS => {
                let inputs = self.inputs.iter();
                let inputs = inputs.map(|one| format!("{}: {}", one.path, one.values.join(" | ")));
                inputs.collect::<Vec<_>>().join(", ")
            }
            many => format!("{many} inputs differ"),
        }
    }

    fn panel(&self, table: &Table) -> Chart {
        let (large, small): (Vec<_>, Vec<_>) = table.rows.iter().partition(|row| is_large(row));
        let mut parts: Vec<_> = large
            .into_iter()
            .map(|row| BarSeries {
                name: row.name.clone(),
                values: row.values.clone(),
                ..BarSeries::default()
            })
            .collect();
        if !small.is_empty() {
            let sum = |report| small.iter().filter_map(|row| row.values[report]).sum();
            let rest = BarSeries::new("the rest", (0..self.names.len()).map(sum));
            parts.push(rest.with_colour(Colour::GREY));
        }
        let bars = StackedBars {
            categories: self.names.iter().map(|name| ending(name)).collect(),
            across: String::new(),
            parts,
            y: Axis::new("core cycles"),
            normalise: false,
            sum_labels: true,
        };
        Chart {
            title: table.title.clone(),
            subtitle: table.meaning.clone(),
            body: Body::StackedBars(bars),
            ..Chart::default()
        }
    }
}

/// A name, or its end where it is long.
fn ending(name: &str) -> String {
    match name.char_indices().rev().nth(LETTERS - 1) {
        Some((start, _)) if start > 0 => format!("…{}", &name[start..]),
        _ => name.to_owned(),
    }
}

/// Whether a reason is to be seen in any of the bars.
fn is_large(row: &Row) -> bool {
    let is_seen = |whole: f64| row.values.iter().flatten().any(|value| *value >= SMALL * whole);
    matches!(row.against, Against::Whole(whole) if is_seen(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::compare::tests::{base, changed};

    #[test]
    fn a_long_name_is_cut_at_its_beginning() {
        assert_eq!(ending("stencil-char"), "stencil-char");
        assert_eq!(ending(&"x".repeat(20)), "x".repeat(20));
        assert_eq!(ending("stencil-char-with-16-mergers"), "…char-with-16-mergers");
    }

    #[test]
    fn every_ledger_has_a_bar_for_each_report_whose_parts_are_the_whole() {
        let comparison = Comparison::new(&[base(), changed()], false);
        let chart = comparison.chart();
        assert_eq!(chart.title, "changed against base");
        assert_eq!(chart.note, "l1.mshr_mergers: 8 | 16");
        let Body::Panels(panels) = chart.body else { panic!() };
        let ledgers = comparison.tables.iter().filter(|table| table.adds_up);
        for (panel, table) in panels.iter().zip(ledgers) {
            let Body::StackedBars(bars) = &panel.body else { panic!() };
            for report in 0..2 {
                let drawn: f64 = bars.parts.iter().filter_map(|part| part.values[report]).sum();
                let all: f64 = table.rows.iter().filter_map(|row| row.values[report]).sum();
                assert!((drawn / all - 1.0).abs() < 1e-12, "{drawn} of {all}");
            }
        }
        assert_eq!(panels.len(), 4);
    }
}
