//! Whether sharing phases between threads pays: found out by measuring. The results are the same either way.

use std::time::{Duration, Instant};

/// Phases of a block, steps of the SM side: all that are worth it are shared, or none.
const BLOCK: u32 = 48;
/// Phases of a block in which the other way is tried.
const TRIAL: u32 = 12;
/// A trial ends sooner when it has taken so long: with many SMs a phase alone takes milliseconds, and one says enough.
const TRIAL_TIME: Duration = Duration::from_millis(1);
/// Phases that are not asked after one that was not worth sharing, itself included: to ask takes time as well.
const REST: u32 = 12;
/// Blocks between two trials: so many at first, and twice as many after each that changes nothing, up to a limit.
const FIRST_WAIT: u32 = 4;
const LONGEST_WAIT: u32 = 64;
/// Blocks of which the fastest counts: others may have been held up by the system.
const KNOWN: usize = 4;
/// The other way is taken when it needs less than this part of the time: costs change from block to block.
const GAIN: f64 = 0.95;

/// Which way blocks go, and what work costs.
#[derive(Debug)]
pub struct Pace {
    /// All phases are shared, and nothing is asked.
    is_unasked: bool,
    /// Most blocks are shared.
    is_shared: bool,
    /// This block tries the other way.
    is_trial: bool,
    /// Phases to come that are not asked whether they are worth it.
    rest: u32,
    /// Phases left of this block.
    phases: u32,
    /// Blocks until the next trial, and how many they were from the last one on.
    wait: u32,
    waits: u32,
    began: Instant,
    from: u64,
    /// Nanoseconds for a unit of work in the last blocks.
    costs: [f64; KNOWN],
}

impl Pace {
    /// Of a GPU that runs nothing.
    pub fn new() -> Self {
        Pace {
            is_unasked: false,
            is_shared: true,
            is_trial: false,
            rest: 0,
            phases: BLOCK,
            wait: FIRST_WAIT,
            waits: FIRST_WAIT,
            began: Instant::now(),
            from: 0,
            costs: [f64::INFINITY; KNOWN],
        }
    }

    /// The same, of which all phases are shared.
    pub fn unasked() -> Self {
        Pace { is_unasked: true, ..Pace::new() }
    }

    /// A kernel begins, before which so much work was done. What was found out before holds.
    pub fn begin(&mut self, from: u64) {
        self.rest = 0;
        self.start_block();
        (self.began, self.from) = (Instant::now(), from);
    }

    /// Whether phases are shared now that are worth it.
    #[inline]
    fn is_shared(&self) -> bool {
        self.is_shared != self.is_trial
    }

    /// Whether the next phase is to be shared: where phases are shared, and it is found worth while. After one that is not,
    /// some are not asked.
    #[inline]
    pub fn ask(&mut self, is_worthy: impl FnOnce() -> bool) -> bool {
        if self.is_unasked {
            return true;
        }
        if !self.is_shared() || self.rest > 0 {
            return false;
        }
        let is_worthy = is_worthy();
        if !is_worthy {
            self.rest = REST;
        }
        is_worthy
    }

    /// Phases left of those that go the same way.
    pub fn phases(&self) -> u32 {
        self.phases
    }

    /// So many phases are over; `work` says how much is done by now. Cycles would not do: in the last ones of a kernel there is
    /// less to do, whichever way they go.
    #[inline]
    pub fn pass(&mut self, phases: u32, work: impl FnOnce() -> u64) {
        self.phases = self.phases.saturating_sub(phases);
        self.rest = self.rest.saturating_sub(phases);
        let takes_long = || self.is_trial && self.began.elapsed() > TRIAL_TIME;
        if self.phases == 0 || takes_long() {
            let (now, work) = (Instant::now(), work());
            self.end_block(now - self.began, work - self.from);
            (self.began, self.from) = (now, work);
        }
    }

    /// A block took `time` for so much work.
    fn end_block(&mut self, time: Duration, work: u64) {
        let cost = time.as_nanos() as f64 / work.max(1) as f64;
        if self.is_trial {
            self.end_trial(cost);
        } else {
            self.costs.rotate_right(1);
            self.costs[0] = cost;
            self.wait -= 1;
        }
        self.start_block();
    }

    fn start_block(&mut self) {
        self.is_trial = self.wait == 0;
        self.phases = if self.is_trial { TRIAL } else { BLOCK };
    }

    /// The other way has this cost.
    fn end_trial(&mut self, cost: f64) {
        let known = self.costs.iter().copied().fold(f64::INFINITY, f64::min);
        if cost < GAIN * known {
            self.is_shared = !self.is_shared;
            self.costs = [f64::INFINITY; KNOWN];
            self.costs[0] = cost;
            self.waits = FIRST_WAIT;
        } else {
            self.waits = (2 * self.waits).min(LONGEST_WAIT);
        }
        self.wait = self.waits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand blocks are shared when work costs so much alone and so much shared, and every
    /// seventh block is held up.
    fn shared_blocks(alone: u64, shared: u64) -> usize {
        let mut pace = Pace::new();
        let blocks = (0..1000).filter(|number| {
            let is_shared = pace.is_shared();
            let held_up = if number % 7 == 0 { 10 } else { 1 };
            let nanos = 1000 * held_up * if is_shared { shared } else { alone };
            pace.end_block(Duration::from_nanos(nanos), 1000);
            is_shared
        });
        blocks.count()
    }

    #[test]
    fn the_faster_way_is_taken_nearly_always_and_the_other_one_tried_at_times() {
        assert!((960..1000).contains(&shared_blocks(20, 10)));
        assert!((5..40).contains(&shared_blocks(10, 20)));
    }

    #[test]
    fn a_kernel_may_end_in_the_middle_of_a_trial() {
        let mut pace = Pace::new();
        while !pace.is_trial {
            pace.pass(1, || 100);
        }
        pace.begin(100);
        assert!(pace.is_trial);
        for done in 0..10 * BLOCK {
            pace.pass(1, || u64::from(100 + done));
        }
    }

    #[test]
    fn phases_after_one_that_was_not_worth_sharing_are_not_asked() {
        let mut pace = Pace::new();
        pace.begin(7);
        for phase in 0..BLOCK {
            let mut is_asked = false;
            let is_worthy = pace.ask(|| {
                is_asked = true;
                false
            });
            assert_eq!((is_worthy, is_asked), (false, phase % REST == 0));
            pace.pass(1, || 8);
        }
    }
}
