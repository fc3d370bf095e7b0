//! What the slices of a partition hand on: replies to the network, requests to the DRAM, and what those of two partitions
//! have to do with one another.

use std::hint::select_unpredictable;

use super::partition::Partition;
use super::replies::Left;
use super::sub_partition::{Found, SubPartition};
use crate::l2::Departure;
use crate::parts::FROM_SLICE;
use crate::units::{Bits, Cycle};

impl Partition {
    /// Tells `note` of the slices with replies of which the network has not been told, and of these.
    #[inline(always)]
    pub fn take_departures(&mut self, mut note: impl FnMut(usize, &mut Vec<Departure>)) {
        for part in Bits(std::mem::take(&mut self.departed)) {
            let SubPartition { slice, departures, .. } = &mut self.sub_partitions[part];
            note(part, if self.tells_ahead { slice.exit().told() } else { departures });
        }
    }

    /// Hears of a reply of slice `part`.
    #[inline(always)]
    pub fn note_leave(&mut self, part: usize, left: Left) {
        match left {
            Left::Slice(tick) => self.note_departure(part, tick),
            Left::Input(core) => {
                self.sub_partitions[part].port.note_leave(core);
                if !self.tells_ahead {
                    self.note_room(part, core);
                }
            }
        }
    }

    /// Hears that a reply left slice `part` in L2 cycle `tick`.
    #[inline(never)]
    fn note_departure(&mut self, part: usize, tick: Cycle) {
        let SubPartition { slice, port, .. } = &mut self.sub_partitions[part];
        port.take(1);
        let may_wait = slice.exit().note_leave(tick);
        self.note_blocked(part);
        if may_wait {
            self.wake(part, self.clocks.l2.ticks_before(self.clock).max(tick + 1));
        }
    }

    /// Slice `part`, which waits for room in the network where it does not tell ahead, has some after core cycle `core`.
    #[inline(never)]
    fn note_room(&mut self, part: usize, core: Cycle) {
        let may_wait = self.blocked >> part & 1 == 1;
        self.note_blocked(part);
        if may_wait {
            self.wake(part, self.clocks.l2.ticks_before(self.clock.max(core + 1)));
        }
    }

    /// Notes whether the next cycle of a slice depends on what is not known of the network.
    #[inline]
    pub(super) fn note_blocked(&mut self, part: usize) {
        let sub_partition = &self.sub_partitions[part];
        let is_blocked = match self.tells_ahead {
            true => sub_partition.slice.is_in_doubt(self.most_ticks as usize),
            false => sub_partition.may_block(),
        };
        self.blocked = self.blocked & !(1 << part) | u64::from(is_blocked) << part;
    }

    /// What a slice has for the network goes there, as far as that has room; gives the next L2 cycle in which more may.
    #[inline(never)]
    pub(super) fn send_replies(&mut self, part: usize, now: Cycle, core: Cycle) -> Cycle {
        self.send_reply(part, now, core);
        self.note_blocked(part);
        let sub_partition = &self.sub_partitions[part];
        if sub_partition.slice.is_reply_for_slice() {
            return sub_partition.slice.reply_ready().max(now + 1);
        }
        match sub_partition.room_from() {
            Cycle::NEVER => Cycle::NEVER,
            from if from <= core => sub_partition.slice.reply_ready().max(now + 1),
            from => self.clocks.l2.ticks_before(from).max(now + 1),
        }
    }

    /// The oldest reply goes to the network, where that has room.
    fn send_reply(&mut self, part: usize, now: Cycle, core: Cycle) {
        let sub_partition = &mut self.sub_partitions[part];
        if sub_partition.slice.is_reply_for_slice() || sub_partition.room_from() > core {
            return;
        }
        let SubPartition { slice, port, departures, .. } = sub_partition;
        if let Some(reply) = slice.take_reply(now) {
            let before = departures.len();
            let alone = Departure { reply, ready: now, is_uncertain: false, shares_port: false };
            departures.push(alone);
            let others = slice.take_others(&reply);
            departures.extend(others.map(|reply| Departure { reply, shares_port: true, ..alone }));
            let count = departures.len() - before;
            self.departed |= 1 << part;
            port.take(count);
            self.unanswered -= count;
        }
    }

    /// The oldest request of a slice goes to its channel, where that has room; gives when another one may, as far as it does
    /// not wait for room then.
    #[inline]
    pub(super) fn ask_dram(&mut self, part: usize, now: Cycle, core: Cycle) -> Cycle {
        // One that waits for room is told when there is some.
        let waits = self.wait_for_dram >> part & 1 == 1;
        if !waits & self.sub_partitions[part].slice.has_dram_request() {
            return self.push_to_dram(part, now, core);
        }
        Cycle::NEVER
    }

    /// As [`Partition::ask_dram`], of a slice that has a request and does not wait.
    #[inline]
    pub(super) fn push_to_dram(&mut self, part: usize, now: Cycle, core: Cycle) -> Cycle {
        if self.channels[self.channel_of(part)].can_accept(now) {
            return self.push_to_channel(part, now, core);
        }
        self.wait_for_dram |= 1 << part;
        Cycle::NEVER
    }

    /// The same, where there is room.
    #[inline(never)]
    fn push_to_channel(&mut self, part: usize, now: Cycle, core: Cycle) -> Cycle {
        let number = self.channel_of(part);
        let (sub_partition, channel) = (&mut self.sub_partitions[part], &mut self.channels[number]);
        self.last_to_dram = part;
        let request = sub_partition.slice.take_next_dram_request(now);
        let sooner = channel.push(self.clocks.dram.ticks_before(core + 1), part, request);
        let (has_more, has_room) = (sub_partition.slice.has_dram_request(), channel.has_room());
        // Nothing makes room before the slice's next cycle but what wakes those that wait.
        let asks = has_more & has_room;
        self.wait_for_dram |= u64::from(has_more & !asks) << part;
        if (self.wait_for_dram != 0) & has_room {
            self.wake_waiting(number, part, now);
        }
        if sooner {
            self.find_dram_due();
        }
        select_unpredictable(asks, now + 1, Cycle::NEVER)
    }

    /// Wakes the next of the slices that wait for room in a channel's queue, if there is some in L2 cycle `tick`, and gives those
    /// that it woke, a bit each.
    #[inline]
    pub(super) fn give_room(&mut self, tick: Cycle) -> u64 {
        let mut woken = 0;
        if self.wait_for_dram != 0 {
            for (number, channel) in self.channels.iter().enumerate() {
                let waiting = self.wait_for_dram & self.slices_of(number);
                // Nobody can tell beforehand whether there is any.
                let next = self.next_in_turn(waiting);
                woken |= select_unpredictable(channel.next_room() <= tick, next, 0);
            }
            self.wait_for_dram &= !woken;
        }
        woken
    }

    /// The next L2 cycle in which a channel's queue has room for slices that wait for it, as far as that is known.
    #[inline]
    pub(super) fn next_room(&self) -> Cycle {
        match &*self.channels {
            [channel] => channel.next_room(),
            channels => {
                let awaited = Bits(self.wait_for_dram).map(|part| channels[part].next_room());
                awaited.fold(Cycle::NEVER, Cycle::min)
            }
        }
    }

    /// The slices of a channel, a bit each: with several channels, each slice has its own.
    #[inline]
    pub(super) fn slices_of(&self, number: usize) -> u64 {
        if self.channels.len() > 1 { 1 << number } else { !0 }
    }

    /// Which of the slices of `waiting`, a bit each, has room first: they take turns, or those that ask for much would have it all.
    #[inline]
    fn next_in_turn(&self, waiting: u64) -> u64 {
        let behind = waiting & (!1 << self.last_to_dram);
        let from = select_unpredictable(behind != 0, behind, waiting);
        from & from.wrapping_neg()
    }

    /// The next of the slices that wait for room in a channel's queue goes on in L2 cycle `tick`: it wakes the one after it if
    /// it leaves any. Those before slice `next` have had their turn in that cycle.
    pub(super) fn wake_waiting(&mut self, number: usize, next: usize, tick: Cycle) {
        let waiting = self.wait_for_dram & self.slices_of(number);
        if waiting != 0 {
            let part = self.next_in_turn(waiting).trailing_zeros() as usize;
            self.wait_for_dram &= !(1 << part);
            let asks = tick + u64::from(part < next);
            let next = &mut self.looks[part].next;
            *next = asks.min(*next);
            self.looking |= u64::from(asks == tick) << part;
            self.hasten(asks);
        }
    }

    /// The channel of a slice: its own, or the only one.
    #[inline]
    pub(super) fn channel_of(&self, part: usize) -> usize {
        if self.channels.len() > 1 { part } else { 0 }
    }

    /// The neighbour of a slice, in the other partition.
    pub(super) const fn other(part: usize) -> usize {
        1 - part
    }

    /// What a slice has to do as a home, before it hands a reply to the network: it brings what the other one asked for or
    /// passed on, and makes copies go of what has changed. `asked` are the requests that it had before its tick.
    pub(super) fn tick_home(&mut self, part: usize, now: Cycle, asked: usize) {
        let other = Self::other(part);
        let slice = &mut self.sub_partitions[part].slice;
        let changed = slice.take_change();
        let mut wake = if slice.asked() < asked { now } else { Cycle::NEVER };
        if slice.is_reply_for_slice()
            && let Some(reply) = slice.take_reply(now)
        {
            let at = now + slice.far_latency();
            if reply.sm == FROM_SLICE {
                let (slot, piece) = (reply.slot, slice.piece(&reply));
                let SubPartition { slice, found, .. } = &mut self.sub_partitions[other];
                slice.prefetch(slot);
                found.push(at, Found { slot, piece, stamps: reply.stamps });
            } else {
                self.sub_partitions[other].slice.come_back(at, reply);
            }
            wake = wake.min(at);
        }
        if let Some(line) = changed {
            self.sub_partitions[other].slice.forget(line);
        }
        if wake != Cycle::NEVER {
            self.wake(other, wake.max(now + u64::from(other < part)));
        }
    }

    /// What a slice asks of the other one and passes on to it.
    pub(super) fn ask_home(&mut self, part: usize, now: Cycle) {
        let home = Self::other(part);
        // Where the home slice takes no more, it wakes this one when it does.
        while self.sub_partitions[part].slice.has_for_home()
            && self.sub_partitions[home].slice.can_be_asked()
        {
            let (l2, slice) = (&self.clocks.l2, &mut self.sub_partitions[part].slice);
            let request = slice.take_for_home(now, |tick| l2.core_cycle_of(tick));
            let request = request.expect("there is one");
            let at = self.sub_partitions[home].slice.ask(now, request);
            self.wake(home, at);
        }
    }
}
