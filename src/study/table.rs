//! The reports of a study, by the labels of their points.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Outcome;
use crate::config::ResolvedRun;
use crate::config::figure::Place;
use crate::config::study::Axis;
use crate::error::{Error, Result};
use crate::report::Report;
use crate::serial;
use crate::simulate::inputs;

/// The column that says why a run does not fit its machine.
pub const MISFIT: &str = "misfit";

/// What came of every point of a study.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name and labels of each axis.
    axes: Vec<(String, Vec<String>)>,
    /// The last axis varies fastest.
    outcomes: Vec<Outcome>,
    /// Whether there is only one report, which stands for all of them: it has their fields, and one entry in each list.
    only_shape: bool,
}

impl Table {
    /// `outcomes` in the order of the points of `axes`.
    pub fn new(axes: &[Axis], outcomes: Vec<Outcome>) -> Self {
        let axes = axes.iter().map(|axis| (axis.name().to_owned(), axis.labels())).collect();
        Table { axes, outcomes, only_shape: false }
    }

    /// What is known of the table before anything was simulated. Its metrics have values without a meaning, and those
    /// of `inputs`, which not all reports have, are taken for right.
    /// `run` is any of its runs.
    pub fn shape(axes: &[Axis], run: &ResolvedRun) -> Self {
        let shape = Report::shape(&run.config.name, inputs(run, BTreeMap::new()));
        let shape = Outcome::Report(serial::to_json_value(&shape));
        Table { only_shape: true, ..Table::new(axes, vec![shape]) }
    }

    /// What came of every point, in their order.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Why the first point has no report, where none has one.
    pub fn why_empty(&self) -> Option<&str> {
        match self.outcomes.first()? {
            Outcome::Misfit(why) if self.reports().next().is_none() => Some(why),
            _ => None,
        }
    }

    /// Whether a point has no report.
    pub fn has_misfits(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.report().is_none())
    }

    fn reports(&self) -> impl Iterator<Item = &Value> {
        self.outcomes.iter().filter_map(Outcome::report)
    }

    /// The labels of an axis.
    pub fn labels(&self, axis: &str) -> Result<&[String]> {
        match self.axes.iter().find(|(name, _)| name == axis) {
            Some((_, labels)) => Ok(labels),
            None => {
                let known: Vec<_> = self.axes.iter().map(|(name, _)| name.as_str()).collect();
                let hint = format!("the axes are: {}", known.join(", "));
                Err(Error::input(format!("there is no axis {axis:?}")).hint(hint))
            }
        }
    }

    fn outcome(&self, place: &Place) -> Result<&Outcome> {
        let index = self.index(place)?;
        Ok(&self.outcomes[if self.only_shape { 0 } else { index }])
    }

    /// The report at a place; `None` where a kernel does not fit its machine.
    fn report(&self, place: &Place) -> Result<Option<&Value>> {
        Ok(self.outcome(place)?.report())
    }

    /// Why there is no report at a place; `None` where there is one.
    pub fn misfit(&self, place: &Place) -> Result<Option<&str>> {
        Ok(match self.outcome(place)? {
            Outcome::Report(_) => None,
            Outcome::Misfit(why) => Some(why),
        })
    }

    /// Whether there is such a place.
    pub fn check_place(&self, place: &Place) -> Result<()> {
        self.index(place).map(drop)
    }

    /// The number of the point at a place.
    fn index(&self, place: &Place) -> Result<usize> {
        for axis in place.keys() {
            self.labels(axis)?;
        }
        let mut index = 0;
        for (name, labels) in &self.axes {
            let point = match place.get(name) {
                None => 0,
                Some(label) => labels.iter().position(|known| known == label).ok_or_else(|| {
                    let hint = format!("its points are: {}", labels.join(", "));
                    Error::input(format!("axis {name:?} has no point {label:?}")).hint(hint)
                })?,
            };
            index = index * labels.len() + point;
        }
        Ok(index)
    }

    /// A metric at a place; `None` where a kernel does not fit its machine.
    pub fn value(&self, place: &Place, metric: &str) -> Result<Option<f64>> {
        let Some(report) = self.report(place)? else {
            // What no report has is a mistake anywhere.
            return if self.is_anywhere(metric) { Ok(None) } else { Err(no_metric(metric)) };
        };
        if !self.only_shape {
            let lacks = || self.lacks(place, metric);
            return lookup(report, metric).ok_or_else(lacks).map(Some);
        }
        let paths = metric.split(" + ").filter(|path| !path.starts_with("inputs."));
        for path in paths {
            let entry = |part| if str::parse::<usize>(part).is_ok() { "*" } else { part };
            let any: Vec<&str> = path.split('.').map(entry).collect();
            lookup(report, &any.join(".")).ok_or_else(|| no_metric(metric))?;
        }
        Ok(Some(1.0))
    }

    /// There is no such number at a place.
    fn lacks(&self, place: &Place, metric: &str) -> Error {
        if !self.is_anywhere(metric) {
            return no_metric(metric);
        }
        let label = |(axis, labels): &(String, Vec<String>)| {
            format!("{axis} {:?}", place.get(axis).unwrap_or(&labels[0]))
        };
        let labels: Vec<String> = self.axes.iter().map(label).collect();
        Error::input(format!("the report of {} has no number {metric:?}", labels.join(", ")))
            .hint("others have it; among the columns, such a cell stays empty")
    }

    /// Whether any report has such a number.
    fn is_anywhere(&self, metric: &str) -> bool {
        self.reports().any(|report| lookup(report, metric).is_some())
    }

    /// A metric at a place; none where it says nothing, or where others have it alone, or where there is no report.
    pub fn value_if_any(&self, place: &Place, metric: &str) -> Result<Option<f64>> {
        let report = self.report(place)?;
        let is_here = self.only_shape || report.is_some_and(|one| lookup(one, metric).is_some());
        if !self.has(place, metric)? || !is_here && self.is_anywhere(metric) {
            return Ok(None);
        }
        self.value(place, metric)
    }

    /// Whether a metric says anything at a place; see [`Report::has`].
    fn has(&self, place: &Place, metric: &str) -> Result<bool> {
        let total = metric.strip_prefix("totals.").filter(|name| Report::MAY_LACK.contains(name));
        let (Some(total), Some(report)) = (total, self.report(place)?) else { return Ok(true) };
        // What is no whole report was made up by a test.
        let report = Report::deserialize(report);
        Ok(report.map_or(true, |report| report.has(total)))
    }

    /// Every point with its place, in order.
    pub fn places(&self) -> Vec<Place> {
        let mut places = vec![Place::new()];
        for (name, labels) in &self.axes {
            places = places
                .into_iter()
                .flat_map(|place| {
                    labels.iter().map(move |label| {
                        let mut place = place.clone();
                        place.insert(name.clone(), label.clone());
                        place
                    })
                })
                .collect();
        }
        places
    }

    /// Names of the axes.
    pub fn axes(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|(name, _)| name.as_str())
    }

    /// All runs as a table: the axes, the cycles, and `columns`; nothing where a metric says nothing. Where kernels do not fit
    /// their machines, a last column says why.
    pub fn csv(&self, columns: &[String]) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let metrics = || std::iter::once("totals.cycles").chain(columns.iter().map(String::as_str));
        let write_error =
            |cause: csv::Error| Error::internal(format!("a table in memory: {cause}"));
        let misfit = self.has_misfits().then_some(MISFIT);
        writer.write_record(self.axes().chain(metrics()).chain(misfit)).map_err(write_error)?;
        for place in self.places() {
            let mut record: Vec<String> = self.axes().map(|axis| place[axis].clone()).collect();
            for metric in metrics() {
                let value = self.value_if_any(&place, metric)?;
                record.push(value.map_or_else(String::new, |value| value.to_string()));
            }
            if misfit.is_some() {
                record.push(self.misfit(&place)?.unwrap_or_default().to_owned());
            }
            writer.write_record(record).map_err(write_error)?;
        }
        let bytes = writer.into_inner().expect("memory can be flushed");
        Ok(String::from_utf8(bytes).expect("labels and numbers are text"))
    }
}

/// A metric of a report.
///
/// # Errors
/// A path that leads to no number.
pub fn metric(report: &Value, metric: &str) -> Result<f64> {
    lookup(report, metric).ok_or_else(|| no_metric(metric))
}

fn no_metric(metric: &str) -> Error {
    Error::input(format!("no report has a number {metric:?}"))
        .hint("a metric is a path into report.json, such as totals.cycles")
}

/// The sum of the numbers at paths with ` + ` between them.
fn lookup(value: &Value, paths: &str) -> Option<f64> {
    paths.split(" + ").map(|path| number(value, path)).sum()
}

/// The number at a path; a list takes a place, from 0, or `*` for the sum over its entries. A name that ends
/// in `*` is the sum over all names that begin so.
fn number(value: &Value, path: &str) -> Option<f64> {
    let (first, rest) = match path.split_once('.') {
        None => match (value.as_object(), path.strip_suffix('*')) {
            (Some(fields), Some(start)) => {
                let mut some = fields.iter().filter(|(name, _)| name.starts_with(start)).peekable();
                some.peek()?;
                return some.map(|(_, field)| field.as_f64()).sum();
            }
            _ => return value.get(path)?.as_f64(),
        },
        Some(parts) => parts,
    };
    match value {
        Value::Array(entries) if first == "*" => {
            entries.iter().map(|entry| number(entry, rest)).sum()
        }
        Value::Array(entries) => number(entries.get(first.parse::<usize>().ok()?)?, rest),
        _ => number(value.get(first)?, rest),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::config::load_run;
    use crate::config::parse::stated;

    fn table() -> Table {
        let report = |cycles: u64| {
            let report = json!({"totals": {"cycles": cycles}, "sm": [{"n": 1}, {"n": cycles}]});
            Outcome::Report(report)
        };
        let axes: Vec<Axis> =
            stated(r#"[Field(path: "a", values: [1, 2]), Field(path: "b", values: [x, y])]"#);
        Table::new(&axes, [10, 11, 20, 21].map(report).to_vec())
    }

    fn place(labels: &[(&str, &str)]) -> Place {
        labels.iter().map(|(axis, label)| (axis.to_string(), label.to_string())).collect()
    }

    #[test]
    fn a_place_that_leaves_out_an_axis_means_its_first_point() {
        let value = |labels| table().value(&place(labels), "totals.cycles").unwrap();
        assert_eq!(value(&[("b", "y")]), Some(11.0));
        assert_eq!(value(&[("a", "2"), ("b", "y")]), Some(21.0));
    }

    #[test]
    fn a_plus_sums_paths_and_a_star_behind_a_name_all_that_begin_so() {
        let report = json!({"parts": {"lsu_a": 1, "lsu_b": 2, "other": 4}});
        assert_eq!(lookup(&report, "parts.lsu_*"), Some(3.0));
        assert_eq!(lookup(&report, "parts.lsu_* + parts.other"), Some(7.0));
        assert_eq!(lookup(&report, "parts.none_*"), None);
        assert_eq!(lookup(&report, "parts.other + parts.none"), None);
    }

    #[test]
    fn a_star_sums_a_list_and_a_number_takes_one_entry() {
        assert_eq!(table().value(&place(&[("a", "2")]), "sm.*.n").unwrap(), Some(21.0));
        assert_eq!(table().value(&place(&[("a", "2")]), "sm.1.n").unwrap(), Some(20.0));
    }

    #[test]
    fn what_does_not_exist_is_named() {
        let error = |labels, metric| table().value(&place(labels), metric).unwrap_err().to_string();
        assert!(error(&[("c", "1")], "totals.cycles").contains("no axis \"c\""));
        assert!(error(&[("a", "3")], "totals.cycles").contains("no point \"3\""));
        assert!(error(&[], "totals.ipc").contains("\"totals.ipc\""));
    }

    #[test]
    fn a_metric_that_only_some_reports_have_is_none_in_a_cell_and_an_error_elsewhere() {
        let mut table = table();
        table.outcomes[2] = Outcome::Report(json!({
            "totals": {"cycles": 20}, "inputs": {"elements": 7},
        }));
        let elements = |labels| table.value_if_any(&place(labels), "inputs.elements").unwrap();
        assert_eq!(elements(&[("a", "2")]), Some(7.0));
        assert_eq!(elements(&[("a", "2"), ("b", "y")]), None);
        let error = table.value(&place(&[("b", "y")]), "inputs.elements").unwrap_err().to_string();
        assert!(
            error.starts_with("the report of a \"1\", b \"y\" has no number \"inputs.elements\"")
        );
        assert!(table.value_if_any(&place(&[]), "inputs.lines").is_err());
        let csv = table.csv(&["inputs.elements".into()]).unwrap();
        assert_eq!(csv.lines().nth(3), Some("2,x,20,7"));
        assert_eq!(csv.lines().nth(4), Some("2,y,21,"));
    }

    #[test]
    fn the_metrics_are_known_before_there_is_a_report() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/runs/stencil-char.ron");
        let shape = Table::shape(&[], &load_run(&file, &[]).unwrap());
        let known = |metric| shape.value(&Place::new(), metric).is_ok();
        for metric in [
            "totals.cycles",
            "kernels.3.totals.ipc",
            "kernels.*.ledgers.issue.parts.lsu_*",
            "components.sm.14.store_accesses + components.l2.*.atomics",
            "components.request_network.flits",
            "ledgers.lsu.total",
            "check.elements",
            "inputs.machine.l1.size",
        ] {
            assert!(known(metric), "{metric}");
        }
        for metric in ["totals.cycle", "components.l1.*.hits", "ledgers.issue.parts.sm_*", "totals"]
        {
            assert!(!known(metric), "{metric}");
        }
    }

    #[test]
    fn the_csv_has_a_line_for_each_run() {
        let csv = table().csv(&["sm.*.n".into()]).unwrap();
        assert_eq!(csv, "a,b,totals.cycles,sm.*.n\n1,x,10,11\n1,y,11,12\n2,x,20,21\n2,y,21,22\n");
    }

    #[test]
    fn a_run_that_does_not_fit_has_no_values_and_says_why_in_a_column_of_its_own() {
        let mut table = table();
        assert!(!table.has_misfits());
        table.outcomes[0] = Outcome::Misfit("kernel k: no, it does not".to_owned());
        assert_eq!(table.value(&place(&[]), "totals.cycles"), Ok(None));
        assert_eq!(table.value_if_any(&place(&[]), "sm.*.n"), Ok(None));
        assert_eq!(table.value(&place(&[("b", "y")]), "totals.cycles"), Ok(Some(11.0)));
        // What no report has is a mistake there, too.
        let error = table.value_if_any(&place(&[]), "totals.ipc").unwrap_err();
        assert_eq!(Err(error), table.value(&place(&[]), "totals.ipc"));
        assert_eq!(
            table.csv(&["sm.*.n".into()]).unwrap(),
            "a,b,totals.cycles,sm.*.n,misfit\n1,x,,,\"kernel k: no, it does not\"\n\
             1,y,11,12,\n2,x,20,21,\n2,y,21,22,\n"
        );
        assert_eq!(table.why_empty(), None);
        table.outcomes.truncate(1);
        assert_eq!(table.why_empty(), Some("kernel k: no, it does not"));
    }
}
