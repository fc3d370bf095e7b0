//! The threads of one kernel: the front and the memory advance at the same time, and one thread settles what they tell
//! each other.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::ahead::Ahead;
use super::floor::{Floor, Plan};
use super::front::{Front, Launch, Roster, Then};
use super::memory::{Delays, Memory};
use super::node::{Bounds, Node};
use super::partition::{Partition, Reach};
use super::replies::Replies;
use super::requests::Requests;
use super::team::{Tasks, Team};
use crate::error::Result;
use crate::isa::CtaSource;
use crate::units::Cycle;

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
    /// Partitions that have not advanced in this phase.
    behind: AtomicUsize,
}

/// A [`Plan`] that one thread writes between phases and all read in one.
#[derive(Default)]
struct Shared {
    owing: AtomicU64,
    idle: AtomicU64,
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
        let near = (0..threads).map(|thread| node_order((thread, threads), nodes.len()));
        let far = (0..threads).map(|thread| partition_order((thread, threads), partitions.len()));
        let team = Team::new(Tasks::new(near), Tasks::new(far));
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
            behind: AtomicUsize::new(0),
        }
    }

    /// The life of helper `thread`; what is left of its time goes into CTAs to come.
    pub fn help(&self, thread: usize) {
        let (node, partition) = (|number| self.node(number), |number| self.partition(number));
        self.team.help(thread, node, partition, || self.ahead.try_fill());
    }

    /// Lets every part advance as planned.
    ///
    /// # Errors
    /// When a CTA cannot be had.
    pub fn phase(
        &self,
        plan: &Plan,
        launch: &mut Launch,
        roster: &mut Roster<WORDS>,
    ) -> Result<()> {
        let shared = &self.plan;
        let network = self.replies.lock().expect(NO_PANIC).clock();
        shared.owing.store(plan.memory.owing.0, Ordering::Relaxed);
        shared.idle.store(plan.memory.idle.0, Ordering::Relaxed);
        shared.network.store(network.0, Ordering::Relaxed);
        self.behind.store(self.partitions.len(), Ordering::Relaxed);
        self.team.begin();
        let outcome = self.advance_front(plan, launch, roster);
        self.team.end(|number| self.partition(number));
        outcome
    }

    /// The nodes, together, and the request network in turn.
    fn advance_front(
        &self,
        plan: &Plan,
        launch: &mut Launch,
        roster: &mut Roster<WORDS>,
    ) -> Result<()> {
        let shared = &self.plan;
        shared.replies.store(plan.nodes.replies.0, Ordering::Relaxed);
        let (mut next, mut are_shared) = (Some(plan.nodes), plan.are_shared);
        while let Some(bounds) = next {
            if are_shared {
                shared.places.store(bounds.places.0, Ordering::Relaxed);
                shared.more_ctas.store(bounds.more_ctas, Ordering::Relaxed);
                self.team.round(|number| self.node(number));
            }
            let mut nodes: Vec<_> = self.lock_nodes().collect();
            let requests = &mut *self.requests.lock().expect(NO_PANIC);
            let mut front = Front { nodes: &mut nodes, requests, roster };
            if !are_shared {
                front.advance_nodes(&bounds);
            }
            next = front.settle(launch, Then::CatchUp(bounds), plan.slices)?;
            are_shared = next.is_some_and(|bounds| front.is_worth_sharing(&bounds));
        }
        Ok(())
    }

    /// A node, as far as it can go.
    fn node(&self, number: usize) {
        let plan = &self.plan;
        let bounds = Bounds {
            replies: cycle(&plan.replies),
            places: cycle(&plan.places),
            more_ctas: plan.more_ctas.load(Ordering::Relaxed),
            every_cycle: false,
        };
        self.nodes[number].lock().expect(NO_PANIC).advance(&bounds);
    }

    /// A partition, as far as it can go.
    fn partition(&self, number: usize) {
        let plan = &self.plan;
        let reach = Reach { owing: cycle(&plan.owing), idle: cycle(&plan.idle) };
        self.partitions[number].lock().expect(NO_PANIC).advance(&reach, cycle(&plan.network));
        if self.behind.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.finish_memory(&reach);
        }
    }

    /// The reply network, and partitions that have stopped where an input of it was full: for whoever is the last
    /// to advance a partition, while others are at the nodes.
    fn finish_memory(&self, reach: &Reach) {
        let mut partitions: Vec<_> = self.lock_partitions().collect();
        let mut replies = self.replies.lock().expect(NO_PANIC);
        let partitions = &mut partitions[..];
        let mut memory = Memory { partitions, replies: &mut replies, delays: self.delays };
        memory.advance_replies();
        memory.advance(reach);
    }

    fn lock_partitions(&self) -> impl Iterator<Item = MutexGuard<'a, Partition>> {
        self.partitions.iter().map(|partition| partition.lock().expect(NO_PANIC))
    }

    fn lock_nodes(&self) -> impl Iterator<Item = MutexGuard<'a, Node>> {
        self.nodes.iter().map(|node| node.lock().expect(NO_PANIC))
    }

    /// Every part, for the one thread that settles a phase.
    pub fn lock(&self) -> Locked<'_, WORDS> {
        Locked {
            nodes: self.lock_nodes().collect(),
            requests: self.requests.lock().expect(NO_PANIC),
            partitions: self.lock_partitions().collect(),
            replies: self.replies.lock().expect(NO_PANIC),
            delays: self.delays,
        }
    }
}

/// What was stored of a plan.
fn cycle(place: &AtomicU64) -> Cycle {
    Cycle(place.load(Ordering::Relaxed))
}

/// The order in which a thread, one of so many, takes nodes. The first helper has the memory to advance, and takes the last
/// ones that are left; the leader and the others have nodes of their own, and then those before them, backwards and round.
fn node_order((thread, threads): (usize, usize), nodes: usize) -> Box<[usize]> {
    let own = match thread {
        1 => nodes..nodes,
        _ => {
            let (turn, turns) = (thread.saturating_sub(1), (threads - 1).max(1));
            turn * nodes / turns..(turn + 1) * nodes / turns
        }
    };
    let others = (0..nodes - own.len()).rev().map(|offset| (own.end + offset) % nodes);
    own.clone().chain(others).collect()
}

/// The order in which a thread, one of so many, takes partitions: the helpers from different ones on, the leader the last
/// ones that are left.
fn partition_order((thread, threads): (usize, usize), partitions: usize) -> Box<[usize]> {
    match thread {
        0 => (0..partitions).rev().collect(),
        _ => {
            let first = (thread - 1) * partitions / (threads - 1);
            (0..partitions).map(|offset| (first + offset) % partitions).collect()
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
        Floor { front: Front { nodes, requests, roster }, memory }
    }
}
