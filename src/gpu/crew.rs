//! The threads of one kernel: all parts advance at the same time, and one thread settles what they tell each other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::ahead::Ahead;
use super::floor::{Floor, Plan};
use super::memory::Memory;
use super::node::{Bounds, Node};
use super::requests::Requests;
use super::team::Team;
use crate::isa::CtaSource;
use crate::units::Cycle;

/// Why a lock must succeed: whoever panics with one ends the run.
const NO_PANIC: &str = "no thread failed";

/// What the threads share.
pub struct Crew<'a> {
    nodes: &'a [Mutex<Node>],
    requests: &'a Mutex<Requests>,
    memory: &'a Mutex<Memory>,
    /// The CTAs of the launch.
    pub ahead: Ahead<'a>,
    /// Who does what.
    pub team: Team,
    plan: Shared,
}

/// A [`Plan`] that one thread writes between phases and all read in one.
#[derive(Default)]
struct Shared {
    memory: AtomicU64,
    replies: AtomicU64,
    places: AtomicU64,
    more_ctas: AtomicBool,
}

/// The memory is the longest task and comes first.
const MEMORY: usize = 0;
/// Tasks before those of the nodes.
const BEFORE_NODES: usize = 1;

impl<'a> Crew<'a> {
    /// For a launch of `source`.
    pub fn new(
        nodes: &'a [Mutex<Node>],
        requests: &'a Mutex<Requests>,
        memory: &'a Mutex<Memory>,
        source: &'a mut dyn CtaSource,
    ) -> Self {
        let ahead = Ahead::new(source, nodes.len());
        let team = Team::new(BEFORE_NODES + nodes.len());
        Crew { nodes, requests, memory, ahead, team, plan: Shared::default() }
    }

    /// A helper's life; what is left of its time goes into CTAs to come.
    pub fn help(&self, first: usize) {
        self.team.help(first, |number| self.task(number), || self.ahead.try_fill());
    }

    /// The task that each of `threads` helpers and the leader begins with, the leader's left out.
    pub fn beginnings(&self, threads: usize) -> impl Iterator<Item = usize> {
        // The memory is about as much work as this many nodes.
        let nodes = self.nodes.len();
        let memory = nodes / 4;
        let all = nodes + memory;
        (1..threads)
            .map(move |thread| BEFORE_NODES + (thread * all / threads).saturating_sub(memory))
    }

    /// Lets every part advance as planned.
    pub fn phase(&self, plan: &Plan) {
        let Plan { memory, nodes, .. } = *plan;
        let Bounds { replies, places, more_ctas, .. } = nodes;
        let shared = &self.plan;
        for (place, cycle) in
            [(&shared.memory, memory), (&shared.replies, replies), (&shared.places, places)]
        {
            place.store(cycle.0, Ordering::Relaxed);
        }
        shared.more_ctas.store(more_ctas, Ordering::Relaxed);
        self.team.phase(|number| self.task(number));
    }

    fn task(&self, number: usize) {
        let plan = &self.plan;
        let cycle = |place: &AtomicU64| Cycle(place.load(Ordering::Relaxed));
        match number {
            MEMORY => self.memory.lock().expect(NO_PANIC).advance(cycle(&plan.memory)),
            _ => {
                let bounds = Bounds {
                    replies: cycle(&plan.replies),
                    places: cycle(&plan.places),
                    more_ctas: plan.more_ctas.load(Ordering::Relaxed),
                    every_cycle: false,
                };
                self.nodes[number - BEFORE_NODES].lock().expect(NO_PANIC).advance(&bounds);
            }
        }
    }

    /// Every part, for the one thread that settles a phase.
    pub fn lock(&self) -> Locked<'_> {
        Locked {
            nodes: self.nodes.iter().map(|node| node.lock().expect(NO_PANIC)).collect(),
            requests: self.requests.lock().expect(NO_PANIC),
            memory: self.memory.lock().expect(NO_PANIC),
        }
    }
}

/// Every part, locked.
pub struct Locked<'a> {
    nodes: Vec<MutexGuard<'a, Node>>,
    requests: MutexGuard<'a, Requests>,
    memory: MutexGuard<'a, Memory>,
}

impl<'a> Locked<'a> {
    /// As a floor, on which `turn` is asked first for the next CTA.
    pub fn floor<'s>(&'s mut self, turn: &'s mut usize) -> Floor<'s, MutexGuard<'a, Node>> {
        let Locked { nodes, requests, memory } = self;
        Floor { nodes, requests, memory, turn }
    }
}
