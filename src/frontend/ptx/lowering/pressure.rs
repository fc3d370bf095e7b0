//! How many registers are in use while a region is put in order.

use std::ops::Range;

use super::super::liveness::{contains, members};
use super::code::{Arg, Code};
use crate::isa::{Op, Reg};

/// Registers that a thread can have where an SM holds 64, 48, 40, 36, .. 8 warps: of 65,536, in eights. `ptxas` takes the least
/// that a kernel needs. Source: CUDA C++ Programming Guide, compute capabilities 7.0 to 9.0; measured with
/// `ptxas` 13.0 for `sm_90`, on kernels that hold 0 to 84 values while they load others.
const STEPS: [u32; 11] = [32, 40, 48, 56, 64, 72, 80, 96, 128, 168, 255];

/// Of these, those that it does not fill with loads that are started early.
const SPARE: u32 = 5;

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
    /// The most that loads which are started early may fill.
    most: u32,
}

impl<'a> Pressure<'a> {
    /// Of a kernel.
    pub fn new(code: &'a Code<'a>) -> Self {
        let registers = code.weights.len();
        Pressure {
            code,
            weights: weights(code),
            live_out: code.live_out(),
            block: 0,
            readers: vec![0; registers],
            is_live: vec![false; registers],
            touched: Vec::new(),
            held: 0,
            most: 0,
        }
    }

    /// The most registers in use at once where some blocks are issued in an order.
    pub fn peak(&mut self, blocks: Range<usize>, order: impl Iterator<Item = usize>) -> u32 {
        self.start(blocks);
        let mut peak = self.held;
        for pc in order {
            self.issue(pc);
            peak = peak.max(self.held);
        }
        peak
    }

    /// Chooses the step for a kernel that needs so many registers.
    pub fn choose(&mut self, needed: u32) {
        let step = STEPS.into_iter().find(|step| needed + SPARE < *step);
        self.most = step.unwrap_or(STEPS[STEPS.len() - 1]) - SPARE;
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
        for pc in self.code.range(&blocks).rev() {
            let inst = &self.code.insts[pc];
            if !self.code.is_guarded(pc) {
                // What is predicated leaves the old value to those who jump over it, if anybody wants it then.
                let block = self.code.block_of[pc] as usize;
                let is_body = self.code.jump_over(pc).is_some();
                for reg in inst.written() {
                    if !(is_body && self.lives_behind(block, reg)) {
                        self.end(reg);
                    }
                }
            }
            for reg in inst.read() {
                self.readers[usize::from(reg)] += 1;
                self.begin(reg);
            }
        }
    }

    fn lives_behind(&self, block: usize, reg: Reg) -> bool {
        self.live_out.as_ref().is_some_and(|live_out| contains(&live_out[block], reg))
    }

    fn lives_on(&self, reg: Reg) -> bool {
        self.lives_behind(self.block, reg)
    }

    /// 32-bit registers that each register fills.
    pub fn weights(&self) -> &[u8] {
        &self.weights
    }

    /// Those that are free; less than none where more are in use than should be.
    pub fn room(&self) -> i32 {
        self.most as i32 - self.held as i32
    }

    /// 32-bit registers that a register fills.
    pub fn weight(&self, reg: Reg) -> u8 {
        self.weights[usize::from(reg)]
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
        self.held + more <= self.most
    }

    /// The instruction at `pc` comes next.
    pub fn issue(&mut self, pc: usize) {
        let inst = &self.code.insts[pc];
        for reg in inst.read() {
            let left = &mut self.readers[usize::from(reg)];
            *left -= 1;
            if *left == 0 && !self.lives_on(reg) {
                self.end(reg);
            }
        }
        for reg in inst.written() {
            if self.readers[usize::from(reg)] > 0 || self.lives_on(reg) {
                self.begin(reg);
            }
        }
    }
}

/// What each register fills: nothing where it is made of parameters alone, which are in the constant bank and whose sums are
/// made again where they are wanted, and nothing where its readers depend on what it was made of.
fn weights(code: &Code) -> Vec<u8> {
    let mut weights: Vec<u8> = code.weights.clone();
    let mut fixed = vec![false; weights.len()];
    for pc in 0..code.len() {
        let inst = &code.insts[pc];
        let special = |arg: &Arg| matches!(arg, Arg::Special(_) | Arg::Other);
        let is_fixed = matches!(inst.op, Op::Arith(_))
            && !code.lines[pc].args.iter().any(special)
            && inst.srcs.as_slice().iter().all(|reg| fixed[usize::from(*reg)])
            && inst.dsts.as_slice().iter().all(|reg| code.is_single(*reg));
        for reg in inst.written() {
            fixed[usize::from(reg)] = is_fixed;
            if is_fixed || code.is_gone(pc) {
                weights[usize::from(reg)] = 0;
            }
        }
    }
    weights
}
