//! A crossbar that moves packets flit by flit.
//!
//! Packets wait at their input, which has room for a fixed number of them; a packet behind one for
//! another output may pass it (virtual output queues). An output takes from the waiting inputs in
//! turn. A packet keeps its input and its output for as many cycles as it has flits of their width, and arrives
//! `latency` cycles after its last flit left. An output whose receiver does not take packets stops.
//!
//! Each output stands in a calendar with the earliest cycle in which it can take a packet, and is not looked at before:
//! most packets have several flits, and most outputs are busy. Who waits meanwhile is counted by the cycle.

use super::calendar::Calendar;
use super::output::{Groups, Output};
use super::ports::{MOST_WORDS, Ports};
use super::stats::NocStats;
use crate::config::machine::{GpcPort, NocConfig};
use crate::units::{Cycle, Divisor};

/// Bytes of data that a packet carries, at most: a line.
const MOST_DATA: u32 = 128;

/// A packet at an input; the packet itself stays in its place until it leaves.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    output: u16,
    /// Cycles that it takes to leave its input, and to go in at its output.
    flits: (u16, u16),
    place: u16,
}

/// What a crossbar moves.
pub trait Packet: Copy + Default {
    /// What arrives: itself, or nothing when its receiver has heard of it.
    type Landed: Copy + Default;

    /// What arrives of this packet.
    fn landed(&self) -> Self::Landed;
}

/// To try a crossbar with.
impl Packet for u32 {
    type Landed = u32;

    fn landed(&self) -> u32 {
        *self
    }
}

/// What its receiver says to a packet that leaves its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// It waits at its output until it is taken.
    Waits,
    /// It is taken as it arrives, and its place at the output is free from this cycle on.
    Expected(Cycle),
}

/// A packet that leaves its input.
#[derive(Debug)]
pub struct Sent<'a, P> {
    /// Where it waited.
    pub input: usize,
    /// Where it goes.
    pub output: usize,
    /// When it can be taken there.
    pub arrives: Cycle,
    /// None waits at its output.
    pub is_first: bool,
    /// Its input was full.
    pub makes_room: bool,
    /// Itself.
    pub packet: &'a P,
}

/// A crossbar from `inputs` to `outputs`.
#[derive(Clone, Debug)]
pub struct Crossbar<P: Packet, const WORDS: usize = MOST_WORDS> {
    /// By bytes of data besides the header: the cycles that a packet takes to leave its input, and to go in at its
    /// output.
    flits: Box<[(u16, u16)]>,
    latency: u64,
    room: usize,
    /// By input, `room` places each: what waits there, oldest first, then the places that are free.
    waiting: Box<[Waiting]>,
    packets: Box<[P]>,
    /// By input: how many packets wait.
    counts: Box<[u16]>,
    /// By input: when it can send again.
    free_at: Box<[Cycle]>,
    outputs: Box<[Output<P::Landed, WORDS>]>,
    output_count: Divisor,
    /// By output: no packet can go there before; never, while its pipe is full or nobody wants it.
    due: Box<[Cycle]>,
    dues: Calendar<WORDS>,
    /// By output: when the next packet arrives there.
    arrivals: Box<[Cycle]>,
    /// Outputs whose pipe holds a packet.
    landing: Ports<WORDS>,
    /// Outputs whose pipe is full.
    blocked: Ports<WORDS>,
    /// What outputs share, where they do.
    groups: Option<Groups>,
    /// Pairs of an input and an output that it wants.
    pairs: u64,
    /// Contention in cycles before this one is counted.
    counted_to: Cycle,
    stats: NocStats,
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
        let room = config.input_queue.size();
        let latency = config.latency.cycles();
        // One packet can enter an output's pipe each cycle and stays for the latency.
        let places = latency as usize + 2;
        let output = Output::new(places);
        let header_bytes = config.header_bytes.get();
        let most_bytes = MOST_DATA + config.mask_bytes.get();
        let flits = |data: u32, width: u32| (header_bytes + data).div_ceil(width) as u16;
        let empty = |place| Waiting { place: place as u16, ..Waiting::default() };
        Crossbar {
            flits: (0..=most_bytes)
                .map(|data| (flits(data, port_bytes.0), flits(data, port_bytes.1)))
                .collect(),
            latency,
            room,
            waiting: (0..inputs).flat_map(|_| (0..room).map(empty)).collect(),
            packets: vec![P::default(); inputs * room].into(),
            counts: vec![0; inputs].into(),
            free_at: vec![Cycle(0); inputs].into(),
            outputs: vec![output; outputs].into(),
            output_count: Divisor::new(outputs as u64),
            due: vec![Cycle::NEVER; outputs].into(),
            dues: Calendar::default(),
            arrivals: vec![Cycle::NEVER; outputs].into(),
            landing: Ports::default(),
            blocked: Ports::default(),
            groups: None,
            pairs: 0,
            counted_to: Cycle(0),
            stats: NocStats::default(),
        }
    }

    /// Counters since construction; contention up to the last tick or push.
    pub fn stats(&self) -> &NocStats {
        &self.stats
    }

    /// True when `input` takes another packet.
    #[inline]
    pub fn has_room(&self, input: usize) -> bool {
        usize::from(self.counts[input]) < self.room
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
        assert!(self.has_room(input), "a packet was pushed into a full input");
        let count = usize::from(self.counts[input]);
        let entry = &mut self.waiting[input * self.room + count];
        let (from_input, to_output) = self.flits[data_bytes as usize];
        let flits = (if shares { 0 } else { from_input }, to_output);
        (entry.output, entry.flits) = (output as u16, flits);
        let place = input * self.room + usize::from(entry.place);
        self.counts[input] += 1;
        self.want(now, input, output, shares);
        let place = &mut self.packets[place];
        *place = *packet;
        place
    }

    /// An input has a packet more for an output.
    #[inline]
    fn want(&mut self, now: Cycle, input: usize, output: usize, is_shared: bool) {
        let Output { wanted_by, shared_by, free_from, .. } = &mut self.outputs[output];
        if wanted_by.contains(input) {
            return;
        }
        wanted_by.set(input, true);
        if is_shared {
            shared_by.set(input, true);
        }
        let free_at = if is_shared { now } else { self.free_at[input] };
        let due = free_at.max(*free_from);
        self.count_to(now);
        self.pairs += 1;
        if due < self.due[output] && !self.blocked.contains(output) {
            self.note_due(output, due);
        }
    }

    /// Looks at `output` in cycle `due`.
    #[inline]
    fn note_due(&mut self, output: usize, due: Cycle) {
        self.due[output] = due;
        self.dues.note(due, output);
    }

    /// Counts who waited in the cycles before `now`.
    #[inline]
    fn count_to(&mut self, now: Cycle) {
        self.stats.contention += self.pairs * now.since(self.counted_to);
        self.counted_to = now;
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
        if self.dues.next() > now {
            return;
        }
        self.count_to(now + 1);
        // The first choice rotates, so that no output is always matched last.
        let mut turn = self.output_count.divide(now.0).1 as usize;
        let mut due = self.dues.take(now);
        while let Some(output) = due.next_round(turn) {
            due.set(output, false);
            turn = output;
            match self.due[output] {
                at if at <= now => self.serve(now, output, sent),
                Cycle::NEVER => {}
                at => self.dues.note(at, output),
            }
        }
    }

    /// The next input in turn that wants an output and is free; else when the first of them is.
    #[inline]
    fn choose(&self, now: Cycle, port: usize) -> Result<usize, Cycle> {
        let Output { wanted_by, shared_by, turn, .. } = &self.outputs[port];
        let (mut rest, mut from, mut first_free) = (*wanted_by, *turn, Cycle::NEVER);
        while let Some(input) = rest.next_round(from) {
            let free_at = self.free_at[input];
            if free_at <= now || shared_by.contains(input) {
                return Ok(input);
            }
            first_free = first_free.min(free_at);
            rest.set(input, false);
            from = input;
        }
        Err(first_free)
    }

    fn serve(&mut self, now: Cycle, port: usize, sent: &mut impl FnMut(Sent<'_, P>) -> Landing) {
        debug_assert!(
            self.outputs[port].place_free_from() <= now,
            "an output is due that has no place"
        );
        if let Some(groups) = &self.groups {
            let free_from = groups.free_from(port);
            if free_from > now {
                self.note_due(port, free_from);
                return;
            }
        }
        let chosen = match self.choose(now, port) {
            Ok(input) => input,
            // All who want it are sending.
            Err(first_free) => return self.note_due(port, first_free),
        };
        let output = &mut self.outputs[port];
        let count = usize::from(self.counts[chosen]);
        let waiting = &mut self.waiting[chosen * self.room..][..count];
        let is_ours = |waiting: &Waiting| usize::from(waiting.output) == port;
        let at = waiting.iter().position(is_ours).expect("the input wants this output");
        let gone @ Waiting { flits, place, .. } = waiting[at];
        let mut more = None;
        for next in at + 1..count {
            if more.is_none() && is_ours(&waiting[next]) {
                more = Some(waiting[next].flits.0 == 0);
            }
            waiting[next - 1] = waiting[next];
        }
        // Its place comes first among the free ones.
        waiting[count - 1] = gone;
        self.counts[chosen] -= 1;
        let packet = &self.packets[chosen * self.room + usize::from(place)];
        let most = flits.0.max(flits.1);
        let arrives = (now + u64::from(most) + self.latency).max(output.last_arrival);
        if flits.0 > 0 {
            self.free_at[chosen] = now + u64::from(flits.0);
            if let Some(groups) = &mut self.groups {
                groups.take(now, port, flits.0);
            }
        }
        output.last_arrival = arrives;
        let is_first = output.pipe.is_empty();
        let makes_room = count == self.room;
        match sent(Sent { input: chosen, output: port, arrives, is_first, makes_room, packet }) {
            Landing::Expected(free_from) => output.expect(free_from),
            Landing::Waits => {
                if is_first {
                    self.arrivals[port] = arrives;
                }
                self.landing.set(port, true);
                output.pipe.push(arrives, packet.landed());
            }
        }
        output.turn = chosen + 1;
        // It is this cycle's; one that waits no longer is taken off the next ones' count.
        self.stats.contention -= 1;
        output.shared_by.set(chosen, more == Some(true));
        if more.is_none() {
            output.wanted_by.set(chosen, false);
            self.pairs -= 1;
        }
        let mut due = now + u64::from(flits.1);
        match output.place_free_from() {
            Cycle::NEVER => self.blocked.set(port, true),
            free_from => due = due.max(free_from),
        }
        output.free_from = due;
        if output.wanted_by.is_empty() || self.blocked.contains(port) {
            self.due[port] = Cycle::NEVER;
        } else {
            self.note_due(port, due);
        }
        self.stats.packets += 1;
        self.stats.flits += u64::from(most);
    }

    /// Takes the oldest packet that has arrived at `output`.
    #[inline]
    pub fn pop(&mut self, now: Cycle, output: usize) -> Option<P::Landed> {
        let pipe = &mut self.outputs[output].pipe;
        let packet = pipe.pop(now)?;
        self.arrivals[output] = pipe.next_visible();
        self.landing.set(output, !pipe.is_empty());
        if self.blocked.contains(output) {
            self.blocked.set(output, false);
            let Output { wanted_by, free_from, .. } = &self.outputs[output];
            if !wanted_by.is_empty() {
                self.note_due(output, *free_from);
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
        let (input, output) = self.flits[0];
        u64::from(input.max(output)) + self.latency
    }

    /// When the next packet arrives at `output`.
    #[inline]
    pub fn next_arrival(&self, output: usize) -> Cycle {
        self.arrivals[output]
    }

    /// True when it holds no packet at all.
    pub fn is_empty(&self) -> bool {
        self.pairs == 0 && self.landing.is_empty()
    }
}
