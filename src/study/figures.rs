//! From a figure's description and the table of runs to a chart.

use super::table::Table;
use crate::config::figure::{Bars, Figure, NumberFormat, Panel, Place, Reference};
use crate::error::Result;
use crate::report::plot::{Axis, BarSeries, Body, Chart, Format, GroupedBars, StackedBars};

/// The chart of a figure.
pub fn chart(figure: &Figure, table: &Table) -> Result<Chart> {
    let mut panels =
        figure.panels.iter().map(|panel| panel_chart(panel, table)).collect::<Result<Vec<_>>>()?;
    let body = match panels.len() {
        1 => panels.remove(0).body,
        _ => Body::Panels(panels),
    };
    let (title, note) = (figure.title.clone(), figure.note.clone());
    Ok(Chart { title, note, body, ..Chart::default() })
}

fn panel_chart(panel: &Panel, table: &Table) -> Result<Chart> {
    let categories = table.labels(&panel.across)?.to_vec();
    let series = |name: &str, metric: &str, at: &Place| -> Result<BarSeries> {
        let values = categories
            .iter()
            .map(|label| {
                let mut place = at.clone();
                place.insert(panel.across.clone(), label.clone());
                value(panel, table, &place, metric)
            })
            .collect::<Result<Vec<f64>>>()?;
        Ok(BarSeries::new(name, values))
    };
    let format = match panel.format {
        NumberFormat::Plain => Format::Plain,
        NumberFormat::Percent => Format::Percent,
        NumberFormat::Prefixed => Format::Prefixed,
    };
    let y = Axis { format, ..Axis::new(&panel.y) }.from_zero();
    let grouped = |series: Vec<BarSeries>| {
        Body::GroupedBars(GroupedBars {
            categories: categories.clone(),
            series,
            y: y.clone(),
            value_labels: true,
            reference_name: panel.reference.as_ref().map_or(String::new(), |one| one.name.clone()),
            baseline: panel.relative_to.as_ref().map(|_| 1.0),
        })
    };
    let body = match &panel.bars {
        Bars::One(metric) => {
            let bars = series("gsim", metric, &panel.at)?;
            let marks = panel
                .reference
                .as_ref()
                .map_or(Vec::new(), |reference| marks(reference, &categories));
            grouped(vec![bars.with_reference(marks)])
        }
        Bars::Axis { name, metric } => {
            let mut all = Vec::new();
            for label in table.labels(name)? {
                let mut at = panel.at.clone();
                at.insert(name.clone(), label.clone());
                all.push(series(label, metric, &at)?);
            }
            grouped(all)
        }
        Bars::Stack(parts) => Body::StackedBars(StackedBars {
            categories: categories.clone(),
            parts: parts
                .iter()
                .map(|part| series(&part.name, &part.metric, &panel.at))
                .collect::<Result<_>>()?,
            y: y.clone(),
            normalise: false,
            sum_labels: true,
        }),
    };
    Ok(Chart { title: panel.title.clone(), body, ..Chart::default() })
}

fn marks(reference: &Reference, categories: &[String]) -> Vec<Option<f64>> {
    categories.iter().map(|label| reference.values.get(label).copied()).collect()
}

/// A metric at a place, divided and inverted as the panel asks.
fn value(panel: &Panel, table: &Table, place: &Place, metric: &str) -> Result<f64> {
    let mut value = table.value(place, metric)?;
    if let Some(to) = &panel.relative_to {
        let mut other = place.clone();
        other.extend(to.clone());
        value /= table.value(&other, metric)?;
    }
    Ok(if panel.inverse { 1.0 / value } else { value })
}
