//! Single and double precision.
//!
//! Approximate instructions (`.approx`, `.full`) compute the host's correctly rounded or libm value,
//! which lies within the error bounds that PTX gives, but need not be the chip's bit pattern.
//!
//! Source: PTX ISA 9.0, section 9.7.3 "Floating Point Instructions".

use super::super::ast::Type;
use super::super::exec::Flushed;
use super::{Opcode, Rule, rule};

/// The lines that single precision, with and without `.ftz`, and double precision share.
macro_rules! table {
    ($key:expr, $t:ty, $fused:expr, $add:ident, $mul:ident, $fma:ident, $div:ident, $special:ident) => {
        match $key {
            "add" => rule!($add, $t = |a: $t, b: $t| a + b),
            "sub" => rule!($add, $t = |a: $t, b: $t| a - b),
            "mul" => rule!($mul, $t = |a: $t, b: $t| a * b),
            "fma" | "mad" => rule!($fma, $t = |a: $t, b: $t, c: $t| $fused(a, b, c)),
            "add.sat" => rule!($add, $t = |a: $t, b: $t| saturate(a + b)),
            "sub.sat" => rule!($add, $t = |a: $t, b: $t| saturate(a - b)),
            "mul.sat" => rule!($mul, $t = |a: $t, b: $t| saturate(a * b)),
            "fma.sat" | "mad.sat" => {
                rule!($fma, $t = |a: $t, b: $t, c: $t| saturate($fused(a, b, c)))
            }
            "div" => rule!($div, $t = |a: $t, b: $t| a / b),
            "neg" => rule!($add, $t = |a: $t| -a),
            "abs" => rule!($add, $t = |a: $t| a.abs()),
            "min" => rule!($add, $t = |a: $t, b: $t| lesser(a, b, a.is_sign_negative())),
            "max" => rule!($add, $t = |a: $t, b: $t| -lesser(-a, -b, a.is_sign_positive())),
            "copysign" => rule!($add, $t = |a: $t, b: $t| b.copysign(a)),
            "rcp" => rule!($special, $t = |a: $t| 1.0 / a),
            "sqrt" => rule!($special, $t = |a: $t| a.sqrt()),
            "rsqrt" => rule!($special, $t = |a: $t| 1.0 / a.sqrt()),
            "ex2" => rule!($special, $t = |a: $t| a.exp2()),
            "lg2" => rule!($special, $t = |a: $t| a.log2()),
            "sin" => rule!($special, $t = |a: $t| a.sin()),
            "cos" => rule!($special, $t = |a: $t| a.cos()),
            "tanh" => rule!($special, $t = |a: $t| a.tanh()),
            _ => return None,
        }
    };
}

/// The lines of single precision that round in a direction: toward zero, down or up.
macro_rules! directed {
    ($key:expr, $t:ty) => {
        match $key {
            "add.rz" => rule!(FpAdd, $t = |a: $t, b: $t| toward_zero(odd(a, 1.0, b))),
            "add.rm" => rule!(FpAdd, $t = |a: $t, b: $t| downward(odd(a, 1.0, b))),
            "add.rp" => rule!(FpAdd, $t = |a: $t, b: $t| -downward(-odd(a, 1.0, b))),
            "sub.rz" => rule!(FpAdd, $t = |a: $t, b: $t| toward_zero(odd(b, -1.0, a))),
            "sub.rm" => rule!(FpAdd, $t = |a: $t, b: $t| downward(odd(b, -1.0, a))),
            "sub.rp" => rule!(FpAdd, $t = |a: $t, b: $t| -downward(-odd(b, -1.0, a))),
            "mul.rz" => rule!(FpMul, $t = |a: $t, b: $t| toward_zero(f64::from(a) * f64::from(b))),
            "mul.rm" => rule!(FpMul, $t = |a: $t, b: $t| downward(f64::from(a) * f64::from(b))),
            "mul.rp" => rule!(FpMul, $t = |a: $t, b: $t| -downward(-f64::from(a) * f64::from(b))),
            "fma.rz" => rule!(FpFma, $t = |a: $t, b: $t, c: $t| toward_zero(odd(a, b, c))),
            "fma.rm" => rule!(FpFma, $t = |a: $t, b: $t, c: $t| downward(odd(a, b, c))),
            "fma.rp" => rule!(FpFma, $t = |a: $t, b: $t, c: $t| -downward(-odd(a, b, c))),
            _ => return None,
        }
    };
}

/// The rule for a floating-point instruction.
pub fn select(opcode: &Opcode) -> Option<Rule> {
    let key = opcode.key.strip_suffix(".rn").unwrap_or(&opcode.key);
    let key = if key.ends_with(".rn.sat") { key.replace(".rn.sat", ".sat") } else { key.into() };
    Some(match (key.as_str(), opcode.ty()?, opcode.ftz) {
        ("mov", Type::F32, false) => rule!(Move, u32 = |a: u32| a),
        ("mov", Type::F64, false) => rule!(Move, u64 = |a: u64| a),
        (key, Type::F32, ftz) if [".rz", ".rm", ".rp"].iter().any(|end| key.ends_with(end)) => {
            if ftz {
                directed!(key, Flushed)
            } else {
                directed!(key, f32)
            }
        }
        (key, Type::F32, true) => {
            table!(key, Flushed, fused, FpAdd, FpMul, FpFma, FpDiv, Sfu)
        }
        (key, Type::F32, false) => table!(key, f32, fused, FpAdd, FpMul, FpFma, FpDiv, Sfu),
        (key, Type::F64, false) => {
            table!(key, f64, f64::mul_add, DpAdd, DpMul, DpFma, DpDiv, DpDiv)
        }
        ("rcp", Type::F64, true) => rule!(DpDiv, f64 = |a: f64| upper(1.0 / upper(a))),
        ("rsqrt", Type::F64, true) => rule!(DpDiv, f64 = |a: f64| upper(1.0 / upper(a).sqrt())),
        _ => return None,
    })
}

/// The upper 32 bits of a number, subnormal ones flushed: what the approximate instructions of
/// double precision see and give.
#[inline(always)]
fn upper(value: f64) -> f64 {
    let flushed = if value.abs() < f64::MIN_POSITIVE { 0f64.copysign(value) } else { value };
    f64::from_bits(flushed.to_bits() >> 32 << 32)
}

/// Clamped to 0 to 1; NaN gives 0.
fn saturate<T: PartialOrd + From<bool>>(value: T) -> T {
    let (zero, one) = (T::from(false), T::from(true));
    if value > zero { if value < one { value } else { one } } else { zero }
}

/// The lesser number: the other one when one is NaN, and `a` of two equal ones if `a_wins`.
#[inline(always)]
#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
fn lesser<T: PartialOrd + Copy>(a: T, b: T, a_wins: bool) -> T {
    if a < b || b != b || (a == b && a_wins) { a } else { b }
}

/// `a * b + c`, rounded once. Unlike a call of libm it works on whole vectors.
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    odd(a, b, c) as f32
}

/// `a * b + c` in double precision, rounded to odd: an inexact sum ends in a one.
///
/// The product of two single-precision numbers is exact in double precision. A sum rounded to odd
/// can be rounded to single precision in any direction without rounding twice. Source: Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd",
/// IEEE Transactions on Computers, 2008.
#[inline(always)]
fn odd(a: f32, b: f32, c: f32) -> f64 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let part = sum - product;
    let error = (product - (sum - part)) + (c - part);
    let bits = sum.to_bits();
    let away = (error > 0.0) == (sum > 0.0);
    let odd = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    // Infinities and NaN leave a NaN as error, which compares as false.
    let inexact = error.abs() > 0.0;
    f64::from_bits(if inexact && bits & 1 == 0 { odd } else { bits })
}

/// Rounded down. An exact zero keeps the sign that rounding to nearest gives it.
fn downward(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) > value { near.next_down() } else { near }
}

/// Rounded toward zero.
fn toward_zero(value: f64) -> f32 {
    downward(value.abs()).copysign(value as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn fused_rounds_once(a: u32, b: u32, c: u32, near in any::<bool>(), nudge in 0u32..4) {
            let [a, b] = [a, b].map(f32::from_bits);
            // Half of the cases nearly cancel, where rounding twice would show.
            let near_product = -f32::from_bits((a * b).to_bits().wrapping_add(nudge));
            let c = if near { near_product } else { f32::from_bits(c) };
            let (got, want) = (fused(a, b, c), a.mul_add(b, c));
            prop_assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{a:e} * {b:e} + {c:e}: {got:e}, not {want:e}");
        }
    }
}
