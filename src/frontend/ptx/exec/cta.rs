//! The warps of a CTA, in turn.

use std::ops::Range;

use super::super::lowering::NO_LOOP;
use super::super::program::{NO_BLOCK, Program, Step};
use super::barrier::{self, Barriers, Reduction};
use super::calls::Calls;
use super::control::{
    deadlock, limit_reached, meeting, micro_at, read_clock, release_lanes, too_long, ways_of,
    zero_divisor,
};
use super::iterations::Iterations;
use super::memory::Spaces;
use super::registers::Registers;
use super::rows::RegisterRows;
use super::shared::SharedMemory;
use super::stack::Stack;
use super::{Checks, Fault};
use crate::isa::{BarrierKind, BarrierUse, Cta, LaneMask, WARP, WarpStream};
use crate::units::Bits;
use crate::workload::DeviceMemory;

/// Warp instructions after which the size of the streams is looked at.
const SLICE: u64 = 1 << 20;

/// The most that the streams of one CTA may take `[bytes]`.
const MAX_STREAM_BYTES: usize = 1 << 30;

/// The place of a CTA in its launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Its coordinates.
    pub at: [u32; 3],
    /// Its number in launch order.
    pub number: u64,
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
    pub(super) shared: SharedMemory,
    pub(super) local: Vec<u8>,
    /// Constants of the module, with the parameters behind them.
    pub(super) consts: Vec<u8>,
    /// The place of the buffer that was accessed last.
    pub(super) last_buffer: Range<u64>,
    pub(super) checks: Checks,
    /// Calls of `printf`, by warps.
    pub(super) prints: u64,
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
        let mut alive = warps;
        // Each round takes every warp that can run to its next barrier.
        while alive > 0 {
            let mut moved = false;
            for warp in 0..warps {
                if self.stacks[warp].top().is_none() {
                    continue;
                }
                moved = true;
                self.rows.give(warp, place.at);
                let before = *budget;
                self.run_warp(program, place, warp, global, budget, cta, alive as u16)?;
                self.count_bytes(before - *budget, cta, program, warp)?;
                if self.stacks[warp].is_done() {
                    alive -= 1;
                    self.rows.take_back(warp);
                    self.barriers.end_warp(alive as u16);
                }
                while let Some((_, held)) = self.barriers.take_opened() {
                    self.release(program, held);
                }
            }
            if !moved && alive > 0 {
                let CtaState { stacks, rows, barriers, .. } = self;
                return Err(deadlock(program, stacks, rows, barriers, alive as u16));
            }
        }
        Ok(())
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

    /// Runs a warp until all of its lanes wait or have ended.
    #[expect(clippy::too_many_arguments, reason = "parts of the CTA that are lent for the call")]
    fn run_warp(
        &mut self,
        program: &Program,
        place: Place,
        warp: usize,
        global: &mut DeviceMemory,
        budget: &mut u64,
        cta: &mut Cta,
        alive: u16,
    ) -> Result<(), Fault> {
        let mut regs = registers(program, warp, &mut self.rows, &mut self.preds);
        let local = warp * WARP * program.local_bytes as usize;
        let mut spaces = Spaces {
            global,
            last_buffer: &mut self.last_buffer,
            shared: &mut self.shared,
            local: &mut self.local[local..local + WARP * program.local_bytes as usize],
            local_bytes: u64::from(program.local_bytes),
            warp_of_launch: place.number * self.stacks.len() as u64 + warp as u64,
            consts: &self.consts,
        };
        let issued = &program.issued;
        let stack = &mut self.stacks[warp];
        let calls = &mut self.calls[warp];
        let stream = &mut cta.warps[warp];
        let executed = &mut self.executed[warp];
        let fault = |pc: usize, lane: usize, message: String| Fault {
            pc: pc as u32,
            warp: warp as u32,
            lane: lane as u32,
            message,
        };
        let mut slice = SLICE;
        let iterations = &mut self.iterations;
        iterations.clear();
        while let Some(frame) = stack.top() {
            let block = program.blocks[frame.block as usize];
            let mask = frame.mask;
            let length = block.end - block.start;
            let lane = mask.trailing_zeros() as usize;
            let left = budget.checked_sub(u64::from(length));
            let Some(left) = left else {
                return Err(limit_reached(issued, stream, block.start, warp, lane));
            };
            *budget = left;
            slice = slice.saturating_sub(u64::from(length));
            if slice == 0 {
                slice = SLICE;
                if self.stream_bytes + stream.bytes() > MAX_STREAM_BYTES {
                    return Err(too_long(issued, stream, block.start, warp));
                }
            }
            *executed += u64::from(length);
            let seen = issued.blocks[frame.block as usize];
            if iterations.end_before(frame.block, mask) {
                iterations.finish(issued, stream);
            }
            if seen.unrolled != NO_LOOP {
                iterations.add(seen.unrolled, frame.block, issued, mask, stream);
            } else if seen.len > 0 {
                stream.push_run(seen.start, seen.len, mask);
                iterations.begin_region(stream);
            }
            let mut last = (Step::Nothing, 0);
            for pc in block.start as usize..block.end as usize {
                let micro = &program.micros[pc];
                let active = mask & (regs.preds[usize::from(micro.guard)] ^ micro.guard_flip);
                match micro.step {
                    Step::Compute(exec) => exec(&mut regs, micro, active),
                    Step::Memory(access) => spaces
                        .access(&program.accesses[access as usize], &mut regs, active, stream)
                        .map_err(|(lane, message)| fault(pc, lane, message))?,
                    Step::Divide(exec, bits) => {
                        if self.checks.division
                            && let Some(lane) = zero_divisor(&regs, micro, active, bits)
                        {
                            return Err(fault(pc, lane, "divides a whole number by zero".into()));
                        }
                        exec(&mut regs, micro, active);
                    }
                    Step::Param(access) => spaces
                        .param(&program.accesses[access as usize], &mut regs, active)
                        .map_err(|(lane, message)| fault(pc, lane, message))?,
                    Step::Copy(copy) => spaces
                        .copy(&program.copies[copy as usize], &regs, active, stream)
                        .map_err(|(lane, message)| fault(pc, lane, message))?,
                    Step::Clock => {
                        let rest = u64::from(block.end) - pc as u64;
                        read_clock(&mut regs, micro, active, *executed - rest);
                    }
                    Step::Print => self.prints += u64::from(active != 0),
                    Step::Trap if active != 0 => {
                        let message = "executed `trap`".to_owned();
                        return Err(fault(pc, active.trailing_zeros() as usize, message));
                    }
                    Step::Assert(site) if active != 0 => {
                        let lane = active.trailing_zeros() as usize;
                        let args = &program.calls[site as usize].args;
                        let message = spaces.failed_assertion(lane, calls.base(frame.call), args);
                        return Err(fault(pc, lane, message));
                    }
                    step => last = (step, active),
                }
            }
            iterations.end_region(seen.order, issued, stream);
            let next = frame.block + 1;
            let pc = block.end as usize - 1;
            match last {
                (Step::Branch(target), taken) => {
                    if seen.predicated != NO_BLOCK && taken == mask {
                        // No lane executes the block that is predicated.
                        let skipped = issued.blocks[seen.predicated as usize];
                        (0..skipped.accesses).for_each(|_| stream.push_affine(0, 0, 0));
                        iterations.end_region(skipped.order, issued, stream);
                    }
                    stack.branch(taken, target, next, block.reconverge);
                }
                (Step::Exit, lanes) => {
                    stack.exit(lanes, next);
                    calls.end_if_done(frame.call, program, stack, &mut regs, &mut spaces);
                }
                (Step::Return, lanes) => {
                    stack.leave(lanes, next);
                    calls.end_if_done(frame.call, program, stack, &mut regs, &mut spaces);
                }
                (Step::Call(_), 0) => stack.go(next),
                (Step::Call(site), active) => {
                    let (function, same) = Calls::target(program, site, &regs, active)
                        .map_err(|(lane, message)| fault(pc, lane, message))?;
                    if same == active {
                        calls
                            .enter(program, (site, function, same), stack, &mut regs, &mut spaces)
                            .map_err(|message| fault(pc, lane, message))?;
                    } else {
                        // The call is a block of its own: it executes again for each function.
                        let ways = [
                            (next, mask & !active),
                            (frame.block, active & !same),
                            (frame.block, same),
                        ];
                        let skip = usize::from(mask == active);
                        stack.part(&ways[skip..], next);
                    }
                }
                (Step::Indexed(table), active) => {
                    let targets = &program.tables[table as usize];
                    let ways = ways_of(targets, &regs, micro_at(program, pc), active)
                        .map_err(|(lane, message)| fault(pc, lane, message))?;
                    let stay = (mask & !active != 0).then_some((next, mask & !active));
                    let ways: Vec<(u32, LaneMask)> = stay.into_iter().chain(ways).collect();
                    stack.part(&ways, block.reconverge);
                }
                (Step::WarpSync, active) => {
                    let row = micro_at(program, pc).ops[0];
                    let members = regs.narrow[usize::from(row)][lane];
                    if active == 0 || members & stack.live() & !mask == 0 {
                        stack.go(next);
                    } else {
                        stack.wait(pc as u32);
                    }
                }
                (Step::Barrier(_), 0) => {
                    stream.push_barrier(BarrierUse { kind: BarrierKind::Pass, ..BarrierUse::ALL });
                    stack.go(next);
                }
                (Step::Barrier(barrier), active) => {
                    let at = barrier::named(&program.barriers[barrier as usize], &regs, active)
                        .map_err(|(lane, message)| fault(pc, lane, message))?;
                    if at.kind == BarrierKind::Arrive {
                        if active != stack.live() {
                            let message = "arrives at a barrier without all lanes of its warp";
                            return Err(fault(pc, lane, message.into()));
                        }
                        stream.push_barrier(at);
                        self.barriers
                            .arrive(at, warp, false, alive)
                            .map_err(|message| fault(pc, lane, message))?;
                        stack.go(next);
                    } else {
                        if active != mask {
                            stack.part(&[(next, mask & !active), (frame.block, active)], next);
                        }
                        stack.wait(pc as u32);
                        let pass = BarrierUse { kind: BarrierKind::Pass, ..at };
                        self.passed[warp] = Some((stream.push_barrier(pass), at));
                    }
                }
                _ => stack.go(next),
            }
            if stack.top().is_none() && !stack.is_done() {
                // Lanes that wait for others of the warp come first.
                if release_lanes(program, stack, &regs) {
                    continue;
                }
                let at = meeting(program, stack, &regs).map_err(|(a, b)| {
                    let [first, second] = [a, b].map(|pc| program.insts[pc as usize].line);
                    let message = format!(
                        "lanes of its warp wait in line {first} and others in line {second}, \
                         at different barriers, so that none opens"
                    );
                    fault(a as usize, stack.live().trailing_zeros() as usize, message)
                })?;
                if let Some((place, _)) = self.passed[warp] {
                    stream.set_barrier(place, at);
                }
                return self
                    .barriers
                    .arrive(at, warp, true, alive)
                    .map_err(|message| fault(pc, lane, message));
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
