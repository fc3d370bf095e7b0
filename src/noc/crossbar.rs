//! A crossbar that moves packets flit by flit.
//!
//! Packets wait at their input, which has room for a fixed number of them; a packet behind one for
//! another output may pass it (virtual output queues). An output takes from the waiting inputs in
//! turn, and of outputs that can take a packet in one cycle, that which took none for the longest time chooses first. A packet keeps its input and its output for as many cycles as it has flits of their width, and arrives
//! `latency` cycles after its last flit left. An output whose receiver does not take packets stops.
//!
//! Each output stands in a calendar with the earliest cycle in which it can take a packet, and is not looked at before:
//! most packets have several flits, and most outputs are busy. Packets that wait at one input for one output stand in a line
//! of places there: the oldest one leaves next.
//!
//! Nobody looks at a packet that enters its input: when it does is known as soon as it has room there. It has it from then on, and
//! stands in its line with that cycle, before which it does not leave. An output asks all inputs at once who of them can send, as
//! `times` says.

use std::cell::Cell;
use std::hint::select_unpredictable;

use super::calendar::Calendar;
use super::input::{Input, Line, Places, Size};
use super::output::{Groups, Output};
use super::packet::{Entering, Landing, Packet, Sent};
use super::ports::{MOST_WORDS, Ports};
use super::stats::NocStats;
use super::times::{FAR, Times};
use crate::config::machine::{GpcPort, NocConfig};
use crate::units::Cycle;

/// Bytes of data that a packet carries, at most: a line.
const MOST_DATA: u32 = 128;
/// Numbers of bytes of data that have a size, more than a line and the masks of its bytes.
const SIZES: usize = 1 << u8::BITS;

/// Bits that a port's number has.
const PORT_BITS: u32 = (MOST_WORDS as u32 * u64::BITS).ilog2();

/// A crossbar from `inputs` to `outputs`.
#[derive(Clone, Debug)]
pub struct Crossbar<P: Packet, const WORDS: usize = MOST_WORDS> {
    /// By bytes of data besides the header: what a packet takes.
    sizes: Box<[Size; SIZES]>,
    latency: u64,
    pub(super) inputs: Box<[Input]>,
    outputs: Box<[Output<P::Landed, WORDS>]>,
    /// When inputs can send.
    times: Times<WORDS>,
    /// Of the packets at inputs and before them.
    pub(super) places: Places<P>,
    dues: Calendar<WORDS>,
    /// Outputs of one cycle, each behind the cycle from which on it waits, in one number.
    turns: Box<[u64]>,
    /// Outputs whose pipe holds a packet.
    landing: Ports<WORDS>,
    /// What outputs share, where they do.
    groups: Option<Groups<WORDS>>,
    /// Packets may leave together with the one before them at their input, and need not wait for its port.
    may_share: bool,
    /// No packet finds all places of an output taken, where none waits there.
    is_never_full: bool,
    /// Packets at inputs and before them.
    pub(super) held: u64,
    /// Of packets that have left their inputs.
    stats: NocStats,
}

impl<P: Packet, const WORDS: usize> Crossbar<P, WORDS> {
    /// An empty crossbar from slices, which belong to so many partitions in turn, to SMs, whose GPCs are `gpcs`.
    pub fn to_sms(config: &NocConfig, (slices, partitions): (usize, usize), gpcs: &[u16]) -> Self {
        let port_bytes = (config.flit_bytes.get(), config.sm_port_bytes.get());
        let groups_of = |groups: usize, bytes: u32| {
            let group = |slice| (slice / partitions % groups) as u16;
            let slices = (0..slices).map(group).collect();
            Some(Groups::new(gpcs, slices, bytes, config.flit_bytes.get()))
        };
        let groups = match config.gpc_port {
            GpcPort::Unlimited => None,
            GpcPort::Limited { bytes } => groups_of(1, bytes.get()),
            GpcPort::BySlices { groups, bytes } => groups_of(groups.size(), bytes.get()),
        };
        Crossbar { groups, ..Self::new(config, slices, gpcs.len(), port_bytes) }
    }

    /// An empty crossbar from SMs to slices.
    pub fn to_slices(config: &NocConfig, sms: usize, slices: usize) -> Self {
        let port_bytes = (config.sm_out_bytes.get(), config.slice_in_bytes.get());
        Self::new(config, sms, slices, port_bytes)
    }

    fn new(config: &NocConfig, inputs: usize, outputs: usize, port_bytes: (u32, u32)) -> Self {
        assert!(inputs.max(outputs) <= Ports::<WORDS>::MOST, "a crossbar has no such port");
        let latency = config.latency.cycles();
        let most_data = MOST_DATA + config.mask_bytes.get();
        assert!(most_data < SIZES as u32, "a packet has no such size");
        let flits = |data: u32, width: u32| config.flits(data, width) as u16;
        let size = |data| {
            let (input, output) = (flits(data, port_bytes.0), flits(data, port_bytes.1));
            Size { input, output }
        };
        let sizes: [Size; SIZES] = std::array::from_fn(|data| size(data as u32));
        // One packet can enter an output's pipe each cycle and stays for the latency, and longer where it leaves its input more
        // slowly than it goes in.
        let packets = &sizes[..=most_data as usize];
        let slower = packets.iter().map(|size| size.input.saturating_sub(size.output)).max();
        let output = Output::new(inputs, latency as usize + usize::from(slower.unwrap_or(0)) + 2);
        let room = config.input_queue.size();
        Crossbar {
            sizes: Box::new(sizes),
            latency,
            inputs: vec![Input::new(room); inputs].into(),
            outputs: vec![output; outputs].into(),
            times: Times::new(inputs),
            places: Places::new(inputs * room),
            dues: Calendar::default(),
            turns: vec![0; outputs].into(),
            landing: Ports::default(),
            groups: None,
            may_share: false,
            is_never_full: false,
            held: 0,
            stats: NocStats::default(),
        }
    }

    /// Counters since construction; contention of packets that have left their input.
    pub fn stats(&self) -> NocStats {
        self.stats.clone()
    }

    /// True when `input` takes another packet.
    #[inline]
    pub fn has_room(&self, input: usize) -> bool {
        self.room(input) > 0
    }

    /// Packets that `input` takes, whatever happens at the others.
    #[inline]
    pub fn room(&self, input: usize) -> usize {
        self.inputs[input].room as usize
    }

    /// Queues a packet of `data_bytes` besides the header, which enters its input before the tick of `at`, and no sooner than the one
    /// pushed there before; gives it where it lies. The caller has asked [`Crossbar::has_room`].
    ///
    /// One that `shares` the port leaves its input together with the one pushed before it, which has the same data for
    /// another output: that one alone takes the input's time.
    #[inline]
    pub fn push(
        &mut self,
        at: Cycle,
        (input, output): (usize, usize),
        data_bytes: u32,
        shares: bool,
        packet: &P,
    ) -> &mut P {
        debug_assert!(self.has_room(input), "a packet is pushed into a full input");
        debug_assert!(self.may_share || !shares, "a packet shares a port that is not to be shared");
        let number = self.places.put(at, output, data_bytes as u8, shares, packet);
        self.held += 1;
        self.enter(at, (input, output), number, shares);
        &mut self.places.list[number as usize].packet
    }

    /// A packet enters `input` at `at`, where there is room.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        at: Cycle,
        (input, port): (usize, usize),
        number: u32,
        shares: bool,
    ) {
        let Input { free_at, room, .. } = &mut self.inputs[input];
        *room -= 1;
        let output = &mut self.outputs[port];
        let line = &mut output.lines[input];
        if output.wanted_by.contains(input) {
            let last = std::mem::replace(&mut line.last, number);
            self.places.list[last as usize].next = number;
            return;
        }
        *line = Line { first: number, last: number };
        output.wanted_by.set(input, true);
        let mut due = output.free_from.max(at);
        if shares {
            output.shared_by.set(input, true);
        } else {
            due = due.max(*free_at);
        }
        output.entered.set(input, self.times.near(at));
        if due < output.due {
            output.due = due;
            self.dues.note(due, port);
        }
    }

    /// The earliest cycle in which a tick can do anything, unless a packet is pushed or taken; it may do
    /// nothing then.
    #[inline]
    pub fn next_event(&self) -> Cycle {
        self.dues.next()
    }

    /// One cycle: every free output takes a packet from the next free input that has one for it. Cycles
    /// before [`Crossbar::next_event`] may be left out.
    pub fn tick(&mut self, now: Cycle) {
        self.tick_observed(now, &mut |_| Landing::Waits);
    }

    /// As [`Crossbar::tick`], where no packet waits for room; tells `sent` of each packet that left its input, which says
    /// whether it is expected.
    pub fn tick_observed(&mut self, now: Cycle, sent: &mut impl FnMut(Sent<'_, P>) -> Landing) {
        self.run(now, &Cell::new(now + 1), &mut |entering| entering.at, sent);
    }

    /// All ticks from `from` on and before `until`, which `enters` and `sent` may lessen, though not to the tick that they hear of.
    /// Tells `sent` of each packet that left its input, and asks `enters` when one enters its input that waited for room: not
    /// before the next tick. Gives the last one in which it did anything.
    #[inline]
    pub fn run(
        &mut self,
        from: Cycle,
        until: &Cell<Cycle>,
        enters: &mut impl FnMut(Entering<'_, P>) -> Cycle,
        sent: &mut impl FnMut(Sent<'_, P>) -> Landing,
    ) -> Option<Cycle> {
        let mut last = None;
        self.dues.begin(from);
        while self.dues.next() < until.get() {
            let now = self.dues.next();
            if self.times.begins_epoch(now) {
                self.begin_epoch(now);
            }
            let due = self.dues.take_next();
            for place in 0..self.put_in_turn(&due) {
                let output = self.turns[place] as usize % Ports::<MOST_WORDS>::MOST;
                self.serve(now, output, enters, sent);
            }
            last = Some(now);
        }
        last
    }

    /// Puts the outputs of one cycle into `turns`, and gives how many they are. Those that have waited longest come first, as they
    /// may want the same input: an order by the clock alone may keep step with the packets, and let some wait for ever.
    #[inline(always)]
    fn put_in_turn(&mut self, due: &Ports<WORDS>) -> usize {
        let mut count = 0;
        for (turn, port) in self.turns.iter_mut().zip(due.iter()) {
            *turn = self.outputs[port].ready_from.0 << PORT_BITS | port as u64;
            count += 1;
        }
        if count > 1 {
            self.turns[..count].sort_unstable();
        }
        count
    }

    /// Tells all times again.
    #[cold]
    #[inline(never)]
    fn begin_epoch(&mut self, now: Cycle) {
        let Crossbar { inputs, outputs, places, times, .. } = self;
        times.begin_epoch(now);
        for (number, input) in inputs.iter().enumerate() {
            times.set_free(number, times.near(input.free_at));
        }
        for output in outputs {
            for input in output.wanted_by.iter() {
                let at = places.list[output.lines[input].first as usize].at;
                output.entered.set(input, times.near(at));
            }
        }
    }

    /// Cycle `now` of an output.
    #[inline]
    fn serve(
        &mut self,
        now: Cycle,
        port: usize,
        enters: &mut impl FnMut(Entering<'_, P>) -> Cycle,
        sent: &mut impl FnMut(Sent<'_, P>) -> Landing,
    ) {
        let Crossbar { inputs, outputs, dues, places, times, .. } = self;
        let output = &mut outputs[port];
        if output.due > now {
            if output.due != Cycle::NEVER {
                dues.note(output.due, port);
            }
            return;
        }
        debug_assert!(output.place_free_from() <= now, "an output is due that has no place");
        let (mut able, mut later) = times.who_can_send(now, &output.wanted_by, &output.entered);
        if !output.shared_by.is_empty() {
            (able, later) = output.who_can_share(now, (able, later), &places.list);
        }
        if let Some(groups) = &self.groups {
            (able, later) = groups.who_is_let_in(now, (port, output), (able, later));
        }
        // The next one in turn.
        let Some(chosen) = able.first_from(output.turn) else {
            // All who want it are sending, wait for a port that outputs share, or are still to come.
            output.due = later;
            dues.note_later(later, port);
            return;
        };
        output.turn = chosen + 1;
        let (line, input) = (output.lines[chosen], &mut inputs[chosen]);
        let number = line.first;
        let place = &mut places.list[number as usize];
        let size = self.sizes[usize::from(place.data)];
        let next = place.next;
        places.free.push(number);
        input.room += 1;
        let mut flits = size.output;
        if place.shares {
            output.shared_by.set(chosen, false);
        } else {
            flits = flits.max(size.input);
            input.free_at = now + u64::from(size.input);
            times.set_free(chosen, times.near_later(input.free_at));
            if let Some(groups) = &mut self.groups {
                groups.take(now, (chosen, port), size.input);
            }
        }
        let flits = u64::from(flits);
        self.held -= 1;
        self.stats.packets += 1;
        self.stats.flits += flits;
        self.stats.contention += now - place.at;
        let arrives = (now + flits + self.latency).max(output.last_arrival);
        output.last_arrival = arrives;
        let is_first = !self.landing.contains(port);
        let packet = &place.packet;
        match sent(Sent { tick: now, input: chosen, output: port, arrives, is_first, packet }) {
            Landing::Taken => debug_assert!(self.is_never_full),
            Landing::Expected(free_from) => output.expect(free_from),
            Landing::Waits => {
                self.landing.set(port, true);
                output.pipe.push(arrives, packet.landed());
            }
        }
        // The next one of the line; this one again, which never enters, where there is none.
        let is_last = number == line.last;
        let next = select_unpredictable(is_last, number, next);
        let place = &mut places.list[next as usize];
        let (since, shares) = (place.at.later(now + 1), place.shares);
        place.at = since;
        output.lines[chosen].first = next;
        output.wanted_by.remove(chosen, is_last);
        let entered = select_unpredictable(is_last, FAR, times.near_later(since));
        output.entered.set(chosen, entered);
        if shares {
            output.shared_by.set(chosen, !is_last);
        }
        let ready_from = now + u64::from(size.output);
        (output.free_from, output.ready_from) = (ready_from, ready_from);
        if !self.is_never_full || self.landing.contains(port) {
            output.free_from = ready_from.max(output.place_free_from());
        }
        output.due = Cycle::NEVER;
        if !output.wanted_by.is_empty() && output.free_from != Cycle::NEVER {
            // It is not looked at before another input can send: one to which a packet comes anew says so.
            let next_from = if shares { since } else { since.later(input.free_at) };
            let next_from = select_unpredictable(is_last, later, next_from.sooner(later));
            let next_from = select_unpredictable(able.only_has(chosen), next_from, now);
            output.due = output.free_from.later(next_from);
            dues.note_later(output.due, port);
        }
        if input.queued > 0 {
            self.let_in(now, chosen, enters);
        }
    }

    /// Takes the oldest packet that has arrived at `output`.
    #[inline]
    pub fn pop(&mut self, now: Cycle, output: usize) -> Option<P::Landed> {
        let Output { pipe, wanted_by, free_from, ready_from, due, .. } = &mut self.outputs[output];
        let packet = pipe.pop(now)?;
        self.landing.set(output, !pipe.is_empty());
        if *free_from == Cycle::NEVER {
            *free_from = *ready_from;
            if !wanted_by.is_empty() {
                *due = *ready_from;
                self.dues.note(*due, output);
            }
        }
        Some(packet)
    }

    /// The outputs to which a packet is on its way.
    #[inline]
    pub fn landing(&self) -> &Ports<WORDS> {
        &self.landing
    }

    /// The same, in which packets may leave together, as [`Crossbar::push`] says.
    pub fn with_shared_ports(mut self) -> Self {
        self.may_share = true;
        self
    }

    /// Cycles from the tick that sends a packet until it can be taken, at least.
    pub fn least_delay(&self) -> u64 {
        let Size { input, output } = self.sizes[0];
        let flits = if self.may_share { output } else { input.max(output) };
        u64::from(flits) + self.latency
    }

    /// From now on receivers take a packet in the tick of its arrival, or in the one after that in which they took the one before,
    /// unless it waits at its output. They need not say when its place is free: no output lacks one as long as fewer packets wait
    /// there than it has places.
    ///
    /// The last flits of packets for one output would go in there in different ticks. A packet is taken at most so many ticks after
    /// that as the latency has, and the most by which a packet leaves its input more slowly. So as many, and one, are on their way
    /// when the next is sent, at most; and those that wait are the last that were sent, while the others are taken before them.
    pub fn assume_swift_receivers(&mut self) {
        self.is_never_full = true;
    }

    /// When the next packet arrives at `output`.
    #[inline]
    pub fn next_arrival(&self, output: usize) -> Cycle {
        self.outputs[output].pipe.next_visible()
    }

    /// True when it holds no packet at all.
    pub fn is_empty(&self) -> bool {
        self.held == 0 && self.landing.is_empty()
    }
}
