//! Lines of a figure, over the numbers that the points along x are.

use crate::config::figure::Spacing;
use crate::config::study::number_of;
use crate::error::{Error, Result};
use crate::report::plot::{Axis, BarSeries, Format, LineSeries, Scale};

/// The numbers that points along x are, by their labels.
///
/// # Errors
/// A label that is no number, or one that has no place on an axis of doublings.
pub fn numbers(labels: &[String], spacing: Spacing) -> Result<Vec<f64>> {
    let number = |label: &String| {
        let number = number_of(label).ok_or_else(|| {
            Error::input(format!("there are no lines over {label:?}, which is no number"))
                .hint("without it, there are bars")
        })?;
        match spacing == Spacing::Log2 && number <= 0.0 {
            true => Err(Error::input(format!("{label:?} is not above zero"))
                .hint("Lines(Linear) can show it")),
            false => Ok(number),
        }
    };
    labels.iter().map(number).collect()
}

/// The axis of these numbers, of which `title` says what they are.
pub fn axis(title: &str, spacing: Spacing) -> Axis {
    let scale = match spacing {
        Spacing::Linear => Scale::Linear,
        Spacing::Log2 => Scale::Log2,
    };
    Axis { scale, format: Format::Prefixed, ..Axis::new(title) }
}

/// A line through the values of `series`, in their order, each over the number that `x` has for it.
pub fn curve(series: &BarSeries, x: &[Option<f64>]) -> LineSeries {
    let points = x.iter().zip(&series.values).filter_map(|(&x, &value)| x.zip(value)).collect();
    LineSeries { name: series.name.clone(), points, ..LineSeries::default() }
}

/// A line for each series over the numbers `x`, and behind them all one for somebody else's values of each, which is dashed.
pub fn series(x: &[f64], series: &[BarSeries], reference: &str) -> Vec<LineSeries> {
    let line = |name: String, values: &[Option<f64>]| {
        let mut points: Vec<(f64, f64)> =
            x.iter().zip(values).filter_map(|(&x, value)| Some((x, (*value)?))).collect();
        points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        LineSeries { name, points, ..LineSeries::default() }
    };
    let of_others =
        series.iter().enumerate().filter(|(_, one)| one.reference.iter().any(Option::is_some));
    let of_others = of_others.map(|(place, one)| {
        let name = match series {
            [_] => reference.to_owned(),
            _ => format!("{}, {reference}", one.name),
        };
        LineSeries { dashed: true, beside: Some(place), ..line(name, &one.reference) }
    });
    series.iter().map(|one| line(one.name.clone(), &one.values)).chain(of_others).collect()
}
