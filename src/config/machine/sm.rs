//! The SM: residency, schedulers, instruction fetch, barriers and fences, bulk copies.

use serde::{Deserialize, Serialize};

use super::arithmetic::Arithmetic;
use crate::config::bounded::{Bounded, Check, Checked};

/// One streaming multiprocessor, times `count`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmConfig {
    /// SMs of the GPU [count, 1..=256].
    pub count: Bounded<1, 256>,
    /// SMs of a texture or thread processing cluster (TPC), which have neighbouring numbers [SMs, 1..=32].
    pub tpc_sms: Bounded<1, 32>,
    /// The graphics processing cluster (GPC) of each TPC, in their order; from the start again for those that follow
    /// [numbers, 0..=63].
    pub gpcs: Vec<Bounded<0, 63>>,
    /// Warp schedulers of an SM; each issues to one warp a cycle [count, 1..=8].
    pub schedulers: Bounded<1, 8>,
    /// What a warp issues for an instruction of PTX.
    pub instructions: InstructionSet,
    /// When a warp's next instruction is there.
    pub fetch: Checked<Fetching>,
    /// How long it takes to read the constant bank.
    pub constants: ConstantBank,
    /// Which ready warp a scheduler picks.
    pub policy: Policy,
    /// Instructions of one warp that a scheduler issues in a cycle, the second when it depends on neither the
    /// first nor on anything that is not ready [instructions, 1..=2].
    pub issue_width: Bounded<1, 2>,
    /// Warps resident at once [warps, 1..=64].
    pub max_warps: Bounded<1, 64>,
    /// CTAs resident at once [CTAs, 1..=64].
    pub max_ctas: Bounded<1, 64>,
    /// Threads of one CTA [threads, 1..=1024].
    pub max_cta_threads: Bounded<1, 1024>,
    /// 32-bit registers; each scheduler has an equal share, which holds whole warps [count, 1024..=262144].
    pub registers: Bounded<1024, 262_144>,
    /// Registers are given to a warp in multiples of this [count, 1..=1024].
    pub register_granule: Bounded<1, 1024>,
    /// Cycles from one CTA's start on this SM to the next one's, where that has a single warp [core cycles, 1..=1024].
    pub cta_launch_interval: Bounded<1, 1024>,
    /// What each further warp of a CTA adds to that [core cycles, 0..=64].
    pub warp_launch_interval: Bounded<0, 64>,
    /// From the last instruction of a CTA to the first one of the CTA that takes its place, at least; `cta_release` may
    /// make it longer [core cycles, 0..=512].
    pub cta_turnaround: Bounded<0, 512>,
    /// From the first instruction of a CTA's warp to that of its next warp [core cycles, 0..=8].
    pub warp_start_interval: Bounded<0, 8>,
    /// What a CTA that has run out of instructions still waits for before another takes its place.
    pub cta_release: CtaRelease,
    /// What a fence takes once the warp's own accesses are done.
    pub fences: FenceTimes,
    /// What barriers of a CTA take.
    pub barriers: BarrierTiming,
    /// The unit for bulk copies.
    pub bulk_copies: BulkCopies,
    /// The arithmetic pipelines.
    pub arithmetic: Arithmetic,
}

impl SmConfig {
    /// The GPC of an SM.
    pub fn gpc_of(&self, sm: usize) -> usize {
        let tpc = sm / self.tpc_sms.size();
        self.gpcs[tpc % self.gpcs.len()].size()
    }
}

/// What a warp issues for an instruction of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum InstructionSet {
    /// One instruction of its class.
    Ptx,
    /// What `ptxas` makes of it for compute capability 9.0: none, one or several, in the order of its blocks.
    Sass,
}

/// When a warp's next instruction is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Fetching {
    /// Always.
    Ideal,
    /// When it is in an instruction cache of the sub-core, behind which are one of the SM and the L2. The caches begin as a
    /// pass through the kernel's code leaves them.
    Caches {
        /// One instruction; a divisor of `line` [bytes, 4..=32].
        instruction: Bounded<4, 32>,
        /// A line [bytes, 32..=512].
        line: Bounded<32, 512>,
        /// The cache of a sub-core.
        sub_core: InstructionCache,
        /// The cache of the SM.
        sm: InstructionCache,
    },
}

/// How parameters of the kernel, sizes of the launch and constants at fixed addresses are read, which lie in the constant bank. Only in
/// code of `Sass` instructions; elsewhere they are moves. Loads of constants whose address is in a register go to the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum ConstantBank {
    /// As moves.
    AsMoves,
    /// From a cache of the SM. It holds nothing of the bank when a launch starts, and then all that has been read.
    Cached {
        /// Bytes of the bank that come together [bytes, 16..=256].
        line: Bounded<16, 256>,
        /// From issue until a dependent instruction can issue [core cycles, 1..=1023].
        latency: Bounded<1, 1023>,
        /// What it takes longer where no instruction on the SM has read of the line before [core cycles, 0..=4095].
        miss: Bounded<0, 4095>,
    },
}

impl ConstantBank {
    /// What a line takes longer that no instruction on the SM has read before [core cycles].
    pub fn miss(&self) -> u64 {
        match self {
            ConstantBank::AsMoves => 0,
            ConstantBank::Cached { miss, .. } => miss.cycles(),
        }
    }
}

/// An instruction cache: lines of the ways of a set are replaced by least recent use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionCache {
    /// Its lines together; a power of two of sets of `ways` lines [bytes, 128..=1048576].
    pub size: Bounded<128, 1_048_576>,
    /// Lines of a set [count, 1..=64].
    pub ways: Bounded<1, 64>,
    /// Lines of a group. A sub-core's cache asks for the next group when a warp comes to one; the SM's brings all of a group
    /// with a line [lines, 1..=32].
    pub group: Bounded<1, 32>,
    /// Of the sub-core's cache: from asking the SM's until the lines are there. Of the SM's: what it takes longer where they
    /// come from the L2 [core cycles, 1..=1023].
    pub latency: Bounded<1, 1023>,
}

/// What a fence takes once the warp's own accesses are done. One for the CTA takes nothing, as its accesses are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FenceTimes {
    /// One for the whole GPU [core cycles, 0..=4095].
    pub gpu: Bounded<0, 4095>,
    /// One for the host and other GPUs as well [core cycles, 0..=4095].
    pub system: Bounded<0, 4095>,
}

/// What barriers of a CTA take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BarrierTiming {
    /// From one warp's arrival until the unit of the SM takes another one, of whatever CTA; 0 where it takes all at once
    /// [core cycles, 0..=63].
    pub interval: Bounded<0, 63>,
    /// From when it takes the last arrival until the warps there can issue again [core cycles, 1..=63].
    pub latency: Bounded<1, 63>,
    /// What is added to that for each register that says which barrier it is or how many threads come [core cycles, 0..=63].
    pub from_register: Bounded<0, 63>,
    /// From then until the result of a reduction (`bar.red`) can be read [core cycles, 0..=255].
    pub result: Bounded<0, 255>,
    /// What a warp issues that has arrived, before the barrier opens.
    pub behind: BehindBarriers,
}

/// What a warp issues that has arrived at a barrier, before it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BehindBarriers {
    /// Nothing.
    Nothing,
    /// Arithmetic, up to the next instruction that is anything else: an access, a branch, a barrier, the end.
    Arithmetic,
}

/// The unit of an SM that copies many bytes between global and shared memory without a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BulkCopies {
    /// None: kernels with bulk copies are refused.
    Absent,
    /// With these times.
    Present(BulkTiming),
}

/// The times of bulk copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BulkTiming {
    /// From an instruction that begins a copy to the warp's next one; for each lane that begins one [core cycles, 1..=255].
    pub begin: Bounded<1, 255>,
    /// From there until the unit asks for the first line, at least [core cycles, 1..=1023].
    pub latency: Bounded<1, 1023>,
    /// From the first line of one copy to that of the next one, at least [core cycles, 1..=255].
    pub interval: Bounded<1, 255>,
    /// From the last line of a copy to global memory, but of a box, to the first line of the next copy, at least [core cycles, 1..=255].
    pub behind_store: Bounded<1, 255>,
    /// From one line that is read to the next one, at least [quarters of a core cycle, 4..=255].
    pub load_line: Bounded<4, 255>,
    /// From one line that is written to the next one, at least [quarters of a core cycle, 4..=255].
    pub store_line: Bounded<4, 255>,
    /// From the last bytes' arrival at the SM to that at the mbarrier [core cycles, 1..=1023].
    pub arrival: Bounded<1, 1023>,
    /// From when the last line of a copy to global memory is sent until nobody waits for the copy [core cycles, 1..=1023].
    pub read: Bounded<1, 1023>,
    /// From its beginning until then, at least [core cycles, 1..=1023].
    pub read_least: Bounded<1, 1023>,
    /// Of copies that are combined with what is in global memory.
    pub reductions: ReductionTiming,
    /// Of copies of boxes of tensors.
    pub boxes: BoxTiming,
}

/// The times of bulk copies that are combined with what is in global memory, where they are others than those of copies to there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReductionTiming {
    /// What an instruction that begins one takes longer, for each lane that begins one [core cycles, 0..=255].
    pub begin: Bounded<0, 255>,
    /// What goes ahead of the bytes of a request. Both leave in pieces of 32 bytes, of which each takes as long as a sector of a box that is
    /// written ([`BoxTiming::store_sector`]) [bytes, 0..=128].
    pub header: Bounded<0, 128>,
}

/// The times of bulk copies of boxes of tensors, where they are others than those of bytes that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoxTiming {
    /// From an instruction that begins a copy to the warp's next one; for each lane that begins one [core cycles, 1..=255].
    pub begin: Bounded<1, 255>,
    /// From there until the unit asks for the first line that is read, at least [core cycles, 1..=1023].
    pub latency: Bounded<1, 1023>,
    /// The same of the first line that is written [core cycles, 1..=1023].
    pub store_latency: Bounded<1, 1023>,
    /// From one request that reads to the next one, at least; each row of a box is one, or several. Its sectors have their part of the time
    /// of a line as well [quarters of a core cycle, 4..=255].
    pub load: Bounded<4, 255>,
    /// From one request that writes to the next one, for each sector of 32 bytes, at least; a sector that is written in part counts twice
    /// [quarters of a core cycle, 4..=255].
    pub store_sector: Bounded<4, 255>,
    /// From what would be a request outside of the tensor until its bytes are there [core cycles, 1..=1023].
    pub fill: Bounded<1, 1023>,
}

impl BulkTiming {
    /// The shortest there is.
    pub const LEAST: BulkTiming = BulkTiming {
        begin: Bounded::LEAST,
        latency: Bounded::LEAST,
        interval: Bounded::LEAST,
        behind_store: Bounded::LEAST,
        load_line: Bounded::LEAST,
        store_line: Bounded::LEAST,
        arrival: Bounded::LEAST,
        read: Bounded::LEAST,
        read_least: Bounded::LEAST,
        reductions: ReductionTiming { begin: Bounded::LEAST, header: Bounded::LEAST },
        boxes: BoxTiming {
            begin: Bounded::LEAST,
            latency: Bounded::LEAST,
            store_latency: Bounded::LEAST,
            load: Bounded::LEAST,
            store_sector: Bounded::LEAST,
            fill: Bounded::LEAST,
        },
    };
}

/// What a CTA that has run out of instructions still waits for before another takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CtaRelease {
    /// Its loads.
    AfterLoads,
    /// Its loads, and the L2's acknowledgement of its stores.
    AfterStores,
}

/// Which ready warp a scheduler picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Policy {
    /// Loose round robin: the next ready warp after the one that issued last.
    Lrr,
    /// Greedy then oldest: the warp that issued last while it can, else the oldest ready one.
    Gto,
    /// Greedy, then loose round robin: the warp that issued last while it can, else the next ready one after it.
    Glrr {
        /// A warp that has issued nothing for longer has lost its turn [core cycles, 1..=64].
        within: Bounded<1, 64>,
    },
    /// Oldest first.
    Oldest,
    /// Two levels: round robin over an active set; a warp that waits for memory leaves the set.
    TwoLevel {
        /// Warps in the active set of one scheduler [warps, 1..=64].
        active: Bounded<1, 64>,
    },
}

impl Check for SmConfig {
    fn check(&self) -> Result<(), String> {
        let (warps, schedulers) = (self.max_warps.get(), self.schedulers.get());
        if warps % schedulers != 0 {
            return Err(format!(
                "max_warps ({warps}) is not a multiple of schedulers ({schedulers})"
            ));
        }
        if let Policy::TwoLevel { active } = self.policy
            && active.get() > warps / schedulers
        {
            return Err(format!(
                "policy TwoLevel has active ({}) above the {} warps of one scheduler",
                active.get(),
                warps / schedulers
            ));
        }
        Ok(())
    }
}

impl Check for Fetching {
    fn check(&self) -> Result<(), String> {
        let Fetching::Caches { instruction, line, sub_core, sm } = self else { return Ok(()) };
        let (instruction, line) = (instruction.get(), line.get());
        if line % instruction != 0 {
            return Err(format!("instruction ({instruction}) does not divide line ({line})"));
        }
        for (name, cache) in [("sub_core", sub_core), ("sm", sm)] {
            let (size, set) = (cache.size.get(), cache.ways.get() * line);
            if size % set != 0 || !(size / set).is_power_of_two() {
                return Err(format!(
                    "{name}.size ({size}) is no power of two of sets of ways lines ({set})"
                ));
            }
        }
        Ok(())
    }
}
