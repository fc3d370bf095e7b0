//! The warps of a CTA, in turn.

use std::ops::Range;

use super::super::program::{ConstantRow, Program, Step, TRUE};
use super::Fault;
use super::memory::Spaces;
use super::registers::Registers;
use super::stack::Stack;
use crate::isa::{Cta, LaneMask, WARP};
use crate::workload::DeviceMemory;

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
    threads: u32,
    /// Registers of all warps at the start of a CTA: constants in place, everything else zero.
    narrow_start: Vec<[u32; WARP]>,
    wide_start: Vec<[u64; WARP]>,
    narrow: Vec<[u32; WARP]>,
    wide: Vec<[u64; WARP]>,
    preds: Vec<LaneMask>,
    stacks: Vec<Stack>,
    shared: Vec<u8>,
    local: Vec<u8>,
    /// Rows that hold a coordinate of the CTA, with its axis.
    ctaid_rows: Vec<(ConstantRow, usize)>,
    /// The place of the buffer that was accessed last.
    last_buffer: Range<u64>,
}

impl CtaState {
    /// Storage for CTAs of `threads` threads. `value` gives a constant row's value for a thread,
    /// `None` for the coordinates of the CTA along an axis, which `axis` names.
    pub fn new(
        program: &Program,
        threads: u32,
        shared_bytes: u32,
        value: impl Fn(&ConstantRow, u32) -> u64,
        axis: impl Fn(&ConstantRow) -> Option<usize>,
    ) -> CtaState {
        let warps = threads.div_ceil(WARP as u32) as usize;
        let (narrow_rows, wide_rows) =
            (usize::from(program.narrow_rows), usize::from(program.wide_rows));
        let mut narrow_start = vec![[0; WARP]; warps * narrow_rows];
        let mut wide_start = vec![[0; WARP]; warps * wide_rows];
        let mut ctaid_rows = Vec::new();
        for constant in &program.constants {
            if let Some(axis) = axis(constant) {
                ctaid_rows.push((*constant, axis));
                continue;
            }
            let row = usize::from(constant.row);
            for warp in 0..warps {
                let values: [u64; WARP] =
                    std::array::from_fn(|lane| value(constant, (warp * WARP + lane) as u32));
                if constant.wide {
                    wide_start[warp * wide_rows + row] = values;
                } else {
                    narrow_start[warp * narrow_rows + row] = values.map(|value| value as u32);
                }
            }
        }
        CtaState {
            threads,
            narrow: narrow_start.clone(),
            wide: wide_start.clone(),
            narrow_start,
            wide_start,
            preds: vec![0; warps * usize::from(program.pred_rows)],
            stacks: vec![Stack::default(); warps],
            shared: vec![0; shared_bytes as usize],
            local: vec![0; warps * WARP * program.local_bytes as usize],
            ctaid_rows,
            last_buffer: 0..0,
        }
    }

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
        self.reset(program, place);
        cta.reset(warps);
        // Each round takes every warp to its next barrier. A warp that has ended counts as arrived,
        // so a barrier that others never reach holds nobody up.
        let mut running = true;
        while running {
            running = false;
            for warp in 0..warps {
                if self.stacks[warp].top().is_some() {
                    running |= self.run_warp(program, place, warp, global, budget, cta)?;
                }
            }
        }
        Ok(())
    }

    fn reset(&mut self, program: &Program, place: Place) {
        self.narrow.copy_from_slice(&self.narrow_start);
        self.wide.copy_from_slice(&self.wide_start);
        self.preds.fill(0);
        self.shared.fill(0);
        self.local.fill(0);
        for preds in self.preds.chunks_exact_mut(usize::from(program.pred_rows)) {
            preds[usize::from(TRUE)] = !0;
        }
        for (constant, axis) in &self.ctaid_rows {
            let value = place.at[*axis];
            let row = usize::from(constant.row);
            for rows in self.narrow.chunks_exact_mut(usize::from(program.narrow_rows)) {
                rows[row] = [value; WARP];
            }
        }
        for (warp, stack) in self.stacks.iter_mut().enumerate() {
            let lanes = (self.threads - (warp * WARP) as u32).min(WARP as u32);
            stack.start(!0 >> (WARP as u32 - lanes));
        }
    }

    /// Runs a warp until a barrier (`true`) or its end (`false`).
    fn run_warp(
        &mut self,
        program: &Program,
        place: Place,
        warp: usize,
        global: &mut DeviceMemory,
        budget: &mut u64,
        cta: &mut Cta,
    ) -> Result<bool, Fault> {
        let rows = |count: u16| warp * usize::from(count)..(warp + 1) * usize::from(count);
        let mut regs = Registers {
            narrow: &mut self.narrow[rows(program.narrow_rows)],
            wide: &mut self.wide[rows(program.wide_rows)],
            preds: &mut self.preds[rows(program.pred_rows)],
        };
        let local = warp * WARP * program.local_bytes as usize;
        let mut spaces = Spaces {
            global,
            last_buffer: &mut self.last_buffer,
            shared: &mut self.shared,
            local: &mut self.local[local..local + WARP * program.local_bytes as usize],
            local_bytes: u64::from(program.local_bytes),
            warp_of_launch: place.number * self.stacks.len() as u64 + warp as u64,
            consts: &program.consts,
        };
        let stack = &mut self.stacks[warp];
        let stream = &mut cta.warps[warp];
        let fault = |pc: usize, lane: u32, message: String| Fault {
            pc: pc as u32,
            warp: warp as u32,
            lane,
            message,
        };
        while let Some(frame) = stack.top() {
            let block = program.blocks[frame.block as usize];
            let mask = frame.mask;
            let length = block.end - block.start;
            *budget = budget.checked_sub(u64::from(length)).ok_or_else(|| {
                let message = "the launch executed more warp instructions than its limit";
                fault(block.start as usize, mask.trailing_zeros(), message.into())
            })?;
            stream.push_run(block.start, length, mask);
            let mut last = (Step::Nothing, 0);
            for pc in block.start as usize..block.end as usize {
                let micro = &program.micros[pc];
                let active = mask & (regs.preds[usize::from(micro.guard)] ^ micro.guard_flip);
                match micro.step {
                    Step::Compute(exec) => exec(&mut regs, micro, active),
                    Step::Memory(access) => spaces
                        .access(&program.accesses[access as usize], &mut regs, active, stream)
                        .map_err(|(lane, message)| fault(pc, lane as u32, message))?,
                    Step::Trap if active != 0 => {
                        let message = "executed `trap`".to_owned();
                        return Err(fault(pc, active.trailing_zeros(), message));
                    }
                    step => last = (step, active),
                }
            }
            let next = frame.block + 1;
            match last {
                (Step::Branch(target), taken) => {
                    stack.branch(taken, target, next, block.reconverge);
                }
                (Step::Exit, lanes) => stack.exit(lanes, next),
                (Step::Barrier, _) => {
                    stack.go(next);
                    return Ok(true);
                }
                _ => stack.go(next),
            }
        }
        Ok(false)
    }
}
