//! Elements of buffers as bytes and as numbers. The device's bytes are little-endian.

use std::fmt;

use half::{bf16, f16};
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2};
use rustc_apfloat::{Float, FloatConvert};

use crate::config::kernel::{Amount, Scalar, Scope};

/// An element's bytes; the first `Scalar::bytes` of them count.
pub type Bytes = [u8; 8];

/// The bytes of a whole number, whose range has been checked.
pub fn of_whole(element: Scalar, value: i128) -> Bytes {
    match element {
        _ if element.is_float() => of_real(element, value as f64),
        _ => (value as u64).to_le_bytes(),
    }
}

/// The bytes of a number of a floating-point type, rounded to the nearest.
pub fn of_real(element: Scalar, value: f64) -> Bytes {
    let bits = match element {
        Scalar::F16 => f16::from_f64(value).to_bits().into(),
        // What is a tie but for its last bits is rounded as what it is, which the conversion of `half` does not do.
        Scalar::BF16 => of_double::<BFloat>(value),
        Scalar::F32 => (value as f32).to_bits().into(),
        Scalar::E4M3 => of_double::<Float8E4M3FN>(value),
        Scalar::E5M2 => of_double::<Float8E5M2>(value),
        _ => value.to_bits(),
    };
    bits.to_le_bytes()
}

/// The bits of a number in a short format.
fn of_double<T: Float>(value: f64) -> u64
where
    Double: FloatConvert<T>,
{
    let exact = Double::from_bits(value.to_bits().into());
    exact.convert(&mut false).value.to_bits() as u64
}

/// The number that bits of such a format are.
fn to_double<T: Float + FloatConvert<Double>>(bits: u64) -> f64 {
    let double: Double = T::from_bits((bits & 0xff).into()).convert(&mut false).value;
    f64::from_bits(double.to_bits() as u64)
}

/// The bytes of a number of a run file, which has been checked.
pub fn of_amount(element: Scalar, amount: &Amount, scope: &Scope) -> Result<Bytes, String> {
    Ok(match element.is_float() {
        true => of_real(element, amount.real(scope)?),
        false => {
            let (least, most) = element.range().expect("a whole type");
            of_whole(element, amount.within(scope, least, most)?)
        }
    })
}

/// An element's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of a whole type.
    Whole(i128),
    /// Of single precision, or of a type with fewer bits.
    F32(f32),
    /// Of double precision.
    F64(f64),
}

impl Value {
    /// The value of an element's bytes.
    pub fn of(element: Scalar, bytes: &[u8]) -> Value {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let word = u64::from_le_bytes(word);
        match element {
            Scalar::I8 => Value::Whole((word as i8).into()),
            Scalar::I16 => Value::Whole((word as i16).into()),
            Scalar::I32 => Value::Whole((word as i32).into()),
            Scalar::I64 => Value::Whole((word as i64).into()),
            Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => Value::Whole(word.into()),
            Scalar::F16 => Value::F32(f16::from_bits(word as u16).to_f32()),
            Scalar::BF16 => Value::F32(bf16::from_bits(word as u16).to_f32()),
            Scalar::E4M3 => Value::F32(to_double::<Float8E4M3FN>(word) as f32),
            Scalar::E5M2 => Value::F32(to_double::<Float8E5M2>(word) as f32),
            Scalar::F32 => Value::F32(f32::from_bits(word as u32)),
            Scalar::F64 => Value::F64(f64::from_bits(word)),
        }
    }

    /// The value in double precision; a whole number of more than 53 bits is rounded.
    pub fn real(self) -> f64 {
        match self {
            Value::Whole(value) => value as f64,
            Value::F32(value) => value.into(),
            Value::F64(value) => value,
        }
    }

    /// How far it is from `other`, which has the same type.
    pub fn distance(self, other: Value) -> f64 {
        match (self, other) {
            (Value::Whole(a), Value::Whole(b)) => (a - b).unsigned_abs() as f64,
            (a, b) => (a.real() - b.real()).abs(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Whole(value) => write!(f, "{value}"),
            // With a point or an exponent, and no more digits than the type has.
            Value::F32(value) => write!(f, "{value:?}"),
            Value::F64(value) => write!(f, "{value:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_values_are_each_other() {
        let back =
            |element: Scalar, bytes: Bytes| Value::of(element, &bytes[..element.bytes() as usize]);
        for (element, value) in [
            (Scalar::I8, -128),
            (Scalar::I16, -3),
            (Scalar::I32, i32::MIN.into()),
            (Scalar::I64, i64::MIN.into()),
            (Scalar::U8, 255),
            (Scalar::U16, 65535),
            (Scalar::U32, u32::MAX.into()),
            (Scalar::U64, u64::MAX.into()),
        ] {
            assert_eq!(back(element, of_whole(element, value)), Value::Whole(value));
        }
        for element in [Scalar::F16, Scalar::BF16, Scalar::E4M3, Scalar::E5M2] {
            assert_eq!(back(element, of_real(element, -1.5)), Value::F32(-1.5));
        }
        assert_eq!(back(Scalar::F32, of_real(Scalar::F32, 0.1)), Value::F32(0.1));
        assert_eq!(back(Scalar::F64, of_whole(Scalar::F64, 3)), Value::F64(3.0));
        assert_eq!(back(Scalar::F32, of_real(Scalar::F32, 0.1)).to_string(), "0.1");
    }

    #[test]
    fn short_numbers_are_rounded_to_the_nearest_and_have_the_ends_of_their_formats() {
        let bits = |element, value| of_real(element, value)[0];
        // A tie goes to the even one, and what is beyond the greatest number to NaN or infinity.
        let e4m3 =
            [(1.0, 0x38), (1.0625, 0x38), (1.1875, 0x3a), (448.0, 0x7e), (1e9, 0x7f), (-0.0, 0x80)];
        for (value, want) in e4m3 {
            assert_eq!(bits(Scalar::E4M3, value), want, "{value}");
        }
        for (value, want) in [(1.0, 0x3c), (57344.0, 0x7b), (1e9, 0x7c), (2f64.powi(-16), 0x01)] {
            assert_eq!(bits(Scalar::E5M2, value), want, "{value}");
        }
        // Ties but for the last bits.
        for (value, want) in [(96.25005519207134, 0x42c1u16), (1.00390625000001, 0x3f81)] {
            assert_eq!(of_real(Scalar::BF16, value)[..2], want.to_le_bytes(), "{value}");
        }
        // Every number is read as what it was written as.
        for element in [Scalar::E4M3, Scalar::E5M2] {
            for byte in 0..=255u8 {
                let value = Value::of(element, &[byte]).real();
                assert!(value.is_nan() || bits(element, value) == byte, "{element} {byte}");
            }
        }
        assert_eq!(Value::of(Scalar::E4M3, &[0x7e]), Value::F32(448.0));
        assert_eq!(Value::of(Scalar::E5M2, &[0xfc]), Value::F32(f32::NEG_INFINITY));
    }
}
