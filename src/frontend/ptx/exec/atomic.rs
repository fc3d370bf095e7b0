//! Atomic operations: lane after lane, lowest first.
//!
//! Source: PTX ISA 9.0, section 9.7.13 "atom".

use half::{bf16, f16};

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

/// Combines numbers with others that lie in as many bytes, as the L2 does for bulk copies: those keep subnormal numbers.
pub fn combine_all(op: AtomicOp, ty: Type, to: &mut [u8], from: &[u8]) {
    let size = ty.bytes() as usize;
    let number = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    for (to, from) in to.chunks_exact_mut(size).zip(from.chunks_exact(size)) {
        let (old, a) = (number(to), number(from));
        to.copy_from_slice(&combine((op, false), ty, old, a, a).to_le_bytes()[..size]);
    }
}

fn combine((op, flushes): (AtomicOp, bool), ty: Type, old: u64, a: u64, b: u64) -> u64 {
    match (op, ty) {
        (AtomicOp::Add, Type::F32) if flushes => sum::<Flushed>(old, a),
        (AtomicOp::Add, Type::F32) => sum::<f32>(old, a),
        (AtomicOp::Add, Type::F64) => double_sum(old, a),
        (AtomicOp::Add, Type::F16 | Type::F16x2) => in_halves(old, a, half_sum),
        (AtomicOp::Add, Type::Bf16 | Type::Bf16x2) => in_halves(old, a, brain_sum),
        (AtomicOp::Add, _) => old.wrapping_add(a),
        (AtomicOp::Min, Type::F16) => in_halves(old, a, |old, a| half_least(old, a, 1.0)),
        (AtomicOp::Max, Type::F16) => in_halves(old, a, |old, a| half_least(old, a, -1.0)),
        (AtomicOp::Min, Type::Bf16) => in_halves(old, a, |old, a| brain_least(old, a, 1.0)),
        (AtomicOp::Max, Type::Bf16) => in_halves(old, a, |old, a| brain_least(old, a, -1.0)),
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
            // Of a register, as many bits count as memory has.
            let unused = 64 - 8 * ty.bytes();
            if old == a << unused >> unused { b } else { old }
        }
    }
}

/// Two numbers of 16 bits, or the lower one alone.
fn in_halves(old: u64, a: u64, sum: fn(u16, u16) -> u16) -> u64 {
    let half = |shift: u32| u64::from(sum((old >> shift) as u16, (a >> shift) as u16)) << shift;
    half(0) | half(16)
}

/// What an H200 gives for what is no number of half precision.
const NO_NUMBER: u16 = 0x7fff;

// Single precision has twice the bits of half precision and two: to round the sum a second time makes no difference.

fn half_sum(old: u16, a: u16) -> u16 {
    let sum = f16::from_f32(f16::from_bits(old).to_f32() + f16::from_bits(a).to_f32());
    if sum.is_nan() { NO_NUMBER } else { sum.to_bits() }
}

fn brain_sum(old: u16, a: u16) -> u16 {
    let sum = bf16::from_f32(bf16::from_bits(old).to_f32() + bf16::from_bits(a).to_f32());
    if sum.is_nan() { NO_NUMBER } else { sum.to_bits() }
}

/// As an H200 has it, an operand that is no number is the sum, as it is: the one that comes before the one that is there. Hosts differ in
/// that.
fn double_sum(old: u64, a: u64) -> u64 {
    const MADE: u64 = 0xfff8 << 48;
    let operands = [a, old].map(f64::from_bits);
    let sum = operands[0] + operands[1];
    match operands.iter().position(|operand| operand.is_nan()) {
        Some(place) => [a, old][place],
        None if sum.is_nan() => MADE,
        None => sum.to_bits(),
    }
}

/// The lesser of two numbers, or with a sign of -1 the greater one; -0 is less than 0, and what is no number does not count.
fn half_least(old: u16, a: u16, sign: f32) -> u16 {
    least([old, a], sign, |bits| f16::from_bits(bits).to_f32())
}

fn brain_least(old: u16, a: u16, sign: f32) -> u16 {
    least([old, a], sign, |bits| bf16::from_bits(bits).to_f32())
}

fn least([old, a]: [u16; 2], sign: f32, value: fn(u16) -> f32) -> u16 {
    let [of_old, of_a] = [old, a].map(|bits| sign * value(bits));
    match (of_old.is_nan(), of_a.is_nan()) {
        (true, true) => NO_NUMBER,
        (false, true) => old,
        (true, false) => a,
        (false, false) if of_a.total_cmp(&of_old).is_lt() => a,
        (false, false) => old,
    }
}

fn sum<L: Lane<Value = f32, Row = u32>>(old: u64, a: u64) -> u64 {
    u64::from(L::put(L::get(old as u32) + L::get(a as u32)))
}
