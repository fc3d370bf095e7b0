//! How far simulated values are from measured ones.

use serde::Serialize;

/// Pairs of a simulated and a measured value, summed up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Pairs.
    pub pairs: usize,
    /// Those whose measured value is above zero: an error of zero has no percentage.
    pub compared: usize,
    /// Mean absolute percentage error of these: the mean of |simulated - measured| / measured. None without any.
    pub mape: Option<f64>,
    /// Geometric mean of simulated / measured, of the same.
    pub ratio: Option<f64>,
    /// Pearson's correlation of all; none where one side does not vary.
    pub pearson: Option<f64>,
    /// Root of the mean squared difference of all, over the mean of the measured values; none where that is zero.
    pub nrmse: Option<f64>,
}

impl Agreement {
    /// Of pairs (simulated, measured); `None` without pairs.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let count = pairs.len() as f64;
        let mean = |of: &dyn Fn(f64, f64) -> f64| {
            pairs.iter().map(|&(simulated, measured)| of(simulated, measured)).sum::<f64>() / count
        };
        let (x, y) = (mean(&|simulated, _| simulated), mean(&|_, measured| measured));
        let covariance = mean(&|simulated, measured| (simulated - x) * (measured - y));
        let spread_x = mean(&|simulated, _| (simulated - x).powi(2)).sqrt();
        let spread_y = mean(&|_, measured| (measured - y).powi(2)).sqrt();
        let squares = mean(&|simulated, measured| (simulated - measured).powi(2));
        let positive: Vec<(f64, f64)> =
            pairs.iter().copied().filter(|&(_, measured)| measured > 0.0).collect();
        let relative = |of: &dyn Fn(f64, f64) -> f64| {
            let sum: f64 =
                positive.iter().map(|&(simulated, measured)| of(simulated, measured)).sum();
            (!positive.is_empty()).then(|| sum / positive.len() as f64)
        };
        let quotient = |over: f64, under: f64| (under > 0.0).then(|| over / under);
        Some(Agreement {
            pairs: pairs.len(),
            compared: positive.len(),
            mape: relative(&|simulated, measured| (simulated - measured).abs() / measured),
            ratio: relative(&|simulated, measured| {
                // No logarithm of zero: a value of one in a million stands for none.
                (simulated.max(1e-6 * measured) / measured).ln()
            })
            .map(f64::exp),
            pearson: quotient(covariance, spread_x * spread_y),
            nrmse: quotient(squares.sqrt(), y),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_their_definitions() {
        let agreement = Agreement::of(&[(1.0, 2.0), (4.0, 2.0), (6.0, 6.0)]).unwrap();
        assert_eq!((agreement.pairs, agreement.compared), (3, 3));
        let is = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-12;
        assert!(is(agreement.mape, 0.5));
        assert!(is(agreement.ratio, 1.0));
        // By hand: means 11/3 and 10/3, covariance 28/9, variances 38/9 and 32/9.
        assert!(is(agreement.pearson, 28.0 / (38.0f64 * 32.0).sqrt()));
        assert!(is(agreement.nrmse, (5.0f64 / 3.0).sqrt() / (10.0 / 3.0)));
        assert_eq!(Agreement::of(&[]), None);
    }

    #[test]
    fn a_measured_zero_has_no_percentage() {
        let agreement = Agreement::of(&[(0.0, 0.0), (3.0, 0.0), (3.0, 2.0)]).unwrap();
        assert_eq!((agreement.pairs, agreement.compared), (3, 1));
        assert_eq!((agreement.mape, agreement.ratio), (Some(0.5), Some(1.5f64.ln().exp())));
        assert!(agreement.pearson.is_some());
        let zeros = Agreement::of(&[(0.0, 0.0), (1.0, 0.0)]).unwrap();
        assert_eq!((zeros.mape, zeros.ratio, zeros.pearson, zeros.nrmse), (None, None, None, None));
        assert_eq!(Agreement::of(&[(1.0, 2.0)]).unwrap().pearson, None);
    }
}
