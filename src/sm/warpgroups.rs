//! Matrix products of warpgroups, which tensor cores make while the warps go on.
//!
//! A product begins when all four warps of its group have come to it, and when the one before it leaves the tensor cores: these do so many
//! of its columns a cycle, and wait for its factors where shared memory gives them more slowly. What they read there goes before the
//! passes of the load/store unit. How long a product takes is known when it begins, so that whoever waits for it waits for a cycle.
//!
//! Source: measured on an H200, `results/h200/warpgroups`.

use std::collections::VecDeque;

use super::core::Sm;
use super::program::Port;
use super::scheduler::SLOTS;
use crate::config::Machine;
use crate::config::machine::WarpgroupTimes;
use crate::isa::{GroupProduct, Warpgroup};
use crate::stats::WaitReason;
use crate::units::{Bits, Cycle};

/// Rows of a product.
const ROWS: u64 = 64;
/// Bytes in a row of the first factor, and in a column of the second one.
const ROW_BYTES: u64 = 32;

/// What a warp slot has to do with products.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// Of the first warp of a group: when its products leave the queue, the oldest first.
    queue: VecDeque<Cycle>,
    /// When the sums are there of all that were begun so far.
    done: Cycle,
    /// The same of those up to each commit, the oldest first.
    commits: VecDeque<Cycle>,
}

/// The products of the SM's warpgroups.
#[derive(Clone, Debug)]
pub(super) struct Warpgroups {
    times: WarpgroupTimes,
    /// What all banks of shared memory give in a cycle [bytes].
    bank_row: u64,
    /// By warp slot; none before the first product.
    slots: Box<[Slot]>,
}

impl Warpgroups {
    /// Those of an SM. Where there is none, nobody comes to any.
    pub fn new(machine: &Machine) -> Self {
        let times = machine.sm.arithmetic.tensor.warpgroups().unwrap_or(WarpgroupTimes::LEAST);
        let shared = &machine.shared_memory;
        let bank_row = u64::from(shared.banks.get() * shared.bank_bytes.get());
        Warpgroups { times, bank_row, slots: Box::default() }
    }

    /// How long the banks of shared memory give so many rows of the first factor, or columns of the second one [core cycles].
    fn reads(&self, lines: u64) -> u64 {
        (lines * ROW_BYTES).div_ceil(self.bank_row)
    }

    /// How long the tensor cores compute so many columns [core cycles].
    fn computes(&self, columns: u64) -> u64 {
        columns.div_ceil(self.times.columns.cycles())
    }

    /// Another warp comes to a slot, and waits for no group of the one before it.
    pub fn begin(&mut self, warp: usize) {
        if let Some(slot) = self.slots.get_mut(warp) {
            slot.commits.clear();
        }
    }

    fn slot_mut(&mut self, warp: usize) -> &mut Slot {
        if self.slots.is_empty() {
            self.slots = vec![Slot::default(); SLOTS].into();
        }
        &mut self.slots[warp]
    }

    /// The products since the last commit of a warp are a group.
    fn commit(&mut self, now: Cycle, warp: usize) {
        let slot = self.slot_mut(warp);
        // Whoever waits for what is done does not wait.
        while slot.commits.front().is_some_and(|done| *done <= now) {
            slot.commits.pop_front();
        }
        slot.commits.push_back(slot.done);
    }

    /// When no more than so many of a warp's youngest groups are under way.
    fn done(&mut self, warp: usize, left: u8) -> Cycle {
        let commits = &self.slot_mut(warp).commits;
        let last = commits.len().checked_sub(usize::from(left) + 1);
        last.map_or(Cycle(0), |last| commits[last])
    }
}

impl Sm {
    /// Issues what is about products of a warpgroup; the warp's next instruction may issue at `next_issue` where nothing keeps it.
    #[inline(never)]
    pub(super) fn join_warpgroup(
        &mut self,
        now: Cycle,
        warp: usize,
        what: Warpgroup,
        next_issue: Cycle,
    ) {
        if self.warps.advance(warp, Port::None, &self.ctas, &self.program).is_none() {
            return self.end_warp(now, warp);
        }
        let times = self.warpgroups.times;
        let goes_on = match what {
            Warpgroup::Multiply(product) => return self.come_to_product(now, warp, product),
            Warpgroup::Arrive => now + times.arrive.cycles(),
            Warpgroup::Commit => {
                self.warpgroups.commit(now, warp);
                next_issue
            }
            Warpgroup::Wait(left) => match self.warpgroups.done(warp, left) {
                done if done > now => done + times.wait.cycles(),
                _ => next_issue,
            },
        };
        if goes_on > next_issue {
            self.note_hold(warp, WaitReason::Arithmetic, goes_on);
        }
        self.go_on(now, warp, goes_on.max(next_issue));
    }

    /// A warp has come to a product, which begins when all of its group have.
    fn come_to_product(&mut self, now: Cycle, warp: usize, product: GroupProduct) {
        let group = self.ctas.warpgroup(warp);
        self.warps.at_product |= 1 << warp;
        if self.warps.at_product & group != group {
            return;
        }
        self.warps.at_product &= !group;
        let (accepted, goes_on) = self.begin_product(now, group, product);
        let reason = if accepted > now { WaitReason::Arithmetic } else { WaitReason::Barrier };
        for warp in Bits(group) {
            if product.commits {
                self.warpgroups.commit(now, warp);
            }
            self.note_hold(warp, reason, goes_on);
            self.go_on(now, warp, goes_on);
        }
    }

    /// Begins a product of these warps; gives when there is room for it, and when they go on.
    fn begin_product(&mut self, now: Cycle, group: u64, product: GroupProduct) -> (Cycle, Cycle) {
        let times = self.warpgroups.times;
        let columns = u64::from(product.columns);
        let rows = if product.from_registers { 0 } else { ROWS };
        let computes = self.warpgroups.computes(columns);
        let reads = self.warpgroups.reads(rows + columns);
        let takes = computes.max(reads).max(times.interval.cycles());
        // That of the group, which is its first warp's.
        let queue = &mut self.warpgroups.slot_mut(group.trailing_zeros() as usize).queue;
        while queue.front().is_some_and(|leaves| *leaves <= now) {
            queue.pop_front();
        }
        let ahead = queue.len().checked_sub(times.queue.size());
        let accepted = ahead.map_or(now, |ahead| queue[ahead]);
        let start = self.pipelines.take_all(accepted, Port::Tensor, takes);
        queue.push_back(start + times.leaves_queue.cycles());
        // Columns are read a block at a time, the first block with the first factor.
        let (block, mut free) = (times.read_columns.cycles(), start);
        for before in (0..columns).step_by(times.read_columns.size()) {
            let rows = if before == 0 { rows } else { 0 };
            let from = free.max(start + self.warpgroups.computes(before));
            free = from + self.warpgroups.reads(rows + block.min(columns - before));
            self.lsu.take_banks(now, from, free);
        }
        let latency =
            if product.from_registers { times.latency_from_registers } else { times.latency };
        let done = start + latency.cycles() + computes;
        for warp in Bits(group) {
            let slot = self.warpgroups.slot_mut(warp);
            slot.done = slot.done.max(done);
        }
        (accepted, accepted + times.issue.cycles())
    }
}
