//! The books of a GPU: which kernel runs since when, and what is charged to it.

use std::ops::DerefMut;
use std::sync::Arc;

use super::floor::Floor;
use super::front::{Dispatch, Launch, Node};
use super::memory::Partition;
use super::statistics::{Components, KernelStatistics, Ledgers};
use crate::config::Machine;
use crate::config::machine::Clocks;
use crate::error::{Error, Result};
use crate::isa::{Cta, Kernel};
use crate::sm::{Program, Residency};
use crate::units::Cycle;

/// What was counted, and until when.
pub struct Books {
    machine: Machine,
    /// The first cycle of the next kernel.
    now: Cycle,
    /// Everything counted before that.
    before: Snapshot,
}

/// A kernel that runs.
pub struct Account {
    /// Which.
    pub kernel: Arc<Kernel>,
    /// Since when.
    pub start: Cycle,
    residency: Residency,
}

#[derive(Clone, Default)]
struct Snapshot {
    ledgers: Ledgers,
    latency_accesses: u64,
    components: Components,
}

impl Books {
    /// Of an idle GPU.
    pub fn new<N, P, const WORDS: usize>(machine: &Machine, floor: &Floor<N, P, WORDS>) -> Self
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        Books { machine: machine.clone(), now: Cycle(0), before: Snapshot::of(floor) }
    }

    /// The GPU's clocks.
    pub fn clocks(&self) -> &Clocks {
        &self.machine.clocks
    }

    /// Makes every part ready for a kernel.
    ///
    /// # Errors
    /// When a CTA does not fit on an SM.
    pub fn open<N, P, const WORDS: usize>(
        &self,
        kernel: Arc<Kernel>,
        floor: &mut Floor<N, P, WORDS>,
    ) -> Result<Account>
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        let residency = Residency::new(&kernel, &self.machine)?;
        let program = Arc::new(Program::new(&kernel, &self.machine.sm.arithmetic));
        let start = self.now;
        for node in floor.front.nodes.iter_mut() {
            node.prepare(start, program.clone(), residency);
        }
        floor.front.requests.prepare(start);
        floor.memory.prepare(start, &kernel.buffers);
        Ok(Account { kernel, start, residency })
    }

    /// The launch of a kernel, whose CTAs are had from `next`.
    pub fn launch<'n>(
        &self,
        account: &Account,
        next: &'n mut dyn FnMut(&mut Cta) -> Result<bool>,
    ) -> Launch<'n> {
        let (ctas, start) = (account.kernel.ctas, account.start);
        let dispatch = Dispatch::new(&self.machine.launch, start);
        Launch { next, started: 0, ctas, end: start + 1, dispatch }
    }

    /// Closes the books of a kernel that ran until `end`.
    ///
    /// # Errors
    /// When a ledger does not sum.
    pub fn close<N, P, const WORDS: usize>(
        &mut self,
        account: Account,
        end: Cycle,
        floor: &mut Floor<N, P, WORDS>,
    ) -> Result<KernelStatistics>
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        let Account { kernel, start, residency } = account;
        self.now = end;
        floor.memory.finish(end);
        for node in floor.front.nodes.iter_mut() {
            node.finish(end);
        }
        let after = Snapshot::of(floor);
        let before = std::mem::replace(&mut self.before, after.clone());
        let cycles = end - start;
        let sms = floor.front.nodes.len() as u64;
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

impl Snapshot {
    /// Everything counted so far.
    fn of<N, P, const WORDS: usize>(floor: &Floor<N, P, WORDS>) -> Self
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        let Floor { front, memory } = floor;
        let mut snapshot = Snapshot {
            components: Components {
                l1: front.nodes.iter().map(|node| node.l1.stats().clone()).collect(),
                request_network: front.requests.stats(),
                reply_network: memory.hub.replies.stats(),
                l2: memory.slices().map(|slice| slice.stats().clone()).collect(),
                dram: memory.controllers().map(|one| one.stats()).collect(),
                ..Components::default()
            },
            ..Snapshot::default()
        };
        for node in front.nodes.iter() {
            let (issue, lsu, latency, accesses, stats) = node.sm.accounts();
            snapshot.ledgers.issue.merge(issue);
            snapshot.ledgers.lsu.merge(lsu);
            snapshot.ledgers.latency.merge(latency);
            snapshot.latency_accesses += accesses;
            snapshot.components.sm.push(stats.clone());
        }
        snapshot
    }
}
