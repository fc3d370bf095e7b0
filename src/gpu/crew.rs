//! The threads of one kernel: all parts advance at the same time, and one thread settles what they tell each other.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::ahead::Ahead;
use super::floor::{Floor, Plan, Roster};
use super::memory::{Delays, Memory};
use super::node::{Bounds, Node};
use super::partition::Partition;
use super::replies::Replies;
use super::requests::Requests;
use super::team::Team;
use crate::isa::CtaSource;
use crate::units::Cycle;

/// Threads from which on each partition is a task of its own.
const WORTH_SPLITTING: usize = 3;

/// Why a lock must succeed: whoever panics with one ends the run.
const NO_PANIC: &str = "no thread failed";

/// What the threads share.
pub struct Crew<'a, const WORDS: usize> {
    nodes: &'a [Mutex<Node>],
    requests: &'a Mutex<Requests<WORDS>>,
    partitions: &'a [Mutex<Partition>],
    replies: &'a Mutex<Replies<WORDS>>,
    delays: Delays,
    /// The CTAs of the launch.
    pub ahead: Ahead<'a>,
    /// Who does what.
    pub team: Team,
    plan: Shared,
    /// Tasks that the partitions make: one each, or one for all.
    memory_tasks: usize,
    /// Those of them that are not done in this phase.
    behind: AtomicUsize,
}

/// A [`Plan`] that one thread writes between phases and all read in one.
#[derive(Default)]
struct Shared {
    memory: AtomicU64,
    network: AtomicU64,
    replies: AtomicU64,
    places: AtomicU64,
    more_ctas: AtomicBool,
}

impl<'a, const WORDS: usize> Crew<'a, WORDS> {
    /// For a launch of `source`.
    pub fn new(
        nodes: &'a [Mutex<Node>],
        requests: &'a Mutex<Requests<WORDS>>,
        (partitions, replies, delays): (&'a [Mutex<Partition>], &'a Mutex<Replies<WORDS>>, Delays),
        source: &'a mut dyn CtaSource,
        threads: usize,
    ) -> Self {
        let ahead = Ahead::new(source, nodes.len());
        // The partitions are worth more than one thread's time only where the nodes have several.
        let memory_tasks = if threads < WORTH_SPLITTING { 1 } else { partitions.len() };
        // The memory, which comes first, is about as much work as this many nodes.
        let memory_work = nodes.len() / 4;
        let share = |thread: usize| (thread * (nodes.len() + memory_work)).div_ceil(threads);
        let after_memory = |thread| memory_tasks + share(thread).saturating_sub(memory_work);
        let firsts = std::iter::once(0).chain((1..threads).map(after_memory));
        let team = Team::new(memory_tasks + nodes.len(), firsts);
        let plan = Shared::default();
        Crew {
            nodes,
            requests,
            partitions,
            replies,
            delays,
            ahead,
            team,
            plan,
            memory_tasks,
            behind: AtomicUsize::new(0),
        }
    }

    /// The life of helper `thread`; what is left of its time goes into CTAs to come.
    pub fn help(&self, thread: usize) {
        self.team.help(thread, |number| self.task(number), || self.ahead.try_fill());
    }

    /// Lets every part advance as planned.
    pub fn phase(&self, plan: &Plan) {
        let Plan { memory, nodes, .. } = *plan;
        let Bounds { replies, places, more_ctas, .. } = nodes;
        let shared = &self.plan;
        let network = self.replies.lock().expect(NO_PANIC).clock();
        for (place, cycle) in [
            (&shared.memory, memory),
            (&shared.network, network),
            (&shared.replies, replies),
            (&shared.places, places),
        ] {
            place.store(cycle.0, Ordering::Relaxed);
        }
        self.behind.store(self.memory_tasks, Ordering::Relaxed);
        shared.more_ctas.store(more_ctas, Ordering::Relaxed);
        self.team.phase(|number| self.task(number));
    }

    fn task(&self, number: usize) {
        let plan = &self.plan;
        let cycle = |place: &AtomicU64| Cycle(place.load(Ordering::Relaxed));
        if number < self.memory_tasks {
            let end = cycle(&plan.memory);
            if self.memory_tasks > 1 {
                let mut partition = self.partitions[number].lock().expect(NO_PANIC);
                partition.advance(end, cycle(&plan.network));
            }
            if self.behind.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.finish_memory(end);
            }
            return;
        }
        let bounds = Bounds {
            replies: cycle(&plan.replies),
            places: cycle(&plan.places),
            more_ctas: plan.more_ctas.load(Ordering::Relaxed),
            every_cycle: false,
        };
        let node = &self.nodes[number - self.memory_tasks];
        node.lock().expect(NO_PANIC).advance(&bounds);
    }

    /// The reply network, and partitions that have stopped where an input of it was full: for whoever is the last
    /// to advance a partition, while others are at the nodes.
    fn finish_memory(&self, end: Cycle) {
        let mut partitions: Vec<_> = self.lock_partitions().collect();
        let mut replies = self.replies.lock().expect(NO_PANIC);
        let partitions = &mut partitions[..];
        let mut memory = Memory { partitions, replies: &mut replies, delays: self.delays };
        memory.advance_replies();
        memory.advance(end);
    }

    fn lock_partitions(&self) -> impl Iterator<Item = MutexGuard<'a, Partition>> {
        self.partitions.iter().map(|partition| partition.lock().expect(NO_PANIC))
    }

    /// Every part, for the one thread that settles a phase.
    pub fn lock(&self) -> Locked<'_, WORDS> {
        Locked {
            nodes: self.nodes.iter().map(|node| node.lock().expect(NO_PANIC)).collect(),
            requests: self.requests.lock().expect(NO_PANIC),
            partitions: self.lock_partitions().collect(),
            replies: self.replies.lock().expect(NO_PANIC),
            delays: self.delays,
        }
    }
}

/// Every part, locked.
pub struct Locked<'a, const WORDS: usize> {
    nodes: Vec<MutexGuard<'a, Node>>,
    requests: MutexGuard<'a, Requests<WORDS>>,
    partitions: Vec<MutexGuard<'a, Partition>>,
    replies: MutexGuard<'a, Replies<WORDS>>,
    delays: Delays,
}

impl<'a, const WORDS: usize> Locked<'a, WORDS> {
    /// As a floor.
    pub fn floor<'s>(
        &'s mut self,
        roster: &'s mut Roster<WORDS>,
    ) -> Floor<'s, MutexGuard<'a, Node>, MutexGuard<'a, Partition>, WORDS> {
        let Locked { nodes, requests, partitions, replies, delays } = self;
        let memory = Memory { partitions, replies, delays: *delays };
        Floor { nodes, requests, memory, roster }
    }
}
