//! How many registers a thread needs at once.
//!
//! PTX names as many virtual registers as it likes; the real number is decided by the assembler that
//! makes machine code of it. The peak of live values is what an allocator needs at least, so
//! `registers_per_thread` is an estimate: the assembler may need more, because it reorders code and
//! aligns pairs, or less, because it computes values again and keeps uniform ones elsewhere.

use super::cfg::Graph;
use super::parts::Block;
use crate::isa::Inst;
use crate::units::Bits;

/// The least that is reported.
const LEAST: u32 = 8;

/// The most that a thread can have. Source: CUDA C++ Programming Guide, compute capabilities.
pub const MOST: u32 = 255;
/// Memory for the sets of a kernel beyond which nothing is computed [64-bit words].
const MAX_WORDS: usize = 1 << 24;

type Set = Vec<u64>;

/// The registers of a set, lowest first.
pub fn members(set: &[u64]) -> impl Iterator<Item = usize> {
    set.iter().enumerate().flat_map(|(word, bits)| Bits(*bits).map(move |bit| word * 64 + bit))
}

/// Whether a register is in a set.
pub fn contains(set: &[u64], reg: u16) -> bool {
    set[usize::from(reg / 64)] >> (reg % 64) & 1 == 1
}

/// Puts a register into a set.
pub fn insert(set: &mut [u64], reg: u16) {
    set[usize::from(reg / 64)] |= 1 << (reg % 64);
}

/// Takes a register out of a set.
pub fn remove(set: &mut [u64], reg: u16) {
    set[usize::from(reg / 64)] &= !(1 << (reg % 64));
}

/// Walks a block backwards from what is live at its end; calls `at` before each instruction.
fn walk(insts: &[Inst], guarded: &[bool], live: &mut Set, mut at: impl FnMut(&Set)) {
    for (inst, guarded) in insts.iter().zip(guarded).rev() {
        // Under a guard the old value may live on.
        if !guarded {
            inst.written().for_each(|reg| remove(live, reg));
        }
        inst.read().for_each(|reg| insert(live, reg));
        at(live);
    }
}

/// What is live at the end of each block, a bit for each of `registers`; `None` for a kernel too large to look at.
pub fn live_out(
    (blocks, successors): (&[Block], &[Vec<u32>]),
    insts: &[Inst],
    guarded: &[bool],
    registers: usize,
) -> Option<Vec<Set>> {
    let words = registers.div_ceil(64);
    let count = blocks.len();
    if count.saturating_mul(words) > MAX_WORDS {
        return None;
    }
    let mut live_in: Vec<Set> = vec![vec![0; words]; count];
    let range = |block: usize| blocks[block].start as usize..blocks[block].end as usize;
    let find_live_out = |live_in: &[Set], block: usize, live: &mut Set| {
        live.fill(0);
        for &next in &successors[block] {
            for (word, more) in live.iter_mut().zip(&live_in[next as usize]) {
                *word |= more;
            }
        }
    };
    let mut predecessors = vec![Vec::new(); count];
    for (block, successors) in successors.iter().enumerate() {
        successors.iter().for_each(|&next| predecessors[next as usize].push(block));
    }
    // Blocks to look at, the last one first, each once.
    let mut open: Vec<usize> = (0..count).collect();
    let mut is_open = vec![true; count];
    let mut live = vec![0; words];
    while let Some(block) = open.pop() {
        is_open[block] = false;
        find_live_out(&live_in, block, &mut live);
        walk(&insts[range(block)], &guarded[range(block)], &mut live, |_| {});
        if live != live_in[block] {
            live_in[block].copy_from_slice(&live);
            for &before in &predecessors[block] {
                if !std::mem::replace(&mut is_open[before], true) {
                    open.push(before);
                }
            }
        }
    }
    let of_block = |block| {
        let mut live = vec![0; words];
        find_live_out(&live_in, block, &mut live);
        live
    };
    Some((0..count).map(of_block).collect())
}

/// The most 32-bit registers that are live at once; `weights` gives those that each register fills.
///
/// At least 8, at most 255: more would be spilled to local memory. A kernel too large to look at
/// gets 255.
pub fn registers(graph: &Graph, insts: &[Inst], guarded: &[bool], weights: &[u8]) -> u32 {
    let lists = (&graph.blocks[..], &graph.successors[..]);
    let Some(live_out) = live_out(lists, insts, guarded, weights.len()) else { return MOST };
    let range = |block: usize| graph.blocks[block].start as usize..graph.blocks[block].end as usize;
    let mut peak = LEAST;
    for (block, mut live) in live_out.into_iter().enumerate() {
        walk(&insts[range(block)], &guarded[range(block)], &mut live, |live| {
            peak = peak.max(members(live).map(|reg| u32::from(weights[reg])).sum());
        });
    }
    peak.min(MOST)
}
