//! From PTX to what a machine issues.
//!
//! PTX is what the compiler hands to the assembler, not what a GPU executes: `ptxas` removes moves and address
//! arithmetic, fuses pairs of instructions into one, and writes others as sequences. This pass says for every PTX
//! instruction how many machine instructions of which class it becomes: none, whose readers then depend on what it
//! read; one; or several. It looks at the kernel as text, once, and never at its name; what a kernel computes does
//! not change, only the stream that the timing model sees.
//!
//! | Rules | File |
//! |---|---|
//! | dead code, moves, conversions of addresses, constants, signs: nothing is issued | `free` |
//! | offsets of addresses, places of constant variables; products and shifts that are added to a base | `address` |
//! | pairs that one instruction computes: `IADD3`, `IMAD`, `LEA`, `LOP3`, `FFMA`, `ISETP.AND`, `VHMNMX` | `fuse` |
//! | sequences: 64-bit integers, division, square roots, .. | `expand` |
//! | places in the constant bank | `bank` |
//! | loads of parameters, copies of pointers in loops | `loops` |
//! | exits, branches, predicated code, convergence barriers, the start of a kernel | `control` |
//! | additions in the pipeline of products, half precision on tensor cores | `balance` |
//! | loops of which several iterations become one | `unroll` |
//! | ends of groups of matrix products, which the last product tells; arithmetic that does not wait for them | `warpgroups` |
//! | blocks that become one as a short one is predicated | `regions` |
//! | the order within them: loads as early as their addresses and the registers allow | `schedule`, `alias`, `pressure` |
//! | arithmetic that does not wait between instructions that do | `interleave` |
//! | loads that are waited for together | `scoreboards` |
//! | registers that come from the register file | `reads` |
//!
//! The rules are those of `ptxas` 13.0 for `sm_90`, found by holding its code (`nvdisasm`) against PTX, instruction by
//! instruction; names of machine instructions are those of "CUDA Binary Utilities", section "Instruction Set
//! Reference". What they reach is in `results/h200/lowering.md`, with the command that measures it.
//!
//! Memory instructions and barriers keep their number. What they did lies beside the stream in the order in which they are
//! issued; the text is executed in its own, and the records of a region change places when it has been executed.

mod address;
mod alias;
mod balance;
mod bank;
mod code;
mod control;
mod emit;
mod expand;
mod free;
mod fuse;
mod interleave;
mod loops;
#[cfg(test)]
mod measure;
mod pattern;
mod pressure;
mod reads;
mod regions;
mod schedule;
mod scoreboards;
#[cfg(test)]
mod tests;
mod unroll;
mod warpgroups;

pub use code::{Arg, Line};

use super::parts::{Block, NO_BLOCK};
use crate::isa::Inst;

/// What the machine sees of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issued {
    /// Its instructions; streams refer to them by place.
    pub insts: Vec<Inst>,
    /// The part of them that each basic block is; blocks of unrolled loops follow those of the text.
    pub blocks: Vec<IssuedBlock>,
    /// Loops that are unrolled.
    pub loops: Vec<IssuedLoop>,
    /// Orders in which memory instructions are issued: places in the order of the text.
    pub orders: Vec<Box<[u32]>>,
    /// Registers that they name: all are below this.
    pub regs: u16,
}

/// No order: that of the text.
pub const NO_ORDER: u32 = u32::MAX;

/// A basic block as it is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedBlock {
    /// First instruction.
    pub start: u32,
    /// Instructions; there may be none. The first block of a region has those of all.
    pub len: u32,
    /// The block that is issued without effect when all lanes jump over it, as its instructions are predicated;
    /// [`NO_BLOCK`] for none. It is of the same region.
    pub predicated: u32,
    /// Memory instructions of its own.
    pub accesses: u32,
    /// Behind the last block of a region: the order of the region's memory instructions, of [`Issued::orders`];
    /// [`NO_ORDER`] for that of the text.
    pub order: u32,
    /// Of the first block of a loop that is unrolled: its place in [`Issued::loops`]; [`NO_LOOP`] for others.
    pub unrolled: u32,
}

/// No loop.
pub const NO_LOOP: u32 = u32::MAX;

/// A loop of which several iterations are issued as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedLoop {
    /// One past its last block.
    pub end: u32,
    /// First instruction and number of instructions of one, two and four iterations.
    pub pieces: [(u32, u32); 3],
    /// The order of memory instructions of one to four iterations, as [`IssuedBlock::order`].
    pub orders: [u32; MOST_ITERATIONS],
}

/// The most iterations that become one.
pub const MOST_ITERATIONS: usize = 4;

impl IssuedLoop {
    /// The pieces that `count` iterations are issued as, one to four.
    pub fn pieces(&self, count: usize) -> impl Iterator<Item = (u32, u32)> {
        let places: &[usize] = match count {
            1 => &[0],
            2 => &[1],
            3 => &[1, 0],
            _ => &[2],
        };
        places.iter().map(|place| self.pieces[*place])
    }
}

impl Issued {
    /// One instruction for each of the text.
    pub fn text(insts: &[Inst], blocks: &[Block], regs: u16) -> Issued {
        let block = |block: &Block| IssuedBlock {
            start: block.start,
            len: block.end - block.start,
            predicated: NO_BLOCK,
            accesses: 0,
            order: NO_ORDER,
            unrolled: NO_LOOP,
        };
        let blocks = blocks.iter().map(block).collect();
        Issued { insts: insts.to_vec(), blocks, loops: Vec::new(), orders: Vec::new(), regs }
    }
}

/// What `ptxas` makes of a kernel. `weights` has the 32-bit registers that each register of the kernel fills.
pub fn machine_code(
    lines: Vec<Line>,
    insts: &[Inst],
    graph: (&[Block], &[Vec<u32>]),
    weights: &[u8],
) -> Issued {
    let mut code = code::Code::new(lines, insts, graph, weights);
    free::dead(&mut code);
    free::atomics(&mut code);
    free::copies(&mut code);
    free::constants(&mut code);
    address::offsets(&mut code);
    free::dead(&mut code);
    free::signs(&mut code);
    free::flags(&mut code);
    expand::sequences(&mut code);
    address::narrow(&mut code);
    address::bases(&mut code);
    fuse::fuse(&mut code);
    free::pairs(&mut code);
    warpgroups::overlap(&mut code);
    bank::places(&mut code);
    loops::parameters(&mut code);
    loops::pointers(&mut code);
    control::control(&mut code);
    warpgroups::commits(&mut code);
    fuse::conditions(&mut code);
    balance::balance(&mut code);
    unroll::unroll(&mut code);
    balance::take_turns(&mut code);
    emit::emit(&code)
}
