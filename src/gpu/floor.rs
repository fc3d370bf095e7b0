//! The parts of the GPU together: how far each may go, and what they tell each other.
//!
//! Four kinds of parts advance on their own, each with a clock: the nodes (an SM with its L1), the request
//! network, the partitions (a DRAM channel with its slices) and the reply network. What one tells another takes
//! time to matter there:
//!
//! - a reply that leaves a slice reaches its SM after the network's latency;
//! - a request that arrives at a slice is looked up after the slice's tag latency;
//! - a request in a miss queue is seen by the network in the next cycle.
//!
//! So a part whose clock is behind can go on without knowing what the others do meanwhile, up to a bound that
//! these latencies give. Places in a queue become free without a delay: there a part stops only when it depends
//! on a place that may or may not be free. The order in which parts advance, and how far at a time, changes
//! nothing in what they do.

use std::ops::DerefMut;

use super::front::{Front, Launch, WORTH_SHARING};
use super::memory::Memory;
use super::node::{Bounds, Node};
use super::partition::{Partition, Reach};
use crate::error::Result;
use crate::units::Cycle;

/// How far each part may go in a phase.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The memory.
    pub memory: Reach,
    /// The nodes, and the request network as far as replies are known.
    pub nodes: Bounds,
    /// Enough of the nodes have something to do to share them.
    pub are_shared: bool,
    /// What left the slices before this cycle is known.
    pub slices: Cycle,
}

/// Every part, lent for a while.
pub struct Floor<'a, N, P, const WORDS: usize> {
    pub front: Front<'a, N, WORDS>,
    pub memory: Memory<'a, P, WORDS>,
}

impl<N, P, const WORDS: usize> Floor<'_, N, P, WORDS>
where
    N: DerefMut<Target = Node>,
    P: DerefMut<Target = Partition>,
{
    /// How far the nodes may go.
    fn node_bounds(&self, launch: &Launch) -> Bounds {
        let places = self.front.requests.clock();
        let known = self.memory.delays.needs_from(places);
        let replies = self.memory.replies_known_to(known);
        Bounds { replies, places, more_ctas: launch.has_more(), every_cycle: false }
    }

    /// How far the memory may go.
    fn memory_reach(&self, launch: &Launch) -> Reach {
        let delays = &self.memory.delays;
        let owing = delays.needs_from(self.front.requests.clock());
        Reach { owing, idle: owing.min(self.front.busy_to_at_least(launch, delays)) }
    }

    /// How far each part may go with what it knows now, where the work that this allows is worth other threads' while.
    ///
    /// The further one of the two has come, the further the other one may go: they go on by as much as both can in every
    /// phase, and neither as far as it might in this one.
    pub fn worthy_plan(&self, launch: &Launch) -> Option<Plan> {
        let (mut memory, mut nodes) = (self.memory_reach(launch), self.node_bounds(launch));
        let (behind, network) = (self.memory.clock(), nodes.places);
        let end = if self.memory.is_idle() { memory.idle } else { memory.owing };
        let step = (end.since(behind) + nodes.replies.since(network)).div_ceil(2);
        memory.owing = memory.owing.min(behind + step);
        memory.idle = memory.idle.min(memory.owing);
        nodes.replies = nodes.replies.min(network + step);
        let at_work = self.front.at_work(&nodes).take(WORTH_SHARING).count();
        let partitions = self.memory.partitions.iter();
        let due = partitions.filter(|partition| partition.has_work(&memory));
        let slices = self.memory.slices_clock();
        let are_shared = at_work >= WORTH_SHARING;
        let is_worthy = at_work + due.count() >= WORTH_SHARING;
        is_worthy.then_some(Plan { memory, nodes, are_shared, slices })
    }

    /// Every part as far as it can go, one after the other, each with the news of the one before.
    pub fn window(&mut self, launch: &mut Launch) -> Result<()> {
        self.memory.advance(&self.memory_reach(launch));
        self.tell_replies();
        let bounds = self.node_bounds(launch);
        self.front.advance(launch, bounds, self.memory.slices_clock())?;
        self.tell_arrivals();
        Ok(())
    }

    /// One core cycle of every part, whether or not anything can happen.
    pub fn cycle(&mut self, launch: &mut Launch) -> Result<()> {
        let now = self.memory.clock();
        self.memory.advance(&Reach::to(now + 1));
        self.tell_replies();
        let Floor { front, .. } = self;
        front.requests.advance(now + 1, now + 1);
        front.tell_left();
        self.tell_arrivals();
        let front = &mut self.front;
        let more_ctas = launch.has_more();
        let bounds = Bounds { replies: now + 1, places: now + 1, more_ctas, every_cycle: true };
        for node in front.nodes.iter_mut() {
            node.advance(&bounds);
        }
        front.start_ctas(launch, None)?;
        front.tell_requests(launch.has_more());
        Ok(())
    }

    /// What the memory and the front tell each other after both have advanced.
    pub fn exchange(&mut self) {
        self.tell_replies();
        self.tell_arrivals();
    }

    /// From the memory to the SMs and to the request network.
    fn tell_replies(&mut self) {
        let Front { nodes, requests, .. } = &mut self.front;
        for sm in self.memory.replies.replied().iter() {
            self.memory.replies.take_coming(sm, |replies| nodes[sm].expect(replies));
        }
        self.memory.take_left(|slice, cycle| requests.note_leave(slice, cycle));
    }

    /// From the request network to the memory.
    fn tell_arrivals(&mut self) {
        let requests = &mut self.front.requests;
        for slice in requests.arrived().iter() {
            let memory = &mut self.memory;
            requests.take_arrived(slice, |cycle, request| memory.accept(slice, cycle, request));
        }
    }
}
