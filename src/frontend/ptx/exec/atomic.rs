//! Atomic operations: lane after lane, lowest first.
//!
//! Source: PTX ISA 9.0, section 9.7.13 "atom".

use super::super::ast::Type;
use super::super::program::{Access, AtomicOp};
use super::copy::Places;
use super::registers::{Flushed, Lane, Registers};
use crate::isa::{LaneMask, lanes};

/// Updates memory for the lanes of `mask`; each gets the value that it found. Sums of single precision may flush subnormal numbers
/// to zero, which the ones in global memory do and those in shared memory do not.
pub fn execute(
    (op, flushes): (AtomicOp, bool),
    block: &mut [u8],
    places: &Places,
    mask: LaneMask,
    access: &Access,
    regs: &mut Registers,
) {
    let size = access.ty.bytes() as usize;
    let [result, first, second, _] = access.regs.map(usize::from);
    let wide = access.wide != 0;
    for lane in lanes(mask) {
        let operand = |row: usize| match wide {
            true => regs.wide[row][lane],
            false => u64::from(regs.narrow[row][lane]),
        };
        let (a, b) = (operand(first), operand(if op == AtomicOp::Cas { second } else { first }));
        let place = &mut block[places.of(lane)..][..size];
        let mut word = [0; 8];
        word[..size].copy_from_slice(place);
        let old = u64::from_le_bytes(word);
        let new = combine((op, flushes), access.ty, old, a, b);
        place.copy_from_slice(&new.to_le_bytes()[..size]);
        match wide {
            true => regs.wide[result][lane] = old,
            false => regs.narrow[result][lane] = old as u32,
        }
    }
}

fn combine((op, flushes): (AtomicOp, bool), ty: Type, old: u64, a: u64, b: u64) -> u64 {
    match (op, ty) {
        (AtomicOp::Add, Type::F32) if flushes => sum::<Flushed>(old, a),
        (AtomicOp::Add, Type::F32) => sum::<f32>(old, a),
        (AtomicOp::Add, Type::F64) => (f64::from_bits(old) + f64::from_bits(a)).to_bits(),
        (AtomicOp::Add, _) => old.wrapping_add(a),
        (AtomicOp::Min, Type::S32) => (old as i32).min(a as i32) as u64,
        (AtomicOp::Min, Type::S64) => (old as i64).min(a as i64) as u64,
        (AtomicOp::Min, _) => old.min(a),
        (AtomicOp::Max, Type::S32) => (old as i32).max(a as i32) as u64,
        (AtomicOp::Max, Type::S64) => (old as i64).max(a as i64) as u64,
        (AtomicOp::Max, _) => old.max(a),
        (AtomicOp::And, _) => old & a,
        (AtomicOp::Or, _) => old | a,
        (AtomicOp::Xor, _) => old ^ a,
        (AtomicOp::Inc, _) => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        (AtomicOp::Dec, _) => {
            if old == 0 || old > a {
                a
            } else {
                old - 1
            }
        }
        (AtomicOp::Exch, _) => a,
        (AtomicOp::Cas, _) => {
            if old == a {
                b
            } else {
                old
            }
        }
    }
}

fn sum<L: Lane<Value = f32, Row = u32>>(old: u64, a: u64) -> u64 {
    u64::from(L::put(L::get(old as u32) + L::get(a as u32)))
}
