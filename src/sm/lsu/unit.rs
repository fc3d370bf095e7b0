//! The load/store unit: one access a cycle, in order, until the cache refuses one. A unit of two stages is in
//! `banked.rs`.

use std::collections::VecDeque;

use super::banks::Passes;
use super::coalescer::AccessList;
use super::entry::{Entry, Stage, Target};
use super::queues::Queues;
use super::returns::Returns;
use crate::config::machine::{L1Config, LsuConfig, LsuStages, RefusalBlocks};
use crate::parts::{Access, DataCache, Outcome, Refusal, Waiter};
use crate::ring::Ring;
use crate::sm::SLOTS;
use crate::stats::LsuReason;
use crate::units::Cycle;

/// Rates of both stages of a unit that has two.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Lines of one instruction that are looked up in a cycle.
    pub lines: u32,
    /// Between two instructions of a scheduler, at least.
    pub scheduler_interval: u64,
    /// From one pass of a warp to its next one.
    pub pass_interval: u64,
    /// Between two passes of a load of constants, at least.
    pub constant_replay: u64,
    /// Between passes of any two loads of constants, at least.
    pub constant_interval: u64,
}

/// A refusal in the ledger.
#[inline]
pub(super) fn stall(refusal: Refusal) -> LsuReason {
    match refusal {
        Refusal::NoMerger => LsuReason::NoMerger,
        Refusal::NoCacheLine => LsuReason::NoCacheLine,
        Refusal::NoMshrLine => LsuReason::NoMshrLine,
        Refusal::MissQueue => LsuReason::MissQueue,
    }
}

/// The load/store unit of an SM. What every visit looks at comes first and lies together.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Lsu {
    /// Instructions in the unit.
    pub queued: usize,
    /// Warps whose instructions find no room.
    pub(in crate::sm) full_for: u64,
    /// The last refusal, and what must change in the cache before the same access is worth another try.
    pub(super) standing: Option<(Refusal, u64)>,
    /// The refusal that stands, when the last tick ended with one.
    pub refused: Option<Refusal>,
    /// What the last tick did.
    pub state: LsuReason,
    pub(super) refusal_blocks: RefusalBlocks,
    /// The cache is offered one access after the other: when one is refused, nothing else happens here until it no longer is.
    is_in_order: bool,
    accesses_per_cycle: usize,
    /// Instructions in order; storage is reused.
    pub(super) entries: Vec<Entry>,
    /// Places in `entries`: the queue, oldest first, in a unit of two stages in the order in which they are due; then the free
    /// ones. What was refused and lets others pass is behind these.
    pub(super) order: Vec<usize>,
    issue_latency: u64,
    tag_latency: u64,
    /// In a unit of two stages.
    pub(super) rates: Option<Rates>,
    /// Before the unit, there.
    queues: Queues,
    /// Instructions there that have passes to make, and no line to look up.
    pub(super) in_banks: usize,
    /// By warp: when it may make another pass there.
    pub(super) warp_due: Box<[Cycle]>,
    /// When a load of constants may.
    pub(super) constants_due: Cycle,
    /// When others have the banks there: first and first free cycles, one span behind the other.
    pub(super) taken: VecDeque<[Cycle; 2]>,
    /// Accesses on their way to the tags, and whether others of their instruction follow; used when that takes time.
    pipe: Ring<(Access, bool)>,
}

impl Lsu {
    /// An empty unit, of schedulers with these warps.
    pub fn new(lsu: &LsuConfig, l1: &L1Config, schedulers: impl Iterator<Item = u64>) -> Self {
        let rates = match lsu.stages {
            LsuStages::One => None,
            LsuStages::TagsThenBanks { scheduler_interval, lines, pass_interval, constants } => {
                Some(Rates {
                    scheduler_interval: scheduler_interval.cycles(),
                    lines: lines.get(),
                    pass_interval: pass_interval.cycles(),
                    constant_replay: constants.replay.cycles(),
                    constant_interval: constants.interval.cycles(),
                })
            }
        };
        let tag_latency = l1.tag_latency.cycles();
        let queues = Queues::new(schedulers, lsu.queue.size());
        let places = if rates.is_some() { queues.places() } else { lsu.queue.size() };
        Lsu {
            full_for: 0,
            queues,
            in_banks: 0,
            issue_latency: lsu.issue_latency.cycles(),
            tag_latency,
            refusal_blocks: lsu.refusal_blocks,
            is_in_order: lsu.refusal_blocks == RefusalBlocks::Unit
                && rates.is_none()
                && tag_latency == 0,
            accesses_per_cycle: rates.map_or(1, |rates: Rates| rates.lines as usize),
            rates,
            warp_due: vec![Cycle(0); SLOTS].into(),
            constants_due: Cycle(0),
            taken: VecDeque::new(),
            entries: vec![Entry::default(); places],
            order: (0..places).collect(),
            queued: 0,
            pipe: Ring::new(tag_latency.max(1) as usize),
            state: LsuReason::Idle,
            refused: None,
            standing: None,
        }
    }

    /// True when nothing is queued or on its way to the tags.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queued == 0 && self.pipe.is_empty()
    }

    /// Accesses that the cache may be offered in one cycle.
    #[inline]
    pub fn accesses_per_cycle(&self) -> usize {
        self.accesses_per_cycle
    }

    /// Data for a warp has come from the L2: when the pass over is that brings it to the registers, where it takes one.
    #[inline]
    pub fn pass_data(&mut self, now: Cycle, warp: u8) -> Cycle {
        let Some(rates) = self.rates else { return now };
        let due = &mut self.warp_due[usize::from(warp)];
        let passed = now.max(*due);
        *due = passed + rates.pass_interval;
        passed
    }

    /// Others have the banks from `from` on until `to`, which is behind all times of which this was said before. Only of a unit of two
    /// stages.
    pub fn take_banks(&mut self, now: Cycle, from: Cycle, to: Cycle) {
        while self.taken.front().is_some_and(|[_, to]| *to <= now) {
            self.taken.pop_front();
        }
        self.taken.push_back([from, to]);
    }

    /// True when data that hits goes by passes over the banks, whose number [`Lsu::push`] needs.
    #[inline]
    pub fn has_banks(&self) -> bool {
        self.rates.is_some()
    }

    /// Takes an instruction of `warp` issued at `now`, which takes `passes` over the banks; `fill` writes its accesses
    /// and gives their number, which is returned. An instruction without accesses takes no place.
    #[inline(always)]
    pub fn push(
        &mut self,
        now: Cycle,
        warp: usize,
        target: Target,
        passes: Passes,
        waiter: Waiter,
        fill: impl FnOnce(&mut AccessList) -> usize,
    ) -> usize {
        let entry = &mut self.entries[self.order[self.queued]];
        let count = fill(&mut entry.accesses);
        if count > 0 {
            entry.begin(now + self.issue_latency, warp as u8, target, passes, waiter);
            self.queued += 1;
            match self.rates {
                None => self.note_room(),
                Some(rates) => self.queue_up(warp, rates.scheduler_interval),
            }
        }
        count
    }

    /// Takes an instruction out of the queue.
    #[inline]
    pub(super) fn retire(&mut self, place: usize) {
        let Entry { warp, stage, .. } = self.entries[self.order[place]];
        for place in place + 1..self.queued {
            self.order.swap(place - 1, place);
        }
        self.queued -= 1;
        if self.rates.is_none() {
            return self.note_room();
        }
        self.in_banks -= usize::from(stage == Stage::Banks);
        self.full_for &= !self.queues.leave(warp.into());
    }

    /// Whether instructions find room, where all schedulers share it.
    #[inline]
    fn note_room(&mut self) {
        self.full_for = u64::from(self.queued == self.entries.len()).wrapping_neg();
    }

    /// The youngest instruction, of `warp`, waits for those of its scheduler before it. The unit takes instructions in the order
    /// in which they are due.
    #[inline(never)]
    fn queue_up(&mut self, warp: usize, interval: u64) {
        let mut place = self.queued - 1;
        let entry = &mut self.entries[self.order[place]];
        let (due, full_for) = self.queues.join(warp, entry.due, interval);
        entry.due = due;
        self.full_for |= full_for;
        self.in_banks += usize::from(entry.stage == Stage::Banks);
        while place > 0 && self.entries[self.order[place - 1]].due > due {
            self.order.swap(place - 1, place);
            place -= 1;
        }
    }

    fn is_pipe_full(&self) -> bool {
        self.tag_latency > 0 && self.pipe.is_full()
    }

    /// An access that was refused is offered again, even if nothing has changed.
    pub fn forget_refusal(&mut self) {
        self.standing = None;
    }

    /// A cycle without anything to do, in place of a tick.
    #[inline]
    pub fn rest(&mut self) {
        (self.refused, self.state) = (None, LsuReason::Idle);
    }

    /// One cycle. What was served and whose data follows after a fixed latency goes to `returns`: of the accesses at the
    /// tags, and of those that go there without a pipe or to shared memory.
    #[inline(always)]
    pub fn tick(&mut self, now: Cycle, cache: &mut impl DataCache, returns: &mut Returns) {
        if !self.is_in_order {
            return self.tick_any(now, cache, returns);
        }
        if self.refused.is_some() && Self::stands(&self.standing, cache).is_some() {
            // The same access as in the cycle before.
            return;
        }
        self.rest();
        self.tick_queue::<true>(now, cache, returns);
    }

    /// The same, where accesses pass each other, or there is a pipe to the tags.
    #[inline(never)]
    fn tick_any(&mut self, now: Cycle, cache: &mut impl DataCache, returns: &mut Returns) {
        self.rest();
        if let Some(rates) = self.rates {
            self.tick_stages(now, rates, cache, returns);
            return;
        }
        let has_pipe = self.tag_latency > 0;
        if has_pipe {
            self.tick_pipe(now, cache, returns);
        }
        self.tick_queue::<false>(now, cache, returns);
        if has_pipe {
            // Whatever went into the pipe meanwhile.
            self.state = self.refused.map_or(self.state, stall);
        }
    }

    /// As [`Lsu::next_event`]. If the next cycle brings the refusal of a load for want of an MSHR entry, as far as known now,
    /// that stands from then on, and nobody needs to see how it comes.
    #[inline(always)]
    pub fn look_ahead(&mut self, now: Cycle, cache: &mut impl DataCache) -> Cycle {
        if !self.is_in_order {
            return self.next_event(now);
        }
        if self.refused.is_some() || self.queued == 0 {
            return Cycle::NEVER;
        }
        let entry = &self.entries[self.order[0]];
        let next = entry.due.max(now + 1);
        let is_load = matches!(entry.target, Target::Cache(kind) if kind.takes_entry());
        if (next == now + 1) & is_load & cache.is_full()
            && let (line, bytes) = entry.accesses.get(entry.served as usize)
            && let Some(refusal) = cache.refusal(line, bytes)
        {
            self.standing = Some((refusal, cache.changes(refusal)));
            (self.refused, self.state) = (Some(refusal), stall(refusal));
            return Cycle::NEVER;
        }
        next
    }

    /// True when the access that the last tick ended with, refused, may no longer be.
    #[inline]
    pub fn may_go_on(&self, cache: &impl DataCache) -> bool {
        let has_changed = |(refusal, changes)| changes != cache.changes(refusal);
        self.refused.is_some() && self.standing.is_none_or(has_changed)
    }

    /// The refusal of the last access, if it was refused and would be again: counts it. Only where a refusal
    /// holds up the whole unit.
    #[inline]
    pub(super) fn stands(
        standing: &Option<(Refusal, u64)>,
        cache: &mut impl DataCache,
    ) -> Option<Refusal> {
        let (refusal, changes) = (*standing)?;
        if changes != cache.changes(refusal) {
            return None;
        }
        cache.count_refusals(refusal, 1);
        Some(refusal)
    }

    /// As [`Lsu::offer`], where that is not all that a unit does.
    #[inline(never)]
    pub(super) fn offer_one(
        standing: &mut Option<(Refusal, u64)>,
        blocks: RefusalBlocks,
        now: Cycle,
        access: Access,
        cache: &mut impl DataCache,
    ) -> Result<Outcome, Refusal> {
        Self::offer(standing, blocks, now, access, cache)
    }

    /// Offers the cache an access that was not refused, or that may no longer be.
    #[inline(always)]
    pub(super) fn offer(
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
    #[inline(never)]
    fn tick_pipe(&mut self, now: Cycle, cache: &mut impl DataCache, returns: &mut Returns) {
        let Some((access, more)) = self.pipe.front(now).copied() else { return };
        if let Some(refusal) = Self::stands(&self.standing, cache) {
            (self.refused, self.state) = (Some(refusal), stall(refusal));
            return;
        }
        match Self::offer_one(&mut self.standing, self.refusal_blocks, now, access, cache) {
            Ok(outcome) => {
                self.pipe.pop(now);
                self.state = if more { LsuReason::Coalescing } else { LsuReason::Serving };
                if outcome == Outcome::Hit {
                    returns.hit(now, &access.waiter, 1);
                }
            }
            Err(refusal) => {
                (self.refused, self.state) = (Some(refusal), stall(refusal));
                if self.refusal_blocks == RefusalBlocks::Instruction {
                    self.pipe.pop(now);
                    self.pipe.push(now + 1, (access, more));
                }
            }
        }
    }

    /// Serves the oldest queued instruction: one access or one pass. `IN_ORDER` where a refusal holds up the unit, and
    /// accesses go to the tags at once.
    #[inline(always)]
    fn tick_queue<const IN_ORDER: bool>(
        &mut self,
        now: Cycle,
        cache: &mut impl DataCache,
        returns: &mut Returns,
    ) {
        if self.queued == 0 {
            return;
        }
        let blocks = if IN_ORDER { RefusalBlocks::Unit } else { self.refusal_blocks };
        let tag_latency = if IN_ORDER { 0 } else { self.tag_latency };
        if blocks == RefusalBlocks::Instruction {
            self.put_due_first(now);
        }
        let entry = &mut self.entries[self.order[0]];
        if entry.due > now {
            return;
        }
        let total = match entry.target.kind() {
            // Shared memory waits for the accesses before it, so that one result leaves a cycle.
            None if self.refused.is_some() && blocks == RefusalBlocks::Unit => return,
            None => {
                if entry.served + 1 == entry.passes {
                    returns.pass(now, &entry.waiter, entry.target);
                }
                entry.passes
            }
            Some(_) if tag_latency > 0 => return self.enter_pipe(now),
            Some(kind) => {
                let access = entry.next_access(kind);
                match Self::offer(&mut self.standing, blocks, now, access, cache) {
                    Ok(Outcome::Hit) => returns.hit(now, &entry.waiter, 1),
                    Ok(_) => {}
                    Err(refusal) => {
                        (self.refused, self.state) = (Some(refusal), stall(refusal));
                        if blocks == RefusalBlocks::Instruction {
                            self.order[..self.queued].rotate_left(1);
                        }
                        return;
                    }
                }
                entry.accesses.len() as u32
            }
        };
        entry.served += 1;
        let more = entry.served < total;
        self.state = match entry.target.kind() {
            _ if !more => LsuReason::Serving,
            Some(_) => LsuReason::Coalescing,
            None => entry.pass_reason(total - entry.served),
        };
        if !more {
            self.retire(0);
        }
    }

    /// The first access of the queue goes to the tags, which says nothing of what the unit does in this cycle.
    #[inline(never)]
    fn enter_pipe(&mut self, now: Cycle) {
        let entry = &mut self.entries[self.order[0]];
        let Some(kind) = entry.target.kind() else { return };
        if self.pipe.is_full() {
            if self.refusal_blocks == RefusalBlocks::Instruction {
                self.order[..self.queued].rotate_left(1);
            }
            return;
        }
        let (access, total) = (entry.next_access(kind), entry.accesses.len() as u32);
        entry.served += 1;
        let more = entry.served < total;
        self.pipe.push(now + self.tag_latency, (access, more));
        if !more {
            self.retire(0);
        }
    }

    /// When the first of the queue is due, in whatever order they wait.
    fn first_due(&self) -> Cycle {
        let due = self.order[..self.queued].iter().map(|&place| self.entries[place].due);
        due.fold(Cycle::NEVER, Cycle::min)
    }

    /// Where what was refused lets others pass, so does what has just come.
    fn put_due_first(&mut self, now: Cycle) {
        let is_due = |&place: &usize| self.entries[place].due <= now;
        if let Some(first) = self.order[..self.queued].iter().position(is_due) {
            self.order[..=first].rotate_right(1);
        }
    }

    /// The next cycle in which a tick can do more than the last one did, if nothing else changes.
    #[inline(never)]
    pub fn next_event(&self, now: Cycle) -> Cycle {
        // What was refused lets others pass, so the next cycle may be idle.
        if self.refused.is_some() && self.refusal_blocks == RefusalBlocks::Instruction {
            return now + 1;
        }
        if self.rates.is_some() {
            return self.next_stage_event(now);
        }
        // An access that found no room in the pipe behind it makes the unit idle: another state.
        if self.refused.is_none() && self.state == LsuReason::Coalescing {
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
            let head = &self.entries[self.order[0]];
            match self.refusal_blocks {
                // Whatever is due is tried, also to find no room in the pipe.
                RefusalBlocks::Instruction => self.first_due(),
                RefusalBlocks::Unit if head.target.kind().is_some() && self.is_pipe_full() => {
                    Cycle::NEVER
                }
                RefusalBlocks::Unit => head.due,
            }
        };
        pipe.min(queue).max(now + 1)
    }
}
