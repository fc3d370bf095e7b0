//! Whether sharing phases between threads pays: found out by measuring. The results are the same either way.
//!
//! Now and then the other way is tried. What work takes then is held against what it takes the usual way just before and just after: it
//! takes more at one time than at another, and a kernel begins with other work than it goes on with.

use std::time::{Duration, Instant};

/// Phases of a block, steps of the SM side: all that are worth it are shared, or none.
const BLOCK: u32 = 48;
/// Phases of each part of a trial that are not measured, as data has to come from other cores first, and those that are: fewer where
/// they take long, as with many SMs each takes a millisecond.
const WARM_UP: u32 = 3;
const TRIAL: u32 = 4 * BLOCK;
const LEAST_TRIAL: u32 = 9;
const LONG: Duration = Duration::from_millis(2);
/// Phases that are not asked after one that was not worth sharing, itself included: to ask takes time as well.
const REST: u32 = 12;
/// Blocks between two trials: so many at first, and twice as many after each that changes nothing, up to a limit.
const FIRST_WAIT: u32 = 4;
const LONGEST_WAIT: u32 = 64;
/// The other way is taken when it needs less than this part of the time, both of before and of after.
const GAIN: f64 = 0.95;

/// Which way phases go.
#[derive(Debug)]
pub struct Pace {
    /// All phases are shared, and nothing is asked.
    is_unasked: bool,
    /// Phases are shared, but for trials.
    is_shared: bool,
    part: Part,
    /// Phases left of this part: first some that are not measured, then others.
    warm_up: u32,
    phases: u32,
    /// Phases to come that are not asked whether they are worth it.
    rest: u32,
    /// Blocks until the next trial, and how many they were from the last one on.
    wait: u32,
    waits: u32,
    meter: Meter,
    /// What work took in the trial under way, before and the other way [ns].
    before: f64,
    other: f64,
}

/// What phases are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Nothing is measured.
    Block,
    /// A trial: the usual way, the other one, and the usual one again.
    Before,
    Other,
    After,
}

/// How long work takes.
#[derive(Debug, Default)]
struct Meter {
    /// When it began to count, and how much was done then.
    began: Option<(Instant, u64)>,
    time: Duration,
    work: u64,
}

impl Meter {
    fn start(&mut self, now: Instant, done: u64) {
        self.began = Some((now, done));
    }

    fn stop(&mut self, now: Instant, done: u64) {
        if let Some((began, from)) = self.began.take() {
            self.time += now - began;
            self.work += done - from;
        }
    }

    /// Whether it has counted more than `time`, by one clock.
    fn is_over(&self, time: Duration, clock: impl FnOnce() -> Instant) -> bool {
        self.began.is_some_and(|(began, _)| clock() - began + self.time > time)
    }

    /// The time that a unit of work took [ns], more than any where there was none; begins anew.
    fn take(&mut self) -> f64 {
        let Meter { time, work, .. } = std::mem::take(self);
        if work == 0 { f64::INFINITY } else { time.as_nanos() as f64 / work as f64 }
    }
}

impl Pace {
    /// Of a GPU that runs nothing.
    pub fn new() -> Self {
        Pace {
            is_unasked: false,
            is_shared: true,
            part: Part::Block,
            warm_up: 0,
            phases: BLOCK,
            rest: 0,
            wait: FIRST_WAIT,
            waits: FIRST_WAIT,
            meter: Meter::default(),
            before: 0.0,
            other: 0.0,
        }
    }

    /// The same, of which all phases are shared.
    pub fn unasked() -> Self {
        Pace { is_unasked: true, ..Pace::new() }
    }

    /// A kernel begins, before which so much work was done. What was found out before holds, and a trial goes on.
    pub fn begin(&mut self, done: u64) {
        self.rest = 0;
        if self.part != Part::Block && self.warm_up == 0 {
            self.meter.start(Instant::now(), done);
        }
    }

    /// The kernel has ended, with so much work done.
    pub fn end(&mut self, done: u64) {
        self.meter.stop(Instant::now(), done);
    }

    /// Whether phases are shared now that are worth it.
    #[inline]
    fn is_shared(&self) -> bool {
        self.is_shared != (self.part == Part::Other)
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

    /// Phases that go the same way without a look between them, at most.
    pub fn phases(&self) -> u32 {
        if self.warm_up > 0 { self.warm_up } else { self.phases.min(BLOCK) }
    }

    /// So many phases are over; `done` says how much work is done by now. Cycles would not do: in the last ones of a kernel there is
    /// less to do, whichever way they go.
    #[inline]
    pub fn pass(&mut self, phases: u32, done: impl FnOnce() -> u64) {
        self.pass_by(phases, done, Instant::now);
    }

    /// The same by another clock.
    #[inline]
    fn pass_by(&mut self, phases: u32, done: impl FnOnce() -> u64, clock: impl Fn() -> Instant) {
        self.rest = self.rest.saturating_sub(phases);
        if self.warm_up > 0 {
            self.warm_up = self.warm_up.saturating_sub(phases);
            if self.warm_up == 0 {
                self.meter.start(clock(), done());
            }
            return;
        }
        self.phases = self.phases.saturating_sub(phases);
        let takes_long = || {
            self.part != Part::Block
                && self.phases <= TRIAL - LEAST_TRIAL
                && self.meter.is_over(LONG, &clock)
        };
        if self.phases == 0 || takes_long() {
            self.meter.stop(clock(), done());
            self.end_part();
        }
    }

    /// Goes on to the next part.
    fn end_part(&mut self) {
        let next = match self.part {
            Part::Block => {
                self.wait -= 1;
                if self.wait > 0 { Part::Block } else { Part::Before }
            }
            Part::Before => {
                self.before = self.meter.take();
                Part::Other
            }
            Part::Other => {
                self.other = self.meter.take();
                Part::After
            }
            Part::After => {
                let usual = self.before.min(self.meter.take());
                if self.other < GAIN * usual {
                    self.is_shared = !self.is_shared;
                    self.waits = FIRST_WAIT;
                } else {
                    self.waits = (2 * self.waits).min(LONGEST_WAIT);
                }
                self.wait = self.waits;
                Part::Block
            }
        };
        self.start(next);
    }

    fn start(&mut self, part: Part) {
        let is_trial = part != Part::Block;
        self.part = part;
        (self.warm_up, self.phases) = if is_trial { (WARM_UP, TRIAL) } else { (0, BLOCK) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The part of many phases that are shared, when one takes so long [ns] by its number and whether it is shared.
    fn shared_part(cost: impl Fn(u32, bool) -> u64) -> f64 {
        const PHASES: u32 = 50_000;
        let mut pace = Pace::new();
        let (mut now, mut shared) = (Instant::now(), 0);
        for number in 0..PHASES {
            let is_shared = pace.ask(|| true);
            shared += u32::from(is_shared);
            now += Duration::from_nanos(cost(number, is_shared));
            pace.pass_by(1, || 10 * u64::from(number + 1), || now);
        }
        f64::from(shared) / f64::from(PHASES)
    }

    #[test]
    fn the_faster_way_is_taken_nearly_always_and_the_other_one_tried_at_times() {
        for long in [1, 1000] {
            let shared = shared_part(|_, is_shared| if is_shared { 1000 } else { 2000 } * long);
            assert!((0.97..1.0).contains(&shared), "{shared}");
            let shared = shared_part(|_, is_shared| if is_shared { 2000 } else { 1000 } * long);
            assert!((0.0001..0.04).contains(&shared), "{shared}");
        }
    }

    #[test]
    fn what_takes_longer_for_a_while_does_not_count_against_one_way() {
        // Every launch of a few hundred phases begins with work that is done soon.
        let cost =
            |number: u32, is_shared| (700 + number % 310 * 4) * if is_shared { 10 } else { 12 };
        let shared = shared_part(|number, is_shared| cost(number, is_shared).into());
        assert!(shared > 0.9, "{shared}");
        // Now and then a phase is held up.
        let held_up = |number: u32, is_shared: bool| {
            if number % 97 == 0 { 9 } else { u64::from(cost(number, is_shared)) }
        };
        let shared = shared_part(held_up);
        assert!(shared > 0.9, "{shared}");
    }

    #[test]
    fn a_trial_goes_on_in_the_next_kernel() {
        let mut pace = Pace::new();
        let mut done = 0;
        let mut parts = Vec::new();
        for _ in 0..100 {
            pace.begin(done);
            for _ in 0..BLOCK / 5 {
                done += 1;
                pace.pass(1, || done);
                if parts.last() != Some(&pace.part) {
                    parts.push(pace.part);
                }
            }
            pace.end(done);
        }
        assert_eq!(parts[..5], [Part::Block, Part::Before, Part::Other, Part::After, Part::Block]);
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
