//! Half precision: `.f16`, `.bf16`, and pairs of them.
//!
//! Values are computed as doubles and rounded once. Sums, differences and products are exact there, or
//! rounded so far below the last place that rounding again makes no difference (a double has more than
//! twice the bits and two); the fused sum is rounded to odd.
//!
//! Source: PTX ISA 9.0, section 9.7.4 "Half Precision Floating-Point Instructions".

use super::super::ast::Type;
use super::super::exec::{Kind, Lane};
use super::float::{lesser, odd, saturate};
use super::rounding::{Format, Round};
use super::{Opcode, Rule, rule};

/// The format of a type of half precision.
pub fn format(ty: Type) -> Option<Format> {
    match ty {
        Type::F16 | Type::F16x2 => Some(Format::F16),
        Type::Bf16 | Type::Bf16x2 => Some(Format::BF16),
        _ => None,
    }
}

/// Reads a number; `ftz` flushes subnormal ones.
#[inline(always)]
pub fn read(bits: u16, format: Format, ftz: bool) -> f64 {
    let value = format.widen(bits);
    if ftz { flush(value, format) } else { value }
}

fn flush(value: f64, format: Format) -> f64 {
    if value.abs() < format.least_normal() { 0f64.copysign(value) } else { value }
}

#[inline(always)]
fn store(value: f64, format: Format, ftz: bool) -> u16 {
    let bits = format.narrow(value, Round::NearestTiesToEven);
    if ftz && read(bits, format, true) == 0.0 { bits & 0x8000 } else { bits }
}

/// One number in the low half of a register.
pub struct Single<const BRAIN: bool, const FTZ: bool>;

/// Two numbers in a register, the low one first.
pub struct Pair<const BRAIN: bool, const FTZ: bool>;

const fn chosen(brain: bool) -> Format {
    if brain { Format::BF16 } else { Format::F16 }
}

impl<const BRAIN: bool, const FTZ: bool> Lane for Single<BRAIN, FTZ> {
    type Value = f64;
    type Row = u32;
    const KIND: Kind = Kind::Narrow;

    #[inline(always)]
    fn get(bits: u32) -> f64 {
        read(bits as u16, chosen(BRAIN), FTZ)
    }

    #[inline(always)]
    fn put(value: f64) -> u32 {
        store(value, chosen(BRAIN), FTZ).into()
    }
}

impl<const BRAIN: bool, const FTZ: bool> Lane for Pair<BRAIN, FTZ> {
    type Value = [f64; 2];
    type Row = u32;
    const KIND: Kind = Kind::Narrow;

    #[inline(always)]
    fn get(bits: u32) -> [f64; 2] {
        [bits, bits >> 16].map(Single::<BRAIN, FTZ>::get)
    }

    #[inline(always)]
    fn put(value: [f64; 2]) -> u32 {
        let [low, high] = value.map(Single::<BRAIN, FTZ>::put);
        high << 16 | low
    }
}

/// One number or a pair.
trait Each: Copy {
    fn each(self, f: impl Fn(f64) -> f64) -> Self;
    fn with(self, b: Self, f: impl Fn(f64, f64) -> f64) -> Self;
    fn fused(self, b: Self, c: Self) -> Self;
}

impl Each for f64 {
    #[inline(always)]
    fn each(self, f: impl Fn(f64) -> f64) -> f64 {
        f(self)
    }

    #[inline(always)]
    fn with(self, b: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
        f(self, b)
    }

    #[inline(always)]
    fn fused(self, b: f64, c: f64) -> f64 {
        // Each is a number of 16 bits, which single precision holds.
        odd(self as f32, b as f32, c as f32)
    }
}

impl Each for [f64; 2] {
    #[inline(always)]
    fn each(self, f: impl Fn(f64) -> f64) -> [f64; 2] {
        self.map(f)
    }

    #[inline(always)]
    fn with(self, b: [f64; 2], f: impl Fn(f64, f64) -> f64) -> [f64; 2] {
        [f(self[0], b[0]), f(self[1], b[1])]
    }

    #[inline(always)]
    fn fused(self, b: [f64; 2], c: [f64; 2]) -> [f64; 2] {
        [self[0].fused(b[0], c[0]), self[1].fused(b[1], c[1])]
    }
}

/// Zero in place of negative numbers; NaN stays.
pub fn relu(value: f64) -> f64 {
    if value <= 0.0 { 0.0 } else { value }
}

/// The lesser number, of which -0 is less than 0.
pub fn least(a: f64, b: f64) -> f64 {
    lesser(a, b, a.is_sign_negative())
}

/// The greater number, likewise.
pub fn most(a: f64, b: f64) -> f64 {
    -least(-a, -b)
}

fn nan_or(a: f64, b: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { f(a, b) }
}

/// `f` of the magnitudes, with the product's sign.
fn xorsign(a: f64, b: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
    let negative = a.is_sign_negative() != b.is_sign_negative();
    f(a.abs(), b.abs()).copysign(if negative { -1.0 } else { 1.0 })
}

macro_rules! table {
    ($key:expr, $t:ty) => {
        match $key {
            "mov" => rule!(Move, u32 = |a: u32| a),
            "add" => rule!(FpAdd, $t = |a: $t, b: $t| a.with(b, |a, b| a + b)),
            "sub" => rule!(FpAdd, $t = |a: $t, b: $t| a.with(b, |a, b| a - b)),
            "mul" => rule!(FpMul, $t = |a: $t, b: $t| a.with(b, |a, b| a * b)),
            "fma" => rule!(FpFma, $t = |a: $t, b: $t, c: $t| a.fused(b, c)),
            "add.sat" => rule!(FpAdd, $t = |a: $t, b: $t| a.with(b, |a, b| saturate(a + b))),
            "sub.sat" => rule!(FpAdd, $t = |a: $t, b: $t| a.with(b, |a, b| saturate(a - b))),
            "mul.sat" => rule!(FpMul, $t = |a: $t, b: $t| a.with(b, |a, b| saturate(a * b))),
            "fma.sat" => rule!(FpFma, $t = |a: $t, b: $t, c: $t| a.fused(b, c).each(saturate)),
            "fma.relu" => rule!(FpFma, $t = |a: $t, b: $t, c: $t| a.fused(b, c).each(relu)),
            "neg" => rule!(FpAdd, $t = |a: $t| a.each(|a| -a)),
            "abs" => rule!(FpAdd, $t = |a: $t| a.each(f64::abs)),
            "min" => rule!(FpAdd, $t = |a: $t, b: $t| a.with(b, least)),
            "max" => rule!(FpAdd, $t = |a: $t, b: $t| a.with(b, most)),
            "min.NaN" => rule!(FpAdd, $t = |a: $t, b: $t| a.with(b, |a, b| nan_or(a, b, least))),
            "max.NaN" => rule!(FpAdd, $t = |a: $t, b: $t| a.with(b, |a, b| nan_or(a, b, most))),
            "min.xorsign.abs" => {
                rule!(FpAdd, $t = |a: $t, b: $t| a.with(b, |a, b| xorsign(a, b, least)))
            }
            "max.xorsign.abs" => {
                rule!(FpAdd, $t = |a: $t, b: $t| a.with(b, |a, b| xorsign(a, b, most)))
            }
            "min.NaN.xorsign.abs" => rule!(
                FpAdd,
                $t = |a: $t, b: $t| a.with(b, |a, b| nan_or(a, b, |a, b| xorsign(a, b, least)))
            ),
            "max.NaN.xorsign.abs" => rule!(
                FpAdd,
                $t = |a: $t, b: $t| a.with(b, |a, b| nan_or(a, b, |a, b| xorsign(a, b, most)))
            ),
            "ex2" => rule!(Sfu, $t = |a: $t| a.each(libm::exp2)),
            "tanh" => rule!(Sfu, $t = |a: $t| a.each(libm::tanh)),
            _ => return None,
        }
    };
}

/// The rule for an instruction of half precision.
pub fn select(opcode: &Opcode) -> Option<Rule> {
    let key = opcode.key.replacen(".rn", "", 1);
    let key = key.as_str();
    Some(match (opcode.ty()?, opcode.ftz) {
        (Type::F16, false) => table!(key, Single<false, false>),
        (Type::F16, true) => table!(key, Single<false, true>),
        (Type::F16x2, false) => table!(key, Pair<false, false>),
        (Type::F16x2, true) => table!(key, Pair<false, true>),
        (Type::Bf16, false) => table!(key, Single<true, false>),
        (Type::Bf16x2, false) => table!(key, Pair<true, false>),
        // Only this one flushes subnormal numbers.
        (Type::Bf16, true) if key == "ex2" => {
            rule!(Sfu, Single<true, true> = |a: Single<true, true>| libm::exp2(a))
        }
        (Type::Bf16x2, true) if key == "ex2" => {
            rule!(Sfu, Pair<true, true> = |a: Pair<true, true>| a.map(libm::exp2))
        }
        _ => return None,
    })
}
