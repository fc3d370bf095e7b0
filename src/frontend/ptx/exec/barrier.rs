//! The barriers of a CTA.
//!
//! A warp arrives when all of its lanes that have not exited wait at the barrier, at whatever
//! instruction; it then counts as 32 threads. Warps that have ended count as arrived at a barrier of
//! all threads, and not at one with a count.
//!
//! Source: PTX ISA 9.0, section 9.7.13 "barrier".

use super::super::program::{Barrier, BarrierKind, Micro, Program, Step};
use super::registers::Registers;
use super::stack::Stack;
use crate::isa::{BARRIERS, BarrierUse, LaneMask, WARP, WARPGROUP};
use crate::units::MAX_CTA_THREADS;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Warps that it is for; 0 for all that run.
    warps: u16,
    arrived: u16,
    /// Warps that wait.
    waiting: u64,
    /// Warps that it has opened for and that have not been released.
    opened: u64,
}

/// Warpgroups of a CTA, at most.
const WARPGROUPS: usize = MAX_CTA_THREADS as usize / WARP / WARPGROUP;

/// Where the warps of a warpgroup wait for each other: behind the barriers that have numbers, and the machine is not told of it.
pub fn of_warpgroup(warp: usize) -> BarrierUse {
    let id = (BARRIERS + warp / WARPGROUP) as u8;
    BarrierUse { id, warps: WARPGROUP as u16, kind: crate::isa::BarrierKind::Wait }
}

/// The warpgroup whose warps wait for each other at a barrier, if it is such a one.
pub fn warpgroup(id: u8) -> Option<usize> {
    usize::from(id).checked_sub(BARRIERS)
}

/// Who waits where.
#[derive(Clone, Debug, Default)]
pub struct Barriers {
    slots: [Slot; BARRIERS + WARPGROUPS],
}

impl Barriers {
    /// A warp arrives, with `alive` warps running; it waits if it must.
    pub fn arrive(
        &mut self,
        at: BarrierUse,
        warp: usize,
        waits: bool,
        alive: u16,
    ) -> Result<(), String> {
        let slot = &mut self.slots[usize::from(at.id)];
        if slot.arrived > 0 && slot.warps != at.warps {
            return Err(format!(
                "arrives at barrier {} for {} warps, where others arrived for {} (0 stands for all)",
                at.id, at.warps, slot.warps
            ));
        }
        slot.warps = at.warps;
        slot.arrived += 1;
        slot.waiting |= u64::from(waits) << warp;
        slot.open_if_met(alive);
        Ok(())
    }

    /// A warp has ended; `alive` others run.
    pub fn end_warp(&mut self, alive: u16) {
        self.slots.iter_mut().for_each(|slot| slot.open_if_met(alive));
    }

    /// Takes a barrier that has opened, and the warps that it held.
    pub fn take_opened(&mut self) -> Option<(u8, u64)> {
        let (id, slot) = self.slots.iter_mut().enumerate().find(|(_, slot)| slot.opened != 0)?;
        Some((id as u8, std::mem::take(&mut slot.opened)))
    }

    /// How many warps have arrived at a barrier, and how many it is for with `alive` running.
    pub fn count(&self, id: u8, alive: u16) -> (u16, u16) {
        let slot = &self.slots[usize::from(id)];
        (slot.arrived, if slot.warps == 0 { alive } else { slot.warps })
    }
}

impl Slot {
    fn open_if_met(&mut self, alive: u16) {
        let wanted = if self.warps == 0 { alive } else { self.warps };
        if self.arrived > 0 && self.arrived >= wanted {
            self.opened |= self.waiting;
            (self.arrived, self.waiting) = (0, 0);
        }
    }
}

/// The barrier that the lanes of `mask` name.
///
/// # Errors
/// The lane, and what is wrong.
pub fn named(
    barrier: &Barrier,
    regs: &Registers,
    mask: LaneMask,
) -> Result<BarrierUse, (usize, String)> {
    let lane = mask.trailing_zeros() as usize % WARP;
    let mut values = [0; 2];
    for (value, row) in values.iter_mut().zip([barrier.id, barrier.threads]) {
        let row = &regs.narrow[usize::from(row)];
        *value = row[lane];
        if let Some(other) = (0..WARP).find(|at| mask >> at & 1 == 1 && row[*at] != row[lane]) {
            let message = "lanes that run together name different barriers";
            return Err((other, message.into()));
        }
    }
    let [id, threads] = values;
    if id as usize >= BARRIERS {
        return Err((lane, format!("there is no barrier {id}: a CTA has {BARRIERS}")));
    }
    if !threads.is_multiple_of(WARP as u32) || threads > 1024 {
        let message = format!("barrier {id} is for {threads} threads, which are no whole warps");
        return Err((lane, message));
    }
    if barrier.kind == BarrierKind::Arrive && threads == 0 {
        return Err((lane, format!("arrives at barrier {id} for no thread")));
    }
    let kind = match barrier.kind {
        BarrierKind::Arrive => crate::isa::BarrierKind::Arrive,
        _ => crate::isa::BarrierKind::Wait,
    };
    Ok(BarrierUse { id: id as u8, warps: (threads / WARP as u32) as u16, kind })
}

/// What the threads that wait at an opened barrier bring to its reduction.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    count: u32,
    all: bool,
}

impl Default for Reduction {
    fn default() -> Self {
        Reduction { count: 0, all: true }
    }
}

fn reducing(program: &Program, pc: u32) -> Option<(&Micro, BarrierKind)> {
    let micro = &program.micros[pc as usize];
    let Step::Barrier(index) = micro.step else { return None };
    let kind = program.barriers[index as usize].kind;
    (!matches!(kind, BarrierKind::Sync | BarrierKind::Arrive)).then_some((micro, kind))
}

impl Reduction {
    /// Adds the lanes of a warp that wait.
    pub fn add(&mut self, program: &Program, stack: &Stack, preds: &[LaneMask]) {
        for frame in stack.waiting() {
            let Some((micro, _)) = reducing(program, frame.wait) else { continue };
            let flip = if micro.imm & super::super::program::INVERT != 0 { !0 } else { 0 };
            let holds = (preds[usize::from(micro.ops[1])] ^ flip) & frame.mask;
            self.count += holds.count_ones();
            self.all &= holds == frame.mask;
        }
    }

    /// Gives the result to the lanes of a warp that wait.
    pub fn give(&self, program: &Program, stack: &Stack, regs: &mut Registers) {
        for frame in stack.waiting() {
            let Some((micro, kind)) = reducing(program, frame.wait) else { continue };
            let to = usize::from(micro.ops[0]);
            let holds = match kind {
                BarrierKind::Count => {
                    super::write(&mut regs.narrow[to], frame.mask, &[self.count; WARP]);
                    continue;
                }
                BarrierKind::All => self.all,
                _ => self.count > 0,
            };
            let value = if holds { frame.mask } else { 0 };
            regs.preds[to] = regs.preds[to] & !frame.mask | value;
        }
    }
}
