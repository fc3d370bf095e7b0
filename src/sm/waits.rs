//! Outstanding load instructions, and the schedulers' waits for them.
//!
//! A scheduler that cannot issue because its warps wait for memory charges the cycle to its oldest
//! outstanding access. Where that access is, is known when it is done: until then the cycles are kept
//! as spans, and then each is split by the access's journey. Nothing has to be asked of the rest of
//! the machine while the access is on its way. The wait that has not ended is the scheduler's affair: it knows since when.

use super::copies::NO_GROUP;
use super::journey::Journey;
use super::sub_core::{Slot, SubCore};
use crate::isa::Operands;
use crate::prefetch::prefetch_at;
use crate::stats::IssueLedger;
use crate::units::Cycle;

/// Places to begin with: as many as most kernels need.
const AT_FIRST: usize = 512;
/// No place.
const NONE: u32 = u32::MAX;

/// One outstanding load instruction.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Tracker {
    /// Its warp slot.
    pub warp: u8,
    /// The scheduler of that.
    scheduler: u8,
    /// Registers that wait for it.
    pub dsts: Operands,
    /// Accesses whose data has not arrived.
    pub remaining: u16,
    /// The group of an asynchronous copy; [`NO_GROUP`] of any other load.
    pub group: u8,
    /// The outstanding instructions of the scheduler that were issued last before it and next after it.
    before: u32,
    behind: u32,
}

/// The outstanding instructions of one scheduler, and the cycles waited for the oldest one.
#[derive(Clone, Debug)]
struct Waits {
    oldest: u32,
    youngest: u32,
    /// Cycles waited for the oldest one, in waits that have ended.
    spans: Vec<(Cycle, Cycle)>,
}

/// Every outstanding load instruction of an SM.
#[derive(Clone, Debug)]
pub struct Outstanding {
    trackers: Vec<Tracker>,
    free: Vec<u32>,
    /// By scheduler.
    waits: Box<[Waits]>,
}

impl Outstanding {
    /// None, for so many schedulers.
    pub fn new(schedulers: usize) -> Self {
        Outstanding {
            trackers: Vec::with_capacity(AT_FIRST),
            free: Vec::with_capacity(AT_FIRST),
            waits: (0..schedulers)
                .map(|_| Waits {
                    oldest: NONE,
                    youngest: NONE,
                    spans: Vec::with_capacity(AT_FIRST),
                })
                .collect(),
        }
    }

    /// Notes an instruction of `accesses` accesses, issued by `scheduler`; gives its place.
    #[inline(always)]
    pub fn add(&mut self, warp: usize, dsts: Operands, accesses: u16, scheduler: usize) -> u32 {
        let waits = &mut self.waits[scheduler];
        let (warp, scheduler, remaining) = (warp as u8, scheduler as u8, accesses);
        let before = waits.youngest;
        let tracker =
            Tracker { warp, scheduler, dsts, remaining, group: NO_GROUP, before, behind: NONE };
        let place = match self.free.pop() {
            Some(place) => {
                self.trackers[place as usize] = tracker;
                place
            }
            None => {
                self.trackers.push(tracker);
                self.trackers.len() as u32 - 1
            }
        };
        waits.youngest = place;
        if before == NONE {
            waits.oldest = place;
        } else {
            self.trackers[before as usize].behind = place;
        }
        place
    }

    /// The instruction at `place` is looked at soon.
    #[inline(always)]
    pub fn prefetch(&self, place: u32) {
        prefetch_at(&self.trackers, place as usize);
    }

    /// The place that the next [`Outstanding::add`] will give.
    #[inline]
    pub fn next_place(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.trackers.len() as u32)
    }

    /// True when an instruction of `scheduler` is outstanding.
    pub fn has_any(&self, scheduler: usize) -> bool {
        self.waits[scheduler].oldest != NONE
    }

    /// `scheduler` has waited for its oldest outstanding instruction in the cycles `from..to`, and no longer does.
    #[inline(never)]
    pub fn note_wait(&mut self, scheduler: usize, from: Cycle, to: Cycle) {
        if from < to {
            self.waits[scheduler].spans.push((from, to));
        }
    }

    /// The instruction at `place`, which has been added, and not again since it was done.
    #[inline]
    pub fn at_mut(&mut self, place: u32) -> &mut Tracker {
        &mut self.trackers[place as usize]
    }

    /// The instruction at `place` has all of its data at `now`: its waits are explained by the journey of the last access.
    #[inline(always)]
    pub fn remove(
        &mut self,
        now: Cycle,
        place: u32,
        journey: &Journey,
        sub_cores: &mut [SubCore],
        ledger: &mut IssueLedger,
    ) -> &Tracker {
        let Tracker { scheduler, before, behind, .. } = self.trackers[place as usize];
        let waits = &mut self.waits[usize::from(scheduler)];
        if before == NONE {
            waits.oldest = behind;
            if !waits.spans.is_empty() {
                journey.explain_all(&waits.spans, ledger);
                waits.spans.clear();
            }
            let SubCore { slot, since, .. } = &mut sub_cores[usize::from(scheduler)];
            if *slot == Slot::MEMORY && *since < now {
                journey.explain(*since, now, ledger);
                *since = now;
            }
        } else {
            self.trackers[before as usize].behind = behind;
        }
        if behind == NONE {
            waits.youngest = before;
        } else {
            self.trackers[behind as usize].before = before;
        }
        self.free.push(place);
        &self.trackers[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::machine::Policy;
    use crate::parts::Waiter;
    use crate::stats::IssueReason;

    #[test]
    fn a_wait_is_that_for_the_oldest_whatever_is_done_first() {
        let mut outstanding = Outstanding::new(1);
        let mut sub_cores = [SubCore::new(Policy::Gto, 0, 1, 8)];
        let mut ledger = IssueLedger::default();
        let [first, second, third] =
            [0, 1, 2].map(|warp| outstanding.add(warp, Operands::NONE, 1, 0));
        (sub_cores[0].slot, sub_cores[0].since) = (Slot::MEMORY, Cycle(10));
        let waiter = Waiter { issued: Cycle(5).into(), accepted: Cycle(5).into(), tracker: 0 };
        // Who is in the middle, or the oldest with nobody waiting, and the last one; what is charged by then.
        for (now, place, charged) in [(20, second, 0), (30, first, 20), (45, third, 35)] {
            let journey = Journey::hit(&waiter, Cycle(now));
            outstanding.remove(Cycle(now), place, &journey, &mut sub_cores, &mut ledger);
            assert_eq!(ledger.part(IssueReason::MemoryL1), charged);
            assert_eq!(outstanding.has_any(0), place != third);
        }
        let again = outstanding.add(3, Operands::NONE, 1, 0);
        outstanding.note_wait(0, Cycle(50), Cycle(52));
        sub_cores[0].slot = Slot::LSU;
        let journey = Journey::hit(&waiter, Cycle(60));
        outstanding.remove(Cycle(60), again, &journey, &mut sub_cores, &mut ledger);
        assert_eq!((ledger.part(IssueReason::MemoryL1), outstanding.has_any(0)), (37, false));
    }
}
