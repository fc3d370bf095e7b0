//! Rounding in every direction, to every format.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{Double, Single};

pub use rustc_apfloat::Round;

/// A floating-point format of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of a normal number's significand, with the leading one.
    precision: u32,
    /// Exponent of the least normal number.
    least: i32,
}

impl Format {
    /// `.f16`: five bits of exponent.
    pub const F16: Format = Format { precision: 11, least: -14 };
    /// `.bf16`: eight bits of exponent.
    pub const BF16: Format = Format { precision: 8, least: -126 };
    /// `.e4m3`, in the low bits: of numbers up to 448 only.
    pub const E4M3: Format = Format { precision: 4, least: -6 };
    /// `.e5m2`, in the low bits: of numbers up to 57344 only.
    pub const E5M2: Format = Format { precision: 3, least: -14 };

    /// Bits of infinity.
    fn infinity(self) -> u16 {
        !0 << (self.precision - 1) & 0x7fff
    }

    /// The least normal number.
    pub fn least_normal(self) -> f64 {
        power(self.least)
    }

    /// The greatest finite number.
    pub fn most(self) -> f64 {
        self.widen(self.infinity() - 1)
    }

    /// The value of a number's bits.
    pub fn widen(self, bits: u16) -> f64 {
        let magnitude = bits & 0x7fff;
        let places = self.precision - 1;
        let fraction = f64::from(magnitude & ((1 << places) - 1));
        let exponent = i32::from(magnitude >> places);
        let value = match (magnitude.cmp(&self.infinity()), exponent) {
            (std::cmp::Ordering::Greater, _) => f64::NAN,
            (std::cmp::Ordering::Equal, _) => f64::INFINITY,
            (_, 0) => fraction * power(self.least - places as i32),
            _ => {
                let one = f64::from(1u32 << places);
                (one + fraction) * power(self.least - 1 + exponent - places as i32)
            }
        };
        if bits >> 15 == 1 { -value } else { value }
    }

    /// Bits of the number next to a value in the direction of rounding; NaN has all bits but the sign.
    pub fn narrow(self, value: f64, rounding: Round) -> u16 {
        if value.is_nan() {
            return 0x7fff;
        }
        let sign = u16::from(value.is_sign_negative()) << 15;
        let magnitude = value.abs();
        if magnitude.is_infinite() {
            return sign | self.infinity();
        }
        // In units of the last place, where rounding is to whole numbers.
        let places = self.precision as i32 - 1;
        let exponent = (((magnitude.to_bits() >> 52) as i32) - 1023).max(self.least);
        let scaled = magnitude * power(places - exponent);
        let away = sign == 0;
        let units = match rounding {
            Round::TowardZero => scaled.trunc(),
            Round::TowardNegative if away => scaled.trunc(),
            Round::TowardPositive if !away => scaled.trunc(),
            Round::TowardNegative | Round::TowardPositive => scaled.ceil(),
            _ => scaled.round_ties_even(),
        };
        // A significand that rounds up to the next power of two carries into the exponent.
        let bits = ((exponent - self.least) as u64) << places;
        let bits = bits + units as u64;
        let finite = u64::from(self.infinity()) - 1;
        let down = match rounding {
            Round::TowardZero => true,
            Round::TowardNegative => away,
            Round::TowardPositive => !away,
            _ => false,
        };
        sign | if bits <= finite {
            bits as u16
        } else if down {
            finite as u16
        } else {
            self.infinity()
        }
    }
}

/// A power of two that is a normal number.
pub fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The NaN that double precision passes on for one that it gets.
#[inline(always)]
pub fn quiet(nan: f64) -> f64 {
    f64::from_bits(nan.to_bits() | 1 << 51)
}

/// Which NaN a result is. Hosts differ in that.
pub trait Invalid: Sized {
    /// A result, or in place of NaN the first operand that is one, or the NaN that chips make.
    fn or_nan_of<const N: usize>(self, operands: [Self; N]) -> Self;
}

impl Invalid for f64 {
    #[inline(always)]
    fn or_nan_of<const N: usize>(self, operands: [f64; N]) -> f64 {
        if !self.is_nan() {
            return self;
        }
        let made = f64::from_bits(0xfff8 << 48);
        operands.into_iter().find(|operand| operand.is_nan()).map_or(made, quiet)
    }
}

impl Invalid for f32 {
    #[inline(always)]
    fn or_nan_of<const N: usize>(self, _: [f32; N]) -> f32 {
        // Single precision knows one NaN, which registers are written with.
        self
    }
}

/// Arithmetic that rounds in a given direction.
pub trait Directed: Sized {
    /// `a + b`
    fn add(a: Self, b: Self, round: Round) -> Self;
    /// `a - b`
    fn sub(a: Self, b: Self, round: Round) -> Self;
    /// `a * b`
    fn mul(a: Self, b: Self, round: Round) -> Self;
    /// `a * b + c`, rounded once
    fn fma(a: Self, b: Self, c: Self, round: Round) -> Self;
    /// `a / b`
    fn div(a: Self, b: Self, round: Round) -> Self;
    /// The square root.
    fn sqrt(a: Self, round: Round) -> Self;
}

macro_rules! directed {
    ($($ty:ident as $soft:ident, |$near:ident, $root_of:ident| $excess:expr;)*) => {$(
        impl Directed for $ty {
            fn add(a: $ty, b: $ty, round: Round) -> $ty {
                let soft = [a, b].map(|x| $soft::from_bits(x.to_bits().into()));
                let sum = soft[0].add_r(soft[1], round).value;
                $ty::from_bits(sum.to_bits() as _).or_nan_of([a, b])
            }

            fn sub(a: $ty, b: $ty, round: Round) -> $ty {
                let soft = [a, b].map(|x| $soft::from_bits(x.to_bits().into()));
                let difference = soft[0].sub_r(soft[1], round).value;
                $ty::from_bits(difference.to_bits() as _).or_nan_of([a, b])
            }

            fn mul(a: $ty, b: $ty, round: Round) -> $ty {
                let soft = [a, b].map(|x| $soft::from_bits(x.to_bits().into()));
                let product = soft[0].mul_r(soft[1], round).value;
                $ty::from_bits(product.to_bits() as _).or_nan_of([a, b])
            }

            fn fma(a: $ty, b: $ty, c: $ty, round: Round) -> $ty {
                let soft = [a, b, c].map(|x| $soft::from_bits(x.to_bits().into()));
                let sum = soft[0].mul_add_r(soft[1], soft[2], round).value;
                $ty::from_bits(sum.to_bits() as _).or_nan_of([a, b, c])
            }

            fn div(a: $ty, b: $ty, round: Round) -> $ty {
                let soft = [a, b].map(|x| $soft::from_bits(x.to_bits().into()));
                let quotient = soft[0].div_r(soft[1], round).value;
                $ty::from_bits(quotient.to_bits() as _).or_nan_of([a, b])
            }

            fn sqrt($root_of: $ty, round: Round) -> $ty {
                let $near = $root_of.sqrt();
                // How much the square of the nearest root is too large; NaN for what is not finite.
                let excess = $excess;
                match round {
                    Round::TowardZero | Round::TowardNegative if excess > 0.0 => $near.next_down(),
                    Round::TowardPositive if excess < 0.0 => $near.next_up(),
                    _ => $near,
                }
            }
        }
    )*};
}

directed! {
    f32 as Single, |near, a| f64::from(near) * f64::from(near) - f64::from(a);
    f64 as Double, |near, a| {
        // Where the difference would be too small for a double, numbers are scaled by powers of two.
        let (near, a) = if a < 1e-200 { (near * power(300), a * power(600)) } else { (near, a) };
        near.mul_add(near, -a)
    };
}

/// A double of about the size of a whole number that rounds to a shorter format as the number does:
/// bits that do not fit leave a one behind.
pub fn whole_to_odd(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let extra = (128 - magnitude.leading_zeros()).saturating_sub(53);
    let kept = magnitude >> extra;
    let lost = magnitude != kept << extra;
    // At most 53 bits, and a scale that a double holds: exact.
    let result = (kept | u128::from(lost)) as f64 * power(extra as i32);
    if value < 0 { -result } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_short_number_survives_both_ways_and_rounds_between_its_neighbours() {
        for format in [Format::F16, Format::BF16] {
            for bits in 0..format.infinity() {
                let value = format.widen(bits);
                let reference = match format {
                    Format::F16 => half::f16::from_bits(bits).to_f64(),
                    _ => half::bf16::from_bits(bits).to_f64(),
                };
                assert_eq!(value, reference);
                let next =
                    if bits + 1 == format.infinity() { None } else { Some(format.widen(bits + 1)) };
                let all = [
                    Round::NearestTiesToEven,
                    Round::TowardZero,
                    Round::TowardNegative,
                    Round::TowardPositive,
                ];
                for (round, up, down) in
                    [(all[0], 0, 0), (all[1], 0, 0), (all[2], 0, 1), (all[3], 1, 0)]
                {
                    assert_eq!(format.narrow(value, round), bits);
                    assert_eq!(format.narrow(-value, round), bits | 0x8000);
                    let Some(next) = next else { continue };
                    let tie = (value + next) / 2.0;
                    for (inside, nearest) in [
                        (value.next_up(), 0),
                        (tie.next_down(), 0),
                        (tie, bits & 1),
                        (tie.next_up(), 1),
                        (next.next_down(), 1),
                    ] {
                        let near = round == Round::NearestTiesToEven;
                        let (up, down) = if near { (nearest, nearest) } else { (up, down) };
                        assert_eq!(format.narrow(inside, round), bits + up, "{inside:e} {round:?}");
                        assert_eq!(format.narrow(-inside, round), (bits + down) | 0x8000);
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_past_the_range_overflow_in_the_direction_of_rounding() {
        use Round::*;
        for (round, up, down) in [
            (NearestTiesToEven, 0x7c00, 0xfc00),
            (TowardZero, 0x7bff, 0xfbff),
            (TowardNegative, 0x7bff, 0xfc00),
            (TowardPositive, 0x7c00, 0xfbff),
        ] {
            for value in [65520.0, 1e300] {
                assert_eq!(Format::F16.narrow(value, round), up);
                assert_eq!(Format::F16.narrow(-value, round), down);
            }
            assert_eq!(Format::F16.narrow(f64::INFINITY, round), 0x7c00);
        }
        assert_eq!(Format::F16.narrow(65519.99, NearestTiesToEven), 0x7bff);
        assert_eq!(Format::F16.narrow(5e-324, TowardPositive), 1);
        assert_eq!(Format::BF16.narrow(-5e-324, NearestTiesToEven), 0x8000);
        assert_eq!(Format::BF16.narrow(f64::NAN, TowardZero), 0x7fff);
    }
}
