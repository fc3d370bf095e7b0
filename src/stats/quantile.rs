//! Values that a share of a sample does not exceed.

/// The value that `share` of `sorted` values, 0 to 1, do not exceed: on the line between the two nearest ones.
///
/// # Panics
/// Without any value.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lies_between_two_values() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        let quartiles = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| quantile(&sorted, share));
        assert_eq!(quartiles, [1.0, 1.75, 2.5, 3.25, 4.0]);
        assert_eq!(quantile(&[7.0], 0.3), 7.0);
    }
}
