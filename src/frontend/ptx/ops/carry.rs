//! Arithmetic of more than one word: addition, subtraction and multiply-add with a carry.
//!
//! The carry is a predicate of the thread: instructions with `.cc` write it, `addc`, `subc` and `madc`
//! read it, and the machine sees both as it sees other registers. A subtraction adds the complement, as
//! the chips do: its carry is set when nothing was borrowed. PTX leaves open what `addc` reads after
//! `sub.cc`, but the division of 128-bit integers that NVRTC 13 writes relies on it.
//!
//! Source: PTX ISA 9.0, section 9.7.2 "Extended-Precision Integer Arithmetic Instructions".

use super::super::ast::Type;
use super::super::exec::{Bits, Kind, Registers, pack, write};
use super::super::program::Micro;
use super::{Opcode, Rule, Slot};
use crate::isa::{ArithClass, LaneMask, WARP};

/// A word of a long number.
trait Word: Bits {
    const KIND: Kind;
    /// The sum and its carry.
    fn add(self, other: Self, carry: bool) -> (Self, bool);
    /// The difference and its borrow.
    fn sub(self, other: Self, borrow: bool) -> (Self, bool);
    /// The lower half of the product, or the upper half of the signed or unsigned one.
    fn product(self, other: Self, part: u8) -> Self;
}

macro_rules! words {
    ($($ty:ident, $signed:ident, $double:ident, $double_signed:ident, $kind:ident;)*) => {$(
        impl Word for $ty {
            const KIND: Kind = Kind::$kind;

            #[inline(always)]
            fn add(self, other: $ty, carry: bool) -> ($ty, bool) {
                let (sum, first) = self.overflowing_add(other);
                let (sum, second) = sum.overflowing_add(carry.into());
                (sum, first | second)
            }

            #[inline(always)]
            fn sub(self, other: $ty, borrow: bool) -> ($ty, bool) {
                let (rest, first) = self.overflowing_sub(other);
                let (rest, second) = rest.overflowing_sub(borrow.into());
                (rest, first | second)
            }

            #[inline(always)]
            fn product(self, other: $ty, part: u8) -> $ty {
                match part {
                    LOW => self.wrapping_mul(other),
                    HIGH => (<$double>::from(self) * <$double>::from(other) >> $ty::BITS) as $ty,
                    _ => {
                        let signed = |value: $ty| <$double_signed>::from(value as $signed);
                        (signed(self) * signed(other) >> $ty::BITS) as $ty
                    }
                }
            }
        }
    )*};
}

words!(u32, i32, u64, i64, Narrow; u64, i64, u128, i128, Wide;);

/// What is carried into.
const ADD: u8 = 0;
const SUB: u8 = 1;
const LOW: u8 = 2;
const HIGH: u8 = 3;
const HIGH_SIGNED: u8 = 4;

fn chain<W: Word, const OP: u8>(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let carries = regs.preds[usize::from(micro.ops[2])] ^ micro.imm;
    let (a, b) = (W::row(regs, micro.ops[3]), W::row(regs, micro.ops[4]));
    let c = if OP >= LOW { W::row(regs, micro.ops[5]) } else { b };
    let (mut out, mut carried) = ([W::default(); WARP], [false; WARP]);
    for lane in 0..WARP {
        let carry = carries >> lane & 1 == 1;
        (out[lane], carried[lane]) = match OP {
            ADD => a[lane].add(b[lane], carry),
            SUB => {
                let (rest, borrow) = a[lane].sub(b[lane], !carry);
                (rest, !borrow)
            }
            _ => a[lane].product(b[lane], OP).add(c[lane], carry),
        };
    }
    write(W::row_mut(regs, micro.ops[0]), mask, &out);
    let row = &mut regs.preds[usize::from(micro.ops[1])];
    *row = *row & !mask | pack(&carried) & mask;
}

/// The operands of an instruction that writes the carry (`OUT`) and reads it (`IN`).
const fn slots<W: Word, const OUT: bool, const IN: bool, const THREE: bool>() -> &'static [Slot] {
    let slots = const {
        let carries = (Slot::CarryOut(OUT), Slot::CarryIn(IN));
        let word = Slot::Src(W::KIND);
        &[Slot::Dst(W::KIND), carries.0, carries.1, word, word, word]
    };
    if THREE { slots } else { slots.split_at(5).0 }
}

fn rule<W: Word, const OP: u8>(carries: (bool, bool)) -> Option<Rule> {
    let slots = match (carries, OP < LOW) {
        ((true, false), true) => slots::<W, true, false, false>(),
        ((false, true), true) => slots::<W, false, true, false>(),
        ((true, true), true) => slots::<W, true, true, false>(),
        ((true, false), false) => slots::<W, true, false, true>(),
        ((false, true), false) => slots::<W, false, true, true>(),
        ((true, true), false) => slots::<W, true, true, true>(),
        _ => return None,
    };
    let class = if OP < LOW { ArithClass::IntAdd } else { ArithClass::IntMad };
    // A subtraction that reads no carry borrows nothing.
    let imm = if OP == SUB && !carries.1 { LaneMask::MAX } else { 0 };
    Some(Rule { exec: chain::<W, OP>, class, slots, imm })
}

/// The rule of an instruction with a carry; `None` for every other one.
pub fn select(opcode: &Opcode) -> Option<Rule> {
    let [ty] = opcode.types[..] else { return None };
    let (key, out) = match opcode.key.strip_suffix(".cc") {
        Some(key) => (key, true),
        None => (opcode.key.as_str(), false),
    };
    let (root, rest) = key.split_at(key.find('.').unwrap_or(key.len()));
    let carries = (out, root.ends_with('c'));
    match (root.trim_end_matches('c'), rest, ty) {
        ("add", "", Type::U32 | Type::S32) => rule::<u32, ADD>(carries),
        ("add", "", Type::U64 | Type::S64) => rule::<u64, ADD>(carries),
        ("sub", "", Type::U32 | Type::S32) => rule::<u32, SUB>(carries),
        ("sub", "", Type::U64 | Type::S64) => rule::<u64, SUB>(carries),
        ("mad", ".lo", Type::U32 | Type::S32) => rule::<u32, LOW>(carries),
        ("mad", ".lo", Type::U64 | Type::S64) => rule::<u64, LOW>(carries),
        ("mad", ".hi", Type::U32) => rule::<u32, HIGH>(carries),
        ("mad", ".hi", Type::S32) => rule::<u32, HIGH_SIGNED>(carries),
        ("mad", ".hi", Type::U64) => rule::<u64, HIGH>(carries),
        ("mad", ".hi", Type::S64) => rule::<u64, HIGH_SIGNED>(carries),
        _ => None,
    }
}
