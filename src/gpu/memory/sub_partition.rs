//! A slice with the queues around it: to the reply network, to the DRAM and to the slice of the other partition.

use crate::config::Machine;
use crate::gpu::clocks::Domain;
use crate::l2::{DEPARTURES, Departure, Slice};
use crate::parts::{Occupancy, Stamp, Stamps};
use crate::ring::Ring;
use crate::units::Cycle;

/// What the DRAM brings to a slice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brought {
    pub slot: u16,
    pub piece: u8,
    /// The core cycle in which the DRAM began with it, less the way there.
    pub started: Stamp,
    /// The core cycle in which it comes.
    pub comes: Cycle,
}

/// What a home slice brings to the one that keeps copies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    pub slot: u16,
    pub piece: u8,
    /// How it found it.
    pub stamps: Stamps,
}

/// When a sub-partition is to be looked at.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The next L2 cycle in which it does anything, or has something to hand on.
    pub due: Cycle,
    /// The same, or the next L2 cycle in which the DRAM's queue has room for what it waits with.
    pub next: Cycle,
}

impl Look {
    /// Due at `due`; asks the DRAM at `asks`.
    #[inline]
    pub fn new(due: Cycle, asks: Cycle) -> Self {
        Look { due, next: due.min(asks) }
    }

    /// It is due at `tick` as well.
    #[inline]
    pub fn wake(&mut self, tick: Cycle) {
        (self.due, self.next) = (self.due.min(tick), self.next.min(tick));
    }
}

/// One slice of a partition. What each visit looks at lies together, from the beginning of a line of the cache on.
#[repr(C, align(64))]
pub struct SubPartition {
    /// Its input of the reply network.
    pub port: Occupancy,
    /// On its way here from the DRAM.
    pub data: Ring<Brought>,
    pub slice: Slice,
    /// On its way here from the other one.
    pub found: Ring<Found>,
    /// Replies to be told to the network, in order, where the slice does not hold them until then.
    pub departures: Vec<Departure>,
    /// Replies that it sends in a core cycle, at most.
    most_replies: usize,
}

impl SubPartition {
    /// Slice `number` of `machine`, empty, with as many as `most_ticks` L2 cycles in a core cycle.
    pub fn new(machine: &Machine, number: usize, most_ticks: u64) -> Self {
        let slice = Slice::new(machine, number);
        // Every fetch of a slice comes in four pieces, at most.
        let pieces = machine.l2.mshr_entries.size() * 4;
        SubPartition {
            data: Ring::new(pieces),
            found: Ring::new(if slice.is_paired() { pieces } else { 1 }),
            departures: Vec::with_capacity(DEPARTURES),
            port: Occupancy::new(machine.noc.input_queue.size()),
            most_replies: most_ticks as usize * machine.l2.coalescer.requests(),
            slice,
        }
    }

    /// The next L2 cycle from `tick` on in which the slice does anything or is brought data.
    #[inline]
    pub fn next_event(&self, tick: Cycle) -> Cycle {
        self.data.next_visible().min(self.slice.next_event(tick))
    }

    /// The same of a slice that deals with no other one and has no coalescer.
    #[inline]
    pub fn next_plain_event(&self, tick: Cycle) -> Cycle {
        self.data.next_visible().min(self.slice.next_plain_event(tick))
    }

    /// Gives the slice what has come from the DRAM by L2 cycle `tick`.
    #[inline]
    pub fn bring(&mut self, tick: Cycle) {
        while let Some(Brought { slot, piece, started, comes }) = self.data.pop(tick) {
            if let Some(next) = self.data.front(Cycle::NEVER) {
                self.slice.prefetch(next.slot);
            }
            self.slice.fill(tick, comes, slot, piece, started);
        }
    }

    /// As [`SubPartition::bring`], where the network is told of replies ahead of their time; true when a request was released.
    #[inline]
    pub fn bring_and_release(&mut self, tick: Cycle) -> bool {
        let mut has_released = false;
        while self.data.next_visible() <= tick {
            let Brought { slot, piece, started, comes } = self.data.take();
            if has_released {
                self.slice.fill(tick, comes, slot, piece, started);
            } else {
                has_released = self.slice.fill_and_release(tick, comes, slot, piece, started);
            }
        }
        has_released
    }

    /// Gives the slice what has come from the other one by L2 cycle `tick`, which is in core cycle `core`.
    pub fn bring_from_home(&mut self, tick: Cycle, core: Cycle) {
        while let Some(Found { slot, piece, stamps }) = self.found.pop(tick) {
            if let Some(next) = self.found.front(Cycle::NEVER) {
                self.slice.prefetch(next.slot);
            }
            self.slice.fill_from_home(tick, core, slot, piece, &stamps);
        }
    }

    /// The network is to hear of the replies of the slice ahead of their time. When they leave is known as long as it has room.
    /// Gives their number.
    #[inline]
    pub fn tell_replies(&mut self, l2: &Domain) -> usize {
        let port = &mut self.port;
        self.slice.exit().tell(|| {
            if port.may_lack_room_for(1) {
                return None;
            }
            let from = l2.ticks_before(port.room_from(1));
            port.take(1);
            Some(from)
        })
    }

    /// From when on the reply network has room for all that leave with the slice's oldest reply; never, as far as that is not
    /// known.
    #[inline]
    pub fn room_from(&self) -> Cycle {
        self.port.room_from(self.slice.replies_at_once())
    }

    /// Whether a reply may find no room there in a cycle to come.
    #[inline]
    pub fn may_block(&self) -> bool {
        self.port.may_lack_room_for(self.most_replies)
    }
}
