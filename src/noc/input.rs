//! An input of a crossbar: its places, and the lines of packets there.

use super::packet::Packet;
use crate::units::Cycle;

/// In place of a place at an input: there is none.
const NONE: u16 = u16::MAX;

/// What a packet takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    /// Cycles in which it leaves its input.
    pub input: u16,
    /// Cycles in which it goes in at its output.
    pub output: u16,
}

/// A place for a packet at an input, or in the queue before it. With the packets that there are, it takes one line of the
/// processor's caches.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Place<P> {
    pub packet: P,
    /// In the queue: it may enter from this cycle on. At the input: it is the oldest one of its line from then on; of no
    /// meaning before.
    pub since: Cycle,
    pub size: Size,
    pub output: u16,
    /// The place of the one behind it in its queue or line, or the next free place.
    pub next: u16,
}

/// An input, with its places.
#[derive(Clone, Debug)]
pub(super) struct Input<P> {
    /// When it can send again.
    pub free_at: Cycle,
    pub places: Box<[Place<P>]>,
    /// The first free place, from which a chain goes through all of them.
    pub free: u16,
    /// Packets that it can still take.
    pub room: u16,
    /// The queue before it, and how many packets stand there.
    pub queue: Line,
    pub queued: u16,
}

impl<P: Packet> Input<P> {
    /// Idle, with room for so many packets, and before it for so many.
    pub fn new(room: usize, queue: usize) -> Self {
        let count = room + queue;
        let next = |place| if place + 1 < count { place as u16 + 1 } else { NONE };
        let place = |place| Place { next: next(place), ..Place::default() };
        let places = (0..count).map(place).collect();
        let (room, queue) = (room as u16, Line::default());
        Input { free_at: Cycle(0), places, free: 0, room, queue, queued: 0 }
    }

    /// Puts a packet into a free place.
    #[inline]
    pub fn put(&mut self, since: Cycle, output: usize, size: Size, packet: &P) -> u16 {
        let number = self.free;
        let place =
            self.places.get_mut(usize::from(number)).expect("there is a place for a packet");
        self.free = place.next;
        (place.since, place.size, place.output) = (since, size, output as u16);
        place.packet = *packet;
        number
    }
}

/// The packets that queue before one input, or wait there for one output: the places of the oldest and the youngest one. Of no
/// meaning when there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    pub first: u16,
    pub last: u16,
}

impl Line {
    /// A packet joins the others, behind them, unless it `is_alone`.
    #[inline(always)]
    pub fn append<P>(&mut self, places: &mut [Place<P>], number: u16, is_alone: bool) {
        let last = std::mem::replace(&mut self.last, number);
        if is_alone {
            self.first = number;
        } else {
            places[usize::from(last)].next = number;
        }
    }
}
