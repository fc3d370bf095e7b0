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

use super::memory::{Memory, Partition};
use super::news::Reach;
use super::sm_side::{Bounds, Launch, Node, SmSide};
use crate::error::Result;
use crate::units::Cycle;

/// SMs with something to do, or partitions, or CTAs of a launch that begins, from which on the work is shared between threads.
/// An SM and a partition wait for each other mostly.
const ENOUGH_AT_WORK: usize = 2;

/// Core cycles that the memory goes on alone, at most: it might never answer, which others see.
const ALONE: u64 = 1 << 14;

/// Every part, lent for a while.
pub struct Sides<'a, N, P, const WORDS: usize> {
    pub sm_side: SmSide<'a, N, WORDS>,
    pub memory: Memory<'a, P, WORDS>,
}

impl<N, P, const WORDS: usize> Sides<'_, N, P, WORDS>
where
    N: DerefMut<Target = Node>,
    P: DerefMut<Target = Partition>,
{
    /// How far the nodes may go, when every reply is known that arrives before `replies`.
    fn node_bounds(&self, launch: &Launch, replies: Cycle) -> Bounds {
        let places = self.sm_side.requests.clock();
        Bounds { replies, places, more_ctas: launch.has_more(), every_cycle: false }
    }

    /// Whether what the parts can do with what they know is worth other threads' while.
    pub fn is_worth_sharing(&self, launch: &Launch) -> bool {
        if launch.started == 0 && launch.ctas >= ENOUGH_AT_WORK as u64 {
            // Nobody has anything to do before the first CTAs start, and many have as soon as they do.
            return true;
        }
        let reach = self.sm_side.memory_reach(launch, &self.memory.hub.delays);
        let bounds = self.node_bounds(launch, self.memory.replies_known_to(reach.owing));
        self.sm_side.at_work(&bounds) >= ENOUGH_AT_WORK
            || self.memory.at_work(&reach) >= ENOUGH_AT_WORK
    }

    /// Every part as far as it can go, one after the other, each with the news of the one before.
    pub fn window(&mut self, launch: &mut Launch) -> Result<()> {
        let replies = self.advance_memory(launch);
        self.tell_replies();
        let bounds = self.node_bounds(launch, replies);
        self.sm_side.advance(launch, bounds, self.memory.slices_clock())?;
        self.tell_arrivals();
        Ok(())
    }

    /// The memory as far as it can go, and further as long as the SM side waits for a reply and does nothing else. Gives the
    /// cycle before which every reply is known.
    fn advance_memory(&mut self, launch: &Launch) -> Cycle {
        let Sides { sm_side, memory } = self;
        let quiet_to = sm_side.quiet_to(launch);
        let clock = sm_side.requests.clock();
        if quiet_to > clock {
            // The SM side asks for nothing before it has the reply that is owed, or does something of its own.
            let last = memory.hub.delays.needs_from(quiet_to.min(clock + ALONE));
            if let Some(taken) = memory.answer(last) {
                let needs = memory.hub.delays.needs_from(quiet_to.min(taken));
                return memory.hub.replies.known_to(needs);
            }
        }
        let mut reach = sm_side.memory_reach(launch, &memory.hub.delays);
        let last = reach.owing + ALONE;
        if quiet_to > clock && quiet_to != Cycle::NEVER && memory.holds_nothing() {
            // Nobody asks for anything, or answers: as before the first CTA of a launch starts. The kernel does not end before.
            let owing = memory.hub.delays.needs_from(quiet_to.min(clock + ALONE));
            reach = Reach { owing, idle: reach.idle.max(quiet_to.min(owing)) };
        }
        loop {
            memory.advance(&reach);
            let known = memory.replies_known_to(reach.owing);
            let waits_to = known.min(quiet_to);
            let owing = memory.hub.delays.needs_from(waits_to);
            let has_news = !memory.hub.replies.coming.is_empty() || memory.is_idle();
            if has_news || owing <= reach.owing || reach.owing >= last {
                return known;
            }
            // A reply that is owed is taken then or later: the kernel does not end before.
            reach = Reach { owing, idle: reach.idle.max(waits_to + 1).min(owing) };
        }
    }

    /// One core cycle of every part, whether or not anything can happen.
    pub fn cycle(&mut self, launch: &mut Launch) -> Result<()> {
        let now = self.memory.clock();
        self.memory.advance(&Reach::to(now + 1));
        self.tell_replies();
        self.sm_side.requests.advance(now + 1, now + 1);
        self.sm_side.tell_left();
        self.tell_arrivals();
        let sm_side = &mut self.sm_side;
        let more_ctas = launch.has_more();
        let bounds = Bounds { replies: now + 1, places: now + 1, more_ctas, every_cycle: true };
        sm_side.advance_all(&bounds);
        sm_side.start_ctas(launch, None)?;
        sm_side.tell_requests(launch.has_more());
        Ok(())
    }

    /// From the memory to the SMs and to the request network.
    fn tell_replies(&mut self) {
        let Sides { sm_side, memory } = self;
        sm_side.expect(&mut memory.hub.replies.coming);
        memory.take_left(|slice, cycle| sm_side.requests.note_leave(slice, cycle));
    }

    /// From the request network to the memory.
    fn tell_arrivals(&mut self) {
        self.memory.accept(&mut self.sm_side.requests.arrived);
    }
}
