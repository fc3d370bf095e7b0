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

/// What is known of one SM.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// Cycles before this one need to know of no other request.
    known_to: Cycle,
    /// The network cycle from which on the next one can leave the miss queue, where its input has room: one a cycle.
    free_from: Cycle,
}

impl Source {
    /// The network cycle in which a request leaves the miss queue that finds room, and can leave from `at` on.
    #[inline]
    fn leaves(&mut self, at: Cycle) -> Cycle {
        let leaves = at.max(self.free_from);
        self.free_from = leaves + 1;
        leaves
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
    /// For the SMs: whose requests left the miss queue, and when.
    pub left: Vec<(u16, Cycle)>,
    doors: Box<[Door]>,
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
            sources: vec![Source { known_to: Cycle(0), free_from: Cycle(0) }; sms].into(),
            followed: Ports::default(),
            left: Vec::with_capacity(ALL_EVENTS),
            arrived: Vec::with_capacity(ALL_EVENTS),
            full: Ports::default(),
            arrivals: Calendar::default(),
            doors: (0..slices).map(|_| Door::new(Slice::room(&machine.l2))).collect(),
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
    #[inline]
    pub fn note_request(&mut self, sm: usize, request: &Request) -> Option<Cycle> {
        let may_leave = request.stamps.accepted.near(self.clock) + 1;
        let slice = self.map.slice(request.line, request.sm);
        let bytes = request.data_bytes(self.store_piece, self.mask_bytes);
        let at = self.clocks.noc.ticks_before(may_leave);
        if !self.crossbar.has_room(sm) {
            self.crossbar.queue(at, (sm, slice), bytes, request);
            return None;
        }
        let leaves = self.sources[sm].leaves(at);
        let cycle = self.clocks.noc.core_cycle_of(leaves);
        let request = self.crossbar.push(leaves, (sm, slice), bytes, false, request);
        request.stamps.injected = cycle.into();
        Some(cycle)
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
    }

    /// Advances to `end`, or as far as what the SMs have told allows, and what is known of the slices, whose
    /// clock is `slices`.
    pub fn advance(&mut self, end: Cycle, slices: Cycle) {
        let known_to = self.followed.iter().map(|sm| self.sources[sm].known_to);
        let mut known_to = known_to.fold(Cycle::NEVER, Cycle::min);
        while self.clock < end {
            let now = if self.every_cycle { self.clock } else { self.next_look(slices) };
            if now >= known_to {
                known_to = self.known_to(now);
                if now >= known_to {
                    self.clock = self.clock.max(known_to);
                    return;
                }
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
            for tick in ticks {
                self.tick(Cycle(tick), now);
            }
            self.clock = now + 1;
        }
    }

    /// Cycles before this one need to know of no other request, when nothing happens before `now`; it is after `now` when that
    /// is one of them. An SM of which nothing is known has no request, so nothing is known of "never" either.
    #[inline(never)]
    fn known_to(&self, now: Cycle) -> Cycle {
        let noc = &self.clocks.noc;
        let next = Cycle(now.0.saturating_add(1));
        let ticks = noc.ticks_before(next).since(noc.ticks_before(now)).max(1);
        let known_to = self.followed.iter().map(|sm| {
            let Source { known_to, free_from } = self.sources[sm];
            // Another request leaves the miss queue after those that wait there, one a cycle at most.
            let waits = if self.crossbar.queued(sm) as u64 >= ticks { next } else { Cycle(0) };
            known_to.max(noc.core_cycle_of(free_from)).max(waits)
        });
        known_to.fold(Cycle::NEVER, Cycle::min)
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

    fn tick(&mut self, tick: Cycle, now: Cycle) {
        let Requests { clocks, crossbar, sources, arrivals, doors, arrived, left, .. } = self;
        let noc = &clocks.noc;
        let (arrived_to, every_cycle) = (&mut self.arrived_to, self.every_cycle);
        let enters = &mut |sm: usize, at: Cycle, request: &mut Request| {
            let leaves = sources[sm].leaves(at.max(tick + 1));
            let cycle = noc.core_cycle_of(leaves);
            request.stamps.injected = cycle.into();
            left.push((sm as u16, cycle));
            leaves
        };
        crossbar.tick_with_queues(tick, enters, &mut |sent: Sent<'_, Request>| {
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
