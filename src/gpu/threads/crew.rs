//! The threads of a run: the front and the memory advance at the same time, each with the news that the other one has
//! left for it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::NO_PANIC;
use super::ahead::Ahead;
use super::letter::hand_on;
use super::memory_side::{Begun, LockedMemory, MemorySide, is_behind, step};
use super::team::{Tasks, Team};
use crate::error::Result;
use crate::gpu::floor::Floor;
use crate::gpu::front::{Bounds, Front, Launch, Node, Requests, Roster, Then};
use crate::gpu::memory::{Hub, Partition};
use crate::gpu::news::{Delays, Known};
use crate::noc::Ports;
use crate::units::Cycle;

/// How much there has to be to do before it is shared between threads.
#[derive(Clone, Copy, Debug)]
pub struct Enough {
    /// Cycles in which the nodes of a round do anything.
    acts: usize,
    /// Partitions with something to do in a step.
    partitions: usize,
}

impl Enough {
    /// To hand out less takes as long as to do it.
    pub const TO_PAY: Enough = Enough { acts: 64, partitions: 2 };
    /// All is shared.
    pub const ANYTHING: Enough = Enough { acts: 0, partitions: 0 };
}

/// What the threads share.
pub struct Crew<'a, const WORDS: usize> {
    nodes: &'a [Mutex<Node>],
    requests: &'a Mutex<Requests<WORDS>>,
    memory: MemorySide<'a, WORDS>,
    delays: Delays,
    /// The CTAs of the launches.
    pub ahead: Ahead<'a>,
    /// Who does what.
    pub team: Team,
    round: Round,
    /// Cycles in which nodes do anything from which on a round of them is shared.
    enough_acts: usize,
}

/// A round of the nodes, which the leader writes before it and all read in it.
struct Round {
    /// By node: it goes on.
    behind: Box<[AtomicBool]>,
    /// The cycles in which they did anything, together.
    acts: AtomicUsize,
    /// How far.
    replies: AtomicU64,
    places: AtomicU64,
    more_ctas: AtomicBool,
}

/// What a step of the front came to.
struct Outcome {
    /// How far it was to go.
    end: Cycle,
    /// How far the request network has come.
    clock: Cycle,
    /// The cycles in which nodes did anything in the first round, and in the last of more than one.
    acts: [usize; 2],
    /// The kernel has ended.
    is_over: bool,
}

impl Round {
    /// Of so many nodes.
    fn new(nodes: usize) -> Self {
        Round {
            behind: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            acts: AtomicUsize::new(0),
            replies: AtomicU64::new(0),
            places: AtomicU64::new(0),
            more_ctas: AtomicBool::new(false),
        }
    }
}

impl<'a, const WORDS: usize> Crew<'a, WORDS> {
    /// For launches whose CTAs come from `ahead`, by so many `threads`, that share what is `enough`.
    pub fn new(
        nodes: &'a [Mutex<Node>],
        requests: &'a Mutex<Requests<WORDS>>,
        (partitions, hub): (&'a [Mutex<Partition>], &'a Mutex<Hub<WORDS>>),
        ahead: Ahead<'a>,
        (threads, enough): (usize, Enough),
    ) -> Self {
        let near = (0..threads).map(|thread| node_order((thread, threads), nodes.len()));
        let far = (0..threads).map(|thread| partition_order((thread, threads), partitions.len()));
        let team = Team::new(Tasks::new(near), Tasks::new(far));
        let delays = hub.lock().expect(NO_PANIC).delays;
        let memory = MemorySide::new(partitions, hub, enough.partitions);
        let round = Round::new(nodes.len());
        let enough_acts = enough.acts;
        Crew { nodes, requests, memory, delays, ahead, team, round, enough_acts }
    }

    /// The life of helper `thread`; what is left of its time goes into CTAs to come.
    pub fn help(&self, thread: usize) {
        let idle = || self.begin_memory() || self.ahead.try_fill();
        let partition = (|number| self.memory.advance(number), || self.finish_memory());
        self.team.help(thread, |number| self.node(number), partition, idle);
    }

    /// Begins a step of the memory; false when there is nothing to do, or somebody is at it.
    fn begin_memory(&self) -> bool {
        let begun = self.memory.begin();
        match begun {
            Begun::Nothing => {}
            Begun::Done => self.memory.to_front.announce(),
            Begun::Shared => self.team.hand_out(),
        }
        begun != Begun::Nothing
    }

    /// Ends a step of the memory.
    fn finish_memory(&self) {
        if self.memory.finish() == Begun::Shared {
            self.team.hand_out();
        }
        self.memory.to_front.announce();
    }

    /// Advances a partition in a step of the memory; false when none is left.
    fn push_memory(&self) -> bool {
        self.team.push(|number| self.memory.advance(number), || self.finish_memory())
    }

    /// Lets both sides advance until the front has gone `most` steps, or the kernel has ended; gives the steps.
    ///
    /// # Errors
    /// When a CTA cannot be had.
    pub fn advance(
        &self,
        most: u32,
        launch: &mut Launch,
        roster: &mut Roster<WORDS>,
    ) -> Result<u32> {
        let mut all = self.lock();
        let Floor { mut front, memory } = all.floor(roster);
        let clock = front.requests.clock();
        let known = memory.known(self.delays.needs_from(clock));
        self.tell_memory(&mut front, launch);
        let Locked { front: mut ours, memory } = all;
        drop(memory);
        self.memory.open();
        let outcome = self.advance_front(most, (clock, known), launch, &mut ours, roster);
        self.memory.close();
        drop(ours);
        let mut waits = 0;
        while self.memory.is_busy() {
            if !self.push_memory() {
                self.team.wait(&mut waits);
            }
        }
        let mut all = self.lock();
        let Floor { mut front, mut memory } = all.floor(roster);
        self.memory.to_memory.read(|letter| memory.accept(&mut letter.arrived));
        self.memory.to_front.read(|letter| front.hear(letter));
        outcome
    }

    /// The front, as far as the news allow, from its request network's `clock` on; while it waits for them, this thread takes
    /// part in what the memory does.
    fn advance_front(
        &self,
        most: u32,
        (clock, mut known): (Cycle, Known),
        launch: &mut Launch,
        all: &mut LockedFront<'a, WORDS>,
        roster: &mut Roster<WORDS>,
    ) -> Result<u32> {
        let (mut steps, mut waits) = (0, 0);
        let mut last = Outcome { end: clock, clock, acts: [usize::MAX; 2], is_over: false };
        while steps < most && !last.is_over {
            let may_go_on = last.clock == last.end && last.end < known.replies;
            if may_go_on || self.memory.to_front.is_new() {
                last = self.step_front(&mut known, last.acts, launch, all, roster)?;
                steps += 1;
            } else if !self.push_memory() && !self.begin_memory() {
                self.team.wait(&mut waits);
                continue;
            }
            waits = 0;
        }
        Ok(steps)
    }

    /// A part of the way that the front may go with the news of the memory: the nodes, together, and the request network in
    /// turn. Tells the memory. The last step had so many `acts`.
    fn step_front(
        &self,
        known: &mut Known,
        mut acts: [usize; 2],
        launch: &mut Launch,
        all: &mut LockedFront<'a, WORDS>,
        roster: &mut Roster<WORDS>,
    ) -> Result<Outcome> {
        let mut front = all.front(roster);
        if self.memory.to_front.is_new() {
            self.memory.to_front.read(|letter| {
                front.hear(letter);
                known.learn(letter.known);
            });
        }
        let places = front.requests.clock();
        let may_go = known.replies.since(places);
        let memory_may_go = self.delays.needs_from(places).since(known.clock);
        if is_behind(memory_may_go, may_go) {
            // Before others have taken it: at the end of this step nothing might be left to take.
            self.push_memory();
        }
        let end = known.replies.min(places + step(may_go, memory_may_go));
        let more_ctas = launch.has_more();
        let mut next = Some(Bounds { replies: end, places, more_ctas, every_cycle: false });
        let mut round = 0;
        front.begin();
        while let Some(bounds) = next {
            // There will be about as much to do as in the last round of its kind.
            acts[round] = if acts[round] >= self.enough_acts {
                all.nodes.clear();
                let acts = self.advance_nodes(&bounds, &roster.behind);
                self.lock_nodes(&mut all.nodes);
                front = all.front(roster);
                front.note_advance(&bounds);
                acts
            } else {
                front.advance_nodes(&bounds)
            };
            round = 1;
            next = front.settle(launch, Then::CatchUp, &bounds, known.slices)?;
        }
        let is_over = !launch.has_more() && front.is_idle();
        if !is_over {
            // After the kernel's end the request network has no clock.
            self.tell_memory(&mut front, launch);
        }
        Ok(Outcome { end, clock: front.requests.clock(), acts, is_over })
    }

    /// The nodes that are `behind`, by all threads; gives the cycles in which they did anything, together.
    fn advance_nodes(&self, bounds: &Bounds, behind: &Ports<WORDS>) -> usize {
        let round = &self.round;
        round.replies.store(bounds.replies.0, Ordering::Relaxed);
        round.places.store(bounds.places.0, Ordering::Relaxed);
        round.more_ctas.store(bounds.more_ctas, Ordering::Relaxed);
        round.acts.store(0, Ordering::Relaxed);
        for (number, place) in round.behind.iter().enumerate() {
            place.store(behind.contains(number), Ordering::Relaxed);
        }
        self.team.round(|number| self.node(number));
        round.acts.load(Ordering::Relaxed)
    }

    /// A node, as far as it goes in this round.
    fn node(&self, number: usize) {
        let round = &self.round;
        if !round.behind[number].load(Ordering::Relaxed) {
            return;
        }
        let bounds = Bounds {
            replies: Cycle(round.replies.load(Ordering::Relaxed)),
            places: Cycle(round.places.load(Ordering::Relaxed)),
            more_ctas: round.more_ctas.load(Ordering::Relaxed),
            every_cycle: false,
        };
        let acts = self.nodes[number].lock().expect(NO_PANIC).advance(&bounds);
        round.acts.fetch_add(acts, Ordering::Relaxed);
    }

    /// Tells the memory how far the front has come.
    fn tell_memory(&self, front: &mut Front<MutexGuard<'a, Node>, WORDS>, launch: &Launch) {
        let reach = front.memory_reach(launch, &self.delays);
        self.memory.to_memory.write(|letter| {
            hand_on(&mut front.requests.arrived, &mut letter.arrived);
            (letter.reach, letter.clock) = (reach, front.requests.clock());
        });
        self.memory.to_memory.announce();
    }

    /// Every part, for one thread.
    pub fn lock(&self) -> Locked<'a, WORDS> {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        self.lock_nodes(&mut nodes);
        let requests = self.requests.lock().expect(NO_PANIC);
        Locked { front: LockedFront { nodes, requests }, memory: self.memory.lock() }
    }

    /// Locks all nodes, none of which is in `locked`.
    fn lock_nodes(&self, locked: &mut Vec<MutexGuard<'a, Node>>) {
        locked.extend(self.nodes.iter().map(|node| node.lock().expect(NO_PANIC)));
    }
}

/// The front, locked; the nodes are let go where a round of them is shared.
struct LockedFront<'a, const WORDS: usize> {
    nodes: Vec<MutexGuard<'a, Node>>,
    requests: MutexGuard<'a, Requests<WORDS>>,
}

impl<'a, const WORDS: usize> LockedFront<'a, WORDS> {
    /// As a front.
    fn front<'s>(
        &'s mut self,
        roster: &'s mut Roster<WORDS>,
    ) -> Front<'s, MutexGuard<'a, Node>, WORDS> {
        Front { nodes: &mut self.nodes, requests: &mut self.requests, roster }
    }
}

/// Every part, locked.
pub struct Locked<'a, const WORDS: usize> {
    front: LockedFront<'a, WORDS>,
    memory: LockedMemory<'a, WORDS>,
}

impl<'a, const WORDS: usize> Locked<'a, WORDS> {
    /// As a floor.
    pub fn floor<'s>(
        &'s mut self,
        roster: &'s mut Roster<WORDS>,
    ) -> Floor<'s, MutexGuard<'a, Node>, MutexGuard<'a, Partition>, WORDS> {
        Floor { front: self.front.front(roster), memory: self.memory.memory() }
    }
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
