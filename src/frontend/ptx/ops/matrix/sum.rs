//! How a tensor core adds up products of half precision and its like.
//!
//! Products are exact. All of a sum, and what they are added to, are shifted to the exponent of the greatest one and cut off there,
//! [`KEPT`] bits behind the point; an exponent is the sum of the factors', so that a product lies between one and four. The sum of
//! these is exact, and cut off to single precision, or rounded to nearest in half precision. Zero is positive, and there is one NaN.
//!
//! Source: measured on an H200, bit for bit (`tests/tensor.rs` of the executor). Other GPUs add fewer products at a time and keep
//! fewer bits: Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores", arXiv 2512.07004.

use wide::{f32x8, i16x8, i32x8, u32x8};

use super::super::rounding::{self, Round, power};
use super::{COLUMNS, Element};

/// Bits that a term keeps behind the point.
const KEPT: i16 = 25;

/// The least power of two that a term is multiplied by before it is cut off: nothing of it is left.
const LEAST_POWER: i16 = -10;

/// The NaN of a sum in single precision.
const NAN: u32 = 0x7fff_ffff;

/// The NaN of a sum in half precision.
const HALF_NAN: u32 = 0x7fff;

/// The exponent of zero: no product with it, nor any other term, has a greater one than a number's.
const OF_ZERO: i16 = -10_000;

/// Numbers of a row, factors or what products are added to, each `significand * 2^exponent`.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// From one to less than two, less for subnormal numbers; infinite or NaN where the number is.
    significands: f32x8,
    /// Of a subnormal number the least one of its format.
    exponents: i16x8,
}

/// A sum: `significand * 2^exponent` with a whole significand of at most 33 bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Total {
    significand: f64,
    exponent: i32,
}

/// The format of a sum.
pub trait Format {
    /// Numbers of this format, each in the low bits of one.
    fn row(bits: [u32; COLUMNS]) -> Row;

    /// The bits of a sum.
    fn round(total: Total) -> u32;

    /// The bits of an infinity or NaN.
    fn special(number: f32) -> u32;
}

/// Single precision: sums are cut off.
pub struct Single;

/// Half precision: sums are rounded to nearest.
pub struct Half;

impl Row {
    /// Zeros.
    pub const ZERO: Row =
        Row { significands: f32x8::ZERO, exponents: i16x8::new([OF_ZERO; COLUMNS]) };

    /// Numbers in a format with so many bits of exponent and fraction, from the low bits.
    #[inline(always)]
    fn new(bits: u32x8, exponent_bits: u32, fraction_bits: u32) -> Self {
        let most = (1 << exponent_bits) - 1;
        let sign = bits << (31 - exponent_bits - fraction_bits) & u32x8::splat(1 << 31);
        let exponent = bits >> fraction_bits & u32x8::splat(most);
        let fraction = bits << (23 - fraction_bits) & u32x8::splat(0x7f_ffff);
        let is_subnormal = exponent.simd_eq(u32x8::ZERO);
        let is_special = exponent.simd_eq(u32x8::splat(most));
        let one = u32x8::splat(1f32.to_bits());
        // The exponent of one and that of infinity differ in a bit.
        let size = fraction | one | (is_special & u32x8::splat(1 << 30));
        let first: f32x8 = bytemuck::cast(is_subnormal & one);
        let size: u32x8 = bytemuck::cast(bytemuck::cast::<_, f32x8>(size) - first);
        let exponent = exponent - is_subnormal - u32x8::splat(most / 2);
        let exponent = size.simd_eq(u32x8::ZERO).select(u32x8::splat(OF_ZERO as u32), exponent);
        Row {
            significands: bytemuck::cast(size | sign),
            exponents: i16x8::from_i32x8_saturate(exponent.cast_signed()),
        }
    }

    /// Factors, each in the low bits of one.
    #[inline(always)]
    pub fn factors(bits: [u32; COLUMNS], element: Element) -> Self {
        match element {
            Element::F16 => Half::row(bits),
            Element::Bf16 => Row::new(u32x8::from(bits), 8, 7),
            // What is behind ten bits of the fraction does not count.
            _ => Row::new(u32x8::from(bits) >> 13, 8, 10),
        }
    }
}

/// Whether some number is infinite or NaN.
pub struct Special(u32x8);

impl Special {
    /// Of no numbers.
    pub fn none() -> Self {
        Special(u32x8::ZERO)
    }

    /// The same numbers, after some more of them are looked at.
    #[inline(always)]
    pub fn with(&mut self, row: Row) -> Row {
        self.0 |= bytemuck::cast::<_, u32x8>(row.significands);
        row
    }

    /// Whether there is one: a finite significand is less than two.
    #[inline(always)]
    pub fn is_any(&self) -> bool {
        self.0.to_array().iter().any(|bits| bits & 2f32.to_bits() != 0)
    }
}

/// `size * 2^power`, cut off to a whole number of less than 2^27.
#[inline(always)]
fn cut_off(size: f32x8, power: i16x8) -> i32x8 {
    let exponent = power.max(i16x8::splat(LEAST_POWER)) + i16x8::splat(127);
    let scale: f32x8 = bytemuck::cast(i32x8::from_i16x8(exponent) << 23);
    (size * scale).fast_trunc_int()
}

/// A number of a row of A, for all columns.
#[inline(always)]
fn for_all(row: &Row, at: usize) -> Row {
    Row {
        significands: f32x8::splat(row.significands.as_array()[at]),
        exponents: i16x8::splat(row.exponents.as_array()[at]),
    }
}

/// Sums of products of a row of A with each column of B, eight by eight, and of a term each, all of them finite.
///
/// Here a warp's matrix product spends its time: the columns go side by side. A product has 22 bits and is exact in single
/// precision; sixteen of them, less than 2^27 each, are less than 2^31.
#[inline(always)]
pub fn of_row(a: &[Row], b: &[[Row; COLUMNS]], terms: &Row) -> [Total; COLUMNS] {
    let mut greatest = terms.exponents;
    for (a, b) in a.iter().zip(b) {
        for (at, b) in b.iter().enumerate() {
            greatest = greatest.max(for_all(a, at).exponents + b.exponents);
        }
    }
    let powers = i16x8::splat(KEPT) - greatest;
    let mut sums = i32x8::ZERO;
    for (a, b) in a.iter().zip(b) {
        for (at, b) in b.iter().enumerate() {
            let a = for_all(a, at);
            let power = powers + (a.exponents + b.exponents);
            sums += cut_off(a.significands * b.significands, power);
        }
    }
    let terms = cut_off(terms.significands, powers + terms.exponents).to_array();
    let (sums, powers) = (sums.to_array(), powers.to_array());
    let mut totals = [Total::default(); COLUMNS];
    for (column, total) in totals.iter_mut().enumerate() {
        let significand = f64::from(sums[column]) + f64::from(terms[column]);
        *total = Total { significand, exponent: -i32::from(powers[column]) };
    }
    totals
}

/// What is not finite among the sums, where factors or terms are not: of significands the usual arithmetic gives it. The others mean
/// nothing.
#[cold]
pub fn special_of_row(a: &[Row], b: &[[Row; COLUMNS]], terms: &Row) -> [f32; COLUMNS] {
    let mut sums = terms.significands;
    for (a, b) in a.iter().zip(b) {
        for (at, b) in b.iter().enumerate() {
            sums += for_all(a, at).significands * b.significands;
        }
    }
    sums.to_array()
}

impl Total {
    /// Its value, with as many of its first bits as `mask` keeps.
    #[inline(always)]
    fn value(self, mask: u64) -> f64 {
        // The exponent of a sum of zeros may be far below.
        let scale = power(self.exponent.max(-1000));
        f64::from_bits(self.significand.to_bits() & mask) * scale
    }
}

impl Format for Single {
    #[inline(always)]
    fn row(bits: [u32; COLUMNS]) -> Row {
        Row::new(u32x8::from(bits), 8, 23)
    }

    #[inline(always)]
    fn round(total: Total) -> u32 {
        let value = total.value(u64::MAX << (52 - 23));
        match value.abs() < f64::from(f32::MIN_POSITIVE) {
            true => subnormal(value),
            false => (value as f32).to_bits(),
        }
    }

    fn special(number: f32) -> u32 {
        if number.is_nan() { NAN } else { number.to_bits() }
    }
}

/// Cuts off a number below the normal ones of single precision.
#[cold]
fn subnormal(value: f64) -> u32 {
    match (value.abs() * power(126 + 23)) as u32 {
        0 => 0,
        fraction => u32::from(value < 0.0) << 31 | fraction,
    }
}

impl Format for Half {
    #[inline(always)]
    fn row(bits: [u32; COLUMNS]) -> Row {
        Row::new(u32x8::from(bits), 5, 10)
    }

    #[inline(always)]
    fn round(total: Total) -> u32 {
        let value = total.value(u64::MAX);
        match rounding::Format::F16.narrow(value, Round::NearestTiesToEven) {
            0x8000 => 0,
            bits => u32::from(bits),
        }
    }

    fn special(number: f32) -> u32 {
        let sign = number.to_bits() >> 31 << 15;
        if number.is_nan() { HALF_NAN } else { 0x7c00 | sign }
    }
}
