//! Integer instructions on bytes and bits that PTX defines by a program, and dot products.
//!
//! Source: PTX ISA 9.0, section 9.7.1 "Integer Arithmetic Instructions" (dp4a, dp2a, bmsk, szext, fns)
//! and sections "lop3" and "prmt".

use super::super::ast::Type;
use super::super::exec::{Bits, Kind, Registers, pack, write};
use super::super::program::{INVERT, Micro};
use super::{Opcode, Rule, Slot, rule};
use crate::isa::{ArithClass, LaneMask, WARP};

const NARROW: Slot = Slot::Src(Kind::Narrow);
const DOT: &[Slot] = &[Slot::Dst(Kind::Narrow), NARROW, NARROW, NARROW];
const LOGIC: &[Slot] = &[
    Slot::Dst(Kind::Narrow),
    Slot::SecondPred,
    NARROW,
    NARROW,
    NARROW,
    NARROW,
    Slot::Src(Kind::Pred),
];

/// `dp2a`: two halves of the first operand.
const HALVES: u32 = 1;
/// `dp2a.hi`: the upper bytes of the second operand.
const UPPER: u32 = 2;
/// The first operand is signed.
const SIGNED_A: u32 = 4;
/// The second operand is signed.
const SIGNED_B: u32 = 8;

/// The rule of `dp4a` and `dp2a`.
pub fn dot(opcode: &Opcode) -> Option<Rule> {
    let form = match opcode.key.as_str() {
        "dp4a" => 0,
        "dp2a.lo" => HALVES,
        "dp2a.hi" => HALVES | UPPER,
        _ => return None,
    };
    let sign = |ty: Type, flag: u32| match ty {
        Type::U32 => Some(0),
        Type::S32 => Some(flag),
        _ => None,
    };
    let [a, b] = opcode.types[..] else { return None };
    let imm = form | sign(a, SIGNED_A)? | sign(b, SIGNED_B)?;
    Some(Rule { exec: dot_product, class: ArithClass::IntMad, slots: DOT, imm })
}

fn dot_product(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let [a, b, c] = [1, 2, 3].map(|place: usize| u32::row(regs, micro.ops[place]));
    let has = |flag: u32| micro.imm & flag != 0;
    let (bits, terms) = if has(HALVES) { (16, 2) } else { (8, 4) };
    let first = if has(UPPER) { 16 } else { 0 };
    let part = |value: u32, place: u32, bits: u32, signed: bool| {
        let top = value >> place << (32 - bits);
        if signed { (top as i32 >> (32 - bits)) as u32 } else { top >> (32 - bits) }
    };
    let out = std::array::from_fn(|lane| {
        let product = |term: u32| {
            let left = part(a[lane], term * bits, bits, has(SIGNED_A));
            left.wrapping_mul(part(b[lane], first + term * 8, 8, has(SIGNED_B)))
        };
        (0..terms).fold(c[lane], |sum, term| sum.wrapping_add(product(term)))
    });
    write(u32::row_mut(regs, micro.ops[0]), mask, &out);
}

/// A mode of `prmt`: the two low bits of the last operand choose one of four selectors.
macro_rules! permute_by {
    ($($selector:literal),*) => {
        rule!(IntAdd, u32 = |a: u32, b: u32, c: u32| permute(a, b, [$($selector),*][c as usize & 3]))
    };
}

/// The rule of an instruction on 32 bits.
pub fn select(key: &str, ty: Type) -> Option<Rule> {
    Some(match (key, ty) {
        ("lop3", Type::B32) => {
            rule!(IntAdd, u32 = |a: u32, b: u32, c: u32, table: u32| lop3(a, b, c, table))
        }
        ("lop3.or", Type::B32) => logic::<false>(),
        ("lop3.and", Type::B32) => logic::<true>(),
        ("prmt", Type::B32) => {
            rule!(IntAdd, u32 = |a: u32, b: u32, selector: u32| permute(a, b, selector))
        }
        ("prmt.f4e", Type::B32) => permute_by!(0x3210, 0x4321, 0x5432, 0x6543),
        ("prmt.b4e", Type::B32) => permute_by!(0x5670, 0x6701, 0x7012, 0x0123),
        ("prmt.rc8", Type::B32) => permute_by!(0x0000, 0x1111, 0x2222, 0x3333),
        ("prmt.ecl", Type::B32) => permute_by!(0x3210, 0x3211, 0x3222, 0x3333),
        ("prmt.ecr", Type::B32) => permute_by!(0x0000, 0x1110, 0x2210, 0x3210),
        ("prmt.rc16", Type::B32) => permute_by!(0x1010, 0x3232, 0x1010, 0x3232),
        ("bmsk.clamp", Type::B32) => {
            rule!(IntAdd, u32 = |start: u32, length: u32| ones(start, length))
        }
        ("bmsk.wrap", Type::B32) => {
            rule!(IntAdd, u32 = |start: u32, length: u32| ones(start & 31, length & 31))
        }
        ("szext.clamp", Type::U32) => rule!(IntAdd, u32 = |a: u32, n: u32| a & ones(0, n)),
        ("szext.wrap", Type::U32) => rule!(IntAdd, u32 = |a: u32, n: u32| a & ones(0, n & 31)),
        ("szext.clamp", Type::S32) => rule!(IntAdd, i32 = |a: i32, n: u32| sign_extend(a, n)),
        ("szext.wrap", Type::S32) => rule!(IntAdd, i32 = |a: i32, n: u32| sign_extend(a, n & 31)),
        ("fns", Type::B32) => {
            rule!(IntAdd, u32 = |bits: u32, base: u32, n: i32| nth_set(bits, base, n))
        }
        _ => return None,
    })
}

/// Any function of three bits, given by its truth table.
#[inline(always)]
fn lop3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let mut out = 0;
    for row in 0..8 {
        let chosen = 0u32.wrapping_sub(table >> row & 1);
        let pick = |x: u32, bit: u32| if row >> bit & 1 == 1 { x } else { !x };
        out |= chosen & pick(a, 2) & pick(b, 1) & pick(c, 0);
    }
    out
}

/// `lop3` that also tells whether the result is not zero, combined with a predicate.
fn logic<const AND: bool>() -> Rule {
    fn exec<const AND: bool>(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
        let [a, b, c, table] = [2, 3, 4, 5].map(|place: usize| u32::row(regs, micro.ops[place]));
        let out: [u32; WARP] =
            std::array::from_fn(|lane| lop3(a[lane], b[lane], c[lane], table[lane]));
        let mut other = regs.preds[usize::from(micro.ops[6])];
        if micro.imm & INVERT != 0 {
            other = !other;
        }
        let some = pack(&out.map(|value| value != 0));
        let truth = if AND { some & other } else { some | other };
        write(u32::row_mut(regs, micro.ops[0]), mask, &out);
        let row = &mut regs.preds[usize::from(micro.ops[1])];
        *row = *row & !mask | truth & mask;
    }
    Rule { exec: exec::<AND>, class: ArithClass::IntAdd, slots: LOGIC, imm: 0 }
}

/// Picks four bytes out of eight; bit 3 of a selector asks for copies of the byte's sign.
fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let pick = |place: u32| {
        let nibble = selector >> (4 * place) & 15;
        let byte = bytes[(nibble & 7) as usize];
        if nibble & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 }
    };
    u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)])
}

/// `length` ones from bit `start` on, cut at bit 32.
#[inline(always)]
fn ones(start: u32, length: u32) -> u32 {
    let low = |count: u32| if count < 32 { (1u32 << count) - 1 } else { !0 };
    low(start.saturating_add(length)) & !low(start)
}

/// The low `length` bits as a signed number; of no bits, zero.
#[inline(always)]
fn sign_extend(value: i32, length: u32) -> i32 {
    match length {
        0 => 0,
        1..32 => value << (32 - length) >> (32 - length),
        _ => value,
    }
}

/// The place of the `n`-th set bit from `base` on, counted downwards for negative `n`; all ones where
/// there is none.
fn nth_set(bits: u32, base: u32, n: i32) -> u32 {
    let set = |place: &u32| bits >> place & 1 == 1;
    let rest = n.unsigned_abs().saturating_sub(1) as usize;
    let found = match n {
        _ if base > 31 => None,
        0 => Some(base).filter(set),
        1.. => (base..32).filter(set).nth(rest),
        _ => (0..=base).rev().filter(set).nth(rest),
    };
    found.unwrap_or(!0)
}
