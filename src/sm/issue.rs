//! The issue stage: what each scheduler issues in a cycle, or why it does not.

use super::core::Sm;
use super::program::{Action, Decoded, Hold, Maker, Port};
use super::scheduler::Candidates;
use super::sub_core::{Slot, SubCore};
use crate::stats::{IssueReason, WaitReason};
use crate::units::{Cycle, fibonacci};

impl Sm {
    /// Lets every scheduler issue; true when one did.
    #[inline(always)]
    pub(super) fn issue(&mut self, now: Cycle) -> bool {
        if self.offers() == 0 {
            // Nobody can: whoever is ready waits for the load/store unit. As long as no warp stirs, the schedulers do
            // the same.
            if self.warps.stirred || !self.stands_still {
                self.stand_still(now);
            }
            return false;
        }
        self.stands_still = false;
        self.issue_in_turn(now)
    }

    /// Lets one scheduler after the other issue; true when one did.
    #[inline(always)]
    fn issue_in_turn(&mut self, now: Cycle) -> bool {
        let count = self.sub_cores.len();
        // Who comes first is drawn, and whether they go up or down, so that each of two is as often before the other one. An order
        // that the clock counts off keeps step with units that take an instruction every few cycles, and one scheduler gets none.
        let drawn = fibonacci(now.0);
        let mut number = ((drawn * count as u64) >> 32) as usize;
        let step = if drawn & 1 == 0 { 1 } else { count - 1 };
        let mut memory_taken = false;
        let mut issued = false;
        let is_shared = !self.lsu.has_banks();
        for _ in 0..count {
            // A unit takes one memory instruction a cycle, of the SM or of each scheduler.
            memory_taken &= is_shared;
            let slot = self.issue_one(now, number, &mut memory_taken);
            if slot == Slot::ISSUED {
                issued = true;
                // Most often it did something else before, and one that does not issue did not.
                self.set_slot(now, number, Slot::ISSUED);
            } else {
                self.set_slot(now, number, slot);
            }
            number += step;
            number -= if number >= count { count } else { 0 };
        }
        issued
    }

    /// No scheduler issues from `now` on, as long as no warp stirs.
    #[inline(never)]
    pub(super) fn stand_still(&mut self, now: Cycle) {
        let ready = self.warps.ready;
        self.warps.stirred = false;
        self.stands_still = true;
        for scheduler in 0..self.sub_cores.len() {
            let SubCore { warps: mask, slot: before, .. } = self.sub_cores[scheduler];
            let slot = if ready & mask != 0 { Slot::LSU } else { self.idle_slot(mask) };
            if slot != before {
                self.change_slot(now, scheduler, slot);
            }
        }
    }

    #[inline(always)]
    fn issue_one(&mut self, now: Cycle, number: usize, memory_taken: &mut bool) -> Slot {
        let warps = &self.warps;
        let sub_core = &mut self.sub_cores[number];
        let mask = sub_core.warps;
        let ready = warps.ready & mask;
        if ready == 0 {
            return self.idle_slot(mask);
        }
        let mut blocked = self.pipelines.blocked(number, &warps.wants, now);
        // Without a branch, as nobody can tell beforehand.
        let memory_taken_for = u64::from(*memory_taken).wrapping_neg();
        let memory_blocked = warps.wants_memory() & (memory_taken_for | self.lsu.full_for);
        blocked |= memory_blocked;
        if sub_core.reads_from > now {
            blocked |= warps.wants_reads;
        }
        let eligible = ready & !blocked;
        let blocked_slot = |ready: u64| match ready & memory_blocked != 0 {
            true => Slot::LSU,
            false => Slot::idle(IssueReason::UnitBusy),
        };
        if eligible == 0 {
            return blocked_slot(ready);
        }
        let waiting = mask & !(warps.ready | warps.on_arithmetic);
        let candidates = Candidates { eligible, waiting, ages: &warps.ages, now };
        let Some(warp) = sub_core.scheduler.pick(candidates) else {
            // Two-level: of the active set those who are ready are blocked, or all of it waits for arithmetic.
            return match ready & sub_core.scheduler.active() {
                0 => Slot::idle(IssueReason::Arithmetic),
                active => blocked_slot(active),
            };
        };
        let pairs = self.issue_width > 1;
        *memory_taken |= self.wants_memory(warp);
        self.issue_warp(now, number, warp, pairs);
        if pairs && self.can_pair(now, number, warp, *memory_taken) {
            self.issue_second(now, number, warp, memory_taken);
        }
        Slot::ISSUED
    }

    /// Issues the next instruction of a warp that has issued one in this cycle.
    #[inline(never)]
    fn issue_second(&mut self, now: Cycle, number: usize, warp: usize, memory_taken: &mut bool) {
        *memory_taken |= self.wants_memory(warp);
        self.issue_warp(now, number, warp, false);
        self.stats.pairs += 1;
    }

    #[inline(always)]
    fn wants_memory(&self, warp: usize) -> bool {
        self.warps.wants_memory() >> warp & 1 == 1
    }

    /// Whether the next instruction of a warp that has just issued can issue in the same cycle.
    fn can_pair(&self, now: Cycle, scheduler: usize, warp: usize, memory_taken: bool) -> bool {
        if self.warps.ready >> warp & 1 == 0 {
            return false;
        }
        let inst = &self.program.insts[self.warps.pc(warp)];
        if inst.reads > 0 && self.sub_cores[scheduler].reads_from > now {
            return false;
        }
        match inst.port {
            Port::Memory => !memory_taken && self.lsu.full_for >> warp & 1 == 0,
            Port::None => true,
            port => self.pipelines.is_free(scheduler, port, now),
        }
    }

    /// Why a scheduler with no ready warp is idle: the reason of the warp that is nearest to issue.
    #[inline]
    fn idle_slot(&self, mask: u64) -> Slot {
        let warps = &self.warps;
        if warps.computing() & mask != 0 {
            Slot::idle(IssueReason::Arithmetic)
        } else if warps.on_fetch & !warps.at_fence & mask != 0 {
            Slot::idle(IssueReason::Fetch)
        } else if warps.passing & mask != 0 {
            Slot::idle(IssueReason::LsuServing)
        } else if (warps.on_memory | warps.for_loads) & mask != 0 {
            Slot::MEMORY
        } else if (warps.at_fence | warps.at_bulk) & mask != 0 {
            Slot::idle(IssueReason::Fence)
        } else if (warps.at_barrier | warps.opening | warps.at_product) & mask != 0 {
            Slot::idle(IssueReason::Barrier)
        } else {
            Slot::idle(IssueReason::NoWarp)
        }
    }

    /// Issues a warp's next instruction; the one after it may issue in the same cycle if `pairs`.
    #[inline(always)]
    fn issue_warp(&mut self, now: Cycle, scheduler: usize, warp: usize, pairs: bool) {
        let Sm { program, warps, pipelines, fetch, constants, .. } = self;
        let (pc, lanes) = warps.next(warp);
        let inst = &program.insts[pc];
        if let Some(profile) = &mut self.profile {
            let turn = match inst.port {
                Port::Memory => WaitReason::LsuTaken,
                _ => WaitReason::Turn,
            };
            let made_ready = warps.made_ready(warp, inst, &program.delays);
            profile.issue(now, (warp, pc), lanes, made_ready, turn);
        }
        self.stats.warp_instructions += 1;
        self.stats.thread_instructions += lanes;
        if inst.reads > 0 {
            self.sub_cores[scheduler].read(now, inst.reads);
        }
        let at_once = now + u64::from(!pairs);
        let (latency, interval, hold) = match inst.action {
            Action::Compute { latency, interval, hold } => (u64::from(latency), interval, hold),
            Action::Constant { line, latency, interval } => {
                (u64::from(latency) + constants.wait(now, line), interval, Hold::No)
            }
            Action::Memory(op) => {
                let dsts = inst.dsts;
                return self.issue_memory(now, scheduler, warp, op, dsts, at_once);
            }
            Action::AcrossLanes(op) => return self.issue_across_lanes(now, warp, op, at_once),
            Action::Shuffle => {
                let dsts = inst.dsts;
                return self.issue_shuffle(now, scheduler, warp, dsts, at_once);
            }
            _ => return self.issue_other(now, warp, at_once),
        };
        let start = pipelines.take(now, scheduler, inst.port, interval.into());
        let done = start + latency;
        for &reg in inst.dsts.as_slice() {
            warps.set_ready_at(warp, reg, done, inst.port as Maker);
        }
        let Some(next) = warps.advance(warp, inst.port, &self.ctas, program) else {
            return self.end_warp(now, warp);
        };
        let next_issue = match hold {
            Hold::No => at_once,
            Hold::Branch if warps.pc(warp) == pc + 1 => now + self.holds.fall_through,
            Hold::Latency | Hold::Branch => done,
            Hold::Converge => now + self.holds.converge,
            Hold::BlockEnd => now + self.holds.block_end,
        };
        if let Some(profile) = &mut self.profile
            && next_issue > at_once
        {
            profile.hold(warp, WaitReason::Control, next_issue);
        }
        if (warps.past_barrier >> warp & 1 == 1) & next.stops_behind_barrier {
            return self.wait_behind_barrier(now, warp, next_issue);
        }
        if !fetch.holds_up(warps, now, warp, next_issue) {
            warps.wait_for_operands(warp, next, &program.delays, now, next_issue);
        }
    }

    /// Issues a warp's next instruction, which is neither arithmetic nor of memory; the one after it may issue at `next_issue`.
    #[inline(never)]
    fn issue_other(&mut self, now: Cycle, warp: usize, next_issue: Cycle) {
        let Decoded { port, action, .. } = self.program.insts[self.warps.pc(warp)];
        match action {
            Action::Barrier { .. } => return self.come_to_barrier(now, warp, next_issue),
            Action::Mbarrier(mbarrier) => {
                return self.come_to_mbarrier(now, warp, mbarrier, next_issue);
            }
            Action::Bulk(kind) => return self.begin_bulk(now, warp, kind, next_issue),
            Action::Warpgroup(what) => return self.join_warpgroup(now, warp, what, next_issue),
            _ => {}
        }
        if self.warps.advance(warp, port, &self.ctas, &self.program).is_none() {
            return self.end_warp(now, warp);
        }
        match action {
            Action::Fence(fence) => self.come_to_fence(now, warp, fence, next_issue),
            Action::Copies(copies) if self.copies.execute(warp, copies) => {
                self.warps.for_loads |= 1 << warp;
            }
            Action::BulkGroups(copies) if self.group_bulk(warp, copies) => {}
            _ => self.go_on(now, warp, next_issue),
        }
    }

    /// A warp has issued its last instruction.
    pub(super) fn end_warp(&mut self, now: Cycle, warp: usize) {
        let cta = self.ctas.of_warp(warp);
        let (waiting, opened) = self.ctas.end_warp(now, cta);
        self.open_without_arrival(now, waiting, opened);
        self.end_cta_if_done(cta, now + 1);
        self.note_residency(now + 1);
    }
}
