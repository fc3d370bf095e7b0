//! Single and double precision.
//!
//! Approximate instructions (`.approx`, `.full`) compute the host's correctly rounded or libm value,
//! which lies within the error bounds that PTX gives, but need not be the chip's bit pattern.
//!
//! A NaN in double precision has the bits that an H200 gives it, on every host.
//!
//! Source: PTX ISA 9.0, section 9.7.3 "Floating Point Instructions".

use super::super::ast::Type;
use super::super::exec::{Bits, Flushed, Kind, Registers, write};
use super::super::program::Micro;
use super::rounding::{Directed, Invalid, Round, quiet};
use super::{Opcode, Rule, Slot, rule};
use crate::isa::{ArithClass, LaneMask, WARP};

/// The lines of single precision, with and without `.ftz`. What has no exact value is computed as a
/// double by `libm`, which gives the same on every host, and is right but for about one rounding in
/// 2^28.
macro_rules! single {
    ($key:expr, $t:ty) => {
        match $key {
            "add" => rule!(FpAdd, $t = |a: $t, b: $t| a + b),
            "sub" => rule!(FpAdd, $t = |a: $t, b: $t| a - b),
            "mul" => rule!(FpMul, $t = |a: $t, b: $t| a * b),
            "fma" | "mad" => rule!(FpFma, $t = |a: $t, b: $t, c: $t| fused(a, b, c)),
            "add.sat" => rule!(FpAdd, $t = |a: $t, b: $t| saturate(a + b)),
            "sub.sat" => rule!(FpAdd, $t = |a: $t, b: $t| saturate(a - b)),
            "mul.sat" => rule!(FpMul, $t = |a: $t, b: $t| saturate(a * b)),
            "fma.sat" | "mad.sat" => {
                rule!(FpFma, $t = |a: $t, b: $t, c: $t| saturate(fused(a, b, c)))
            }
            "div" => rule!(FpDiv, $t = |a: $t, b: $t| a / b),
            // A product with the inverse, which is zero there.
            "div.approx" => rule!(
                FpDiv,
                $t =
                    |a: $t, b: $t| if has_no_inverse(b.into()) { a * ((b - b) * b) } else { a / b }
            ),
            "min" => rule!(FpAdd, $t = |a: $t, b: $t| lesser(a, b, a.is_sign_negative())),
            "max" => rule!(FpAdd, $t = |a: $t, b: $t| -lesser(-a, -b, a.is_sign_positive())),
            "min.NaN" => {
                rule!(FpAdd, $t = |a: $t, b: $t| nan_or(a, b, lesser(a, b, a.is_sign_negative())))
            }
            "max.NaN" => {
                rule!(
                    FpAdd,
                    $t = |a: $t, b: $t| nan_or(a, b, -lesser(-a, -b, a.is_sign_positive()))
                )
            }
            "rcp" => rule!(Sfu, $t = |a: $t| 1.0 / a),
            "sqrt" => rule!(Sfu, $t = |a: $t| a.sqrt()),
            "neg" => rule!(FpAdd, $t = |a: $t| -a),
            "abs" => rule!(FpAdd, $t = |a: $t| a.abs()),
            "rsqrt" => rule!(Sfu, $t = |a: $t| (1.0 / f64::from(a).sqrt()) as f32),
            "ex2" => rule!(Sfu, $t = |a: $t| libm::exp2(a.into()) as f32),
            "lg2" => rule!(Sfu, $t = |a: $t| libm::log2(a.into()) as f32),
            "sin" => rule!(Sfu, $t = |a: $t| libm::sin(a.into()) as f32),
            "cos" => rule!(Sfu, $t = |a: $t| libm::cos(a.into()) as f32),
            "tanh" => rule!(Sfu, $t = |a: $t| libm::tanh(a.into()) as f32),
            "min.xorsign.abs" => {
                rule!(FpAdd, $t = |a: $t, b: $t| xorsign(a, b, lesser(a.abs(), b.abs(), true)))
            }
            "max.xorsign.abs" => {
                rule!(FpAdd, $t = |a: $t, b: $t| xorsign(a, b, -lesser(-a.abs(), -b.abs(), true)))
            }
            "min.NaN.xorsign.abs" => rule!(
                FpAdd,
                $t = |a: $t, b: $t| nan_or(a, b, xorsign(a, b, lesser(a.abs(), b.abs(), true)))
            ),
            "max.NaN.xorsign.abs" => rule!(
                FpAdd,
                $t = |a: $t, b: $t| nan_or(a, b, xorsign(a, b, -lesser(-a.abs(), -b.abs(), true)))
            ),
            _ => return None,
        }
    };
}

/// Whether the inverse of a number of single precision is too small to be one that is not subnormal. Source: PTX ISA, `div.approx.f32`:
/// for 2^126 < |b| < 2^128 a quotient is 0, and NaN where a is infinite.
fn has_no_inverse(b: f64) -> bool {
    let most = f64::from(f32::MIN_POSITIVE).recip();
    b.is_finite() && b.abs() > most
}

/// A [`Rule`] of double precision whose NaN is set right.
macro_rules! double {
    ($class:ident, |$($a:ident),+| $f:expr) => {{
        fn exec(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
            each_double(regs, micro, mask, |[$($a),+]| $f);
        }
        const SLOTS: &[Slot] =
            &[Slot::Dst(Kind::F64), $({ stringify!($a); Slot::Src(Kind::F64) }),+];
        Rule { exec, class: ArithClass::$class, slots: SLOTS, imm: 0 }
    }};
}

/// The lines of double precision, to nearest.
fn double(key: &str) -> Option<Rule> {
    Some(match key {
        "add" => double!(DpAdd, |a, b| a + b),
        "sub" => double!(DpAdd, |a, b| a - b),
        "mul" => double!(DpMul, |a, b| a * b),
        "fma" | "mad" => double!(DpFma, |a, b, c| a.mul_add(b, c)),
        "div" => double!(DpDiv, |a, b| a / b),
        "rcp" => double!(DpDiv, |a| 1.0 / a),
        "sqrt" => double!(DpDiv, |a| a.sqrt()),
        "rsqrt" => double!(DpDiv, |a| 1.0 / a.sqrt()),
        "min" => rule!(DpAdd, f64 = |a: f64, b: f64| lesser(a, b, a.is_sign_negative())),
        "max" => rule!(DpAdd, f64 = |a: f64, b: f64| -lesser(-a, -b, a.is_sign_positive())),
        // NaN passes through with its sign.
        "neg" => rule!(DpAdd, f64 = |a: f64| if a.is_nan() { quiet(a) } else { -a }),
        "abs" => rule!(DpAdd, f64 = |a: f64| if a.is_nan() { quiet(a) } else { a.abs() }),
        _ => return None,
    })
}

/// `dst = f(a, ..)` for every lane of `mask`. Only where there is a NaN are its bits looked after.
#[inline(always)]
fn each_double<const N: usize>(
    regs: &mut Registers,
    micro: &Micro,
    mask: LaneMask,
    f: impl Fn([f64; N]) -> f64,
) {
    let rows: [&[u64; WARP]; N] = std::array::from_fn(|place| u64::row(regs, micro.ops[1 + place]));
    let operands = |lane: usize| rows.map(|row| f64::from_bits(row[lane]));
    let mut out = [0; WARP];
    let mut nan = false;
    for (lane, place) in out.iter_mut().enumerate() {
        let value = f(operands(lane));
        nan |= value.is_nan();
        *place = value.to_bits();
    }
    if nan {
        for (lane, place) in out.iter_mut().enumerate() {
            *place = f64::from_bits(*place).or_nan_of(operands(lane)).to_bits();
        }
    }
    write(u64::row_mut(regs, micro.ops[0]), mask, &out);
}

/// The lines that round in a direction, and those that then saturate.
macro_rules! directed {
    ($key:expr, $mode:ident, $t:ty, $add:ident, $mul:ident, $fma:ident, $div:ident, $special:ident) => {
        match $key {
            "add" => rule!($add, $t = |a: $t, b: $t| Directed::add(a, b, Round::$mode)),
            "sub" => rule!($add, $t = |a: $t, b: $t| Directed::sub(a, b, Round::$mode)),
            "mul" => rule!($mul, $t = |a: $t, b: $t| Directed::mul(a, b, Round::$mode)),
            "fma" | "mad" => {
                rule!($fma, $t = |a: $t, b: $t, c: $t| Directed::fma(a, b, c, Round::$mode))
            }
            "add.sat" => {
                rule!($add, $t = |a: $t, b: $t| saturate(Directed::add(a, b, Round::$mode)))
            }
            "sub.sat" => {
                rule!($add, $t = |a: $t, b: $t| saturate(Directed::sub(a, b, Round::$mode)))
            }
            "mul.sat" => {
                rule!($mul, $t = |a: $t, b: $t| saturate(Directed::mul(a, b, Round::$mode)))
            }
            "fma.sat" | "mad.sat" => rule!(
                $fma,
                $t = |a: $t, b: $t, c: $t| saturate(Directed::fma(a, b, c, Round::$mode))
            ),
            "div" => rule!($div, $t = |a: $t, b: $t| Directed::div(a, b, Round::$mode)),
            "rcp" => rule!($special, $t = |a: $t| Directed::div(1.0, a, Round::$mode)),
            "sqrt" => {
                rule!($special, $t = |a: $t| Directed::sqrt(a, Round::$mode).or_nan_of([a]))
            }
            _ => return None,
        }
    };
}

/// The same in each direction.
macro_rules! directions {
    ($key:expr, $mode:expr, $($rest:tt)*) => {
        match $mode {
            "rz" => directed!($key, TowardZero, $($rest)*),
            "rm" => directed!($key, TowardNegative, $($rest)*),
            _ => directed!($key, TowardPositive, $($rest)*),
        }
    };
}

/// The rule for a floating-point instruction.
pub fn select(opcode: &Opcode) -> Option<Rule> {
    let (mut key, mut mode) = (String::new(), "rn");
    for word in opcode.key.split('.') {
        match word {
            "rn" | "rz" | "rm" | "rp" => mode = word,
            _ if key.is_empty() => key.push_str(word),
            _ => key = key + "." + word,
        }
    }
    let key = key.as_str();
    Some(match (key, opcode.ty()?, opcode.ftz) {
        (_, Type::F32, true) if mode != "rn" => {
            directions!(key, mode, Flushed, FpAdd, FpMul, FpFma, FpDiv, Sfu)
        }
        (_, Type::F32, false) if mode != "rn" => {
            directions!(key, mode, f32, FpAdd, FpMul, FpFma, FpDiv, Sfu)
        }
        (_, Type::F64, false) if mode != "rn" => {
            directions!(key, mode, f64, DpAdd, DpMul, DpFma, DpDiv, DpDiv)
        }
        ("mov", Type::F32, false) => rule!(Move, u32 = |a: u32| a),
        ("mov", Type::F64, false) => rule!(Move, u64 = |a: u64| a),
        // On bits: a NaN keeps its payload.
        ("copysign", Type::F32, false) => {
            rule!(FpAdd, u32 = |a: u32, b: u32| a & SIGN | b & !SIGN)
        }
        ("copysign", Type::F64, false) => {
            rule!(DpAdd, u64 = |a: u64, b: u64| a & LONG_SIGN | b & !LONG_SIGN)
        }
        (key, Type::F32, true) => single!(key, Flushed),
        (key, Type::F32, false) => single!(key, f32),
        (key, Type::F64, false) => return double(key),
        ("rcp", Type::F64, true) => rule!(DpDiv, f64 = |a: f64| upper(1.0 / upper(a))),
        ("rsqrt", Type::F64, true) => rule!(DpDiv, f64 = |a: f64| upper(1.0 / upper(a).sqrt())),
        _ => return None,
    })
}

const SIGN: u32 = 1 << 31;
const LONG_SIGN: u64 = 1 << 63;

/// The upper 32 bits of a number, subnormal ones flushed: what the approximate instructions of
/// double precision see and give.
#[inline(always)]
fn upper(value: f64) -> f64 {
    let flushed = if value.abs() < f64::MIN_POSITIVE { 0f64.copysign(value) } else { value };
    f64::from_bits(flushed.to_bits() >> 32 << 32)
}

/// Clamped to 0 to 1; NaN gives 0.
pub fn saturate<T: PartialOrd + From<bool>>(value: T) -> T {
    let (zero, one) = (T::from(false), T::from(true));
    if value > zero { if value < one { value } else { one } } else { zero }
}

/// The lesser number: the other one when one is NaN, and `a` of two equal ones if `a_wins`.
#[inline(always)]
#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
pub fn lesser<T: PartialOrd + Copy>(a: T, b: T, a_wins: bool) -> T {
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
pub fn odd(a: f32, b: f32, c: f32) -> f64 {
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

/// NaN where an operand is NaN.
#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
fn nan_or<T: PartialOrd + Copy + std::ops::Add<Output = T>>(a: T, b: T, value: T) -> T {
    if a != a || b != b { a + b } else { value }
}

/// A magnitude with the sign that a product would have.
fn xorsign(a: f32, b: f32, magnitude: f32) -> f32 {
    let negative = a.is_sign_negative() != b.is_sign_negative();
    magnitude.copysign(if negative { -1.0 } else { 1.0 })
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
