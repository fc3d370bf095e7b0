//! The books of a GPU: since when the present kernel runs, and what is charged to it.

use std::ops::DerefMut;

use super::buffers::{self, by_buffer};
use super::lines::{self, by_line};
use super::memory::Partition;
use super::sides::Sides;
use super::sm_side::{Launch, Node, Running, names};
use super::statistics::{Components, ConcurrentKernel, KernelStatistics, Ledgers, total};
use crate::config::Machine;
use crate::error::{Error, Result};
use crate::isa::joint_name;
use crate::stats::IssueReason;
use crate::units::Cycle;

/// What was counted, and until when.
pub struct Books {
    machine: Machine,
    /// The first cycle of the next kernel.
    now: Cycle,
    /// Everything counted before that.
    before: Snapshot,
}

#[derive(Clone, Default)]
struct Snapshot {
    ledgers: Ledgers,
    latency_accesses: u64,
    components: Components,
}

impl Books {
    /// Of an idle GPU.
    pub fn new<N, P, const WORDS: usize>(machine: &Machine, sides: &Sides<N, P, WORDS>) -> Self
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        Books { machine: machine.clone(), now: Cycle(0), before: Snapshot::of(sides) }
    }

    /// The GPU's machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The first cycle of the next kernel, or of the one that runs.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// Makes every part ready for the first kernel of `launch`.
    pub fn open<N, P, const WORDS: usize>(&self, launch: &Launch, sides: &mut Sides<N, P, WORDS>)
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        let (Running { kernel, residency, .. }, _) = launch.current();
        for node in sides.sm_side.nodes.iter_mut() {
            node.prepare(self.now, launch.program().clone(), *residency);
        }
        sides.sm_side.requests.prepare(self.now);
        sides.memory.prepare(self.now, &kernel.buffers);
    }

    /// Closes the books of a kernel, or of several that ran at the same time, until `end`.
    ///
    /// # Errors
    /// When a ledger does not sum.
    pub fn close<N, P, const WORDS: usize>(
        &mut self,
        ran: &[Running],
        end: Cycle,
        sides: &mut Sides<N, P, WORDS>,
    ) -> Result<KernelStatistics>
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        let start = std::mem::replace(&mut self.now, end);
        sides.memory.finish(end);
        for node in sides.sm_side.nodes.iter_mut() {
            node.finish(end);
        }
        let after = Snapshot::of(sides);
        let before = std::mem::replace(&mut self.before, after.clone());
        let cycles = end - start;
        let sms = sides.sm_side.nodes.len() as u64;
        let mut ledgers = after.ledgers.since(&before.ledgers);
        ledgers.lsu.add_total(cycles * sms);
        let schedulers = sms * u64::from(self.machine.sm.schedulers.get());
        ledgers.issue.add_total(cycles * schedulers);
        // Until the first CTA starts nobody has a warp.
        let first = ran.iter().map(|running| running.first).min().unwrap_or(start);
        let launching = first.since(start) * schedulers;
        ledgers.issue.transfer(IssueReason::NoWarp, IssueReason::Launch, launching);
        let name = joint_name(&names(ran));
        let components = after.components.since(&before.components);
        let latency_accesses = after.latency_accesses - before.latency_accesses;
        let nodes = sides.sm_side.nodes.iter_mut();
        let (insts, regions): (Vec<_>, Vec<_>) = nodes.map(|node| node.sm.take_profile()).unzip();
        let lines = by_line(ran, insts.into_iter());
        let ranges = ran.first().map_or(&[][..], |running| &running.kernel.buffers);
        let buffers = by_buffer(ranges, regions.into_iter());
        let check = || {
            ledgers.check()?;
            if lines.is_empty() {
                return Ok(());
            }
            let sms = total(&components.sm);
            lines::check(&lines, &ledgers, &sms)?;
            buffers::check(&buffers, &ledgers, latency_accesses, &sms)
        };
        check().map_err(|why: String| Error::internal(format!("kernel {name}: {why}")))?;
        let concurrent = match ran {
            [_] => Vec::new(),
            _ => ran
                .iter()
                .enumerate()
                .map(|(number, running)| {
                    let nodes = sides.sm_side.nodes.iter();
                    let ended = nodes.filter_map(|node| node.sm.ended().get(number).copied());
                    ConcurrentKernel {
                        name: running.kernel.name.clone(),
                        ctas: running.kernel.ctas,
                        cta_threads: running.kernel.cta_threads,
                        resident_warps: running.residency.warps(),
                        warp_instructions: running.warp_instructions,
                        first_cta: running.first.since(start),
                        end: ended.max().map_or(0, |end| end.since(start)),
                    }
                })
                .collect(),
        };
        Ok(KernelStatistics {
            name,
            ctas: ran.iter().map(|running| running.kernel.ctas).sum(),
            cta_threads: ran.iter().map(|running| running.kernel.cta_threads).max().unwrap_or(0),
            resident_warps: ran.iter().map(|one| one.residency.warps()).max().unwrap_or(0),
            cycles,
            concurrent,
            ledgers,
            latency_accesses,
            components,
            lines,
            buffers,
        })
    }
}

impl Snapshot {
    /// Everything counted so far.
    fn of<N, P, const WORDS: usize>(sides: &Sides<N, P, WORDS>) -> Self
    where
        N: DerefMut<Target = Node>,
        P: DerefMut<Target = Partition>,
    {
        let Sides { sm_side, memory } = sides;
        let mut snapshot = Snapshot {
            components: Components {
                l1: sm_side.nodes.iter().map(|node| node.l1.stats().clone()).collect(),
                request_network: sm_side.requests.stats(),
                reply_network: memory.hub.replies.stats(),
                l2: memory.slices().map(|slice| slice.stats().clone()).collect(),
                dram: memory.controllers().map(|one| one.stats()).collect(),
                ..Components::default()
            },
            ..Snapshot::default()
        };
        for controller in memory.controllers() {
            snapshot.ledgers.dram.merge(&controller.ledger());
        }
        for node in sm_side.nodes.iter() {
            let accounts = node.sm.accounts();
            snapshot.ledgers.issue.merge(accounts.issue);
            snapshot.ledgers.lsu.merge(accounts.lsu);
            snapshot.ledgers.latency.merge(accounts.latency);
            snapshot.latency_accesses += accounts.latency_accesses;
            snapshot.components.sm.push(accounts.stats.clone());
        }
        snapshot
    }
}
