//! A DRAM channel with its clock, as the slices before it see it.

use crate::config::Machine;
use crate::dram::{self, Completion, Controller, Listener};
use crate::gpu::clocks::Clocks;
use crate::parts::DramRequest;
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

/// The data of a read that is on its way from the DRAM.
pub struct Data {
    /// Whose it is.
    pub tag: Tag,
    /// The core cycle in which it comes.
    pub comes: Cycle,
    /// The core cycle in which the first command for it went out.
    pub started: Cycle,
}

/// The read that is done in a clock: there is one at most.
struct Last(Completion);

const NO_READ: Completion = Completion { tag: 0, comes: Cycle::NEVER, first_command: Cycle::NEVER };

impl Listener for Last {
    #[inline]
    fn done(&mut self, read: Completion) {
        self.0 = read;
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
    /// Clocks before this one are done.
    passed: Cycle,
    /// Requests that it takes, as far as the slices have come.
    room: usize,
    /// Places that are free later, from the clock after the one in which a request left.
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
            passed: Cycle(0),
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

    /// True when it takes another request before command clock `now`.
    #[inline]
    pub fn can_accept(&mut self, now: Cycle) -> bool {
        while self.leaves.pop(now).is_some() {
            self.room += 1;
        }
        self.room > 0
    }

    /// Where it takes none: the first command clock in which a request leaves, as far as that is known.
    #[inline]
    pub fn next_leave(&self) -> Cycle {
        match self.leaves.next_visible() {
            Cycle::NEVER => Cycle::NEVER,
            clock => Cycle(clock.0 - 1),
        }
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
        debug_assert!(self.passed <= now + self.controller.latency_in());
        self.room -= 1;
        self.controller.try_push(now, request).expect("it has room");
        let before = self.due_clock;
        // One that has come already waits at the end of its way until the next clock.
        self.due_clock = before.min(self.controller.next_arrival().max(now).max(self.passed));
        self.due_clock < before
    }

    /// Command clock `tick` and those after it before `to`, until a request has left the queue or enters it, and gives the
    /// data of a read whose last command went then.
    #[inline(always)]
    pub fn run(&mut self, tick: Cycle, to: Cycle) -> Option<Data> {
        let mut last = Last(NO_READ);
        let room = self.controller.room();
        let tick = self.controller.run(tick, to, &mut last);
        self.passed = tick + 1;
        if self.controller.room() > room {
            self.leaves.push(self.passed, ());
        }
        self.due_clock = self.controller.next_event(tick + 1);
        let Completion { tag, comes, first_command } = last.0;
        if comes == Cycle::NEVER {
            return None;
        }
        let dram = &self.clocks.dram;
        let (comes, started) = (dram.core_cycle_of(comes), dram.core_cycle_of(first_command));
        Some(Data { tag: Tag::unpack(tag), comes, started })
    }

    /// Counts every command clock before `end`.
    pub fn catch_up(&mut self, end: Cycle) {
        debug_assert!(self.passed <= end, "it is too far ahead");
        self.controller.skip(end);
    }
}
