//! Several integers in one register: pairs of 16 bits, and the SIMD video instructions, on which the
//! intrinsics `__vabsdiffu4` and `__vsadu4` rest.
//!
//! Source: PTX ISA 9.0, section 9.7.1 "Integer Arithmetic Instructions" (add, min, max) and section "SIMD
//! Video Instructions".

use super::super::ast::Type;
use super::super::exec::{Bits, Kind, Registers, write};
use super::super::program::Micro;
use super::{Opcode, Rule, Slot, rule};
use crate::isa::{ArithClass, LaneMask};

/// The rule of an instruction on pairs of 16 bits.
pub fn select(key: &str, ty: Type) -> Option<Rule> {
    Some(match (key, ty) {
        ("add", Type::U16x2 | Type::S16x2) => {
            rule!(IntAdd, u32 = |a: u32, b: u32| pairwise(a, b, i16::wrapping_add))
        }
        ("min", Type::U16x2) => {
            rule!(
                IntAdd,
                u32 = |a: u32, b: u32| pairwise(a, b, |a, b| { (a as u16).min(b as u16) as i16 })
            )
        }
        ("max", Type::U16x2) => {
            rule!(
                IntAdd,
                u32 = |a: u32, b: u32| pairwise(a, b, |a, b| { (a as u16).max(b as u16) as i16 })
            )
        }
        ("min", Type::S16x2) => {
            rule!(IntAdd, u32 = |a: u32, b: u32| pairwise(a, b, i16::min))
        }
        ("max", Type::S16x2) => {
            rule!(IntAdd, u32 = |a: u32, b: u32| pairwise(a, b, i16::max))
        }
        ("min.relu", Type::S16x2) => {
            rule!(IntAdd, u32 = |a: u32, b: u32| pairwise(a, b, |a, b| a.min(b).max(0)))
        }
        ("max.relu", Type::S16x2) => {
            rule!(IntAdd, u32 = |a: u32, b: u32| pairwise(a, b, |a, b| a.max(b).max(0)))
        }
        _ => return None,
    })
}

#[inline(always)]
fn pairwise(a: u32, b: u32, f: impl Fn(i16, i16) -> i16) -> u32 {
    let part = |shift: u32| u32::from(f((a >> shift) as i16, (b >> shift) as i16) as u16) << shift;
    part(0) | part(16)
}

/// What is done with the parts, in [`Micro::imm`] by place.
const OPERATIONS: [&str; 6] = ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"];
const OPERATION: u32 = 7;
/// Four bytes, not two halves.
const BYTES: u32 = 8;
/// Of the first and the second operand and the result: signed.
const SIGNED: [u32; 3] = [16, 32, 64];
/// Results are clamped.
const SATURATE: u32 = 128;
/// The results' sum is added to the third operand.
const SUM: u32 = 256;

/// The rule of a SIMD video instruction on all parts in their own order.
pub fn video(opcode: &Opcode) -> Option<Rule> {
    const NARROW: Slot = Slot::Src(Kind::Narrow);
    const SLOTS: &[Slot] = &[Slot::Dst(Kind::Narrow), NARROW, NARROW, NARROW];
    let (root, how) = opcode.key.split_once('.').unwrap_or((&opcode.key, ""));
    let (name, parts) = root.split_at_checked(root.len() - 1)?;
    let mut imm = OPERATIONS.iter().position(|known| *known == name)? as u32;
    imm |= match parts {
        "2" => 0,
        "4" => BYTES,
        _ => return None,
    };
    imm |= match how {
        "" => 0,
        "sat" => SATURATE,
        "add" => SUM,
        _ => return None,
    };
    let &[result, a, b] = &opcode.types[..] else { return None };
    for (ty, signed) in [a, b, result].into_iter().zip(SIGNED) {
        imm |= match ty {
            Type::U32 => 0,
            Type::S32 => signed,
            _ => return None,
        };
    }
    (!opcode.ftz).then_some(Rule { exec: simd, class: ArithClass::IntAdd, slots: SLOTS, imm })
}

fn simd(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let has = |flag: u32| micro.imm & flag != 0;
    let bits = if has(BYTES) { 8 } else { 16 };
    let ones = (1u32 << bits) - 1;
    let part = |value: u32, place: u32, signed: bool| {
        let top = value >> place << (32 - bits);
        if signed { top as i32 >> (32 - bits) } else { (top >> (32 - bits)) as i32 }
    };
    let (least, most) = match has(SIGNED[2]) {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, ones as i32),
    };
    let [a, b, c] = [1, 2, 3].map(|place: usize| u32::row(regs, micro.ops[place]));
    let out = std::array::from_fn(|lane| {
        let (mut merged, mut sum) = (0, c[lane]);
        for place in (0..32).step_by(bits as usize) {
            let x = part(a[lane], place, has(SIGNED[0]));
            let y = part(b[lane], place, has(SIGNED[1]));
            let result = match OPERATIONS[(micro.imm & OPERATION) as usize % OPERATIONS.len()] {
                "vadd" => x + y,
                "vsub" => x - y,
                // Halves go away from zero, and downwards below it.
                "vavrg" => (x + y + i32::from(x + y >= 0)) >> 1,
                "vabsdiff" => (x - y).abs(),
                "vmin" => x.min(y),
                _ => x.max(y),
            };
            sum = sum.wrapping_add(result as u32);
            let kept = if has(SATURATE) { result.clamp(least, most) } else { result };
            merged |= (kept as u32 & ones) << place;
        }
        if has(SUM) { sum } else { merged }
    });
    write(u32::row_mut(regs, micro.ops[0]), mask, &out);
}
