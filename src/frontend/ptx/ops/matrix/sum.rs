//! How a tensor core adds up products of half precision and its like.
//!
//! Products are exact. All of a sum, and what they are added to, are shifted to the exponent of the greatest one and cut off there,
//! [`KEPT`] bits behind the point; an exponent is the sum of the factors', so that a product lies between one and four. The sum of
//! these is exact, and cut off to single precision, or rounded to nearest in half precision. Zero is positive, and there is one NaN.
//!
//! Source: measured on an H200, bit for bit (`tests/tensor.rs` of the executor). Other GPUs add fewer products at a time and keep
//! fewer bits: Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores", arXiv 2512.07004.

use super::super::rounding::{Format, Round};
use super::Element;

/// Bits that a term keeps behind the point.
const KEPT: i32 = 25;

/// The NaN of a sum in single precision.
const NAN: u32 = 0x7fff_ffff;

/// The NaN of a sum in half precision.
const HALF_NAN: u32 = 0x7fff;

/// An exponent below that of any number.
const NO_EXPONENT: i32 = i32::MIN / 4;

/// A factor, as its significand with ten bits behind the point.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    significand: i32,
    exponent: i32,
    /// What it is where it is no number.
    special: Special,
}

/// What is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    No,
    Infinity { is_negative: bool },
    Nan,
}

/// What products are added to, as its significand with [`KEPT`] bits behind the point.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    significand: i64,
    exponent: i32,
    special: Special,
}

/// A sum.
#[derive(Clone, Copy, Debug)]
pub struct Total {
    significand: i64,
    /// Of its last place.
    exponent: i32,
    special: Special,
}

/// Sign, exponent and significand of a format with so many bits of exponent and fraction; subnormal numbers keep theirs.
#[inline(always)]
fn parts(bits: u32, exponent_bits: u32, fraction_bits: u32) -> (i32, i32, Special) {
    let is_negative = bits >> (exponent_bits + fraction_bits) & 1 != 0;
    let most = (1 << exponent_bits) - 1;
    let exponent = bits >> fraction_bits & most;
    let fraction = (bits & ((1 << fraction_bits) - 1)) as i32;
    let special = match (exponent == most, fraction) {
        (false, _) => Special::No,
        (true, 0) => Special::Infinity { is_negative },
        (true, _) => Special::Nan,
    };
    let whole = i32::from(exponent > 0) << fraction_bits;
    let significand = whole | fraction;
    let signed = if is_negative { -significand } else { significand };
    (signed, exponent.max(1) as i32 - (most / 2) as i32, special)
}

impl Factor {
    /// Zero.
    pub const ZERO: Factor = Factor { significand: 0, exponent: 0, special: Special::No };

    /// The number in the low bits of a register.
    #[inline(always)]
    pub fn read(bits: u32, element: Element) -> Self {
        let (significand, exponent, special) = match element {
            Element::F16 => parts(bits & 0xffff, 5, 10),
            Element::Bf16 => {
                let (significand, exponent, special) = parts(bits & 0xffff, 8, 7);
                (significand << 3, exponent, special)
            }
            // What is behind the ten bits does not count.
            _ => parts(bits >> 13, 8, 10),
        };
        Factor { significand, exponent, special }
    }

    /// Whether it is infinite, and if so negative.
    fn infinity(self) -> Option<bool> {
        match self.special {
            Special::Infinity { is_negative } => Some(is_negative),
            _ => None,
        }
    }
}

impl Term {
    /// A number of single precision.
    #[inline(always)]
    pub fn single(bits: u32) -> Self {
        let (significand, exponent, special) = parts(bits, 8, 23);
        Term { significand: i64::from(significand) << (KEPT - 23), exponent, special }
    }

    /// A number of half precision, in the low bits.
    #[inline(always)]
    pub fn half(bits: u32) -> Self {
        let (significand, exponent, special) = parts(bits & 0xffff, 5, 10);
        Term { significand: i64::from(significand) << (KEPT - 10), exponent, special }
    }
}

/// Cuts off `shift` bits of the size of a number.
#[inline(always)]
fn cut(number: i64, shift: i32) -> i64 {
    let shift = shift.min(63);
    let size = number.abs() >> shift;
    if number < 0 { -size } else { size }
}

/// The sum of the products of pairs and of a term.
#[inline(always)]
pub fn of<'f>(pairs: impl Iterator<Item = (&'f Factor, &'f Factor)> + Clone, term: Term) -> Total {
    let is_number = |factor: &Factor| factor.special == Special::No;
    if term.special != Special::No || !pairs.clone().all(|(a, b)| is_number(a) && is_number(b)) {
        return Total { significand: 0, exponent: 0, special: special(pairs, term) };
    }
    let exponent_of = |number: bool, exponent: i32| if number { exponent } else { NO_EXPONENT };
    let greatest = pairs.clone().fold(
        exponent_of(term.significand != 0, term.exponent),
        |greatest, (a, b)| {
            let is_number = a.significand != 0 && b.significand != 0;
            greatest.max(exponent_of(is_number, a.exponent + b.exponent))
        },
    );
    if greatest == NO_EXPONENT {
        return Total { significand: 0, exponent: 0, special: Special::No };
    }
    // Zero may have a greater exponent than any term.
    let shift = |exponent: i32| (greatest - exponent).max(0);
    let mut significand = cut(term.significand, shift(term.exponent));
    for (a, b) in pairs {
        let product = i64::from(a.significand * b.significand) << (KEPT - 20);
        significand += cut(product, shift(a.exponent + b.exponent));
    }
    Total { significand, exponent: greatest - KEPT, special: Special::No }
}

/// What becomes of a sum with terms that are no numbers.
#[cold]
fn special<'f>(pairs: impl Iterator<Item = (&'f Factor, &'f Factor)>, term: Term) -> Special {
    let products = pairs.map(|(a, b)| {
        let is_zero = |factor: &Factor| factor.special == Special::No && factor.significand == 0;
        let infinite = a.infinity().is_some() || b.infinity().is_some();
        match (a.special, b.special) {
            (Special::Nan, _) | (_, Special::Nan) => Special::Nan,
            _ if infinite && (is_zero(a) || is_zero(b)) => Special::Nan,
            _ if infinite => {
                let sign = |factor: &Factor| factor.infinity().unwrap_or(factor.significand < 0);
                Special::Infinity { is_negative: sign(a) != sign(b) }
            }
            _ => Special::No,
        }
    });
    products.fold(term.special, |all, one| match (all, one) {
        (Special::No, other) | (other, Special::No) => other,
        (one, other) if one == other => one,
        _ => Special::Nan,
    })
}

/// A sum cut off to single precision.
#[inline(always)]
pub fn to_single(total: Total) -> u32 {
    match total.special {
        Special::Nan => return NAN,
        Special::Infinity { is_negative } => {
            return f32::INFINITY.to_bits() | u32::from(is_negative) << 31;
        }
        Special::No => {}
    }
    let size = total.significand.unsigned_abs();
    if size == 0 {
        return 0;
    }
    let sign = u32::from(total.significand < 0) << 31;
    let exponent = 63 - size.leading_zeros() as i32 + total.exponent;
    if exponent > 127 {
        return sign | f32::INFINITY.to_bits();
    }
    // The last place of the result, from that of the sum.
    let shift = exponent.max(-126) - 23 - total.exponent;
    let fraction = match shift {
        0.. => size >> shift.min(63),
        _ => size << -shift,
    } as u32;
    match (fraction, exponent) {
        (0, _) => 0,
        (_, ..-126) => sign | fraction,
        _ => sign | (((exponent + 127) as u32) << 23) + (fraction - (1 << 23)),
    }
}

/// A sum rounded to half precision.
#[inline(always)]
pub fn to_half(total: Total) -> u32 {
    match total.special {
        Special::Nan => return HALF_NAN,
        Special::Infinity { is_negative } => return 0x7c00 | u32::from(is_negative) << 15,
        Special::No => {}
    }
    // A sum has some thirty bits: exact in double precision.
    let value = total.significand as f64 * 2f64.powi(total.exponent);
    match Format::F16.narrow(value, Round::NearestTiesToEven) {
        0x8000 => 0,
        bits => u32::from(bits),
    }
}
