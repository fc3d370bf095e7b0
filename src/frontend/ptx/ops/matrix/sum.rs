//! How a tensor core adds up products of half precision and its like.
//!
//! Products are exact. All of a sum, and what they are added to, are shifted to the exponent of the greatest one and cut off there,
//! [`Factors::KEPT`] bits behind the point; an exponent is the sum of the factors', so that a product lies between one and four. The
//! sum of these is exact, and cut off to single precision, or rounded to nearest in half precision. Of factors of 8 bits a sum in
//! single precision keeps no more bits than its terms do: 14 in all. Zero is positive, and there is one NaN.
//!
//! Source: measured on an H200, bit for bit (`tests/tensor.rs` and `tests/warpgroup.rs` of the executor). Other GPUs add fewer products
//! at a time and keep fewer bits: Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores", arXiv 2512.07004.

use wide::{f32x8, i16x8, i32x8, u32x8};

use super::super::rounding::{self, Round, power};
use super::floats::{FragmentOfA, FragmentOfB};
use super::{COLUMNS, QUADS};

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
    /// From one to less than two, less for subnormal numbers; infinite or NaN where the number is. Those of a format that is
    /// [`Numbers::ARE_VALUES`] are the numbers themselves, where they are finite: of others the exponent alone tells.
    significands: f32x8,
    /// Of a subnormal number the least one of its format.
    exponents: i16x8,
}

/// Sums: `significand * 2^exponent` each, with a whole significand of at most 33 bits.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    significands: [f64; COLUMNS],
    exponents: i16x8,
}

/// A format.
pub trait Numbers {
    /// The numbers themselves stand for their significands.
    const ARE_VALUES: bool;

    /// The exponent of infinity and NaN.
    const INFINITE: i16;

    /// Numbers, each in the low bits of one.
    fn row(bits: [u32; COLUMNS]) -> Row;

    /// The same with significands, or numbers, that tell infinity and NaN.
    fn special_row(bits: [u32; COLUMNS]) -> Row {
        Self::row(bits)
    }
}

/// The format of factors. Of those that are values, single precision holds any product, so that one scale serves all products of a
/// sum.
pub trait Factors: Numbers {
    /// Bits that a term of their sums keeps behind the point.
    const KEPT: i16 = 25;
}

/// The format of a sum, whose numbers are values.
pub trait Format: Numbers {
    /// The bits of sums of terms that keep so many bits behind the point: single precision keeps no more.
    fn round(totals: &Totals, kept: i16) -> [u32; COLUMNS];

    /// The bits of an infinity or NaN.
    fn special(number: f32) -> u32;
}

/// The format with the exponents of single precision and 8 bits.
pub struct Bf16;

/// The same with 11 bits, in 32.
pub struct Tf32;

/// 8 bits, with four of exponent: without infinity, and with one NaN of each sign.
pub struct E4m3;

/// 8 bits, with five of exponent.
pub struct E5m2;

/// Single precision: sums are cut off.
pub struct Single;

/// Half precision: sums are rounded to nearest.
pub struct Half;

impl Row {
    /// Where no numbers have been put yet.
    pub const NONE: Row = Row { significands: f32x8::ZERO, exponents: i16x8::ZERO };

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

    /// The same as the numbers themselves, which single precision holds. What has the greatest exponent field counts as a number.
    #[inline(always)]
    fn of_values(bits: u32x8, exponent_bits: u32, fraction_bits: u32) -> Self {
        let bias = (1 << (exponent_bits - 1)) - 1;
        let size = bits & u32x8::splat((1 << (exponent_bits + fraction_bits)) - 1);
        let sign = bits << (31 - exponent_bits - fraction_bits) & u32x8::splat(1 << 31);
        // As single precision the bits are a number that is too small by the difference of the biases.
        let unscaled: f32x8 = bytemuck::cast(size << (23 - fraction_bits));
        let value = unscaled * f32x8::splat(2f32.powi(127 - bias));
        let field = i16x8::from_i32x8_saturate((size >> fraction_bits).cast_signed());
        Row {
            significands: bytemuck::cast(bytemuck::cast::<_, u32x8>(value) | sign),
            exponents: exponents_of(field, size, bias as i16),
        }
    }
}

/// Exponents of numbers with these fields for them, and without signs of these sizes.
#[inline(always)]
fn exponents_of(field: i16x8, size: u32x8, bias: i16) -> i16x8 {
    let is_zero = i16x8::from_i32x8_saturate(size.simd_eq(u32x8::ZERO).cast_signed());
    is_zero.select(i16x8::splat(OF_ZERO), field.max(i16x8::ONE) - i16x8::splat(bias))
}

/// The greatest exponents of some rows.
#[derive(Clone, Debug)]
pub struct Greatest(i16x8);

impl Greatest {
    /// Of no rows.
    pub const fn none() -> Self {
        Greatest(i16x8::new([OF_ZERO; COLUMNS]))
    }

    /// The same row, after it is looked at.
    #[inline(always)]
    pub fn with(&mut self, row: Row) -> Row {
        self.0 = self.0.max(row.exponents);
        row
    }

    /// Whether there is one that is `exponent` or more.
    #[inline(always)]
    pub fn reaches(&self, exponent: i16) -> bool {
        self.0.simd_gt(i16x8::splat(exponent - 1)).any()
    }
}

/// `size * 2^power`, cut off to a whole number of less than 2^27.
#[inline(always)]
fn cut_off(size: f32x8, power: i16x8) -> i32x8 {
    (size * power_of_two(power.max(i16x8::splat(LEAST_POWER)))).fast_trunc_int()
}

/// `2^power`, of single precision's normal numbers.
#[inline(always)]
fn power_of_two(power: i16x8) -> f32x8 {
    bytemuck::cast(i32x8::from_i16x8(power + i16x8::splat(127)) << 23)
}

/// `value * 2^power`, which is less than 2^27, cut off to a whole number. The power of two may be none of single precision's.
#[inline(always)]
fn cut_off_value(value: f32x8, power: i16x8) -> i32x8 {
    // Of zeros alone it may be more.
    let power = power.min(i16x8::splat(250));
    let half: i16x8 = power >> 1;
    (value * power_of_two(half) * power_of_two(power - half)).fast_trunc_int()
}

/// Sums of products of two rows of A that follow each other, pair number `pair` of four, with each column of B, and of terms, all of
/// them finite.
///
/// Here a warp's matrix product spends its time: the columns go side by side. A product has 22 bits and is exact in single
/// precision; sixteen of them, less than 2^27 each, are less than 2^31, and so are 32 of factors of 8 bits, less than 2^15 each.
#[inline(always)]
pub fn of_rows<A: Factors, B: Factors>(
    a: &[FragmentOfA],
    pair: usize,
    b: &[FragmentOfB],
    terms: &[Row; 2],
) -> [Totals; 2] {
    let mut greatest = [terms[0].exponents, terms[1].exponents];
    for (a, b) in a.iter().zip(b) {
        let exponents = a[pair].exponents.to_array();
        for (quad, b) in b.iter().enumerate() {
            for row in 0..2 {
                let exponent = i16x8::splat(exponents[row * QUADS + quad]);
                greatest[row] = greatest[row].max(exponent + b.exponents);
            }
        }
    }
    let (mut powers, mut scales) = ([i16x8::ZERO; 2], [f32x8::ZERO; 2]);
    for row in 0..2 {
        powers[row] = i16x8::splat(A::KEPT) - greatest[row];
        // Where it would be more than that, all products are zero.
        scales[row] = power_of_two(powers[row].min(i16x8::splat(127)));
    }
    let mut sums = [i32x8::ZERO; 2];
    for (a, b) in a.iter().zip(b) {
        let Row { significands, exponents } = &a[pair];
        let (significands, exponents) = (significands.to_array(), exponents.to_array());
        for (quad, b) in b.iter().enumerate() {
            for row in 0..2 {
                let lane = row * QUADS + quad;
                let products = f32x8::splat(significands[lane]) * b.significands;
                sums[row] += match A::ARE_VALUES && B::ARE_VALUES {
                    true => (products * scales[row]).fast_trunc_int(),
                    false => {
                        let exponents = i16x8::splat(exponents[lane]) + b.exponents;
                        cut_off(products, powers[row] + exponents)
                    }
                };
            }
        }
    }
    let mut totals = [Totals { significands: [0.0; COLUMNS], exponents: i16x8::ZERO }; 2];
    for row in 0..2 {
        let term = cut_off_value(terms[row].significands, powers[row]).to_array();
        let sums = sums[row].to_array();
        for column in 0..COLUMNS {
            totals[row].significands[column] = f64::from(sums[column]) + f64::from(term[column]);
        }
        totals[row].exponents = greatest[row] - i16x8::splat(A::KEPT);
    }
    totals
}

/// What is not finite among the sums of a row, where factors or terms are not: the usual arithmetic gives it. Significands stand for
/// the numbers where they are not the same, and a finite term stays finite: products of these sum to less than 2^23. The others mean nothing.
#[cold]
pub fn special_of_row(
    a: &[FragmentOfA],
    row: usize,
    b: &[FragmentOfB],
    terms: &Row,
) -> [f32; COLUMNS] {
    let mut sums = terms.significands;
    for (a, b) in a.iter().zip(b) {
        let significands = a[row / 2].significands.to_array();
        for (quad, b) in b.iter().enumerate() {
            sums += f32x8::splat(significands[row % 2 * QUADS + quad]) * b.significands;
        }
    }
    sums.to_array()
}

impl Numbers for Half {
    const ARE_VALUES: bool = true;
    const INFINITE: i16 = 16;

    #[inline(always)]
    fn row(bits: [u32; COLUMNS]) -> Row {
        Row::of_values(u32x8::from(bits), 5, 10)
    }

    fn special_row(bits: [u32; COLUMNS]) -> Row {
        Row::new(u32x8::from(bits), 5, 10)
    }
}

impl Factors for Half {}

impl Numbers for Bf16 {
    const ARE_VALUES: bool = false;
    const INFINITE: i16 = Single::INFINITE;

    #[inline(always)]
    fn row(bits: [u32; COLUMNS]) -> Row {
        Row::new(u32x8::from(bits), 8, 7)
    }
}

impl Factors for Bf16 {}

impl Numbers for Tf32 {
    const ARE_VALUES: bool = false;
    const INFINITE: i16 = Single::INFINITE;

    #[inline(always)]
    fn row(bits: [u32; COLUMNS]) -> Row {
        // What is behind ten bits of the fraction does not count.
        Row::new(u32x8::from(bits) >> 13, 8, 10)
    }
}

impl Factors for Tf32 {}

impl Numbers for E5m2 {
    const ARE_VALUES: bool = true;
    const INFINITE: i16 = 16;

    #[inline(always)]
    fn row(bits: [u32; COLUMNS]) -> Row {
        Row::of_values(u32x8::from(bits), 5, 2)
    }

    fn special_row(bits: [u32; COLUMNS]) -> Row {
        Row::new(u32x8::from(bits), 5, 2)
    }
}

impl Factors for E5m2 {
    const KEPT: i16 = 13;
}

impl E4m3 {
    /// Which of these, in the low bits, are NaN.
    #[inline(always)]
    fn are_nan(bits: [u32; COLUMNS]) -> u32x8 {
        let size = u32x8::splat(0x7f);
        (u32x8::from(bits) & size).simd_eq(size)
    }
}

impl Numbers for E4m3 {
    const ARE_VALUES: bool = true;
    const INFINITE: i16 = 9;

    #[inline(always)]
    fn row(bits: [u32; COLUMNS]) -> Row {
        let Row { significands, exponents } = Row::of_values(u32x8::from(bits), 4, 3);
        let are_nan = i16x8::from_i32x8_saturate(E4m3::are_nan(bits).cast_signed());
        let exponents = are_nan.select(i16x8::splat(E4m3::INFINITE), exponents);
        Row { significands, exponents }
    }

    fn special_row(bits: [u32; COLUMNS]) -> Row {
        let row = E4m3::row(bits);
        let significands =
            E4m3::are_nan(bits).select(u32x8::splat(NAN), bytemuck::cast(row.significands));
        Row { significands: bytemuck::cast(significands), ..row }
    }
}

impl Factors for E4m3 {
    const KEPT: i16 = 13;
}

impl Totals {
    /// Their values, with as many of the first bits as `mask` keeps.
    #[inline(always)]
    fn values(&self, mask: u64) -> [f64; COLUMNS] {
        // The exponent of a sum of zeros may be far below.
        let exponents = self.exponents.max(i16x8::splat(-1000)) + i16x8::splat(1023);
        let exponents: [u32; COLUMNS] = bytemuck::cast(i32x8::from_i16x8(exponents));
        let mut values = [0.0; COLUMNS];
        for (column, value) in values.iter_mut().enumerate() {
            let scale = f64::from_bits(u64::from(exponents[column]) << 52);
            *value = f64::from_bits(self.significands[column].to_bits() & mask) * scale;
        }
        values
    }
}

impl Numbers for Single {
    const ARE_VALUES: bool = true;
    const INFINITE: i16 = 128;

    #[inline(always)]
    fn row(bits: [u32; COLUMNS]) -> Row {
        let bits = u32x8::from(bits);
        let size = bits & u32x8::splat(0x7fff_ffff);
        let field: u32x8 = size >> 23;
        let field = i16x8::from_i32x8_saturate(field.cast_signed());
        Row { significands: bytemuck::cast(bits), exponents: exponents_of(field, size, 127) }
    }
}

impl Format for Single {
    #[inline(always)]
    fn round(totals: &Totals, kept: i16) -> [u32; COLUMNS] {
        let values = totals.values(u64::MAX << (52 - kept.min(23)));
        let mut rounded = [0; COLUMNS];
        let mut is_any_subnormal = false;
        for (rounded, value) in rounded.iter_mut().zip(values) {
            *rounded = (value as f32).to_bits();
            is_any_subnormal |= value.abs() < f64::from(f32::MIN_POSITIVE);
        }
        if is_any_subnormal {
            cut_off_subnormal(&values, &mut rounded);
        }
        rounded
    }

    fn special(number: f32) -> u32 {
        if number.is_nan() { NAN } else { number.to_bits() }
    }
}

/// Cuts off numbers below the normal ones of single precision.
#[cold]
fn cut_off_subnormal(values: &[f64; COLUMNS], rounded: &mut [u32; COLUMNS]) {
    for (value, rounded) in values.iter().zip(rounded) {
        if value.abs() < f64::from(f32::MIN_POSITIVE) {
            *rounded = match (value.abs() * power(126 + 23)) as u32 {
                0 => 0,
                fraction => u32::from(*value < 0.0) << 31 | fraction,
            };
        }
    }
}

impl Format for Half {
    #[inline(always)]
    fn round(totals: &Totals, _: i16) -> [u32; COLUMNS] {
        totals.values(u64::MAX).map(|value| {
            match rounding::Format::F16.narrow(value, Round::NearestTiesToEven) {
                0x8000 => 0,
                bits => u32::from(bits),
            }
        })
    }

    fn special(number: f32) -> u32 {
        let sign = number.to_bits() >> 31 << 15;
        if number.is_nan() { HALF_NAN } else { 0x7c00 | sign }
    }
}
