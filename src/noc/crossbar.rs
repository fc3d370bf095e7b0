//! A crossbar that moves packets flit by flit.
//!
//! Packets wait at their input, which has room for a fixed number of them; a packet behind one for
//! another output may pass it (virtual output queues). An output takes from the waiting inputs in
//! turn. A packet keeps its input and its output for as many cycles as it has flits, and arrives
//! `latency` cycles after its last flit left. An output whose receiver does not take packets stops.

use super::stats::NocStats;
use crate::config::machine::NocConfig;
use crate::ring::Ring;
use crate::units::Cycle;

/// Inputs and outputs each: enough for a bit set.
const MAX_PORTS: usize = 256;
const WORDS: usize = MAX_PORTS / 64;

/// A set of ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports([u64; WORDS]);

impl Ports {
    /// Makes `port` a member, or not.
    #[inline]
    pub fn set(&mut self, port: usize, member: bool) {
        let (word, bit) = (port / 64, 1u64 << (port % 64));
        if member { self.0[word] |= bit } else { self.0[word] &= !bit }
    }

    /// True when it has no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The lowest member from `from` on.
    #[inline]
    pub fn next_from(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = *self.0.get(word)? & (!0 << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

#[derive(Clone, Debug)]
struct Waiting<P> {
    output: u16,
    flits: u16,
    packet: P,
}

#[derive(Clone, Debug)]
struct Input<P> {
    /// Oldest first; never more than the configured room.
    waiting: Vec<Waiting<P>>,
    busy_until: Cycle,
}

#[derive(Clone, Debug)]
struct Output<P> {
    /// Inputs that hold a packet for this output.
    wanted_by: Ports,
    /// The input to ask first.
    turn: usize,
    busy_until: Cycle,
    pipe: Ring<P>,
}

/// A crossbar from `inputs` to `outputs`.
#[derive(Clone, Debug)]
pub struct Crossbar<P> {
    flit_bytes: u32,
    header_bytes: u32,
    latency: u64,
    room: usize,
    inputs: Box<[Input<P>]>,
    outputs: Box<[Output<P>]>,
    /// Outputs that any input wants.
    wanted: Ports,
    /// Outputs whose pipe holds a packet.
    landing: Ports,
    stats: NocStats,
}

impl<P: Copy + Default> Crossbar<P> {
    /// An empty crossbar; at most 256 ports a side.
    pub fn new(config: &NocConfig, inputs: usize, outputs: usize) -> Self {
        assert!(inputs <= MAX_PORTS && outputs <= MAX_PORTS, "a crossbar has at most 256 ports");
        let room = config.input_queue.size();
        let latency = config.latency.cycles();
        // One packet can enter an output's pipe each cycle and stays for the latency.
        let pipe = Ring::new(latency as usize + 2);
        let input = Input { waiting: Vec::with_capacity(room), busy_until: Cycle(0) };
        let output = Output { wanted_by: Ports::default(), turn: 0, busy_until: Cycle(0), pipe };
        Crossbar {
            flit_bytes: config.flit_bytes.get(),
            header_bytes: config.header_bytes.get(),
            latency,
            room,
            inputs: vec![input; inputs].into(),
            outputs: vec![output; outputs].into(),
            wanted: Ports::default(),
            landing: Ports::default(),
            stats: NocStats::default(),
        }
    }

    /// Counters since construction.
    pub fn stats(&self) -> &NocStats {
        &self.stats
    }

    /// True when `input` takes another packet.
    #[inline]
    pub fn has_room(&self, input: usize) -> bool {
        self.inputs[input].waiting.len() < self.room
    }

    /// Queues a packet of `data_bytes` besides the header. The caller has asked [`Crossbar::has_room`].
    pub fn push(&mut self, input: usize, output: usize, data_bytes: u32, packet: P) {
        assert!(self.has_room(input), "a packet was pushed into a full input");
        let flits = (self.header_bytes + data_bytes).div_ceil(self.flit_bytes) as u16;
        self.inputs[input].waiting.push(Waiting { output: output as u16, flits, packet });
        self.outputs[output].wanted_by.set(input, true);
        self.wanted.set(output, true);
    }

    /// One cycle: every free output takes a packet from the next free input that has one for it.
    pub fn tick(&mut self, now: Cycle) {
        self.tick_observed(now, &mut |_, _, _| ());
    }

    /// As [`Crossbar::tick`]; tells `sent` of each packet that left its input: its output, when it can be taken
    /// there, and itself.
    #[inline]
    pub fn tick_observed(&mut self, now: Cycle, sent: &mut impl FnMut(usize, Cycle, &P)) {
        if self.wanted.is_empty() {
            return;
        }
        // The first choice rotates, so that no output is always matched last.
        let first = (now.0 % self.outputs.len() as u64) as usize;
        let mut next = first;
        while let Some(output) = self.wanted.next_from(next) {
            self.serve(now, output, sent);
            next = output + 1;
        }
        next = 0;
        while let Some(output) = self.wanted.next_from(next)
            && output < first
        {
            self.serve(now, output, sent);
            next = output + 1;
        }
    }

    fn serve(&mut self, now: Cycle, port: usize, sent: &mut impl FnMut(usize, Cycle, &P)) {
        let output = &mut self.outputs[port];
        let waiting = u64::from(output.wanted_by.count());
        if output.busy_until > now || output.pipe.is_full() {
            self.stats.contention += waiting;
            return;
        }
        let Some(chosen) = Self::choose(&self.inputs, output, now) else {
            self.stats.contention += waiting;
            return;
        };
        self.stats.contention += waiting - 1;
        let input = &mut self.inputs[chosen];
        let is_ours = |waiting: &Waiting<P>| usize::from(waiting.output) == port;
        let place = input.waiting.iter().position(is_ours).expect("the input wants this output");
        let Waiting { flits, packet, .. } = input.waiting.remove(place);
        let done = now + u64::from(flits);
        input.busy_until = done;
        output.busy_until = done;
        sent(port, done + self.latency, &packet);
        output.pipe.push(done + self.latency, packet);
        self.landing.set(port, true);
        output.turn = chosen + 1;
        if !input.waiting.iter().any(is_ours) {
            output.wanted_by.set(chosen, false);
            self.wanted.set(port, !output.wanted_by.is_empty());
        }
        self.stats.packets += 1;
        self.stats.flits += u64::from(flits);
    }

    /// The first free input, in turn, that wants `output`.
    fn choose(inputs: &[Input<P>], output: &Output<P>, now: Cycle) -> Option<usize> {
        let mut from = output.turn;
        let mut wrapped = false;
        loop {
            match output.wanted_by.next_from(from) {
                Some(input) if wrapped && input >= output.turn => return None,
                Some(input) if inputs[input].busy_until <= now => return Some(input),
                Some(input) => from = input + 1,
                None if wrapped => return None,
                None => (wrapped, from) = (true, 0),
            }
        }
    }

    /// Takes the oldest packet that has arrived at `output`.
    #[inline]
    pub fn pop(&mut self, now: Cycle, output: usize) -> Option<P> {
        let pipe = &mut self.outputs[output].pipe;
        let packet = pipe.pop(now)?;
        self.landing.set(output, !pipe.is_empty());
        Some(packet)
    }

    /// The outputs, from `from` on, to which a packet is on its way.
    #[inline]
    pub fn next_landing(&self, from: usize) -> Option<usize> {
        self.landing.next_from(from)
    }

    /// Cycles from the tick that sends a packet until it can be taken, at least.
    pub fn least_delay(&self) -> u64 {
        u64::from(self.header_bytes.div_ceil(self.flit_bytes)) + self.latency
    }

    /// When the next packet arrives at `output`.
    #[inline]
    pub fn next_arrival(&self, output: usize) -> Cycle {
        self.outputs[output].pipe.next_visible()
    }

    /// True when no packet waits at an input: a tick would do nothing.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.wanted.is_empty()
    }

    /// True when it holds no packet at all.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.landing.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn crossbar(inputs: usize, outputs: usize) -> Crossbar<u32> {
        let text = "(flit_bytes: 32, header_bytes: 8, latency: 5, input_queue: 4)";
        Crossbar::new(&ron::from_str(text).unwrap(), inputs, outputs)
    }

    #[test]
    fn a_packet_arrives_after_its_flits_and_the_latency_and_not_before() {
        let mut noc = crossbar(2, 2);
        // 8 + 128 bytes are five flits of 32.
        noc.push(0, 1, 128, 7);
        noc.tick(Cycle(10));
        assert_eq!(noc.pop(Cycle(19), 1), None);
        assert_eq!(noc.pop(Cycle(20), 1), Some(7));
        assert!(noc.is_empty());
        assert_eq!(noc.stats(), &NocStats { packets: 1, flits: 5, contention: 0 });
    }

    #[test]
    fn two_inputs_share_an_output_in_turn() {
        let mut noc = crossbar(2, 1);
        for packet in [0, 1] {
            noc.push(0, 0, 0, packet);
            noc.push(1, 0, 0, 10 + packet);
        }
        let mut seen = Vec::new();
        for now in 0..20 {
            noc.tick(Cycle(now));
            seen.extend(noc.pop(Cycle(now), 0).map(|packet| (now, packet)));
        }
        assert_eq!(seen, [(6, 0), (7, 10), (8, 1), (9, 11)]);
        assert_eq!(noc.stats().contention, 1 + 1 + 1);
    }

    #[test]
    fn a_packet_passes_one_that_waits_for_another_output() {
        let mut noc = crossbar(2, 2);
        noc.push(1, 0, 128, 1);
        noc.tick(Cycle(0));
        noc.push(0, 0, 0, 2);
        noc.push(0, 1, 0, 3);
        noc.tick(Cycle(1));
        assert_eq!(noc.pop(Cycle(7), 1), Some(3));
        assert_eq!(noc.next_arrival(0), Cycle(10));
    }

    #[test]
    fn an_output_whose_receiver_takes_nothing_stops() {
        let mut noc = crossbar(1, 1);
        let mut sent = 0;
        for now in 0..100 {
            if noc.has_room(0) {
                noc.push(0, 0, 0, sent);
                sent += 1;
            }
            noc.tick(Cycle(now));
        }
        // Seven in the pipe, four at the input.
        assert_eq!(sent, 11);
    }

    proptest! {
        #[test]
        fn every_packet_arrives_once_at_its_output_and_in_order_between_two_ports(
            packets in prop::collection::vec((0usize..5, 0usize..3, 0u32..200), 1..300),
        ) {
            let mut noc = crossbar(5, 3);
            let mut to_send = packets.iter().enumerate().peekable();
            let mut seen = vec![Vec::new(); 3];
            for now in 0..20_000 {
                if let Some(&(id, &(input, output, bytes))) = to_send.peek() && noc.has_room(input) {
                    noc.push(input, output, bytes, id as u32);
                    to_send.next();
                }
                noc.tick(Cycle(now));
                for (output, seen) in seen.iter_mut().enumerate() {
                    seen.extend(noc.pop(Cycle(now), output));
                }
            }
            prop_assert!(noc.is_empty());
            prop_assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), packets.len());
            for (output, seen) in seen.iter().enumerate() {
                for input in 0..5 {
                    let from: Vec<_> =
                        seen.iter().filter(|&&id| packets[id as usize].0 == input).collect();
                    prop_assert!(from.is_sorted());
                }
                prop_assert!(seen.iter().all(|&id| packets[id as usize].1 == output));
            }
        }
    }
}
