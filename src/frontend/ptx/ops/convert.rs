//! `cvt`: conversion between types.
//!
//! The common pairs have vector loops; every other pair goes lane by lane through [`scalar`].
//!
//! Source: PTX ISA 9.0, section 9.7.9 "Data Movement and Conversion Instructions": cvt.

use super::super::ast::Type;
use super::super::exec::{Bits, Kind, Lane, Registers, flush, write};
use super::super::program::Micro;
use super::{Opcode, Rule, Slot, rule};
use crate::isa::{ArithClass, LaneMask, WARP};

/// The direction of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

const ROUNDINGS: [Rounding; 4] = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];

const TYPES: [Type; 10] = [
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
];

/// A conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conversion {
    to: Type,
    from: Type,
    rounding: Rounding,
    /// Round to a whole number.
    whole: bool,
    saturate: bool,
    ftz: bool,
    wide_to: bool,
    wide_from: bool,
}

impl Conversion {
    fn encode(self) -> Option<u32> {
        let place = |ty| TYPES.iter().position(|known| *known == ty).map(|place| place as u32);
        let flags = [self.whole, self.saturate, self.ftz, self.wide_to, self.wide_from];
        let flags = flags.iter().enumerate().map(|(bit, set)| u32::from(*set) << bit).sum::<u32>();
        Some(place(self.to)? | place(self.from)? << 4 | (self.rounding as u32) << 8 | flags << 16)
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
        }
    }
}

/// The rule for `cvt`; `wide` tells whether destination and source register have 64 bits.
pub fn select(opcode: &Opcode, wide: [bool; 2]) -> Option<Rule> {
    let [to, from] = opcode.types[..] else { return None };
    let ftz = opcode.ftz;
    let (mut rounding, mut whole, mut saturate) = (Rounding::Nearest, false, false);
    for word in opcode.key.split('.').skip(1) {
        match word {
            "rn" | "rni" => rounding = Rounding::Nearest,
            "rz" | "rzi" => rounding = Rounding::Zero,
            "rm" | "rmi" => rounding = Rounding::Down,
            "rp" | "rpi" => rounding = Rounding::Up,
            "sat" => saturate = true,
            _ => return None,
        }
        whole |= word.ends_with('i');
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
    let conversion = Conversion { to, from, rounding, whole, saturate, ftz, wide_to, wide_from };
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
        (Type::F32, _) | (_, Type::F32) => ArithClass::FpAdd,
        _ => ArithClass::IntAdd,
    };
    Some(Rule { exec: one_by_one, class, slots, imm: conversion.encode()? })
}

/// Pairs with a loop of their own; values narrower than a register come out extended.
fn vector(to: Type, from: Type, rounding: Rounding) -> Option<Rule> {
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
        (F64, F32) if rounding == Rounding::Nearest => rule!(DpAdd, f64 = |a: f32| a.into()),
        (F32, F64) if rounding == Rounding::Nearest => rule!(DpAdd, f32 = |a: f64| a as f32),
        (F32, S32) if rounding == Rounding::Nearest => rule!(FpAdd, f32 = |a: i32| a as f32),
        (F32, U32) if rounding == Rounding::Nearest => rule!(FpAdd, f32 = |a: u32| a as f32),
        (S32, F32) if rounding == Rounding::Zero => rule!(FpAdd, i32 = |a: f32| a as i32),
        (U32, F32) if rounding == Rounding::Zero => rule!(FpAdd, u32 = |a: f32| a as u32),
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
            float_bits(from_whole(value, to, rounding), to, saturate)
        } else if saturate {
            let (least, most) = range(to);
            value.clamp(least, most) as u64
        } else {
            extend(value as u64, to) as u64
        };
    }
    let mut value = match from {
        Type::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    };
    if ftz && from == Type::F32 {
        value = f64::from(flush(value as f32));
    }
    if whole || !to.float() {
        value = match rounding {
            Rounding::Nearest => value.round_ties_even(),
            Rounding::Zero => value.trunc(),
            Rounding::Down => value.floor(),
            Rounding::Up => value.ceil(),
        };
    }
    if !to.float() {
        // Out of range clamps and NaN gives 0, as Rust's `as` does.
        let (least, most) = range(to);
        return (value as i128).clamp(least, most) as u64;
    }
    if to == Type::F32 {
        value = f64::from(to_single(value, rounding));
        if ftz {
            value = f64::from(flush(value as f32));
        }
    }
    float_bits(value, to, saturate)
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
fn from_whole(value: i128, to: Type, rounding: Rounding) -> f64 {
    // Each type's own nearest value: going through double precision would round twice.
    let single = to == Type::F32;
    let near = if single { f64::from(value as f32) } else { value as f64 };
    let error = (near as i128).cmp(&value);
    step(near, error, single, rounding)
}

fn to_single(value: f64, rounding: Rounding) -> f32 {
    let near = f64::from(value as f32);
    match near.partial_cmp(&value) {
        Some(error) => step(near, error, true, rounding) as f32,
        None => near as f32,
    }
}

/// Moves the nearest value one place when the direction of rounding asks for the other neighbour;
/// `error` tells how the nearest value compares with the exact one.
fn step(near: f64, error: std::cmp::Ordering, single: bool, rounding: Rounding) -> f64 {
    let above = error.is_gt();
    let (down, up) = match rounding {
        Rounding::Nearest => (false, false),
        Rounding::Zero => (above && near > 0.0, error.is_lt() && near < 0.0),
        Rounding::Down => (above, false),
        Rounding::Up => (false, error.is_lt()),
    };
    match (down, up, single) {
        (true, _, true) => f64::from((near as f32).next_down()),
        (_, true, true) => f64::from((near as f32).next_up()),
        (true, _, false) => near.next_down(),
        (_, true, false) => near.next_up(),
        _ => near,
    }
}

fn float_bits(value: f64, to: Type, saturate: bool) -> u64 {
    let value = match saturate {
        true if value.is_nan() => 0.0,
        true => value.clamp(0.0, 1.0),
        false => value,
    };
    match to {
        Type::F32 => u64::from(<f32 as Lane>::put(value as f32)),
        _ => value.to_bits(),
    }
}
