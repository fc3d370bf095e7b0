//! The way from the L2 slices to the SMs.

use super::partition::Partition;
use crate::config::Machine;
use crate::gpu::clocks::Clocks;
use crate::gpu::news::{ALL_EVENTS, Coming, push_copy};
use crate::l2::{DEPARTURES, Departure};
use crate::noc::{Calendar, Crossbar, Landing, NocStats, Packet, Ports, Sent};
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
    /// It left the slice in this L2 cycle, of which that was not certain.
    Slice(Cycle),
    /// It left its input of the network in this core cycle.
    Input(Cycle),
}

/// The replies that are ready to leave a slice, or will be.
struct Inlet {
    departures: Vec<Departure>,
    /// Those before this one are in the network.
    next: usize,
    /// The first L2 cycle in which one may leave: one a cycle.
    free_from: Cycle,
}

impl Inlet {
    /// Of a slice that has sent nothing.
    fn new() -> Self {
        Inlet { departures: Vec::with_capacity(DEPARTURES), next: 0, free_from: Cycle(0) }
    }

    /// The L2 cycle from `first` on in which the next one can leave, and the reply.
    #[inline]
    fn next(&self, first: Cycle) -> Option<(Cycle, &Departure)> {
        let departure = self.departures.get(self.next)?;
        // Those that share the port leave together.
        let free_from = if departure.shares_port { Cycle(0) } else { self.free_from };
        Some((departure.ready.max(free_from).max(first), departure))
    }

    /// Adds some; true when there was none.
    #[inline]
    fn add(&mut self, departures: &mut Vec<Departure>) -> bool {
        let was_empty = self.next == self.departures.len();
        if was_empty {
            self.departures.clear();
            std::mem::swap(&mut self.departures, departures);
            self.next = 0;
        } else {
            if self.departures.len() + departures.len() > self.departures.capacity() {
                self.departures.drain(..std::mem::take(&mut self.next));
            }
            self.departures.append(departures);
        }
        was_empty
    }
}

/// The reply network with its ends.
pub struct Replies<const WORDS: usize> {
    clocks: Clocks,
    crossbar: Crossbar<Reply, WORDS>,
    /// Slices of a partition.
    sharing: usize,
    /// By slice: its partition, and its place there.
    homes: Box<[(u16, u16)]>,
    /// By slice.
    inlets: Box<[Inlet]>,
    /// Slices by the cycle in which the next reply can leave.
    ready: Calendar<Ports<WORDS>>,
    /// Slices whose next reply waits for room.
    waiting: Ports<WORDS>,
    /// For the SMs: replies on their way.
    pub coming: Vec<Coming>,
    /// By SM: the cycle in which it took its last reply.
    taken: Box<[Cycle]>,
    /// To be told to slices.
    left: Vec<(u16, Left)>,
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
            inlets: (0..slices).map(|_| Inlet::new()).collect(),
            ready: Calendar::default(),
            waiting: Ports::default(),
            coming: Vec::with_capacity(ALL_EVENTS),
            taken: vec![Cycle(0); sms].into(),
            left: Vec::with_capacity(ALL_EVENTS),
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
        let inlet = &mut self.inlets[slice];
        // One that was there before is noted, or waits for room.
        if inlet.add(departures)
            && let Some((at, _)) = inlet.next(Cycle(0))
        {
            self.ready.note(self.clocks.l2.core_cycle_of(at), slice);
        }
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
        for &(slice, left) in &self.left {
            tell(self.home(slice.into()), left);
        }
        self.left.clear();
    }

    /// Advances to `end`, before which every reply is known that departs; to the slices' clock at most, when it holds nothing.
    pub fn advance(&mut self, end: Cycle, slices: Cycle) {
        loop {
            let ready = self.ready.next();
            let now = if self.every_cycle { self.clock } else { self.next_event_or(ready) };
            if now >= end {
                let end = if now == Cycle::NEVER { end.min(slices) } else { end };
                self.clock = self.clock.max(end);
                return;
            }
            if ready <= now {
                self.take_in(now);
            }
            self.send(now);
            self.clock = now + 1;
        }
    }

    /// The next core cycle, from the clock on, in which anything happens.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.next_event_or(self.ready.next())
    }

    /// The same, when the next reply can leave a slice in cycle `ready`.
    #[inline]
    fn next_event_or(&self, ready: Cycle) -> Cycle {
        let crossbar = self.clocks.noc.core_cycle_of(self.crossbar.next_event());
        crossbar.min(ready).max(self.clock)
    }

    /// The ticks of the crossbar in core cycle `now`.
    #[inline]
    fn send(&mut self, now: Cycle) {
        let Replies { clocks, crossbar, coming, left, taken, ready, waiting, .. } = self;
        let noc = &clocks.noc;
        for tick in noc.ticks_before(now).0..noc.ticks_before(now + 1).0 {
            crossbar.tick_observed(Cycle(tick), &mut |sent: Sent<'_, Reply>| {
                let at = noc.core_cycle_of(sent.arrives);
                push_copy(sent.packet, coming, |reply| Coming { reply, at });
                left.push((sent.input as u16, Left::Input(now)));
                if sent.makes_room && waiting.contains(sent.input) {
                    waiting.set(sent.input, false);
                    ready.note(now + 1, sent.input);
                }
                // Its SM takes one a cycle, which makes room in the next.
                let taken = &mut taken[sent.output];
                *taken = at.max(*taken + 1);
                Landing::Expected(noc.ticks_before(*taken + 1))
            });
        }
    }

    /// Takes in what can leave a slice in core cycle `now`, before the crossbar's first tick there.
    #[inline]
    fn take_in(&mut self, now: Cycle) {
        let Replies { clocks, crossbar, inlets, ready, .. } = self;
        let l2 = &clocks.l2;
        let (first, tick) = (l2.ticks_before(now), clocks.noc.ticks_before(now));
        for slice in ready.take(now).iter() {
            let inlet = &mut inlets[slice];
            while let Some((at, departure)) = inlet.next(first) {
                let cycle = l2.core_cycle_of(at);
                if cycle > now {
                    ready.note(cycle, slice);
                    break;
                }
                if !crossbar.has_room(slice) {
                    self.waiting.set(slice, true);
                    break;
                }
                let Departure { reply, is_uncertain, shares_port, .. } = departure;
                if *is_uncertain {
                    self.left.push((slice as u16, Left::Slice(at)));
                }
                let (sm, data) = (usize::from(reply.sm), reply.data_bytes.into());
                let reply = crossbar.push(tick, (slice, sm), data, *shares_port, reply);
                reply.stamps.replied = now.into();
                inlet.next += 1;
                inlet.free_from = at + 1;
            }
        }
    }
}
