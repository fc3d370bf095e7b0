//! The engine: owns every component, advances time, hands CTAs to SMs.

use std::sync::Arc;

use super::clocks::Clocks;
use super::memory::Memory;
use super::statistics::{Components, KernelStatistics, Ledgers};
use crate::config::Machine;
use crate::error::{Error, Result};
use crate::isa::{CtaSource, Kernel};
use crate::l1::L1;
use crate::sm::{Program, Residency, Sm};
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
    sms: Box<[Sm]>,
    l1s: Box<[L1]>,
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
            sms: (0..sms).map(|_| Sm::new(machine)).collect(),
            l1s: (0..sms).map(|sm| L1::new(&machine.l1, sm as u16)).collect(),
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
        for (sm, l1) in self.sms.iter_mut().zip(&mut self.l1s) {
            sm.prepare(start, program.clone(), residency);
            l1.set_ways(residency.l1_ways);
        }
        let mut launch = Launch { started: 0, exhausted: kernel.ctas == 0 };
        let mut watch = Watch { next: start + WATCH_INTERVAL, last_progress: start, seen: 0 };
        loop {
            self.cycle(source, &mut launch)?;
            let now = self.now;
            self.now = now + 1;
            if launch.exhausted && self.is_done() {
                break;
            }
            let event = match self.stepping {
                Stepping::EveryCycle => self.now,
                Stepping::SkipAhead => self.next_event(now, &launch),
            };
            if event == Cycle::NEVER {
                return Err(self.deadlock(&kernel, "nothing can happen any more"));
            }
            self.now = event;
            if self.now >= watch.next {
                watch.next = self.now + WATCH_INTERVAL;
                self.check_progress(&kernel, &mut watch)?;
                let cycles = self.now - start;
                observe(Progress { ctas_started: launch.started, ctas: kernel.ctas, cycles });
            }
        }
        self.settle(&kernel, residency, start)
    }

    /// One core cycle.
    fn cycle(&mut self, source: &mut dyn CtaSource, launch: &mut Launch) -> Result<()> {
        let now = self.now;
        self.memory.tick(now, &mut self.sms, &mut self.l1s);
        for (number, (sm, l1)) in self.sms.iter_mut().zip(&mut self.l1s).enumerate() {
            let reply = self.memory.take_arrival(now, number);
            if reply.is_some() || sm.next_event() <= now || self.stepping == Stepping::EveryCycle {
                sm.tick(now, reply, l1);
            }
        }
        if launch.exhausted { Ok(()) } else { self.launch_ctas(source, launch) }
    }

    /// Hands at most one CTA to every SM that has room, in turn.
    fn launch_ctas(&mut self, source: &mut dyn CtaSource, launch: &mut Launch) -> Result<()> {
        let count = self.sms.len();
        let first = self.turn;
        for offset in 0..count {
            let number = (first + offset) % count;
            let sm = &mut self.sms[number];
            if !sm.takes_cta(self.now) {
                continue;
            }
            if !sm.start_cta(self.now, &mut self.l1s[number], |cta| source.next(cta))? {
                launch.exhausted = true;
                return Ok(());
            }
            self.turn = (number + 1) % count;
            launch.started += 1;
            launch.exhausted = launch.started == source.kernel().ctas;
            if launch.exhausted {
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.sms.iter().all(Sm::is_idle) && self.memory.is_quiet()
    }

    /// The next cycle after `now` in which anything happens.
    fn next_event(&self, now: Cycle, launch: &Launch) -> Cycle {
        let next = now + 1;
        let mut event = Cycle::NEVER;
        for (number, (sm, l1)) in self.sms.iter().zip(&self.l1s).enumerate() {
            let waits_for_cta = !launch.exhausted && sm.has_room();
            if waits_for_cta || l1.next_request(next).is_some() {
                return next;
            }
            event = event.min(sm.next_event()).min(self.memory.next_arrival(number));
            if event <= next {
                return next;
            }
        }
        event.min(self.memory.next_event(now))
    }

    fn check_progress(&self, kernel: &Kernel, watch: &mut Watch) -> Result<()> {
        let retired: u64 = self
            .sms
            .iter()
            .map(|sm| {
                let (_, _, _, accesses, stats) = sm.accounts();
                stats.warp_instructions + accesses
            })
            .sum();
        if retired != watch.seen {
            (watch.seen, watch.last_progress) = (retired, self.now);
        } else if self.now.since(watch.last_progress) > PATIENCE {
            let what = format!("nothing retired for {PATIENCE} cycles");
            return Err(self.deadlock(kernel, &what));
        }
        Ok(())
    }

    fn deadlock(&self, kernel: &Kernel, what: &str) -> Error {
        let stuck = self.sms.iter().enumerate().find(|(_, sm)| !sm.is_idle());
        let waiting = stuck.map_or(String::from("no SM holds a CTA"), |(number, sm)| {
            format!("SM {number}: {}", sm.describe())
        });
        Error::run(format!(
            "deadlock in kernel {} at core cycle {}: {what}; {waiting}; {}",
            kernel.name,
            self.now,
            self.memory.describe()
        ))
    }

    fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot {
            components: Components {
                l1: self.l1s.iter().map(|l1| l1.stats().clone()).collect(),
                request_network: self.memory.requests.stats().clone(),
                reply_network: self.memory.replies.stats().clone(),
                l2: self.memory.slices.iter().map(|slice| slice.stats().clone()).collect(),
                dram: self.memory.controllers().map(|one| one.stats().clone()).collect(),
                ..Components::default()
            },
            ..Snapshot::default()
        };
        for sm in &self.sms {
            let (issue, lsu, latency, accesses, stats) = sm.accounts();
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
        for (sm, l1) in self.sms.iter_mut().zip(&mut self.l1s) {
            sm.finish(self.now, l1);
        }
        self.memory.catch_up(self.now);
        let after = self.snapshot();
        let before = std::mem::replace(&mut self.before, after.clone());
        let cycles = self.now - start;
        let sms = self.sms.len() as u64;
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

/// How much of a launch has been handed out.
struct Launch {
    started: u64,
    exhausted: bool,
}

/// When something last retired.
struct Watch {
    next: Cycle,
    last_progress: Cycle,
    seen: u64,
}
