//! The way from the L2 slices to the SMs.

use std::cell::Cell;

use super::partition::Partition;
use crate::config::Machine;
use crate::config::machine::L2Coalescer;
use crate::gpu::clocks::Clocks;
use crate::gpu::news::{ALL_EVENTS, Coming, push_copy};
use crate::l2::{Departure, Slice};
use crate::noc::{Crossbar, Entering, Landing, NocStats, Packet, Sent};
use crate::parts::Reply;
use crate::units::Cycle;

/// Its SM hears of a reply as soon as it is on its way.
impl Packet for Reply {
    type Landed = ();

    #[inline]
    fn landed(&self) {}
}

/// What a slice hears of a reply.
#[derive(Clone, Copy, Debug)]
pub enum Left {
    /// It leaves the slice in this L2 cycle, of which that was not certain.
    Slice(Cycle),
    /// It left its input of the network in this core cycle.
    Input(Cycle),
}

/// The reply network with its ends.
pub struct Replies<const WORDS: usize> {
    clocks: Clocks,
    crossbar: Crossbar<Reply, WORDS>,
    /// Slices of a partition.
    sharing: usize,
    /// By slice: its partition, and its place there.
    homes: Box<[(u16, u16)]>,
    /// By slice: the first L2 cycle in which its next reply may leave: one a cycle.
    free_from: Box<[Cycle]>,
    /// For the SMs: replies on their way.
    pub coming: Vec<Coming>,
    /// By SM: the cycle in which it took its last reply.
    taken: Box<[Cycle]>,
    /// The slices whose replies left their inputs of the network, to be told to them, and when.
    left: Vec<(u16, Cycle)>,
    /// The slices that replies left of which it was not certain when, and when they do.
    departed: Vec<(u16, Cycle)>,
    /// No reply finds all places of its SM's output taken.
    is_never_full: bool,
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
        let of_partitions = (slices, machine.l2.partitions.count());
        let mut crossbar = Crossbar::to_sms(&machine.noc, of_partitions, &gpcs)
            .with_queues(Slice::exits(&machine.l2));
        if machine.l2.coalescer != L2Coalescer::None {
            crossbar = crossbar.with_shared_ports();
        }
        // An SM takes one in a core cycle.
        let is_never_full = clocks.noc.most_ticks() <= 1;
        if is_never_full {
            crossbar.assume_swift_receivers();
        }
        Replies {
            clocks,
            is_never_full,
            crossbar,
            sharing: slices / partitions,
            homes: (0..slices)
                .map(|slice| (slice / (slices / partitions), slice % (slices / partitions)))
                .map(|(partition, part)| (partition as u16, part as u16))
                .collect(),
            free_from: vec![Cycle(0); slices].into(),
            coming: Vec::with_capacity(ALL_EVENTS),
            taken: vec![Cycle(0); sms].into(),
            left: Vec::with_capacity(ALL_EVENTS),
            departed: Vec::with_capacity(ALL_EVENTS),
            clock: Cycle(0),
            every_cycle,
        }
    }

    /// Counters since construction.
    pub fn stats(&self) -> NocStats {
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

    /// Hears of replies of slice `part` of a partition, in order.
    pub fn note_departures(
        &mut self,
        (partition, part): (usize, usize),
        departures: &mut Vec<Departure>,
    ) {
        let slice = partition * self.sharing + part;
        for Departure { reply, ready, is_uncertain, shares_port } in departures.iter() {
            let ports = (slice, usize::from(reply.sm));
            if !self.crossbar.has_room(slice) {
                // A slice is certain of a reply that finds room, and is alone where it is not.
                debug_assert!(*is_uncertain && !shares_port, "a reply finds no room");
                self.crossbar.queue(*ready, ports, reply.data_bytes.into(), reply);
                continue;
            }
            // Those that share the port leave together.
            let free_from = if *shares_port { Cycle(0) } else { self.free_from[slice] };
            let at = free_from.max(*ready);
            self.free_from[slice] = at + 1;
            if *is_uncertain {
                self.departed.push((slice as u16, at));
            }
            let cycle = self.clocks.l2.core_cycle_of(at);
            let enters = self.clocks.noc.ticks_before(cycle);
            let data_bytes = reply.data_bytes.into();
            let reply = self.crossbar.push(enters, ports, data_bytes, *shares_port, reply);
            reply.stamps.replied = cycle.into();
        }
        departures.clear();
    }

    /// Every reply that an SM takes before this cycle is on its way, when none departs before `silent_to` that was not told.
    pub fn known_to(&self, silent_to: Cycle) -> Cycle {
        let silent_to = silent_to.min(self.next_event()).max(self.clock);
        let tick = self.clocks.noc.ticks_before(silent_to);
        self.clocks.noc.core_cycle_of(tick + self.crossbar.least_delay())
    }

    /// Tells what slices, as [`Replies::home`] says, are to hear of since the last time.
    #[inline]
    pub fn tell_left(&mut self, mut tell: impl FnMut((usize, usize), Left)) {
        for &(slice, at) in &self.departed {
            tell(self.home(slice.into()), Left::Slice(at));
        }
        self.departed.clear();
        for &(slice, at) in &self.left {
            tell(self.home(slice.into()), Left::Input(at));
        }
        self.left.clear();
    }

    /// Advances to `end`, before which every reply is known that departs; to the slices' clock at most, when it holds nothing.
    #[inline]
    pub fn advance(&mut self, end: Cycle, slices: Cycle) {
        let next = self.next_event();
        if next >= end && !self.every_cycle {
            let end = if next == Cycle::NEVER { end.min(slices) } else { end };
            self.clock = self.clock.max(end);
        } else {
            self.advance_by_events(end, slices);
        }
    }

    /// The same, where anything happens before.
    #[inline(never)]
    fn advance_by_events(&mut self, end: Cycle, slices: Cycle) {
        loop {
            let now = if self.every_cycle { self.clock } else { self.next_event() };
            if now >= end {
                let end = if now == Cycle::NEVER { end.min(slices) } else { end };
                self.clock = self.clock.max(end);
                return;
            }
            let last = self.send(now, if self.every_cycle { now + 1 } else { end });
            self.clock = last.unwrap_or(now) + 1;
        }
    }

    /// The next core cycle, from the clock on, in which anything happens.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.clocks.noc.core_cycle_of(self.crossbar.next_event()).max(self.clock)
    }

    /// The ticks of the crossbar from core cycle `now` on and before `end`; gives the last cycle in which it did anything.
    #[inline]
    fn send(&mut self, now: Cycle, end: Cycle) -> Option<Cycle> {
        let Replies { clocks: Clocks { noc, l2, .. }, crossbar, coming, left, taken, .. } = self;
        let (free_from, departed) = (&mut self.free_from, &mut self.departed);
        let enters = &mut |Entering { tick, input, at: ready, packet, .. }: Entering<'_, Reply>| {
            // There is room from the next core cycle on.
            let next = l2.ticks_before(noc.core_cycle_of(tick) + 1);
            let at = ready.max(free_from[input]).max(next);
            free_from[input] = at + 1;
            departed.push((input as u16, at));
            let cycle = l2.core_cycle_of(at);
            packet.stamps.replied = cycle.into();
            noc.ticks_before(cycle)
        };
        let sent = &mut |sent: Sent<'_, Reply>| {
            let at = noc.core_cycle_of(sent.arrives);
            push_copy(sent.packet, coming, |reply| Coming { reply, at });
            left.push((sent.input as u16, noc.core_cycle_of(sent.tick)));
            if self.is_never_full {
                return Landing::Taken;
            }
            // Its SM takes one a cycle, which makes room in the next.
            let taken = &mut taken[sent.output];
            *taken = at.max(*taken + 1);
            Landing::Expected(noc.ticks_before(*taken + 1))
        };
        let until = Cell::new(noc.ticks_before(end));
        let last = crossbar.run(noc.ticks_before(now), &until, enters, sent);
        last.map(|tick| noc.core_cycle_of(tick))
    }
}
