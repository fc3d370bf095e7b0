//! What one kernel launch did, component by component.

use serde::{Deserialize, Serialize};

use super::buffers::BufferStatistics;
use super::lines::LineStatistics;
use crate::dram::DramStats;
use crate::l1::L1Stats;
use crate::l2::L2Stats;
use crate::noc::NocStats;
use crate::sm::SmStats;
use crate::stats::{DramLedger, IssueLedger, LatencyLedger, LsuLedger, Stats};

/// The counters of every component: one entry each in the vectors, by number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Components {
    /// By SM.
    pub sm: Vec<SmStats>,
    /// By SM.
    pub l1: Vec<L1Stats>,
    /// SMs to slices.
    pub request_network: NocStats,
    /// Slices to SMs.
    pub reply_network: NocStats,
    /// By slice.
    pub l2: Vec<L2Stats>,
    /// By channel.
    pub dram: Vec<DramStats>,
}

/// The four ledgers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledgers {
    /// Per scheduler and cycle.
    pub issue: IssueLedger,
    /// Per SM and cycle.
    pub lsu: LsuLedger,
    /// Per load access.
    pub latency: LatencyLedger,
    /// Per DRAM channel and clock; empty in reports of a gsim that did not know it.
    #[serde(default)]
    pub dram: DramLedger,
}

/// One of several kernels that ran at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConcurrentKernel {
    /// Entry point.
    pub name: String,
    /// CTAs of the launch.
    pub ctas: u64,
    /// Threads of a CTA.
    pub cta_threads: u32,
    /// Warps of an SM that residency allows at once, where the SM has no others.
    pub resident_warps: u32,
    /// Instructions of its warps.
    pub warp_instructions: u64,
    /// The cycle at whose end its first CTA started, from the launch on `[core cycles]`.
    pub first_cta: u64,
    /// The first cycle after its last CTA, from the launch on `[core cycles]`.
    pub end: u64,
}

/// What one kernel launch did, or several launches at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelStatistics {
    /// Entry point; of several, all of them: `a x 2 + b`.
    pub name: String,
    /// CTAs of the launch; of several, of all together.
    pub ctas: u64,
    /// Threads of a CTA; of several, the most.
    pub cta_threads: u32,
    /// Warps of an SM that residency allows at once; of several, the most.
    pub resident_warps: u32,
    /// From the launch until the last access is done [core cycles].
    pub cycles: u64,
    /// The kernels, where there were several.
    pub concurrent: Vec<ConcurrentKernel>,
    /// The four ledgers.
    pub ledgers: Ledgers,
    /// Load accesses that the latency ledger explains `[accesses]`.
    pub latency_accesses: u64,
    /// Every counter.
    pub components: Components,
    /// What warps did by line of the kernels' sources, where that was asked for.
    pub lines: Vec<LineStatistics>,
    /// What warps did by buffer, likewise.
    pub buffers: Vec<BufferStatistics>,
}

/// What the launches of a run did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStatistics {
    /// By launch; counters are sums, in lists of one entry: a GPU has hundreds of components, and a run may have thousands of launches.
    pub kernels: Vec<KernelStatistics>,
    /// Every counter of every component, all launches together.
    pub components: Components,
}

impl RunStatistics {
    /// Another launch has ended.
    pub fn add(&mut self, mut kernel: KernelStatistics) {
        self.components.merge(&kernel.components);
        kernel.components = kernel.components.sums();
        self.kernels.push(kernel);
    }
}

impl From<Vec<KernelStatistics>> for RunStatistics {
    fn from(kernels: Vec<KernelStatistics>) -> Self {
        let mut run = RunStatistics::default();
        kernels.into_iter().for_each(|kernel| run.add(kernel));
        run
    }
}

fn merge_each<S: Stats>(sums: &mut Vec<S>, more: &[S]) {
    sums.resize(sums.len().max(more.len()), S::default());
    for (sum, one) in sums.iter_mut().zip(more) {
        sum.merge(one);
    }
}

fn since_each<S: Stats>(all: &[S], earlier: &[S]) -> Vec<S> {
    all.iter().zip(earlier).map(|(all, earlier)| all.since(earlier)).collect()
}

/// What all SMs counted together, place by place, of which an SM may have fewer than another.
pub fn by_place<P: Clone + Default>(
    sms: impl Iterator<Item = Vec<P>>,
    merge: impl Fn(&mut P, &P),
) -> Vec<P> {
    let mut sums: Vec<P> = Vec::new();
    for sm in sms {
        sums.resize(sums.len().max(sm.len()), P::default());
        sums.iter_mut().zip(&sm).for_each(|(sum, one)| merge(sum, one));
    }
    sums
}

/// The sum of one kind of component over all of its instances.
pub fn total<S: Stats>(each: &[S]) -> S {
    let mut sum = S::default();
    for one in each {
        sum.merge(one);
    }
    sum
}

impl Components {
    /// Adds `other`, component by component.
    pub fn merge(&mut self, other: &Self) {
        merge_each(&mut self.sm, &other.sm);
        merge_each(&mut self.l1, &other.l1);
        self.request_network.merge(&other.request_network);
        self.reply_network.merge(&other.reply_network);
        merge_each(&mut self.l2, &other.l2);
        merge_each(&mut self.dram, &other.dram);
    }
}

impl Components {
    /// The sum of each kind of component, in vectors of one entry.
    pub fn sums(&self) -> Self {
        Components {
            sm: vec![total(&self.sm)],
            l1: vec![total(&self.l1)],
            request_network: self.request_network.clone(),
            reply_network: self.reply_network.clone(),
            l2: vec![total(&self.l2)],
            dram: vec![total(&self.dram)],
        }
    }

    /// Takes `earlier` away, component by component; both of the same machine.
    pub fn since(&self, earlier: &Self) -> Self {
        Components {
            sm: since_each(&self.sm, &earlier.sm),
            l1: since_each(&self.l1, &earlier.l1),
            request_network: self.request_network.since(&earlier.request_network),
            reply_network: self.reply_network.since(&earlier.reply_network),
            l2: since_each(&self.l2, &earlier.l2),
            dram: since_each(&self.dram, &earlier.dram),
        }
    }
}

impl Ledgers {
    /// Takes `earlier` away, ledger by ledger.
    pub fn since(&self, earlier: &Self) -> Self {
        Ledgers {
            issue: self.issue.since(&earlier.issue),
            lsu: self.lsu.since(&earlier.lsu),
            latency: self.latency.since(&earlier.latency),
            dram: self.dram.since(&earlier.dram),
        }
    }

    /// Adds `other`, ledger by ledger.
    pub fn merge(&mut self, other: &Self) {
        self.issue.merge(&other.issue);
        self.lsu.merge(&other.lsu);
        self.latency.merge(&other.latency);
        self.dram.merge(&other.dram);
    }

    /// Says which ledger does not sum.
    pub fn check(&self) -> Result<(), String> {
        let named = [
            ("issue", self.issue.check()),
            ("lsu", self.lsu.check()),
            ("latency", self.latency.check()),
            ("dram", self.dram.check()),
        ];
        for (name, result) in named {
            result.map_err(|why| format!("the {name} ledger does not sum: {why}"))?;
        }
        Ok(())
    }
}
