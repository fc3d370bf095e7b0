//! What depends on where loops are: parameters are loaded where they are needed, and pointers that a loop carries are
//! copied.

use super::code::{Arg, Code, Fate};
use crate::isa::{ArithClass, Inst, Op};

const MOVE: Op = Op::Arith(ArithClass::Move);

/// Instructions of a block from which on `ptxas` finds registers for pointers without copies.
const LONG_BLOCK: u32 = 48;

/// Blocks that lie between a branch backwards and its target.
fn in_loops(code: &Code) -> Vec<bool> {
    let mut inside = vec![false; code.blocks.len()];
    for (block, next) in code.successors.iter().enumerate() {
        for &target in next {
            if target as usize <= block {
                inside[target as usize..=block].fill(true);
            }
        }
    }
    inside
}

/// Moves loads of parameters (`LDC`, `ULDC`) to the blocks that read them, outside of loops: once for each block that adds
/// to a pointer, and for other values if one block reads them.
pub fn parameters(code: &mut Code) {
    let inside = in_loops(code);
    for pc in 0..code.len() {
        let is_load = code.opcode(pc) == "ld" && code.has(pc, "param");
        let fixed = code.insts[pc].op == Op::Arith(ArithClass::Move);
        if !is_load || !fixed || code.fates[pc] != Fate::Same || code.lines[pc].args.len() != 2 {
            continue;
        }
        let mut blocks: Vec<usize> =
            code.readers(pc).map(|reader| code.block_of[reader] as usize).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let is_pointer = code.bytes(pc) == 8
            && code.readers(pc).all(|reader| code.becomes(reader, &[ArithClass::IntMulWide]));
        let home = code.block_of[pc] as usize;
        if blocks.iter().any(|block| inside[*block])
            || blocks.len() > 1 && !is_pointer
            || blocks == [home]
        {
            continue;
        }
        code.remove(pc);
        for block in blocks {
            let load = code.insts[pc].clone();
            code.heads[block].push(load);
        }
    }
}

/// A pointer that a loop advances by a sum of 64 bits is copied at each iteration: the halves of the sum are registers
/// of their own, those of an address a pair.
pub fn pointers(code: &mut Code) {
    let inside = in_loops(code);
    for pc in 0..code.len() {
        let block = code.block_of[pc] as usize;
        let length = code.blocks[block].end - code.blocks[block].start;
        let Arg::Reg(pointer) = code.arg(pc, 0) else { continue };
        let advances = inside[block]
            && code.opcode(pc) == "add"
            && code.becomes(pc, &[ArithClass::IntAdd; 2])
            && code.arg(pc, 1) == Arg::Reg(pointer);
        let mut readers = code.readers(pc);
        let addresses = |reader: usize| {
            code.lines[reader]
                .args
                .iter()
                .any(|arg| matches!(arg, Arg::Address(reg, _) if *reg == pointer))
        };
        if advances && length < LONG_BLOCK && readers.any(addresses) {
            drop(readers);
            code.heads[block].extend([Inst::bare(MOVE), Inst::bare(MOVE)]);
        }
    }
}
