//! `cvt` to and from formats that have no arithmetic of their own: `tf32`, and pairs of 8 bits.
//!
//! Source: PTX ISA 9.0, section 5.2.3 "Alternate Floating-Point Data Formats", and cvt. Bits of NaN in
//! `tf32` are an H200's.

use super::super::ast::Type;
use super::rounding::{Format, Round};
use super::{Opcode, Rule, half, rule};

/// The rule of such a conversion.
pub fn select(opcode: &Opcode) -> Option<Rule> {
    let &[ty] = &opcode.types[..] else { return None };
    let key = opcode.key.strip_prefix("cvt.").filter(|_| !opcode.ftz)?;
    // For every form with `.relu` there is one without.
    Some(match (key, ty) {
        ("rna.tf32", Type::F32) => rule!(FpAdd, u32 = |a: u32| away(a)),
        ("rna.satfinite.tf32", Type::F32) => rule!(FpAdd, u32 = |a: u32| lower(away(a))),
        ("rn.tf32", Type::F32) => rule!(FpAdd, u32 = |a: u32| even(a)),
        ("rn.satfinite.tf32", Type::F32) => rule!(FpAdd, u32 = |a: u32| finite(even(a))),
        ("rn.relu.tf32", Type::F32) => rule!(FpAdd, u32 = |a: u32| relu(even(a))),
        ("rn.satfinite.relu.tf32" | "rn.relu.satfinite.tf32", Type::F32) => {
            rule!(FpAdd, u32 = |a: u32| relu(finite(even(a))))
        }
        ("rz.tf32", Type::F32) => rule!(FpAdd, u32 = |a: u32| cut(a)),
        ("rz.satfinite.tf32", Type::F32) => rule!(FpAdd, u32 = |a: u32| finite(cut(a))),
        ("rz.relu.tf32", Type::F32) => rule!(FpAdd, u32 = |a: u32| relu(cut(a))),
        ("rz.satfinite.relu.tf32" | "rz.relu.satfinite.tf32", Type::F32) => {
            rule!(FpAdd, u32 = |a: u32| relu(finite(cut(a))))
        }
        ("rn.satfinite.e4m3x2", Type::F32) => {
            rule!(FpAdd, u32 = |a: f32, b: f32| E4M3.pair(f64::from(a), f64::from(b), false))
        }
        ("rn.satfinite.relu.e4m3x2", Type::F32) => {
            rule!(FpAdd, u32 = |a: f32, b: f32| E4M3.pair(f64::from(a), f64::from(b), true))
        }
        ("rn.satfinite.e5m2x2", Type::F32) => {
            rule!(FpAdd, u32 = |a: f32, b: f32| E5M2.pair(f64::from(a), f64::from(b), false))
        }
        ("rn.satfinite.relu.e5m2x2", Type::F32) => {
            rule!(FpAdd, u32 = |a: f32, b: f32| E5M2.pair(f64::from(a), f64::from(b), true))
        }
        ("rn.satfinite.e4m3x2", Type::F16x2) => {
            rule!(FpAdd, u32 = |a: Halves| E4M3.pair(a[1], a[0], false))
        }
        ("rn.satfinite.relu.e4m3x2", Type::F16x2) => {
            rule!(FpAdd, u32 = |a: Halves| E4M3.pair(a[1], a[0], true))
        }
        ("rn.satfinite.e5m2x2", Type::F16x2) => {
            rule!(FpAdd, u32 = |a: Halves| E5M2.pair(a[1], a[0], false))
        }
        ("rn.satfinite.relu.e5m2x2", Type::F16x2) => {
            rule!(FpAdd, u32 = |a: Halves| E5M2.pair(a[1], a[0], true))
        }
        // From 8 bits: each is a number of 16 bits, too.
        ("rn.e4m3x2", Type::F16x2) => rule!(FpAdd, Halves = |a: u32| E4M3.widen_pair(a)),
        ("rn.relu.e4m3x2", Type::F16x2) => {
            rule!(FpAdd, Halves = |a: u32| E4M3.widen_pair(a).map(half::relu))
        }
        ("rn.e5m2x2", Type::F16x2) => rule!(FpAdd, Halves = |a: u32| E5M2.widen_pair(a)),
        ("rn.relu.e5m2x2", Type::F16x2) => {
            rule!(FpAdd, Halves = |a: u32| E5M2.widen_pair(a).map(half::relu))
        }
        _ => return None,
    })
}

type Halves = half::Pair<false, false>;

/// Bits of single precision that `tf32` lacks.
const UNUSED: u32 = 0x1fff;
const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7f80_0000;
const NAN: u32 = !UNUSED & !SIGN;

fn is_nan(bits: u32) -> bool {
    bits & !SIGN > INFINITY
}

/// To nearest, ties away from zero. What is not finite is cut, so that NaN may become infinity.
#[inline(always)]
fn away(bits: u32) -> u32 {
    let half = if bits & INFINITY == INFINITY { 0 } else { UNUSED.div_ceil(2) };
    (bits + half) & !UNUSED
}

/// To nearest, ties to even.
#[inline(always)]
fn even(bits: u32) -> u32 {
    let last = bits >> UNUSED.count_ones() & 1;
    if is_nan(bits) { NAN } else { (bits + UNUSED / 2 + last) & !UNUSED }
}

/// Toward zero.
#[inline(always)]
fn cut(bits: u32) -> u32 {
    if is_nan(bits) { NAN } else { bits & !UNUSED }
}

#[inline(always)]
fn relu(bits: u32) -> u32 {
    if bits & SIGN != 0 && !is_nan(bits) { 0 } else { bits }
}

/// The greatest finite number in place of infinity.
#[inline(always)]
fn finite(bits: u32) -> u32 {
    if bits & !SIGN == INFINITY { bits - UNUSED - 1 } else { bits }
}

/// The same for what [`away`] gives: NaN moves, too, and stays one.
#[inline(always)]
fn lower(bits: u32) -> u32 {
    if bits & INFINITY == INFINITY { bits - UNUSED - 1 } else { bits }
}

/// A format of 8 bits.
struct Byte {
    format: Format,
    most: f64,
    /// Bits of infinity, and beyond them NaN; without infinity, the greatest number.
    limit: u16,
}

const E4M3: Byte = Byte { format: Format::E4M3, most: 448.0, limit: 0x7e };
const E5M2: Byte = Byte { format: Format::E5M2, most: 57344.0, limit: 0x7c };

impl Byte {
    /// The nearest finite number.
    fn narrow(&self, value: f64, relu: bool) -> u32 {
        let value = if relu { half::relu(value) } else { value };
        if value.is_nan() {
            return 0x7f;
        }
        let finite = value.clamp(-self.most, self.most);
        let bits = u32::from(self.format.narrow(finite, Round::NearestTiesToEven));
        bits >> 8 & 0x80 | bits & 0x7f
    }

    /// The first becomes the upper byte.
    fn pair(&self, high: f64, low: f64, relu: bool) -> u32 {
        self.narrow(high, relu) << 8 | self.narrow(low, relu)
    }

    fn widen(&self, bits: u32) -> f64 {
        let magnitude = bits as u16 & 0x7f;
        let value = match magnitude {
            _ if magnitude > self.limit => f64::NAN,
            0x7c if self.limit == 0x7c => f64::INFINITY,
            _ => self.format.widen(magnitude),
        };
        if bits & 0x80 != 0 { -value } else { value }
    }

    /// The low number, and the high one.
    fn widen_pair(&self, bits: u32) -> [f64; 2] {
        [self.widen(bits), self.widen(bits >> 8)]
    }
}
