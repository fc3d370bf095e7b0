//! What the SM side and the memory tell each other.

use super::clocks::Clocks;
use crate::config::Machine;
use crate::l2::Slice;
use crate::parts::{Reply, Request};
use crate::units::Cycle;

/// Events that a list of one part's news has room for at first: as many as come in one window on most machines.
pub const EVENTS: usize = 512;
/// The same of all parts' news.
pub const ALL_EVENTS: usize = 8 * EVENTS;

/// A request that has arrived at a slice. It comes first, so that it is copied as it is aligned.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arrived {
    /// The request.
    pub request: Request,
    /// When.
    pub cycle: Cycle,
    /// Where.
    pub slice: u16,
}

/// A reply on its way, with the core cycle in which it can be taken.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Coming {
    /// The reply, which comes first so that it is copied as it is aligned.
    pub reply: Reply,
    /// When it can be taken.
    pub at: Cycle,
}

/// How far the memory may advance. A kernel does not end before its last request is answered, and no part of the memory may
/// count a cycle that is the next kernel's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    /// To this cycle, where a reply is owed.
    pub owing: Cycle,
    /// To this one, at most as late, in any case.
    pub idle: Cycle,
}

impl Reach {
    /// To `end`, whether or not a reply is owed.
    pub fn to(end: Cycle) -> Self {
        Reach { owing: end, idle: end }
    }
}

/// From the SM side to the memory.
#[derive(Default)]
pub struct ToMemory {
    /// For the slices.
    pub arrived: Vec<Arrived>,
    /// How far the memory may go with them.
    pub reach: Reach,
    /// Cycles of the request network before this one are done.
    pub clock: Cycle,
}

/// From the memory to the SM side.
#[derive(Default)]
pub struct ToSmSide {
    /// For the SMs.
    pub replies: Vec<Coming>,
    /// The slices whose requests left their input queue, and when.
    pub left: Vec<(usize, Cycle)>,
    /// How far the memory has come.
    pub known: Known,
}

/// How far the memory has come, for the SM side.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Every reply that an SM takes before this cycle is told of.
    pub replies: Cycle,
    /// What left the slices before this cycle is told of.
    pub slices: Cycle,
    /// Cycles before this one are done.
    pub clock: Cycle,
}

impl Known {
    /// Learns what the other side has told, which may be read once more when later news are known: what is known stays known.
    pub fn learn(&mut self, told: Known) {
        self.replies = self.replies.max(told.replies);
        self.slices = self.slices.max(told.slices);
        self.clock = self.clock.max(told.clock);
    }
}

/// The times that matter to those who send requests.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    clocks: Clocks,
    /// From a request's arrival until its slice does anything with it [L2 cycles].
    first_look: u64,
}

impl Delays {
    /// Of a machine.
    pub fn new(machine: &Machine, clocks: Clocks) -> Self {
        Delays { clocks, first_look: Slice::first_look(&machine.l2) }
    }

    /// The first cycle that needs to know of requests that arrive in cycle `arrival` or later.
    #[inline]
    pub fn needs_from(&self, arrival: Cycle) -> Cycle {
        let looked_at = self.clocks.l2.ticks_before(arrival + 1) + self.first_look;
        self.clocks.l2.core_cycle_of(looked_at)
    }
}

/// Appends what `make` makes of a packet. To reserve first spares the copy that `push` makes where the vector may grow.
#[inline]
pub fn push_copy<P: Copy, T>(packet: &P, list: &mut Vec<T>, make: impl Fn(P) -> T) {
    if list.len() == list.capacity() {
        list.reserve(1);
    }
    list.push(make(*packet));
}
