//! Warp schedulers: which eligible warp issues. One file a policy.
//!
//! Sets of warps are bit masks over the SM's warp slots.

mod ages;
mod glrr;
mod gto;
mod lrr;
mod oldest;
mod two_level;

pub use ages::Ages;

use crate::config::machine::Policy;
use crate::units::Cycle;

/// Warp slots of an SM: one bit each in a mask.
pub const SLOTS: usize = 64;

/// What a policy may look at.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// Warps that can issue now.
    pub eligible: u64,
    /// Warps that wait for memory, at a barrier, or are not there.
    pub waiting: u64,
    /// Which warp came to the SM before which.
    pub ages: &'a Ages,
    /// The cycle.
    pub now: Cycle,
}

/// The state of one scheduler's policy.
#[derive(Clone, Debug)]
pub struct Scheduler {
    policy: Policy,
    /// The warp that issued last.
    last: usize,
    /// When that was.
    issued: Cycle,
    /// The active set of the two-level policy.
    active: u64,
}

impl Scheduler {
    /// A scheduler that has issued nothing.
    pub fn new(policy: Policy) -> Self {
        Scheduler { policy, last: SLOTS - 1, issued: Cycle(0), active: 0 }
    }

    /// The active set of the two-level policy, as it was after the last choice; others have none.
    pub fn active(&self) -> u64 {
        self.active
    }

    /// Chooses one of the eligible warps; none only when there is none, or when the two-level policy
    /// has none of them in its active set.
    #[inline(always)]
    pub fn pick(&mut self, candidates: Candidates) -> Option<usize> {
        let warp = match self.policy {
            Policy::Lrr => lrr::pick(candidates.eligible, self.last),
            Policy::Gto => gto::pick(candidates, self.last),
            Policy::Glrr { within } => {
                let keeps = candidates.now <= self.issued + within.cycles();
                glrr::pick(candidates.eligible, self.last, keeps)
            }
            Policy::Oldest => oldest::pick(candidates),
            Policy::TwoLevel { active } => {
                two_level::refill(&mut self.active, candidates, self.last, active.get());
                lrr::pick(candidates.eligible & self.active, self.last)
            }
        }?;
        (self.last, self.issued) = (warp, candidates.now);
        Some(warp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Bounded;

    /// Slot 5 is the oldest, then 6, ...
    fn ages() -> Ages {
        let mut ages = Ages::default();
        (0..SLOTS).for_each(|number| ages.come((number + 5) % SLOTS));
        ages
    }

    fn picks(policy: Policy, rounds: &[(u64, u64)]) -> Vec<Option<usize>> {
        let mut scheduler = Scheduler::new(policy);
        let ages = ages();
        let pick = |(&(eligible, waiting), now): (&(u64, u64), u64)| {
            scheduler.pick(Candidates { eligible, waiting, ages: &ages, now: Cycle(now) })
        };
        rounds.iter().zip(1..).map(pick).collect()
    }

    #[test]
    fn lrr_takes_the_next_eligible_warp_after_the_last() {
        let all = 0b1101;
        assert_eq!(picks(Policy::Lrr, &[(all, 0); 4]), [Some(0), Some(2), Some(3), Some(0)]);
    }

    #[test]
    fn gto_stays_with_its_warp_and_then_takes_the_oldest() {
        let seen = picks(Policy::Gto, &[(0b110_0011, 0), (0b110_0011, 0), (0b100_0011, 0)]);
        assert_eq!(seen, [Some(5), Some(5), Some(6)]);
    }

    #[test]
    fn glrr_stays_with_its_warp_for_a_while_and_then_takes_the_next_one() {
        let mut scheduler = Scheduler::new(Policy::Glrr { within: Bounded::new(2).unwrap() });
        let ages = ages();
        let mut pick = |now, eligible| {
            scheduler.pick(Candidates { eligible, waiting: 0, ages: &ages, now: Cycle(now) })
        };
        assert_eq!([pick(10, 0b1101), pick(11, 0b1101), pick(13, 0b1101)], [Some(0); 3]);
        assert_eq!([pick(14, 0b1100), pick(15, 0b1101)], [Some(2); 2]);
        // After three cycles it is another one's turn.
        assert_eq!([pick(18, 0b1101), pick(21, 0b1101)], [Some(3), Some(0)]);
    }

    #[test]
    fn oldest_leaves_its_warp_for_an_older_one() {
        let seen = picks(Policy::Oldest, &[(0b100_0000, 0), (0b110_0000, 0)]);
        assert_eq!(seen, [Some(6), Some(5)]);
    }

    #[test]
    fn two_level_issues_from_its_active_set_until_a_member_waits_for_memory() {
        let policy = Policy::TwoLevel { active: Bounded::new(2).unwrap() };
        let all = 0b1111;
        let seen = picks(policy, &[(all, 0), (all, 0), (all, 0), (all & !1, 1), (all & !1, 1)]);
        assert_eq!(seen, [Some(0), Some(1), Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn no_eligible_warp_is_no_pick() {
        for policy in [Policy::Lrr, Policy::Gto, Policy::Oldest] {
            assert_eq!(picks(policy, &[(0, 0)]), [None]);
        }
    }
}
