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

/// Outputs that share ports of so many bytes a cycle: one for each group of inputs.
#[derive(Clone, Debug)]
pub(super) struct Groups<const WORDS: usize> {
    /// By output: its first port.
    of: Box<[u16]>,
    /// By input: its port, behind the first one.
    port_of: Box<[u16]>,
    /// By port behind the first one: its inputs.
    inputs: Box<[Ports<WORDS>]>,
    bytes: u64,
    /// Bytes of a flit as it leaves its input.
    flit_bytes: u64,
    /// By port: what it has taken, had it never rested [bytes].
    taken: Box<[u64]>,
}

impl<const WORDS: usize> Groups<WORDS> {
    /// Of outputs and inputs whose groups are given, with ports of `bytes` a cycle, for flits of `flit_bytes`.
    pub fn new(of: &[u16], inputs_of: Box<[u16]>, bytes: u32, flit_bytes: u32) -> Self {
        let count = |groups: &[u16]| groups.iter().map(|group| group + 1).max().unwrap_or(0);
        let mut inputs = vec![Ports::default(); count(&inputs_of).into()];
        for (input, &group) in inputs_of.iter().enumerate() {
            inputs[usize::from(group)].set(input, true);
        }
        Groups {
            of: of.iter().map(|group| group * count(&inputs_of)).collect(),
            taken: vec![0; usize::from(count(of)) * inputs.len()].into(),
            port_of: inputs_of,
            inputs: inputs.into(),
            bytes: bytes.into(),
            flit_bytes: flit_bytes.into(),
        }
    }

    /// Of the inputs that can send to an output at `now`, those whose port takes a packet, or that need none, and from when on one
    /// of the others can send. A packet that leaves together with another one has gone through the port with it.
    #[inline]
    pub fn who_is_let_in<L>(
        &self,
        now: Cycle,
        (number, output): (usize, &Output<L, WORDS>),
        (mut able, mut later): (Ports<WORDS>, Cycle),
    ) -> (Ports<WORDS>, Cycle) {
        let first = usize::from(self.of[number]);
        let full = (now.0 + 1) * self.bytes;
        for (inputs, &taken) in self.inputs.iter().zip(&self.taken[first..]) {
            if taken >= full {
                let waiting = inputs.without(&output.shared_by);
                let rest = able.without(&waiting);
                if rest != able {
                    later = later.min(Cycle(taken / self.bytes));
                }
                able = rest;
            }
        }
        (able, later)
    }

    /// A packet of so many flits goes from an input through its port of an output.
    #[inline]
    pub fn take(&mut self, now: Cycle, (input, output): (usize, usize), flits: u16) {
        let port = self.of[output] + self.port_of[input];
        let taken = &mut self.taken[usize::from(port)];
        *taken = (*taken).max(now.0 * self.bytes) + u64::from(flits) * self.flit_bytes;
    }
}
