//! What answers requests: the partitions and the reply network together.
//!
//! A partition tells the network of a reply as soon as it is made, and depends on it only where a slice might have no place
//! for another one: it stops there until the network has come as far. Where several replies leave a slice at once, and where
//! slices deal with one another, it tells when a reply leaves, and stops where an input of the network is full.
//!
//! A partition that owes no reply has nothing to tell. It rests, and what its DRAM does meanwhile is done when a request comes
//! for it: an access costs the same however many partitions there are.

mod ahead;
mod channel;
mod handover;
mod partition;
mod replies;
mod start;
mod sub_partition;
mod visit;

use std::ops::{DerefMut, Range};

pub use partition::Partition;
pub use replies::Replies;
use start::L2Start;

use crate::config::Machine;
use crate::dram::Controller;
use crate::gpu::clocks::Clocks;
use crate::gpu::news::{Arrived, Delays, Known, Reach};
use crate::l2::Slice;
use crate::noc::Ports;
use crate::units::Cycle;

/// What the memory has beside its partitions.
pub struct Hub<const WORDS: usize> {
    pub replies: Replies<WORDS>,
    pub delays: Delays,
    /// The partitions that may have anything to tell.
    awake: Ports<WORDS>,
    /// The others have come to this cycle, for all that anybody hears of them.
    rest_to: Cycle,
    start: L2Start,
}

impl<const WORDS: usize> Hub<WORDS> {
    /// Of an idle memory.
    pub fn new(machine: &Machine, clocks: Clocks, every_cycle: bool) -> Self {
        Hub {
            replies: Replies::new(machine, clocks, every_cycle),
            delays: Delays::new(machine, clocks),
            awake: Ports::first(Partition::count(machine)),
            rest_to: Cycle(0),
            start: L2Start::new(machine),
        }
    }
}

/// The memory system from the inputs of the L2 slices to those of the SMs, lent for a while.
pub struct Memory<'a, P, const WORDS: usize> {
    pub partitions: &'a mut [P],
    pub hub: &'a mut Hub<WORDS>,
}

impl<P: DerefMut<Target = Partition>, const WORDS: usize> Memory<'_, P, WORDS> {
    /// The partitions that may have anything to tell.
    fn awake(&self) -> impl Iterator<Item = &Partition> {
        self.hub.awake.iter().map(|number| &*self.partitions[number])
    }

    /// Cycles before this one are done.
    pub fn clock(&self) -> Cycle {
        self.hub.replies.clock().min(self.slices_clock())
    }

    /// Cycles before this one are done in every slice.
    pub fn slices_clock(&self) -> Cycle {
        self.awake().map(Partition::clock).fold(self.hub.rest_to, Cycle::min)
    }

    /// Makes ready for a kernel that starts at `now` and may use these buffers.
    pub fn prepare(&mut self, now: Cycle, buffers: &[Range<u64>]) {
        debug_assert!(self.partitions.iter().all(|partition| partition.is_idle()));
        debug_assert_eq!(self.clock(), now);
        self.hub.replies.prepare();
        self.prepare_slices(buffers);
    }

    /// Takes the requests that the network brought to the slices.
    pub fn accept(&mut self, arrived: &mut Vec<Arrived>) {
        for Arrived { request, cycle, slice } in arrived.iter() {
            let (number, part) = self.hub.replies.home(usize::from(*slice));
            if !self.hub.awake.contains(number) {
                self.wake(number);
            }
            self.partitions[number].accept(part, *cycle, request);
        }
        arrived.clear();
    }

    /// A partition that rests goes on to where it is for the others.
    fn wake(&mut self, number: usize) {
        let Hub { replies, awake, rest_to, .. } = &mut *self.hub;
        awake.set(number, true);
        self.partitions[number].advance(&Reach::to(*rest_to), replies.clock());
    }

    /// Every reply that an SM takes before this cycle is on its way, when all requests are known that matter
    /// before `known`.
    pub fn replies_known_to(&self, known: Cycle) -> Cycle {
        let silent_to = self.awake().map(Partition::silent_to).fold(known, Cycle::min);
        self.hub.replies.known_to(silent_to)
    }

    /// What the SM side may know, when all requests are known that matter before `known`.
    pub fn known(&self, known: Cycle) -> Known {
        Known {
            replies: self.replies_known_to(known),
            slices: self.slices_clock(),
            clock: self.clock(),
        }
    }

    /// True when no reply is owed.
    pub fn is_idle(&self) -> bool {
        self.awake().all(Partition::is_idle)
    }

    /// True when no reply is owed, nor on its way as far as the SMs have not heard of it.
    pub fn holds_nothing(&self) -> bool {
        let replies = &self.hub.replies;
        replies.next_event() == Cycle::NEVER && replies.coming.is_empty() && self.is_idle()
    }

    /// The partitions that can do something within `reach`, as far as known, and do not rest.
    pub fn at_work(&self, reach: &Reach) -> usize {
        self.awake().filter(|partition| partition.has_work(reach)).count()
    }

    /// Advances within `reach`: every part as far as a reply is owed.
    pub fn advance(&mut self, reach: &Reach) {
        let mut reach = *reach;
        reach.idle = reach.idle.max(self.hub.rest_to);
        // What was known once stays known, though the SM side may not have come as far.
        reach.owing = reach.owing.max(reach.idle);
        loop {
            let network = self.hub.replies.clock();
            for number in self.hub.awake.iter() {
                let partition = &mut self.partitions[number];
                partition.advance(&reach, network);
                reach.idle = reach.idle.max(partition.clock());
            }
            let (slices, owed) = self.advance_replies(&reach);
            // What the network held and holds is this kernel's too.
            let replies = &self.hub.replies;
            reach.idle = reach.idle.max(replies.clock());
            let next = replies.next_event();
            if next != Cycle::NEVER {
                reach.idle = reach.idle.max(next + 1).min(reach.owing);
            }
            debug_assert!(reach.idle <= reach.owing);
            // Where a reply is owed, the others may follow later. Who owes one and has stopped may go on with the news of the
            // network.
            let all_owed = owed != Cycle::NEVER && owed >= reach.owing;
            if all_owed || replies.clock().min(slices) >= reach.idle {
                break;
            }
        }
        self.hub.rest_to = reach.idle;
        for number in self.hub.awake.iter() {
            self.hub.awake.set(number, !self.partitions[number].rests());
        }
    }

    /// Where a single reply is owed, and the network holds none: until that is on its way, in cycle `last` at the latest,
    /// before which no request is looked at that is not known. Gives the cycle in which its SM takes it.
    pub fn answer(&mut self, last: Cycle) -> Option<Cycle> {
        let Memory { partitions, hub: Hub { replies, awake, rest_to, .. } } = self;
        let number = awake.only()?;
        let partition = &mut partitions[number];
        if partition.unanswered != 1 || replies.next_event() != Cycle::NEVER || last <= *rest_to {
            return None;
        }
        // A partition that owes no reply any more goes no further than others that rest, so it stops with its last one.
        partition.advance(&Reach { owing: last, idle: *rest_to }, replies.clock());
        *rest_to = partition.clock().max(*rest_to);
        if !partition.is_idle() {
            return None;
        }
        partition.take_departures(|part, departures| {
            replies.note_departures((number, part), departures);
        });
        replies.advance(last, *rest_to);
        replies.tell_left(|(_, part), left| partition.note_leave(part, left));
        // What the network held is this kernel's too.
        *rest_to = replies.clock().max(*rest_to);
        replies.coming.first().map(|coming| coming.at)
    }

    /// The reply network as far as it goes without other news of the partitions, which hear of what left. Gives the cycles
    /// before which all is done in these, and in those of them that owe replies.
    pub fn advance_replies(&mut self, reach: &Reach) -> (Cycle, Cycle) {
        let Memory { partitions, hub: Hub { replies, awake, rest_to, .. } } = self;
        *rest_to = reach.idle.max(*rest_to);
        let (mut slices, mut owed, mut end) = (*rest_to, Cycle::NEVER, reach.owing);
        for number in awake.iter() {
            let partition = &mut partitions[number];
            slices = slices.min(partition.clock());
            if !partition.is_idle() {
                owed = owed.min(partition.clock());
                end = end.min(partition.departs_from());
            }
            partition.take_departures(|part, departures| {
                replies.note_departures((number, part), departures);
            });
        }
        replies.advance(end, slices);
        replies.tell_left(|(number, part), left| partitions[number].note_leave(part, left));
        (slices, owed)
    }

    /// Tells `note` when requests left the input queue of a slice, since the last time.
    pub fn take_left(&mut self, mut note: impl FnMut(usize, Cycle)) {
        for number in self.hub.awake.iter() {
            let partition = &mut self.partitions[number];
            if partition.left().is_empty() {
                continue;
            }
            let first = number * partition.slices().len();
            for &(part, cycle) in partition.left().iter() {
                note(first + part, cycle);
            }
            partition.left().clear();
            if partition.rests() {
                self.hub.awake.set(number, false);
            }
        }
    }

    /// Every part goes on to core cycle `end`, where no reply is owed, and counts every clock before.
    pub fn finish(&mut self, end: Cycle) {
        self.advance(&Reach::to(end));
        for partition in self.partitions.iter_mut() {
            partition.advance(&Reach::to(end), end);
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
            if self.hub.replies.is_empty() { "empty" } else { "busy" },
            self.slices().count(),
        )
    }
}
