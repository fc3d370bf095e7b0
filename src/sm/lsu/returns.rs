//! Data on its way to the registers after a fixed latency.

use super::entry::Target;
use crate::config::Machine;
use crate::parts::Waiter;
use crate::ring::Ring;
use crate::units::Cycle;

/// Accesses that hit, and shared-memory instructions and shuffles that were served, until their data is there.
#[derive(Clone, Debug)]
pub struct Returns {
    /// When the next data is there; never when there is none.
    next: Cycle,
    /// Loads with so many accesses that hit.
    hits: Ring<(Waiter, u16)>,
    hit_latency: u64,
    shared: Ring<Waiter>,
    shared_latency: u64,
    /// What shuffles take longer.
    shuffle_extra: u64,
}

impl Returns {
    /// None.
    pub fn new(machine: &Machine) -> Self {
        let hit_latency = machine.l1.hit_latency.cycles();
        let shared_latency = machine.shared_memory.latency.cycles();
        let shuffle_extra = machine.shared_memory.shuffle_extra.cycles();
        Returns {
            next: Cycle::NEVER,
            hits: Ring::new(hit_latency as usize + 1),
            hit_latency,
            shared: Ring::new((shared_latency + shuffle_extra) as usize + 1),
            shared_latency,
            shuffle_extra,
        }
    }

    /// So many accesses of a load have hit at `now`.
    #[inline]
    pub(super) fn hit(&mut self, now: Cycle, waiter: &Waiter, accesses: u16) {
        let waiter = Waiter { accepted: now.into(), ..*waiter };
        self.hits.push(now + self.hit_latency, (waiter, accesses));
        self.note_next();
    }

    /// The last pass of a shared-memory instruction was made at `now`, or that of a shuffle.
    #[inline]
    pub(super) fn pass(&mut self, now: Cycle, waiter: &Waiter, target: Target) {
        let waiter = Waiter { accepted: now.into(), ..*waiter };
        let extra = if target == Target::Shuffle { self.shuffle_extra } else { 0 };
        self.shared.push(now + self.shared_latency + extra, waiter);
        self.note_next();
    }

    #[inline]
    fn note_next(&mut self) {
        self.next = self.hits.next_visible().min(self.shared.next_visible());
    }

    /// When the next data is there.
    #[inline]
    pub fn next(&self) -> Cycle {
        self.next
    }

    /// A load whose data is there, and how many of its accesses hit.
    #[inline]
    pub fn take_hits(&mut self, now: Cycle) -> Option<(Waiter, u16)> {
        let taken = self.hits.pop(now);
        self.note_next();
        taken
    }

    /// A shared-memory instruction, or a shuffle, whose data is there.
    #[inline]
    pub fn take_shared(&mut self, now: Cycle) -> Option<Waiter> {
        let taken = self.shared.pop(now);
        self.note_next();
        taken
    }
}
