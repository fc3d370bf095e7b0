//! The instruction caches: when the next instruction of a warp is there.
//!
//! Each sub-core has a small cache, and the SM a larger one behind these. Lines come in groups. When a warp comes to another group, the
//! sub-core asks for what it lacks of the next one, which enters the cache when it is used. What does not fit into the SM's
//! cache comes from the L2, in a time that does not depend on what else is there. Caches begin as a pass through the kernel's code
//! leaves them, as kernels run more than once; so code that fits into the small cache never waits, and nobody looks. A warp's first
//! instruction comes with the warp.

use std::ops::Range;

use super::warps::Warps;
use crate::config::machine::{Fetching, InstructionCache};
use crate::units::Cycle;

/// What an SM knows of its instruction caches. What every issue looks at is small.
#[derive(Clone, Debug, Default)]
pub struct Fetch {
    /// A warp may have to wait for an instruction of the present program.
    may_wait: bool,
    /// None where every instruction is always there.
    caches: Option<Box<Caches>>,
}

/// The instruction caches of one SM.
#[derive(Clone, Debug)]
struct Caches {
    /// Instructions of a line.
    per_line: u32,
    near: Box<[Near]>,
    far: Cache,
}

/// Lines that a sub-core has asked for ahead and not used; a choice of the model.
const AHEAD: usize = 16;

/// The cache of a sub-core.
#[derive(Clone, Debug)]
struct Near {
    cache: Cache,
    /// The group that a warp came to last.
    group: u32,
    /// Lines that were asked for ahead, and when they are there.
    ahead: [(u32, Cycle); AHEAD],
    /// Place of the one that was asked for first.
    oldest: usize,
}

/// One cache.
#[derive(Clone, Debug)]
struct Cache {
    sets: u32,
    ways: usize,
    /// Lines of a group.
    group: u32,
    /// [core cycles]
    latency: u64,
    /// Lines that it holds.
    capacity: u32,
    /// None before a program needs them.
    lines: Vec<Line>,
    /// Grows with every use.
    uses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its number in the program.
    number: u32,
    last_use: u64,
    /// When it is there.
    there: Cycle,
}

impl Line {
    const NONE: Line = Line { number: u32::MAX, last_use: 0, there: Cycle(0) };
}

impl Fetch {
    /// Of an SM with so many sub-cores.
    pub fn new(fetching: &Fetching, sub_cores: usize) -> Self {
        let Fetching::Caches { instruction, line, sub_core, sm } = fetching else {
            return Fetch::default();
        };
        let near = Near::new(Cache::new(sub_core, line.get()));
        let caches = Caches {
            per_line: line.get() / instruction.get(),
            near: vec![near; sub_cores].into(),
            far: Cache::new(sm, line.get()),
        };
        Fetch { may_wait: false, caches: Some(Box::new(caches)) }
    }

    /// Makes ready for a program of so many instructions.
    pub fn prepare(&mut self, instructions: usize) {
        let Some(caches) = &mut self.caches else { return };
        let lines = instructions.div_ceil(caches.per_line as usize) as u32;
        self.may_wait = caches.near[0].cache.capacity < lines;
        if self.may_wait {
            caches.near.iter_mut().for_each(|near| near.pass_through(lines));
            caches.far.pass_through(lines);
        }
    }

    /// Whether a warp's next instruction is not there at `earliest`. The warp is then filed until it is.
    #[inline(always)]
    pub fn holds_up(
        &mut self,
        warps: &mut Warps,
        now: Cycle,
        warp: usize,
        earliest: Cycle,
    ) -> bool {
        self.may_wait && self.makes_wait(warps, now, warp, earliest)
    }

    #[inline(never)]
    fn makes_wait(&mut self, warps: &mut Warps, now: Cycle, warp: usize, earliest: Cycle) -> bool {
        let there = self.ask(earliest, warp, warps.pc(warp));
        if there > earliest {
            warps.wait_for_instruction(warp, now, there);
        }
        there > earliest
    }

    /// When the instruction at `pc` is there for a warp that comes to it at `at`.
    fn ask(&mut self, at: Cycle, warp: usize, pc: usize) -> Cycle {
        self.caches.as_mut().map_or(at, |caches| caches.ask(at, warp, pc))
    }
}

impl Caches {
    fn ask(&mut self, at: Cycle, warp: usize, pc: usize) -> Cycle {
        let Caches { near, far, per_line } = self;
        // Sub-cores share the warps in turn.
        let sub_core = warp % near.len();
        let near = &mut near[sub_core];
        let line = pc as u32 / *per_line;
        let there = match near.cache.find(line) {
            Some(found) => at.max(found.there),
            None => near.miss(far, line, at),
        };
        let group = line / near.cache.group;
        if group != near.group {
            near.group = group;
            near.ask_ahead(far, (group + 1) * near.cache.group, there);
        }
        there
    }
}

impl Near {
    const NOTHING: (u32, Cycle) = (u32::MAX, Cycle(0));

    fn new(cache: Cache) -> Self {
        Near { cache, group: u32::MAX, ahead: [Near::NOTHING; AHEAD], oldest: 0 }
    }

    /// As [`Cache::pass_through`], with nothing asked for.
    fn pass_through(&mut self, lines: u32) {
        (self.group, self.ahead, self.oldest) = (u32::MAX, [Near::NOTHING; AHEAD], 0);
        self.cache.pass_through(lines);
    }

    /// Lines to the end of the group that begins with `line` or holds it.
    fn rest(&self, line: u32) -> Range<u32> {
        line..(line / self.cache.group + 1) * self.cache.group
    }

    /// Uses a line at `at` that is not in the cache; gives when it is there.
    fn miss(&mut self, far: &mut Cache, line: u32, at: Cycle) -> Cycle {
        if let Some(place) = self.ahead.iter().position(|(number, _)| *number == line) {
            let (_, there) = self.ahead[place];
            self.cache.take(line, there);
            return at.max(there);
        }
        let there = far.give(line, at) + self.cache.latency;
        self.rest(line).for_each(|line| self.cache.take(line, there));
        there
    }

    /// Asks at `at` for what is missing of the group that begins with `first`.
    fn ask_ahead(&mut self, far: &mut Cache, first: u32, at: Cycle) {
        for line in self.rest(first) {
            let is_ahead = self.ahead.iter().any(|(number, _)| *number == line);
            if !is_ahead && !self.cache.holds(line) {
                self.ahead[self.oldest] = (line, far.give(line, at) + self.cache.latency);
                self.oldest = (self.oldest + 1) % AHEAD;
            }
        }
    }
}

impl Cache {
    fn new(config: &InstructionCache, line: u32) -> Self {
        let InstructionCache { size, ways, group, latency } = config;
        let lines = size.get() / line;
        Cache {
            sets: lines / ways.get(),
            ways: ways.size(),
            group: group.get(),
            latency: latency.cycles(),
            capacity: lines,
            lines: Vec::new(),
            uses: 0,
        }
    }

    /// Holds what a pass through the lines below `lines` leaves.
    fn pass_through(&mut self, lines: u32) {
        self.lines.clear();
        self.lines.resize(self.capacity as usize, Line::NONE);
        for line in lines.saturating_sub(self.capacity)..lines {
            self.take(line, Cycle(0));
        }
    }

    fn set(&mut self, line: u32) -> &mut [Line] {
        let first = (line % self.sets) as usize * self.ways;
        &mut self.lines[first..][..self.ways]
    }

    fn holds(&mut self, line: u32) -> bool {
        self.set(line).iter().any(|one| one.number == line)
    }

    /// Uses a line, unless it is missing.
    fn find(&mut self, line: u32) -> Option<&mut Line> {
        self.uses += 1;
        let uses = self.uses;
        let found = self.set(line).iter_mut().find(|one| one.number == line)?;
        found.last_use = uses;
        Some(found)
    }

    /// When a line is here that is asked for at `at`; with one that is missing its group comes from the L2.
    fn give(&mut self, line: u32, at: Cycle) -> Cycle {
        if let Some(found) = self.find(line) {
            return at.max(found.there);
        }
        let there = at + self.latency;
        let first = line - line % self.group;
        (first..first + self.group).for_each(|line| self.take(line, there));
        there
    }

    /// Takes a line, unless it is here or on its way, in the place of the one that was used least recently.
    fn take(&mut self, line: u32, there: Cycle) {
        if self.holds(line) {
            return;
        }
        self.uses += 1;
        let last_use = self.uses;
        if let Some(oldest) = self.set(line).iter_mut().min_by_key(|one| one.last_use) {
            *oldest = Line { number: line, last_use, there };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Caches of 8 and of 32 lines with four ways, of four instructions a line.
    fn small() -> Fetch {
        let text = "Caches(
            instruction: 16, line: 64,
            sub_core: (size: 512, ways: 4, group: 2, latency: 10),
            sm: (size: 2048, ways: 4, group: 4, latency: 100),
        )";
        Fetch::new(&ron::from_str(text).unwrap(), 3)
    }

    /// Executes instructions in order, one a cycle where they are there; gives how long each was waited for.
    fn execute(fetch: &mut Fetch, from: Cycle, pcs: std::ops::Range<usize>) -> Vec<u64> {
        let mut now = from;
        pcs.map(|pc| {
            let there = fetch.ask(now, 0, pc);
            let waited = there - now;
            now = there + 1;
            waited
        })
        .collect()
    }

    #[test]
    fn code_that_fits_never_waits() {
        let mut fetch = small();
        fetch.prepare(32);
        assert!(!fetch.may_wait);
        fetch.prepare(33);
        assert!(fetch.may_wait);
        let mut ideal = Fetch::new(&Fetching::Ideal, 2);
        ideal.prepare(1 << 20);
        assert!(!ideal.may_wait);
    }

    #[test]
    fn the_next_group_comes_while_one_is_executed() {
        let mut fetch = small();
        // 16 lines: the sub-core has the last eight, the SM all. A group is eight instructions.
        fetch.prepare(64);
        let mut want = [0; 24];
        (want[0], want[8], want[16]) = (10, 2, 2);
        assert_eq!(execute(&mut fetch, Cycle(1000), 0..24), want);
        assert_eq!(fetch.ask(Cycle(2000), 1, 63), Cycle(2000));
        // A second warp finds what is on its way; another sub-core asks for itself.
        assert_eq!(fetch.ask(Cycle(2000), 1, 0), Cycle(2010));
        assert_eq!(fetch.ask(Cycle(2003), 4, 2), Cycle(2010));
        assert_eq!(fetch.ask(Cycle(2003), 2, 2), Cycle(2013));
        // Who takes longer waits for nothing.
        assert_eq!(fetch.ask(Cycle(2050), 1, 8), Cycle(2050));
        // Another kernel begins anew.
        fetch.prepare(64);
        assert_eq!(fetch.ask(Cycle(3000), 1, 0), Cycle(3010));
    }

    #[test]
    fn what_does_not_fit_into_the_sm_comes_from_the_l2() {
        let mut fetch = small();
        // 64 lines, of which the SM has the last 32.
        fetch.prepare(256);
        // Groups of four lines come to the SM, and of two from there.
        let waited = execute(&mut fetch, Cycle(1000), 0..48);
        assert_eq!(
            (waited[0], waited[8], waited[16], waited[24], waited[32]),
            (110, 2, 102, 2, 102)
        );
        assert_eq!(waited.iter().sum::<u64>(), 110 + 2 + 102 + 2 + 102 + 2);
        assert_eq!(fetch.ask(Cycle(1000), 1, 0), Cycle(1110), "the SM's cache waits for it");
    }

    #[test]
    fn a_loop_that_is_little_too_long_misses_in_few_sets() {
        let mut fetch = small();
        // Nine lines where eight fit: of two sets of four ways one has five lines.
        fetch.prepare(36);
        let misses = |waited: Vec<u64>| waited.iter().filter(|waited| **waited > 0).count();
        let all: usize =
            (1..=10).map(|turn| misses(execute(&mut fetch, Cycle(1000 * turn), 0..36))).sum();
        assert!((10..=50).contains(&all), "{all}");
    }
}
