//! A DRAM channel with its clock, as the slices before it see it.

use crate::config::Machine;
use crate::dram::{self, Controller};
use crate::parts::DramRequest;
use crate::units::Cycle;

/// Whose a DRAM request is: the slice among those of the partition, and the slice's name for it.
#[derive(Clone, Copy, Debug)]
pub struct Tag {
    pub part: u8,
    pub piece: u8,
    pub slot: u16,
}

impl Tag {
    fn pack(self) -> u32 {
        u32::from(self.part) << 24 | u32::from(self.piece) << 16 | u32::from(self.slot)
    }

    fn unpack(tag: u32) -> Self {
        Tag { part: (tag >> 24) as u8, piece: (tag >> 16) as u8, slot: tag as u16 }
    }
}

/// A DRAM controller, and how far it has come. Times are its command clocks unless they are called `core`.
#[derive(Clone, Debug)]
pub struct Channel {
    burst_bytes: u32,
    controller: Controller,
    /// The first clock that was neither ticked nor skipped.
    clock: Cycle,
    /// The next clock in which the controller does anything.
    due: Cycle,
}

impl Channel {
    /// A channel of `machine`, idle.
    pub fn new(machine: &Machine) -> Self {
        Channel {
            burst_bytes: machine.dram.burst_bytes(),
            controller: Controller::new(&machine.dram),
            clock: Cycle(0),
            due: Cycle(0),
        }
    }

    /// The controller.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The next clock in which it does anything.
    #[inline]
    pub fn due(&self) -> Cycle {
        self.due
    }

    /// No data comes before this clock, unless a request does.
    pub fn next_data(&self) -> Cycle {
        self.controller.next_data(self.due)
    }

    /// True when it takes another request.
    #[inline]
    pub fn can_accept(&self) -> bool {
        self.controller.can_accept()
    }

    /// Takes the request of slice `part`; the caller has asked [`Channel::can_accept`].
    pub fn push(&mut self, now: Cycle, part: usize, request: DramRequest) {
        let tag = Tag { part: part as u8, piece: request.piece, slot: request.slot };
        let request = dram::Request {
            address: request.address,
            bursts: (request.bytes / self.burst_bytes) as u16,
            write: request.write,
            tag: tag.pack(),
        };
        self.skip_to(now);
        self.controller.try_push(now, request).expect("it has room");
        self.due = self.controller.next_event(self.clock);
    }

    /// The next clock before `to` in which it does anything, done; `None` where there is no such clock. Every clock is
    /// looked at where `every_clock` is set, none before `from`.
    pub fn tick(
        &mut self,
        (from, to): (Cycle, Cycle),
        core: Cycle,
        every_clock: bool,
        mut arrived: impl FnMut(Tag, Cycle),
    ) -> bool {
        let clock = self.clock.max(from);
        let tick = if every_clock { clock } else { self.due.max(clock) };
        if tick >= to {
            return false;
        }
        self.skip_to(tick);
        self.controller.tick(tick, core);
        self.clock = tick + 1;
        while let Some(done) = self.controller.pop_completion(tick) {
            arrived(Tag::unpack(done.tag), done.first_command);
        }
        self.due = self.controller.next_event(self.clock);
        true
    }

    /// Skips clocks to `to`; nothing may happen before.
    #[inline]
    pub fn skip_to(&mut self, to: Cycle) {
        if self.clock < to {
            self.controller.skip(self.clock, to);
            self.clock = to;
        }
    }
}
