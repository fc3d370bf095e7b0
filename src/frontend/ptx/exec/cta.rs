//! The warps of a CTA, in turn.

use std::ops::Range;

use super::super::program::Program;
use super::barrier::{self, Barriers, Reduction};
use super::calls::Calls;
use super::control::{deadlock, let_go_on, too_long};
use super::iterations::Iterations;
use super::mbarrier::{Mbarriers, Wait, some_wait};
use super::memory::Spaces;
use super::registers::Registers;
use super::rows::RegisterRows;
use super::shared::SharedMemory;
use super::stack::Stack;
use super::warp::{MAX_STREAM_BYTES, Running, SLICE};
use super::warpgroup::{self, Made};
use super::{Checks, Fault};
use crate::isa::{BarrierUse, Cta, LaneMask, WARP, WARPGROUP, WarpStream};
use crate::units::Bits;
use crate::workload::DeviceMemory;

/// The place of a CTA in its launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Its coordinates.
    pub at: [u32; 3],
    /// Its number in launch order.
    pub number: u64,
}

/// Rounds in a row after which warps at mbarriers whose phases do not end are waited for no longer.
const GIVES_UP: u32 = 1 << 12;

/// What is lent to a CTA that executes.
struct Lent<'a> {
    program: &'a Program,
    place: Place,
    global: &'a mut DeviceMemory,
    budget: &'a mut u64,
    cta: &'a mut Cta,
}

/// The state of the CTA that executes; its storage serves one CTA after the other.
#[derive(Debug)]
pub struct CtaState {
    pub(super) threads: u32,
    pub(super) rows: RegisterRows,
    pub(super) preds: Vec<LaneMask>,
    pub(super) stacks: Vec<Stack>,
    pub(super) calls: Vec<Calls>,
    pub(super) barriers: Barriers,
    /// Place in its stream of the last barrier that each warp passed with some of its lanes waiting.
    pub(super) passed: Vec<Option<(usize, BarrierUse)>>,
    pub(super) mbarriers: Mbarriers,
    /// By warp: which lanes wait at mbarriers.
    pub(super) waits: Vec<Vec<Wait>>,
    pub(super) shared: SharedMemory,
    pub(super) local: Vec<u8>,
    /// Constants of the module, with the parameters behind them.
    pub(super) consts: Vec<u8>,
    /// The place of the buffer that was accessed last.
    pub(super) last_buffer: Range<u64>,
    pub(super) checks: Checks,
    /// Calls of `printf`, by warps.
    pub(super) prints: u64,
    /// By warp: the products of its warpgroup that it has made.
    pub(super) products: Vec<Made>,
    /// Instructions of the text that each warp has executed.
    pub(super) executed: Vec<u64>,
    /// Bytes of the CTA's streams when they were last counted, and instructions since.
    pub(super) stream_bytes: usize,
    pub(super) uncounted: u64,
    pub(super) iterations: Iterations,
}

impl CtaState {
    /// Executes a CTA and records what its warps did. `budget` is lowered by the warp instructions
    /// executed; running out of it is a fault.
    pub fn run(
        &mut self,
        program: &Program,
        place: Place,
        global: &mut DeviceMemory,
        budget: &mut u64,
        cta: &mut Cta,
    ) -> Result<(), Fault> {
        let warps = self.stacks.len();
        self.reset(program);
        cta.reset(warps);
        let mut lent = Lent { program, place, global, budget, cta };
        let mut alive = warps;
        // Rounds without a warp that went on by itself or arrived anywhere, one after the other.
        let mut given_up = 0;
        let mut arrivals = 0;
        // Each round takes every warp that can run to its next barrier.
        while alive > 0 {
            let mut moved = false;
            for warp in 0..warps {
                if self.stacks[warp].top().is_none() {
                    if !self.go_on(&mut lent, warp, false) {
                        continue;
                    }
                    given_up = 0;
                }
                moved = true;
                self.rows.give(warp, place.at);
                let before = *lent.budget;
                self.run_warp(&mut lent, warp, alive as u16)?;
                self.count_bytes(before - *lent.budget, lent.cta, program, warp)?;
                if self.stacks[warp].is_done() {
                    alive -= 1;
                    self.rows.take_back(warp);
                    self.barriers.end_warp(alive as u16);
                }
                while let Some((id, held)) = self.barriers.take_opened() {
                    if let Some(group) = barrier::warpgroup(id) {
                        warpgroup::check(&self.products, group)?;
                    }
                    self.release(program, held);
                }
            }
            if moved || alive == 0 {
                continue;
            }
            // Who waits at an mbarrier may do something else where its phase does not end.
            given_up = if self.mbarriers.arrivals() == arrivals { given_up + 1 } else { 0 };
            arrivals = self.mbarriers.arrivals();
            let waits = given_up > GIVES_UP
                || (0..warps).fold(true, |waits, warp| !self.go_on(&mut lent, warp, true) & waits);
            if waits {
                let CtaState { stacks, rows, barriers, .. } = self;
                return Err(deadlock(program, stacks, rows, barriers, alive as u16));
            }
        }
        let groups = if program.group_products.is_empty() { 0 } else { warps / WARPGROUP };
        (0..groups).try_for_each(|group| warpgroup::check(&self.products, group))
    }

    /// Lets lanes of a warp go on from mbarriers whose phases have ended, or all where it gives up; true when some do.
    fn go_on(&mut self, lent: &mut Lent, warp: usize, gives_up: bool) -> bool {
        let program = lent.program;
        if !some_wait(program, &self.stacks[warp]) {
            return false;
        }
        let mut regs = registers(program, warp, &mut self.rows, &mut self.preds);
        let stack = &mut self.stacks[warp];
        // Before they give up, lanes go ahead that are held up to meet those that wait.
        if gives_up && stack.go_ahead(self.calls[warp].callers()) {
            return true;
        }
        let stream = (&mut lent.cta.warps[warp], &mut self.waits[warp]);
        self.mbarriers.go_on(program, stack, &mut regs, &self.shared, stream, gives_up)
    }

    /// Lets the warps of `held` go on from a barrier.
    fn release(&mut self, program: &Program, held: u64) {
        let mut reduction = Reduction::default();
        for warp in Bits(held) {
            let preds = &self.preds[warp * usize::from(program.pred_rows)..];
            reduction.add(program, &self.stacks[warp], preds);
        }
        for warp in Bits(held) {
            let mut regs = registers(program, warp, &mut self.rows, &mut self.preds);
            reduction.give(program, &self.stacks[warp], &mut regs);
            self.stacks[warp].release(|_| true);
            self.passed[warp] = None;
        }
    }

    /// Counts the bytes of the streams now and then, so that a kernel without end does not fill the memory.
    #[inline]
    fn count_bytes(
        &mut self,
        executed: u64,
        cta: &Cta,
        program: &Program,
        warp: usize,
    ) -> Result<(), Fault> {
        self.uncounted += executed;
        if self.uncounted < SLICE {
            return Ok(());
        }
        self.uncounted = 0;
        self.stream_bytes = cta.warps.iter().map(WarpStream::bytes).sum();
        if self.stream_bytes <= MAX_STREAM_BYTES {
            return Ok(());
        }
        let pc = cta.warps[warp].recent().next().map_or(0, |(pc, _)| pc);
        // The instruction of the text in that line.
        let line = program.issued.insts[pc as usize].line;
        let place = program.insts.iter().position(|inst| inst.line == line).unwrap_or(0);
        Err(too_long(&program.issued, &cta.warps[warp], place as u32, warp))
    }

    /// Runs a warp until all of its lanes wait or have ended. `alive` warps of the CTA have not ended.
    fn run_warp(&mut self, lent: &mut Lent, warp: usize, alive: u16) -> Result<(), Fault> {
        let program = lent.program;
        let mut regs = registers(program, warp, &mut self.rows, &mut self.preds);
        let local = warp * WARP * program.local_bytes as usize;
        let mut spaces = Spaces {
            global: &mut *lent.global,
            last_buffer: &mut self.last_buffer,
            shared: &mut self.shared,
            local: &mut self.local[local..local + WARP * program.local_bytes as usize],
            local_bytes: u64::from(program.local_bytes),
            warp_of_launch: lent.place.number * self.stacks.len() as u64 + warp as u64,
            consts: &self.consts,
        };
        let mut running = Running {
            program,
            warp,
            alive,
            checks: self.checks,
            stack: &mut self.stacks[warp],
            calls: &mut self.calls[warp],
            barriers: &mut self.barriers,
            passed: &mut self.passed[warp],
            mbarriers: &mut self.mbarriers,
            waits: &mut self.waits[warp],
            stream: &mut lent.cta.warps[warp],
            iterations: &mut self.iterations,
            products: &mut self.products[warp],
            executed: &mut self.executed[warp],
            prints: &mut self.prints,
            budget: &mut *lent.budget,
            others: self.stream_bytes,
            slice: SLICE,
        };
        running.iterations.clear();
        while let Some(here) = running.here() {
            running.count(here)?;
            running.record(here);
            let last = running.execute(here, &mut regs, &mut spaces)?;
            running.end_block(here, last, &mut regs, &mut spaces)?;
            // Lanes that wait for others of the warp come first.
            let Running { stack, calls, .. } = &mut running;
            if stack.all_wait()
                && !let_go_on(program, stack, calls, &mut regs)
                && !running.waits_at_mbarrier(&mut regs, &spaces)
            {
                return running.arrive(here, &regs);
            }
        }
        Ok(())
    }
}

/// The registers of a warp.
#[inline(always)]
fn registers<'a>(
    program: &Program,
    warp: usize,
    rows: &'a mut RegisterRows,
    preds: &'a mut [LaneMask],
) -> Registers<'a> {
    let count = usize::from(program.pred_rows);
    let (narrow, wide) = rows.of_mut(warp);
    Registers { narrow, wide, preds: &mut preds[warp * count..][..count] }
}
