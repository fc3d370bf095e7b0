//! Everything behind the L1s: both networks, the L2 slices, the DRAM channels, each by its own clock.

use super::clocks::Clocks;
use crate::config::Machine;
use crate::dram::{self, Controller};
use crate::l1::L1;
use crate::l2::Slice;
use crate::noc::Crossbar;
use crate::parts::{AddressMap, Reply, Request};
use crate::sm::Sm;
use crate::units::Cycle;

/// A DRAM channel and how far it has been advanced.
#[derive(Clone)]
struct Channel {
    controller: Controller,
    /// The first command clock that was neither ticked nor skipped.
    clock: Cycle,
}

impl Channel {
    /// Skips to `to`; nothing may happen before.
    fn skip_to(&mut self, to: Cycle) {
        if self.clock < to {
            self.controller.skip(self.clock, to);
            self.clock = to;
        }
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

/// The memory system behind the L1s.
#[derive(Clone)]
pub struct Memory {
    clocks: Clocks,
    map: AddressMap,
    burst_bytes: u32,
    slices_per_channel: usize,
    /// SMs to slices.
    pub requests: Crossbar<Request>,
    /// Slices to SMs.
    pub replies: Crossbar<Reply>,
    /// By number.
    pub slices: Box<[Slice]>,
    channels: Box<[Channel]>,
    /// Tick every component in every cycle, whether or not anything can happen.
    every_cycle: bool,
}

impl Memory {
    /// An empty memory system.
    pub fn new(machine: &Machine, clocks: Clocks, every_cycle: bool) -> Self {
        let (sms, slices) = (machine.sm.count.size(), machine.l2.slices.size());
        let channels = machine.dram.channels.size();
        let channel = Channel { controller: Controller::new(&machine.dram), clock: Cycle(0) };
        Memory {
            clocks,
            map: AddressMap::new(machine),
            burst_bytes: machine.dram.burst_bytes(),
            slices_per_channel: slices / channels,
            requests: Crossbar::new(&machine.noc, sms, slices),
            replies: Crossbar::new(&machine.noc, slices, sms),
            slices: (0..slices).map(|number| Slice::new(machine, number)).collect(),
            channels: vec![channel; channels].into(),
            every_cycle,
        }
    }

    /// One core cycle: every tick of the other clocks that falls into it.
    pub fn tick(&mut self, core: Cycle, sms: &mut [Sm], l1s: &mut [L1]) {
        let Clocks { noc, l2, dram } = self.clocks;
        let next = core + 1;
        self.tick_dram(dram.ticks_before(core), dram.ticks_before(next), core);
        for tick in l2.ticks_before(core).0..l2.ticks_before(next).0 {
            self.tick_l2(Cycle(tick), core);
        }
        for tick in noc.ticks_before(core).0..noc.ticks_before(next).0 {
            self.tick_noc(Cycle(tick), core, sms, l1s);
        }
    }

    fn tick_dram(&mut self, from: Cycle, to: Cycle, core: Cycle) {
        let l2_now = self.clocks.l2.ticks_before(core);
        for (number, channel) in self.channels.iter_mut().enumerate() {
            loop {
                let event = channel.controller.next_event(channel.clock.max(from));
                let tick = if self.every_cycle { channel.clock.max(from) } else { event };
                if tick >= to {
                    break;
                }
                channel.skip_to(tick);
                channel.controller.tick(tick, core);
                channel.clock = tick + 1;
                while let Some(done) = channel.controller.pop_completion(tick) {
                    let Tag { part, piece, slot } = Tag::unpack(done.tag);
                    let slice = number * self.slices_per_channel + usize::from(part);
                    self.slices[slice].fill(l2_now, core, slot, piece, done.first_command);
                }
            }
        }
    }

    fn tick_l2(&mut self, now: Cycle, core: Cycle) {
        let dram_now = self.clocks.dram.ticks_before(core + 1);
        for (number, slice) in self.slices.iter_mut().enumerate() {
            if self.every_cycle || slice.next_event(now) <= now {
                slice.tick(now, core);
            }
            if let Some(reply) = slice.next_reply(now)
                && self.replies.has_room(number)
            {
                let (sm, data) = (usize::from(reply.sm), reply.data_bytes());
                let reply = slice.take_reply(now, core).expect("seen above");
                self.replies.push(number, sm, data, reply);
            }
            if let Some(request) = slice.next_dram_request() {
                let channel = &mut self.channels[number / self.slices_per_channel];
                let part = (number % self.slices_per_channel) as u8;
                let tag = Tag { part, piece: request.piece, slot: request.slot };
                let request = dram::Request {
                    address: request.address,
                    bursts: (request.bytes / self.burst_bytes) as u16,
                    write: request.write,
                    tag: tag.pack(),
                };
                channel.skip_to(dram_now);
                if channel.controller.try_push(dram_now, request).is_ok() {
                    slice.take_dram_request(now);
                }
            }
        }
    }

    fn tick_noc(&mut self, now: Cycle, core: Cycle, sms: &mut [Sm], l1s: &mut [L1]) {
        for (number, l1) in l1s.iter_mut().enumerate() {
            if l1.next_request(core).is_some() && self.requests.has_room(number) {
                let mut request = l1.take_request(core).expect("seen above");
                request.stamps.injected = core;
                let slice = self.map.slice(request.line);
                self.requests.push(number, slice, request.data_bytes(), request);
                sms[number].wake(core);
            }
        }
        self.requests.tick(now);
        self.replies.tick(now);
        let l2_now = self.clocks.l2.ticks_before(core + 1);
        for (number, slice) in self.slices.iter_mut().enumerate() {
            if slice.has_room()
                && let Some(request) = self.requests.pop(now, number)
            {
                slice.accept(l2_now, core, request);
            }
        }
    }

    /// The reply that has arrived at an SM, if any.
    #[inline]
    pub fn take_arrival(&mut self, core: Cycle, sm: usize) -> Option<Reply> {
        let last_tick = Cycle(self.clocks.noc.ticks_before(core + 1).0.checked_sub(1)?);
        self.replies.pop(last_tick, sm)
    }

    /// The next core cycle, after `core`, in which anything happens behind the L1s.
    pub fn next_event(&self, core: Cycle) -> Cycle {
        let next = core + 1;
        if !self.requests.is_quiet() || !self.replies.is_quiet() {
            return next;
        }
        let Clocks { noc, l2, dram } = self.clocks;
        let mut event = Cycle::NEVER;
        let l2_next = l2.ticks_before(next);
        for (number, slice) in self.slices.iter().enumerate() {
            if slice.next_dram_request().is_some() {
                return next;
            }
            let tick = slice.next_event(l2_next).min(slice.reply_ready().max(l2_next));
            event = event.min(l2.core_cycle_of(tick));
            if slice.has_room() {
                let arrival = self.requests.next_arrival(number);
                event = event.min(noc.core_cycle_of(arrival));
            }
        }
        let dram_next = dram.ticks_before(next);
        for channel in &self.channels {
            let tick = channel.controller.next_event(channel.clock.max(dram_next));
            event = event.min(dram.core_cycle_of(tick));
        }
        event.max(next)
    }

    /// The core cycle in which the next reply arrives at an SM.
    pub fn next_arrival(&self, sm: usize) -> Cycle {
        self.clocks.noc.core_cycle_of(self.replies.next_arrival(sm))
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

    /// True when no packet is in a network. A request that a slice holds keeps the SM busy that waits for
    /// its answer; dirty lines may still be on their way to DRAM.
    pub fn is_quiet(&self) -> bool {
        self.requests.is_empty() && self.replies.is_empty()
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
            "request network {}, reply network {}, {busy} of {} slices busy, \
             {held} requests in the DRAM controllers",
            if self.requests.is_empty() { "empty" } else { "busy" },
            if self.replies.is_empty() { "empty" } else { "busy" },
            self.slices.len(),
        )
    }
}
