//! Reports held against the first of them.
//!
//! Ledgers are compared in core cycles: those of a scheduler and of a load/store unit on average, which add up to the run's
//! cycles, and those of a load access, which add up to the mean latency. So the changes of the reasons add up to the change of
//! the whole, whatever the number of SMs and of accesses, and each is written in percent of the first report's whole.

mod numbers;
mod picture;
mod table;
mod text;

use crate::serial::Difference;

use super::Report;
use super::headline::Measure;

pub use text::write;

/// Reports held against the first of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What the reports are called, the first one first.
    pub names: Vec<String>,
    /// Of each, machine and workload in words.
    pub subjects: Vec<[String; 2]>,
    /// What was put in differently, as far as it decides the outcome.
    pub inputs: Vec<Difference>,
    /// What came out.
    pub tables: Vec<Table>,
}

/// Numbers that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What they are numbers of.
    pub title: String,
    /// What each of them is; empty where each says it itself.
    pub meaning: &'static str,
    /// The numbers.
    pub rows: Vec<Row>,
    /// Whether they are the parts of a ledger.
    pub adds_up: bool,
}

/// One number of every report.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is.
    pub name: String,
    /// By report; none where a report has nothing of it.
    pub values: Vec<Option<f64>>,
    /// How it is written.
    pub measure: Measure,
    /// What a change is held against.
    pub against: Against,
}

/// What a change is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Against {
    /// The first report's value.
    Value,
    /// One: the values are shares.
    One,
    /// The whole that the first report's value is part of.
    Whole(f64),
}

/// A number that changed by more than is tolerated.
#[derive(Clone, Debug, PartialEq)]
pub struct Exceeding<'a> {
    /// Which.
    pub row: &'a Row,
    /// In which report, by its place.
    pub report: usize,
    /// By how much: as [`Row::change`] has it.
    pub change: f64,
}

impl Row {
    /// How a report's number differs from the first one's: as a share of what it is held against. Infinite where that is zero,
    /// or where only one of the two has a number.
    pub fn change(&self, report: usize) -> f64 {
        let (base, value) = match (self.values[0], self.values[report]) {
            (Some(base), Some(value)) => (base, value),
            (None, None) => return 0.0,
            _ => return f64::INFINITY,
        };
        let against = match self.against {
            Against::Value => base.abs(),
            Against::One => 1.0,
            Against::Whole(whole) => whole,
        };
        match value - base {
            0.0 => 0.0,
            _ if against == 0.0 => f64::INFINITY,
            difference => difference / against,
        }
    }

    /// A report's number in words.
    pub fn shown(&self, report: usize) -> String {
        self.values[report].map_or_else(|| "none".to_owned(), |value| self.measure.show(value))
    }

    /// How a report's number differs from the first one's, in words: `=` where it does not.
    pub fn shown_change(&self, report: usize) -> String {
        let unit = if self.against == Against::One { "pp" } else { "%" };
        match self.change(report) {
            0.0 => "=".to_owned(),
            change if change.is_finite() => format!("{:+.1} {unit}", 100.0 * change),
            _ if self.values[report].is_none() => "gone".to_owned(),
            _ => "new".to_owned(),
        }
    }
}

impl Comparison {
    /// Holds reports against the first of them, each with what it is called; with `counters`, those of every component that
    /// differ as well.
    ///
    /// # Panics
    /// Without a report.
    pub fn new(reports: &[(String, Report)], counters: bool) -> Self {
        let names = reports.iter().map(|(name, _)| name.clone()).collect();
        let reports: Vec<&Report> = reports.iter().map(|(_, report)| report).collect();
        let mut tables = vec![numbers::totals(&reports)];
        tables.extend(numbers::kernels(&reports));
        tables.extend(numbers::ledgers(&reports));
        if counters {
            tables.extend(numbers::components(&reports));
        }
        Comparison {
            names,
            subjects: reports.iter().map(|one| [one.machine_line(), one.workload_line()]).collect(),
            inputs: numbers::inputs(&reports),
            tables,
        }
    }

    /// The numbers that changed by more than `tolerance`, a share; the largest change first.
    pub fn exceeding(&self, tolerance: f64) -> Vec<Exceeding<'_>> {
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        let all = rows.flat_map(|row| {
            (1..row.values.len()).map(move |report| Exceeding {
                row,
                report,
                change: row.change(report),
            })
        });
        let mut found: Vec<_> = all.filter(|one| one.change.abs() > tolerance).collect();
        found.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Setting, overrides};
    use crate::report::sample;
    use crate::stats::LsuReason;

    /// A report, and what it is called.
    pub fn base() -> (String, Report) {
        ("base".to_owned(), sample::report())
    }

    /// The same with twice the merger fields and without its last launch.
    pub fn changed() -> (String, Report) {
        let (mut inputs, mut kernels, check) = sample::parts();
        let settings = [("l1.mshr_mergers".to_owned(), Setting::new("16"))].into();
        inputs.machine = overrides::apply_to_machine(&inputs.machine, &settings).unwrap();
        inputs.set.insert("l1.mshr_mergers".to_owned(), 16.into());
        kernels.pop();
        let report = Report::new("mergers-16", inputs, kernels, check).unwrap();
        ("changed".to_owned(), report)
    }

    fn find<'a>(comparison: &'a Comparison, table: &str, row: &str) -> &'a Row {
        let table = comparison.tables.iter().find(|one| one.title == table).unwrap();
        table.rows.iter().find(|one| one.name == row).unwrap()
    }

    #[test]
    fn the_changes_of_the_reasons_add_up_to_the_change_of_the_cycles() {
        let comparison = Comparison::new(&[base(), changed()], false);
        let cycles = find(&comparison, "Totals", "core cycles").change(1);
        let latency = find(&comparison, "Totals", "mean load latency").change(1);
        let ledgers: Vec<_> = comparison.tables.iter().filter(|table| table.adds_up).collect();
        for (ledger, whole) in ledgers.iter().zip([cycles, cycles, latency]) {
            let sum: f64 = ledger.rows.iter().map(|row| row.change(1)).sum();
            assert!((sum - whole).abs() < 1e-12, "{}: {sum} and {whole}", ledger.title);
        }
        assert!((-0.26..-0.24).contains(&cycles));
    }

    #[test]
    fn what_was_put_in_differently_is_named_by_the_path_of_set() {
        let comparison = Comparison::new(&[base(), changed()], false);
        let [one] = comparison.inputs.as_slice() else { panic!("{:?}", comparison.inputs) };
        assert_eq!(
            (one.path.as_str(), one.values.join(" ")),
            ("l1.mshr_mergers", "8 16".to_owned())
        );
    }

    #[test]
    fn a_change_is_held_against_what_it_is_part_of() {
        let row = |against, values: [Option<f64>; 2]| Row {
            name: String::new(),
            values: values.into(),
            measure: Measure::Number,
            against,
        };
        let change = |against, values| row(against, values).change(1);
        assert_eq!(change(Against::Value, [Some(4.0), Some(5.0)]), 0.25);
        assert_eq!(change(Against::One, [Some(0.5), Some(0.25)]), -0.25);
        assert_eq!(change(Against::Whole(100.0), [Some(4.0), Some(5.0)]), 0.01);
        assert_eq!(change(Against::Value, [Some(0.0), Some(0.0)]), 0.0);
        assert_eq!(change(Against::Value, [None, None]), 0.0);
        for (values, shown) in [
            ([Some(0.0), Some(1.0)], "new"),
            ([None, Some(0.0)], "new"),
            ([Some(0.0), None], "gone"),
        ] {
            assert_eq!(change(Against::Value, values), f64::INFINITY);
            assert_eq!(row(Against::Value, values).shown_change(1), shown);
        }
        assert_eq!(row(Against::One, [Some(0.5), Some(0.25)]).shown_change(1), "-25.0 pp");
        assert_eq!(row(Against::Value, [Some(1.0), Some(1.0001)]).shown_change(1), "+0.0 %");
        assert_eq!(row(Against::Value, [Some(1.0), Some(1.0)]).shown_change(1), "=");
    }

    #[test]
    fn a_change_within_the_tolerance_does_not_count() {
        let comparison = Comparison::new(&[base(), changed()], true);
        assert!(comparison.exceeding(f64::MAX).is_empty());
        let found = comparison.exceeding(0.2);
        assert!(found.iter().any(|one| one.row.name == "core cycles"));
        assert!(found.windows(2).all(|two| two[0].change.abs() >= two[1].change.abs()));
        assert!(comparison.exceeding(0.0).len() > found.len());
        assert!(Comparison::new(&[base(), base()], true).exceeding(0.0).is_empty());
    }

    #[test]
    fn a_reason_that_one_report_alone_has_is_shown() {
        let (inputs, mut kernels, check) = sample::parts();
        kernels[0].ledgers.lsu.charge(LsuReason::BankConflict, 15);
        kernels[0].ledgers.lsu.add_total(15);
        let other = Report::new("conflicts", inputs, kernels, check).unwrap();
        let comparison = Comparison::new(&[base(), ("other".to_owned(), other)], false);
        let row = find(&comparison, "Load/store units", "bankconflict");
        assert_eq!(row.values[0], Some(0.0));
        assert!(row.change(1) > 0.0 && row.change(1).is_finite());
    }

    #[test]
    fn kernels_are_compared_where_there_are_several() {
        let titles = |comparison: &Comparison| {
            comparison.tables.iter().map(|table| table.title.clone()).collect::<Vec<_>>()
        };
        let one = Comparison::new(&[base(), changed()], false);
        assert_eq!(titles(&one), ["Totals", "Schedulers", "Load/store units", "Load latency"]);
        let (inputs, mut kernels, check) = sample::parts();
        kernels[3].name = "last".to_owned();
        let other = Report::new("two", inputs, kernels, check).unwrap();
        let two = Comparison::new(&[base(), ("other".to_owned(), other)], false);
        assert_eq!(find(&two, "Kernels", "last").values[0], None);
        // Of two kernels that have nothing to do with each other, nothing is to be said.
        let (inputs, mut kernels, check) = sample::parts();
        kernels.iter_mut().for_each(|kernel| kernel.name = "another".to_owned());
        let other = Report::new("another", inputs, kernels, check).unwrap();
        let apart = Comparison::new(&[base(), ("other".to_owned(), other)], false);
        assert_eq!(titles(&apart), titles(&one));
    }
}
