//! `cvt`: conversion between types.
//!
//! The common pairs have vector loops; every other pair goes lane by lane through [`scalar`].
//!
//! Source: PTX ISA 9.0, section 9.7.9 "Data Movement and Conversion Instructions": cvt.

use super::super::ast::Type;
use super::super::exec::{Bits, Kind, Lane, Registers, flush, write};
use super::super::program::Micro;
use super::rounding::{Round, quiet, whole_to_odd};
use super::{Opcode, Rule, Slot, half, rule, short};
use crate::isa::{ArithClass, LaneMask, WARP};

const ROUNDINGS: [Round; 4] =
    [Round::NearestTiesToEven, Round::TowardZero, Round::TowardNegative, Round::TowardPositive];

fn rounding(word: &str) -> Option<Round> {
    Some(match word {
        "rn" | "rni" => Round::NearestTiesToEven,
        "rz" | "rzi" => Round::TowardZero,
        "rm" | "rmi" => Round::TowardNegative,
        "rp" | "rpi" => Round::TowardPositive,
        _ => return None,
    })
}

const TYPES: [Type; 12] = [
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S8,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F32,
    Type::F64,
    Type::F16,
    Type::Bf16,
];

/// A conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conversion {
    to: Type,
    from: Type,
    rounding: Round,
    /// Round to a whole number.
    whole: bool,
    saturate: bool,
    ftz: bool,
    wide_to: bool,
    wide_from: bool,
    /// Negative results become zero.
    relu: bool,
    /// Results past the range become the greatest finite number.
    finite: bool,
}

impl Conversion {
    fn encode(self) -> Option<u32> {
        let place = |ty| TYPES.iter().position(|known| *known == ty).map(|place| place as u32);
        let flags = [
            self.whole,
            self.saturate,
            self.ftz,
            self.wide_to,
            self.wide_from,
            self.relu,
            self.finite,
        ];
        let flags = flags.iter().enumerate().map(|(bit, set)| u32::from(*set) << bit).sum::<u32>();
        let rounding = ROUNDINGS.iter().position(|known| *known == self.rounding)? as u32;
        Some(place(self.to)? | place(self.from)? << 4 | rounding << 8 | flags << 16)
    }

    fn decode(code: u32) -> Conversion {
        let ty = |shift: u32| TYPES[(code >> shift & 15) as usize % TYPES.len()];
        let flag = |bit: u32| code >> (16 + bit) & 1 == 1;
        Conversion {
            to: ty(0),
            from: ty(4),
            rounding: ROUNDINGS[(code >> 8 & 3) as usize],
            whole: flag(0),
            saturate: flag(1),
            ftz: flag(2),
            wide_to: flag(3),
            wide_from: flag(4),
            relu: flag(5),
            finite: flag(6),
        }
    }
}

/// The rule for `cvt`; `wide` tells whether destination and source register have 64 bits.
pub fn select(opcode: &Opcode, wide: [bool; 2]) -> Option<Rule> {
    if opcode.key == "cvt.pack.sat" {
        return pack_whole(&opcode.types);
    }
    if let Some(rule) = short::select(opcode) {
        return Some(rule);
    }
    let [to, from] = opcode.types[..] else { return None };
    let ftz = opcode.ftz;
    let (mut round, mut whole, mut saturate) = (Round::NearestTiesToEven, false, false);
    let (mut relu, mut finite) = (false, false);
    for word in opcode.key.split('.').skip(1) {
        match word {
            "sat" => saturate = true,
            "relu" if to.half() => relu = true,
            "satfinite" if to.half() => finite = true,
            _ => round = rounding(word)?,
        }
        whole |= word.len() == 3 && word.ends_with('i');
    }
    let rounding = round;
    if let (Type::F16x2 | Type::Bf16x2, Type::F32) = (to, from) {
        let to = if to == Type::F16x2 { Type::F16 } else { Type::Bf16 };
        let (wide_to, wide_from) = (false, false);
        let each = Conversion {
            to,
            from,
            rounding,
            whole,
            saturate,
            ftz,
            wide_to,
            wide_from,
            relu,
            finite,
        };
        const SLOTS: &[Slot] =
            &[Slot::Dst(Kind::Narrow), Slot::Src(Kind::F32), Slot::Src(Kind::F32)];
        let (class, imm) = (ArithClass::FpAdd, each.encode()?);
        return (!whole).then_some(Rule { exec: two_by_two, class, slots: SLOTS, imm });
    }
    let natural = wide == [to.bytes() == 8, from.bytes() == 8];
    if natural
        && !saturate
        && !ftz
        && let Some(rule) = vector(to, from, rounding)
    {
        return Some(rule);
    }
    let [wide_to, wide_from] = wide;
    let conversion =
        Conversion { to, from, rounding, whole, saturate, ftz, wide_to, wide_from, relu, finite };
    let kind = |wide: bool, ty: Type| match (wide, ty) {
        (_, Type::F32) => Kind::F32,
        (_, Type::F64) => Kind::F64,
        (true, _) => Kind::Wide,
        (false, _) => Kind::Narrow,
    };
    // Floating-point values live in registers of just their size.
    if to.float() && wide_to != (to == Type::F64)
        || from.float() && wide_from != (from == Type::F64)
    {
        return None;
    }
    let slots: &'static [Slot] = match (kind(wide_to, to), kind(wide_from, from)) {
        (Kind::Wide | Kind::F64, Kind::F32) => &[Slot::Dst(Kind::Wide), Slot::Src(Kind::F32)],
        (Kind::Wide | Kind::F64, Kind::F64) => &[Slot::Dst(Kind::Wide), Slot::Src(Kind::F64)],
        (Kind::Wide | Kind::F64, Kind::Wide) => &[Slot::Dst(Kind::Wide), Slot::Src(Kind::Wide)],
        (Kind::Wide | Kind::F64, _) => &[Slot::Dst(Kind::Wide), Slot::Src(Kind::Narrow)],
        (_, Kind::F32) => &[Slot::Dst(Kind::Narrow), Slot::Src(Kind::F32)],
        (_, Kind::F64) => &[Slot::Dst(Kind::Narrow), Slot::Src(Kind::F64)],
        (_, Kind::Wide) => &[Slot::Dst(Kind::Narrow), Slot::Src(Kind::Wide)],
        _ => &[Slot::Dst(Kind::Narrow), Slot::Src(Kind::Narrow)],
    };
    let class = match (to, from) {
        (Type::F64, _) | (_, Type::F64) => ArithClass::DpAdd,
        _ if to.float() || from.float() => ArithClass::FpAdd,
        _ => ArithClass::IntAdd,
    };
    Some(Rule { exec: one_by_one, class, slots, imm: conversion.encode()? })
}

/// Pairs with a loop of their own; values narrower than a register come out extended.
fn vector(to: Type, from: Type, rounding: Round) -> Option<Rule> {
    use Type::*;
    Some(match (to, from) {
        (S64, S32) => rule!(IntAdd, i64 = |a: i32| a.into()),
        (U64, S32) => rule!(IntAdd, i64 = |a: i32| a.into()),
        (U64 | S64, U32) => rule!(IntAdd, u64 = |a: u32| a.into()),
        (U32 | S32, U64 | S64) => rule!(IntAdd, u32 = |a: u64| a as u32),
        (U32 | S32, S16) => rule!(IntAdd, i32 = |a: i16| a.into()),
        (U32 | S32, U16) => rule!(IntAdd, u32 = |a: u16| a.into()),
        (U32 | S32, S8) => rule!(IntAdd, i32 = |a: i8| a.into()),
        (U32 | S32, U8) => rule!(IntAdd, u32 = |a: u8| a.into()),
        (U16, U32 | S32) => rule!(IntAdd, u16 = |a: u32| a as u16),
        (S16, U32 | S32) => rule!(IntAdd, i16 = |a: u32| a as i16),
        (S16, S8) => rule!(IntAdd, i16 = |a: i8| a.into()),
        (U16 | S16, U8) => rule!(IntAdd, u16 = |a: u8| a.into()),
        (U8, U16 | S16 | U32 | S32) => rule!(IntAdd, u8 = |a: u32| a as u8),
        (S8, U16 | S16 | U32 | S32) => rule!(IntAdd, i8 = |a: u32| a as i8),
        (F64, F32) if rounding == Round::NearestTiesToEven => rule!(DpAdd, f64 = |a: f32| a.into()),
        (F32, F64) if rounding == Round::NearestTiesToEven => {
            rule!(DpAdd, u32 = |a: f64| shorten(a))
        }
        (F32, S32) if rounding == Round::NearestTiesToEven => rule!(FpAdd, f32 = |a: i32| a as f32),
        (F32, U32) if rounding == Round::NearestTiesToEven => rule!(FpAdd, f32 = |a: u32| a as f32),
        (S32, F32) if rounding == Round::TowardZero => rule!(FpAdd, i32 = |a: f32| a as i32),
        (U32, F32) if rounding == Round::TowardZero => rule!(FpAdd, u32 = |a: f32| a as u32),
        _ => return None,
    })
}

fn one_by_one(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let conversion = Conversion::decode(micro.imm);
    let out: [u64; WARP] = std::array::from_fn(|lane| {
        let bits = match conversion.wide_from {
            true => u64::row(regs, micro.ops[1])[lane],
            false => u64::from(u32::row(regs, micro.ops[1])[lane]),
        };
        scalar(conversion, bits)
    });
    if conversion.wide_to {
        write(u64::row_mut(regs, micro.ops[0]), mask, &out);
    } else {
        write(u32::row_mut(regs, micro.ops[0]), mask, &out.map(|value| value as u32));
    }
}

/// Converts the bits of one register to those of another.
fn scalar(conversion: Conversion, bits: u64) -> u64 {
    let Conversion { to, from, rounding, whole, saturate, ftz, .. } = conversion;
    if !from.float() {
        let value = extend(bits, from);
        return if to.float() {
            let value = match half::format(to) {
                Some(_) => whole_to_odd(value),
                None => from_whole(value, to, rounding),
            };
            float_bits(value, conversion)
        } else if saturate {
            let (least, most) = range(to);
            value.clamp(least, most) as u64
        } else {
            extend(value as u64, to) as u64
        };
    }
    let mut value = match from {
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        Type::F64 => f64::from_bits(bits),
        _ => half::format(from).map_or(0.0, |format| format.widen(bits as u16)),
    };
    if let Some(bits) = nan(conversion, value, extend(bits, from) as u64) {
        return bits;
    }
    if ftz && from == Type::F32 {
        value = f64::from(flush(value as f32));
    }
    if whole || !to.float() {
        value = match rounding {
            Round::NearestTiesToEven => value.round_ties_even(),
            Round::TowardZero => value.trunc(),
            Round::TowardNegative => value.floor(),
            _ => value.ceil(),
        };
    }
    if !to.float() {
        let (least, most) = range(to);
        // NaN gives 0, but the top bit alone where a side has 64 bits.
        if value.is_nan() && (from == Type::F64 || to.bytes() == 8) {
            return if least < 0 { least as u64 } else { (most as u64 >> 1) + 1 };
        }
        // Out of range clamps, as Rust's `as` does.
        return (value as i128).clamp(least, most) as u64;
    }
    if to == Type::F32 {
        value = f64::from(to_single(value, rounding));
        if ftz {
            value = f64::from(flush(value as f32));
        }
    }
    float_bits(value, conversion)
}

/// The bits that NaN becomes where chips keep its payload; elsewhere it becomes the one NaN of its type. PTX
/// leaves payloads open; these are an H200's.
fn nan(conversion: Conversion, value: f64, bits: u64) -> Option<u64> {
    let Conversion { to, from, whole, saturate, ftz, relu, .. } = conversion;
    if !value.is_nan() || saturate || relu {
        return None;
    }
    let payload = bits & ((1 << 52) - 1);
    // Sign and quiet bit stay; the payload is cut.
    let cut = |width: u32, places: u32| {
        let exponent = (1u64 << (width - 1)) - (1 << (places - 1));
        bits >> 63 << (width - 1) | exponent | payload >> (52 - places)
    };
    match (from, to) {
        (Type::F64, Type::F64) if whole => Some(quiet(value).to_bits()),
        (Type::F64, Type::F32) => Some(cut(32, 23)),
        (Type::F64, Type::F16) => Some(cut(16, 10)),
        (Type::F64, Type::Bf16) => Some(cut(16, 7)),
        (Type::F16, Type::F64) => Some(bits >> 15 << 63 | 0x7ff8 << 48 | (bits & 0x3ff) << 42),
        (Type::Bf16, Type::F64) => Some(bits >> 15 << 63 | 0x7ff8 << 48 | (bits & 0x7f) << 45),
        (Type::Bf16, Type::F32) => Some(bits << 16 & 0xffff_ffff),
        // 0x7fff_ffff, widened.
        (Type::F32, Type::F64) if ftz => Some(0x7fff_ffff_e000_0000),
        _ => None,
    }
}

/// Double to single precision, to nearest.
#[inline(always)]
fn shorten(value: f64) -> u32 {
    let bits = value.to_bits();
    // See `nan`.
    let nan = (bits >> 32) as u32 & 1 << 31 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x003f_ffff;
    if value.is_nan() { nan } else { (value as f32).to_bits() }
}

/// A whole number of `ty` from the low bits.
fn extend(bits: u64, ty: Type) -> i128 {
    let unused = 64 - 8 * ty.bytes();
    match ty.signed() {
        true => i128::from((bits << unused) as i64 >> unused),
        false => i128::from(bits << unused >> unused),
    }
}

fn range(ty: Type) -> (i128, i128) {
    let bits = 8 * ty.bytes();
    match ty.signed() {
        true => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

/// The nearest number in the direction of rounding, as a double.
fn from_whole(value: i128, to: Type, rounding: Round) -> f64 {
    // Each type's own nearest value: going through double precision would round twice.
    let single = to == Type::F32;
    let near = if single { f64::from(value as f32) } else { value as f64 };
    let error = (near as i128).cmp(&value);
    step(near, error, single, rounding)
}

fn to_single(value: f64, rounding: Round) -> f32 {
    let near = f64::from(value as f32);
    match near.partial_cmp(&value) {
        Some(error) => step(near, error, true, rounding) as f32,
        None => near as f32,
    }
}

/// Moves the nearest value one place when the direction of rounding asks for the other neighbour;
/// `error` tells how the nearest value compares with the exact one.
fn step(near: f64, error: std::cmp::Ordering, single: bool, rounding: Round) -> f64 {
    let above = error.is_gt();
    let (down, up) = match rounding {
        Round::NearestTiesToEven => (false, false),
        Round::TowardZero => (above && near > 0.0, error.is_lt() && near < 0.0),
        Round::TowardNegative => (above, false),
        _ => (false, error.is_lt()),
    };
    match (down, up, single) {
        (true, _, true) => f64::from((near as f32).next_down()),
        (_, true, true) => f64::from((near as f32).next_up()),
        (true, _, false) => near.next_down(),
        (_, true, false) => near.next_up(),
        _ => near,
    }
}

/// The bits of a value; to 16 bits it is rounded here, to single precision it has been.
fn float_bits(value: f64, conversion: Conversion) -> u64 {
    let Conversion { to, saturate, relu, finite, rounding, .. } = conversion;
    let mut value = match saturate {
        true if value.is_nan() => 0.0,
        // Also takes the sign from a zero.
        true => value.clamp(0.0, 1.0) + 0.0,
        false => value,
    };
    if relu {
        value = half::relu(value);
    }
    match (to, half::format(to)) {
        (_, Some(format)) => {
            if finite {
                value = value.clamp(-format.most(), format.most());
            }
            format.narrow(value, rounding).into()
        }
        (Type::F32, _) => u64::from(<f32 as Lane>::put(value as f32)),
        _ => value.to_bits(),
    }
}

/// Two single-precision numbers to a pair of half precision; the first becomes the upper half.
fn two_by_two(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let conversion = Conversion::decode(micro.imm);
    let [high, low] = [1, 2].map(|place: usize| u32::row(regs, micro.ops[place]));
    let part = |bits: u32| scalar(conversion, bits.into()) as u32;
    let out = std::array::from_fn(|lane| part(high[lane]) << 16 | part(low[lane]));
    write(u32::row_mut(regs, micro.ops[0]), mask, &out);
}

/// `cvt.pack`: two whole numbers, saturated, to one register; the first becomes the upper one. Bytes
/// come below the low half of a third operand.
fn pack_whole(types: &[Type]) -> Option<Rule> {
    use Type::{B32, S8, S16, S32, U8, U16};
    Some(match types {
        [U16, S32] => {
            rule!(IntAdd, u32 = |a: i32, b: i32| cut(a, U16) << 16 | cut(b, U16))
        }
        [S16, S32] => {
            rule!(IntAdd, u32 = |a: i32, b: i32| cut(a, S16) << 16 | cut(b, S16))
        }
        [U8, S32, B32] => {
            rule!(IntAdd, u32 = |a: i32, b: i32, c: u32| c << 16 | cut(a, U8) << 8 | cut(b, U8))
        }
        [S8, S32, B32] => {
            rule!(IntAdd, u32 = |a: i32, b: i32, c: u32| c << 16 | cut(a, S8) << 8 | cut(b, S8))
        }
        _ => return None,
    })
}

/// A number clamped to a type, in the bits of that type.
fn cut(value: i32, ty: Type) -> u32 {
    let (least, most) = range(ty);
    i128::from(value).clamp(least, most) as u32 & ((1 << (8 * ty.bytes())) - 1)
}
