//! How many registers are in use while a region is put in order.

use std::ops::Range;

use super::super::liveness::members;
use super::code::Code;
use crate::isa::Reg;

/// Registers that a thread can have where an SM holds as many warps as it can: 65,536 for 2,048 threads. `ptxas` starts
/// no load early for which it would need more. Source: CUDA C++ Programming Guide, compute capabilities 7.0 to 9.0.
const FULL_OCCUPANCY: u32 = 32;

/// The values that are held at a place of a region.
pub struct Pressure<'a> {
    code: &'a Code<'a>,
    /// By register: 32-bit registers of a thread that it fills.
    weights: Vec<u8>,
    live_out: Option<Vec<Vec<u64>>>,
    /// The last one of those that are put in order.
    block: usize,
    /// By register: instructions of the region that are still to read it.
    readers: Vec<u32>,
    is_live: Vec<bool>,
    /// Registers that may be live.
    touched: Vec<Reg>,
    /// 32-bit registers in use.
    held: u32,
}

impl<'a> Pressure<'a> {
    /// Of a kernel; `varying` are the registers that may differ from lane to lane.
    pub fn new(code: &'a Code<'a>, varying: &[bool]) -> Self {
        let registers = code.weights.len();
        Pressure {
            code,
            weights: weights(code, varying),
            live_out: code.live_out(),
            block: 0,
            readers: vec![0; registers],
            is_live: vec![false; registers],
            touched: Vec::new(),
            held: 0,
        }
    }

    /// At the start of some blocks that are issued as one.
    pub fn start(&mut self, blocks: Range<usize>) {
        self.block = blocks.end - 1;
        for reg in self.touched.drain(..) {
            self.is_live[usize::from(reg)] = false;
            self.readers[usize::from(reg)] = 0;
        }
        self.held = 0;
        // What lives on and what the blocks read, less what they write first.
        let live_out =
            self.live_out.as_ref().map_or(Vec::new(), |live_out| live_out[self.block].clone());
        members(&live_out).for_each(|reg| self.begin(reg as Reg));
        let (first, last) = (self.code.blocks[blocks.start], self.code.blocks[self.block]);
        for pc in (first.start as usize..last.end as usize).rev() {
            let inst = &self.code.insts[pc];
            if !self.code.is_guarded(pc) && self.code.jump_over(pc).is_none() {
                inst.dsts.as_slice().iter().for_each(|reg| self.end(*reg));
            }
            for &reg in inst.srcs.as_slice() {
                self.readers[usize::from(reg)] += 1;
                self.begin(reg);
            }
        }
    }

    fn lives_on(&self, reg: Reg) -> bool {
        let live_out = self.live_out.as_ref().map(|live_out| &live_out[self.block]);
        live_out.is_some_and(|live| live[usize::from(reg / 64)] >> (reg % 64) & 1 == 1)
    }

    fn begin(&mut self, reg: Reg) {
        if !std::mem::replace(&mut self.is_live[usize::from(reg)], true) {
            self.held += u32::from(self.weights[usize::from(reg)]);
            self.touched.push(reg);
        }
    }

    fn end(&mut self, reg: Reg) {
        if std::mem::replace(&mut self.is_live[usize::from(reg)], false) {
            self.held -= u32::from(self.weights[usize::from(reg)]);
        }
    }

    /// Whether the results of `pc` find room.
    pub fn has_room_for(&self, pc: usize) -> bool {
        let dsts = self.code.insts[pc].dsts.as_slice().iter();
        let more: u32 = dsts.map(|reg| u32::from(self.weights[usize::from(*reg)])).sum();
        self.held + more <= FULL_OCCUPANCY
    }

    /// The instruction at `pc` comes next.
    pub fn issue(&mut self, pc: usize) {
        let inst = &self.code.insts[pc];
        for &reg in inst.srcs.as_slice() {
            let left = &mut self.readers[usize::from(reg)];
            *left -= 1;
            if *left == 0 && !self.lives_on(reg) {
                self.end(reg);
            }
        }
        for &reg in inst.dsts.as_slice() {
            if self.readers[usize::from(reg)] > 0 || self.lives_on(reg) {
                self.begin(reg);
            }
        }
    }
}

/// What each register fills: nothing where all lanes have the same value, which is in a uniform register or in the
/// constant bank, and nothing where its readers depend on what it was made of.
fn weights(code: &Code, varying: &[bool]) -> Vec<u8> {
    let of = |(weight, varies): (&u8, &bool)| if *varies { *weight } else { 0 };
    let mut weights: Vec<u8> = code.weights.iter().zip(varying).map(of).collect();
    for pc in (0..code.len()).filter(|pc| code.is_gone(*pc)) {
        for &reg in code.insts[pc].dsts.as_slice() {
            weights[usize::from(reg)] = 0;
        }
    }
    weights
}
