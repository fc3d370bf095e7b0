//! Micro-benchmarks whose points are samples: compared are their mean and quartiles.

use super::compared::Compared;
use crate::config::micro::{MicroFile, Points};
use crate::stats::quantile;

/// What is said of a sample, and how it is found in the sorted values.
type Sum = (&'static str, fn(&[f64]) -> f64);

const SUMS: [Sum; 4] = [
    ("mean", |sorted| sorted.iter().sum::<f64>() / sorted.len() as f64),
    ("first quartile", |sorted| quantile(sorted, 0.25)),
    ("median", |sorted| quantile(sorted, 0.5)),
    ("third quartile", |sorted| quantile(sorted, 0.75)),
];

/// The rows to compare: one for each point, and those of [`SUMS`] where the points of a benchmark are samples.
pub(super) fn rows(file: &MicroFile, compared: &[Compared]) -> Vec<Compared> {
    compared
        .chunk_by(|one, next| one.benchmark == next.benchmark)
        .flat_map(|points| match file.config.benchmarks[points[0].benchmark].points {
            Points::Each => points.to_vec(),
            Points::Samples => sums(points),
        })
        .collect()
}

/// The sorted values of samples.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn sums(points: &[Compared]) -> Vec<Compared> {
    let simulated = sorted(points.iter().map(|one| one.simulated));
    // Low, median and high of each point's time.
    let measured =
        points.iter().map(|one| one.measured).collect::<Option<Vec<_>>>().map(|all| {
            [0, 1, 2].map(|which| sorted(all.iter().map(|times: &[f64; 3]| times[which])))
        });
    let sum = |&(name, of): &Sum| Compared {
        labels: vec![name.to_owned()],
        simulated: of(&simulated),
        measured: measured.as_ref().map(|times| times.each_ref().map(|sorted| of(sorted))),
        ..points[0].clone()
    };
    SUMS.iter().map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(simulated: f64, measured: Option<f64>) -> Compared {
        Compared {
            benchmark: 0,
            labels: vec!["x".to_owned()],
            unit: "cycles/load".to_owned(),
            simulated,
            measured: measured.map(|value| [value - 1.0, value, value + 2.0]),
        }
    }

    #[test]
    fn samples_are_compared_by_mean_and_quartiles_in_any_order() {
        let points = [(5.0, 30.0), (1.0, 40.0), (3.0, 20.0), (11.0, 10.0), (2.0, 0.0)];
        let points = points.map(|(simulated, measured)| point(simulated, Some(measured)));
        let sums = sums(&points);
        let simulated: Vec<f64> = sums.iter().map(|one| one.simulated).collect();
        assert_eq!(simulated, [4.4, 2.0, 3.0, 5.0]);
        let measured: Vec<[f64; 3]> = sums.iter().filter_map(|one| one.measured).collect();
        assert_eq!(measured[0], [19.0, 20.0, 22.0]);
        assert_eq!(measured[3], [29.0, 30.0, 32.0]);
        assert_eq!(sums[1].labels, ["first quartile"]);
    }

    #[test]
    fn where_a_point_was_not_measured_the_sum_is_not_either() {
        assert!(sums(&[point(1.0, None), point(2.0, Some(2.0))])[0].measured.is_none());
    }
}
