//! What answers requests: the L2 slices, the DRAM channels and the reply network, each by its own clock.

use super::clocks::Clocks;
use crate::config::Machine;
use crate::dram::{self, Controller};
use crate::l2::Slice;
use crate::noc::{Crossbar, NocStats, Ports, Sent};
use crate::parts::{Reply, Request};
use crate::units::Cycle;

/// A DRAM channel and how far it has been advanced.
#[derive(Clone)]
struct Channel {
    controller: Controller,
    /// The first command clock that was neither ticked nor skipped.
    clock: Cycle,
    /// The next command clock in which it does anything.
    due: Cycle,
}

impl Channel {
    /// Skips to `to`; nothing may happen before.
    fn skip_to(&mut self, to: Cycle) {
        if self.clock < to {
            self.controller.skip(self.clock, to);
            self.clock = to;
        }
    }

    fn look_ahead(&mut self) {
        self.due = self.controller.next_event(self.clock);
    }
}

/// Whose a DRAM request is: the slice among those of the channel, and the slice's name for it.
struct Tag {
    part: u8,
    piece: u8,
    slot: u16,
}

impl Tag {
    fn pack(&self) -> u32 {
        u32::from(self.part) << 24 | u32::from(self.piece) << 16 | u32::from(self.slot)
    }

    fn unpack(tag: u32) -> Self {
        Tag { part: (tag >> 24) as u8, piece: (tag >> 16) as u8, slot: tag as u16 }
    }
}

/// Events to begin with: as many as come in one window on most machines.
const AT_FIRST: usize = 256;

/// A reply on its way, with the network cycle in which it can be taken.
type Coming = (Cycle, Reply);

/// The memory system from the doors of the L2 to those of the SMs.
#[derive(Clone)]
pub struct Memory {
    clocks: Clocks,
    burst_bytes: u32,
    slices_per_channel: usize,
    tag_latency: u64,
    slices: Box<[Slice]>,
    channels: Box<[Channel]>,
    /// By slice: the next L2 cycle in which it does anything, or has something to hand on.
    due: Box<[Cycle]>,
    /// Slices whose next reply finds no room in the network: they are woken when there is.
    wait_for_network: Ports,
    /// Slices whose next request finds no room in the DRAM's queue: they are woken when there is.
    wait_for_dram: Ports,
    /// The least of `due`, or less.
    l2_due: Cycle,
    /// The least `due` of the channels, or less.
    dram_due: Cycle,
    /// Slices to SMs.
    crossbar: Crossbar<Reply>,
    /// By SM: replies to be told to it.
    coming: Box<[Vec<Coming>]>,
    /// SMs with replies to be told of.
    replied: Ports,
    /// By SM: the cycle in which it took its last reply.
    taken: Box<[Cycle]>,
    /// By slice: when requests left its input queue, to be told to the request network.
    left: Box<[Vec<Cycle>]>,
    /// Slices with such news.
    freed: Ports,
    /// Requests that were accepted and whose replies are not yet on their way.
    unanswered: usize,
    /// Cycles before this one are done.
    clock: Cycle,
    /// Tick every component in every cycle, whether or not anything can happen.
    every_cycle: bool,
}

impl Memory {
    /// An empty memory system.
    pub fn new(machine: &Machine, clocks: Clocks, every_cycle: bool) -> Self {
        let (sms, slices) = (machine.sm.count.size(), machine.l2.slices.size());
        let channels = machine.dram.channels.size();
        let channel =
            Channel { controller: Controller::new(&machine.dram), clock: Cycle(0), due: Cycle(0) };
        Memory {
            clocks,
            burst_bytes: machine.dram.burst_bytes(),
            slices_per_channel: slices / channels,
            tag_latency: machine.l2.tag_latency.cycles(),
            slices: (0..slices).map(|number| Slice::new(machine, number)).collect(),
            channels: vec![channel; channels].into(),
            due: vec![Cycle(0); slices].into(),
            wait_for_network: Ports::default(),
            wait_for_dram: Ports::default(),
            l2_due: Cycle(0),
            dram_due: Cycle(0),
            crossbar: Crossbar::new(&machine.noc, slices, sms),
            coming: (0..sms).map(|_| Vec::with_capacity(AT_FIRST)).collect(),
            replied: Ports::default(),
            taken: vec![Cycle(0); sms].into(),
            left: (0..slices).map(|_| Vec::with_capacity(AT_FIRST)).collect(),
            freed: Ports::default(),
            unanswered: 0,
            clock: Cycle(0),
            every_cycle,
        }
    }

    /// The L2 slices, by number.
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// Counters of the reply network since construction.
    pub fn network_stats(&self) -> &NocStats {
        self.crossbar.stats()
    }

    /// Cycles before this one are done.
    pub fn clock(&self) -> Cycle {
        self.clock
    }

    /// Goes to cycle `now`, before which nothing happened.
    pub fn prepare(&mut self, now: Cycle) {
        debug_assert!(self.unanswered == 0 && self.clock == now);
        self.taken.fill(Cycle(0));
    }

    /// Takes a request that the network brought to `slice` in cycle `core`.
    pub fn accept(&mut self, slice: usize, core: Cycle, request: Request) {
        let l2_now = self.clocks.l2.ticks_before(core + 1);
        self.slices[slice].accept(l2_now, core, request);
        self.wake(slice, l2_now + self.tag_latency);
        self.unanswered += 1;
    }

    /// The first cycle that needs to know of requests that arrive in cycle `arrival` or later.
    pub fn needs_from(&self, arrival: Cycle) -> Cycle {
        let visible = self.clocks.l2.ticks_before(arrival + 1) + self.tag_latency;
        self.clocks.l2.core_cycle_of(visible)
    }

    /// Every reply that an SM takes before this cycle is on its way, when all requests are known that matter
    /// before `known`.
    pub fn replies_known_to(&self, known: Cycle) -> Cycle {
        let silent_to = self.silent_to().min(known).max(self.clock);
        let tick = self.clocks.noc.ticks_before(silent_to);
        self.clocks.noc.core_cycle_of(tick + self.crossbar.least_delay())
    }

    /// No reply goes on its way before this cycle, unless a request arrives.
    fn silent_to(&self) -> Cycle {
        if self.unanswered == 0 {
            // Who holds nothing to answer sends nothing before it has heard of something.
            return Cycle::NEVER;
        }
        if !self.crossbar.blocked().is_empty() {
            return self.clock;
        }
        let Clocks { noc, l2, dram } = self.clocks;
        let silent =
            l2.core_cycle_of(self.l2_due).min(noc.core_cycle_of(self.crossbar.next_event()));
        if silent <= self.clock {
            return silent;
        }
        let data = |channel: &Channel| channel.controller.next_data(channel.due);
        let data = self.channels.iter().map(data).min().unwrap_or(Cycle::NEVER);
        dram.core_cycle_of(data).min(silent)
    }

    /// The next SM, from `from` on, to be told of replies.
    #[inline]
    pub fn next_replied(&self, from: usize) -> Option<usize> {
        self.replied.next_from(from)
    }

    /// The replies that went on their way to `sm` since the last time.
    pub fn take_coming(&mut self, sm: usize) -> impl Iterator<Item = Coming> {
        self.replied.set(sm, false);
        self.coming[sm].drain(..)
    }

    /// The next slice, from `from` on, whose input queue requests left since the last time.
    #[inline]
    pub fn next_freed(&self, from: usize) -> Option<usize> {
        self.freed.next_from(from)
    }

    /// When requests left the input queue of `slice`, since the last time.
    pub fn take_left(&mut self, slice: usize) -> impl Iterator<Item = Cycle> {
        self.freed.set(slice, false);
        self.left[slice].drain(..)
    }

    /// `slice` does something in L2 cycle `tick`.
    #[inline]
    fn wake(&mut self, slice: usize, tick: Cycle) {
        self.due[slice] = self.due[slice].min(tick);
        self.l2_due = self.l2_due.min(tick);
    }

    /// Advances to `end`.
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

    /// One core cycle: every tick of the other clocks that falls into it.
    fn tick(&mut self, core: Cycle) {
        let Clocks { noc, l2, dram } = self.clocks;
        let next = core + 1;
        let (noc_now, l2_next) = (noc.ticks_before(core), l2.ticks_before(next));
        self.tick_dram(dram.ticks_before(core), dram.ticks_before(next), core);
        for tick in l2.ticks_before(core).0..l2_next.0 {
            self.tick_l2(Cycle(tick), core, noc_now);
        }
        for tick in noc_now.0..noc.ticks_before(next).0 {
            self.note_taken(core);
            self.tick_network(Cycle(tick), l2_next);
        }
    }

    /// Takes replies out of the network that the SMs took before cycle `now`, one a cycle, where they keep others
    /// from following.
    fn note_taken(&mut self, now: Cycle) {
        for sm in self.crossbar.blocked().iter() {
            loop {
                let tick = self.crossbar.next_arrival(sm);
                let taken = self.clocks.noc.core_cycle_of(tick).max(self.taken[sm] + 1);
                if tick == Cycle::NEVER || taken >= now {
                    break;
                }
                self.crossbar.pop(tick, sm);
                self.taken[sm] = taken;
            }
        }
    }

    fn tick_network(&mut self, tick: Cycle, l2_next: Cycle) {
        let Memory {
            crossbar, coming, replied, unanswered, wait_for_network, due, l2_due, ..
        } = self;
        crossbar.tick_observed(tick, &mut |sent: Sent<'_, Reply>| {
            coming[sent.output].push((sent.arrives, *sent.packet));
            replied.set(sent.output, true);
            *unanswered -= 1;
            if wait_for_network.contains(sent.input) {
                wait_for_network.set(sent.input, false);
                due[sent.input] = due[sent.input].min(l2_next);
                *l2_due = l2_next.min(*l2_due);
            }
        });
    }

    fn tick_dram(&mut self, from: Cycle, to: Cycle, core: Cycle) {
        if self.dram_due >= to && !self.every_cycle {
            return;
        }
        let l2_now = self.clocks.l2.ticks_before(core);
        self.dram_due = Cycle::NEVER;
        for number in 0..self.channels.len() {
            let first = number * self.slices_per_channel;
            loop {
                let channel = &mut self.channels[number];
                let clock = channel.clock.max(from);
                let tick = if self.every_cycle { clock } else { channel.due.max(clock) };
                if tick >= to {
                    break;
                }
                let had_room = channel.controller.can_accept();
                channel.skip_to(tick);
                channel.controller.tick(tick, core);
                channel.clock = tick + 1;
                let has_room = channel.controller.can_accept();
                while let Some(done) = self.channels[number].controller.pop_completion(tick) {
                    let Tag { part, piece, slot } = Tag::unpack(done.tag);
                    let slice = first + usize::from(part);
                    self.slices[slice].fill(l2_now, core, slot, piece, done.first_command);
                    self.wake(slice, l2_now);
                }
                self.channels[number].look_ahead();
                if has_room && !had_room {
                    self.wake_for_dram(first, l2_now);
                }
            }
            self.dram_due = self.dram_due.min(self.channels[number].due);
        }
    }

    /// The channel of the slices from `first` on has room again.
    fn wake_for_dram(&mut self, first: usize, l2_now: Cycle) {
        for slice in first..first + self.slices_per_channel {
            if self.wait_for_dram.contains(slice) {
                self.wait_for_dram.set(slice, false);
                self.wake(slice, l2_now);
            }
        }
    }

    fn tick_l2(&mut self, now: Cycle, core: Cycle, noc_now: Cycle) {
        if self.l2_due > now && !self.every_cycle {
            return;
        }
        self.l2_due = Cycle::NEVER;
        for number in 0..self.slices.len() {
            if self.due[number] <= now || self.every_cycle {
                self.due[number] = self.tick_slice(number, now, core, noc_now);
            }
            self.l2_due = self.l2_due.min(self.due[number]);
        }
    }

    /// One L2 cycle of a slice and of what it hands on; gives the next in which it does anything.
    fn tick_slice(&mut self, number: usize, now: Cycle, core: Cycle, noc_now: Cycle) -> Cycle {
        let slice = &mut self.slices[number];
        if (self.every_cycle || slice.next_event(now) <= now) && slice.tick(now, core) {
            self.left[number].push(core);
            self.freed.set(number, true);
        }
        let next = now + 1;
        if slice.reply_ready() <= now && self.crossbar.has_room(number) {
            let reply = slice.take_reply(now, core).expect("it is ready");
            let (sm, data) = (usize::from(reply.sm), reply.data_bytes());
            self.crossbar.push(noc_now, number, sm, data, reply);
        }
        if let Some(request) = slice.next_dram_request() {
            let channel = &mut self.channels[number / self.slices_per_channel];
            if channel.controller.can_accept() {
                let part = (number % self.slices_per_channel) as u8;
                let tag = Tag { part, piece: request.piece, slot: request.slot };
                let request = dram::Request {
                    address: request.address,
                    bursts: (request.bytes / self.burst_bytes) as u16,
                    write: request.write,
                    tag: tag.pack(),
                };
                let dram_now = self.clocks.dram.ticks_before(core + 1);
                channel.skip_to(dram_now);
                channel.controller.try_push(dram_now, request).expect("it has room");
                slice.take_dram_request(now);
                channel.look_ahead();
                self.dram_due = self.dram_due.min(channel.due);
            }
        }
        let mut due = slice.next_event(next);
        if self.crossbar.has_room(number) {
            due = due.min(slice.reply_ready().max(next));
        } else {
            self.wait_for_network.set(number, true);
        }
        if slice.next_dram_request().is_some() {
            if self.channels[number / self.slices_per_channel].controller.can_accept() {
                due = due.min(next);
            } else {
                self.wait_for_dram.set(number, true);
            }
        }
        due
    }

    /// The next core cycle, from the clock on, in which anything happens.
    fn next_event(&self) -> Cycle {
        if !self.crossbar.blocked().is_empty() {
            return self.clock;
        }
        let Clocks { noc, l2, dram } = self.clocks;
        l2.core_cycle_of(self.l2_due)
            .min(dram.core_cycle_of(self.dram_due))
            .min(noc.core_cycle_of(self.crossbar.next_event()))
            .max(self.clock)
    }

    /// Counts every clock before core cycle `end`.
    pub fn catch_up(&mut self, end: Cycle) {
        for slice in &mut self.slices {
            slice.catch_up(self.clocks.l2.ticks_before(end));
        }
        for channel in &mut self.channels {
            channel.skip_to(self.clocks.dram.ticks_before(end));
        }
    }

    /// The DRAM controllers.
    pub fn controllers(&self) -> impl Iterator<Item = &Controller> {
        self.channels.iter().map(|channel| &channel.controller)
    }

    /// What holds requests, in words, for a deadlock report.
    pub fn describe(&self) -> String {
        let busy = self.slices.iter().filter(|slice| !slice.is_idle()).count();
        let held: usize = self.controllers().map(Controller::held).sum();
        format!(
            "reply network {}, {busy} of {} slices busy, {held} requests in the DRAM controllers",
            if self.crossbar.is_empty() { "empty" } else { "busy" },
            self.slices.len(),
        )
    }
}
