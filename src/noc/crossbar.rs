//! A crossbar that moves packets flit by flit.
//!
//! Packets wait at their input, which has room for a fixed number of them; a packet behind one for
//! another output may pass it (virtual output queues). An output takes from the waiting inputs in
//! turn. A packet keeps its input and its output for as many cycles as it has flits of their width, and arrives
//! `latency` cycles after its last flit left. An output whose receiver does not take packets stops.
//!
//! Each output keeps the earliest cycle in which it can take a packet, and is not looked at before: most
//! packets have several flits, and most outputs are busy. Who waits meanwhile is counted by the cycle.

use super::ports::{MAX_PORTS, Ports};
use super::stats::NocStats;
use crate::config::machine::NocConfig;
use crate::ring::Ring;
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
    /// What arrives: itself, or nothing when its receiver hears of it as it leaves its input.
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

#[derive(Clone, Debug)]
struct Output<L> {
    /// Inputs that hold a packet for this output.
    wanted_by: Ports,
    /// Of these, inputs whose oldest such packet has left together with another one.
    shared_by: Ports,
    /// The input to ask first.
    turn: usize,
    busy_until: Cycle,
    /// When the last packet that was sent arrives: none overtakes another.
    last_arrival: Cycle,
    pipe: Ring<L>,
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
    /// Itself.
    pub packet: &'a P,
}

/// A crossbar from `inputs` to `outputs`.
#[derive(Clone, Debug)]
pub struct Crossbar<P: Packet> {
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
    /// Inputs that may still be sending, and when the first of them has done.
    busy: Ports,
    next_free: Cycle,
    /// Inputs without room.
    full: Ports,
    outputs: Box<[Output<P::Landed>]>,
    output_count: Divisor,
    /// By output: no packet can go there before; never, while its pipe is full.
    due: Box<[Cycle]>,
    /// By output: when the next packet arrives there.
    arrivals: Box<[Cycle]>,
    /// The least `due` of an output that is wanted, or less.
    next_due: Cycle,
    /// Outputs that any input wants.
    wanted: Ports,
    /// Outputs whose pipe holds a packet.
    landing: Ports,
    /// Outputs whose pipe is full.
    blocked: Ports,
    /// Pairs of an input and an output that it wants.
    pairs: u64,
    /// Contention in cycles before this one is counted.
    counted_to: Cycle,
    stats: NocStats,
}

impl<P: Packet> Crossbar<P> {
    /// An empty crossbar from slices to SMs; at most 256 ports a side.
    pub fn to_sms(config: &NocConfig, slices: usize, sms: usize) -> Self {
        let port_bytes = (config.flit_bytes.get(), config.sm_port_bytes.get());
        Crossbar::new(config, slices, sms, port_bytes)
    }

    /// An empty crossbar from SMs to slices; at most 256 ports a side.
    pub fn to_slices(config: &NocConfig, sms: usize, slices: usize) -> Self {
        let port_bytes = (config.sm_out_bytes.get(), config.slice_in_bytes.get());
        Crossbar::new(config, sms, slices, port_bytes)
    }

    fn new(config: &NocConfig, inputs: usize, outputs: usize, port_bytes: (u32, u32)) -> Self {
        assert!(inputs <= MAX_PORTS && outputs <= MAX_PORTS, "a crossbar has at most 256 ports");
        let room = config.input_queue.size();
        let latency = config.latency.cycles();
        // One packet can enter an output's pipe each cycle and stays for the latency.
        let pipe = Ring::new(latency as usize + 2);
        let output = Output {
            wanted_by: Ports::default(),
            shared_by: Ports::default(),
            turn: 0,
            busy_until: Cycle(0),
            last_arrival: Cycle(0),
            pipe,
        };
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
            busy: Ports::default(),
            next_free: Cycle::NEVER,
            full: Ports::default(),
            outputs: vec![output; outputs].into(),
            output_count: Divisor::new(outputs as u64),
            due: vec![Cycle(0); outputs].into(),
            arrivals: vec![Cycle::NEVER; outputs].into(),
            next_due: Cycle::NEVER,
            wanted: Ports::default(),
            landing: Ports::default(),
            blocked: Ports::default(),
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

    /// The inputs that take no other packet.
    #[inline]
    pub fn full(&self) -> &Ports {
        &self.full
    }

    /// Queues a packet of `data_bytes` besides the header, before the tick of `now`. The caller has asked
    /// [`Crossbar::has_room`].
    pub fn push(&mut self, now: Cycle, input: usize, output: usize, data_bytes: u32, packet: P) {
        let flits = self.flits[data_bytes as usize];
        self.queue(now, input, output, flits, packet);
    }

    /// As [`Crossbar::push`], of a packet that leaves its input together with the one pushed before it, which has the same
    /// data for another output: that one alone takes the input's time.
    pub fn push_sharing(
        &mut self,
        now: Cycle,
        input: usize,
        output: usize,
        data_bytes: u32,
        packet: P,
    ) {
        let flits = (0, self.flits[data_bytes as usize].1);
        self.queue(now, input, output, flits, packet);
    }

    fn queue(&mut self, now: Cycle, input: usize, output: usize, flits: (u16, u16), packet: P) {
        assert!(self.has_room(input), "a packet was pushed into a full input");
        let count = usize::from(self.counts[input]);
        let entry = &mut self.waiting[input * self.room + count];
        (entry.output, entry.flits) = (output as u16, flits);
        self.packets[input * self.room + usize::from(entry.place)] = packet;
        self.counts[input] += 1;
        self.full.set(input, count + 1 == self.room);
        let is_shared = flits.0 == 0;
        let Output { wanted_by, shared_by, busy_until, .. } = &mut self.outputs[output];
        if wanted_by.contains(input) {
            return;
        }
        wanted_by.set(input, true);
        shared_by.set(input, is_shared);
        let free_at = if is_shared { now } else { self.free_at[input] };
        let due = free_at.max(*busy_until);
        self.count_to(now);
        self.pairs += 1;
        self.wanted.set(output, true);
        if !self.blocked.contains(output) {
            self.due[output] = self.due[output].min(due);
            self.next_due = self.next_due.min(due);
        }
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
        self.next_due
    }

    /// One cycle: every free output takes a packet from the next free input that has one for it. Cycles
    /// before [`Crossbar::next_event`] may be left out.
    pub fn tick(&mut self, now: Cycle) {
        self.tick_observed(now, &mut |_| ());
    }

    /// As [`Crossbar::tick`]; tells `sent` of each packet that left its input.
    #[inline]
    pub fn tick_observed(&mut self, now: Cycle, sent: &mut impl FnMut(Sent<'_, P>)) {
        if self.next_due > now {
            return;
        }
        self.count_to(now + 1);
        self.next_due = Cycle::NEVER;
        self.next_free = Cycle::NEVER;
        for input in self.busy.iter() {
            let free_at = self.free_at[input];
            if free_at <= now {
                self.busy.set(input, false);
            } else {
                self.next_free = self.next_free.min(free_at);
            }
        }
        // The first choice rotates, so that no output is always matched last.
        let first = self.output_count.divide(now.0).1 as usize;
        let (later, sooner) = self.due_by(now).split(first);
        for outputs in [sooner, later] {
            for output in outputs.iter() {
                self.serve(now, output, sent);
                self.next_due = self.next_due.min(self.due[output]);
            }
        }
    }

    /// The outputs that are due at `now`; notes when the first of the others is.
    #[inline]
    fn due_by(&mut self, now: Cycle) -> Ports {
        // Without a branch on what is hard to foretell.
        let (mut due, mut next) = (Ports::default(), Cycle::NEVER);
        for output in self.wanted.iter() {
            let at = self.due[output];
            let is_due = at <= now;
            due.add(output, is_due);
            next = next.min(if is_due { Cycle::NEVER } else { at });
        }
        self.next_due = self.next_due.min(next);
        due
    }

    fn serve(&mut self, now: Cycle, port: usize, sent: &mut impl FnMut(Sent<'_, P>)) {
        let output = &mut self.outputs[port];
        if output.pipe.is_full() {
            self.due[port] = Cycle::NEVER;
            return;
        }
        let free = output.wanted_by.without(&self.busy).with(&output.shared_by);
        let Some(chosen) = free.next_round(output.turn) else {
            self.due[port] = self.next_free;
            return;
        };
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
        self.full.set(chosen, false);
        let packet = &self.packets[chosen * self.room + usize::from(place)];
        let done = now + u64::from(flits.0);
        let most = flits.0.max(flits.1);
        let arrives = (now + u64::from(most) + self.latency).max(output.last_arrival);
        if flits.0 > 0 {
            self.free_at[chosen] = done;
            self.busy.set(chosen, true);
            self.next_free = self.next_free.min(done);
        }
        output.busy_until = now + u64::from(flits.1);
        output.last_arrival = arrives;
        sent(Sent { input: chosen, output: port, arrives, packet });
        if output.pipe.is_empty() {
            self.arrivals[port] = arrives;
        }
        output.pipe.push(arrives, packet.landed());
        output.turn = chosen + 1;
        self.landing.set(port, true);
        self.blocked.set(port, output.pipe.is_full());
        self.due[port] = if output.pipe.is_full() { Cycle::NEVER } else { output.busy_until };
        // It is this cycle's; one that waits no longer is taken off the next ones' count.
        self.stats.contention -= 1;
        output.shared_by.set(chosen, more == Some(true));
        if more.is_none() {
            output.wanted_by.set(chosen, false);
            self.pairs -= 1;
            if output.wanted_by.is_empty() {
                self.wanted.set(port, false);
                self.due[port] = Cycle::NEVER;
            }
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
            if self.wanted.contains(output) {
                let due = self.outputs[output].busy_until;
                self.due[output] = due;
                self.next_due = self.next_due.min(due);
            }
        }
        Some(packet)
    }

    /// The outputs to which a packet is on its way.
    #[inline]
    pub fn landing(&self) -> &Ports {
        &self.landing
    }

    /// The outputs that send nothing more until a packet is taken.
    #[inline]
    pub fn blocked(&self) -> &Ports {
        &self.blocked
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

    /// The outputs at which a packet has arrived by `now`, and when the next one arrives at any of the others.
    #[inline]
    pub fn arrived_by(&self, now: Cycle) -> (Ports, Cycle) {
        let (mut arrived, mut next) = (Ports::default(), Cycle::NEVER);
        for output in self.landing.iter() {
            let at = self.arrivals[output];
            let has_arrived = at <= now;
            arrived.add(output, has_arrived);
            next = next.min(if has_arrived { Cycle::NEVER } else { at });
        }
        (arrived, next)
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
        let text = "(flit_bytes: 32, slice_in_bytes: 32, sm_port_bytes: 32, sm_out_bytes: 32, header_bytes: 8, store_piece: 1, mask_bytes: 0, latency: 5, input_queue: 4)";
        Crossbar::to_sms(&ron::from_str(text).unwrap(), inputs, outputs)
    }

    #[test]
    fn a_packet_arrives_after_its_flits_and_the_latency_and_not_before() {
        let mut noc = crossbar(2, 2);
        // 8 + 128 bytes are five flits of 32.
        noc.push(Cycle(10), 0, 1, 128, 7);
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
            noc.push(Cycle(0), 0, 0, 0, packet);
            noc.push(Cycle(0), 1, 0, 0, 10 + packet);
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
        noc.push(Cycle(0), 1, 0, 128, 1);
        noc.tick(Cycle(0));
        noc.push(Cycle(1), 0, 0, 0, 2);
        noc.push(Cycle(1), 0, 1, 0, 3);
        noc.tick(Cycle(1));
        assert_eq!(noc.pop(Cycle(7), 1), Some(3));
        assert_eq!(noc.next_arrival(0), Cycle(10));
    }

    #[test]
    fn packets_that_share_their_data_take_the_time_of_their_input_once() {
        let mut noc = crossbar(1, 3);
        noc.push(Cycle(0), 0, 0, 128, 1);
        noc.push_sharing(Cycle(0), 0, 1, 128, 2);
        noc.push(Cycle(0), 0, 2, 128, 3);
        let mut seen = Vec::new();
        for now in 0..40 {
            noc.tick(Cycle(now));
            for output in 0..3 {
                seen.extend(noc.pop(Cycle(now), output).map(|packet| (now, packet)));
            }
        }
        // Five flits each, and five cycles of latency: the third waits for the first to leave, the second does not.
        assert_eq!(seen, [(10, 1), (10, 2), (15, 3)]);
    }

    #[test]
    fn an_output_whose_receiver_takes_nothing_stops() {
        let mut noc = crossbar(1, 1);
        let mut sent = 0;
        for now in 0..100 {
            if noc.has_room(0) {
                noc.push(Cycle(now), 0, 0, 0, sent);
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
            packets in prop::collection::vec((0usize..5, 0usize..3, 0u32..129), 1..300),
        ) {
            let mut noc = crossbar(5, 3);
            let mut to_send = packets.iter().enumerate().peekable();
            let mut seen = vec![Vec::new(); 3];
            for now in 0..20_000 {
                if let Some(&(id, &(input, output, bytes))) = to_send.peek() && noc.has_room(input) {
                    noc.push(Cycle(now), input, output, bytes, id as u32);
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
