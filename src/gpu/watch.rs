//! How a kernel comes on, for an observer, and a look whether it does at all.

use std::ops::DerefMut;

use super::books::Books;
use super::memory::Partition;
use super::sides::Sides;
use super::sm_side::{Launch, Node};
use crate::config::machine::Clocks;
use crate::error::{Error, Result};
use crate::isa::joint_name;
use crate::units::Cycle;

/// Core cycles between two looks at whether anything retires, and two calls of a progress observer.
const WATCH_INTERVAL: u64 = 1 << 14;
/// Cycles of the slowest clock without an issued instruction, an answered access or an acknowledged store that count as a deadlock.
const PATIENCE: u64 = 1 << 20;

/// How far a kernel has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The launch whose CTAs are handed out, from 0.
    pub launch: usize,
    /// CTAs handed out.
    pub ctas_started: u64,
    /// CTAs of the launch.
    pub ctas: u64,
    /// Core cycles since the launch, or since the first of those that run at the same time.
    pub cycles: u64,
}

/// Tells an observer how a kernel comes on, and sees to it that it does.
pub struct Watch<'a> {
    /// The number of the first kernel that runs.
    first: usize,
    start: Cycle,
    next: Cycle,
    last_progress: Cycle,
    /// [core cycles]
    patience: u64,
    /// Instructions and accesses that had retired when it looked last, and stores that were under way.
    seen: (u64, u64),
    observe: &'a mut dyn FnMut(Progress),
}

impl<'a> Watch<'a> {
    /// Of a launch that begins on the GPU of `books`, with kernel number `first`.
    pub fn new(books: &Books, first: usize, observe: &'a mut dyn FnMut(Progress)) -> Self {
        let Clocks { core_khz, noc_khz, l2_khz, dram_khz } = &books.machine().clocks;
        let slowest = core_khz.get().min(noc_khz.get()).min(l2_khz.get()).min(dram_khz.get());
        let patience = PATIENCE * u64::from(core_khz.get().div_ceil(slowest));
        let start = books.now();
        let next = start + WATCH_INTERVAL;
        Watch { first, start, next, last_progress: start, patience, seen: (0, 0), observe }
    }

    /// Looks whether anything has retired, every few thousand cycles.
    pub fn look<N, P, const WORDS: usize>(
        &mut self,
        sides: &Sides<N, P, WORDS>,
        launch: &Launch,
    ) -> Result<()>
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        // The others' clocks matter when that of one has come as far.
        if sides.sm_side.awake().next().is_some_and(|node| node.clock() < self.next) {
            return Ok(());
        }
        let now = sides.sm_side.clock();
        if now < self.next {
            return Ok(());
        }
        if !launch.has_more() && sides.sm_side.is_idle() {
            return Ok(());
        }
        self.next = now + WATCH_INTERVAL;
        // While nothing retires, stores become fewer.
        let seen = (sides.sm_side.retired(), sides.sm_side.stores_in_flight());
        if seen != self.seen {
            (self.seen, self.last_progress) = (seen, now);
        } else if now.since(self.last_progress) > self.patience {
            return Err(self.deadlock(sides, launch, now));
        }
        let (current, ctas_started) = launch.current();
        (self.observe)(Progress {
            launch: self.first + launch.kernels().len() - 1,
            ctas_started,
            ctas: current.kernel.ctas,
            cycles: now - self.start,
        });
        Ok(())
    }

    fn deadlock<N, P, const WORDS: usize>(
        &self,
        sides: &Sides<N, P, WORDS>,
        launch: &Launch,
        now: Cycle,
    ) -> Error
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        let stuck = sides.sm_side.nodes.iter().enumerate().find(|(_, node)| !node.sm.is_idle());
        let waiting = stuck.map_or(String::from("no SM holds a CTA"), |(number, node)| {
            format!("SM {number}: {}", node.sm.describe())
        });
        Error::run(format!(
            "deadlock in kernel {} at core cycle {now}: nothing retired for {} cycles; \
             {waiting}; request network {}, {}",
            joint_name(&launch.names()),
            self.patience,
            if sides.sm_side.requests.is_empty() { "empty" } else { "busy" },
            sides.memory.describe()
        ))
    }
}
