//! Loads that are waited for together.
//!
//! Since Maxwell the assembler says which result of unknown latency an instruction waits for, by six scoreboards of a warp. A
//! scoreboard counts what is under way, and who waits for it waits for all. So with more loads under way than scoreboards, the
//! first instruction that needs one of them waits for others that it does not need.
//!
//! Read from code of `ptxas` 13.0 for `sm_90`: loads with the same first reader share a scoreboard; others get one that is
//! free; when none is left, they get the last. Loads from global and local memory use four of the six. Stores and special
//! registers, which use the others and are short, are not counted here.
//!
//! An instruction waits for what it names, and that is no more than eight registers beside its own: of a larger group those that were
//! loaded last.

use std::ops::Range;

use super::code::waits_for_more;
use crate::isa::{Inst, MemoryOp, Op, Reg, Space};

/// Scoreboards of a warp. Source: stall and scoreboard fields of `sm_90` code, three bits, of which 7 means none and 6 is
/// never seen.
const SCOREBOARDS: usize = 6;

/// Those that loads from global and local memory use.
const FAR: Range<usize> = 2..SCOREBOARDS;

/// No instruction.
const NONE: u32 = u32::MAX;

/// Gives the loads of regions their scoreboards, region by region.
pub struct Scoreboards {
    /// By register: the next instruction that reads it.
    readers: Vec<u32>,
}

/// A load under way.
#[derive(Clone, Copy)]
struct Load {
    at: usize,
    /// The first instruction that reads it.
    reader: u32,
}

impl Scoreboards {
    /// Of a kernel with so many registers.
    pub fn new(registers: usize) -> Self {
        Scoreboards { readers: vec![NONE; registers] }
    }

    /// Lets every instruction of a region name all that it waits for.
    pub fn share(&mut self, insts: &mut [Inst]) {
        let readers = self.first_readers(insts);
        let mut boards: [Vec<Load>; SCOREBOARDS] = Default::default();
        for at in 0..insts.len() {
            for board in &mut boards {
                let is_waited_for = |load: &Load| {
                    let inst = &insts[at];
                    let mut named = inst.srcs.as_slice().iter().chain(inst.dsts.as_slice());
                    named.any(|reg| insts[load.at].dsts.as_slice().contains(reg))
                };
                if board.iter().any(is_waited_for) {
                    for load in board.drain(..).rev() {
                        let dsts = insts[load.at].dsts;
                        dsts.as_slice().iter().for_each(|reg| wait_for(&mut insts[at], *reg));
                    }
                }
            }
            if let Some(usable) = usable(&insts[at]) {
                let reader = readers[at];
                let has_it =
                    |board: &usize| boards[*board].iter().any(|load| load.reader == reader);
                let is_free = |board: &usize| boards[*board].is_empty();
                let board = usable.clone().find(has_it).or_else(|| usable.clone().find(is_free));
                boards[board.unwrap_or(usable.end - 1)].push(Load { at, reader });
            }
        }
    }

    /// For each load, the first instruction of the region that reads it; [`NONE`] where none does.
    fn first_readers(&mut self, insts: &[Inst]) -> Vec<u32> {
        let mut first = vec![NONE; insts.len()];
        for (at, inst) in insts.iter().enumerate().rev() {
            let next = |reg: &Reg| self.readers[usize::from(*reg)];
            first[at] = inst.dsts.as_slice().iter().map(next).min().unwrap_or(NONE);
            for reg in inst.dsts.as_slice() {
                self.readers[usize::from(*reg)] = NONE;
            }
            for reg in inst.srcs.as_slice() {
                self.readers[usize::from(*reg)] = at as u32;
            }
        }
        for reg in insts.iter().flat_map(|inst| inst.srcs.as_slice()) {
            self.readers[usize::from(*reg)] = NONE;
        }
        first
    }
}

/// The scoreboards that the result of a memory instruction may have; `None` for what has no result.
fn usable(inst: &Inst) -> Option<Range<usize>> {
    let Op::Memory(MemoryOp { space, .. }) = inst.op else { return None };
    let is_near = matches!(space, Space::Shared | Space::Constant);
    let boards = if is_near { 0..SCOREBOARDS } else { FAR };
    (!inst.dsts.as_slice().is_empty()).then_some(boards)
}

fn wait_for(inst: &mut Inst, reg: Reg) {
    if waits_for_more(&inst.srcs, 0) {
        inst.srcs.add(reg);
    }
}
