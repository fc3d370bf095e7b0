//! What waits in a crossbar: places, the lines in which they stand, and the inputs.

use super::packet::Packet;
use crate::units::Cycle;

/// In place of the number of a place: there is none.
const NONE: u32 = u32::MAX;

/// What a packet takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// Cycles in which it leaves its input.
    pub input: u16,
    /// Cycles in which it goes in at its output.
    pub output: u16,
}

/// A place for a packet. With the packets that there are, it takes one line of the processor's caches.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Place<P> {
    pub packet: P,
    /// The cycle in which it enters its input; as long as it waits for room there, what its sender gave for that. When it is the
    /// oldest one for its output, since when it has been that.
    pub at: Cycle,
    /// The place of the one behind it; of no meaning where there is none.
    pub next: u32,
    pub output: u16,
    /// Bytes besides the header.
    pub data: u8,
    /// It takes no time of its input.
    pub shares: bool,
}

/// The places of a crossbar. There are more as soon as they are needed, and those that were used last are used first: few are, and
/// stay in the processor's caches.
#[derive(Clone, Debug)]
pub(super) struct Places<P> {
    pub list: Vec<Place<P>>,
    /// Free places, that which was used last behind the others. A chain from one to the next would be read, where a place is only
    /// written otherwise, and has often left the processor's caches.
    pub free: Vec<u32>,
}

impl<P: Packet> Places<P> {
    /// None yet, but so many take no new storage.
    pub fn new(count: usize) -> Self {
        let mut places = Places { list: Vec::new(), free: Vec::new() };
        places.reserve(count);
        places
    }

    /// So many more take no new storage.
    pub fn reserve(&mut self, count: usize) {
        self.list.reserve(count);
        self.free.reserve(count);
    }

    /// Puts a packet into a free place; gives the number of that.
    #[inline]
    pub fn put(&mut self, at: Cycle, output: usize, data: u8, shares: bool, packet: &P) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| self.grow());
        let place = &mut self.list[number as usize];
        (place.at, place.output, place.data, place.shares) = (at, output as u16, data, shares);
        place.packet = *packet;
        number
    }

    /// One place more.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        self.list.push(Place::default());
        self.list.len() as u32 - 1
    }
}

/// Packets that wait at one input for one output, the oldest first; of no meaning when there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    pub first: u32,
    pub last: u32,
}

/// An input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    /// When it can send again.
    pub free_at: Cycle,
    /// Packets that it can still take, besides those of which it is known when they enter.
    pub room: u32,
    /// Packets that wait for room, and the first and the last of them.
    pub queued: u32,
    pub first: u32,
    pub last: u32,
}

impl Input {
    /// Idle, with room for so many packets.
    pub fn new(room: usize) -> Self {
        Input { free_at: Cycle(0), room: room as u32, queued: 0, first: NONE, last: NONE }
    }
}
