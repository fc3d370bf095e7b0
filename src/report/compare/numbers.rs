//! The numbers that are compared.

use serde_json::{Map, Value};

use crate::report::headline::{Headline, Measure, headlines};
use crate::report::page::instances;
use crate::report::{KernelSum, Report};
use crate::serial::{Difference, differences, to_json_value};
use crate::stats::{Ledger, Reason, ratio};

use super::{Against, Row, Table};

/// Letters of an input's value that are shown.
const LETTERS: usize = 24;

/// What decides the outcome, where it differs: by the paths of `--set`, the machine's fields behind all else.
pub fn inputs(reports: &[&Report]) -> Vec<Difference> {
    let workload = &reports[0].inputs.workload;
    let is_one_workload = reports.iter().all(|report| report.inputs.workload == *workload);
    let of = |report: &&Report| {
        let inputs = to_json_value(&report.inputs);
        let mut named = Map::new();
        named.insert("machine".to_owned(), inputs["machine"]["name"].clone());
        named.insert("workload".to_owned(), inputs["workload"].clone());
        named.insert("seed".to_owned(), inputs["seed"].clone());
        named.insert("gsim".to_owned(), report.gsim.clone().into());
        // Each workload has files of its own.
        if is_one_workload {
            named.insert("versions".to_owned(), inputs["versions"].clone());
        }
        let fields = inputs["machine"].as_object().into_iter().flatten();
        let others = ["name", "calibration"];
        let fields = fields.filter(|(field, _)| !others.contains(&field.as_str()));
        named.extend(fields.map(|(field, value)| (field.clone(), value.clone())));
        Value::Object(named)
    };
    let inputs: Vec<_> = reports.iter().map(of).collect();
    differences(&inputs.iter().collect::<Vec<_>>(), LETTERS)
}

/// The first numbers to look at.
pub fn totals(reports: &[&Report]) -> Table {
    let each: Vec<_> = reports.iter().map(|report| headlines(report)).collect();
    let row = |(place, &Headline { label, measure, .. }): (usize, &Headline)| Row {
        name: label.to_owned(),
        values: each.iter().map(|headlines| headlines[place].value).collect(),
        measure,
        against: if measure == Measure::Share { Against::One } else { Against::Value },
    };
    Table {
        title: "Totals".to_owned(),
        meaning: String::new(),
        rows: each[0].iter().enumerate().map(row).collect(),
        adds_up: false,
    }
}

/// The cycles of each kernel, all of its launches together; none where there is but one, or where no two reports share one.
pub fn kernels(reports: &[&Report]) -> Option<Table> {
    let each: Vec<Vec<KernelSum>> = reports.iter().map(|report| report.by_kernel()).collect();
    let mut names: Vec<&str> = Vec::new();
    for kernel in each.iter().flatten() {
        if !names.contains(&kernel.name) {
            names.push(kernel.name);
        }
    }
    let cycles = |kernels: &[KernelSum], name: &str| {
        let kernel = kernels.iter().find(|kernel| kernel.name == name)?;
        Some(kernel.cycles as f64)
    };
    let row = |name: &str| Row {
        name: name.to_owned(),
        values: each.iter().map(|kernels| cycles(kernels, name)).collect(),
        measure: Measure::Count,
        against: Against::Value,
    };
    let rows: Vec<_> = names.into_iter().map(row).collect();
    let is_shared = |row: &Row| row.values.iter().flatten().count() > 1;
    (rows.len() > 1 && rows.iter().any(is_shared)).then(|| Table {
        title: "Kernels".to_owned(),
        meaning: "core cycles of all launches together".to_owned(),
        rows,
        adds_up: false,
    })
}

/// The four ledgers, in core cycles.
pub fn ledgers(reports: &[&Report]) -> [Table; 4] {
    // A ledger's total is the cycles of all units, which gives their number. A DRAM channel counts in clocks of its own, and so many
    // to a core cycle.
    fn of_units<R: Reason, const N: usize>(ledger: &Ledger<R, N>, report: &Report) -> Explained {
        Explained::new(ledger, ratio(ledger.total(), report.totals.cycles))
    }
    let of_access =
        |one: &Report| Explained::new(&one.ledgers.latency, one.totals.load_accesses as f64);
    let [scheduler, unit, access, channel] =
        ["scheduler", "load/store unit", "load access", "DRAM channel"];
    [
        ledger("Schedulers", scheduler, reports, |one| of_units(&one.ledgers.issue, one)),
        ledger("Load/store units", unit, reports, |one| of_units(&one.ledgers.lsu, one)),
        ledger("Load latency", access, reports, of_access),
        ledger("DRAM channels", channel, reports, |one| of_units(&one.ledgers.dram, one)),
    ]
}

/// What a ledger explains of one of its units or accesses, in the mean, and the parts of that.
struct Explained {
    whole: f64,
    parts: Vec<(&'static str, f64)>,
}

impl Explained {
    /// Of `ledger`, which explains `count` of them.
    fn new<R: Reason, const N: usize>(ledger: &Ledger<R, N>, count: f64) -> Self {
        let of_one = |amount: u64| if count > 0.0 { amount as f64 / count } else { 0.0 };
        let parts = ledger.parts().map(|(name, _, amount)| (name, of_one(amount)));
        Explained { whole: of_one(ledger.total()), parts: parts.collect() }
    }
}

/// The reasons that any of the reports has, the largest first.
fn ledger(title: &str, one: &str, reports: &[&Report], of: impl Fn(&Report) -> Explained) -> Table {
    let each: Vec<_> = reports.iter().map(|report| of(report)).collect();
    let row = |(place, &(name, _)): (usize, &(&str, f64))| Row {
        name: name.to_owned(),
        values: each.iter().map(|one| Some(one.parts[place].1)).collect(),
        measure: Measure::Number,
        against: Against::Whole(each[0].whole),
    };
    let largest = |row: &Row| row.values.iter().flatten().fold(0.0_f64, |most, one| most.max(*one));
    let mut rows: Vec<_> = each[0].parts.iter().enumerate().map(row).collect();
    rows.retain(|row| largest(row) > 0.0);
    rows.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    let meaning = format!("mean core cycles per {one}");
    Table { title: title.to_owned(), meaning, rows, adds_up: true }
}

/// The counters that differ, each the sum over a component's instances.
pub fn components(reports: &[&Report]) -> Vec<Table> {
    let each: Vec<_> = reports.iter().map(|report| to_json_value(&report.components)).collect();
    let names = each[0].as_object().into_iter().flatten().map(|(name, _)| name);
    let tables = names.map(|name| {
        let instances: Vec<_> = each.iter().map(|one| instances(&one[name])).collect();
        let counters = instances.iter().find_map(|one| one.first()?.as_object());
        let sum = |instances: &[Value], counter: &str| {
            let values = instances.iter().filter_map(|one| one[counter].as_f64());
            values.reduce(|sum, more| sum + more)
        };
        let row = |counter: &String| Row {
            name: counter.clone(),
            values: instances.iter().map(|one| sum(one, counter)).collect(),
            measure: Measure::Count,
            against: Against::Value,
        };
        let rows = counters.into_iter().flatten().map(|(counter, _)| row(counter));
        let differs = |row: &Row| row.values.iter().any(|value| *value != row.values[0]);
        Table {
            title: name.clone(),
            meaning: "counters that differ, all instances together".to_owned(),
            rows: rows.filter(differs).collect(),
            adds_up: false,
        }
    });
    tables.filter(|table| !table.rows.is_empty()).collect()
}
