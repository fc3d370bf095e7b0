//! The way from the L1s' miss queues to the L2 slices.

use std::cell::Cell;
use std::ops::Range;

use super::exit::{Exit, may_leave};
use crate::config::Machine;
use crate::gpu::clocks::{Clocks, Domain};
use crate::gpu::news::{ALL_EVENTS, Arrived, push_copy};
use crate::l2::Slice;
use crate::noc::{Calendar, Crossbar, Entering, Landing, NocStats, Packet, Ports, Sent};
use crate::parts::{AddressMap, Occupancy, Request};
use crate::units::Cycle;

impl Packet for Request {
    type Landed = Request;

    #[inline]
    fn landed(&self) -> Request {
        *self
    }
}

/// What is known of one slice.
#[derive(Clone, Debug)]
struct SliceInput {
    /// Its input queue.
    places: Occupancy,
    /// The first network cycle in which the next one can arrive: one a cycle.
    free_from: Cycle,
}

impl SliceInput {
    /// Of a slice whose input queue has so many places.
    fn new(room: usize) -> Self {
        SliceInput { places: Occupancy::new(room), free_from: Cycle(0) }
    }

    /// A request comes in network cycle `tick`; there is a place for it.
    #[inline]
    fn take(&mut self, tick: Cycle) {
        self.free_from = tick + 1;
        self.places.take(1);
    }
}

/// What is known of one SM.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// Cycles before this one need to know of no other request.
    known_to: Cycle,
    exit: Exit,
}

impl Source {
    /// Core cycles before this one need to know of no other request, where none waits for room.
    #[inline]
    fn known_to(&self, noc: &Domain) -> Cycle {
        self.known_to.max(noc.core_cycle_of(self.exit.free_from))
    }
}

/// The request network with its ends.
#[derive(Clone, Debug)]
pub struct Requests<const WORDS: usize> {
    clocks: Clocks,
    map: AddressMap,
    /// With the miss queues before its inputs.
    crossbar: Crossbar<Request, WORDS>,
    sources: Box<[Source]>,
    /// SMs that may have another request at all.
    followed: Ports<WORDS>,
    /// Where so many requests wait for room, another one does not enter in this core cycle: each does so after the tick that made
    /// its room, and one a tick.
    enough: usize,
    /// Cycles before this one need to know of no other request of any SM where less wait.
    known_to: Cycle,
    /// For the SMs: whose requests leave the miss queue that waited for room in the network, and when.
    pub left: Vec<(u16, Cycle)>,
    slice_inputs: Box<[SliceInput]>,
    /// For the slices: requests that arrived.
    pub arrived: Vec<Arrived>,
    /// Slices to which a request has come, and of which it is not known when they have a place for it.
    full: Ports<WORDS>,
    /// Slices by the network cycle in which a request comes to them, or finds a place there.
    arrivals: Calendar<WORDS>,
    /// Stores move in pieces of so many bytes.
    store_piece: u32,
    /// What the masks of a store take that does not write all of its pieces [bytes].
    mask_bytes: u32,
    /// Cycles before this one are done.
    clock: Cycle,
    /// Every arrival at a slice so far comes before this cycle.
    arrived_to: Cycle,
    /// A request that leaves its input comes to its slice in a later core cycle.
    is_slow: bool,
    /// Tick in every cycle, whether or not anything can happen.
    every_cycle: bool,
}

impl<const WORDS: usize> Requests<WORDS> {
    /// An empty network.
    pub fn new(machine: &Machine, clocks: Clocks, every_cycle: bool) -> Self {
        let (sms, slices) = (machine.sm.count.size(), machine.l2.slices.size());
        let mut crossbar = Crossbar::to_slices(&machine.noc, sms, slices)
            .with_queues(machine.l1.miss_queue.size());
        // A slice takes one a tick.
        crossbar.assume_swift_receivers();
        Requests {
            clocks,
            map: AddressMap::new(machine),
            is_slow: crossbar.least_delay() >= clocks.noc.most_ticks(),
            crossbar,
            sources: vec![Source { known_to: Cycle(0), exit: Exit::default() }; sms].into(),
            followed: Ports::default(),
            enough: (clocks.noc.most_ticks() as usize).saturating_sub(1).max(1),
            known_to: Cycle(0),
            left: Vec::with_capacity(ALL_EVENTS),
            arrived: Vec::with_capacity(ALL_EVENTS),
            full: Ports::default(),
            arrivals: Calendar::default(),
            slice_inputs: (0..slices).map(|_| SliceInput::new(Slice::room(&machine.l2))).collect(),
            store_piece: machine.noc.store_piece.get(),
            mask_bytes: machine.noc.mask_bytes.get(),
            clock: Cycle(0),
            arrived_to: Cycle(0),
            every_cycle,
        }
    }

    /// Counters since construction.
    pub fn stats(&self) -> NocStats {
        self.crossbar.stats()
    }

    /// Cycles before this one are done.
    pub fn clock(&self) -> Cycle {
        self.clock
    }

    /// The cycle of the last arrival at a slice.
    pub fn last_arrival(&self) -> Option<Cycle> {
        self.arrived_to.0.checked_sub(1).map(Cycle)
    }

    /// True when no request is in a miss queue or in the network.
    pub fn is_empty(&self) -> bool {
        self.crossbar.is_empty()
    }

    /// The next cycle in which anything happens, as far as known, or less; never while it is empty.
    pub fn next_event(&self) -> Cycle {
        if self.is_empty() { Cycle::NEVER } else { self.next_look(Cycle(0)) }
    }

    /// The next cycle, from the clock on, that is looked at: of a slice that is full nothing is known from the slices' clock on.
    #[inline]
    fn next_look(&self, slices: Cycle) -> Cycle {
        let tick = self.crossbar.next_event().min(self.arrivals.next());
        let mut due = self.clocks.noc.core_cycle_of(tick);
        if !self.full.is_empty() {
            due = due.min(slices);
        }
        due.max(self.clock)
    }

    /// Goes to cycle `now`, before which nothing happened.
    pub fn prepare(&mut self, now: Cycle) {
        debug_assert!(self.is_empty());
        self.clock = now;
        for sm in 0..self.sources.len() {
            self.note_clock(sm, now);
        }
    }

    /// Hears of a request in the miss queue of `sm`; gives the cycle in which it leaves that, where it is known. Else it is told
    /// in [`Requests::left`], which holds nothing of the SM now.
    #[inline(always)]
    pub fn note_request(&mut self, sm: usize, request: &Request) -> Option<Cycle> {
        let slice = self.map.slice(request.line, request.sm);
        let bytes = request.data_bytes(self.store_piece, self.mask_bytes);
        let at = may_leave(request, self.clock, &self.clocks.noc);
        if !self.crossbar.has_room(sm) {
            self.crossbar.queue(at, (sm, slice), bytes, request);
            return None;
        }
        let leaves = self.sources[sm].exit.leaves(at);
        let cycle = self.clocks.noc.core_cycle_of(leaves);
        let request = self.crossbar.push(leaves, (sm, slice), bytes, false, request);
        request.stamps.injected = cycle.into();
        Some(cycle)
    }

    /// The way out of the miss queue of `sm`, and for how many requests there is room behind it, whatever else happens.
    #[inline]
    pub fn exit(&self, sm: usize) -> (Exit, usize) {
        (self.sources[sm].exit, self.crossbar.room(sm))
    }

    /// Hears that cycles of the network before `cycle` need to know of no other request of `sm`.
    #[inline]
    pub fn note_clock(&mut self, sm: usize, cycle: Cycle) {
        self.sources[sm].known_to = cycle;
        self.followed.set(sm, cycle != Cycle::NEVER);
    }

    /// Hears when the next request leaves the input queue of `slice`.
    #[inline]
    pub fn note_leave(&mut self, slice: usize, leave: Cycle) {
        self.slice_inputs[slice].places.note_leave(leave);
        if self.full.contains(slice) {
            self.note_place(slice, leave);
        }
    }

    /// A request that waits at `slice` finds a place in cycle `core`.
    #[inline(never)]
    fn note_place(&mut self, slice: usize, core: Cycle) {
        self.full.set(slice, false);
        self.arrivals.note(self.clocks.noc.ticks_before(core), slice);
    }

    /// Advances to `end`, or as far as what the SMs have told allows, and what is known of the slices, whose
    /// clock is `slices`.
    pub fn advance(&mut self, end: Cycle, slices: Cycle) {
        self.find_known();
        while self.clock < end {
            let now = if self.every_cycle { self.clock } else { self.next_look(slices) };
            if now >= self.known_to {
                self.clock = self.clock.max(self.known_to);
                return;
            }
            if now >= end {
                self.clock = end;
                return;
            }
            let ticks =
                self.clocks.noc.ticks_before(now).0..self.clocks.noc.ticks_before(now + 1).0;
            if now >= slices && self.may_find_no_place(&ticks) {
                self.clock = now;
                return;
            }
            let last = if self.goes_alone() {
                let until = self.clocks.noc.ticks_before(self.known_to.min(end));
                let last = self.send(Cycle(ticks.start), until);
                last.map(|tick| self.clocks.noc.core_cycle_of(tick))
            } else {
                for tick in ticks.map(Cycle) {
                    self.send(tick, tick + 1);
                    if self.arrivals.next() <= tick {
                        self.hand_out(tick, now);
                    }
                }
                None
            };
            self.clock = last.unwrap_or(now) + 1;
        }
    }

    /// Finds before which cycle nobody needs to know of another request of any SM.
    #[inline]
    fn find_known(&mut self) {
        let asks = self.followed.iter().filter(|sm| self.crossbar.queued(*sm) < self.enough);
        let known_to = asks.map(|sm| self.sources[sm].known_to(&self.clocks.noc));
        self.known_to = known_to.fold(Cycle::NEVER, Cycle::min);
    }

    /// Whether a request may come to a slice in these ticks that may have no place for it, as far as known.
    fn may_find_no_place(&self, ticks: &Range<u64>) -> bool {
        let most = (ticks.end - ticks.start) as usize;
        let sent_in_time = self.crossbar.least_delay() < ticks.end - ticks.start;
        let may_be_full = |number: usize| self.slice_inputs[number].places.may_lack_room_for(most);
        let lands = |number: &usize| self.crossbar.next_arrival(*number).0 < ticks.end;
        if self.crossbar.landing().iter().filter(lands).any(may_be_full) {
            return true;
        }
        sent_in_time && (0..self.slice_inputs.len()).any(may_be_full)
    }

    /// Whether nobody but the crossbar has anything to do as long as each request that leaves it finds a place.
    #[inline]
    fn goes_alone(&self) -> bool {
        let nobody_waits = self.arrivals.next() == Cycle::NEVER && self.full.is_empty();
        nobody_waits && self.is_slow && self.crossbar.landing().is_empty() && !self.every_cycle
    }

    /// The ticks of the crossbar from `from` on and before `until`: none of later core cycles than that in which a request leaves that
    /// waits at its slice, or from which on another one may have to be known. Gives the last one in which it did anything.
    fn send(&mut self, from: Cycle, until: Cycle) -> Option<Cycle> {
        let Requests { clocks, crossbar, sources, arrivals, slice_inputs, arrived, left, .. } =
            self;
        let noc = &clocks.noc;
        let (arrived_to, every_cycle) = (&mut self.arrived_to, self.every_cycle);
        let (enough, known_to) = (self.enough, &mut self.known_to);
        let until = Cell::new(until);
        // A core cycle that has begun is done as a whole.
        let stop = |now: Cycle, end: Cycle| {
            until.set(until.get().min(noc.ticks_before(end.max(now + 1))));
        };
        let enters =
            &mut |Entering { tick, input: sm, at, queued, packet }: Entering<'_, Request>| {
                let source = &mut sources[sm];
                let leaves = source.exit.leaves(at.max(tick + 1));
                let cycle = noc.core_cycle_of(leaves);
                packet.stamps.injected = cycle.into();
                left.push((sm as u16, cycle));
                if queued < enough {
                    *known_to = source.known_to(noc).min(*known_to);
                    stop(noc.core_cycle_of(tick), *known_to);
                }
                leaves
            };
        let sent = &mut |sent: Sent<'_, Request>| {
            let now = noc.core_cycle_of(sent.tick);
            let slice = &mut slice_inputs[sent.output];
            if !sent.is_first || slice.places.room_from(1) > now + 1 || every_cycle {
                if sent.is_first {
                    arrivals.note(sent.arrives, sent.output);
                }
                stop(now, now + 1);
                return Landing::Waits;
            }
            // It will find a place there: nothing keeps it on its way.
            let tick = sent.arrives.max(slice.free_from);
            let cycle = noc.core_cycle_of(tick);
            slice.take(tick);
            let slice = sent.output as u16;
            push_copy(sent.packet, arrived, |request| Arrived { request, cycle, slice });
            *arrived_to = arrived_to.later(cycle + 1);
            Landing::Taken
        };
        crossbar.run(from, &until, enters, sent)
    }

    /// Gives the slices the requests that have come to them, as far as they have places.
    fn hand_out(&mut self, tick: Cycle, now: Cycle) {
        for number in self.arrivals.take(tick).iter() {
            let slice = &mut self.slice_inputs[number];
            let arrival = self.crossbar.next_arrival(number).max(slice.free_from);
            if arrival > tick {
                // One may be known of early.
                if arrival != Cycle::NEVER {
                    self.arrivals.note(arrival, number);
                }
                continue;
            }
            match slice.places.room_from(1) {
                Cycle::NEVER => {
                    self.full.set(number, true);
                    continue;
                }
                from if from > now + 1 => {
                    let leave = Cycle(from.0 - 1);
                    self.arrivals.note(self.clocks.noc.ticks_before(leave), number);
                    continue;
                }
                _ => {}
            }
            let request = self.crossbar.pop(tick, number).expect("it has arrived");
            slice.take(tick);
            self.arrived.push(Arrived { request, cycle: now, slice: number as u16 });
            self.arrived_to = self.arrived_to.max(now + 1);
            let next = self.crossbar.next_arrival(number);
            if next != Cycle::NEVER {
                self.arrivals.note(next, number);
            }
        }
    }
}
