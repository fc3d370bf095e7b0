//! The way from the L1s' miss queues to the L2 slices.

use std::ops::Range;

use crate::config::Machine;
use crate::gpu::clocks::Clocks;
use crate::gpu::news::{ALL_EVENTS, Arrived, push_copy};
use crate::gpu::occupancy::Occupancy;
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
    /// With the miss queues before its inputs.
    crossbar: Crossbar<Request, WORDS>,
    /// By SM: cycles before this one need to know of no other request.
    known_to: Box<[Cycle]>,
    /// SMs that may have another at all.
    followed: Ports<WORDS>,
    /// For the SMs: whose requests left the miss queue, and when.
    pub left: Vec<(u16, Cycle)>,
    doors: Box<[Door]>,
    /// For the slices: requests that arrived.
    pub arrived: Vec<Arrived>,
    /// Slices to which a request has come, and of which it is not known when they have a place for it.
    full: Ports<WORDS>,
    /// Slices by the network cycle in which a request comes to them, or finds a place there.
    arrivals: Calendar<Ports<WORDS>>,
    /// Stores move in pieces of so many bytes.
    store_piece: u32,
    /// What the masks of a store take that does not write all of its pieces [bytes].
    mask_bytes: u32,
    /// Cycles before this one are done.
    clock: Cycle,
    /// The next cycle in which anything happens, as far as known, or less.
    due: Cycle,
    /// Every arrival at a slice so far comes before this cycle.
    arrived_to: Cycle,
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
            crossbar: Crossbar::to_slices(&machine.noc, sms, slices)
                .with_queues(machine.l1.miss_queue.size()),
            known_to: vec![Cycle(0); sms].into(),
            followed: Ports::default(),
            left: Vec::with_capacity(ALL_EVENTS),
            arrived: Vec::with_capacity(ALL_EVENTS),
            full: Ports::default(),
            arrivals: Calendar::default(),
            doors: (0..slices).map(|_| Door::new(Slice::room(&machine.l2))).collect(),
            store_piece: machine.noc.store_piece.get(),
            mask_bytes: machine.noc.mask_bytes.get(),
            clock: Cycle(0),
            due: Cycle(0),
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
        if self.is_empty() { Cycle::NEVER } else { self.due }
    }

    /// Goes to cycle `now`, before which nothing happened.
    pub fn prepare(&mut self, now: Cycle) {
        debug_assert!(self.is_empty());
        self.clock = now;
        for sm in 0..self.known_to.len() {
            self.note_clock(sm, now);
        }
    }

    /// Hears of a request in the miss queue of `sm`.
    #[inline]
    pub fn note_request(&mut self, sm: usize, request: &Request) {
        let may_leave = request.stamps.accepted.near(self.clock) + 1;
        let slice = self.map.slice(request.line, request.sm);
        let bytes = request.data_bytes(self.store_piece, self.mask_bytes);
        let at = self.clocks.noc.ticks_before(may_leave);
        if self.crossbar.queue(at, (sm, slice), bytes, request) {
            self.due = self.due.min(may_leave);
        }
    }

    /// Hears that cycles of the network before `cycle` need to know of no other request of `sm`.
    pub fn note_clock(&mut self, sm: usize, cycle: Cycle) {
        self.known_to[sm] = cycle;
        self.followed.set(sm, cycle != Cycle::NEVER);
    }

    /// Hears when the next request leaves the input queue of `slice`.
    #[inline]
    pub fn note_leave(&mut self, slice: usize, leave: Cycle) {
        self.doors[slice].places.note_leave(leave);
        if self.full.contains(slice) {
            self.note_place(slice, leave);
        }
    }

    /// A request that waits at `slice` finds a place in cycle `core`.
    #[inline(never)]
    fn note_place(&mut self, slice: usize, core: Cycle) {
        self.full.set(slice, false);
        self.arrivals.note(self.clocks.noc.ticks_before(core), slice);
        self.due = self.due.min(core);
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
        if ticks <= 1 && now != Cycle::NEVER {
            let may_ask = self.followed.without(self.crossbar.queueing());
            return may_ask.iter().all(|sm| self.known_to[sm] > now);
        }
        let queued = |sm| self.crossbar.queued(sm) as u64;
        let knows = |sm| self.known_to[sm] > now || queued(sm) >= ticks.max(1);
        (0..self.known_to.len()).all(knows)
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
        let mut due = self.clocks.noc.core_cycle_of(tick);
        if !self.full.is_empty() {
            due = due.min(slices);
        }
        self.due = due.max(now + 1);
    }

    fn tick(&mut self, tick: Cycle, now: Cycle) {
        let Requests { clocks, crossbar, arrivals, doors, arrived, left, .. } = self;
        let noc = &clocks.noc;
        let (arrived_to, every_cycle) = (&mut self.arrived_to, self.every_cycle);
        let entered = &mut |sm, request: &mut Request| {
            request.stamps.injected = now.into();
            left.push((sm as u16, now));
        };
        crossbar.tick_with_queues(tick, entered, &mut |sent: Sent<'_, Request>| {
            let door = &mut doors[sent.output];
            if !sent.is_first || door.places.room_from(1) > now + 1 || every_cycle {
                if sent.is_first {
                    arrivals.note(sent.arrives, sent.output);
                }
                return Landing::Waits;
            }
            // It will find a place there: nothing keeps it on its way.
            let tick = sent.arrives.max(door.free_from);
            let cycle = noc.core_cycle_of(tick);
            door.take(tick);
            let slice = sent.output as u16;
            push_copy(sent.packet, arrived, |request| Arrived { request, cycle, slice });
            *arrived_to = (*arrived_to).max(cycle + 1);
            Landing::Expected(door.free_from)
        });
        if self.arrivals.next() <= tick {
            self.hand_out(tick, now);
        }
    }

    /// Gives the slices the requests that have come to them, as far as they have places.
    fn hand_out(&mut self, tick: Cycle, now: Cycle) {
        for number in self.arrivals.take(tick).iter() {
            let door = &mut self.doors[number];
            let arrival = self.crossbar.next_arrival(number).max(door.free_from);
            if arrival > tick {
                // One may be known of early.
                if arrival != Cycle::NEVER {
                    self.arrivals.note(arrival, number);
                }
                continue;
            }
            match door.places.room_from(1) {
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
            door.take(tick);
            self.arrived.push(Arrived { request, cycle: now, slice: number as u16 });
            self.arrived_to = self.arrived_to.max(now + 1);
            let next = self.crossbar.next_arrival(number);
            if next != Cycle::NEVER {
                self.arrivals.note(next, number);
            }
        }
    }
}
