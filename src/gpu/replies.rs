//! The way from the L2 slices to the SMs.

use super::clocks::Clocks;
use super::handover::{Departure, note_departure};
use super::partition::Partition;
use super::{ALL_EVENTS, EVENTS};
use crate::config::Machine;
use crate::noc::{Calendar, Crossbar, Landing, NocStats, Packet, Sent};
use crate::parts::Reply;
use crate::units::Cycle;

/// A reply on its way, with the core cycle in which it can be taken.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Coming {
    /// The reply, which comes first so that it is copied as it is aligned.
    pub reply: Reply,
    /// When it can be taken.
    pub at: Cycle,
}

/// Its SM hears of a reply as soon as it is on its way.
impl Packet for Reply {
    type Landed = ();

    #[inline]
    fn landed(&self) {}
}

/// The replies that departed from the slices of a partition, as far as known.
struct Inlet {
    departures: Vec<Departure>,
    /// Those before this one are in the network.
    next: usize,
}

/// The reply network with its ends.
pub struct Replies<const WORDS: usize> {
    clocks: Clocks,
    crossbar: Crossbar<Reply, WORDS>,
    /// Slices of a partition.
    sharing: usize,
    /// By slice: its partition, and its place there.
    homes: Box<[(u16, u16)]>,
    /// By partition.
    inlets: Box<[Inlet]>,
    /// Partitions by the cycle of the first of them.
    departures: Calendar<WORDS>,
    /// For the SMs: replies on their way.
    pub coming: Vec<Coming>,
    /// By SM: the cycle in which it took its last reply.
    taken: Box<[Cycle]>,
    /// The slices whose replies left their input, and when, to be told to them.
    left: Vec<(usize, Cycle)>,
    /// Cycles before this one are done.
    clock: Cycle,
    /// Tick in every cycle, whether or not anything can happen.
    every_cycle: bool,
}

impl<const WORDS: usize> Replies<WORDS> {
    /// An empty network.
    pub fn new(machine: &Machine, clocks: Clocks, every_cycle: bool) -> Self {
        let (sms, slices) = (machine.sm.count.size(), machine.l2.slices.size());
        let partitions = Partition::count(machine);
        let gpcs: Vec<u16> = (0..sms).map(|sm| machine.sm.gpc_of(sm) as u16).collect();
        Replies {
            clocks,
            crossbar: Crossbar::to_sms(&machine.noc, slices, &gpcs),
            sharing: slices / partitions,
            homes: (0..slices)
                .map(|slice| (slice / (slices / partitions), slice % (slices / partitions)))
                .map(|(partition, part)| (partition as u16, part as u16))
                .collect(),
            inlets: (0..partitions)
                .map(|_| Inlet { departures: Vec::with_capacity(EVENTS), next: 0 })
                .collect(),
            departures: Calendar::default(),
            coming: Vec::with_capacity(ALL_EVENTS),
            taken: vec![Cycle(0); sms].into(),
            left: Vec::with_capacity(ALL_EVENTS),
            clock: Cycle(0),
            every_cycle,
        }
    }

    /// Counters since construction.
    pub fn stats(&self) -> &NocStats {
        self.crossbar.stats()
    }

    /// Cycles before this one are done.
    #[inline]
    pub fn clock(&self) -> Cycle {
        self.clock
    }

    /// True when no reply is in the network.
    pub fn is_empty(&self) -> bool {
        self.crossbar.is_empty()
    }

    /// Goes to the first cycle of a kernel.
    pub fn prepare(&mut self) {
        self.taken.fill(Cycle(0));
    }

    /// The partition of a slice, and the slice's place there.
    #[inline]
    pub fn home(&self, slice: usize) -> (usize, usize) {
        let (partition, part) = self.homes[slice];
        (usize::from(partition), usize::from(part))
    }

    /// Hears of replies that departed from the slices of a partition, in order.
    pub fn note_departures(&mut self, partition: usize, departures: &mut Vec<Departure>) {
        let Some(first) = departures.first() else { return };
        self.departures.note(first.cycle, partition);
        let inlet = &mut self.inlets[partition];
        if inlet.next == inlet.departures.len() {
            inlet.next = 0;
            inlet.departures.clear();
            std::mem::swap(&mut inlet.departures, departures);
        } else if inlet.departures.last().is_some_and(|last| last.cycle <= first.cycle) {
            inlet.departures.append(departures);
        } else {
            for departure in departures.drain(..) {
                note_departure(&mut inlet.departures, departure);
            }
        }
    }

    /// Every reply that an SM takes before this cycle is on its way, when no slice is to send one before `silent_to`.
    pub fn known_to(&self, silent_to: Cycle) -> Cycle {
        let silent_to = silent_to.min(self.next_event()).max(self.clock);
        let tick = self.clocks.noc.ticks_before(silent_to);
        self.clocks.noc.core_cycle_of(tick + self.crossbar.least_delay())
    }

    /// The slices whose replies left their input of the network, as [`Replies::home`] says, and when, since the
    /// last time.
    pub fn take_left(&mut self) -> impl Iterator<Item = ((usize, usize), Cycle)> {
        let homes = &self.homes;
        self.left.drain(..).map(|(slice, cycle)| {
            let (partition, part) = homes[slice];
            ((usize::from(partition), usize::from(part)), cycle)
        })
    }

    /// Advances to `end`; every reply is known that departs before.
    pub fn advance(&mut self, end: Cycle) {
        while self.clock < end {
            let now = if self.every_cycle { self.clock } else { self.next_event() };
            if now >= end {
                self.clock = end;
                return;
            }
            self.tick(now);
            self.clock = now + 1;
        }
    }

    /// The next core cycle, from the clock on, in which anything happens.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        let crossbar = self.clocks.noc.core_cycle_of(self.crossbar.next_event());
        crossbar.min(self.departures.next()).max(self.clock)
    }

    fn tick(&mut self, now: Cycle) {
        let noc = &self.clocks.noc;
        let ticks = noc.ticks_before(now).0..noc.ticks_before(now + 1).0;
        if self.departures.next() <= now {
            self.take_in(now, Cycle(ticks.start));
        }
        for tick in ticks {
            let Replies { clocks, crossbar, coming, left, taken, .. } = self;
            let noc = &clocks.noc;
            crossbar.tick_observed(Cycle(tick), &mut |sent: Sent<'_, Reply>| {
                let at = noc.core_cycle_of(sent.arrives);
                coming.push(Coming { reply: *sent.packet, at });
                left.push((sent.input, now));
                // Its SM takes one a cycle, which makes room in the next.
                let taken = &mut taken[sent.output];
                *taken = at.max(*taken + 1);
                Landing::Expected(noc.ticks_before(*taken + 1))
            });
        }
    }

    /// Takes in what departed by `now`, before network cycle `tick`.
    fn take_in(&mut self, now: Cycle, tick: Cycle) {
        for number in self.departures.take(now).iter() {
            let inlet = &mut self.inlets[number];
            while let Some(departure) = inlet.departures.get(inlet.next) {
                let &Departure { part, cycle, ref reply, shares_port } = departure;
                if cycle > now {
                    self.departures.note(cycle, number);
                    break;
                }
                let (sm, data) = (usize::from(reply.sm), reply.data_bytes());
                let input = number * self.sharing + usize::from(part);
                let reply = self.crossbar.push(tick, (input, sm), data, shares_port, reply);
                reply.stamps.replied = cycle.into();
                inlet.next += 1;
            }
        }
    }
}
