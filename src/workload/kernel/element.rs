//! Elements of buffers as bytes and as numbers. The device's bytes are little-endian.

use std::fmt;

use half::f16;

use crate::config::kernel::{Amount, Scalar, Scope};

/// An element's bytes; the first `Scalar::bytes` of them count.
pub type Bytes = [u8; 8];

/// The bytes of a whole number, whose range has been checked.
pub fn of_whole(element: Scalar, value: i128) -> Bytes {
    match element {
        Scalar::F16 | Scalar::F32 | Scalar::F64 => of_real(element, value as f64),
        _ => (value as u64).to_le_bytes(),
    }
}

/// The bytes of a number of a floating-point type, rounded to the nearest.
pub fn of_real(element: Scalar, value: f64) -> Bytes {
    let bits = match element {
        Scalar::F16 => f16::from_f64(value).to_bits().into(),
        Scalar::F32 => (value as f32).to_bits().into(),
        _ => value.to_bits(),
    };
    bits.to_le_bytes()
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
    /// Of half or single precision.
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
        assert_eq!(back(Scalar::F16, of_real(Scalar::F16, -1.5)), Value::F32(-1.5));
        assert_eq!(back(Scalar::F32, of_real(Scalar::F32, 0.1)), Value::F32(0.1));
        assert_eq!(back(Scalar::F64, of_whole(Scalar::F64, 3)), Value::F64(3.0));
        assert_eq!(back(Scalar::F32, of_real(Scalar::F32, 0.1)).to_string(), "0.1");
    }
}
