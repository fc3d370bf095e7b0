//! Results held against expected files.

use super::element::Value;
use crate::config::kernel::Scalar;

/// What may be wrong in an element: `absolute + relative * |expected|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// In any element.
    pub absolute: f64,
    /// In proportion to the expected one.
    pub relative: f64,
}

impl Tolerance {
    fn accepts(self, have: Value, want: Value) -> bool {
        let (x, y) = (have.real(), want.real());
        // Equal infinities are equal; whole numbers are compared exactly.
        have == want
            || x.is_nan() && y.is_nan()
            || x.is_finite()
                && y.is_finite()
                && have.distance(want) <= self.absolute + self.relative * y.abs()
                && self != Tolerance { absolute: 0.0, relative: 0.0 }
    }
}

/// Compares all elements with those of `file`; says what differs.
pub fn compare(
    element: Scalar,
    shape: &[u64],
    have: &[u8],
    want: &[u8],
    file: &str,
    tolerance: Tolerance,
) -> Result<(), String> {
    let size = element.bytes() as usize;
    let pairs = have.chunks_exact(size).zip(want.chunks_exact(size)).enumerate();
    let (mut wrong, mut first) = (0u64, None);
    // A NaN on one side has no distance; `max` leaves it out.
    let (mut absolute, mut relative) = (f64::NAN, f64::NAN);
    for (index, (have, want)) in pairs {
        if have == want {
            continue;
        }
        let (have, want) = (Value::of(element, have), Value::of(element, want));
        if tolerance.accepts(have, want) {
            continue;
        }
        wrong += 1;
        first.get_or_insert((index as u64, have, want));
        let distance = have.distance(want);
        absolute = absolute.max(distance);
        relative = relative.max(distance / want.real().abs());
    }
    let Some((index, have, want)) = first else { return Ok(()) };
    let count = want_count(shape);
    let errors = [(absolute, "absolute"), (relative, "relative")];
    let errors = errors.into_iter().filter(|(error, _)| !error.is_nan());
    let errors: Vec<_> = errors.map(|(error, kind)| format!("{error:.3e} {kind}")).collect();
    let largest = match errors.as_slice() {
        [] => String::new(),
        errors => format!("; the largest error is {}", errors.join(", ")),
    };
    Err(format!(
        "wrong result: {wrong} of {count} elements differ from {file}, the first at {}: {have}, expected {want}{largest}",
        place(index, shape)
    ))
}

fn want_count(shape: &[u64]) -> u64 {
    shape.iter().product()
}

/// The index along each dimension, as NumPy writes it.
fn place(index: u64, shape: &[u64]) -> String {
    let mut rest = index;
    let mut places: Vec<String> = Vec::new();
    for size in shape.iter().rev() {
        places.push((rest % size).to_string());
        rest /= size;
    }
    places.reverse();
    format!("[{}]", places.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn outcome(have: &[f32], want: &[f32], absolute: f64, relative: f64) -> Result<(), String> {
        let tolerance = Tolerance { absolute, relative };
        compare(Scalar::F32, &[have.len() as u64], &bytes(have), &bytes(want), "a.npy", tolerance)
    }

    #[test]
    fn tolerances_add_up_and_count_from_the_expected_value() {
        assert_eq!(outcome(&[1.0, 100.0], &[1.5, 110.0], 0.5, 0.1), Ok(()));
        assert!(outcome(&[1.0], &[1.5], 0.0, 0.33).is_err());
        assert_eq!(outcome(&[1.0], &[1.5], 0.0, 0.34), Ok(()));
        assert_eq!(outcome(&[0.0], &[-0.0], 0.0, 0.0), Ok(()));
    }

    #[test]
    fn nan_equals_nan_alone_and_infinity_itself_alone() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        assert_eq!(outcome(&[nan, inf], &[-nan, inf], 0.0, 0.0), Ok(()));
        assert!(outcome(&[nan], &[1.0], 1e30, 1e30).is_err());
        assert!(outcome(&[1.0], &[nan], 1e30, 1e30).is_err());
        assert!(outcome(&[inf], &[1.0], 1e30, 1e30).is_err());
        assert!(outcome(&[1.0], &[inf], 1e30, 1e30).is_err());
        assert!(outcome(&[-inf], &[inf], 1e30, 1e30).is_err());
    }

    #[test]
    fn an_error_that_is_no_number_is_left_out() {
        let told = |have: f32, want: f32| {
            let told = outcome(&[have], &[want], 0.0, 0.0).unwrap_err();
            told.split_once("; ").map(|(_, errors)| errors.to_owned())
        };
        assert_eq!(told(1.0, f32::NAN), None);
        assert_eq!(told(f32::NAN, 1.0), None);
        assert_eq!(told(1.0, f32::INFINITY).unwrap(), "the largest error is inf absolute");
        let both = "the largest error is 1.000e0 absolute, 5.000e-1 relative";
        assert_eq!(told(1.0, 2.0).unwrap(), both);
        let two = outcome(&[1.0, 1.0], &[f32::NAN, 2.0], 0.0, 0.0).unwrap_err();
        assert!(two.ends_with(both), "{two}");
    }

    #[test]
    fn the_first_difference_is_named_by_its_indices() {
        let have: Vec<u8> =
            [1i64, 2, 3, i64::MAX, 5, 6].iter().flat_map(|v| v.to_le_bytes()).collect();
        let want: Vec<u8> =
            [1i64, 2, 3, i64::MAX - 1, 5, 8].iter().flat_map(|v| v.to_le_bytes()).collect();
        let exact = Tolerance { absolute: 0.0, relative: 0.0 };
        assert_eq!(
            compare(Scalar::I64, &[2, 3], &have, &want, "a.npy", exact).unwrap_err(),
            "wrong result: 2 of 6 elements differ from a.npy, the first at [1, 0]: 9223372036854775807, expected \
             9223372036854775806; the largest error is 2.000e0 absolute, 2.500e-1 relative"
        );
        let close = Tolerance { absolute: 2.0, relative: 0.0 };
        assert_eq!(compare(Scalar::I64, &[2, 3], &have, &want, "a.npy", close), Ok(()));
    }
}
