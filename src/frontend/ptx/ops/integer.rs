//! Integer arithmetic, shifts, bit fields, moves.
//!
//! Source: PTX ISA 9.0, sections 9.7.1 "Integer Arithmetic Instructions" and 9.7.8 "Logic and Shift
//! Instructions".

use super::super::ast::Type;
use super::super::exec::{CONST_WINDOW, LOCAL_WINDOW, SHARED_WINDOW};
use super::{Opcode, Rule, bits, rule};

/// The lines that hold for every integer type `$t`, with its unsigned and doubled relatives.
macro_rules! table {
    ($key:expr, $t:ty, $unsigned:ty, $double:ty) => {
        match $key {
            "mov" => rule!(Move, $unsigned = |a: $unsigned| a),
            "add" => rule!(IntAdd, $t = |a: $t, b: $t| a.wrapping_add(b)),
            "sub" => rule!(IntAdd, $t = |a: $t, b: $t| a.wrapping_sub(b)),
            "add.sat" => rule!(IntAdd, $t = |a: $t, b: $t| a.saturating_add(b)),
            "sub.sat" => rule!(IntAdd, $t = |a: $t, b: $t| a.saturating_sub(b)),
            "mul.lo" => rule!(IntMul, $t = |a: $t, b: $t| a.wrapping_mul(b)),
            "mul.hi" => {
                rule!(IntMul, $t = |a: $t, b: $t| high::<$double>(a.into(), b.into()) as $t)
            }
            "mad.lo" => {
                rule!(IntMad, $t = |a: $t, b: $t, c: $t| a.wrapping_mul(b).wrapping_add(c))
            }
            "mad.hi" => rule!(
                IntMad,
                $t = |a: $t, b: $t, c: $t| (high::<$double>(a.into(), b.into()) as $t)
                    .wrapping_add(c)
            ),
            // Division by zero gives all ones and its remainder the dividend, as the chips do; PTX
            // leaves both open.
            "div" => rule!(IntDiv, $t = |a: $t, b: $t| if b == 0 { !0 } else { a.wrapping_div(b) }),
            "rem" => rule!(IntDiv, $t = |a: $t, b: $t| if b == 0 { a } else { a.wrapping_rem(b) }),
            "min" => rule!(IntAdd, $t = |a: $t, b: $t| a.min(b)),
            "max" => rule!(IntAdd, $t = |a: $t, b: $t| a.max(b)),
            "neg" => rule!(IntAdd, $t = |a: $t| a.wrapping_neg()),
            "abs" => rule!(IntAdd, $t = |a: $t| Magnitude::of(a)),
            "sad" => rule!(
                IntAdd,
                $t = |a: $t, b: $t, c: $t| c.wrapping_add(a.max(b).wrapping_sub(a.min(b)))
            ),
            "and" => rule!(IntAdd, $unsigned = |a: $unsigned, b: $unsigned| a & b),
            "or" => rule!(IntAdd, $unsigned = |a: $unsigned, b: $unsigned| a | b),
            "xor" => rule!(IntAdd, $unsigned = |a: $unsigned, b: $unsigned| a ^ b),
            "not" => rule!(IntAdd, $unsigned = |a: $unsigned| !a),
            "cnot" => rule!(IntAdd, $unsigned = |a: $unsigned| (a == 0).into()),
            // Shifts by the width or more give zero, or copies of the sign.
            "shl" => rule!(
                IntAdd,
                $unsigned = |a: $unsigned, n: u32| if n < <$t>::BITS { a << n } else { 0 }
            ),
            "shr" => rule!(
                IntAdd,
                $t = |a: $t, n: u32| a.checked_shr(n).unwrap_or(a >> (<$t>::BITS - 1) >> 1)
            ),
            "popc" => rule!(IntAdd, u32 = |a: $unsigned| a.count_ones()),
            "clz" => rule!(IntAdd, u32 = |a: $unsigned| a.leading_zeros()),
            "brev" => rule!(IntAdd, $unsigned = |a: $unsigned| a.reverse_bits()),
            "bfind" => rule!(IntAdd, u32 = |a: $t| leading_bit(a.into(), <$t>::BITS)),
            // The shift that brings the leading bit to the top.
            "bfind.shiftamt" => rule!(
                IntAdd,
                u32 = |a: $t| match leading_bit(a.into(), <$t>::BITS) {
                    place if place < <$t>::BITS => <$t>::BITS - 1 - place,
                    none => none,
                }
            ),
            "bfe" => rule!(
                IntAdd,
                $t = |a: $t, start: u32, length: u32| extract(
                    a.into(),
                    start,
                    length,
                    <$t>::BITS,
                    <$t>::MIN != 0
                ) as $t
            ),
            "bfi" => rule!(
                IntAdd,
                $unsigned = |a: $unsigned, b: $unsigned, start: u32, length: u32| {
                    let field = field(start, length, <$t>::BITS) as $unsigned;
                    // Where the shift would wrap, the field is empty.
                    let moved = a.wrapping_shl(extent(start, <$t>::BITS));
                    b & !field | moved & field
                }
            ),
            _ => return None,
        }
    };
}

/// The rule for an integer instruction.
pub fn select(opcode: &Opcode) -> Option<Rule> {
    let key = opcode.key.as_str();
    let ty = opcode.ty()?;
    // Lines for one type only.
    let single = match (key, ty) {
        ("mul.wide", Type::U16) => {
            rule!(IntMul, u32 = |a: u16, b: u16| u32::from(a) * u32::from(b))
        }
        ("mul.wide", Type::S16) => {
            rule!(IntMul, i32 = |a: i16, b: i16| i32::from(a) * i32::from(b))
        }
        ("mul.wide", Type::U32) => {
            rule!(IntMul, u64 = |a: u32, b: u32| u64::from(a) * u64::from(b))
        }
        ("mul.wide", Type::S32) => {
            rule!(IntMul, i64 = |a: i32, b: i32| i64::from(a) * i64::from(b))
        }
        ("mad.wide", Type::U16) => rule!(
            IntMad,
            u32 = |a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c)
        ),
        ("mad.wide", Type::S16) => rule!(
            IntMad,
            i32 = |a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c)
        ),
        ("mad.wide", Type::U32) => rule!(
            IntMad,
            u64 = |a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c)
        ),
        ("mad.wide", Type::S32) => rule!(
            IntMad,
            i64 = |a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c)
        ),
        ("mul24.lo", Type::U32) => {
            rule!(IntMul, u32 = |a: u32, b: u32| (a << 8 >> 8).wrapping_mul(b << 8 >> 8))
        }
        ("mul24.lo", Type::S32) => {
            rule!(IntMul, i32 = |a: i32, b: i32| (a << 8 >> 8).wrapping_mul(b << 8 >> 8))
        }
        ("mul24.hi", Type::U32) => rule!(IntMul, u32 = |a: u32, b: u32| product24(a, b, 0)),
        ("mul24.hi", Type::S32) => rule!(IntMul, i32 = |a: i32, b: i32| signed24(a, b) as i32),
        ("mad24.lo", Type::U32) => rule!(
            IntMad,
            u32 = |a: u32, b: u32, c: u32| (a << 8 >> 8).wrapping_mul(b << 8 >> 8).wrapping_add(c)
        ),
        ("mad24.lo", Type::S32) => rule!(
            IntMad,
            i32 = |a: i32, b: i32, c: i32| (a << 8 >> 8).wrapping_mul(b << 8 >> 8).wrapping_add(c)
        ),
        ("mad24.hi", Type::U32) => {
            rule!(IntMad, u32 = |a: u32, b: u32, c: u32| product24(a, b, c))
        }
        ("mad24.hi", Type::S32) => {
            rule!(IntMad, i32 = |a: i32, b: i32, c: i32| (signed24(a, b) as i32).wrapping_add(c))
        }
        ("mad24.hi.sat", Type::S32) => {
            rule!(IntMad, i32 = |a: i32, b: i32, c: i32| (signed24(a, b) as i32).saturating_add(c))
        }
        ("mad.hi.sat", Type::S32) => rule!(
            IntMad,
            i32 =
                |a: i32, b: i32, c: i32| (high::<i64>(a.into(), b.into()) as i32).saturating_add(c)
        ),
        ("min.relu", Type::S32) => rule!(IntAdd, i32 = |a: i32, b: i32| a.min(b).max(0)),
        ("max.relu", Type::S32) => rule!(IntAdd, i32 = |a: i32, b: i32| a.max(b).max(0)),
        ("shf.l.wrap", Type::B32) => {
            rule!(IntAdd, u32 = |a: u32, b: u32, n: u32| (join(a, b) << (n & 31) >> 32) as u32)
        }
        ("shf.l.clamp", Type::B32) => {
            rule!(IntAdd, u32 = |a: u32, b: u32, n: u32| (join(a, b) << n.min(32) >> 32) as u32)
        }
        ("shf.r.wrap", Type::B32) => {
            rule!(IntAdd, u32 = |a: u32, b: u32, n: u32| (join(a, b) >> (n & 31)) as u32)
        }
        ("shf.r.clamp", Type::B32) => {
            rule!(IntAdd, u32 = |a: u32, b: u32, n: u32| (join(a, b) >> n.min(32)) as u32)
        }
        // Only shared and local memory have generic addresses of their own.
        (
            "cvta.to.global" | "cvta.global" | "cvta.to.const" | "cvta.const" | "cvta.to.param",
            Type::U64,
        ) => {
            rule!(Move, u64 = |a: u64| a)
        }
        // A parameter of the kernel lies in constant memory, one of a function in its frame.
        ("cvta.param", Type::U64) => {
            rule!(IntAdd, u64 = |a: u64| if a < CONST_WINDOW { a + LOCAL_WINDOW } else { a })
        }
        ("cvta.shared", Type::U64) => rule!(IntAdd, u64 = |a: u64| a.wrapping_add(SHARED_WINDOW)),
        ("cvta.to.shared", Type::U64) => {
            rule!(IntAdd, u64 = |a: u64| a.wrapping_sub(SHARED_WINDOW))
        }
        ("cvta.local", Type::U64) => rule!(IntAdd, u64 = |a: u64| a.wrapping_add(LOCAL_WINDOW)),
        ("cvta.to.local", Type::U64) => {
            rule!(IntAdd, u64 = |a: u64| a.wrapping_sub(LOCAL_WINDOW))
        }
        _ => return bits::select(key, ty).or_else(|| every(key, ty)),
    };
    Some(single)
}

fn every(key: &str, ty: Type) -> Option<Rule> {
    Some(match ty {
        Type::U16 | Type::B16 => table!(key, u16, u16, u32),
        Type::S16 => table!(key, i16, u16, i32),
        Type::U32 | Type::B32 => table!(key, u32, u32, u64),
        Type::S32 => table!(key, i32, u32, i64),
        Type::U64 | Type::B64 => table!(key, u64, u64, u128),
        Type::S64 => table!(key, i64, u64, i128),
        _ => return None,
    })
}

/// Twice-as-wide integers.
trait Double: Copy {
    fn high_half(self, other: Self) -> Self;
}

macro_rules! doubles {
    ($($ty:ident),*) => {$(
        impl Double for $ty {
            #[inline(always)]
            fn high_half(self, other: $ty) -> $ty {
                self.wrapping_mul(other) >> ($ty::BITS / 2)
            }
        }
    )*};
}

doubles!(u32, i32, u64, i64, u128, i128);

/// The upper half of a product.
#[inline(always)]
fn high<D: Double>(a: D, b: D) -> D {
    a.high_half(b)
}

/// Bits 16 to 47 of the product of two numbers of 24 bits, plus a number.
#[inline(always)]
fn product24(a: u32, b: u32, c: u32) -> u32 {
    let product = u64::from(a << 8 >> 8) * u64::from(b << 8 >> 8);
    ((product >> 16) as u32).wrapping_add(c)
}

/// Bits 16 to 47 of the product of two signed numbers of 24 bits, and its sign.
#[inline(always)]
fn signed24(a: i32, b: i32) -> i64 {
    (i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 16
}

/// Absolute value; the least number is its own.
trait Magnitude {
    fn of(self) -> Self;
}

macro_rules! magnitudes {
    ($($ty:ident: $method:ident),*) => {$(
        impl Magnitude for $ty {
            #[inline(always)]
            fn of(self) -> $ty {
                self.$method()
            }
        }
    )*};
}

magnitudes!(i16: wrapping_abs, i32: wrapping_abs, i64: wrapping_abs);
magnitudes!(u16: to_owned, u32: to_owned, u64: to_owned);

/// Position of the leading one, or of the leading bit unlike the sign; all ones when there is none.
fn leading_bit(value: i128, bits: u32) -> u32 {
    let value = if value < 0 { !value } else { value } as u128;
    let found = 127 - (value | 1).leading_zeros();
    if value == 0 || found >= bits { !0 } else { found }
}

/// Place or length of a bit field. PTX restricts it to 255; of greater ones, chips see the low byte in
/// numbers of 32 bits and all in longer ones.
#[inline(always)]
fn extent(value: u32, bits: u32) -> u32 {
    if bits > 32 { value.min(255) } else { value & 255 }
}

/// The mask of a bit field in a number of `bits` bits.
#[inline(always)]
fn field(start: u32, length: u32, bits: u32) -> u64 {
    let (start, length) = (extent(start, bits), extent(length, bits));
    if start >= bits || length == 0 {
        return 0;
    }
    let ones = if length >= 64 { !0 } else { (1u64 << length) - 1 };
    ones << start
}

/// A bit field; bits past the end of a signed number are copies of its sign.
fn extract(value: i128, start: u32, length: u32, bits: u32, signed: bool) -> i128 {
    let (start, length) = (extent(start, bits), extent(length, bits));
    if length == 0 {
        return 0;
    }
    let shifted = value >> start.min(127);
    if length >= bits {
        return shifted;
    }
    let low = shifted & ((1 << length) - 1);
    if signed && low >> (length - 1) != 0 { low - (1 << length) } else { low }
}

#[inline(always)]
fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
