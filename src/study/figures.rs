//! From a figure's description and the table of runs to a chart.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::lines;
use super::misplaced::{At, Result};
use super::table::Table;
use crate::config::figure::{Bars, Draw, Figure, NumberFormat, Panel, Place, Reference};
use crate::config::study;
use crate::error::Error;
use crate::report::plot::{Axis, BarSeries, Body, Chart, Format, GroupedBars, Lines, StackedBars};

/// The chart of a figure of a study with `axes`.
pub fn chart(figure: &Figure, axes: &[study::Axis], table: &Table) -> Result<Chart> {
    let mut panels = Vec::new();
    let by_zero = Cell::new(false);
    for (number, panel) in figure.panels.iter().enumerate() {
        panels.push(panel_chart(panel, axes, table, &by_zero).at(number).at("panels")?);
    }
    let chart = match panels.len() {
        1 => panels.remove(0),
        _ => Chart { body: Body::Panels(panels), ..Chart::default() },
    };
    let by_zero = by_zero.get().then(|| "no value where it would be divided by zero".to_owned());
    let note = joined(&figure.note, [by_zero]);
    Ok(Chart { title: figure.title.clone(), note, ..chart })
}

/// A figure's note, and what else there is to say.
pub fn joined<const N: usize>(note: &str, more: [Option<String>; N]) -> String {
    let note = Some(note.to_owned()).filter(|note| !note.is_empty());
    let parts = note.into_iter().chain(more.into_iter().flatten());
    parts.collect::<Vec<_>>().join("; ")
}

/// Says in `by_zero` whether a value is left out, as it would be divided by zero.
fn panel_chart(
    panel: &Panel,
    axes: &[study::Axis],
    table: &Table,
    by_zero: &Cell<bool>,
) -> Result<Chart> {
    let mut categories = table.labels(&panel.across).at("across")?.to_vec();
    if let Bars::Axis { name, .. } = &panel.bars
        && *name == panel.across
    {
        let twice = format!("{name:?} stands along x already: bars need another axis");
        return Err(Error::input(twice)).at("bars");
    }
    table.check_place(&panel.at).at("at")?;
    if let Some(place) = &panel.relative_to {
        table.check_place(place).at("relative_to")?;
    }
    if !panel.only.is_empty() {
        for label in &panel.only {
            check_label(&panel.across, &categories, label).at("only")?;
        }
        categories = panel.only.clone();
    }
    let axis = |name: &str| axes.iter().find(|axis| axis.name() == name);
    let shown = |name: &str, label: &String| {
        axis(name).map_or(label.as_str(), |axis| axis.shown(label)).to_owned()
    };
    let across = axis(&panel.across).map_or("", study::Axis::title).to_owned();
    let names = || categories.iter().map(|label| shown(&panel.across, label)).collect();
    // What `of` says of each point along x.
    let along = |at: &Place, of: &dyn Fn(&Place) -> crate::error::Result<Option<f64>>| {
        let mut place = at.clone();
        let of = |label: &String| {
            place.insert(panel.across.clone(), label.clone());
            of(&place)
        };
        categories.iter().map(of).collect::<crate::error::Result<Vec<_>>>()
    };
    let series = |name: &str, metric: &str, at: &Place| -> Result<BarSeries> {
        let finite = |value: &f64| {
            by_zero.set(by_zero.get() || !value.is_finite());
            value.is_finite()
        };
        let of = |place: &Place| Ok(value(panel, table, place, metric)?.filter(finite));
        let values = along(at, &of).at("bars")?;
        Ok(BarSeries { name: name.to_owned(), values, ..BarSeries::default() })
    };
    let y = Axis { format: format(panel.format), ..Axis::new(&panel.y) }.from_zero();
    let none = Reference::default();
    let known = panel.reference.as_ref().unwrap_or(&none);
    // Series, and where each of them is.
    let grouped = |series: Vec<BarSeries>, at: &[Place]| -> Result<Body> {
        Ok(match &panel.draw {
            Draw::Bars => Body::GroupedBars(GroupedBars {
                categories: names(),
                across: across.clone(),
                series,
                y: y.clone(),
                value_labels: true,
                reference_name: known.name.clone(),
                baseline: panel.relative_to.as_ref().map(|_| 1.0),
            }),
            Draw::Lines(spacing) => {
                let x = lines::axis(&across, *spacing);
                let numbers = lines::numbers(&categories, *spacing).at("draw")?;
                let series = lines::series(&numbers, &series, &known.name);
                Body::Lines(Lines { x, y: y.clone(), series })
            }
            Draw::Curve { x, metric, format: of_x } => {
                if panel.reference.is_some() {
                    return Err(Error::input("nobody says where these values stand along x"))
                        .at("reference");
                }
                let curve = |(one, at): (&BarSeries, &Place)| {
                    let numbers = along(at, &|place| table.value(place, metric));
                    Ok(lines::curve(one, &numbers.at("metric").at("draw")?))
                };
                let series = series.iter().zip(at).map(curve).collect::<Result<_>>()?;
                let x = Axis { format: format(*of_x), ..Axis::new(x) }.from_zero();
                Body::Lines(Lines { x, y: y.clone(), series })
            }
        })
    };
    let body = match &panel.bars {
        Bars::One(metric) => {
            let bars = series("gsim", metric, &panel.at)?;
            let marks =
                marks(&panel.across, &categories, &known.values).at("values").at("reference")?;
            refuse_marks("bars", known.bars.is_empty())?;
            grouped(vec![bars.with_reference(marks)], std::slice::from_ref(&panel.at))?
        }
        Bars::Axis { name, metric } => {
            let (mut all, mut places) = (Vec::new(), Vec::new());
            let labels = table.labels(name).at("name").at("bars")?;
            refuse_marks("values", known.values.is_empty())?;
            for label in known.bars.keys() {
                check_label(name, labels, label).at("bars").at("reference")?;
            }
            for label in labels {
                let mut at = panel.at.clone();
                at.insert(name.clone(), label.clone());
                let marks = match known.bars.get(label) {
                    Some(values) => marks(&panel.across, &categories, values)
                        .at(label)
                        .at("bars")
                        .at("reference")?,
                    None => Vec::new(),
                };
                all.push(series(&shown(name, label), metric, &at)?.with_reference(marks));
                places.push(at);
            }
            grouped(all, &places)?
        }
        Bars::Stack(parts) => {
            refuse_marks("values", known.values.is_empty())?;
            refuse_marks("bars", known.bars.is_empty())?;
            if panel.draw != Draw::Bars {
                return Err(
                    Error::input("a stack has no lines").hint("lines show what One and Axis do")
                )
                .at("draw");
            }
            Body::StackedBars(StackedBars {
                categories: names(),
                across: across.clone(),
                parts: parts
                    .iter()
                    .map(|part| series(&part.name, &part.metric, &panel.at))
                    .collect::<Result<_>>()?,
                y: y.clone(),
                normalise: panel.shares,
                sum_labels: !panel.shares,
            })
        }
    };
    Ok(Chart { title: panel.title.clone(), body, ..Chart::default() })
}

fn format(format: NumberFormat) -> Format {
    match format {
        NumberFormat::Plain => Format::Plain,
        NumberFormat::Percent => Format::Percent,
        NumberFormat::Prefixed => Format::Prefixed,
    }
}

/// Somebody else's values, in the order of the categories.
fn marks(
    axis: &str,
    categories: &[String],
    values: &BTreeMap<String, f64>,
) -> Result<Vec<Option<f64>>> {
    for label in values.keys() {
        check_label(axis, categories, label).at(label)?;
    }
    Ok(categories.iter().map(|label| values.get(label).copied()).collect())
}

fn check_label(axis: &str, labels: &[String], label: &String) -> crate::error::Result<()> {
    match labels.contains(label) {
        true => Ok(()),
        false => Err(Error::input(format!("axis {axis:?} has no point {label:?}"))
            .hint(format!("its points are: {}", labels.join(", ")))),
    }
}

/// An error unless the field of a reference is empty: this kind of bars has no place for it.
fn refuse_marks(field: &str, empty: bool) -> Result<()> {
    match empty {
        true => Ok(()),
        false => Err(Error::input("cannot be shown at these bars")
            .hint("values belong to One, bars to Axis"))
        .at(field)
        .at("reference"),
    }
}

/// A metric at a place, divided and inverted as the panel asks; `None` where its run, or that which it is divided by, does not
/// fit its machine.
fn value(
    panel: &Panel,
    table: &Table,
    place: &Place,
    metric: &str,
) -> crate::error::Result<Option<f64>> {
    let mut value = table.value(place, metric)?;
    if let Some(to) = &panel.relative_to {
        let mut other = place.clone();
        other.extend(to.clone());
        let base = table.value(&other, metric)?;
        value = value.zip(base).map(|(value, base)| value / base);
    }
    Ok(value.map(|value| if panel.inverse { 1.0 / value } else { value }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::parse::stated;
    use crate::report::plot::{LineSeries, Scale};
    use crate::study::Outcome;

    /// As cycles: a run that does not fit its machine.
    const MISFIT: u64 = 0;

    /// Cycles of two applications (a, b) with two types (x, y).
    fn table(cycles: [u64; 4]) -> Table {
        Table::new(&axes(), cycles.map(outcome).to_vec())
    }

    fn outcome(cycles: u64) -> Outcome {
        match cycles {
            MISFIT => Outcome::Misfit("no room".to_owned()),
            _ => {
                let hits = cycles.saturating_sub(10);
                Outcome::Report(json!({"totals": {"cycles": cycles, "hits": hits}}))
            }
        }
    }

    fn axes() -> Vec<study::Axis> {
        stated(r#"[Field(path: "app", values: [a, b]), Field(path: "type", values: [x, y])]"#)
    }

    fn draw(bars: &str, reference: &str) -> Result<Chart> {
        draw_of([10, 5, 20, 30], bars, reference)
    }

    fn draw_of(cycles: [u64; 4], bars: &str, reference: &str) -> Result<Chart> {
        let text = format!(
            r#"(file: "f", title: "t", panels: [(y: "time", across: "app", bars: {bars},
                relative_to: {{"type": "x"}}, reference: (name: "paper", {reference}))])"#
        );
        chart(&stated(&text), &axes(), &table(cycles))
    }

    const AXIS: &str = r#"Axis(name: "type", metric: "totals.cycles")"#;
    const ONE: &str = r#"One("totals.cycles")"#;

    #[test]
    fn the_bars_of_an_axis_have_marks_of_their_own() {
        let chart = draw(AXIS, r#"bars: {"y": {"b": 1.4}}"#).unwrap();
        let Body::GroupedBars(bars) = chart.body else { panic!("grouped bars") };
        let shown: Vec<_> = bars
            .series
            .into_iter()
            .map(|series| (series.name, series.values, series.reference))
            .collect();
        let x = ("x".to_owned(), vec![Some(1.0), Some(1.0)], Vec::new());
        let y = ("y".to_owned(), vec![Some(0.5), Some(1.5)], vec![None, Some(1.4)]);
        assert_eq!(shown, [x, y]);
    }

    #[test]
    fn a_bar_is_missing_where_its_run_or_that_which_it_is_divided_by_does_not_fit() {
        let values = |cycles| {
            let chart = draw_of(cycles, AXIS, "").unwrap();
            let Body::GroupedBars(bars) = chart.body else { panic!("grouped bars") };
            bars.series.into_iter().map(|series| series.values).collect::<Vec<_>>()
        };
        let (one, half) = (Some(1.0), Some(0.5));
        assert_eq!(values([10, 5, 20, MISFIT]), [[one, one], [half, None]]);
        assert_eq!(values([10, 5, MISFIT, 30]), [[one, None], [half, None]]);
    }

    #[test]
    fn a_value_that_would_be_divided_by_zero_is_missing_and_the_figure_says_so() {
        let hits = AXIS.replace("cycles", "hits");
        let chart = draw_of([10, 15, 20, 30], &hits, "").unwrap();
        assert_eq!(chart.note, "no value where it would be divided by zero");
        let Body::GroupedBars(bars) = chart.body else { panic!("grouped bars") };
        let values: Vec<_> = bars.series.into_iter().map(|series| series.values).collect();
        assert_eq!(values, [[None, Some(1.0)], [None, Some(2.0)]]);
        assert_eq!(draw_of([20, 15, 20, 30], &hits, "").unwrap().note, "");
    }

    #[test]
    fn a_reference_that_names_no_bar_is_refused() {
        for (bars, reference, want) in [
            (
                AXIS,
                r#"bars: {"z": {"a": 1.0}}"#,
                "panels.0.reference.bars: axis \"type\" has no point \"z\" (hint: its points are: x, y)",
            ),
            (
                AXIS,
                r#"bars: {"y": {"c": 1.0}}"#,
                "panels.0.reference.bars.y.c: axis \"app\" has no point \"c\" (hint: its points are: a, b)",
            ),
            (
                ONE,
                r#"values: {"c": 1.0}"#,
                "panels.0.reference.values.c: axis \"app\" has no point \"c\" (hint: its points are: a, b)",
            ),
            (
                AXIS,
                r#"values: {"a": 1.0}"#,
                "panels.0.reference.values: cannot be shown at these bars (hint: values belong to One, bars to Axis)",
            ),
            (
                ONE,
                r#"bars: {"y": {"a": 1.0}}"#,
                "panels.0.reference.bars: cannot be shown at these bars (hint: values belong to One, bars to Axis)",
            ),
        ] {
            let error = draw(bars, reference).map(|_| ()).unwrap_err();
            assert_eq!(format!("{}: {}", error.field.join("."), error.error), want);
        }
    }

    /// A panel with `more` of a study with cycles over three sizes, for two types; the third does not fit for one of them.
    fn draw_sizes(axes: &str, more: &str) -> Result<Chart> {
        let text =
            format!(r#"(file: "f", title: "t", panels: [(y: "time", across: "size", {more})])"#);
        let axes: Vec<study::Axis> = stated(axes);
        let cycles = [40, 44, 10, 11, 20, MISFIT].map(outcome);
        chart(&stated(&text), &axes, &Table::new(&axes, cycles.to_vec()))
    }

    const SIZES: &str = r#"[
        Field(path: "size", title: "elements", values: [4_096, 1024, 2048], names: {"1024": "1 Ki"}),
        Field(path: "type", values: [x, y], names: {"y": "wide"}),
    ]"#;

    #[test]
    fn figures_have_the_titles_and_names_of_axes() {
        let chart = draw_sizes(SIZES, &format!("bars: {AXIS}")).unwrap();
        let Body::GroupedBars(bars) = chart.body else { panic!("grouped bars") };
        assert_eq!(bars.across, "elements");
        assert_eq!(bars.categories, ["4_096", "1 Ki", "2048"]);
        let names: Vec<&str> = bars.series.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["x", "wide"]);
        let stack = r#"bars: Stack([(name: "cycles", metric: "totals.cycles")])"#;
        let Body::StackedBars(bars) = draw_sizes(SIZES, stack).unwrap().body else {
            panic!("stacked bars")
        };
        assert_eq!(bars.categories, ["4_096", "1 Ki", "2048"]);
    }

    #[test]
    fn lines_join_the_values_over_the_numbers_in_their_order() {
        let more = format!(
            r#"bars: {AXIS}, draw: Lines(Log2),
            reference: (name: "paper", bars: {{"x": {{"1024": 9.0, "4_096": 41.0}}, "y": {{"2048": 18.0}}}})"#
        );
        let Body::Lines(drawn) = draw_sizes(SIZES, &more).unwrap().body else { panic!("lines") };
        let line = |name: &str, points: &[(f64, f64)]| LineSeries {
            name: name.to_owned(),
            points: points.to_vec(),
            ..LineSeries::default()
        };
        let paper = line("x, paper", &[(1024.0, 9.0), (4096.0, 41.0)]);
        let dot = line("wide, paper", &[(2048.0, 18.0)]);
        let want = [
            line("x", &[(1024.0, 10.0), (2048.0, 20.0), (4096.0, 40.0)]),
            line("wide", &[(1024.0, 11.0), (4096.0, 44.0)]),
            LineSeries { dashed: true, beside: Some(0), ..paper },
            LineSeries { dashed: true, beside: Some(1), ..dot },
        ];
        assert_eq!(drawn.series, want);
        let (label, scale) = ("elements".to_owned(), Scale::Log2);
        assert_eq!(drawn.x, Axis { label, scale, format: Format::Prefixed, ..Axis::default() });
    }

    #[test]
    fn a_curve_goes_from_point_to_point_over_another_metric() {
        let curve = r#"draw: Curve(x: "twice the time", metric: "totals.cycles + totals.cycles")"#;
        let more = format!("bars: {AXIS}, inverse: true, {curve}");
        let Body::Lines(drawn) = draw_sizes(SIZES, &more).unwrap().body else { panic!("lines") };
        let points: Vec<_> = drawn.series.iter().map(|one| one.points.clone()).collect();
        let at = |cycles: f64| (2.0 * cycles, 1.0 / cycles);
        assert_eq!(points, [vec![at(40.0), at(10.0), at(20.0)], vec![at(44.0), at(11.0)]]);
        assert_eq!(drawn.series[1].name, "wide");
        assert_eq!(drawn.x.label, "twice the time");
        let error = |more: String| {
            let error = draw_sizes(SIZES, &more).map(|_| ()).unwrap_err();
            format!("{}: {}", error.field.join("."), error.error)
        };
        let unknown = error(more.replace("totals.cycles + ", "totals.cycle + "));
        assert!(unknown.starts_with("panels.0.draw.metric: "), "{unknown}");
        let reference = r#"reference: (name: "paper", bars: {"x": {"1024": 9.0}})"#;
        let refused = error(format!("{more}, {reference}"));
        assert_eq!(refused, "panels.0.reference: nobody says where these values stand along x");
    }

    #[test]
    fn lines_are_over_numbers_and_not_of_stacks() {
        let error = |axes: &str, more: &str| {
            let error = draw_sizes(axes, more).map(|_| ()).unwrap_err();
            format!("{}: {}", error.field.join("."), error.error)
        };
        let words = SIZES.replace("2048", "many");
        assert_eq!(
            error(&words, &format!("bars: {ONE}, draw: Lines(Linear)")),
            "panels.0.draw: there are no lines over \"many\", which is no number (hint: without it, there are bars)"
        );
        let zero = SIZES.replace("2048", "0");
        let log = format!("bars: {ONE}, draw: Lines(Log2)");
        assert_eq!(
            error(&zero, &log),
            "panels.0.draw: \"0\" is not above zero (hint: Lines(Linear) can show it)"
        );
        draw_sizes(&zero, &log.replace("Log2", "Linear")).unwrap();
        let stack =
            r#"bars: Stack([(name: "cycles", metric: "totals.cycles")]), draw: Lines(Log2)"#;
        assert_eq!(
            error(SIZES, stack),
            "panels.0.draw: a stack has no lines (hint: lines show what One and Axis do)"
        );
    }
}
