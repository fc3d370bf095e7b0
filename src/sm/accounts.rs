//! Where an SM's cycles go: what each scheduler and the load/store unit did, and who was there.

use super::core::Sm;
use super::stats::SmStats;
use super::sub_core::SubCore;
use crate::parts::DataCache;
use crate::stats::{IssueLedger, IssueReason, LatencyLedger, LsuLedger, LsuReason};
use crate::units::Cycle;

/// What a scheduler did in its last cycle, and does until something happens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// It issued, or did not for this reason.
    Charged(IssueReason),
    /// It waits for its oldest outstanding access.
    Memory,
}

impl PartialEq for Slot {
    /// As numbers: what is derived compares case by case, and every scheduler asks in most cycles.
    #[inline]
    fn eq(&self, other: &Slot) -> bool {
        let number = |slot: &Slot| match slot {
            Slot::Charged(reason) => *reason as u8,
            Slot::Memory => u8::MAX,
        };
        number(self) == number(other)
    }
}

impl Sm {
    /// What the load/store unit does while nothing happens.
    fn standing_lsu_state(&self) -> LsuReason {
        if self.lsu.refused.is_some() { self.lsu.state } else { LsuReason::Idle }
    }

    /// Charges the cycles up to `until` in which nothing happened.
    pub(super) fn charge_until(&mut self, until: Cycle, cache: &mut impl DataCache) {
        let cycles = until.since(self.charged_to);
        if cycles == 0 {
            return;
        }
        if let Some(refusal) = self.lsu.refused {
            cache.count_refusals(refusal, cycles);
        }
        self.lsu_ledger.charge(self.standing_lsu_state(), cycles);
        self.charged_to = until;
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
            self.charge_slot(scheduler, now);
            self.sub_cores[scheduler].slot = slot;
            if slot == Slot::Memory {
                self.outstanding.begin_wait(scheduler, now);
            }
        }
    }

    /// Charges what `scheduler` has done, up to `now`.
    #[inline]
    fn charge_slot(&mut self, scheduler: usize, now: Cycle) {
        let SubCore { slot, since, .. } = &mut self.sub_cores[scheduler];
        let since = std::mem::replace(since, now);
        match *slot {
            Slot::Charged(reason) => self.issue_ledger.charge(reason, now - since),
            Slot::Memory => self.outstanding.end_wait(scheduler, now),
        }
    }

    /// Charges everything before `end`, the end of a kernel.
    pub fn finish(&mut self, end: Cycle, cache: &mut impl DataCache) {
        self.charge_until(end, cache);
        self.count_residency(end);
        for scheduler in 0..self.sub_cores.len() {
            self.charge_slot(scheduler, end);
        }
    }

    /// Issue ledger (parts only: the total is the owner's), load/store ledger (likewise), latency ledger
    /// and the accesses in it, and counters since construction.
    pub fn accounts(&self) -> (&IssueLedger, &LsuLedger, &LatencyLedger, u64, &SmStats) {
        (
            &self.issue_ledger,
            &self.lsu_ledger,
            &self.latency_ledger,
            self.latency_accesses,
            &self.stats,
        )
    }
}
