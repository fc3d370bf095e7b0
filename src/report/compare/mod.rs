//! Reports held against the first of them.
//!
//! Ledgers are compared in core cycles: the mean over all schedulers and over all load/store units, which adds up to the run's
//! cycles, and the mean over all load accesses, which adds up to their mean latency. So the changes of the reasons add up to the
//! change of the whole, whatever the number of SMs and of accesses, and each is written in percent of the first report's whole.

mod names;
mod numbers;
mod picture;
mod remarks;
mod table;
mod text;
mod times;

use crate::serial::Difference;

use super::Report;
use super::headline::Measure;
use super::number;

pub use names::names;
pub use text::{MOST_INPUTS, write};

/// Reports held against the first of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What the reports are called, the first one first.
    pub names: Vec<String>,
    /// Of each, machine and workload in words.
    pub subjects: Vec<[String; 2]>,
    /// What was put in differently, as far as it decides the outcome.
    pub inputs: Vec<Difference>,
    /// What makes some numbers unlike, a clause each.
    pub remarks: Vec<String>,
    /// What came out.
    pub tables: Vec<Table>,
}

/// Numbers that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What they are numbers of.
    pub title: String,
    /// What each of them is; empty where each says it itself.
    pub meaning: String,
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
    /// Whose it is.
    pub table: &'a Table,
    /// Which.
    pub row: &'a Row,
    /// In which report, by its place.
    pub report: usize,
}

/// How a number differs from the first report's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Not at all.
    None,
    /// By so much.
    By {
        /// The difference.
        difference: f64,
        /// What that is held against; more than zero.
        against: f64,
    },
    /// There was no number, or zero to hold the difference against.
    New,
    /// There is no number any more.
    Gone,
}

impl Change {
    /// As a share; infinite where there is nothing to hold it against.
    pub fn share(self) -> f64 {
        match self {
            Change::None => 0.0,
            Change::By { difference, against } => difference / against,
            Change::New | Change::Gone => f64::INFINITY,
        }
    }

    /// Whether it is more than so many percent, up or down.
    pub fn exceeds(self, percent: f64) -> bool {
        match self {
            Change::None => false,
            // Without a division, so that what is just tolerated is not rounded up.
            Change::By { difference, against } => 100.0 * difference.abs() > percent * against,
            Change::New | Change::Gone => true,
        }
    }
}

impl Row {
    /// How a report's number differs from the first one's.
    pub fn change(&self, report: usize) -> Change {
        let (base, value) = match (self.values[0], self.values[report]) {
            (Some(base), Some(value)) => (base, value),
            (None, None) => return Change::None,
            (None, _) => return Change::New,
            (_, None) => return Change::Gone,
        };
        let against = match self.against {
            Against::Value => base.abs(),
            Against::One => 1.0,
            Against::Whole(whole) => whole,
        };
        match value - base {
            0.0 => Change::None,
            _ if against == 0.0 => Change::New,
            difference => Change::By { difference, against },
        }
    }

    /// A report's number in words.
    pub fn shown(&self, report: usize) -> String {
        self.measure.show_if_any(self.values[report])
    }

    /// How a report's number differs from the first one's, in words: `=` where it does not.
    pub fn shown_change(&self, report: usize) -> String {
        let unit = if self.against == Against::One { "pp" } else { "%" };
        let change = self.change(report);
        match change {
            Change::None => "=".to_owned(),
            Change::New => "new".to_owned(),
            Change::Gone => "gone".to_owned(),
            Change::By { difference, .. } => match 100.0 * change.share() {
                small if small.abs() < 0.05 => {
                    format!("{}<0.1 {unit}", if difference < 0.0 { '-' } else { '+' })
                }
                // A thousand percent say less than a factor of eleven.
                percent if percent >= 1000.0 && self.against == Against::Value => {
                    format!("x {}", number::short(1.0 + change.share()))
                }
                percent => format!("{percent:+.1} {unit}"),
            },
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
        let names: Vec<String> = reports.iter().map(|(name, _)| name.clone()).collect();
        let reports: Vec<&Report> = reports.iter().map(|(_, report)| report).collect();
        let mut tables = vec![numbers::totals(&reports)];
        tables.extend(numbers::kernels(&reports));
        tables.extend(times::kernels_in_time(&reports));
        tables.extend(numbers::ledgers(&reports));
        if counters {
            tables.extend(numbers::components(&reports));
        }
        Comparison {
            subjects: reports.iter().map(|one| [one.machine_line(), one.workload_line()]).collect(),
            inputs: numbers::inputs(&reports),
            remarks: remarks::remarks(&names, &reports),
            names,
            tables,
        }
    }

    /// The numbers that changed by more than `percent` of what they are held against; the largest change first.
    pub fn exceeding(&self, percent: f64) -> Vec<Exceeding<'_>> {
        let rows =
            self.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
        let all = rows.flat_map(|(table, row)| {
            (1..row.values.len()).map(move |report| Exceeding { table, row, report })
        });
        let change = |one: &Exceeding| one.row.change(one.report);
        let mut found: Vec<_> = all.filter(|one| change(one).exceeds(percent)).collect();
        found.sort_by(|a, b| change(b).share().abs().total_cmp(&change(a).share().abs()));
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
    fn the_changes_of_the_reasons_add_up_to_the_change_of_the_whole() {
        let (name, mut other) = changed();
        // Of fewer accesses, each takes longer.
        other.totals.load_accesses -= 1000;
        let latency = other.ledgers.latency.total() as f64 / other.totals.load_accesses as f64;
        other.totals.mean_latency = latency;
        let comparison = Comparison::new(&[base(), (name, other)], false);
        let of_all = |row| find(&comparison, "Totals", row).change(1).share();
        let (cycles, latency) = (of_all("core cycles"), of_all("mean load latency"));
        let ledgers: Vec<_> = comparison.tables.iter().filter(|table| table.adds_up).collect();
        assert_eq!(ledgers.len(), 4);
        for (ledger, whole) in ledgers.iter().zip([cycles, cycles, latency, cycles]) {
            let sum: f64 = ledger.rows.iter().map(|row| row.change(1).share()).sum();
            assert!((sum - whole).abs() < 1e-12, "{}: {sum} and {whole}", ledger.title);
        }
        assert!((-0.26..-0.24).contains(&cycles) && latency > 0.001);
    }

    #[test]
    fn reasons_are_those_of_one_scheduler_whatever_their_number() {
        let (name, mut other) = base();
        // Twice the SMs, of which each does the same.
        other.ledgers.issue.merge(&other.ledgers.issue.clone());
        let comparison = Comparison::new(&[base(), (name, other)], false);
        let issue = comparison.tables.iter().find(|table| table.title == "Schedulers").unwrap();
        assert!(issue.rows.iter().all(|row| row.change(1) == Change::None), "{issue:?}");
    }

    #[test]
    fn a_run_of_nothing_is_compared_as_well() {
        let (inputs, _, check) = sample::parts();
        let nothing = Report::new("nothing", inputs, Vec::new(), check).unwrap();
        let comparison = Comparison::new(&[base(), ("nothing".to_owned(), nothing)], true);
        assert_eq!(find(&comparison, "Totals", "core cycles").shown_change(1), "-100.0 %");
        assert_eq!(find(&comparison, "Totals", "L1 hit rate").change(1), Change::Gone);
        assert_eq!(find(&comparison, "Schedulers", "issued").values[1], Some(0.0));
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
        let by = |difference, against| Change::By { difference, against };
        assert_eq!(change(Against::Value, [Some(4.0), Some(5.0)]), by(1.0, 4.0));
        assert_eq!(change(Against::One, [Some(0.5), Some(0.25)]), by(-0.25, 1.0));
        assert_eq!(change(Against::Whole(100.0), [Some(4.0), Some(5.0)]), by(1.0, 100.0));
        assert_eq!(change(Against::Value, [Some(0.0), Some(0.0)]), Change::None);
        assert_eq!(change(Against::Value, [None, None]), Change::None);
        assert_eq!(change(Against::Value, [Some(0.0), Some(1.0)]), Change::New);
        assert_eq!(change(Against::Value, [None, Some(0.0)]), Change::New);
        assert_eq!(change(Against::Value, [Some(0.0), None]), Change::Gone);
        let shown = |against, base, value| row(against, [base, value]).shown_change(1);
        assert_eq!(shown(Against::One, Some(0.5), Some(0.25)), "-25.0 pp");
        assert_eq!(shown(Against::Value, Some(1.0), Some(1.0001)), "+<0.1 %");
        assert_eq!(shown(Against::Value, Some(1.0), Some(0.9999)), "-<0.1 %");
        assert_eq!(shown(Against::Value, Some(1.0), Some(1.0)), "=");
        assert_eq!(shown(Against::Value, Some(1.0), None), "gone");
        assert_eq!(shown(Against::Value, None, Some(1.0)), "new");
    }

    #[test]
    fn a_change_within_the_tolerance_does_not_count() {
        let just = Change::By { difference: 7.0, against: 1000.0 };
        assert!(!just.exceeds(0.7) && just.exceeds(0.69));
        assert!(
            Change::New.exceeds(1e6) && Change::Gone.exceeds(1e6) && !Change::None.exceeds(0.0)
        );
        let comparison = Comparison::new(&[base(), changed()], true);
        assert!(comparison.exceeding(1e6).is_empty());
        let found = comparison.exceeding(20.0);
        assert!(found.iter().any(|one| one.row.name == "core cycles"));
        let sizes: Vec<_> =
            found.iter().map(|one| one.row.change(one.report).share().abs()).collect();
        assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
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
        assert!(matches!(row.change(1), Change::By { difference, .. } if difference > 0.0));
    }

    #[test]
    fn kernels_are_compared_where_there_are_several() {
        let titles = |comparison: &Comparison| {
            comparison.tables.iter().map(|table| table.title.clone()).collect::<Vec<_>>()
        };
        let one = Comparison::new(&[base(), changed()], false);
        let ledgers = ["Schedulers", "Load/store units", "Load latency", "DRAM channels"];
        assert_eq!(titles(&one)[0], "Totals");
        assert_eq!(titles(&one)[1..], ledgers);
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
