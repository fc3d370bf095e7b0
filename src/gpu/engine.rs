//! The engine: owns every component, advances time, hands CTAs to SMs.

use std::sync::Arc;

use super::clocks::Clocks;
use super::memory::Memory;
use super::node::{Bounds, Node};
use super::requests::Requests;
use super::statistics::{Components, KernelStatistics, Ledgers};
use crate::config::Machine;
use crate::error::{Error, Result};
use crate::isa::{CtaSource, Kernel};
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
    /// Every component is ticked in every cycle.
    EveryCycle,
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

/// A GPU. Kernels run one after another; the L2 and the DRAM rows keep their state between them.
pub struct Gpu {
    machine: Machine,
    stepping: Stepping,
    now: Cycle,
    nodes: Box<[Node]>,
    requests: Requests,
    memory: Memory,
    /// The SM that is asked first for the next CTA.
    turn: usize,
    /// Everything counted before the kernel that runs.
    before: Snapshot,
}

#[derive(Clone, Default)]
struct Snapshot {
    ledgers: Ledgers,
    latency_accesses: u64,
    components: Components,
}

impl Gpu {
    /// An idle GPU.
    pub fn new(machine: &Machine, stepping: Stepping) -> Self {
        let clocks = Clocks::new(&machine.clocks);
        let sms = machine.sm.count.size();
        let every_cycle = stepping == Stepping::EveryCycle;
        let mut gpu = Gpu {
            machine: machine.clone(),
            stepping,
            now: Cycle(0),
            nodes: (0..sms).map(|sm| Node::new(machine, clocks.noc, sm)).collect(),
            requests: Requests::new(machine, clocks, every_cycle),
            memory: Memory::new(machine, clocks, every_cycle),
            turn: 0,
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
        for node in &mut self.nodes {
            node.prepare(start, program.clone(), residency);
        }
        self.requests.prepare(start);
        self.memory.prepare(start);
        let mut launch = Launch { source, started: 0, ctas: kernel.ctas, end: start + 1 };
        let mut watch = Watch { next: start + WATCH_INTERVAL, last_progress: start, seen: 0 };
        while launch.has_more() || !self.nodes.iter().all(|node| node.sm.is_idle()) {
            match self.stepping {
                Stepping::EveryCycle => self.cycle(&mut launch)?,
                Stepping::SkipAhead => self.window(&mut launch)?,
            }
            self.now = self.nodes.iter().map(Node::clock).min().expect("there is an SM");
            if self.now >= watch.next {
                watch.next = self.now + WATCH_INTERVAL;
                self.check_progress(&kernel, &mut watch)?;
                let cycles = self.now - start;
                observe(Progress { ctas_started: launch.started, ctas: kernel.ctas, cycles });
            }
        }
        self.now = self.nodes.iter().map(Node::busy_to).max().expect("an SM").max(launch.end);
        self.memory.advance(self.now);
        self.settle(&kernel, residency, start)
    }

    /// One core cycle, everywhere.
    fn cycle(&mut self, launch: &mut Launch) -> Result<()> {
        let now = self.memory.clock();
        self.memory.advance(now + 1);
        self.tell_replies();
        self.requests.advance(now + 1, now + 1);
        self.tell_arrivals();
        let more_ctas = launch.has_more();
        let bounds = Bounds { replies: now + 1, places: now + 1, more_ctas, every_cycle: true };
        for node in &mut self.nodes {
            node.advance(&bounds);
        }
        self.start_ctas(launch, None)?;
        self.tell_requests(launch.has_more());
        Ok(())
    }

    /// Every part as far as it can go: the memory, then the SMs, then the request network. See `gpu/mod.rs`.
    fn window(&mut self, launch: &mut Launch) -> Result<()> {
        let known = self.memory.needs_from(self.requests.clock());
        self.memory.advance(known.min(self.busy_to_at_least(launch)));
        self.tell_replies();
        let bounds = Bounds {
            replies: self.memory.replies_known_to(known),
            places: self.requests.clock(),
            more_ctas: launch.has_more(),
            every_cycle: false,
        };
        for node in &mut self.nodes {
            node.advance(&bounds);
        }
        self.start_ctas(launch, Some(bounds))?;
        self.tell_requests(launch.has_more());
        self.requests.advance(bounds.replies, self.memory.clock());
        self.tell_arrivals();
        Ok(())
    }

    /// The kernel does not end before this cycle, as far as is known: the memory must not count a cycle that
    /// is the next kernel's.
    fn busy_to_at_least(&self, launch: &Launch) -> Cycle {
        let mut end = launch.end;
        let mut least = Cycle::NEVER;
        for node in &self.nodes {
            least = least.min(node.clock());
            if !node.sm.is_idle() {
                end = end.max(node.clock() + 1);
            }
        }
        if launch.has_more() {
            // One CTA an SM and cycle.
            let left = (launch.ctas - launch.started).div_ceil(self.nodes.len() as u64);
            end = end.max(least + (left - 1));
        }
        if !self.requests.is_empty() {
            end = end.max(self.memory.needs_from(self.requests.clock()) + 1);
        }
        match self.requests.last_arrival() {
            Some(arrival) => end.max(self.memory.needs_from(arrival) + 1),
            None => end,
        }
    }

    /// From the memory to the SMs and to the request network.
    fn tell_replies(&mut self) {
        for (sm, node) in self.nodes.iter_mut().enumerate() {
            node.expect(self.memory.take_coming(sm));
        }
        for slice in 0..self.memory.slices().len() {
            self.requests.note_leaves(slice, self.memory.take_left(slice));
        }
    }

    /// From the SMs to the request network.
    fn tell_requests(&mut self, more_ctas: bool) {
        for (sm, node) in self.nodes.iter_mut().enumerate() {
            node.export(|request| self.requests.note_request(sm, request));
            self.requests.note_clock(sm, node.requests_known_to(more_ctas));
        }
    }

    /// From the request network to the memory and to the SMs.
    fn tell_arrivals(&mut self) {
        for slice in 0..self.memory.slices().len() {
            for (cycle, request) in self.requests.take_arrived(slice) {
                self.memory.accept(slice, cycle, request);
            }
        }
        for (sm, node) in self.nodes.iter_mut().enumerate() {
            node.note_leaves(self.requests.take_left(sm));
        }
    }

    /// Hands out CTAs, at most one an SM and cycle, to the SMs in turn; never before all SMs have come so far.
    /// With `bounds`, an SM that got one advances again.
    fn start_ctas(&mut self, launch: &mut Launch, bounds: Option<Bounds>) -> Result<()> {
        let count = self.nodes.len();
        while launch.has_more() {
            let waiting = self.nodes.iter().filter_map(Node::waits_for_cta);
            let Some(at) = waiting.min() else { return Ok(()) };
            if self.nodes.iter().any(|node| node.clock() <= at) {
                return Ok(());
            }
            let first = self.turn;
            for offset in 0..count {
                let number = (first + offset) % count;
                let node = &mut self.nodes[number];
                if node.waits_for_cta() != Some(at) || !launch.has_more() {
                    continue;
                }
                if !node.start_cta(at, |cta| launch.source.next(cta))? {
                    launch.ctas = launch.started;
                    launch.end = at + 1;
                    break;
                }
                self.turn = (number + 1) % count;
                launch.started += 1;
            }
            let Some(bounds) = bounds else { continue };
            let bounds = Bounds { more_ctas: launch.has_more(), ..bounds };
            for node in &mut self.nodes {
                if node.clock() < bounds.replies {
                    node.advance(&bounds);
                }
            }
        }
        Ok(())
    }

    fn check_progress(&self, kernel: &Kernel, watch: &mut Watch) -> Result<()> {
        let retired: u64 = self
            .nodes
            .iter()
            .map(|node| {
                let (_, _, _, accesses, stats) = node.sm.accounts();
                stats.warp_instructions + accesses
            })
            .sum();
        if retired != watch.seen {
            (watch.seen, watch.last_progress) = (retired, self.now);
        } else if self.now.since(watch.last_progress) > PATIENCE {
            return Err(self.deadlock(kernel));
        }
        Ok(())
    }

    fn deadlock(&self, kernel: &Kernel) -> Error {
        let stuck = self.nodes.iter().enumerate().find(|(_, node)| !node.sm.is_idle());
        let waiting = stuck.map_or(String::from("no SM holds a CTA"), |(number, node)| {
            format!("SM {number}: {}", node.sm.describe())
        });
        Error::run(format!(
            "deadlock in kernel {} at core cycle {}: nothing retired for {PATIENCE} cycles; \
             {waiting}; request network {}, {}",
            kernel.name,
            self.now,
            if self.requests.is_empty() { "empty" } else { "busy" },
            self.memory.describe()
        ))
    }

    fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot {
            components: Components {
                l1: self.nodes.iter().map(|node| node.l1.stats().clone()).collect(),
                request_network: self.requests.stats().clone(),
                reply_network: self.memory.network_stats().clone(),
                l2: self.memory.slices().iter().map(|slice| slice.stats().clone()).collect(),
                dram: self.memory.controllers().map(|one| one.stats().clone()).collect(),
                ..Components::default()
            },
            ..Snapshot::default()
        };
        for node in &self.nodes {
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
        for node in &mut self.nodes {
            node.finish(self.now);
        }
        self.memory.catch_up(self.now);
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

/// A launch, and how much of it has been handed out.
struct Launch<'a> {
    source: &'a mut dyn CtaSource,
    started: u64,
    ctas: u64,
    /// The kernel does not end before this cycle.
    end: Cycle,
}

impl Launch<'_> {
    fn has_more(&self) -> bool {
        self.started < self.ctas
    }
}

/// When something last retired.
struct Watch {
    next: Cycle,
    last_progress: Cycle,
    seen: u64,
}
