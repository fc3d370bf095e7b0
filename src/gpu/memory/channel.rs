//! A DRAM channel with its clock, as the slices before it see it.

use super::sub_partition::{Brought, Look, SubPartition};
use crate::config::Machine;
use crate::dram::{self, Completion, Controller, Listener};
use crate::gpu::clocks::Clocks;
use crate::parts::{DramRequest, FOR_NOBODY, Stamp};
use crate::ring::Ring;
use crate::units::Cycle;

/// Whose a DRAM request is: the slice among those of the partition, and the slice's name for it.
#[derive(Clone, Copy, Debug)]
pub struct Tag {
    pub part: u8,
    pub piece: u8,
    pub slot: u16,
}

impl Tag {
    #[inline]
    fn pack(self) -> u32 {
        u32::from(self.part) << 24 | u32::from(self.piece) << 16 | u32::from(self.slot)
    }

    #[inline]
    fn unpack(tag: u32) -> Self {
        Tag { part: (tag >> 24) as u8, piece: (tag >> 16) as u8, slot: tag as u16 }
    }
}

/// What the slices of a channel hear of it, and how far it may go on for that.
pub struct News<'a> {
    pub clocks: &'a Clocks,
    pub sub_partitions: &'a mut [SubPartition],
    /// When each of them is to be looked at.
    pub looks: &'a mut [Look],
    /// The first L2 cycle in which a slice does anything.
    pub due: Cycle,
    /// The core cycle of that.
    pub core: Cycle,
    /// A slice waits for room.
    pub is_awaited: bool,
    /// The command clock before which the channel may go on.
    pub to: Cycle,
    /// The channel may be ahead of a slice by so many clocks.
    pub ahead: u64,
}

impl News<'_> {
    /// A slice does something in L2 cycle `tick`.
    #[inline(always)]
    fn hasten(&mut self, tick: Cycle) {
        if tick < self.due {
            (self.due, self.core) = (tick, self.clocks.l2.core_cycle_of(tick));
            self.to = self.to.min(self.clocks.dram.ticks_before(self.core + 1) + self.ahead);
        }
    }
}

/// What a controller tells: of data that is on its way to the slices, and of places that it gives back.
struct Ear<'a, 'b> {
    news: &'a mut News<'b>,
    /// From a slice to the controller's queue [clocks].
    way: u64,
    room: &'a mut usize,
    leaves: &'a mut Ring<()>,
}

impl Listener for Ear<'_, '_> {
    #[inline]
    fn bound(&self) -> Cycle {
        self.news.to
    }

    #[inline(always)]
    fn left(&mut self, at: Cycle) {
        let News { is_awaited, to, ahead, .. } = *self.news;
        // No slice does anything before it.
        if at + ahead < to && !is_awaited {
            *self.room += 1;
            return;
        }
        let Clocks { l2, dram, .. } = self.news.clocks;
        // In a core cycle the DRAM's clocks come first.
        let tick = l2.ticks_before(dram.core_cycle_of(at));
        self.leaves.push(tick, ());
        if is_awaited {
            self.news.hasten(tick);
        }
    }

    #[inline(always)]
    fn done(&mut self, read: Completion) {
        let Clocks { l2, dram, .. } = self.news.clocks;
        let Tag { part, piece, slot } = Tag::unpack(read.tag);
        if slot == FOR_NOBODY {
            return;
        }
        let comes = dram.core_cycle_of(read.comes);
        let started = Stamp::from(dram.core_cycle_of(Cycle(read.first_command.0 - self.way)));
        let tick = l2.ticks_before(comes);
        let part = usize::from(part);
        let SubPartition { slice, data, .. } = &mut self.news.sub_partitions[part];
        slice.prefetch(slot);
        data.push(tick, Brought { slot, piece, started, comes });
        self.news.looks[part].wake(tick);
        self.news.hasten(tick);
    }
}

/// A DRAM controller, and when it is due.
///
/// It may be ahead of the slices: a request that they push enters its queue later, and what it does until then is known
/// before. They see the places that it gives back when it does.
pub struct Channel {
    clocks: Clocks,
    /// A burst's bytes are two to this power.
    burst_bits: u32,
    controller: Controller,
    /// The next command clock in which the controller does anything.
    due_clock: Cycle,
    /// Requests that it takes, as far as the slices have come.
    room: usize,
    /// Places that are free from an L2 cycle on.
    leaves: Ring<()>,
}

impl Channel {
    /// A channel of `machine`, idle.
    pub fn new(machine: &Machine, clocks: Clocks) -> Self {
        let controller = Controller::new(&machine.dram);
        let room = controller.room();
        Channel {
            clocks,
            burst_bits: machine.dram.burst_bytes().trailing_zeros(),
            controller,
            due_clock: Cycle(0),
            room,
            leaves: Ring::new(room),
        }
    }

    /// The controller.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The next command clock in which it does anything.
    #[inline]
    pub fn due_clock(&self) -> Cycle {
        self.due_clock
    }

    /// No data comes before this core cycle, unless a request does.
    pub fn next_data(&self) -> Cycle {
        self.clocks.dram.core_cycle_of(self.controller.next_data(self.due_clock))
    }

    /// True when it takes another request in L2 cycle `tick`.
    #[inline]
    pub fn can_accept(&mut self, tick: Cycle) -> bool {
        while self.leaves.next_visible() <= tick {
            self.leaves.take();
            self.room += 1;
        }
        self.room > 0
    }

    /// True when it takes another request in the L2 cycle for which that was asked last.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room > 0
    }

    /// Where it takes none: the L2 cycle in which it does, as far as that is known.
    #[inline]
    pub fn next_room(&self) -> Cycle {
        self.leaves.next_visible()
    }

    /// Takes the request of slice `part` before command clock `now`; the caller has asked [`Channel::can_accept`]. True when
    /// it is due sooner for that.
    #[inline]
    pub fn push(&mut self, now: Cycle, part: usize, request: DramRequest) -> bool {
        let tag = Tag { part: part as u8, piece: request.piece, slot: request.slot };
        let request = dram::Request {
            address: request.address,
            bursts: (request.bytes >> self.burst_bits) as u16,
            write: request.write,
            tag: tag.pack(),
        };
        debug_assert!(self.controller.passed_to() <= now + self.controller.latency_in());
        self.room -= 1;
        self.controller.push(now, request);
        let before = self.due_clock;
        // One that has come already waits at the end of its way until the next clock.
        let from = self.controller.passed_to().max(now);
        self.due_clock = before.min(self.controller.next_arrival().max(from));
        self.due_clock < before
    }

    /// Command clock `tick`, in which it is due, and those after it as far as `news` says.
    #[inline(always)]
    pub fn run(&mut self, tick: Cycle, news: &mut News) {
        let way = self.controller.latency_in();
        let mut ear = Ear { news, way, room: &mut self.room, leaves: &mut self.leaves };
        self.due_clock = self.controller.run_on(tick, &mut ear);
    }

    /// Counts every command clock before `end`, where the books are closed.
    pub fn catch_up(&mut self, end: Cycle) {
        debug_assert!(self.controller.passed_to() <= end, "it is too far ahead");
        self.controller.skip(end);
        self.controller.settle();
    }
}
