//! The threads of a run: the SM side and the memory advance at the same time, each with the news that the other one has
//! left for it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::NO_PANIC;
use super::ahead::Ahead;
use super::mailbox::hand_on;
use super::memory_side::{Begun, LockedMemory, MemorySide, is_behind, step};
use super::tasks::{TaskPool, Tasks, Work};
use crate::error::Result;
use crate::gpu::memory::{Hub, Partition};
use crate::gpu::news::{Delays, Known};
use crate::gpu::sides::Sides;
use crate::gpu::sm_side::{ActiveNodes, Bounds, Launch, Node, Requests, SmSide, Then};
use crate::isa::{Cta, Kernel, LaunchSource};
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

/// Steps of the SM side for which the leader begins with a part of the memory's step, after it has waited: who has not is the one
/// that others wait for.
const RECENTLY: u32 = 16;

/// What the threads share.
pub struct Workers<'a, const WORDS: usize> {
    nodes: &'a [Mutex<Node>],
    requests: &'a Mutex<Requests<WORDS>>,
    memory: MemorySide<'a, WORDS>,
    delays: Delays,
    ahead: Ahead<'a>,
    /// Who does what.
    pub pool: TaskPool,
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

/// What a step of the SM side came to.
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

impl<'a, const WORDS: usize> Workers<'a, WORDS> {
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
        let pool = TaskPool::new(Tasks::new(near), Tasks::new(far));
        let delays = hub.lock().expect(NO_PANIC).delays;
        let memory = MemorySide::new(partitions, hub, enough.partitions);
        let round = Round::new(nodes.len());
        let enough_acts = enough.acts;
        Workers { nodes, requests, memory, delays, ahead, pool, round, enough_acts }
    }

    /// The life of helper `thread`.
    pub fn help(&self, thread: usize) {
        self.pool.help(thread, self);
    }

    /// Passes a while, in which this thread, the leader, takes part in what the memory does.
    fn wait(&self, waits: &mut u32) {
        if self.push_memory() || self.begin_memory() {
            *waits = 0;
        } else {
            self.pool.wait(waits);
        }
    }

    /// Begins a step of the memory; false when there is nothing to do, or somebody is at it.
    fn begin_memory(&self) -> bool {
        let begun = self.memory.begin();
        match begun {
            Begun::Nothing => {}
            Begun::Done => self.memory.to_sm_side.announce(),
            Begun::Shared => self.pool.hand_out(),
        }
        begun != Begun::Nothing
    }

    /// Advances a partition in a step of the memory; false when none is left.
    fn push_memory(&self) -> bool {
        self.pool.push(self)
    }

    /// Lets both sides advance until the SM side has gone `most` steps, or the kernel has ended; gives the steps.
    ///
    /// # Errors
    /// When a CTA cannot be had.
    pub fn advance(
        &self,
        most: u32,
        launch: &mut Launch,
        active: &mut ActiveNodes<WORDS>,
    ) -> Result<u32> {
        let mut all = self.lock();
        let Sides { mut sm_side, memory } = all.sides(active);
        let clock = sm_side.requests.clock();
        let known = memory.known(self.delays.needs_from(clock));
        self.tell_memory(&mut sm_side, launch);
        let Locked { sm_side: mut ours, memory } = all;
        drop(memory);
        self.memory.open();
        self.pool.rouse();
        let outcome = self.advance_sm_side(most, (clock, known), launch, &mut ours, active);
        self.memory.close();
        drop(ours);
        let mut waits = 0;
        while self.memory.is_busy() {
            self.wait(&mut waits);
        }
        let mut all = self.lock();
        let Sides { mut sm_side, mut memory } = all.sides(active);
        self.memory.to_memory.read(|mail| memory.accept(&mut mail.arrived));
        self.memory.to_sm_side.read(|mail| sm_side.hear(mail));
        outcome
    }

    /// The SM side, as far as the news allow, from its request network's `clock` on; while it waits for them, this thread takes
    /// part in what the memory does.
    fn advance_sm_side(
        &self,
        most: u32,
        (clock, mut known): (Cycle, Known),
        launch: &mut Launch,
        all: &mut LockedSmSide<'a, WORDS>,
        active: &mut ActiveNodes<WORDS>,
    ) -> Result<u32> {
        let (mut steps, mut waits, mut has_waited, mut recently) = (0, 0, false, 0);
        let mut last = Outcome { end: clock, clock, acts: [usize::MAX; 2], is_over: false };
        while steps < most && !last.is_over {
            let may_go_on = last.clock == last.end && last.end < known.replies;
            if may_go_on || self.memory.to_sm_side.is_new() {
                recently = if has_waited { RECENTLY } else { u32::saturating_sub(recently, 1) };
                let news = (&mut known, recently > 0);
                last = self.step_sm_side(news, last.acts, launch, all, active)?;
                steps += 1;
                (waits, has_waited) = (0, false);
            } else {
                self.wait(&mut waits);
                has_waited |= waits > 0;
            }
        }
        Ok(steps)
    }

    /// A part of the way that the SM side may go with the news of the memory: the nodes, together, and the request network in
    /// turn. Tells the memory. The last step had so many `acts`; this thread has waited in one of the last ones, or not.
    fn step_sm_side(
        &self,
        (known, has_waited): (&mut Known, bool),
        mut acts: [usize; 2],
        launch: &mut Launch,
        all: &mut LockedSmSide<'a, WORDS>,
        active: &mut ActiveNodes<WORDS>,
    ) -> Result<Outcome> {
        let mut sm_side = all.sm_side(active);
        if self.memory.to_sm_side.is_new() {
            self.memory.to_sm_side.read(|mail| {
                sm_side.hear(mail);
                known.learn(mail.known);
            });
        }
        let places = sm_side.requests.clock();
        let may_go = known.replies.since(places);
        let memory_may_go = self.delays.needs_from(places).since(known.clock);
        if has_waited && is_behind(memory_may_go, may_go) {
            // Before others have taken it: at the end of this step nothing might be left to take, and this thread would wait again.
            self.push_memory();
        }
        let end = known.replies.min(places + step(may_go, memory_may_go));
        let more_ctas = launch.has_more();
        let mut next = Some(Bounds { replies: end, places, more_ctas, every_cycle: false });
        let mut round = 0;
        sm_side.begin();
        while let Some(bounds) = next {
            // There will be about as much to do as in the last round of its kind.
            acts[round] = if acts[round] >= self.enough_acts {
                all.nodes.clear();
                let acts = self.advance_nodes(&bounds, &active.behind);
                self.lock_nodes(&mut all.nodes);
                sm_side = all.sm_side(active);
                sm_side.note_advance(&bounds);
                acts
            } else {
                sm_side.advance_nodes(&bounds)
            };
            round = 1;
            next = sm_side.settle(launch, Then::CatchUp, &bounds, known.slices)?;
        }
        let is_over = !launch.has_more() && sm_side.is_idle();
        if !is_over {
            // After the kernel's end the request network has no clock.
            self.tell_memory(&mut sm_side, launch);
        }
        Ok(Outcome { end, clock: sm_side.requests.clock(), acts, is_over })
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
        self.pool.round(self);
        round.acts.load(Ordering::Relaxed)
    }

    /// Tells the memory how far the SM side has come.
    fn tell_memory(&self, sm_side: &mut SmSide<MutexGuard<'a, Node>, WORDS>, launch: &Launch) {
        let reach = sm_side.memory_reach(launch, &self.delays);
        self.memory.to_memory.write(|mail| {
            hand_on(&mut sm_side.requests.arrived, &mut mail.arrived);
            (mail.reach, mail.clock) = (reach, sm_side.requests.clock());
        });
        self.memory.to_memory.announce();
    }

    /// Every part, for one thread.
    pub fn lock(&self) -> Locked<'a, WORDS> {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        self.lock_nodes(&mut nodes);
        let requests = self.requests.lock().expect(NO_PANIC);
        Locked { sm_side: LockedSmSide { nodes, requests }, memory: self.memory.lock() }
    }

    /// Locks all nodes, none of which is in `locked`.
    fn lock_nodes(&self, locked: &mut Vec<MutexGuard<'a, Node>>) {
        locked.extend(self.nodes.iter().map(|node| node.lock().expect(NO_PANIC)));
    }
}

impl<const WORDS: usize> Work for Workers<'_, WORDS> {
    /// A node, as far as it goes in this round.
    fn short(&self, number: usize) {
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

    /// A partition in a step of the memory.
    fn long(&self, number: usize) {
        self.memory.advance(number);
    }

    /// Ends a step of the memory.
    fn finish_long(&self) {
        if self.memory.finish() == Begun::Shared {
            self.pool.hand_out();
        }
        self.memory.to_sm_side.announce();
    }

    /// CTAs to come are executed first where few are left.
    fn urgent(&self) -> bool {
        self.ahead.try_fill_few()
    }

    /// Begins a step of the memory. What is left of the time goes into CTAs to come.
    fn spare(&self) -> bool {
        self.begin_memory() || self.ahead.try_fill()
    }

    /// While the leader goes on alone, there is nothing else to do.
    fn may_sleep(&self) -> bool {
        !self.memory.is_open() && !self.ahead.is_low()
    }
}

impl<const WORDS: usize> LaunchSource for &Workers<'_, WORDS> {
    fn begin(&mut self) -> Result<Option<Arc<Kernel>>> {
        let mut waits = 0;
        self.ahead.begin(|| self.wait(&mut waits))
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        let mut waits = 0;
        let is_there = self.ahead.next(cta, || self.wait(&mut waits))?;
        if self.ahead.is_low() {
            self.pool.rouse();
        }
        Ok(is_there)
    }
}

/// The SM side, locked; the nodes are let go where a round of them is shared.
struct LockedSmSide<'a, const WORDS: usize> {
    nodes: Vec<MutexGuard<'a, Node>>,
    requests: MutexGuard<'a, Requests<WORDS>>,
}

impl<'a, const WORDS: usize> LockedSmSide<'a, WORDS> {
    /// The SM side, made of these.
    fn sm_side<'s>(
        &'s mut self,
        active: &'s mut ActiveNodes<WORDS>,
    ) -> SmSide<'s, MutexGuard<'a, Node>, WORDS> {
        SmSide { nodes: &mut self.nodes, requests: &mut self.requests, active }
    }
}

/// Every part, locked.
pub struct Locked<'a, const WORDS: usize> {
    sm_side: LockedSmSide<'a, WORDS>,
    memory: LockedMemory<'a, WORDS>,
}

impl<'a, const WORDS: usize> Locked<'a, WORDS> {
    /// The two sides, made of these.
    pub fn sides<'s>(
        &'s mut self,
        active: &'s mut ActiveNodes<WORDS>,
    ) -> Sides<'s, MutexGuard<'a, Node>, MutexGuard<'a, Partition>, WORDS> {
        Sides { sm_side: self.sm_side.sm_side(active), memory: self.memory.memory() }
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
