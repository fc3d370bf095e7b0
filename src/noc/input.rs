//! What waits in a crossbar: places, the lines in which they stand, and the inputs.

use super::packet::Packet;
use crate::prefetch::prefetch_at;
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

/// What is asked of a packet as long as it waits. Four of them take one line of the processor's caches.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Place {
    /// The cycle in which it enters its input; as long as it waits for room there, what its sender gave for that. When it is the
    /// oldest one for its output, since when it has been that.
    pub at: Cycle,
    /// The place of the one behind it.
    pub next: u32,
    pub output: u16,
    /// Bytes besides the header.
    pub data: u8,
    /// It takes no time of its input.
    pub shares: bool,
}

/// The packet itself, in one line of the processor's caches.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Held<P>(pub P);

/// The places of a crossbar. There are more as soon as they are needed, and those that were used last are used first: few are, and
/// stay in the processor's caches.
#[derive(Clone, Debug)]
pub(super) struct Places<P> {
    pub list: Vec<Place>,
    /// By place.
    pub packets: Vec<Held<P>>,
    /// Places that are free, that which was used last behind the others. A chain from one to the next would be read where the
    /// processor's caches have nothing else of them.
    free: Vec<u32>,
}

impl<P: Packet> Places<P> {
    /// None yet, but so many take no new storage.
    pub fn new(count: usize) -> Self {
        let mut places = Places { list: Vec::new(), packets: Vec::new(), free: Vec::new() };
        places.reserve(count);
        places
    }

    /// So many more take no new storage.
    pub fn reserve(&mut self, count: usize) {
        self.list.reserve(count);
        self.packets.reserve(count);
        self.free.reserve(count);
    }

    /// Puts a packet into a free place; gives the number of that.
    #[inline]
    pub fn put(&mut self, at: Cycle, output: usize, data: u8, shares: bool, packet: &P) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| self.grow());
        // The one behind it is told when it comes.
        self.list[number as usize] = Place { at, next: NONE, output: output as u16, data, shares };
        self.packets[number as usize] = Held(*packet);
        // The next packet goes into the next one.
        if let Some(&next) = self.free.last() {
            prefetch_at(&self.packets, next as usize);
        }
        number
    }

    /// Gives back a place.
    #[inline(always)]
    pub fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Its packet is looked at soon.
    #[inline(always)]
    pub fn prefetch(&self, number: u32) {
        prefetch_at(&self.packets, number as usize);
    }

    /// One place more.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        self.list.push(Place::default());
        self.packets.push(Held::default());
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
