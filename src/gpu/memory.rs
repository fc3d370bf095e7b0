//! What answers requests: the partitions and the reply network together.
//!
//! A partition tells the network of a reply as soon as it is made, and depends on it only where a slice might have no place
//! for another one: it stops there until the network has come as far. Where several replies leave a slice at once, and where
//! slices deal with one another, it tells when a reply leaves, and stops where an input of the network is full.

use std::ops::DerefMut;

use super::clocks::Clocks;
use super::partition::{Partition, Reach};
use super::post::Known;
use super::replies::Replies;
use super::requests::Arrived;
use crate::config::Machine;
use crate::dram::Controller;
use crate::l2::Slice;
use crate::units::Cycle;

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
    pub fn needs_from(&self, arrival: Cycle) -> Cycle {
        let looked_at = self.clocks.l2.ticks_before(arrival + 1) + self.first_look;
        self.clocks.l2.core_cycle_of(looked_at)
    }
}

/// The memory system from the doors of the L2 to those of the SMs, lent for a while.
pub struct Memory<'a, P, const WORDS: usize> {
    pub partitions: &'a mut [P],
    pub replies: &'a mut Replies<WORDS>,
    pub delays: Delays,
}

impl<P: DerefMut<Target = Partition>, const WORDS: usize> Memory<'_, P, WORDS> {
    /// Cycles before this one are done.
    pub fn clock(&self) -> Cycle {
        self.replies.clock().min(self.slices_clock())
    }

    /// Cycles before this one are done in every slice.
    pub fn slices_clock(&self) -> Cycle {
        self.partitions.iter().map(|partition| partition.clock()).min().unwrap_or(Cycle::NEVER)
    }

    /// Makes ready for a kernel that starts at `now`.
    pub fn prepare(&mut self, now: Cycle) {
        debug_assert!(self.partitions.iter().all(|partition| partition.is_idle()));
        debug_assert_eq!(self.clock(), now);
        self.replies.prepare();
    }

    /// Takes the requests that the network brought to the slices.
    pub fn accept(&mut self, arrived: &mut Vec<Arrived>) {
        for Arrived { request, cycle, slice } in arrived.iter() {
            let (partition, part) = self.replies.home(usize::from(*slice));
            self.partitions[partition].accept(part, *cycle, request);
        }
        arrived.clear();
    }

    /// Every reply that an SM takes before this cycle is on its way, when all requests are known that matter
    /// before `known`.
    pub fn replies_known_to(&self, known: Cycle) -> Cycle {
        let silent = self.partitions.iter().map(|partition| partition.silent_to()).min();
        self.replies.known_to(silent.map_or(known, |silent| silent.min(known)))
    }

    /// What the front may know, when all requests are known that matter before `known`.
    pub fn known(&self, known: Cycle) -> Known {
        Known {
            replies: self.replies_known_to(known),
            slices: self.slices_clock(),
            clock: self.clock(),
        }
    }

    /// True when no reply is owed.
    pub fn is_idle(&self) -> bool {
        self.partitions.iter().all(|partition| partition.is_idle())
    }

    /// The partitions that can do something within `reach`, as far as known.
    pub fn at_work(&self, reach: &Reach) -> usize {
        self.partitions.iter().filter(|partition| partition.has_work(reach)).count()
    }

    /// Advances within `reach`: every part as far as a reply is owed.
    pub fn advance(&mut self, reach: &Reach) {
        let mut reach = *reach;
        loop {
            for partition in self.partitions.iter_mut() {
                partition.advance(&reach, self.replies.clock());
                reach.idle = reach.idle.max(partition.clock());
            }
            let slices = self.advance_replies(&reach);
            // What the network held and holds is this kernel's too.
            reach.idle = reach.idle.max(self.replies.clock());
            let next = self.replies.next_event();
            if next != Cycle::NEVER {
                reach.idle = reach.idle.max(next + 1).min(reach.owing);
            }
            debug_assert!(reach.idle <= reach.owing);
            if self.replies.clock().min(slices) >= reach.idle {
                return;
            }
        }
    }

    /// The reply network as far as it goes without other news of the partitions, which hear of what left; gives the cycle
    /// before which all is done in these.
    pub fn advance_replies(&mut self, reach: &Reach) -> Cycle {
        let (mut slices, mut end) = (Cycle::NEVER, reach.owing);
        for (number, partition) in self.partitions.iter_mut().enumerate() {
            slices = slices.min(partition.clock());
            end = end.min(partition.departs_from());
            for (part, departures) in partition.departures() {
                self.replies.note_departures((number, part), departures);
            }
        }
        self.replies.advance(end, slices);
        let partitions = &mut *self.partitions;
        self.replies
            .tell_left(|(partition, part), left| partitions[partition].note_leave(part, left));
        slices
    }

    /// Tells `note` when requests left the input queue of a slice, since the last time.
    pub fn take_left(&mut self, mut note: impl FnMut(usize, Cycle)) {
        for (number, partition) in self.partitions.iter_mut().enumerate() {
            if partition.left().is_empty() {
                continue;
            }
            let first = number * partition.slices().len();
            for (part, cycle) in partition.left().drain(..) {
                note(first + part, cycle);
            }
        }
    }

    /// Counts every clock before core cycle `end`.
    pub fn catch_up(&mut self, end: Cycle) {
        for partition in self.partitions.iter_mut() {
            partition.catch_up(end);
        }
    }

    /// The L2 slices, by number.
    pub fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.partitions.iter().flat_map(|partition| partition.slices())
    }

    /// The DRAM controllers.
    pub fn controllers(&self) -> impl Iterator<Item = &Controller> {
        self.partitions.iter().flat_map(|partition| partition.controllers())
    }

    /// What holds requests, in words, for a deadlock report.
    pub fn describe(&self) -> String {
        let busy = self.slices().filter(|slice| !slice.is_idle()).count();
        let held: usize = self.controllers().map(Controller::held).sum();
        format!(
            "reply network {}, {busy} of {} slices busy, {held} requests in the DRAM controllers",
            if self.replies.is_empty() { "empty" } else { "busy" },
            self.slices().count(),
        )
    }
}
