//! How far simulated values are from measured ones.

use serde::Serialize;

/// Pairs of a simulated and a measured value, summed up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Pairs.
    pub pairs: usize,
    /// Mean absolute percentage error: the mean of |simulated - measured| / measured.
    pub mape: f64,
    /// Geometric mean of simulated / measured.
    pub ratio: f64,
    /// Pearson's correlation of both.
    pub pearson: f64,
    /// Root of the mean squared difference, over the mean of the measured values.
    pub nrmse: f64,
}

impl Agreement {
    /// Of pairs (simulated, measured). Those whose measured value is zero count in `pearson` and `nrmse` only, and
    /// in `mape` and `ratio` as right where both are zero.
    ///
    /// `None` without pairs.
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
            sum / positive.len().max(1) as f64
        };
        Some(Agreement {
            pairs: pairs.len(),
            mape: relative(&|simulated, measured| (simulated - measured).abs() / measured),
            ratio: relative(&|simulated, measured| {
                // No logarithm of zero: a value of one in a million stands for none.
                (simulated.max(1e-6 * measured) / measured).ln()
            })
            .exp(),
            pearson: covariance / (spread_x * spread_y),
            nrmse: squares.sqrt() / y,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_of_their_definitions() {
        let agreement = Agreement::of(&[(1.0, 2.0), (4.0, 2.0), (6.0, 6.0)]).unwrap();
        assert_eq!(agreement.pairs, 3);
        assert!((agreement.mape - 0.5).abs() < 1e-12);
        assert!((agreement.ratio - 1.0).abs() < 1e-12);
        // By hand: means 11/3 and 10/3, covariance 28/9, variances 38/9 and 32/9.
        assert!((agreement.pearson - 28.0 / (38.0f64 * 32.0).sqrt()).abs() < 1e-12);
        assert!((agreement.nrmse - (5.0f64 / 3.0).sqrt() / (10.0 / 3.0)).abs() < 1e-12);
        assert_eq!(Agreement::of(&[]), None);
    }
}
