//! Requests that may go next, the first of them, and the command that it wants.

use std::hint::select_unpredictable;

use super::queue::Slot;
use super::timing::Command;
use crate::units::Cycle;

/// A request that may go next: its age and, below that, its slot, so that the older of two is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate(pub u64);

/// Younger than any other; its slot is [`NONE`](super::queue::NONE).
pub(super) const NOBODY: Candidate = Candidate(u64::MAX);

impl Candidate {
    #[inline]
    pub fn new(age: u64, slot: Slot) -> Candidate {
        Candidate(age << Slot::BITS | u64::from(slot))
    }

    #[inline]
    pub fn slot(self) -> Slot {
        self.0 as Slot
    }
}

/// What a bank would do next. In a size that is a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub(super) struct Candidates {
    /// Oldest read of the open row and oldest write to it.
    pub hits: [Candidate; 2],
    /// Oldest request whose turn it is.
    pub oldest: Candidate,
}

impl Candidates {
    /// Nothing.
    pub const NONE: Candidates = Candidates { hits: [NOBODY; 2], oldest: NOBODY };
}

/// A command to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// What.
    pub command: Command,
    /// Where.
    pub bank: usize,
    /// For which request; [`NONE`](super::queue::NONE) when a row closes because nobody wants it.
    pub slot: Slot,
}

/// The bank that can send a command first; of several the one with the oldest request. What cannot be foretold is chosen
/// without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct First {
    /// When it can.
    pub ready: Cycle,
    /// [`NOBODY`] for none.
    pub candidate: Candidate,
}

impl First {
    /// None.
    pub const NONE: First = First { ready: Cycle::NEVER, candidate: NOBODY };

    /// Of two the one with the lesser key goes first.
    #[inline]
    fn key(self) -> u128 {
        u128::from(self.ready.0) << u64::BITS | u128::from(self.candidate.0)
    }

    /// The first of the two.
    #[inline]
    pub fn or(self, other: First) -> First {
        select_unpredictable(other.key() < self.key(), other, self)
    }
}
