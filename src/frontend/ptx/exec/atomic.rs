//! Atomic operations: lane after lane, lowest first.
//!
//! Source: PTX ISA 9.0, section 9.7.13 "atom".

use super::super::ast::Type;
use super::super::ops::half;
use super::super::ops::rounding::Invalid;
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
        let old = number(place);
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
    for (to, from) in to.chunks_exact_mut(size).zip(from.chunks_exact(size)) {
        let (old, a) = (number(to), number(from));
        to.copy_from_slice(&combine((op, false), ty, old, a, a).to_le_bytes()[..size]);
    }
}

/// The bits of a number of up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn combine((op, flushes): (AtomicOp, bool), ty: Type, old: u64, a: u64, b: u64) -> u64 {
    match (op, ty) {
        (AtomicOp::Add, Type::F32) if flushes => sum::<Flushed>(old, a),
        (AtomicOp::Add, Type::F32) => sum::<f32>(old, a),
        (AtomicOp::Add, Type::F64) => double_sum(old, a),
        (AtomicOp::Add, Type::F16 | Type::F16x2) => in_halves::<false>(old, a, |old, a| old + a),
        (AtomicOp::Add, Type::Bf16 | Type::Bf16x2) => in_halves::<true>(old, a, |old, a| old + a),
        (AtomicOp::Add, _) => old.wrapping_add(a),
        (AtomicOp::Min, Type::F16) => in_halves::<false>(old, a, half::least),
        (AtomicOp::Max, Type::F16) => in_halves::<false>(old, a, half::most),
        (AtomicOp::Min, Type::Bf16) => in_halves::<true>(old, a, half::least),
        (AtomicOp::Max, Type::Bf16) => in_halves::<true>(old, a, half::most),
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

/// Two numbers of half precision, `.bf16` or not, or the lower one alone.
fn in_halves<const BRAIN: bool>(old: u64, a: u64, f: fn(f64, f64) -> f64) -> u64 {
    type Pair<const BRAIN: bool> = half::Pair<BRAIN, false>;
    let [old, a] = [old, a].map(|pair| Pair::<BRAIN>::get(pair as u32));
    Pair::<BRAIN>::put([f(old[0], a[0]), f(old[1], a[1])]).into()
}

/// As an H200 has it, an operand that is no number is the sum, as it is: the one that comes before the one that is there. Hosts differ in
/// that.
fn double_sum(old: u64, a: u64) -> u64 {
    match [a, old].into_iter().find(|bits| f64::from_bits(*bits).is_nan()) {
        Some(nan) => nan,
        None => (f64::from_bits(old) + f64::from_bits(a)).or_nan_of([]).to_bits(),
    }
}

fn sum<L: Lane<Value = f32, Row = u32>>(old: u64, a: u64) -> u64 {
    u64::from(L::put(L::get(old as u32) + L::get(a as u32)))
}
