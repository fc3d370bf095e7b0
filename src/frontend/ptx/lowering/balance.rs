//! Additions and shifts to the left go to the pipeline that has less to do, and half precision to two in turn.
//!
//! Integer additions run in the integer pipeline (`IADD3`) or, as a product with one (`IMAD.IADD`), where products and
//! single precision run. A shift to the left by a number that is known runs there as a product with a power of two (`IMAD.SHL`).
//! `ptxas` writes either, so that a block keeps both busy. Of pairs of half precision or `bf16` it makes every other sum and product one
//! of the tensor cores (`HFMA2.MMA`), whatever depends on what.

use super::super::ast::Type;
use super::code::{Code, Fate};
use crate::isa::{ArithClass, Op};

/// What a block asks of the two pipelines, in half warps a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    integer: u32,
    products: u32,
}

impl Load {
    fn add(&mut self, class: ArithClass) {
        match class {
            ArithClass::IntAdd => self.integer += 2,
            ArithClass::IntMul | ArithClass::IntMad => self.products += 2,
            ArithClass::IntMulWide => self.products += 4,
            ArithClass::FpCompare => self.integer += 2,
            // Two halves of the pipeline take these, and one the products; of half precision one takes every other one.
            ArithClass::FpAdd | ArithClass::FpMul | ArithClass::FpFma => self.products += 1,
            _ => {}
        }
    }
}

/// Moves additions of two 32-bit integers and shifts to the left, block by block, as long as that evens out.
pub fn balance(code: &mut Code) {
    for block in code.blocks.clone() {
        let all = block.start as usize..block.end as usize;
        let mut load = Load::default();
        for pc in all.clone() {
            match (&code.fates[pc], &code.insts[pc].op) {
                (Fate::Same, Op::Arith(class)) => load.add(*class),
                (Fate::Into(sequence), _) => {
                    sequence.classes.iter().for_each(|class| load.add(*class));
                }
                _ => {}
            }
        }
        for pc in all {
            let can_move = code.fates[pc] == Fate::Same
                && (matches!(code.opcode(pc), "add" | "sub") || code.shift_left(pc).is_some())
                && code.insts[pc].op == Op::Arith(ArithClass::IntAdd)
                && code.bytes(pc) == 4;
            if can_move && load.integer >= load.products + 4 {
                code.set(pc, &[ArithClass::IntMad]);
                (load.integer, load.products) = (load.integer - 2, load.products + 2);
            }
        }
    }
}

/// Every other sum or product of pairs in half precision goes to the tensor cores, the first one of a block too, with all iterations that a
/// block has; the rest of half precision does not.
pub fn take_turns(code: &mut Code) {
    for block in code.blocks.clone() {
        let (mut is_next, mut product) = (true, None);
        for pc in block.start as usize..block.end as usize {
            let line = Some(code.insts[pc].line);
            if code.opcode(pc) == "mma" {
                product = line;
            }
            let is_half = code.types(pc).next().is_some_and(Type::half);
            let adds = matches!(code.opcode(pc), "add" | "sub" | "mul" | "fma");
            if !(is_half && adds) || code.fates[pc] != Fate::Same {
                continue;
            }
            // Sums that belong to a product, which is spelled out in its line, are always `HADD2`.
            let is_pair = code.bytes(pc) == 4 && line != product;
            let is_taken = is_pair && is_next;
            code.set(pc, &[if is_taken { ArithClass::HalfTensor } else { ArithClass::Half }]);
            is_next ^= is_pair;
        }
    }
}
