//! Requests that may go next, the search for the oldest of them, and the command that it finds.

use super::queue::{NONE, Slot};
use super::timing::Command;
use crate::units::Cycle;

/// A request that may go next: its age and, below that, its slot, so that the older of two is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate(pub u64);

/// Younger than any other; its slot is [`NONE`].
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

/// What a bank would do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// For which request; [`NONE`] when a row closes because nobody wants it.
    pub slot: Slot,
}

/// No command is known.
pub(super) const UNKNOWN: Action = Action { command: Command::Read, bank: 0, slot: NONE };

/// A search for the oldest ready candidate.
pub(super) struct Search {
    pub now: Cycle,
    /// The oldest ready one so far, where it goes and with which command.
    pub oldest: Candidate,
    pub bank: usize,
    pub command: Command,
    /// No candidate but the oldest is ready before this clock.
    pub next: Cycle,
}

impl Search {
    pub fn new(now: Cycle) -> Search {
        Search { now, oldest: NOBODY, bank: 0, command: Command::Read, next: Cycle::NEVER }
    }

    #[inline]
    pub fn action(&self) -> Option<Action> {
        let Search { oldest, bank, command, .. } = *self;
        (oldest != NOBODY).then_some(Action { command, bank, slot: oldest.slot() })
    }
}

/// The bank that can send a column command first; of several the one with the oldest request. It has three words and no gap:
/// what is chosen without a branch is copied with its gaps, through memory.
#[derive(Clone, Copy)]
pub(super) struct First {
    /// When it can.
    pub ready: Cycle,
    /// [`NOBODY`] for none.
    pub candidate: Candidate,
    pub bank: usize,
}

impl First {
    /// None.
    pub const NONE: First = First { ready: Cycle::NEVER, candidate: NOBODY, bank: 0 };

    /// Of two the one with the lesser key goes first. One number, since it cannot be foretold which of two is the lesser.
    #[inline]
    pub fn key(&self) -> u128 {
        u128::from(self.ready.0) << u64::BITS | u128::from(self.candidate.0)
    }
}
