//! A sub-core: a scheduler with its warps and its register file, and what it does.

use super::program::READ_BITS;
use super::scheduler::Scheduler;
use crate::config::machine::Policy;
use crate::stats::IssueReason;
use crate::units::Cycle;

/// What a scheduler did in its last cycle, and does until something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(pub IssueReason);

impl Slot {
    pub const ISSUED: Slot = Slot(IssueReason::Issued);
    /// It waits for its oldest outstanding access, wherever that is.
    pub const MEMORY: Slot = Slot(IssueReason::MemoryDram);
    /// It waits for the load/store unit, for whatever reason.
    pub const LSU: Slot = Slot(IssueReason::LsuCoalescing);

    /// It did not issue, for a reason that is known at once.
    #[inline]
    pub fn idle(reason: IssueReason) -> Self {
        debug_assert!(![Slot::MEMORY, Slot::LSU].contains(&Slot(reason)));
        Slot(reason)
    }
}

/// A scheduler and what belongs to it.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct SubCore {
    pub scheduler: Scheduler,
    /// Its warp slots.
    pub warps: u64,
    /// What it did last, and from which cycle on.
    pub slot: Slot,
    pub since: Cycle,
    /// When its register file has given all that its instructions read, in parts of a cycle of which [`READ_BITS`] tells the size.
    reads_to: u64,
    /// From when on an instruction that reads registers can issue: its file may be a cycle behind.
    pub reads_from: Cycle,
}

impl SubCore {
    /// Number `number` of `count`, which share `warps` warp slots in turn.
    pub fn new(policy: Policy, number: usize, count: usize, warps: usize) -> Self {
        SubCore {
            scheduler: Scheduler::new(policy),
            warps: (number..warps).step_by(count).fold(0, |mask, warp| mask | 1 << warp),
            slot: Slot::idle(IssueReason::NoWarp),
            since: Cycle(0),
            reads_to: 0,
            reads_from: Cycle(0),
        }
    }

    /// An instruction that takes the register file for so many parts of a cycle issues at `now`.
    #[inline(always)]
    pub fn read(&mut self, now: Cycle, parts: u16) {
        self.reads_to = self.reads_to.max(now.0 << READ_BITS) + u64::from(parts);
        // One cycle sooner, rounded up.
        self.reads_from = Cycle((self.reads_to - 1) >> READ_BITS);
    }

    /// Begins anew at `now`.
    pub fn prepare(&mut self, now: Cycle) {
        (self.slot, self.since) = (Slot::idle(IssueReason::NoWarp), now);
    }
}
