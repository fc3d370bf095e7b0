//! How many registers are in use while a region is put in order.

use std::ops::Range;

use super::super::liveness::members;
use super::code::Code;
use crate::isa::Reg;

/// Registers that a thread can have where an SM holds 64, 48, 40, 36, .. 8 warps: of 65,536, in eights. `ptxas` takes the least
/// with which the text as it stands does. Source: CUDA C++ Programming Guide, compute capabilities 7.0 to 9.0; measured with
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
    /// Of a kernel that consists of `regions`.
    pub fn new(code: &'a Code<'a>, regions: &[Range<usize>]) -> Self {
        let registers = code.weights.len();
        let mut pressure = Pressure {
            code,
            weights: weights(code),
            live_out: code.live_out(),
            block: 0,
            readers: vec![0; registers],
            is_live: vec![false; registers],
            touched: Vec::new(),
            held: 0,
            most: 0,
        };
        let peak = regions.iter().map(|region| pressure.peak(region.clone())).max().unwrap_or(0);
        let step = STEPS.into_iter().find(|step| peak + SPARE < *step);
        pressure.most = step.unwrap_or(STEPS[STEPS.len() - 1]) - SPARE;
        pressure
    }

    /// The most registers in use at once in a region, in the order of the text.
    fn peak(&mut self, region: Range<usize>) -> u32 {
        let (first, last) = (self.code.blocks[region.start], self.code.blocks[region.end - 1]);
        self.start(region);
        let mut peak = self.held;
        for pc in first.start as usize..last.end as usize {
            self.issue(pc);
            peak = peak.max(self.held);
        }
        peak
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
        self.held + more <= self.most
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

/// What each register fills: nothing where it is a parameter, which is in the constant bank, and nothing where its readers
/// depend on what it was made of.
fn weights(code: &Code) -> Vec<u8> {
    let mut weights: Vec<u8> = code.weights.clone();
    for pc in 0..code.len() {
        let is_parameter = code.opcode(pc) == "ld" && code.has(pc, "param");
        if is_parameter || code.is_gone(pc) {
            for &reg in code.insts[pc].dsts.as_slice() {
                weights[usize::from(reg)] = 0;
            }
        }
    }
    weights
}
