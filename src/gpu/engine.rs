//! The engine: owns every component, advances time, hands CTAs to SMs.

use std::num::NonZeroU32;
use std::ops::DerefMut;
use std::sync::{Arc, Mutex};

use super::clocks::Clocks;
use super::crew::Crew;
use super::dispatch::Dispatch;
use super::floor::Floor;
use super::front::{Front, Launch, Roster};
use super::memory::{Delays, Memory};
use super::memory_side::PARTS;
use super::node::Node;
use super::pace::Pace;
use super::partition::{Partition, Reach};
use super::replies::Replies;
use super::requests::Requests;
use super::statistics::{Components, KernelStatistics, Ledgers};
use crate::config::Machine;
use crate::error::{Error, Result};
use crate::isa::{Cta, CtaSource, Kernel};
use crate::sm::{Program, Residency};
use crate::units::Cycle;

/// Core cycles between two looks at whether anything retires, and two calls of a progress observer.
const WATCH_INTERVAL: u64 = 1 << 14;
/// Core cycles without an issued instruction or an answered access that count as a deadlock.
const PATIENCE: u64 = 1 << 20;

/// How time advances. The results are the same either way; only the speed differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stepping {
    /// Cycles in which nothing can happen are skipped.
    #[default]
    SkipAhead,
    /// As [`Stepping::SkipAhead`], by so many threads.
    Threads(NonZeroU32),
    /// Every component is ticked in every cycle.
    EveryCycle,
}

impl Stepping {
    /// By `threads` threads; 0 counts as 1.
    pub fn threads(threads: u32) -> Self {
        match NonZeroU32::new(threads) {
            Some(threads) if threads.get() > 1 => Stepping::Threads(threads),
            _ => Stepping::SkipAhead,
        }
    }
}

/// How far a kernel has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// CTAs handed out.
    pub ctas_started: u64,
    /// CTAs of the launch.
    pub ctas: u64,
    /// Core cycles since the launch.
    pub cycles: u64,
}

/// A GPU whose sets of ports have so many words. Kernels run one after another; the L2 and the DRAM rows keep their state
/// between them.
pub struct Engine<const WORDS: usize> {
    machine: Machine,
    stepping: Stepping,
    now: Cycle,
    nodes: Box<[Mutex<Node>]>,
    requests: Mutex<Requests<WORDS>>,
    partitions: Box<[Mutex<Partition>]>,
    replies: Mutex<Replies<WORDS>>,
    delays: Delays,
    /// The SM that is asked first for the next CTA.
    turn: usize,
    /// Whether threads share a phase.
    pace: Pace,
    /// Everything counted before the kernel that runs.
    before: Snapshot,
}

#[derive(Clone, Default)]
struct Snapshot {
    ledgers: Ledgers,
    latency_accesses: u64,
    components: Components,
}

impl<const WORDS: usize> Engine<WORDS> {
    /// An idle GPU.
    pub fn new(machine: &Machine, stepping: Stepping) -> Self {
        let clocks = Clocks::new(&machine.clocks);
        let sms = machine.sm.count.size();
        let every_cycle = stepping == Stepping::EveryCycle;
        let mut gpu = Engine {
            machine: machine.clone(),
            stepping,
            now: Cycle(0),
            nodes: (0..sms).map(|sm| Mutex::new(Node::new(machine, sm))).collect(),
            requests: Mutex::new(Requests::new(machine, clocks, every_cycle)),
            partitions: (0..Partition::count(machine))
                .map(|number| Mutex::new(Partition::new(machine, clocks, number, every_cycle)))
                .collect(),
            replies: Mutex::new(Replies::new(machine, clocks, every_cycle)),
            delays: Delays::new(machine, clocks),
            turn: 0,
            pace: Pace::new(),
            before: Snapshot::default(),
        };
        gpu.before = gpu.snapshot();
        gpu
    }

    /// Runs one kernel from its first CTA to its last acknowledged store. The L1s start empty.
    ///
    /// `observe` is called every few thousand cycles.
    ///
    /// # Errors
    /// When a CTA does not fit on an SM, when the source fails, when nothing can go on, and when a
    /// ledger does not sum.
    pub fn run(
        &mut self,
        source: &mut dyn CtaSource,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<KernelStatistics> {
        let kernel = source.kernel().clone();
        let residency = Residency::new(&kernel, &self.machine)?;
        let program = Arc::new(Program::new(&kernel, &self.machine.sm.arithmetic));
        let start = self.now;
        let mut lent = self.lend();
        for node in &mut lent.nodes {
            node.prepare(start, program.clone(), residency);
        }
        lent.requests.prepare(start);
        lent.memory().prepare(start);
        let dispatch = Dispatch::new(&self.machine.launch, start);
        let watch = Watch::new(&kernel, start, dispatch, observe);
        let end = match self.stepping {
            Stepping::Threads(threads) => self.run_team(source, threads, watch)?,
            _ => self.run_alone(source, watch)?,
        };
        self.now = end;
        self.lend().memory().advance(&Reach::to(end));
        self.settle(&kernel, residency, start)
    }

    /// Every part, with nobody else at work.
    fn lend(&mut self) -> Lent<'_, WORDS> {
        const NO_PANIC: &str = "no thread failed";
        Lent {
            nodes: self.nodes.iter_mut().map(|node| node.get_mut().expect(NO_PANIC)).collect(),
            requests: self.requests.get_mut().expect(NO_PANIC),
            partitions: self
                .partitions
                .iter_mut()
                .map(|one| one.get_mut().expect(NO_PANIC))
                .collect(),
            replies: self.replies.get_mut().expect(NO_PANIC),
            delays: self.delays,
        }
    }

    /// Runs a kernel on this thread; gives the cycle in which it has ended.
    fn run_alone(&mut self, source: &mut dyn CtaSource, mut watch: Watch) -> Result<Cycle> {
        let every_cycle = self.stepping == Stepping::EveryCycle;
        let mut roster = Roster::new(self.turn, self.nodes.len());
        let Lent { mut nodes, requests, mut partitions, replies, delays } = self.lend();
        let memory = Memory { partitions: &mut partitions, replies, delays };
        let front = Front { nodes: &mut nodes, requests, roster: &mut roster };
        let mut floor = Floor { front, memory };
        let mut next = |cta: &mut Cta| source.next(cta);
        let mut launch = watch.launch(&mut next);
        while launch.has_more() || !floor.front.is_idle() {
            if every_cycle { floor.cycle(&mut launch) } else { floor.window(&mut launch) }?;
            watch.look(&floor, launch.started)?;
        }
        let end = floor.front.end(&launch);
        self.turn = roster.turn;
        Ok(end)
    }

    /// As [`Engine::run_alone`], by `threads` threads.
    fn run_team(
        &mut self,
        source: &mut dyn CtaSource,
        threads: NonZeroU32,
        mut watch: Watch,
    ) -> Result<Cycle> {
        let memory = (&self.partitions[..], &self.replies, self.delays);
        let threads = threads.get() as usize;
        let crew = Crew::new(&self.nodes, &self.requests, memory, source, threads);
        let pace = &mut self.pace;
        let mut roster = Roster::new(self.turn, self.nodes.len());
        let end = std::thread::scope(|scope| {
            let _dismissal = crew.team.dismissal();
            for thread in 1..threads {
                let crew = &crew;
                scope.spawn(move || crew.help(thread));
            }
            let mut next = |cta: &mut Cta| crew.ahead.next(cta);
            let mut launch = watch.launch(&mut next);
            let mut all = crew.lock();
            pace.begin(all.floor(&mut roster).front.retired());
            loop {
                let mut floor = all.floor(&mut roster);
                if !launch.has_more() && floor.front.is_idle() {
                    break;
                }
                // Alone, each side goes on by all that both together may.
                let mut phases = PARTS as u32;
                if pace.ask(|| floor.is_worth_sharing(&launch)) {
                    drop(all);
                    phases = crew.advance(pace.phases(), &mut launch, &mut roster)?;
                    all = crew.lock();
                } else {
                    floor.window(&mut launch)?;
                }
                let floor = all.floor(&mut roster);
                watch.look(&floor, launch.started)?;
                pace.pass(phases, || floor.front.retired());
            }
            Ok(all.floor(&mut roster).front.end(&launch))
        })?;
        self.turn = roster.turn;
        Ok(end)
    }

    fn snapshot(&mut self) -> Snapshot {
        let mut lent = self.lend();
        let reply_network = lent.replies.stats().clone();
        let memory = lent.memory();
        let (l2, dram) = (
            memory.slices().map(|slice| slice.stats().clone()).collect(),
            memory.controllers().map(|one| one.stats()).collect(),
        );
        let Lent { nodes, requests, .. } = lent;
        let mut snapshot = Snapshot {
            components: Components {
                l1: nodes.iter().map(|node| node.l1.stats().clone()).collect(),
                request_network: requests.stats().clone(),
                reply_network,
                l2,
                dram,
                ..Components::default()
            },
            ..Snapshot::default()
        };
        for node in &nodes {
            let (issue, lsu, latency, accesses, stats) = node.sm.accounts();
            snapshot.ledgers.issue.merge(issue);
            snapshot.ledgers.lsu.merge(lsu);
            snapshot.ledgers.latency.merge(latency);
            snapshot.latency_accesses += accesses;
            snapshot.components.sm.push(stats.clone());
        }
        snapshot
    }

    /// Closes the books of a kernel that ran from `start` until now.
    fn settle(
        &mut self,
        kernel: &Kernel,
        residency: Residency,
        start: Cycle,
    ) -> Result<KernelStatistics> {
        let now = self.now;
        let mut lent = self.lend();
        for node in &mut lent.nodes {
            node.finish(now);
        }
        lent.memory().catch_up(now);
        let after = self.snapshot();
        let before = std::mem::replace(&mut self.before, after.clone());
        let cycles = self.now - start;
        let sms = self.nodes.len() as u64;
        let mut ledgers = after.ledgers.since(&before.ledgers);
        ledgers.lsu.add_total(cycles * sms);
        ledgers.issue.add_total(cycles * sms * u64::from(self.machine.sm.schedulers.get()));
        ledgers.check().map_err(|why| Error::internal(format!("kernel {}: {why}", kernel.name)))?;
        Ok(KernelStatistics {
            name: kernel.name.clone(),
            ctas: kernel.ctas,
            cta_threads: kernel.cta_threads,
            resident_warps: (residency.ctas * residency.cta_warps) as u32,
            cycles,
            ledgers,
            latency_accesses: after.latency_accesses - before.latency_accesses,
            components: after.components.since(&before.components),
        })
    }
}

/// Every part of a GPU.
struct Lent<'a, const WORDS: usize> {
    nodes: Vec<&'a mut Node>,
    requests: &'a mut Requests<WORDS>,
    partitions: Vec<&'a mut Partition>,
    replies: &'a mut Replies<WORDS>,
    delays: Delays,
}

impl<'a, const WORDS: usize> Lent<'a, WORDS> {
    /// The partitions and the reply network together.
    fn memory(&mut self) -> Memory<'_, &'a mut Partition, WORDS> {
        let Lent { partitions, replies, delays, .. } = self;
        Memory { partitions, replies, delays: *delays }
    }
}

/// Tells an observer how a kernel comes on, and sees to it that it does.
struct Watch<'a> {
    kernel: &'a Kernel,
    start: Cycle,
    next: Cycle,
    last_progress: Cycle,
    seen: u64,
    dispatch: Dispatch,
    observe: &'a mut dyn FnMut(Progress),
}

impl<'a> Watch<'a> {
    fn new(
        kernel: &'a Kernel,
        start: Cycle,
        dispatch: Dispatch,
        observe: &'a mut dyn FnMut(Progress),
    ) -> Self {
        let next = start + WATCH_INTERVAL;
        Watch { kernel, start, next, last_progress: start, seen: 0, dispatch, observe }
    }

    /// The launch that is watched.
    fn launch<'n>(&self, next: &'n mut dyn FnMut(&mut Cta) -> Result<bool>) -> Launch<'n> {
        let (ctas, end) = (self.kernel.ctas, self.start + 1);
        Launch { next, started: 0, ctas, end, dispatch: self.dispatch.clone() }
    }

    /// Looks whether anything has retired, every few thousand cycles.
    fn look<N, P, const WORDS: usize>(
        &mut self,
        floor: &Floor<N, P, WORDS>,
        started: u64,
    ) -> Result<()>
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        let now = floor.front.clock();
        if now < self.next {
            return Ok(());
        }
        self.next = now + WATCH_INTERVAL;
        let retired = floor.front.retired();
        if retired != self.seen {
            (self.seen, self.last_progress) = (retired, now);
        } else if now.since(self.last_progress) > PATIENCE {
            return Err(self.deadlock(floor, now));
        }
        let cycles = now - self.start;
        (self.observe)(Progress { ctas_started: started, ctas: self.kernel.ctas, cycles });
        Ok(())
    }

    fn deadlock<N, P, const WORDS: usize>(&self, floor: &Floor<N, P, WORDS>, now: Cycle) -> Error
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        let stuck = floor.front.nodes.iter().enumerate().find(|(_, node)| !node.sm.is_idle());
        let waiting = stuck.map_or(String::from("no SM holds a CTA"), |(number, node)| {
            format!("SM {number}: {}", node.sm.describe())
        });
        Error::run(format!(
            "deadlock in kernel {} at core cycle {now}: nothing retired for {PATIENCE} cycles; \
             {waiting}; request network {}, {}",
            self.kernel.name,
            if floor.front.requests.is_empty() { "empty" } else { "busy" },
            floor.memory.describe()
        ))
    }
}
