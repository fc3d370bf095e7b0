//! Types of numbers in buffers and arguments.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Type of a number on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scalar {
    /// 1 byte, signed.
    I8,
    /// 2 bytes, signed.
    I16,
    /// 4 bytes, signed.
    I32,
    /// 8 bytes, signed.
    I64,
    /// 1 byte.
    U8,
    /// 2 bytes.
    U16,
    /// 4 bytes.
    U32,
    /// 8 bytes.
    U64,
    /// IEEE 754 half precision.
    F16,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision.
    F64,
    /// The upper half of single precision: 8 bits of exponent and 7 of fraction.
    BF16,
    /// 8 bits, 4 of exponent and 3 of fraction: without infinity, 448 at most.
    E4M3,
    /// The upper half of half precision: 5 bits of exponent and 2 of fraction.
    E5M2,
}

impl Scalar {
    /// Size `[bytes]`.
    pub fn bytes(self) -> u64 {
        match self {
            Scalar::I8 | Scalar::U8 | Scalar::E4M3 | Scalar::E5M2 => 1,
            Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::BF16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        use Scalar::{BF16, E4M3, E5M2, F16, F32, F64};
        matches!(self, F16 | F32 | F64 | BF16 | E4M3 | E5M2)
    }

    /// The least and the greatest number of a whole type; `None` for a floating-point one.
    pub fn range(self) -> Option<(i128, i128)> {
        let bits = 8 * self.bytes() as u32;
        match self {
            Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {
                Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
            }
            Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => Some((0, (1 << bits) - 1)),
            _ => None,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::Scalar::*;

    #[test]
    fn ranges_are_those_of_rust() {
        assert_eq!(I8.range(), Some((i8::MIN.into(), i8::MAX.into())));
        assert_eq!(I64.range(), Some((i64::MIN.into(), i64::MAX.into())));
        assert_eq!(U16.range(), Some((0, u16::MAX.into())));
        assert_eq!(U64.range(), Some((0, u64::MAX.into())));
        assert_eq!([F32, BF16, E4M3].map(|float| float.range()), [None; 3]);
    }
}
