//! A load/store unit in two stages: lines are looked up, then data goes by passes over the banks.

use super::entry::{Entry, Stage, Target};
use super::returns::Returns;
use super::unit::{Lsu, Rates, stall};
use crate::config::machine::RefusalBlocks;
use crate::parts::{DataCache, Outcome};
use crate::stats::LsuReason;
use crate::units::Cycle;

impl Lsu {
    /// One cycle of both stages.
    #[inline(never)]
    pub(super) fn tick_stages(
        &mut self,
        now: Cycle,
        rates: Rates,
        cache: &mut impl DataCache,
        returns: &mut Returns,
    ) {
        self.look_up(now, rates, cache);
        let looked = self.state != LsuReason::Idle || self.refused.is_some();
        let passed = self.pass(now, rates, returns);
        if !looked {
            self.state = passed;
        }
    }

    /// The instruction that has just come is to be looked up after a while.
    #[inline(always)]
    pub fn prefetch_youngest(&self, cache: &impl DataCache) {
        if self.rates.is_none() {
            return;
        }
        if let Some(&place) = self.order[..self.queued].last() {
            let entry = &self.entries[place];
            if entry.target.kind().is_some() && entry.served < entry.accesses.len() as u32 {
                cache.prefetch(entry.next_line());
            }
        }
    }

    /// Looks up lines of the oldest instruction that is due and has any left.
    fn look_up(&mut self, now: Cycle, rates: Rates, cache: &mut impl DataCache) {
        let is_due = |entry: &Entry| entry.stage == Stage::Tags && entry.due <= now;
        let Some(place) = self.first(is_due) else { return };
        let entry = &mut self.entries[self.order[place]];
        let Some(kind) = entry.target.kind() else { return };
        if let Some(refusal) = Self::stands(&self.standing, cache) {
            (self.refused, self.state) = (Some(refusal), stall(refusal));
            return;
        }
        let total = entry.accesses.len() as u32;
        for _ in 0..rates.lines.min(total - entry.served) {
            let access = entry.next_access(kind);
            match Self::offer_one(&mut self.standing, self.refusal_blocks, now, access, cache) {
                Ok(outcome) => entry.hits += u16::from(outcome == Outcome::Hit),
                Err(refusal) => {
                    (self.refused, self.state) = (Some(refusal), stall(refusal));
                    if self.refusal_blocks == RefusalBlocks::Instruction {
                        self.order[place..self.queued].rotate_left(1);
                    }
                    return;
                }
            }
            entry.served += 1;
        }
        if entry.served < total {
            self.state = LsuReason::Coalescing;
            return;
        }
        self.state = LsuReason::Serving;
        if entry.hits == 0 {
            self.retire(place);
        } else {
            // The lanes of lines that missed take no part; which of them conflict is not known here.
            let of_hits = |passes: u32| (passes * u32::from(entry.hits)).div_ceil(total);
            (entry.passes, entry.least) =
                (of_hits(entry.passes), of_hits(entry.least.into()) as u8);
            entry.stage = Stage::Banks;
            self.in_banks += 1;
        }
    }

    /// Makes a pass of the oldest instruction that is due. Gives what that is in the ledger.
    fn pass(&mut self, now: Cycle, rates: Rates, returns: &mut Returns) -> LsuReason {
        if self.in_banks == 0 {
            return LsuReason::Idle;
        }
        let may_pass = |entry: &Entry| entry.stage == Stage::Banks && self.next_pass(entry) <= now;
        let Some(place) = self.first(may_pass) else {
            // An instruction between two of its passes, or one that is not there yet.
            let is_between = |entry: &Entry| entry.stage == Stage::Banks && entry.passed;
            let between = self.first(is_between);
            return between.map_or(LsuReason::Idle, |place| {
                let entry = &self.entries[self.order[place]];
                entry.pass_reason(entry.passes)
            });
        };
        if self.banks_are_taken(now) {
            return LsuReason::BankConflict;
        }
        let entry = &mut self.entries[self.order[place]];
        entry.passes -= 1;
        entry.passed = true;
        if entry.target == Target::Constants {
            entry.replay = now + rates.constant_replay;
            self.constants_due = now + rates.constant_interval;
        } else {
            self.warp_due[usize::from(entry.warp)] = now + rates.pass_interval;
        }
        if entry.passes > 0 {
            return entry.pass_reason(entry.passes);
        }
        match entry.target {
            Target::Shared | Target::Shuffle => returns.pass(now, &entry.waiter, entry.target),
            _ => returns.hit(now, &entry.waiter, entry.hits),
        }
        self.retire(place);
        LsuReason::Serving
    }

    /// When an instruction that has its lines may make its next pass.
    #[inline]
    fn next_pass(&self, entry: &Entry) -> Cycle {
        let free = match entry.target {
            Target::Constants => entry.replay.max(self.constants_due),
            _ => self.warp_due[usize::from(entry.warp)],
        };
        entry.due.max(free)
    }

    /// True when others have the banks.
    #[inline]
    fn banks_are_taken(&self, now: Cycle) -> bool {
        self.taken.iter().any(|[from, to]| (*from..*to).contains(&now))
    }

    /// The place of the oldest instruction of which this is true.
    #[inline]
    fn first(&self, is_it: impl Fn(&Entry) -> bool) -> Option<usize> {
        self.order[..self.queued].iter().position(|&entry| is_it(&self.entries[entry]))
    }

    /// As [`Lsu::next_event`].
    pub(super) fn next_stage_event(&self, now: Cycle) -> Cycle {
        let mut next = Cycle::NEVER;
        let (mut in_banks, mut in_tags) = (self.in_banks, self.queued - self.in_banks);
        for &entry in &self.order[..self.queued] {
            if in_banks == 0 && in_tags == 0 {
                break;
            }
            let entry = &self.entries[entry];
            match entry.stage {
                // Between two passes is a state of its own.
                Stage::Banks if entry.passed => return now + 1,
                Stage::Banks => {
                    in_banks -= 1;
                    next = next.min(self.next_pass(entry));
                }
                Stage::Tags if in_tags > 0 => {
                    // The first one is due first, unless others were let past one that was refused.
                    let is_ordered = self.refusal_blocks == RefusalBlocks::Unit;
                    in_tags = if is_ordered { 0 } else { in_tags - 1 };
                    next = next.min(if self.refused.is_some() { Cycle::NEVER } else { entry.due });
                }
                Stage::Tags => {}
            }
        }
        next.max(now + 1)
    }
}
