//! The way from the L1s' miss queues to the L2 slices.

use std::collections::VecDeque;
use std::ops::Range;

use super::ALL_EVENTS;
use super::clocks::Clocks;
use super::occupancy::Occupancy;
use crate::config::Machine;
use crate::l2::Slice;
use crate::noc::{Calendar, Crossbar, Landing, NocStats, Packet, Ports, Sent};
use crate::parts::{AddressMap, Request};
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
struct Door {
    /// Its input queue.
    places: Occupancy,
    /// The first network cycle in which the next one can arrive: one a cycle.
    free_from: Cycle,
}

/// A request that has arrived at a slice. It comes first, so that it is copied as it is aligned.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Arrived {
    /// The request.
    pub request: Request,
    /// When.
    pub cycle: Cycle,
    /// Where.
    pub slice: u16,
}

impl Door {
    /// Of a slice whose input queue has so many places.
    fn new(room: usize) -> Self {
        Door { places: Occupancy::new(room), free_from: Cycle(0) }
    }

    /// A request comes in network cycle `tick`; there is a place for it.
    #[inline]
    fn take(&mut self, tick: Cycle) {
        self.free_from = tick + 1;
        self.places.take(1);
    }
}

/// The request network with its ends.
#[derive(Clone, Debug)]
pub struct Requests<const WORDS: usize> {
    clocks: Clocks,
    map: AddressMap,
    crossbar: Crossbar<Request, WORDS>,
    /// By SM: requests in its miss queue, oldest first.
    waiting: Box<[VecDeque<Request>]>,
    /// By SM: cycles before this one need to know of no other request.
    known_to: Box<[Cycle]>,
    /// SMs that may have another at all.
    followed: Ports<WORDS>,
    /// SMs with a request in the miss queue.
    asking: Ports<WORDS>,
    /// By SM: the first cycle in which the request at the front of that queue may leave it.
    may_leave: Box<[Cycle]>,
    /// Those that the network has room for: the ones whose request may leave in the next cycle, and the others, by the
    /// cycle in which it may.
    ready: Ports<WORDS>,
    later: Calendar<WORDS>,
    /// For the SMs: whose requests left the miss queue, and when.
    pub left: Vec<(u16, Cycle)>,
    doors: Box<[Door]>,
    /// For the slices: requests that arrived.
    pub arrived: Vec<Arrived>,
    /// Slices to which a request has come that have no place for it.
    full: Ports<WORDS>,
    /// Slices by the network cycle in which a request comes to them.
    arrivals: Calendar<WORDS>,
    /// Stores move in pieces of so many bytes.
    store_piece: u32,
    /// What the masks of a store take that does not write all of its pieces [bytes].
    mask_bytes: u32,
    /// Cycles before this one are done.
    clock: Cycle,
    /// The next cycle in which anything happens, as far as known, or less.
    due: Cycle,
    /// The cycle of the last arrival at a slice.
    last_arrival: Option<Cycle>,
    /// Tick in every cycle, whether or not anything can happen.
    every_cycle: bool,
}

impl<const WORDS: usize> Requests<WORDS> {
    /// An empty network.
    pub fn new(machine: &Machine, clocks: Clocks, every_cycle: bool) -> Self {
        let (sms, slices) = (machine.sm.count.size(), machine.l2.slices.size());
        Requests {
            clocks,
            map: AddressMap::new(machine),
            crossbar: Crossbar::to_slices(&machine.noc, sms, slices),
            waiting: (0..sms)
                .map(|_| VecDeque::with_capacity(machine.l1.miss_queue.size()))
                .collect(),
            known_to: vec![Cycle(0); sms].into(),
            followed: Ports::default(),
            asking: Ports::default(),
            may_leave: vec![Cycle(0); sms].into(),
            ready: Ports::default(),
            later: Calendar::default(),
            left: Vec::with_capacity(ALL_EVENTS),
            arrived: Vec::with_capacity(ALL_EVENTS),
            full: Ports::default(),
            arrivals: Calendar::default(),
            doors: (0..slices).map(|_| Door::new(Slice::room(&machine.l2))).collect(),
            store_piece: machine.noc.store_piece.get(),
            mask_bytes: machine.noc.mask_bytes.get(),
            clock: Cycle(0),
            due: Cycle(0),
            last_arrival: None,
            every_cycle,
        }
    }

    /// Counters since construction.
    pub fn stats(&self) -> &NocStats {
        self.crossbar.stats()
    }

    /// Cycles before this one are done.
    pub fn clock(&self) -> Cycle {
        self.clock
    }

    /// The cycle of the last arrival at a slice.
    pub fn last_arrival(&self) -> Option<Cycle> {
        self.last_arrival
    }

    /// True when no request is in a miss queue or in the network.
    pub fn is_empty(&self) -> bool {
        self.asking.is_empty() && self.crossbar.is_empty()
    }

    /// Goes to cycle `now`, before which nothing happened.
    pub fn prepare(&mut self, now: Cycle) {
        debug_assert!(self.is_empty());
        self.clock = now;
        for sm in 0..self.waiting.len() {
            self.note_clock(sm, now);
        }
    }

    /// Hears of a request in the miss queue of `sm`.
    pub fn note_request(&mut self, sm: usize, request: Request) {
        let waiting = &mut self.waiting[sm];
        if waiting.is_empty() {
            let may_leave = request.stamps.accepted.near(self.clock) + 1;
            self.asking.set(sm, true);
            self.may_leave[sm] = may_leave;
            if self.crossbar.has_room(sm) {
                self.later.note(may_leave, sm);
            }
            self.due = self.due.min(may_leave);
        }
        waiting.push_back(request);
    }

    /// Hears that cycles of the network before `cycle` need to know of no other request of `sm`.
    pub fn note_clock(&mut self, sm: usize, cycle: Cycle) {
        self.known_to[sm] = cycle;
        self.followed.set(sm, cycle != Cycle::NEVER);
    }

    /// Hears when the next request leaves the input queue of `slice`.
    pub fn note_leave(&mut self, slice: usize, leave: Cycle) {
        let places = &mut self.doors[slice].places;
        if places.next_leave().is_none() {
            self.due = self.due.min(leave);
        }
        places.note_leave(leave);
    }

    /// Advances to `end`, or as far as what the SMs have told allows, and what is known of the slices, whose
    /// clock is `slices`.
    pub fn advance(&mut self, end: Cycle, slices: Cycle) {
        let known_to = self.followed.iter().map(|sm| self.known_to[sm]);
        let known_to = known_to.fold(Cycle::NEVER, |first, known| first.min(known));
        while self.clock < end {
            let now = if self.every_cycle { self.clock } else { self.due.max(self.clock) };
            if now >= known_to && !self.is_known(now) {
                self.clock = self.clock.max(known_to.min(now));
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
            self.due = Cycle::NEVER;
            for tick in ticks {
                self.tick(Cycle(tick), now);
            }
            self.look_ahead(now, slices);
            self.clock = now + 1;
        }
    }

    /// Whether all is known that `now` needs: an SM that is behind has a request to take.
    fn is_known(&self, now: Cycle) -> bool {
        // An SM of which nothing is known has no request to take, so nothing is known of "never" either.
        let next = now.0.saturating_add(1);
        let ticks =
            self.clocks.noc.ticks_before(Cycle(next)).since(self.clocks.noc.ticks_before(now));
        let knows = |(&known_to, waiting): (&Cycle, &VecDeque<Request>)| {
            known_to > now || waiting.len() as u64 >= ticks.max(1)
        };
        self.known_to.iter().zip(&self.waiting).all(knows)
    }

    /// Whether a request may come to a slice in these ticks that may have no place for it, as far as known.
    fn may_find_no_place(&self, ticks: &Range<u64>) -> bool {
        let most = (ticks.end - ticks.start) as usize;
        let sent_in_time = self.crossbar.least_delay() < ticks.end - ticks.start;
        let may_be_full = |number: usize| self.doors[number].places.may_lack_room_for(most);
        let lands = |number: &usize| self.crossbar.next_arrival(*number).0 < ticks.end;
        if self.crossbar.landing().iter().filter(lands).any(may_be_full) {
            return true;
        }
        sent_in_time && (0..self.doors.len()).any(may_be_full)
    }

    /// Finds the next cycle after `now` in which anything happens.
    fn look_ahead(&mut self, now: Cycle, slices: Cycle) {
        let tick = self.crossbar.next_event().min(self.arrivals.next());
        let leave = if self.ready.is_empty() { self.later.next() } else { now };
        let mut due = self.clocks.noc.core_cycle_of(tick).min(leave);
        for number in self.full.iter() {
            // A place becomes free then, or nothing is known of it.
            due = due.min(self.doors[number].places.next_leave().unwrap_or(slices));
        }
        self.due = due.max(now + 1);
    }

    fn tick(&mut self, tick: Cycle, now: Cycle) {
        if self.later.next() <= now {
            self.ready = self.ready.with(&self.later.take(now));
        }
        if !self.ready.is_empty() {
            self.take_in(tick, now);
        }
        let Requests {
            clocks, crossbar, asking, may_leave, later, arrivals, doors, arrived, ..
        } = self;
        let noc = &clocks.noc;
        let (last_arrival, every_cycle) = (&mut self.last_arrival, self.every_cycle);
        crossbar.tick_observed(tick, &mut |sent: Sent<'_, Request>| {
            if sent.makes_room && asking.contains(sent.input) {
                later.note(may_leave[sent.input], sent.input);
            }
            let door = &mut doors[sent.output];
            door.places.free_before(now + 1);
            if !sent.is_first || !door.places.has_room_for(1) || every_cycle {
                arrivals.note(sent.arrives, sent.output);
                return Landing::Waits;
            }
            // It will find a place there: nothing keeps it on its way.
            let tick = sent.arrives.max(door.free_from);
            let cycle = noc.core_cycle_of(tick);
            door.take(tick);
            arrived.push(Arrived { request: *sent.packet, cycle, slice: sent.output as u16 });
            *last_arrival = (*last_arrival).max(Some(cycle));
            Landing::Expected(door.free_from)
        });
        if self.arrivals.next() <= tick || !self.full.is_empty() {
            self.hand_out(tick, now);
        }
    }

    /// Takes a request of each SM into the network whose turn it is, and finds when it is again.
    fn take_in(&mut self, tick: Cycle, now: Cycle) {
        for number in self.ready.iter() {
            let may_leave = self.may_leave[number];
            let can_go = self.asking.contains(number) && self.crossbar.has_room(number);
            if !can_go || may_leave > now {
                self.ready.set(number, false);
                if can_go {
                    self.later.note(may_leave, number);
                }
                continue;
            }
            let waiting = &mut self.waiting[number];
            let request = waiting.front().expect("it asks");
            let slice = self.map.slice(request.line, request.sm);
            let bytes = request.data_bytes(self.store_piece, self.mask_bytes);
            let request = self.crossbar.push(tick, (number, slice), bytes, false, request);
            request.stamps.injected = now.into();
            waiting.pop_front();
            self.left.push((number as u16, now));
            let Some(front) = waiting.front() else {
                self.ready.set(number, false);
                self.asking.set(number, false);
                continue;
            };
            let may_leave = front.stamps.accepted.near(now) + 1;
            self.may_leave[number] = may_leave;
            if !self.crossbar.has_room(number) {
                // It is noted again when there is room.
                self.ready.set(number, false);
            } else if may_leave > now {
                self.ready.set(number, false);
                self.later.note(may_leave, number);
            }
        }
    }

    /// Gives the slices the requests that have come to them, as far as they have places.
    fn hand_out(&mut self, tick: Cycle, now: Cycle) {
        for number in self.arrivals.take(tick).with(&self.full).iter() {
            let door = &mut self.doors[number];
            let arrival = self.crossbar.next_arrival(number).max(door.free_from);
            if arrival > tick {
                // One may be known of more than once, and early.
                if arrival != Cycle::NEVER {
                    self.arrivals.note(arrival, number);
                }
                continue;
            }
            door.places.free_before(now + 1);
            let has_place = door.places.has_room_for(1);
            self.full.set(number, !has_place);
            if has_place {
                let request = self.crossbar.pop(tick, number).expect("it has arrived");
                door.take(tick);
                self.arrived.push(Arrived { request, cycle: now, slice: number as u16 });
                self.last_arrival = self.last_arrival.max(Some(now));
                let next = self.crossbar.next_arrival(number);
                if next != Cycle::NEVER {
                    self.arrivals.note(next, number);
                }
            }
        }
    }
}
