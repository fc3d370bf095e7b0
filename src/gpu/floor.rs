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

use super::dispatch::Dispatch;
use super::memory::Memory;
use super::node::{Bounds, Node};
use super::partition::Partition;
use super::requests::Requests;
use crate::error::Result;
use crate::isa::Cta;
use crate::noc::Ports;
use crate::units::Cycle;

/// SMs with something to do from which on a phase is shared between threads: with fewer, handing it out costs
/// more than doing it.
const WORTH_SHARING: usize = 3;

/// A launch, and how much of it has been handed out.
pub struct Launch<'a> {
    /// Writes the next CTA; false after the last one.
    pub next: &'a mut dyn FnMut(&mut Cta) -> Result<bool>,
    /// CTAs handed out.
    pub started: u64,
    /// CTAs of the launch.
    pub ctas: u64,
    /// The kernel does not end before this cycle.
    pub end: Cycle,
    /// When CTAs may start.
    pub dispatch: Dispatch,
}

impl Launch<'_> {
    /// True when CTAs are left.
    pub fn has_more(&self) -> bool {
        self.started < self.ctas
    }
}

/// How far each part may go in a phase.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The memory, to this cycle.
    pub memory: Cycle,
    /// The nodes, and the request network as far as replies are known.
    pub nodes: Bounds,
}

/// What an SM does that has got a CTA.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// It waits for the next cycle.
    Wait,
    /// It advances within the bounds.
    GoOn(Bounds),
    /// It advances within the bounds, but no further than it takes to know who gets the next CTA.
    CatchUp(Bounds),
}

/// Every part, lent for a while.
pub struct Floor<'a, N, P, const WORDS: usize> {
    pub nodes: &'a mut [N],
    pub requests: &'a mut Requests<WORDS>,
    pub memory: Memory<'a, P, WORDS>,
    pub roster: &'a mut Roster<WORDS>,
}

/// Which SMs are looked at.
#[derive(Clone, Debug)]
pub struct Roster<const WORDS: usize> {
    /// The SM that is asked first for the next CTA.
    pub turn: usize,
    /// SMs that may do something before the kernel ends: all as long as there are CTAs.
    awake: Ports<WORDS>,
}

impl<const WORDS: usize> Roster<WORDS> {
    /// Of a launch on so many SMs.
    pub fn new(turn: usize, sms: usize) -> Self {
        let mut awake = Ports::default();
        (0..sms).for_each(|sm| awake.set(sm, true));
        Roster { turn, awake }
    }
}

impl<N, P, const WORDS: usize> Floor<'_, N, P, WORDS>
where
    N: DerefMut<Target = Node>,
    P: DerefMut<Target = Partition>,
{
    /// True when every CTA that was started has ended.
    pub fn is_idle(&self) -> bool {
        self.awake().all(|node| node.sm.is_idle())
    }

    /// Cycles before this one are done in every SM.
    pub fn clock(&self) -> Cycle {
        let clock = self.awake().map(|node| node.clock()).min();
        clock
            .or_else(|| self.nodes.iter().map(|node| node.busy_to()).max())
            .expect("there is an SM")
    }

    /// The SMs that may do something.
    fn awake(&self) -> impl Iterator<Item = &Node> {
        self.roster.awake.iter().map(|sm| &*self.nodes[sm])
    }

    /// The first cycle in which nothing is left to do, when all is idle.
    pub fn end(&self, launch: &Launch) -> Cycle {
        self.nodes.iter().fold(launch.end, |end, node| end.max(node.busy_to()))
    }

    /// How far the nodes may go.
    fn node_bounds(&self, launch: &Launch) -> Bounds {
        let places = self.requests.clock();
        let known = self.memory.delays.needs_from(places);
        let replies = self.memory.replies_known_to(known);
        Bounds { replies, places, more_ctas: launch.has_more(), every_cycle: false }
    }

    /// How far the memory may go.
    fn memory_end(&self, launch: &Launch) -> Cycle {
        let known = self.memory.delays.needs_from(self.requests.clock());
        known.min(self.busy_to_at_least(launch, known))
    }

    /// The kernel does not end before this cycle, as far as is known: the memory must not count a cycle that
    /// is the next kernel's. Requests are known that matter before `known`.
    fn busy_to_at_least(&self, launch: &Launch, known: Cycle) -> Cycle {
        let mut end = launch.end;
        let mut least = Cycle::NEVER;
        for node in self.awake() {
            least = least.min(node.clock());
            if !node.sm.is_idle() {
                end = end.max(node.clock() + 1);
            }
        }
        if launch.has_more() {
            // One CTA an SM and cycle.
            let left = (launch.ctas - launch.started).div_ceil(self.nodes.len() as u64);
            end = end.max(least + (left - 1));
        }
        if !self.requests.is_empty() {
            end = end.max(known + 1);
        }
        match self.requests.last_arrival() {
            Some(arrival) => end.max(self.memory.delays.needs_from(arrival) + 1),
            None => end,
        }
    }

    /// How far each part may go with what it knows now, where the work that this allows is worth other threads' while.
    pub fn worthy_plan(&self, launch: &Launch) -> Option<Plan> {
        let plan = Plan { memory: self.memory_end(launch), nodes: self.node_bounds(launch) };
        let end = plan.nodes.replies;
        let mut at_work = self.awake().filter(|node| node.has_work(end));
        at_work.nth(WORTH_SHARING - 1).map(|_| plan)
    }

    /// Every part as far as it can go, one after the other, each with the news of the one before.
    pub fn window(&mut self, launch: &mut Launch) -> Result<()> {
        self.memory.advance(self.memory_end(launch));
        self.tell_replies();
        let bounds = self.node_bounds(launch);
        for sm in self.roster.awake.iter() {
            self.nodes[sm].advance(&bounds);
        }
        self.start_ctas(launch, Then::GoOn(bounds))?;
        self.advance_requests(launch, bounds.replies);
        Ok(())
    }

    /// One core cycle of every part, whether or not anything can happen.
    pub fn cycle(&mut self, launch: &mut Launch) -> Result<()> {
        let now = self.memory.clock();
        self.memory.advance(now + 1);
        self.tell_replies();
        self.requests.advance(now + 1, now + 1);
        self.tell_arrivals();
        let more_ctas = launch.has_more();
        let bounds = Bounds { replies: now + 1, places: now + 1, more_ctas, every_cycle: true };
        for node in self.nodes.iter_mut() {
            node.advance(&bounds);
        }
        self.start_ctas(launch, Then::Wait)?;
        self.tell_requests(launch.has_more());
        Ok(())
    }

    /// After a phase in which the nodes and the memory advanced as `plan` says: all the news, CTAs for those who
    /// wait for one, and the request network, from which SMs hear soonest of free places in their miss queues.
    pub fn settle_phase(&mut self, launch: &mut Launch, plan: &Plan) -> Result<()> {
        self.start_ctas(launch, Then::CatchUp(plan.nodes))?;
        self.tell_replies();
        self.advance_requests(launch, plan.nodes.replies);
        Ok(())
    }

    /// The request network, with the SMs' news, to cycle `end`.
    fn advance_requests(&mut self, launch: &Launch, end: Cycle) {
        self.tell_requests(launch.has_more());
        self.requests.advance(end, self.memory.slices_clock());
        self.tell_arrivals();
    }

    /// From the memory to the SMs and to the request network.
    fn tell_replies(&mut self) {
        for sm in self.memory.replies.replied().iter() {
            self.memory.replies.take_coming(sm, |replies| self.nodes[sm].expect(replies));
        }
        self.memory.take_left(|slice, cycle| self.requests.note_leave(slice, cycle));
    }

    /// From the SMs to the request network.
    fn tell_requests(&mut self, more_ctas: bool) {
        for sm in self.roster.awake.iter() {
            let node = &mut self.nodes[sm];
            if node.has_requests() {
                node.export(|request| self.requests.note_request(sm, request));
            }
            self.requests.note_clock(sm, node.requests_known_to(more_ctas));
            if !more_ctas && node.is_done() {
                self.roster.awake.set(sm, false);
            }
        }
    }

    /// From the request network to the memory and to the SMs.
    fn tell_arrivals(&mut self) {
        for slice in self.requests.arrived().iter() {
            let memory = &mut self.memory;
            self.requests.take_arrived(slice, |cycle, request| {
                memory.accept(slice, cycle, request);
            });
        }
        for sm in self.requests.left().iter() {
            self.nodes[sm].note_leaves(self.requests.take_left(sm));
        }
    }

    /// Hands out CTAs, at most one an SM and cycle, to the SMs in turn; never before all SMs have come so far.
    /// SMs that got one advance again, as `then` says.
    fn start_ctas(&mut self, launch: &mut Launch, then: Then) -> Result<()> {
        while launch.has_more() {
            let Some(at) = self.next_wait() else { return Ok(()) };
            if self.nodes.iter().any(|node| node.clock() <= at) {
                return Ok(());
            }
            self.start_ctas_at(at, launch)?;
            let (Then::GoOn(bounds) | Then::CatchUp(bounds)) = then else { continue };
            let end = match (then, self.next_wait()) {
                // Others wait for CTAs of later cycles: whether they are the next is soon known.
                (Then::CatchUp(_), Some(wait)) => bounds.replies.min(wait + 1),
                (Then::CatchUp(_), None) => return Ok(()),
                _ => bounds.replies,
            };
            let bounds = Bounds { replies: end, more_ctas: launch.has_more(), ..bounds };
            for node in self.nodes.iter_mut().filter(|node| node.clock() < end) {
                node.advance(&bounds);
            }
        }
        Ok(())
    }

    /// The first cycle at whose end an SM waits for a CTA.
    fn next_wait(&self) -> Option<Cycle> {
        self.nodes.iter().filter_map(|node| node.waits_for_cta()).min()
    }

    /// Gives a CTA to every SM that waits for one at the end of cycle `at`, or the promise of one.
    fn start_ctas_at(&mut self, at: Cycle, launch: &mut Launch) -> Result<()> {
        let (first, count) = (self.roster.turn, self.nodes.len());
        for offset in 0..count {
            let number = (first + offset) % count;
            let node = &mut self.nodes[number];
            if node.waits_for_cta() != Some(at) {
                continue;
            }
            if node.is_promised() {
                launch.dispatch.use_grant();
            } else if launch.started + launch.dispatch.granted() >= launch.ctas {
                node.refuse_cta();
                continue;
            } else {
                let slot = launch.dispatch.slot(at);
                if slot > at {
                    launch.dispatch.grant();
                    node.promise_cta(slot);
                    self.roster.turn = (number + 1) % count;
                    continue;
                }
            }
            if !node.start_cta(at, &mut launch.next)? {
                launch.ctas = launch.started;
                launch.end = at + 1;
                return Ok(());
            }
            self.roster.turn = (number + 1) % count;
            launch.started += 1;
            if !launch.has_more() {
                return Ok(());
            }
        }
        Ok(())
    }
}
