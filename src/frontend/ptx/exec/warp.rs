//! A warp that runs: one block after the other.
//!
//! Execution spends its time here, so all of it is inlined into one function, `CtaState::run_warp`.

use super::super::lowering::{IssuedBlock, NO_LOOP};
use super::super::ops::lowest_with_value;
use super::super::program::{Block, Micro, Program, Step};
use super::barrier::Barriers;
use super::calls::Calls;
use super::control::{limit_reached, read_clock, too_long, zero_divisor};
use super::iterations::Iterations;
use super::mbarrier::{self, Mbarriers, Wait};
use super::memory::Spaces;
use super::registers::Registers;
use super::stack::{Frame, Stack};
use super::warpgroup::Made;
use super::{Checks, Fault, matrix};
use crate::isa::{BarrierUse, LaneMask, Op, WARP, WarpStream};

/// Warp instructions after which the size of the streams is looked at.
pub const SLICE: u64 = 1 << 20;

/// The most that the streams of one CTA may take `[bytes]`.
pub const MAX_STREAM_BYTES: usize = 1 << 30;

/// A warp that runs, and what it changes beside its registers and memory.
///
/// Those are apart from it as functions that are called by pointer take them: what such a function can reach is read again from
/// memory behind the call.
pub struct Running<'a> {
    pub program: &'a Program,
    /// Its number in the CTA.
    pub warp: usize,
    /// Warps of the CTA that have not ended.
    pub alive: u16,
    pub checks: Checks,
    pub stack: &'a mut Stack,
    pub calls: &'a mut Calls,
    pub barriers: &'a mut Barriers,
    /// Place in the stream of the last barrier that it passed with some of its lanes waiting.
    pub passed: &'a mut Option<(usize, BarrierUse)>,
    pub mbarriers: &'a mut Mbarriers,
    /// Which of its lanes wait at mbarriers.
    pub waits: &'a mut Vec<Wait>,
    pub stream: &'a mut WarpStream,
    pub iterations: &'a mut Iterations,
    /// The products of its warpgroup that the warp has made.
    pub products: &'a mut Made,
    /// Instructions of the text that it has executed.
    pub executed: &'a mut u64,
    /// Calls of `printf`.
    pub prints: &'a mut u64,
    /// Warp instructions that the launch may still execute.
    pub budget: &'a mut u64,
    /// Bytes of the CTA's streams when they were last counted.
    pub others: usize,
    /// Warp instructions until the stream is looked at.
    pub slice: u64,
}

/// The block that a warp is at.
#[derive(Clone, Copy)]
pub struct Here {
    /// The lanes that run, and the block's number.
    pub frame: Frame,
    pub block: Block,
    pub issued: IssuedBlock,
}

impl Here {
    /// The first lane that runs.
    #[inline(always)]
    pub fn lane(self) -> usize {
        self.frame.mask.trailing_zeros() as usize
    }

    /// The block behind it.
    #[inline(always)]
    pub fn next(self) -> u32 {
        self.frame.block + 1
    }

    /// Its last instruction.
    #[inline(always)]
    pub fn last(self) -> usize {
        self.block.end as usize - 1
    }
}

impl Running<'_> {
    /// The block of the lanes that run; `None` when all wait or have exited.
    #[inline(always)]
    pub fn here(&self) -> Option<Here> {
        let frame = self.stack.top()?;
        let number = frame.block as usize;
        let (block, issued) = (self.program.blocks[number], self.program.issued.blocks[number]);
        Some(Here { frame, block, issued })
    }

    /// What a lane did wrong.
    #[inline(always)]
    pub fn fault(&self, pc: usize, lane: usize, message: String) -> Fault {
        Fault { pc: pc as u32, warp: self.warp as u32, lane: lane as u32, message }
    }

    /// Counts the instructions of a block, which the launch may be out of.
    #[inline(always)]
    pub fn count(&mut self, here: Here) -> Result<(), Fault> {
        let Block { start, end, .. } = here.block;
        let (issued, length) = (&self.program.issued, u64::from(end - start));
        let Some(left) = self.budget.checked_sub(length) else {
            return Err(limit_reached(issued, self.stream, start, self.warp, here.lane()));
        };
        *self.budget = left;
        self.slice = self.slice.saturating_sub(length);
        if self.slice == 0 {
            self.slice = SLICE;
            if self.others + self.stream.bytes() > MAX_STREAM_BYTES {
                return Err(too_long(issued, self.stream, start, self.warp));
            }
        }
        *self.executed += length;
        Ok(())
    }

    /// Puts what the machine issues for a block into the stream.
    #[inline(always)]
    pub fn record(&mut self, here: Here) {
        let (issued, Frame { block, mask, .. }) = (&self.program.issued, here.frame);
        if self.iterations.end_before(block, mask) {
            self.iterations.finish(issued, self.stream);
        }
        let IssuedBlock { start, len, unrolled, .. } = here.issued;
        if unrolled != NO_LOOP {
            self.iterations.add(unrolled, block, issued, mask, self.stream);
        } else if len > 0 {
            self.stream.push_run(start, len, mask);
            self.iterations.begin_region(self.stream);
        }
    }

    /// Executes the instructions of a block; gives the last one, with its lanes, if it is one that ends a block.
    #[inline(always)]
    pub fn execute(
        &mut self,
        here: Here,
        regs: &mut Registers,
        spaces: &mut Spaces,
    ) -> Result<(Step, LaneMask), Fault> {
        let Here { frame, block, .. } = here;
        let program = self.program;
        let mut last = (Step::Nothing, 0);
        for pc in block.start as usize..block.end as usize {
            let micro = &program.micros[pc];
            let active = regs.guarded(micro, frame.mask);
            match micro.step {
                Step::Compute(exec) => exec(regs, micro, active),
                Step::Match(exec) => {
                    self.push_match(regs, micro, active);
                    exec(regs, micro, active);
                }
                Step::Memory(access) => spaces
                    .access(&program.accesses[access as usize], regs, active, self.stream)
                    .map_err(|(lane, message)| self.fault(pc, lane, message))?,
                Step::Divide(exec, bits) => {
                    if self.checks.division
                        && let Some(lane) = zero_divisor(regs, micro, active, bits)
                    {
                        return Err(self.fault(pc, lane, "divides a whole number by zero".into()));
                    }
                    exec(regs, micro, active);
                }
                Step::Param(access) => spaces
                    .param(&program.accesses[access as usize], regs, active)
                    .map_err(|(lane, message)| self.fault(pc, lane, message))?,
                Step::Prefetch(access) => {
                    let access = &program.accesses[access as usize];
                    spaces.prefetch(access, regs, active, self.stream);
                }
                Step::Copy(copy) => spaces
                    .copy(&program.copies[copy as usize], regs, active, self.stream)
                    .map_err(|(lane, message)| self.fault(pc, lane, message))?,
                Step::Product(product) => match active {
                    LaneMask::MAX => program.products[product as usize].execute(regs),
                    0 => {}
                    some => return Err(self.fault(pc, here.lane(), matrix::lanes_missing(some))),
                },
                Step::Matrices(matrices) => spaces
                    .matrices(&program.matrices[matrices as usize], regs, active, self.stream)
                    .map_err(|(lane, message)| self.fault(pc, lane, message))?,
                Step::GroupProduct(product) => {
                    self.group_product(product, (pc, active), regs, spaces)?;
                }
                Step::InitMbarrier(index) => {
                    let access = program.mbarriers[index as usize].access as usize;
                    mbarrier::init(
                        &program.accesses[access],
                        active,
                        regs,
                        spaces.shared,
                        self.stream,
                    )
                    .map_err(|(lane, message)| self.fault(pc, lane, message))?;
                }
                Step::Clock => {
                    let rest = u64::from(block.end) - pc as u64;
                    read_clock(regs, micro, active, *self.executed - rest);
                }
                Step::Print => *self.prints += u64::from(active != 0),
                Step::Trap if active != 0 => {
                    let message = "executed `trap`".to_owned();
                    return Err(self.fault(pc, active.trailing_zeros() as usize, message));
                }
                Step::Assert(site) if active != 0 => {
                    let lane = active.trailing_zeros() as usize;
                    let args = &program.calls[site as usize].args;
                    let base = self.calls.base(frame.call);
                    return Err(self.fault(pc, lane, spaces.failed_assertion(lane, base, args)));
                }
                step => {
                    if program.insts[pc].op == Op::Match {
                        self.push_match(regs, micro, active);
                    }
                    last = (step, active);
                }
            }
        }
        self.iterations.end_region(here.issued.order, &program.issued, self.stream);
        Ok(last)
    }

    /// Makes the warp's part of a product of its warpgroup.
    #[inline(never)]
    fn group_product(
        &mut self,
        product: u32,
        (pc, active): (usize, LaneMask),
        regs: &mut Registers,
        spaces: &Spaces,
    ) -> Result<(), Fault> {
        if active != LaneMask::MAX {
            let lane = active.trailing_zeros() as usize % WARP;
            return Err(self.fault(pc, lane, matrix::lanes_missing(active)));
        }
        *self.products = Made { count: self.products.count + 1, last: pc as u32 };
        self.program.group_products[product as usize]
            .execute(regs, spaces.shared, self.warp)
            .map_err(|(lane, message)| self.fault(pc, lane, message))
    }

    /// Says which lanes have the same value.
    #[cold]
    fn push_match(&mut self, regs: &Registers, micro: &Micro, active: LaneMask) {
        self.stream.push_addresses(active, &lowest_with_value(regs, micro, active));
    }
}
