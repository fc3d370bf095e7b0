//! Whether sharing phases between threads pays: found out by measuring. The results are the same either way.
//!
//! Now and then the other way is tried. What work takes then is held against what it takes the usual way just before and just after: it
//! takes more at one time than at another, and a kernel begins with other work than it goes on with.

use std::time::{Duration, Instant};

/// Phases of a block, steps of the SM side: all that are worth it are shared, or none.
const BLOCK: u32 = 48;
/// Phases of each part of a trial that are not measured, as data has to come from other cores first.
const WARM_UP: u32 = 3;
/// Blocks that are measured then. A part ends sooner when it has taken so long, but for some phases: with many SMs each takes a millisecond.
const TRIAL: u32 = 4;
const LONG: Duration = Duration::from_millis(1);
const LEAST_TRIAL: u32 = 9;
/// Phases that are not asked after one that was not worth sharing, itself included: to ask takes time as well.
const REST: u32 = 12;
/// Blocks between two trials: so many at first, and twice as many after each that changes nothing, up to a limit.
const FIRST_WAIT: u32 = 4;
const LONGEST_WAIT: u32 = 128;
/// The other way is taken when it needs less than this part of the time, both of before and of after.
const GAIN: f64 = 0.95;
/// A trial is over after any block in which the other way has needed more than this part of the time of before.
const LOST: f64 = 1.25;

/// Which way phases go.
#[derive(Debug)]
pub struct Pace {
    /// All phases are shared, and nothing is asked.
    is_unasked: bool,
    /// Phases are shared, but for trials.
    is_shared: bool,
    part: Part,
    /// What is left of it: phases that are not measured, phases of the block under way, and blocks with that one.
    warm_up: u32,
    phases: u32,
    blocks: u32,
    /// Phases to come that are not asked whether they are worth it.
    rest: u32,
    /// Blocks between the last trial and the next one.
    wait: u32,
    meter: Meter,
    /// What work took in the trial under way, before and the other way [ns].
    before: f64,
    other: f64,
}

/// What phases are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Nothing is measured.
    Usual,
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

    /// The time that a unit of work took [ns], more than any where there was none.
    fn cost(&self) -> f64 {
        match self.work {
            0 => f64::INFINITY,
            work => self.time.as_nanos() as f64 / work as f64,
        }
    }
}

impl Pace {
    /// Of a GPU that runs nothing.
    pub fn new() -> Self {
        Pace {
            is_unasked: false,
            is_shared: true,
            part: Part::Usual,
            warm_up: 0,
            phases: BLOCK,
            blocks: FIRST_WAIT,
            rest: 0,
            wait: FIRST_WAIT,
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
        if self.part != Part::Usual && self.warm_up == 0 {
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
        if self.warm_up > 0 { self.warm_up } else { self.phases }
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
        let is_trial = self.part != Part::Usual;
        let takes_long =
            is_trial && self.phases <= BLOCK - LEAST_TRIAL && self.meter.is_over(LONG, &clock);
        if self.phases > 0 && !takes_long {
            return;
        }
        (self.phases, self.blocks) = (BLOCK, self.blocks - 1);
        let (mut is_over, mut is_lost) = (self.blocks == 0 || takes_long, false);
        if is_trial {
            let (now, done) = (clock(), done());
            self.meter.stop(now, done);
            self.meter.start(now, done);
            is_lost = self.part == Part::Other && self.meter.cost() > LOST * self.before;
            is_over |= is_lost;
        }
        if is_over {
            self.end_part(is_lost);
        }
    }

    /// Goes on to the next part, or to none where the trial is lost.
    fn end_part(&mut self, is_lost: bool) {
        let cost = std::mem::take(&mut self.meter).cost();
        let next = match self.part {
            Part::Usual => Part::Before,
            Part::Before => {
                self.before = cost;
                Part::Other
            }
            Part::Other if !is_lost => {
                self.other = cost;
                Part::After
            }
            Part::After if self.other < GAIN * self.before.min(cost) => {
                self.is_shared = !self.is_shared;
                self.wait = FIRST_WAIT;
                Part::Usual
            }
            Part::Other | Part::After => {
                self.wait = (2 * self.wait).min(LONGEST_WAIT);
                Part::Usual
            }
        };
        self.part = next;
        (self.warm_up, self.blocks) = match next {
            Part::Usual => (0, self.wait),
            _ => (WARM_UP, TRIAL),
        };
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
        // Sharing takes five sixths of the time. A kernel begins with phases that are done soon, and now and then one is held up.
        let cost = |number: u32, is_shared: bool| {
            let at_first = if number % 700 < 60 { 4 } else { 10 };
            let held_up = if number.is_multiple_of(97) { 9 } else { 1 };
            at_first * held_up * if is_shared { 500 } else { 600 }
        };
        let shared = shared_part(cost);
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
        assert_eq!(parts[..3], [Part::Usual, Part::Before, Part::Other]);
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
