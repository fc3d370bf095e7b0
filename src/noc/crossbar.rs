//! A crossbar that moves packets flit by flit.
//!
//! Packets wait at their input, which has room for a fixed number of them; a packet behind one for
//! another output may pass it (virtual output queues). An output takes from the waiting inputs in
//! turn. A packet keeps its input and its output for as many cycles as it has flits of their width, and arrives
//! `latency` cycles after its last flit left. An output whose receiver does not take packets stops.
//!
//! Each output stands in a calendar with the earliest cycle in which it can take a packet, and is not looked at before:
//! most packets have several flits, and most outputs are busy. Packets that wait at one input for one output stand in a line
//! of places there: the oldest one leaves next.

use super::calendar::Calendar;
use super::input::{Input, Line, Size};
use super::output::{Groups, Output};
use super::packet::{Landing, Packet, Sent};
use super::ports::{MOST_WORDS, Ports};
use super::stats::NocStats;
use crate::config::machine::{GpcPort, NocConfig};
use crate::stats::Stats;
use crate::units::{Cycle, Divisor};

/// Bytes of data that a packet carries, at most: a line.
const MOST_DATA: u32 = 128;

/// What is due in one cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Day<const WORDS: usize> {
    /// Inputs that the next packet of their queue may enter.
    pub inputs: Ports<WORDS>,
    /// Outputs that can take a packet.
    pub outputs: Ports<WORDS>,
}

/// A crossbar from `inputs` to `outputs`.
#[derive(Clone, Debug)]
pub struct Crossbar<P: Packet, const WORDS: usize = MOST_WORDS> {
    /// By bytes of data besides the header: what a packet takes.
    pub(super) sizes: Box<[Size]>,
    latency: u64,
    pub(super) inputs: Box<[Input<P>]>,
    outputs: Box<[Output<P::Landed, WORDS>]>,
    /// By output and input.
    lines: Box<[Line]>,
    output_count: Divisor,
    pub(super) dues: Calendar<Day<WORDS>>,
    /// Inputs with a queue before them.
    pub(super) queueing: Ports<WORDS>,
    /// Outputs whose pipe holds a packet.
    landing: Ports<WORDS>,
    /// What outputs share, where they do.
    groups: Option<Groups>,
    /// Packets at inputs and before them.
    pub(super) held: u64,
}

impl<P: Packet, const WORDS: usize> Crossbar<P, WORDS> {
    /// An empty crossbar from slices to SMs, whose GPCs are `gpcs`.
    pub fn to_sms(config: &NocConfig, slices: usize, gpcs: &[u16]) -> Self {
        let port_bytes = (config.flit_bytes.get(), config.sm_port_bytes.get());
        let groups = match config.gpc_port {
            GpcPort::Unlimited => None,
            GpcPort::Limited { bytes } => {
                Some(Groups::new(gpcs, bytes.get(), config.flit_bytes.get()))
            }
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
        // One packet can enter an output's pipe each cycle and stays for the latency.
        let places = latency as usize + 2;
        let output = Output::new(places);
        let header_bytes = config.header_bytes.get();
        let most_bytes = MOST_DATA + config.mask_bytes.get();
        let flits = |data: u32, width: u32| (header_bytes + data).div_ceil(width) as u16;
        let size = |data| {
            let (input, output) = (flits(data, port_bytes.0), flits(data, port_bytes.1));
            Size { input, output }
        };
        Crossbar {
            sizes: (0..=most_bytes).map(size).collect(),
            latency,
            inputs: (0..inputs).map(|_| Input::new(config.input_queue.size(), 0)).collect(),
            outputs: vec![output; outputs].into(),
            lines: vec![Line::default(); outputs * inputs].into(),
            output_count: Divisor::new(outputs as u64),
            dues: Calendar::default(),
            queueing: Ports::default(),
            landing: Ports::default(),
            groups: None,
            held: 0,
        }
    }

    /// Counters since construction; contention of packets that have left their input.
    pub fn stats(&self) -> NocStats {
        let mut stats = NocStats::default();
        self.outputs.iter().for_each(|output| stats.merge(&output.stats));
        stats
    }

    /// True when `input` takes another packet.
    #[inline]
    pub fn has_room(&self, input: usize) -> bool {
        self.inputs[input].room > 0
    }

    /// Queues a packet of `data_bytes` besides the header, before the tick of `now`, and gives it where it lies. The caller
    /// has asked [`Crossbar::has_room`].
    ///
    /// One that `shares` the port leaves its input together with the one pushed before it, which has the same data for
    /// another output: that one alone takes the input's time.
    #[inline]
    pub fn push(
        &mut self,
        now: Cycle,
        (input, output): (usize, usize),
        data_bytes: u32,
        shares: bool,
        packet: &P,
    ) -> &mut P {
        let mut size = self.sizes[data_bytes as usize];
        if shares {
            size.input = 0;
        }
        debug_assert!(self.has_room(input), "a packet is pushed into a full input");
        let number = self.inputs[input].put(now, output, size, packet);
        self.held += 1;
        self.enter(now, (input, output), number, shares);
        &mut self.inputs[input].places[usize::from(number)].packet
    }

    /// A packet enters `input`, where it has its place and there is room.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        now: Cycle,
        (input, port): (usize, usize),
        number: u16,
        shares: bool,
    ) {
        let line = &mut self.lines[port * self.inputs.len() + input];
        let Input { places, free_at, room, .. } = &mut self.inputs[input];
        *room -= 1;
        let output = &mut self.outputs[port];
        let is_alone = !output.wanted_by.contains(input);
        line.append(places, number, is_alone);
        if !is_alone {
            return;
        }
        output.wanted_by.set(input, true);
        if shares {
            output.shared_by.set(input, true);
        }
        let due = output.free_from.max(if shares { now } else { *free_at });
        if due < output.due {
            output.due = due;
            self.dues.day(due).outputs.set(port, true);
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

    /// As [`Crossbar::tick`]; tells `sent` of each packet that left its input, which says whether it is expected.
    #[inline]
    pub fn tick_observed(&mut self, now: Cycle, sent: &mut impl FnMut(Sent<'_, P>) -> Landing) {
        if self.dues.next() <= now {
            let Day { inputs, outputs } = self.take_due(now);
            debug_assert!(inputs.is_empty(), "packets queue before an input");
            self.serve_each(now, &outputs, sent);
        }
    }

    /// What is due by cycle `now`.
    #[inline]
    pub(super) fn take_due(&mut self, now: Cycle) -> Day<WORDS> {
        let mut due = Day::<WORDS>::default();
        self.dues.take_days(now, |day| {
            due.inputs = due.inputs.with(&day.inputs);
            due.outputs = due.outputs.with(&day.outputs);
        });
        due
    }

    /// Cycle `now` of these outputs. The first choice rotates, so that no output is always matched last.
    #[inline]
    pub(super) fn serve_each(
        &mut self,
        now: Cycle,
        outputs: &Ports<WORDS>,
        sent: &mut impl FnMut(Sent<'_, P>) -> Landing,
    ) {
        let turn = self.output_count.divide(now.0).1 as usize;
        for output in outputs.round(turn) {
            self.serve(now, output, sent);
        }
    }

    /// Cycle `now` of an output.
    #[inline]
    fn serve(&mut self, now: Cycle, port: usize, sent: &mut impl FnMut(Sent<'_, P>) -> Landing) {
        let Crossbar { inputs, outputs, dues, .. } = self;
        let (input_count, output) = (inputs.len(), &mut outputs[port]);
        if output.due > now {
            if output.due != Cycle::NEVER {
                dues.day(output.due).outputs.set(port, true);
            }
            return;
        }
        debug_assert!(output.place_free_from() <= now, "an output is due that has no place");
        if let Some(groups) = &self.groups {
            let free_from = groups.free_from(port);
            if free_from > now {
                output.due = free_from;
                dues.day(free_from).outputs.set(port, true);
                return;
            }
        }
        // The next input in turn that is free.
        let (mut chosen, mut first_free) = (None, Cycle::NEVER);
        for input in output.wanted_by.round(output.turn) {
            let free_at = inputs[input].free_at;
            if free_at <= now || output.shared_by.contains(input) {
                chosen = Some(input);
                break;
            }
            first_free = first_free.min(free_at);
        }
        let Some(chosen) = chosen else {
            // All who want it are sending.
            output.due = first_free;
            dues.day(first_free).outputs.set(port, true);
            return;
        };
        output.turn = chosen + 1;
        let line = &mut self.lines[port * input_count + chosen];
        let Input { places, free, free_at, room, .. } = &mut inputs[chosen];
        let number = line.first;
        let place = &mut places[usize::from(number)];
        let (size, next) = (place.size, std::mem::replace(&mut place.next, *free));
        *free = number;
        let makes_room = *room == 0;
        *room += 1;
        if size.input > 0 {
            *free_at = now + u64::from(size.input);
            if let Some(groups) = &mut self.groups {
                groups.take(now, port, size.input);
            }
        }
        self.held -= 1;
        let flits = u64::from(size.input.max(size.output));
        output.stats.packets += 1;
        output.stats.flits += flits;
        output.stats.contention += now - place.since;
        let arrives = (now + flits + self.latency).max(output.last_arrival);
        output.last_arrival = arrives;
        let is_first = output.pipe.is_empty();
        let packet = &place.packet;
        match sent(Sent { input: chosen, output: port, arrives, is_first, makes_room, packet }) {
            Landing::Expected(free_from) => output.expect(free_from),
            Landing::Waits => {
                self.landing.set(port, true);
                output.pipe.push(arrives, packet.landed());
            }
        }
        if size.input == 0 {
            output.shared_by.set(chosen, false);
        }
        if number == line.last {
            output.wanted_by.set(chosen, false);
        } else {
            line.first = next;
            let next = &mut places[usize::from(next)];
            next.since = now + 1;
            if next.size.input == 0 {
                output.shared_by.set(chosen, true);
            }
        }
        let ready_from = now + u64::from(size.output);
        output.free_from = ready_from.max(output.place_free_from());
        output.ready_from = ready_from;
        output.due = Cycle::NEVER;
        if !output.wanted_by.is_empty() && output.free_from != Cycle::NEVER {
            output.due = output.free_from;
            dues.day(output.due).outputs.set(port, true);
        }
        if makes_room {
            self.call_next(now, chosen);
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
                self.dues.day(*due).outputs.set(output, true);
            }
        }
        Some(packet)
    }

    /// The outputs to which a packet is on its way.
    #[inline]
    pub fn landing(&self) -> &Ports<WORDS> {
        &self.landing
    }

    /// Cycles from the tick that sends a packet until it can be taken, at least.
    pub fn least_delay(&self) -> u64 {
        let Size { input, output } = self.sizes[0];
        u64::from(input.max(output)) + self.latency
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
