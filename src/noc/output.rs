//! An output of a crossbar, and the port that several may share.

use super::input::{Line, Place};
use super::ports::Ports;
use super::times::Entered;
use crate::ring::Ring;
use crate::units::Cycle;

/// What one output knows. What is needed most comes first, in two lines of the processor's caches where the inputs are few.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Output<L, const WORDS: usize> {
    /// Inputs that hold a packet for this output, or will.
    pub wanted_by: Ports<WORDS>,
    /// Of these, inputs whose oldest such packet leaves together with another one.
    pub shared_by: Ports<WORDS>,
    /// The input to ask first.
    pub turn: usize,
    /// It can take a packet then; never, when nobody wants it or packets that wait have all places.
    pub due: Cycle,
    /// It takes no other packet before; never, as long as packets that wait have all places.
    pub free_from: Cycle,
    /// When the last packet that was sent arrives: none overtakes another.
    pub last_arrival: Cycle,
    /// By input: the packets for this output.
    pub lines: Box<[Line]>,
    /// When the oldest packet for this output has entered each input.
    pub entered: Entered<WORDS>,
    /// It takes no other packet before, whether or not there is a place.
    pub ready_from: Cycle,
    /// Those that wait until they are taken.
    pub pipe: Ring<L>,
    /// From which cycle on the place of each of the last packets is free that were expected, as many as there are
    /// places, in order; and where the next one stands.
    freed: Box<[Cycle]>,
    next_freed: usize,
}

impl<L: Copy + Default, const WORDS: usize> Output<L, WORDS> {
    /// Idle, of so many inputs, with so many places for packets that wait or are expected.
    pub fn new(inputs: usize, places: usize) -> Self {
        Output {
            lines: vec![Line::default(); inputs].into(),
            entered: Entered::default(),
            wanted_by: Ports::default(),
            shared_by: Ports::default(),
            turn: 0,
            due: Cycle::NEVER,
            free_from: Cycle(0),
            ready_from: Cycle(0),
            last_arrival: Cycle(0),
            pipe: Ring::new(places),
            freed: vec![Cycle(0); places].into(),
            next_freed: 0,
        }
    }

    /// Who can send at `now`, and from when on one of the others can, where some need not wait for their input.
    #[inline(never)]
    pub fn who_can_share<P>(
        &self,
        now: Cycle,
        (mut able, mut later): (Ports<WORDS>, Cycle),
        places: &[Place<P>],
    ) -> (Ports<WORDS>, Cycle) {
        for input in self.shared_by.iter() {
            let from = places[self.lines[input].first as usize].at;
            able.add(input, from <= now);
            later = if from > now { later.min(from) } else { later };
        }
        (able, later)
    }

    /// When a place is free for another packet; never, as long as packets that wait have all of them.
    #[inline]
    pub fn place_free_from(&self) -> Cycle {
        let (places, waiting) = (self.freed.len(), self.pipe.len());
        if waiting == 0 {
            return self.freed[self.next_freed];
        }
        if waiting == places {
            return Cycle::NEVER;
        }
        // Those that are expected came before those that wait, and have the other places: the oldest of so many goes next.
        let oldest = self.next_freed + waiting;
        self.freed[if oldest < places { oldest } else { oldest - places }]
    }

    /// A packet is expected, whose place is free from this cycle on.
    #[inline]
    pub fn expect(&mut self, free_from: Cycle) {
        self.freed[self.next_freed] = free_from;
        self.next_freed =
            if self.next_freed + 1 == self.freed.len() { 0 } else { self.next_freed + 1 };
    }
}

/// Outputs that share a port of so many bytes a cycle.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// By output.
    of: Box<[u16]>,
    bytes: u64,
    /// Bytes of a flit as it leaves its input.
    flit_bytes: u64,
    /// By group: what its port has taken, had it never rested [bytes].
    taken: Box<[u64]>,
}

impl Groups {
    /// Of outputs whose groups are given, with ports of `bytes` a cycle, for flits of `flit_bytes`.
    pub fn new(of: &[u16], bytes: u32, flit_bytes: u32) -> Self {
        let groups = of.iter().map(|group| usize::from(*group) + 1).max().unwrap_or(0);
        let (bytes, flit_bytes) = (u64::from(bytes), u64::from(flit_bytes));
        Groups { of: of.into(), bytes, flit_bytes, taken: vec![0; groups].into() }
    }

    /// When the port of an output takes the next packet.
    #[inline]
    pub fn free_from(&self, output: usize) -> Cycle {
        Cycle(self.taken[usize::from(self.of[output])] / self.bytes)
    }

    /// A packet of so many flits goes through the port of an output.
    #[inline]
    pub fn take(&mut self, now: Cycle, output: usize, flits: u16) {
        let taken = &mut self.taken[usize::from(self.of[output])];
        *taken = (*taken).max(now.0 * self.bytes) + u64::from(flits) * self.flit_bytes;
    }
}
