//! The instruction caches: when the next instruction of a warp is there.
//!
//! Each sub-core has a small cache, and the SM a larger one behind these. Lines come in groups. When a warp comes to another group, the
//! sub-core asks for what it lacks of the next one, which enters the cache when it is used. What does not fit into the SM's
//! cache comes from the L2, in a time that does not depend on what else is there. Caches begin as a pass through the kernel's code
//! leaves them, as kernels run more than once; so code that fits into the small cache never waits, and nobody looks. A warp's first
//! instruction comes with the warp.

use std::ops::Range;

use super::warps::Warps;
use crate::config::machine::{Fetching, InstructionCache, Replacement, SetIndex};
use crate::parts::{Lookup, Place, TagArray};
use crate::units::{Cycle, LineAddr};

/// What an SM knows of its instruction caches. What every issue looks at is small.
#[derive(Clone, Debug)]
pub struct Fetch {
    config: Fetching,
    sub_cores: usize,
    /// None where no instruction of the present program is waited for.
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

/// One cache: of each line, when it is there.
#[derive(Clone, Debug)]
struct Cache {
    tags: TagArray<Cycle>,
    /// Lines of a group.
    group: u32,
    /// [core cycles]
    latency: u64,
}

impl Fetch {
    /// Of an SM with so many sub-cores.
    pub fn new(config: &Fetching, sub_cores: usize) -> Self {
        Fetch { config: config.clone(), sub_cores, caches: None }
    }

    /// Makes ready for a program of so many instructions.
    pub fn prepare(&mut self, instructions: usize) {
        self.caches = Caches::new(&self.config, self.sub_cores, instructions).map(Box::new);
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
        match &mut self.caches {
            Some(caches) => caches.hold_up(warps, now, warp, earliest),
            None => false,
        }
    }
}

impl Caches {
    /// As a pass through a program of so many instructions leaves them; none where those of the sub-cores hold all of it.
    fn new(config: &Fetching, sub_cores: usize, instructions: usize) -> Option<Self> {
        let Fetching::Caches { instruction, line, sub_core, sm } = config else { return None };
        let per_line = line.get() / instruction.get();
        let lines = instructions.div_ceil(per_line as usize) as u32;
        if lines <= sub_core.size.get() / line.get() {
            return None;
        }
        let near = Near::new(Cache::new(sub_core, line.get(), lines));
        let far = Cache::new(sm, line.get(), lines);
        Some(Caches { per_line, near: vec![near; sub_cores].into(), far })
    }

    /// As [`Fetch::holds_up`].
    #[inline(never)]
    fn hold_up(&mut self, warps: &mut Warps, now: Cycle, warp: usize, earliest: Cycle) -> bool {
        let there = self.ask(earliest, warp, warps.pc(warp));
        if there > earliest {
            warps.wait_for_instruction(warp, now, there);
        }
        there > earliest
    }

    /// When the instruction at `pc` is there for a warp that comes to it at `at`.
    fn ask(&mut self, at: Cycle, warp: usize, pc: usize) -> Cycle {
        let Caches { near, far, per_line } = self;
        // Sub-cores share the warps in turn.
        let sub_core = warp % near.len();
        let near = &mut near[sub_core];
        let line = pc as u32 / *per_line;
        let there = match near.cache.find(line) {
            Some(there) => at.max(there),
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
    fn new(cache: Cache) -> Self {
        Near { cache, group: u32::MAX, ahead: [(u32::MAX, Cycle(0)); AHEAD], oldest: 0 }
    }

    /// Lines to the end of the group that begins with `line` or holds it.
    fn rest(&self, line: u32) -> Range<u32> {
        line..(line / self.cache.group + 1) * self.cache.group
    }

    /// Uses a line at `at` that is not in the cache; gives when it is there.
    fn miss(&mut self, far: &mut Cache, line: u32, at: Cycle) -> Cycle {
        if let Some(place) = self.ahead.iter().position(|(number, _)| *number == line) {
            let (_, there) = std::mem::replace(&mut self.ahead[place], (u32::MAX, Cycle(0)));
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
    /// Holds what a pass through the lines below `lines` leaves.
    fn new(config: &InstructionCache, line: u32, lines: u32) -> Self {
        let InstructionCache { size, ways, group, latency } = config;
        let capacity = size.get() / line;
        let sets = (capacity / ways.get()) as usize;
        let tags = TagArray::new(sets, ways.size(), SetIndex::Linear, Replacement::Lru);
        let mut cache = Cache { tags, group: group.get(), latency: latency.cycles() };
        for line in lines.saturating_sub(capacity)..lines {
            cache.take(line, Cycle(0));
        }
        cache
    }

    fn holds(&self, line: u32) -> bool {
        matches!(self.tags.lookup(LineAddr(line.into())), Lookup::Present(_))
    }

    /// Uses a line, unless it is missing; when it is there.
    fn find(&mut self, line: u32) -> Option<Cycle> {
        let Lookup::Present(way) = self.tags.lookup(LineAddr(line.into())) else { return None };
        self.tags.touch(way);
        Some(self.tags[way])
    }

    /// When a line is here that is asked for at `at`; with one that is missing its group comes from the L2.
    fn give(&mut self, line: u32, at: Cycle) -> Cycle {
        if let Some(there) = self.find(line) {
            return at.max(there);
        }
        let there = at + self.latency;
        let first = line - line % self.group;
        (first..first + self.group).for_each(|line| self.take(line, there));
        there
    }

    /// Takes a line, unless it is here or on its way, in the place of the one that was used least recently.
    fn take(&mut self, line: u32, there: Cycle) {
        let line = LineAddr(line.into());
        if let Place::Absent(way) = self.tags.find(line) {
            self.tags.insert(way, line);
            self.tags[way] = there;
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

    impl Fetch {
        fn ask(&mut self, at: Cycle, warp: usize, pc: usize) -> Cycle {
            self.caches.as_mut().expect("code that does not fit").ask(at, warp, pc)
        }
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
        assert!(fetch.caches.is_none());
        fetch.prepare(33);
        assert!(fetch.caches.is_some());
        let mut ideal = Fetch::new(&Fetching::Ideal, 2);
        ideal.prepare(1 << 20);
        assert!(ideal.caches.is_none());
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
