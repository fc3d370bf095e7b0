//! Where an SM's cycles go: what each scheduler and the load/store unit did, and who was there.

use super::core::Sm;
use super::stats::SmStats;
use super::sub_core::Slot;
use crate::parts::DataCache;
use crate::stats::{IssueLedger, IssueReason, LatencyLedger, LsuLedger, LsuReason};
use crate::units::Cycle;

/// What it is for a scheduler that the load/store unit, which it waits for, is in this state.
fn wait_for(state: LsuReason) -> IssueReason {
    match state {
        LsuReason::Idle | LsuReason::Serving => IssueReason::LsuServing,
        LsuReason::NoMerger => IssueReason::LsuNoMerger,
        LsuReason::NoMshrLine => IssueReason::LsuNoMshrLine,
        LsuReason::NoCacheLine => IssueReason::LsuNoCacheLine,
        LsuReason::Coalescing => IssueReason::LsuCoalescing,
        LsuReason::MissQueue => IssueReason::LsuMissQueue,
        LsuReason::BankConflict => IssueReason::LsuBankConflict,
    }
}

/// What an SM has counted since construction.
#[derive(Clone, Copy, Debug)]
pub struct Accounts<'a> {
    /// Parts only: the total is the owner's.
    pub issue: &'a IssueLedger,
    /// Parts only, likewise.
    pub lsu: &'a LsuLedger,
    /// Of loads that are done.
    pub latency: &'a LatencyLedger,
    /// The accesses in it.
    pub latency_accesses: u64,
    /// Events.
    pub stats: &'a SmStats,
}

impl Sm {
    /// Charges the cycles up to `until` in which nothing happened.
    #[inline(always)]
    pub(super) fn charge_until(&mut self, until: Cycle, cache: &mut impl DataCache) {
        let cycles = until.since(self.charged_to);
        if cycles == 0 {
            return;
        }
        let state = match self.lsu.refused {
            Some(refusal) => {
                cache.count_refusals(refusal, cycles);
                self.lsu.state
            }
            None => LsuReason::Idle,
        };
        self.charge_lsu(state, cycles);
        self.charged_to = until;
    }

    /// Charges so many cycles of the load/store unit, and those of the schedulers that wait for it.
    #[inline]
    pub(super) fn charge_lsu(&mut self, state: LsuReason, cycles: u64) {
        self.lsu_ledger.charge(state, cycles);
        self.lsu_waits.charge(state, cycles * self.waiting_for_lsu);
    }

    /// A warp or a CTA has come or gone: who is there from cycle `from` on. Who was before is counted.
    pub(super) fn note_residency(&mut self, from: Cycle) {
        self.count_residency(from);
        self.there = (self.warps.alive, self.ctas.resident() > 0);
    }

    /// Counts who was there before cycle `to`.
    fn count_residency(&mut self, to: Cycle) {
        let (alive, is_active) = self.there;
        let cycles = to.since(self.there_from);
        self.there_from = to;
        if is_active {
            self.stats.active_cycles += cycles;
            self.stats.resident_warp_cycles += cycles * u64::from(alive.count_ones());
        }
    }

    /// `scheduler` does `slot` from `now` on; what it did before is charged.
    #[inline]
    pub(super) fn set_slot(&mut self, now: Cycle, scheduler: usize, slot: Slot) {
        if self.sub_cores[scheduler].slot != slot {
            self.change_slot(now, scheduler, slot);
        }
    }

    #[inline(never)]
    pub(super) fn change_slot(&mut self, now: Cycle, scheduler: usize, slot: Slot) {
        debug_assert!(
            slot != Slot::MEMORY || self.outstanding.has_any(scheduler),
            "a wait for memory with nothing outstanding"
        );
        self.waiting_for_lsu += u64::from(slot == Slot::LSU);
        let before = std::mem::replace(&mut self.sub_cores[scheduler].slot, slot);
        self.charge_slot(scheduler, before, now);
    }

    /// Charges what `scheduler` has done, which was `slot`, up to `now`, where that ends.
    #[inline(always)]
    fn charge_slot(&mut self, scheduler: usize, slot: Slot, now: Cycle) {
        let since = std::mem::replace(&mut self.sub_cores[scheduler].since, now);
        match slot {
            Slot::MEMORY => self.outstanding.note_wait(scheduler, since, now),
            Slot::LSU => self.waiting_for_lsu -= 1,
            Slot(reason) => self.issue_ledger.charge(reason, now - since),
        }
    }

    /// Charges everything before `end`, the end of a kernel.
    pub fn finish(&mut self, end: Cycle, cache: &mut impl DataCache) {
        self.charge_until(end, cache);
        self.count_residency(end);
        for scheduler in 0..self.sub_cores.len() {
            self.charge_slot(scheduler, self.sub_cores[scheduler].slot, end);
        }
        for &state in LsuReason::ALL {
            self.issue_ledger.charge(wait_for(state), self.lsu_waits.part(state));
        }
        self.lsu_waits = LsuLedger::default();
    }

    /// All that was counted since construction.
    pub fn accounts(&self) -> Accounts<'_> {
        Accounts {
            issue: &self.issue_ledger,
            lsu: &self.lsu_ledger,
            latency: &self.latency_ledger,
            latency_accesses: self.latency_accesses,
            stats: &self.stats,
        }
    }
}
