//! The issue stage: what each scheduler issues in a cycle, or why it does not.

use super::core::{Coalescing, Sm};
use super::lsu::Target;
use super::program::{Action, Decoded, FROM_MEMORY, Hold, Maker, Port};
use super::scheduler::Candidates;
use super::sub_core::{Slot, SubCore};
use crate::config::machine::{LoadsLook, Segment};
use crate::isa::{
    AccessKind as MemoryKind, BarrierKind, BarrierUse, CacheOp, LaneAddresses, MemoryOp, Operands,
    SHARED_WINDOW, Space, WARP,
};
use crate::parts::{AccessKind, Waiter};
use crate::stats::IssueReason;
use crate::units::{Bits, Cycle};

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
        // The first choice alternates, so that no scheduler always has the load/store unit first. In a unit of two
        // stages it is the one behind the last that had it: a unit that takes an instruction every fourth cycle
        // would else take all of them from the same.
        let mut number = match count {
            1 => 0,
            _ if self.lsu.has_banks() => self.memory_turn,
            2 => now.0 as usize % 2,
            4 => now.0 as usize % 4,
            _ => now.0 as usize % count,
        };
        let mut memory_taken = false;
        let mut issued = false;
        for _ in 0..count {
            let slot = self.issue_one(now, number, &mut memory_taken);
            issued |= slot == Slot::ISSUED;
            self.set_slot(now, number, slot);
            number = if number + 1 == count { 0 } else { number + 1 };
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
        // A unit takes one memory instruction a cycle.
        let memory_blocked = *memory_taken || !self.lsu.has_room();
        if memory_blocked {
            blocked |= warps.wants_memory();
        }
        if sub_core.reads_until > now {
            blocked |= warps.wants_reads;
        }
        let eligible = ready & !blocked;
        if eligible == 0 {
            let blocked = memory_blocked && ready & warps.wants_memory() != 0;
            return if blocked { Slot::LSU } else { Slot::idle(IssueReason::UnitBusy) };
        }
        let waiting = mask & !(warps.ready | warps.on_arithmetic);
        let candidates = Candidates { eligible, waiting, ages: &warps.ages };
        let Some(warp) = sub_core.scheduler.pick(candidates) else {
            // Two-level: the active set waits for arithmetic.
            return Slot::idle(IssueReason::Arithmetic);
        };
        let pairs = self.issue_width > 1;
        self.take_memory(number, warp, memory_taken);
        self.issue_warp(now, number, warp, pairs);
        if pairs && self.can_pair(now, number, warp, *memory_taken) {
            self.issue_second(now, number, warp, memory_taken);
        }
        Slot::ISSUED
    }

    /// Issues the next instruction of a warp that has issued one in this cycle.
    #[inline(never)]
    fn issue_second(&mut self, now: Cycle, number: usize, warp: usize, memory_taken: &mut bool) {
        self.take_memory(number, warp, memory_taken);
        self.issue_warp(now, number, warp, false);
        self.stats.pairs += 1;
    }

    /// A scheduler takes the load/store unit, if the warp that it has chosen needs it: the next scheduler has it first.
    #[inline(always)]
    fn take_memory(&mut self, scheduler: usize, warp: usize, memory_taken: &mut bool) {
        if self.warps.wants_memory() >> warp & 1 == 1 {
            *memory_taken = true;
            self.memory_turn =
                if scheduler + 1 == self.sub_cores.len() { 0 } else { scheduler + 1 };
        }
    }

    /// Whether the next instruction of a warp that has just issued can issue in the same cycle.
    fn can_pair(&self, now: Cycle, scheduler: usize, warp: usize, memory_taken: bool) -> bool {
        if self.warps.ready >> warp & 1 == 0 {
            return false;
        }
        match self.program.insts[self.warps.pc(warp)].port {
            Port::Memory => !memory_taken && self.lsu.has_room(),
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
        } else if warps.passing & mask != 0 {
            Slot::idle(IssueReason::LsuServing)
        } else if warps.on_memory & mask != 0 {
            Slot::MEMORY
        } else if (warps.at_barrier | warps.at_fence) & mask != 0 {
            Slot::idle(IssueReason::Barrier)
        } else {
            Slot::idle(IssueReason::NoWarp)
        }
    }

    /// Issues a warp's next instruction; the one after it may issue in the same cycle if `pairs`.
    #[inline(always)]
    fn issue_warp(&mut self, now: Cycle, scheduler: usize, warp: usize, pairs: bool) {
        let Sm { program, warps, pipelines, .. } = self;
        let pc = warps.pc(warp);
        let inst = &program.insts[pc];
        self.stats.warp_instructions += 1;
        self.stats.thread_instructions += warps.lanes(warp);
        if inst.reads > 1 {
            self.sub_cores[scheduler].reads_until = now + u64::from(inst.reads);
        }
        let at_once = now + u64::from(!pairs);
        let (latency, interval, hold) = match inst.action {
            Action::Compute { latency, interval, hold } => (latency, interval, hold),
            Action::Memory(op) => {
                let dsts = inst.dsts;
                return self.issue_memory(now, scheduler, warp, op, dsts, at_once);
            }
            _ => return self.issue_other(now, warp, at_once),
        };
        let start = pipelines.take(now, scheduler, inst.port, interval.into());
        let done = start + u64::from(latency);
        for &reg in inst.dsts.as_slice() {
            warps.set_ready_at(warp, reg, done, inst.port as Maker);
        }
        let Some(next) = warps.advance(warp, inst.port, &self.ctas, program) else {
            return self.end_warp(now, warp);
        };
        let next_issue = match hold {
            _ if hold == Hold::No => at_once,
            Hold::Branch if warps.pc(warp) == pc + 1 => now + self.holds.fall_through,
            Hold::No | Hold::Latency | Hold::Branch => done,
            Hold::Converge => now + self.holds.converge,
            Hold::BlockEnd => now + self.holds.block_end,
        };
        warps.wait_for_operands(warp, next, &program.delays, now, next_issue);
    }

    /// Issues a memory instruction; the one after it may issue at `next_issue`.
    #[inline(never)]
    fn issue_memory(
        &mut self,
        now: Cycle,
        scheduler: usize,
        warp: usize,
        op: MemoryOp,
        dsts: Operands,
        next_issue: Cycle,
    ) {
        self.push_memory(now, scheduler, warp, op, dsts);
        let Sm { program, warps, ctas, .. } = self;
        match warps.advance(warp, Port::Memory, ctas, program) {
            Some(next) => warps.wait_for_operands(warp, next, &program.delays, now, next_issue),
            None => self.end_warp(now, warp),
        }
    }

    /// Issues a warp's next instruction, which is neither arithmetic nor of memory; the one after it may issue at `next_issue`.
    #[inline(never)]
    fn issue_other(&mut self, now: Cycle, warp: usize, next_issue: Cycle) {
        let Decoded { port, action, .. } = self.program.insts[self.warps.pc(warp)];
        let barrier = match action {
            Action::Barrier => Some(self.warps.cursor_mut(warp).barrier(self.ctas.stream(warp))),
            _ => None,
        };
        let more = self.warps.advance(warp, port, &self.ctas, &self.program).is_some();
        // A warp that has ended waits for nobody, and a barrier of all does not wait for it.
        let arrives = |at: &BarrierUse| at.kind != BarrierKind::Pass && (more || at.warps > 0);
        if let Some(at) = barrier.filter(arrives) {
            let waits = more && at.kind == BarrierKind::Wait;
            let kind = if waits { BarrierKind::Wait } else { BarrierKind::Arrive };
            self.warps.at_barrier |= u64::from(waits) << warp;
            let cta = self.ctas.of_warp(warp);
            if let Some(waiting) = self.ctas.arrive(cta, warp, BarrierUse { kind, ..at }) {
                self.open_barriers(now, waiting, 1);
            }
            if waits {
                return;
            }
        }
        if !more {
            return self.end_warp(now, warp);
        }
        match action {
            Action::Fence if self.has_accesses_in_flight(warp) => self.warps.at_fence |= 1 << warp,
            _ => self.wait_for_operands(now, warp, next_issue),
        }
    }

    /// A warp has issued its last instruction.
    fn end_warp(&mut self, now: Cycle, warp: usize) {
        let cta = self.ctas.of_warp(warp);
        let (waiting, opened) = self.ctas.end_warp(now, cta);
        self.open_barriers(now, waiting, opened);
        self.end_cta_if_done(cta, now + 1);
        self.note_residency(now + 1);
    }

    /// Lets the warps go on that wait at `opened` barriers.
    fn open_barriers(&mut self, now: Cycle, waiting: u64, opened: u64) {
        self.stats.barriers += opened;
        self.warps.at_barrier &= !waiting;
        for warp in Bits(waiting) {
            let go_on = now + self.holds.fall_through;
            self.wait_for_operands(now, warp, go_on);
        }
    }

    /// Gives a memory instruction to the load/store unit.
    #[inline(always)]
    fn push_memory(
        &mut self,
        now: Cycle,
        scheduler: usize,
        warp: usize,
        op: MemoryOp,
        dsts: Operands,
    ) {
        let addresses = self.warps.cursor_mut(warp).addresses(self.ctas.stream(warp));
        let bytes = u32::from(op.bytes);
        if is_shared(op, &addresses) {
            self.stats.shared_instructions += 1;
            let passes = self.passes(op, &addresses);
            self.stats.shared_passes += u64::from(passes);
            let waiter = waiter(self.outstanding.next_place(), now);
            let pushed = self
                .lsu
                .push(now, warp, Target::Shared, passes, waiter, |_| passes.min(1) as usize);
            return self.track(now, scheduler, warp, dsts, pushed);
        }
        let kind = self.cache_access(op);
        let Coalescing { line_bits, atomic_work, .. } = self.coalescing;
        let segment = match op.space {
            // One line serves every lane, whatever the rule for global memory.
            Space::Constant => Segment::Line,
            _ if kind == AccessKind::Atomic => Segment::Line,
            _ => self.coalescing.segment,
        };
        let segment_bits = match (kind, segment, bytes) {
            (AccessKind::BypassLoad, ..) => self.coalescing.bypass_bits,
            (_, Segment::Line, _) => line_bits,
            // As GPGPU-Sim 3.x and 4.x coalesce for compute capability 2.x.
            (_, Segment::ByElement, 1) => 5,
            (_, Segment::ByElement, 2) => 6,
            (_, _, _) => line_bits,
        };
        let is_store = kind == AccessKind::Store;
        let waiter = if is_store {
            waiter(warp as u16, now)
        } else {
            waiter(self.outstanding.next_place(), now)
        };
        let hits_by_banks = kind == AccessKind::Load && self.lsu.has_banks();
        let passes = if hits_by_banks { self.passes(op, &addresses) } else { 0 };
        let accesses = self.lsu.push(now, warp, Target::Cache(kind), passes, waiter, |list| {
            match segment {
                Segment::HalfWarp => {
                    list.group_half_warps(&addresses, bytes, line_bits, is_store);
                }
                Segment::HalfWarpInOrder => {
                    list.group_in_order(&addresses, bytes, line_bits, is_store);
                }
                _ => list.group(&addresses, bytes, line_bits, segment_bits.min(line_bits)),
            }
            if kind == AccessKind::Atomic
                && let Some(work) = atomic_work
            {
                list.count_atomic_work(&addresses, bytes, line_bits, work);
            }
            list.len()
        });
        let (instructions, sum) = match kind {
            AccessKind::Store => {
                (&mut self.stats.store_instructions, &mut self.stats.store_accesses)
            }
            AccessKind::Atomic => {
                (&mut self.stats.atomic_instructions, &mut self.stats.atomic_accesses)
            }
            _ => (&mut self.stats.load_instructions, &mut self.stats.load_accesses),
        };
        *instructions += 1;
        *sum += accesses as u64;
        if is_store {
            self.warps.pending_stores[warp] += accesses as u16;
            self.stores_in_flight += accesses as u64;
        } else {
            self.track(now, scheduler, warp, dsts, accesses);
        }
    }

    /// Passes over the banks that an instruction takes. In a unit of two stages, a pass of a load gives each lane one
    /// register.
    fn passes(&self, op: MemoryOp, addresses: &LaneAddresses) -> u32 {
        const REGISTER: u32 = 4;
        let bytes = u32::from(op.bytes);
        match self.banks.passes(addresses, bytes) {
            0 => 0,
            passes if self.lsu.has_banks() && op.kind == MemoryKind::Load => {
                passes.max(bytes.div_ceil(REGISTER))
            }
            passes => passes,
        }
    }

    /// Notes a load of `accesses` accesses; its registers are ready at once when there are none.
    #[inline]
    fn track(
        &mut self,
        now: Cycle,
        scheduler: usize,
        warp: usize,
        dsts: Operands,
        accesses: usize,
    ) {
        if accesses == 0 {
            for &reg in dsts.as_slice() {
                self.warps.set_ready_at(warp, reg, now + 1, FROM_MEMORY);
            }
            return;
        }
        self.outstanding.add(warp, dsts, accesses as u16, scheduler);
        self.warps.pending_loads[warp] += 1;
        for &reg in dsts.as_slice() {
            self.warps.set_not_ready(warp, reg);
        }
    }

    /// What a global, local or constant access asks of the cache.
    #[inline]
    fn cache_access(&self, op: MemoryOp) -> AccessKind {
        match op.kind {
            MemoryKind::Store => AccessKind::Store,
            MemoryKind::Atomic => AccessKind::Atomic,
            MemoryKind::Load => {
                let past_l1 = matches!(op.cache, CacheOp::Global | CacheOp::Volatile);
                let look = match op.space {
                    Space::Global | Space::Generic if past_l1 => LoadsLook::Bypass,
                    Space::Global | Space::Generic => self.coalescing.global_loads,
                    Space::Local => self.coalescing.local_loads,
                    _ => LoadsLook::Cached,
                };
                match look {
                    LoadsLook::Cached => AccessKind::Load,
                    LoadsLook::Bypass => AccessKind::BypassLoad,
                }
            }
        }
    }
}

/// Who waits for an access of an instruction that is issued at `now`.
#[inline]
fn waiter(tracker: u16, now: Cycle) -> Waiter {
    Waiter { tracker, issued: now.into(), accepted: now.into() }
}

/// Whether an access goes to shared memory. The lanes of a generic one go where its first lane goes.
#[inline]
fn is_shared(op: MemoryOp, addresses: &LaneAddresses) -> bool {
    match op.space {
        Space::Shared => true,
        Space::Generic => {
            let first = addresses.mask.trailing_zeros() as usize % WARP;
            addresses.of(first) & !(SHARED_WINDOW - 1) == SHARED_WINDOW
        }
        _ => false,
    }
}
