//! The load/store unit: one pass a cycle, in order, until the cache refuses an access.
//!
//! A pass is one access, or a part of one whose lanes want too many bytes for one pass, or a turn at the banks of
//! shared memory. An instruction makes a pass every `pass_interval` cycles; the next instructions go in between.

use super::coalescer::AccessList;
use crate::config::machine::{L1Config, LsuConfig, RefusalBlocks};
use crate::parts::{Access, AccessKind, DataCache, Outcome, Refusal, Waiter};
use crate::ring::Ring;
use crate::stats::LsuReason;
use crate::units::Cycle;

/// What a queued instruction wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Accesses of a cache.
    Cache(AccessKind),
    /// So many passes over the banks of shared memory.
    Shared {
        /// At least one.
        passes: u32,
    },
}

/// An instruction in the unit.
#[derive(Clone, Debug)]
struct Entry {
    /// When its next pass may be made.
    due: Cycle,
    target: Target,
    waiter: Waiter,
    accesses: AccessList,
    /// Accesses of a cache, or passes over the banks, already served.
    served: u32,
    /// Passes already made of the access that is being served.
    passes: u32,
}

/// What the unit did with an access, for its owner to act upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// A load hit; its data comes after the hit latency.
    Hit(Waiter),
    /// The last pass of a shared-memory instruction is done; its data comes after the latency.
    Shared(Waiter),
}

/// The load/store unit of an SM.
#[derive(Clone, Debug)]
pub struct Lsu {
    issue_latency: u64,
    pass_interval: u64,
    tag_latency: u64,
    refusal_blocks: RefusalBlocks,
    /// Instructions in order; storage is reused.
    entries: Vec<Entry>,
    /// Places in `entries`: the queue, oldest first, then the free ones.
    order: Vec<usize>,
    queued: usize,
    /// Accesses on their way to the tags; used when that takes time.
    pipe: Ring<Access>,
    /// What the last tick did.
    pub state: LsuReason,
    /// The refusal that stands, when the last tick ended with one.
    pub refused: Option<Refusal>,
    /// The last refusal, and what must change in the cache before the same access is worth another try.
    standing: Option<(Refusal, u64)>,
}

impl Lsu {
    /// An empty unit.
    pub fn new(lsu: &LsuConfig, l1: &L1Config) -> Self {
        let queue = lsu.queue.size();
        let entry = Entry {
            due: Cycle(0),
            target: Target::Shared { passes: 1 },
            waiter: Waiter::default(),
            accesses: AccessList::default(),
            served: 0,
            passes: 0,
        };
        let tag_latency = l1.tag_latency.cycles();
        Lsu {
            issue_latency: lsu.issue_latency.cycles(),
            pass_interval: lsu.pass_interval.cycles(),
            tag_latency,
            refusal_blocks: lsu.refusal_blocks,
            entries: vec![entry; queue],
            order: (0..queue).collect(),
            queued: 0,
            pipe: Ring::new(tag_latency.max(1) as usize),
            state: LsuReason::Idle,
            refused: None,
            standing: None,
        }
    }

    /// True when another instruction can be issued to the unit.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.queued < self.entries.len()
    }

    /// True when nothing is queued or on its way to the tags.
    pub fn is_empty(&self) -> bool {
        self.queued == 0 && self.pipe.is_empty()
    }

    /// Takes an instruction issued at `now`; `fill` writes its accesses and gives their number, which is
    /// returned. An instruction without accesses takes no place.
    pub fn push(
        &mut self,
        now: Cycle,
        target: Target,
        waiter: Waiter,
        fill: impl FnOnce(&mut AccessList) -> usize,
    ) -> usize {
        let entry = &mut self.entries[self.order[self.queued]];
        let count = fill(&mut entry.accesses);
        if count > 0 {
            entry.due = now + self.issue_latency;
            entry.target = target;
            entry.waiter = waiter;
            (entry.served, entry.passes) = (0, 0);
            self.queued += 1;
        }
        count
    }

    /// Takes the instruction at `place` out of the queue.
    fn retire(&mut self, place: usize) {
        self.order[place..self.queued].rotate_left(1);
        self.queued -= 1;
    }

    /// The oldest instructions: those in the midst of their passes, and the next one.
    #[inline]
    fn oldest(&self) -> impl Iterator<Item = &Entry> {
        let most = self.queued.min(self.pass_interval as usize);
        self.order[..most].iter().map(|&entry| &self.entries[entry])
    }

    fn is_pipe_full(&self) -> bool {
        self.tag_latency > 0 && self.pipe.is_full()
    }

    /// A cycle without anything to do, in place of a tick.
    #[inline]
    pub fn rest(&mut self) {
        (self.refused, self.state) = (None, LsuReason::Idle);
    }

    /// One cycle. Tells `served` what was served whose data follows after a fixed latency: of the accesses at the
    /// tags, and of those that go there without a pipe or to shared memory.
    #[inline]
    pub fn tick(&mut self, now: Cycle, cache: &mut impl DataCache, mut served: impl FnMut(Served)) {
        self.refused = None;
        self.state = LsuReason::Idle;
        if self.tag_latency > 0
            && let Some(from_pipe) = self.tick_pipe(now, cache)
        {
            served(from_pipe);
        }
        if let Some(from_queue) = self.tick_queue(now, cache) {
            served(from_queue);
        }
        if let Some(refusal) = self.refused {
            self.state = match refusal {
                Refusal::NoMerger => LsuReason::NoMerger,
                Refusal::NoCacheLine => LsuReason::NoCacheLine,
                Refusal::NoMshrLine => LsuReason::NoMshrLine,
                Refusal::MissQueue => LsuReason::MissQueue,
            };
        }
    }

    /// The refusal of the last access, if it was refused and would be again: counts it. Only where a refusal
    /// holds up the whole unit.
    #[inline]
    fn stands(standing: &Option<(Refusal, u64)>, cache: &mut impl DataCache) -> Option<Refusal> {
        let (refusal, changes) = (*standing)?;
        if changes != cache.changes(refusal) {
            return None;
        }
        cache.count_refusals(refusal, 1);
        Some(refusal)
    }

    /// Offers the cache an access that was not refused, or that may no longer be.
    fn offer(
        standing: &mut Option<(Refusal, u64)>,
        blocks: RefusalBlocks,
        now: Cycle,
        access: Access,
        cache: &mut impl DataCache,
    ) -> Result<Outcome, Refusal> {
        let outcome = cache.access(now, access);
        *standing = match outcome {
            Err(refusal) if blocks == RefusalBlocks::Unit => {
                Some((refusal, cache.changes(refusal)))
            }
            _ => None,
        };
        outcome
    }

    /// Serves the access at the end of the pipe to the tags.
    fn tick_pipe(&mut self, now: Cycle, cache: &mut impl DataCache) -> Option<Served> {
        self.pipe.front(now)?;
        if let Some(refusal) = Self::stands(&self.standing, cache) {
            self.refused = Some(refusal);
            return None;
        }
        let access = *self.pipe.front(now)?;
        match Self::offer(&mut self.standing, self.refusal_blocks, now, access, cache) {
            Ok(outcome) => {
                self.pipe.pop(now);
                self.state = LsuReason::Serving;
                hit(outcome, access.waiter, now)
            }
            Err(refusal) => {
                self.refused = Some(refusal);
                if self.refusal_blocks == RefusalBlocks::Instruction {
                    self.pipe.pop(now);
                    self.pipe.push(now + 1, access);
                }
                None
            }
        }
    }

    /// Makes a pass of the oldest queued instruction that is due.
    fn tick_queue(&mut self, now: Cycle, cache: &mut impl DataCache) -> Option<Served> {
        let Some(place) = self.oldest().position(|entry| entry.due <= now) else {
            // An instruction between two passes.
            let head = self.oldest().next().filter(|entry| entry.served + entry.passes > 0);
            if let Some(target) = head.map(|entry| entry.target)
                && self.refused.is_none()
            {
                self.state = further(target);
            }
            return None;
        };
        let blocks = self.refusal_blocks;
        let entry = &mut self.entries[self.order[place]];
        let (served, total) = match entry.target {
            // Shared memory waits for the accesses before it, so that one result leaves a cycle.
            Target::Shared { .. } if self.refused.is_some() => return None,
            Target::Shared { passes } => {
                let last = entry.served + 1 == passes;
                let waiter = Waiter { accepted: now, ..entry.waiter };
                (last.then_some(Served::Shared(waiter)), passes)
            }
            Target::Cache(kind) => {
                let total = entry.accesses.len() as u32;
                if self.tag_latency == 0
                    && let Some(refusal) = Self::stands(&self.standing, cache)
                {
                    // The same access as in the cycle before.
                    self.refused = Some(refusal);
                    return None;
                }
                let number = entry.served as usize;
                if entry.passes + 1 < entry.accesses.passes(number) {
                    entry.passes += 1;
                    entry.due = now + self.pass_interval;
                    self.state = LsuReason::Coalescing;
                    return None;
                }
                let (line, bytes) = entry.accesses.get(number);
                let access = Access {
                    line,
                    bytes,
                    kind,
                    atomic_work: entry.accesses.atomic_work(number),
                    waiter: entry.waiter,
                };
                if self.tag_latency > 0 {
                    self.pipe.try_push(now + self.tag_latency, access).ok()?;
                    (None, total)
                } else {
                    match Self::offer(&mut self.standing, blocks, now, access, cache) {
                        Ok(outcome) => (hit(outcome, access.waiter, now), total),
                        Err(refusal) => {
                            self.refused = Some(refusal);
                            match blocks {
                                RefusalBlocks::Instruction => {
                                    self.order[place..self.queued].rotate_left(1);
                                }
                                // Nothing goes ahead of it.
                                RefusalBlocks::Unit => self.order[..=place].rotate_right(1),
                            }
                            return None;
                        }
                    }
                }
            }
        };
        entry.served += 1;
        entry.passes = 0;
        entry.due = now + self.pass_interval;
        if entry.served < total {
            self.state = further(entry.target);
        } else {
            self.state = LsuReason::Serving;
            self.retire(place);
        }
        served
    }

    /// The next cycle in which a tick can do more than the last one did, if nothing else changes.
    pub fn next_event(&self, now: Cycle) -> Cycle {
        if self.refused.is_some() && self.refusal_blocks == RefusalBlocks::Instruction {
            return now + 1;
        }
        // What follows is another state: a further pass, or none where an access found no room in the pipe.
        let is_further = matches!(self.state, LsuReason::Coalescing | LsuReason::BankConflict);
        if self.refused.is_none() && is_further {
            return now + 1;
        }
        // A refused access is tried again when something was released, filled or taken away.
        let pipe = match self.refused {
            Some(_) => Cycle::NEVER,
            None => self.pipe.next_visible(),
        };
        let stuck = self.refused.is_some() && self.tag_latency == 0;
        let queue = if self.queued == 0 || stuck {
            Cycle::NEVER
        } else {
            let waits_for_pipe = self.is_pipe_full()
                && self.oldest().all(|entry| matches!(entry.target, Target::Cache(_)));
            let due = self.oldest().fold(Cycle::NEVER, |due, entry| due.min(entry.due));
            if waits_for_pipe { Cycle::NEVER } else { due }
        };
        pipe.min(queue).max(now + 1)
    }
}

/// The state of a unit in the midst of an instruction.
fn further(target: Target) -> LsuReason {
    match target {
        Target::Cache(_) => LsuReason::Coalescing,
        Target::Shared { .. } => LsuReason::BankConflict,
    }
}

fn hit(outcome: Outcome, waiter: Waiter, now: Cycle) -> Option<Served> {
    let waiter = Waiter { accepted: now, ..waiter };
    (outcome == Outcome::Hit).then_some(Served::Hit(waiter))
}
