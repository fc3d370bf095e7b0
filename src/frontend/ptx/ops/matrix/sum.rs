//! How a tensor core adds up products of half precision and its like.
//!
//! Products are exact. All of a sum, and what they are added to, are shifted to the exponent of the greatest one and cut off there,
//! [`KEPT`] bits behind the point; an exponent is the sum of the factors', so that a product lies between one and four. The sum of
//! these is exact, and cut off to single precision, or rounded to nearest in half precision. Zero is positive, and there is one NaN.
//!
//! Source: measured on an H200, bit for bit (`tests/tensor.rs` of the executor). Other GPUs add fewer products at a time and keep
//! fewer bits: Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores", arXiv 2512.07004.

use super::super::rounding::{Format, Round};
use super::{COLUMNS, Element};

/// Bits that a term keeps behind the point.
const KEPT: i32 = 25;

/// The NaN of a sum in single precision.
const NAN: u32 = 0x7fff_ffff;

/// The NaN of a sum in half precision.
const HALF_NAN: u32 = 0x7fff;

/// The exponent of zero: no product with it, nor any other term, has a greater one than a number's.
const OF_ZERO: i32 = -10_000;

/// A factor: the size of its significand, with ten bits behind the point, and a sign.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    significand: u32,
    /// -1 for a negative number, else 0.
    sign: i32,
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

/// A number in a format with so many bits of exponent and fraction, its significand with as many bits behind the point; subnormal
/// numbers keep theirs.
#[inline(always)]
fn number(bits: u32, exponent_bits: u32, fraction_bits: u32) -> Factor {
    let is_negative = bits >> (exponent_bits + fraction_bits) & 1 != 0;
    let most = (1 << exponent_bits) - 1;
    let exponent = bits >> fraction_bits & most;
    let fraction = bits & ((1 << fraction_bits) - 1);
    let special = match (exponent == most, fraction) {
        (false, _) => Special::No,
        (true, 0) => Special::Infinity { is_negative },
        (true, _) => Special::Nan,
    };
    let significand = u32::from(exponent > 0) << fraction_bits | fraction;
    let exponent = match significand {
        0 => OF_ZERO,
        _ => exponent.max(1) as i32 - (most / 2) as i32,
    };
    Factor { significand, sign: -i32::from(is_negative), exponent, special }
}

impl Factor {
    /// Zero.
    pub const ZERO: Factor =
        Factor { significand: 0, sign: 0, exponent: OF_ZERO, special: Special::No };

    /// The number in the low bits of a register.
    #[inline(always)]
    pub fn read(bits: u32, element: Element) -> Self {
        match element {
            Element::F16 => number(bits & 0xffff, 5, 10),
            Element::Bf16 => {
                let factor = number(bits & 0xffff, 8, 7);
                Factor { significand: factor.significand << 3, ..factor }
            }
            // What is behind the ten bits does not count.
            _ => number(bits >> 13, 8, 10),
        }
    }

    /// Whether it is neither infinite nor NaN.
    #[inline(always)]
    pub fn is_number(&self) -> bool {
        self.special == Special::No
    }
}

impl Term {
    /// A number of single precision.
    #[inline(always)]
    pub fn single(bits: u32) -> Self {
        Term::of(number(bits, 8, 23), KEPT - 23)
    }

    /// A number of half precision, in the low bits.
    #[inline(always)]
    pub fn half(bits: u32) -> Self {
        Term::of(number(bits & 0xffff, 5, 10), KEPT - 10)
    }

    /// A number whose significand lacks so many bits behind the point.
    #[inline(always)]
    fn of(number: Factor, shift: i32) -> Self {
        let size = i64::from(number.significand) << shift;
        let significand = if number.sign < 0 { -size } else { size };
        Term { significand, exponent: number.exponent, special: number.special }
    }

    /// Whether it is neither infinite nor NaN.
    #[inline(always)]
    pub fn is_number(&self) -> bool {
        self.special == Special::No
    }
}

/// Sums of products of a row of A with each column of B, and of a term each.
///
/// Here a warp's matrix product spends its time: the columns go side by side.
#[inline(always)]
pub fn of_row(a: &[Factor], b: &[[Factor; COLUMNS]], terms: &[Term; COLUMNS]) -> [Total; COLUMNS] {
    let mut greatest = terms.map(|term| term.exponent);
    for (a, b) in a.iter().zip(b) {
        for (greatest, b) in greatest.iter_mut().zip(b) {
            *greatest = (*greatest).max(a.exponent + b.exponent);
        }
    }
    let mut sums: [i64; COLUMNS] = std::array::from_fn(|column| {
        let Term { significand, exponent, .. } = terms[column];
        let size = significand.abs() >> (greatest[column] - exponent).min(63);
        if significand < 0 { -size } else { size }
    });
    for (a, b) in a.iter().zip(b) {
        for column in 0..COLUMNS {
            let b = &b[column];
            let shift = (greatest[column] - (a.exponent + b.exponent)).min(31);
            let product = (a.significand * b.significand) << (KEPT - 20);
            let size = (product >> shift) as i32;
            let sign = a.sign ^ b.sign;
            sums[column] += i64::from((size ^ sign) - sign);
        }
    }
    std::array::from_fn(|column| Total {
        significand: sums[column],
        exponent: greatest[column] - KEPT,
        special: Special::No,
    })
}

/// As [`of_row`], where some factor or term is no number.
#[cold]
pub fn of_row_with_special(
    a: &[Factor],
    b: &[[Factor; COLUMNS]],
    terms: &[Term; COLUMNS],
) -> [Total; COLUMNS] {
    let mut totals = of_row(a, b, terms);
    for (column, total) in totals.iter_mut().enumerate() {
        let products = a.iter().zip(b).map(|(a, b)| product(a, &b[column]));
        total.special = products.fold(terms[column].special, |all, one| match (all, one) {
            (Special::No, other) | (other, Special::No) => other,
            (one, other) if one == other => one,
            _ => Special::Nan,
        });
    }
    totals
}

/// What a product is where it is no number.
fn product(a: &Factor, b: &Factor) -> Special {
    let is_zero = |factor: &Factor| factor.special == Special::No && factor.significand == 0;
    let is_infinite = |factor: &Factor| matches!(factor.special, Special::Infinity { .. });
    match (a.special, b.special) {
        (Special::No, Special::No) => Special::No,
        (Special::Nan, _) | (_, Special::Nan) => Special::Nan,
        _ if is_zero(a) || is_zero(b) => Special::Nan,
        _ => {
            debug_assert!(is_infinite(a) || is_infinite(b));
            Special::Infinity { is_negative: a.sign != b.sign }
        }
    }
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
        _ => sign | (((exponent + 127) as u32) << 23) | (fraction - (1 << 23)),
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
