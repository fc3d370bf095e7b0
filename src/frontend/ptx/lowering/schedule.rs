//! The order of instructions in a region.
//!
//! The text computes each value where it is used. `ptxas` starts loads as early as it can, so that they are under way
//! together; a machine that issues in order depends on it. Here loads from global and local memory come first, those that
//! need no other one before those that do, then other loads, then every other memory instruction: in the order of the text
//! else, and as far as [`alias`](super::alias) asks for it. Each goes before everything that it does not depend on, as long
//! as there are registers for its results: else the oldest values are used up first. Next come the instructions that decide
//! the branch, unless they wait for loads, as a branch waits long for its predicate.

use std::ops::Range;

use super::alias::Touch;
use super::code::Code;
use super::pressure::Pressure;
use crate::isa::{MemoryOp, Op, Reg, Space};

/// Memory instructions of a region up to which they are compared pair by pair; beyond, they keep their order.
const MOST_COMPARED: usize = 2048;

/// Puts the regions of a kernel in order, one after the other.
pub struct Scheduler<'a> {
    code: &'a Code<'a>,
    pressure: Pressure<'a>,
    /// By register: the instruction of the region that wrote it last, and those that have read it since.
    writers: Vec<u32>,
    readers: Vec<Vec<u32>>,
}

/// A region under way.
struct Order<'a> {
    code: &'a Code<'a>,
    start: usize,
    /// By instruction: those that it must stay behind.
    needs: Vec<Vec<u32>>,
    done: Vec<bool>,
    order: Vec<usize>,
    /// Everything before it is done.
    oldest: usize,
}

impl<'a> Scheduler<'a> {
    pub fn new(code: &'a Code<'a>, regions: &[Range<usize>]) -> Self {
        let registers = code.weights.len();
        let mut scheduler = Scheduler {
            code,
            pressure: Pressure::new(code),
            writers: vec![u32::MAX; registers],
            readers: vec![Vec::new(); registers],
        };
        let needed = regions.iter().map(|region| scheduler.needed(region.clone())).max();
        scheduler.pressure.choose(needed.unwrap_or(0));
        scheduler
    }

    /// 32-bit registers that each register fills.
    pub fn weights(&self) -> &[u8] {
        self.pressure.weights()
    }

    /// 32-bit registers that are free at the start of some blocks; less than none where they need more.
    pub fn room(&mut self, blocks: Range<usize>) -> i32 {
        self.pressure.start(blocks);
        self.pressure.room()
    }

    /// The registers that some blocks need: in the order of the text, or where what is loaded, and what is made of one value,
    /// comes as late as can be, whichever takes fewer.
    fn needed(&mut self, blocks: Range<usize>) -> u32 {
        let range = self.code.range(&blocks);
        let needs = self.needs(range.start, range.end);
        let late = self.late(range.clone(), &needs);
        let text = self.pressure.peak(blocks.clone(), range);
        text.min(self.pressure.peak(blocks, late.into_iter()))
    }

    /// The order of the text, but that loads and what is made of one value come right before the first instruction that
    /// needs them.
    fn late(&self, range: Range<usize>, needs: &[Vec<u32>]) -> Vec<usize> {
        let start = range.start;
        let mut needed = vec![false; needs.len()];
        needs.iter().flatten().for_each(|need| needed[*need as usize - start] = true);
        let can_wait = |pc: usize| {
            let inst = &self.code.insts[pc];
            let is_load = matches!(inst.op, Op::Memory(op) if op.kind.loads());
            let values = inst.srcs.as_slice().iter().filter(|reg| self.pressure.weight(**reg) > 0);
            needed[pc - start] && (is_load || values.count() <= 1)
        };
        let (mut order, mut seen) = (Vec::with_capacity(needs.len()), vec![false; needs.len()]);
        // Instructions, with how many of their needs have been looked at.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for last in range.filter(|pc| !can_wait(*pc)) {
            if std::mem::replace(&mut seen[last - start], true) {
                continue;
            }
            open.push((last, 0));
            while let Some((pc, looked)) = open.pop() {
                let Some(need) = needs[pc - start].get(looked) else {
                    order.push(pc);
                    continue;
                };
                open.push((pc, looked + 1));
                if !std::mem::replace(&mut seen[*need as usize - start], true) {
                    open.push((*need as usize, 0));
                }
            }
        }
        order
    }

    /// The instructions of some blocks as they are issued, those that are gone among them.
    pub fn order(&mut self, blocks: Range<usize>) -> Vec<usize> {
        let code = self.code;
        let Range { start, end } = code.range(&blocks);
        let needs = self.needs(start, end);
        let done = vec![false; end - start];
        let mut order = Order {
            code,
            start,
            needs,
            done,
            order: Vec::with_capacity(end - start),
            oldest: start,
        };
        self.pressure.start(blocks);
        for load in order.loads() {
            order.soon(load, &mut self.pressure);
        }
        // The last instruction may be a branch: everything comes before it.
        for pinned in (start..end - 1).filter(|pc| code.is_pinned(*pc)) {
            order.soon(pinned, &mut self.pressure);
        }
        order.decide_early();
        let Order { done, mut order, .. } = order;
        order.extend((start..end).filter(|pc| !done[pc - start]));
        order
    }

    /// For each instruction those before it that it must stay behind: they write what it reads or writes, read what it
    /// writes, or touch memory that it touches.
    fn needs(&mut self, start: usize, end: usize) -> Vec<Vec<u32>> {
        let code = self.code;
        let mut needs: Vec<Vec<u32>> = vec![Vec::new(); end - start];
        let mut touched: Vec<Reg> = Vec::new();
        let mut touches: Vec<(u32, Touch)> = Vec::new();
        for pc in start..end {
            let mine = &mut needs[pc - start];
            if code.is_pinned(pc) {
                let touch = Touch::new(code, pc, &self.writers);
                match touches.last() {
                    Some((last, _)) if touches.len() > MOST_COMPARED => mine.push(*last),
                    _ => {
                        let all = touches.len() == MOST_COMPARED;
                        let stays = |other: &Touch| all || touch.stays_behind(other);
                        let before = touches.iter().filter(|(_, other)| stays(other));
                        mine.extend(before.map(|(pc, _)| *pc));
                    }
                }
                touches.push((pc as u32, touch));
            }
            // What is predicated waits for the predicate.
            let guard = code.jump_over(pc).map(|jump| code.insts[jump].srcs);
            let guard = guard.iter().flat_map(|srcs| srcs.as_slice());
            for reg in code.insts[pc].read().chain(guard.copied()) {
                let at = usize::from(reg);
                touched.push(reg);
                if self.writers[at] != u32::MAX {
                    mine.push(self.writers[at]);
                }
                self.readers[at].push(pc as u32);
            }
            for reg in code.insts[pc].written() {
                let at = usize::from(reg);
                touched.push(reg);
                if self.writers[at] != u32::MAX {
                    mine.push(self.writers[at]);
                }
                mine.extend(self.readers[at].drain(..).filter(|reader| *reader as usize != pc));
                self.writers[at] = pc as u32;
            }
        }
        for reg in touched {
            self.writers[usize::from(reg)] = u32::MAX;
            self.readers[usize::from(reg)].clear();
        }
        needs
    }
}

impl Order<'_> {
    fn end(&self) -> usize {
        self.start + self.needs.len()
    }

    /// The loads in the order in which they should start: those that take long before others, and those that need none
    /// of them first.
    fn loads(&self) -> Vec<usize> {
        // How many long loads each instruction waits for, one after the other.
        let mut depths = vec![0u32; self.needs.len()];
        let mut loads = Vec::new();
        for pc in self.start..self.end() {
            let after = |need: &u32| {
                let need = *need as usize;
                depths[need - self.start] + u32::from(self.is_far_load(need) == Some(true))
            };
            let depth = self.needs[pc - self.start].iter().map(after).max().unwrap_or(0);
            depths[pc - self.start] = depth;
            if let Some(is_far) = self.is_far_load(pc) {
                loads.push((!is_far, depth, pc));
            }
        }
        loads.sort_unstable();
        loads.into_iter().map(|(.., pc)| pc).collect()
    }

    /// Whether a load takes long; `None` for other instructions.
    fn is_far_load(&self, pc: usize) -> Option<bool> {
        match self.code.insts[pc].op {
            Op::Memory(MemoryOp { kind, space, .. }) if kind.only_reads() => {
                Some(!matches!(space, Space::Shared | Space::Constant))
            }
            _ => None,
        }
    }

    /// Orders `pc`, with all that it needs, as soon as there are registers.
    fn soon(&mut self, pc: usize, pressure: &mut Pressure) {
        while !self.done[pc - self.start] && !pressure.has_room_for(pc) && self.oldest < pc {
            if !std::mem::replace(&mut self.done[self.oldest - self.start], true) {
                pressure.issue(self.oldest);
                self.order.push(self.oldest);
            }
            self.oldest += 1;
        }
        let first = self.order.len();
        let mut wanted = vec![pc];
        while let Some(pc) = wanted.pop() {
            if !std::mem::replace(&mut self.done[pc - self.start], true) {
                self.order.push(pc);
                wanted.extend(self.needs[pc - self.start].iter().map(|need| *need as usize));
            }
        }
        self.order[first..].sort_unstable();
        self.order[first..].iter().for_each(|pc| pressure.issue(*pc));
    }

    /// Orders what the branch at the end depends on, if that does not wait for memory.
    fn decide_early(&mut self) {
        let branch = self.end() - 1;
        if self.code.opcode(branch) != "bra" {
            return;
        }
        let needs = |pc: usize| self.needs[pc - self.start].iter().map(|need| *need as usize);
        let mut seen = vec![false; self.needs.len()];
        let mut chain: Vec<usize> = Vec::new();
        let mut wanted: Vec<usize> = needs(branch).collect();
        while let Some(pc) = wanted.pop() {
            if std::mem::replace(&mut seen[pc - self.start], true) {
                continue;
            }
            if self.code.is_pinned(pc) {
                return;
            }
            wanted.extend(needs(pc));
            if !self.done[pc - self.start] {
                chain.push(pc);
            }
        }
        chain.sort_unstable();
        chain.iter().for_each(|pc| self.done[pc - self.start] = true);
        self.order.extend(chain);
    }
}
