//! The way from the L1s' miss queues to the L2 slices.

use std::collections::VecDeque;

use super::clocks::Clocks;
use crate::config::Machine;
use crate::l2::Slice;
use crate::noc::{Crossbar, NocStats, Ports};
use crate::parts::{AddressMap, Request};
use crate::units::Cycle;

/// Events to begin with: as many as come in one window on most machines.
const AT_FIRST: usize = 256;

/// What is known of one SM.
#[derive(Clone, Debug)]
struct Port {
    /// Requests in its miss queue, oldest first.
    waiting: VecDeque<Request>,
    /// Cycles before this one need to know of no other.
    known_to: Cycle,
    /// When requests left the queue, to be told to the SM.
    left: Vec<Cycle>,
}

/// What is known of one slice.
#[derive(Clone, Debug)]
struct Door {
    /// Requests in its input queue, as far as known.
    held: usize,
    /// When requests leave that queue.
    leaves: VecDeque<Cycle>,
    /// Requests that arrived, to be told to the slice.
    arrived: Vec<(Cycle, Request)>,
}

impl Port {
    /// Of an SM whose miss queue has so many places.
    fn new(room: usize) -> Self {
        Port {
            waiting: VecDeque::with_capacity(room),
            known_to: Cycle(0),
            left: Vec::with_capacity(AT_FIRST),
        }
    }
}

impl Door {
    /// Of a slice whose input queue has so many places.
    fn new(room: usize) -> Self {
        Door {
            held: 0,
            leaves: VecDeque::with_capacity(room),
            arrived: Vec::with_capacity(AT_FIRST),
        }
    }
}

/// The request network with its ends.
#[derive(Clone, Debug)]
pub struct Requests {
    clocks: Clocks,
    map: AddressMap,
    crossbar: Crossbar<Request>,
    ports: Box<[Port]>,
    /// SMs with a request in the miss queue.
    asking: Ports,
    doors: Box<[Door]>,
    /// Requests that a slice's input queue holds.
    room: usize,
    /// Cycles before this one are done.
    clock: Cycle,
    /// The cycle of the last arrival at a slice.
    last_arrival: Option<Cycle>,
    /// Tick in every cycle, whether or not anything can happen.
    every_cycle: bool,
}

impl Requests {
    /// An empty network.
    pub fn new(machine: &Machine, clocks: Clocks, every_cycle: bool) -> Self {
        let (sms, slices) = (machine.sm.count.size(), machine.l2.slices.size());
        Requests {
            clocks,
            map: AddressMap::new(machine),
            crossbar: Crossbar::new(&machine.noc, sms, slices),
            ports: (0..sms).map(|_| Port::new(machine.l1.miss_queue.size())).collect(),
            asking: Ports::default(),
            doors: (0..slices).map(|_| Door::new(Slice::room(&machine.l2))).collect(),
            room: Slice::room(&machine.l2),
            clock: Cycle(0),
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
        for port in &mut self.ports {
            port.known_to = now;
        }
    }

    /// Hears of a request in the miss queue of `sm`.
    pub fn note_request(&mut self, sm: usize, request: Request) {
        let waiting = &mut self.ports[sm].waiting;
        waiting.push_back(request);
        self.asking.set(sm, true);
    }

    /// Hears that cycles of the network before `cycle` need to know of no other request of `sm`.
    pub fn note_clock(&mut self, sm: usize, cycle: Cycle) {
        self.ports[sm].known_to = cycle;
    }

    /// Hears when requests leave the input queue of `slice`, in order.
    pub fn note_leaves(&mut self, slice: usize, leaves: impl Iterator<Item = Cycle>) {
        self.doors[slice].leaves.extend(leaves);
    }

    /// When requests left the miss queue of `sm`, since the last time.
    pub fn take_left(&mut self, sm: usize) -> impl Iterator<Item = Cycle> {
        self.ports[sm].left.drain(..)
    }

    /// The requests that arrived at `slice`, and when, since the last time.
    pub fn take_arrived(&mut self, slice: usize) -> impl Iterator<Item = (Cycle, Request)> {
        self.doors[slice].arrived.drain(..)
    }

    /// Advances to `end`, or as far as what the SMs have told allows, and what is known of the slices, whose
    /// clock is `slices`.
    pub fn advance(&mut self, end: Cycle, slices: Cycle) {
        let known_to = self.ports.iter().map(|port| port.known_to).min().unwrap_or(Cycle::NEVER);
        while self.clock < end {
            let now = self.next_event();
            if now >= end.min(known_to) && !self.is_known(now) {
                self.clock = self.clock.max(known_to.min(now));
                return;
            }
            if now >= end {
                self.clock = end;
                return;
            }
            let ticks =
                self.clocks.noc.ticks_before(now).0..self.clocks.noc.ticks_before(now + 1).0;
            let most = (ticks.end - ticks.start) as usize;
            let is_full = |door: &Door| door.held - door.leaves.len() + most > self.room;
            if now >= slices && self.doors.iter().any(is_full) {
                self.clock = now;
                return;
            }
            for tick in ticks {
                self.tick(Cycle(tick), now);
            }
            self.clock = now + 1;
        }
    }

    /// Whether all is known that `now` needs: an SM that is behind has a request to take.
    fn is_known(&self, now: Cycle) -> bool {
        // An SM of which nothing is known has no request to take, so nothing is known of "never" either.
        let next = now.0.saturating_add(1);
        let ticks =
            self.clocks.noc.ticks_before(Cycle(next)).since(self.clocks.noc.ticks_before(now));
        self.ports
            .iter()
            .all(|port| port.known_to > now || port.waiting.len() as u64 >= ticks.max(1))
    }

    /// The next cycle, from the clock on, in which anything happens, as far as known.
    fn next_event(&self) -> Cycle {
        if self.every_cycle || !self.asking.is_empty() || !self.crossbar.is_quiet() {
            return self.clock;
        }
        let mut event = Cycle::NEVER;
        let mut next = 0;
        while let Some(output) = self.crossbar.next_landing(next) {
            event = event.min(self.crossbar.next_arrival(output));
            next = output + 1;
        }
        self.clocks.noc.core_cycle_of(event).max(self.clock)
    }

    fn tick(&mut self, tick: Cycle, now: Cycle) {
        let mut next = 0;
        while let Some(number) = self.asking.next_from(next) {
            next = number + 1;
            let port = &mut self.ports[number];
            let Some(&(mut request)) = port.waiting.front() else { continue };
            if request.stamps.accepted >= now || !self.crossbar.has_room(number) {
                continue;
            }
            port.waiting.pop_front();
            self.asking.set(number, !port.waiting.is_empty());
            port.left.push(now);
            request.stamps.injected = now;
            let slice = self.map.slice(request.line);
            self.crossbar.push(number, slice, request.data_bytes(), request);
        }
        self.crossbar.tick(tick);
        let mut next = 0;
        while let Some(number) = self.crossbar.next_landing(next) {
            next = number + 1;
            let door = &mut self.doors[number];
            while door.leaves.front().is_some_and(|&leave| leave <= now) {
                door.leaves.pop_front();
                door.held -= 1;
            }
            if door.held < self.room
                && let Some(request) = self.crossbar.pop(tick, number)
            {
                door.held += 1;
                door.arrived.push((now, request));
                self.last_arrival = Some(now);
            }
        }
    }
}
