//! A partition: a DRAM channel with its L2 slices, or two of each where slices deal with one another. It advances on its
//! own, as far as that goes.

use super::channel::Channel;
use super::sub_partition::{Look, SubPartition};
use crate::config::Machine;
use crate::dram::Controller;
use crate::gpu::clocks::Clocks;
use crate::gpu::news::{EVENTS, Reach};
use crate::l2::Slice;
use crate::parts::Request;
use crate::units::{Cycle, LineAddr};

/// DRAM channels with their slices.
pub struct Partition {
    pub(super) clocks: Clocks,
    /// From a request's arrival until its slice does anything with it [L2 cycles].
    first_look: u64,
    pub(super) channels: Box<[Channel]>,
    /// The next core cycle in which one of them does anything.
    dram_core: Cycle,
    pub(super) sub_partitions: Box<[SubPartition]>,
    /// When each of them is to be looked at.
    pub(super) looks: Box<[Look]>,
    /// Those that are still to be looked at in the L2 cycle that is being done, a bit each.
    pub(super) looking: u64,
    /// The first L2 cycle in which one of them is due, and the core cycle of that.
    pub(super) l2_due: Cycle,
    pub(super) l2_core: Cycle,
    /// Slices whose next cycle depends on what is not known of the network, a bit each: whether it has room for a reply, or,
    /// where it is told ahead, whether one has left that was to leave.
    pub(super) blocked: u64,
    /// Slices whose next request finds no room in the DRAM's queue, a bit each: they are woken when there is.
    pub(super) wait_for_dram: u64,
    /// The slice that was the last to find room there, where several share a channel: the next one goes before it.
    pub(super) last_to_dram: usize,
    /// Slices that have replies to be told to the network, a bit each.
    pub(super) departed: u64,
    /// When requests left the input queue of a slice, to be told to the request network.
    pub(super) left: Vec<(usize, Cycle)>,
    /// Requests that were accepted and of whose replies the network has not been told.
    pub(super) unanswered: usize,
    /// Cycles before this one are done.
    pub(super) clock: Cycle,
    /// The slices of two deal with one another.
    pub(super) is_paired: bool,
    /// The network is told of replies ahead of their time, and lets them in when they are ready and it has room.
    pub(super) tells_ahead: bool,
    /// From the making of a reply until it leaves, at least [L2 cycles]; 0 where replies are not told ahead.
    reply_delay: u64,
    /// Ticks of the L2 in a core cycle, at most.
    pub(super) most_ticks: u64,
    /// Tick every component in every cycle, whether or not anything can happen.
    pub(super) every_cycle: bool,
    /// The DRAM is ahead of the slices by so many clocks, at most.
    pub(super) most_ahead: u64,
    /// Clocks of the DRAM for each reply that the slices send one after the other, at least, in parts of one by two to the power
    /// of [`RATE_BITS`](super::ahead::RATE_BITS); all together are this many clocks less, at most.
    pub(super) clocks_per_reply: u64,
    pub(super) slack: u64,
}

impl Partition {
    /// Partitions of a machine.
    pub fn count(machine: &Machine) -> usize {
        machine.dram.channels.size() / machine.l2.partitions.count()
    }

    /// Partition `number` of `machine`, empty.
    pub fn new(machine: &Machine, clocks: Clocks, number: usize, every_cycle: bool) -> Self {
        let partitions = Partition::count(machine);
        let count = machine.l2.slices.size() / partitions;
        let channels = machine.dram.channels.size() / partitions;
        let most_ticks = clocks.l2.most_ticks();
        let sub_partitions: Box<[SubPartition]> = (0..count)
            .map(|part| SubPartition::new(machine, number * count + part, most_ticks))
            .collect();
        let slice = &sub_partitions[0].slice;
        // A reply that could leave in the core cycle in which it is made would need a place of which the network may say no
        // more, and the network could not go on before the slice.
        let tells_ahead =
            slice.replies_leave_alone() && slice.reply_delay() >= most_ticks && !every_cycle;
        let mut partition = Partition {
            clocks,
            first_look: Slice::first_look(&machine.l2),
            channels: (0..channels).map(|_| Channel::new(machine, clocks)).collect(),
            dram_core: Cycle(0),
            is_paired: slice.is_paired(),
            tells_ahead,
            reply_delay: if tells_ahead { slice.reply_delay() } else { 0 },
            sub_partitions,
            looks: vec![Look::new(Cycle(0), Cycle::NEVER); count].into(),
            looking: 0,
            l2_due: Cycle(0),
            l2_core: clocks.l2.core_cycle_of(Cycle(0)),
            blocked: 0,
            wait_for_dram: 0,
            last_to_dram: 0,
            departed: 0,
            left: Vec::with_capacity(EVENTS),
            unanswered: 0,
            clock: Cycle(0),
            most_ticks,
            every_cycle,
            most_ahead: 0,
            clocks_per_reply: 0,
            slack: 0,
        };
        if tells_ahead && channels == 1 {
            partition.let_ahead();
        }
        (0..count).for_each(|part| partition.note_blocked(part));
        partition
    }

    /// Its slices hold nothing any more.
    pub fn invalidate_all(&mut self) {
        self.sub_partitions
            .iter_mut()
            .for_each(|sub_partition| sub_partition.slice.invalidate_all());
    }

    /// Slice `part` holds a line as a copy leaves it that has read or written it.
    pub fn install(&mut self, part: usize, line: LineAddr, is_written: bool) {
        self.sub_partitions[part].slice.install(line, is_written);
    }

    /// The L2 slices.
    pub fn slices(&self) -> impl ExactSizeIterator<Item = &Slice> {
        self.sub_partitions.iter().map(|sub_partition| &sub_partition.slice)
    }

    /// The DRAM controllers.
    pub fn controllers(&self) -> impl Iterator<Item = &Controller> {
        self.channels.iter().map(Channel::controller)
    }

    /// Cycles before this one are done.
    #[inline]
    pub fn clock(&self) -> Cycle {
        self.clock
    }

    /// Takes a request that the network brought to slice `part` in cycle `core`.
    #[inline(always)]
    pub fn accept(&mut self, part: usize, core: Cycle, request: &Request) {
        let l2 = &self.clocks.l2;
        let l2_now = l2.ticks_before(core + 1);
        let slice = &mut self.sub_partitions[part].slice;
        slice.accept(l2_now, core, *request, |tick| l2.core_cycle_of(tick));
        self.wake(part, l2_now + self.first_look);
        self.unanswered += 1;
    }

    /// No reply departs before this cycle of which the network has not been told, unless a request arrives.
    #[inline]
    pub fn silent_to(&self) -> Cycle {
        // Who holds nothing to answer sends nothing before it has heard of something.
        if self.unanswered == 0 { Cycle::NEVER } else { self.replies_from(self.acts_from()) }
    }

    /// As [`Partition::silent_to`], but found at once, and often less.
    #[inline]
    pub fn departs_from(&self) -> Cycle {
        if self.unanswered == 0 { Cycle::NEVER } else { self.replies_from(self.clock) }
    }

    /// When the replies can leave at the earliest that slices make in core cycle `first`.
    #[inline]
    fn replies_from(&self, first: Cycle) -> Cycle {
        let l2 = self.clocks.l2;
        l2.core_cycle_of(Cycle(l2.ticks_before(first).0.saturating_add(self.reply_delay)))
    }

    /// No slice makes a reply before this cycle.
    fn acts_from(&self) -> Cycle {
        if self.blocked != 0 {
            return self.clock;
        }
        let silent = self.l2_core.max(self.clock);
        if silent == self.clock {
            return silent;
        }
        // A slice that waits for room in the DRAM's queue may answer a write as soon as a command makes some.
        let data = match self.wait_for_dram {
            0 => self.channels.iter().map(Channel::next_data).min().unwrap_or(Cycle::NEVER),
            _ => self.dram_core,
        };
        data.min(silent).max(self.clock)
    }

    /// When requests left the input queue of a slice, since the last time.
    #[inline]
    pub fn left(&mut self) -> &mut Vec<(usize, Cycle)> {
        &mut self.left
    }

    /// Slice `part` does something in L2 cycle `tick`.
    #[inline]
    pub(super) fn wake(&mut self, part: usize, tick: Cycle) {
        self.looks[part].wake(tick);
        self.hasten(tick);
    }

    /// Something is due in L2 cycle `tick`.
    #[inline]
    pub(super) fn hasten(&mut self, tick: Cycle) {
        if tick < self.l2_due {
            (self.l2_due, self.l2_core) = (tick, self.clocks.l2.core_cycle_of(tick));
        }
    }

    /// The next L2 cycle in which a slice is to be looked at.
    #[inline]
    fn next_look(&self) -> Cycle {
        match &*self.looks {
            [one, other] => one.next.min(other.next),
            looks => looks.iter().fold(Cycle::NEVER, |next, look| next.min(look.next)),
        }
    }

    /// The slices that are to be looked at in L2 cycle `tick`, a bit each.
    #[inline]
    fn looked_at(&self, tick: Cycle) -> u64 {
        let is_due = |look: &Look| u64::from(look.next <= tick);
        match &*self.looks {
            [one, other] => is_due(one) | is_due(other) << 1,
            looks => looks.iter().rev().fold(0, |due, look| due << 1 | is_due(look)),
        }
    }

    /// Notes when a slice is due next, or woken.
    #[inline]
    fn find_l2_due(&mut self) {
        let due = match self.wait_for_dram {
            0 => self.next_look(),
            _ => self.next_look().min(self.next_room()),
        };
        (self.l2_due, self.l2_core) = (due, self.clocks.l2.core_cycle_of(due));
    }

    /// The channel that is due next, and the command clock.
    #[inline]
    pub(super) fn next_channel(&self) -> (usize, Cycle) {
        match &*self.channels {
            [channel] => (0, channel.due_clock()),
            channels => {
                let due = channels.iter().map(Channel::due_clock).enumerate();
                due.min_by_key(|(_, due)| *due).expect("there is a channel")
            }
        }
    }

    /// Notes when a channel is due next.
    #[inline]
    pub(super) fn find_dram_due(&mut self) {
        self.dram_core = self.clocks.dram.core_cycle_of(self.next_channel().1);
    }

    /// How far it may go.
    #[inline]
    fn end(&self, reach: &Reach) -> Cycle {
        if self.unanswered > 0 { reach.owing } else { reach.idle }
    }

    /// Whether anything happens here within `reach`, as far as known.
    #[inline]
    pub fn has_work(&self, reach: &Reach) -> bool {
        self.l2_core.min(self.dram_core) < self.end(reach)
    }

    /// How far a slice may go that depends on the reply network, of which all is known before its clock `network`.
    #[inline]
    fn known_to(&self, network: Cycle) -> Cycle {
        // What happens there in one cycle matters in the next; but what leaves a slice does so in the slice's next cycle.
        let is_same = self.tells_ahead && self.most_ticks > 1;
        if is_same { network } else { network + 1 }
    }

    /// Advances within `reach`, or as far as what is known of the reply network allows: all before its clock `network`.
    #[inline]
    pub fn advance(&mut self, reach: &Reach, network: Cycle) {
        if self.every_cycle || self.blocked != 0 || self.has_work(reach) {
            self.advance_by_events(reach, network);
        } else {
            // Nothing happens before.
            self.clock = self.clock.max(self.end(reach));
        }
    }

    fn advance_by_events(&mut self, reach: &Reach, network: Cycle) {
        loop {
            let end = self.end(reach);
            let end = if self.blocked == 0 { end } else { end.min(self.known_to(network)) };
            if self.clock >= end {
                return;
            }
            if self.every_cycle {
                self.tick_all(self.clock);
            } else {
                if self.dram_core <= self.l2_core && self.dram_core < end {
                    self.advance_dram(end);
                }
                let now = self.l2_core.max(self.clock);
                if now >= end {
                    self.clock = end;
                    return;
                }
                self.tick_l2(now);
                self.clock = now;
            }
            self.clock += 1;
        }
    }

    /// The ticks of the L2 in core cycle `core` in which a slice is due.
    #[inline]
    fn tick_l2(&mut self, core: Cycle) {
        debug_assert!(self.dram_core > core && self.l2_core >= core, "time has gone by");
        while self.l2_core <= core {
            let tick = self.l2_due;
            if self.is_paired {
                self.bring_data(tick);
            }
            self.looking = self.looked_at(tick) | self.give_room(tick);
            // One that makes room in the DRAM's queue adds the next one that waits for it. What else makes another one due in
            // this cycle does so where there are two, the first of which makes the second one due: that has its turn next.
            while self.looking != 0 {
                let part = self.looking.trailing_zeros() as usize;
                self.looking &= self.looking - 1;
                match self.tells_ahead {
                    _ if self.looks[part].due > tick => self.ask_again(part, tick, core),
                    true => self.tick_slice_ahead(part, tick, core),
                    false => self.tick_slice(part, tick, core),
                }
            }
            // What one does may have made another one due that was looked at before.
            self.find_l2_due();
        }
    }

    /// One core cycle: every tick of the other clocks that falls into it, of every component.
    fn tick_all(&mut self, core: Cycle) {
        let Clocks { l2, dram, .. } = self.clocks;
        for number in 0..self.channels.len() {
            for tick in dram.ticks_before(core).0..dram.ticks_before(core + 1).0 {
                self.run_dram(number, Cycle(tick), Cycle(tick + 1), 0);
            }
        }
        for tick in l2.ticks_before(core).0..l2.ticks_before(core + 1).0 {
            if self.is_paired {
                self.bring_data(Cycle(tick));
            }
            self.give_room(Cycle(tick));
            for part in 0..self.sub_partitions.len() {
                self.sub_partitions[part].slice.look_anew(Cycle(tick));
                self.tick_slice(part, Cycle(tick), core);
            }
        }
        self.find_dram_due();
        self.find_l2_due();
    }

    /// Counts every clock before core cycle `end`.
    pub fn catch_up(&mut self, end: Cycle) {
        for sub_partition in &mut self.sub_partitions {
            sub_partition.slice.catch_up(self.clocks.l2.ticks_before(end));
        }
        for channel in &mut self.channels {
            channel.catch_up(self.clocks.dram.ticks_before(end));
        }
    }

    /// True when it has nothing to tell, and will not before a request comes.
    #[inline]
    pub fn rests(&self) -> bool {
        let has_told = self.departed == 0 && self.left.is_empty();
        self.is_idle() && has_told && self.blocked == 0 && !self.every_cycle
    }

    /// True when no reply is owed.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.unanswered == 0
    }
}
