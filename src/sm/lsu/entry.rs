//! An instruction in the load/store unit.

use super::banks::Passes;
use super::coalescer::AccessList;
use crate::parts::{Access, AccessKind, Waiter};
use crate::stats::LsuReason;
use crate::units::{Cycle, LineAddr};

/// What a queued instruction wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Accesses of a cache.
    Cache(AccessKind),
    /// Loads of constants from a cache, in a unit of two stages.
    Constants,
    /// Passes over the banks of shared memory.
    #[default]
    Shared,
    /// One pass from lane to lane.
    Shuffle,
}

impl Target {
    /// What a cache is asked for.
    #[inline]
    pub fn kind(self) -> Option<AccessKind> {
        match self {
            Target::Cache(kind) => Some(kind),
            Target::Constants => Some(AccessKind::Load),
            Target::Shared | Target::Shuffle => None,
        }
    }
}

/// What is to be done next for an instruction, in a unit of two stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Lines are to be looked up.
    #[default]
    Tags,
    /// Passes over the banks are to be made.
    Banks,
}

/// An instruction in the unit. All but the accesses is in one line of the processor's caches, and the first two of these in
/// the next one.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Entry {
    /// When the next thing may be done for it; of a load of constants that makes passes, see `replay`.
    pub due: Cycle,
    pub waiter: Waiter,
    /// Accesses already served; passes, in a unit of one stage.
    pub served: u32,
    /// Passes over the banks that it takes, or that are left of them.
    pub passes: u32,
    /// Passes that it takes where no lanes conflict.
    pub least: u8,
    /// Accesses that hit.
    pub hits: u16,
    pub warp: u8,
    pub target: Target,
    pub stage: Stage,
    /// A pass was made.
    pub passed: bool,
    /// When a load of constants may make its next pass.
    pub replay: Cycle,
    pub accesses: AccessList,
}

/// The list's length is in the first line.
const _: () = assert!(std::mem::offset_of!(Entry, accesses) == 48);

impl Entry {
    /// An instruction of `warp` takes the place, whose accesses are there. It is due at `due`, and takes `passes` over the banks.
    #[inline(always)]
    pub fn begin(&mut self, due: Cycle, warp: u8, target: Target, passes: Passes, waiter: Waiter) {
        (self.due, self.warp, self.target, self.waiter) = (due, warp, target, waiter);
        (self.served, self.passed, self.hits) = (0, false, 0);
        (self.passes, self.least) = (passes.count, passes.least as u8);
        self.replay = Cycle(0);
        self.stage = if target.kind().is_none() { Stage::Banks } else { Stage::Tags };
    }

    /// The ledger's name for a pass behind which so many are left: those that conflicts make come first.
    #[inline]
    pub fn pass_reason(&self, left: u32) -> LsuReason {
        match self.target {
            _ if left == 0 => LsuReason::Serving,
            Target::Constants => LsuReason::Coalescing,
            _ if left < self.least.into() => LsuReason::Serving,
            _ => LsuReason::BankConflict,
        }
    }

    /// The line of the first access that is not served.
    #[inline]
    pub fn next_line(&self) -> LineAddr {
        self.accesses.get(self.served as usize).0
    }

    /// The first access that is not served.
    #[inline]
    pub fn next_access(&self, kind: AccessKind) -> Access {
        let number = self.served as usize;
        let (line, bytes) = self.accesses.get(number);
        let atomic_work = self.accesses.atomic_work(number);
        Access { line, bytes, kind, atomic_work, waiter: self.waiter }
    }
}
