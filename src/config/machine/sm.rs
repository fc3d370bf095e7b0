//! The SM: residency, schedulers, arithmetic, load/store unit, shared memory.

use serde::{Deserialize, Serialize};

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
    /// From the last line of a copy to global memory to the first line of the next copy, at least [core cycles, 1..=255].
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

/// Arithmetic pipelines of an SM and the time of each class of operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arithmetic {
    /// Whose the pipelines are.
    pub pipelines: Pipelining,
    /// Pipelines for single precision [count, 1..=8].
    pub sp_units: Bounded<1, 8>,
    /// Pipelines for integers and moves; 0 when those of single precision serve them [count, 0..=8].
    pub int_units: Bounded<0, 8>,
    /// Pipelines for special functions [count, 1..=8].
    pub sfu_units: Bounded<1, 8>,
    /// Instructions that wait in front of each of these, so that their schedulers can go on [count, 0..=1].
    pub sfu_queue: Bounded<0, 1>,
    /// Pipelines for double precision; 0 when those of special functions serve it [count, 0..=8].
    pub dp_units: Bounded<0, 8>,
    /// Where integer products run.
    pub int_products: IntProducts,
    /// Moves, and reads of special registers and of kernel parameters.
    pub move_: OpTiming,
    /// Integer add, logic, shift, compare, select, convert, predicate operations.
    pub int_add: OpTiming,
    /// Integer multiply.
    pub int_mul: OpTiming,
    /// Integer multiply-add.
    pub int_mad: OpTiming,
    /// Integer products of 64 bits, or the high half of one. Only in code of `Sass` instructions.
    pub int_mul_wide: OpTiming,
    /// Integer division and remainder.
    pub int_div: OpTiming,
    /// Integer operations on values that all lanes share, in the pipelines for integers. Only in code of `Sass`
    /// instructions.
    pub uniform: OpTiming,
    /// A register of a lane that becomes a value of the warp.
    pub to_uniform: OpTiming,
    /// Single-precision add, compare, convert.
    pub fp_add: OpTiming,
    /// Single-precision multiply.
    pub fp_mul: OpTiming,
    /// Single-precision fused multiply-add.
    pub fp_fma: OpTiming,
    /// Single-precision division.
    pub fp_div: OpTiming,
    /// Double-precision add, compare, convert.
    pub dp_add: OpTiming,
    /// Double-precision multiply.
    pub dp_mul: OpTiming,
    /// Double-precision fused multiply-add.
    pub dp_fma: OpTiming,
    /// Double-precision division and square root.
    pub dp_div: OpTiming,
    /// Special functions: reciprocal, square root, sine, cosine, logarithm, exponential.
    pub sfu: OpTiming,
    /// Special functions of two registers: checks before a division, conversions from double precision. Only in code of
    /// `Sass` instructions.
    pub sfu_pair: OpTiming,
    /// Which lanes have the same value. A unit of the SM does this and what `reduce` is for.
    pub match_: MatchTiming,
    /// Sums, minima and the like over the lanes.
    pub reduce: OpTiming,
    /// Matrix products.
    pub tensor: TensorCores,
    /// Branches and other control.
    pub control: OpTiming,
    /// From issue of a branch that is not taken until the warp's next instruction can issue, of `Sass` instructions only, as
    /// those of others hold the warp for the latency of `control` [core cycles, 1..=63].
    pub fall_through: Bounded<1, 63>,
    /// From issue of the instruction where lanes that have parted meet until the warp's next one can issue; of `Sass`
    /// instructions [core cycles, 1..=63].
    pub converge: Bounded<1, 63>,
    /// From issue of the last instruction of a block that another follows until the warp's next one can issue: the
    /// assembler waits for results there, as it does not look across. Of `Sass` instructions [core cycles, 1..=63].
    pub block_end: Bounded<1, 63>,
    /// What a result takes in addition to its latency to where another pipeline reads it.
    pub forwarding: Forwarding,
    /// Registers of 32 bits that a scheduler's register file gives in a cycle. It may be a cycle behind: where two are given, every
    /// second one of a row of instructions that read three waits. 0 for no limit. Of `Sass` instructions [count, 0..=16].
    pub register_reads: Bounded<0, 16>,
}

/// What a result takes in addition to its latency, by who made it and who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forwarding {
    /// From a pipeline for single precision to one for integers, or back [core cycles, 0..=15].
    pub unlike: Bounded<0, 15>,
    /// From either to one for special functions [core cycles, 0..=15].
    pub special: Bounded<0, 15>,
    /// From one for double precision to any other [core cycles, 0..=15].
    pub double: Bounded<0, 15>,
    /// From any but those for special functions to the guard of an instruction or the predicate of a branch
    /// [core cycles, 0..=15].
    pub predicate: Bounded<0, 15>,
}

/// Whose the arithmetic pipelines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pipelining {
    /// The counts are those of the SM; every scheduler issues to all.
    PerSm,
    /// The counts are those of a sub-core: each scheduler has its own.
    PerScheduler,
}

/// Where integer products run: multiplications and multiply-adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntProducts {
    /// In the pipelines for integers.
    IntUnits,
    /// In the pipelines for single precision.
    SpUnits,
}

/// The time of one class of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpTiming {
    /// From issue until a dependent instruction can issue [core cycles, 1..=700].
    pub latency: Bounded<1, 700>,
    /// From issue until the pipeline takes another instruction [core cycles, 1..=255].
    pub interval: Bounded<1, 255>,
}

/// The time that it takes to find which lanes have the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchTiming {
    /// Where all lanes have the same value. The unit is taken so long once more for each further value.
    pub first: OpTiming,
    /// What each further value adds to the latency [core cycles, 0..=63].
    pub further: Bounded<0, 63>,
}

impl OpTiming {
    /// The shortest there is.
    pub const LEAST: OpTiming = OpTiming { latency: Bounded::LEAST, interval: Bounded::LEAST };
}

/// The tensor cores: one of each set of pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TensorCores {
    /// None, or none that are modelled: kernels with matrix products are refused.
    Absent,
    /// With these times.
    Present(TensorTimes),
}

/// The times of matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorTimes {
    /// Of 16 by 8, with 32 bytes in a row of the first factor: m16n8k16 of half precision, m16n8k8 of `.tf32`, m16n8k32 of bytes.
    pub mma: OpTiming,
    /// The same with 16 bytes in a row.
    pub mma_half: OpTiming,
    /// Of 8 by 8, with 16 bytes in a row: m8n8k16 of bytes.
    pub mma_small: OpTiming,
    /// In double precision, of 8 by 8 with four numbers in a row.
    pub dp_mma_small: OpTiming,
    /// In double precision, of 16 by 8 with four numbers in a row.
    pub dp_mma_4: OpTiming,
    /// The same with eight.
    pub dp_mma_8: OpTiming,
    /// The same with sixteen.
    pub dp_mma_16: OpTiming,
}

/// Load/store unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LsuConfig {
    /// Memory instructions in the unit: of the SM, or with `TagsThenBanks` of each scheduler [instructions, 1..=64].
    pub queue: Bounded<1, 64>,
    /// From issue until the first access is offered to the L1 or to shared memory, at least [core cycles, 1..=64].
    pub issue_latency: Bounded<1, 64>,
    /// How lines and banks are served.
    pub stages: LsuStages,
    /// How the lanes of a warp share accesses.
    pub segment: Segment,
    /// Bytes within which the lanes of a warp share a load past the L1, where `segment` goes by warps; a power
    /// of two [bytes, 32..=128].
    pub bypass_segment: Bounded<32, 128>,
    /// What an access that the L1 refuses holds up.
    pub refusal_blocks: RefusalBlocks,
}

/// How a load/store unit serves lines and banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum LsuStages {
    /// One access of the L1, or one pass over the banks of shared memory, a cycle, in order. A line that hits
    /// is read at once.
    One,
    /// The L1 and shared memory are the same banks. Lines are looked up in order; then the data of lines that hit and
    /// of shared memory goes by passes over the banks, one a cycle. The oldest instruction goes first that is due.
    /// Each scheduler has a queue of its own before it.
    ///
    /// Needs `l1.tag_latency` 0.
    TagsThenBanks {
        /// Between two instructions that the unit takes from one scheduler, at least [core cycles, 1..=32].
        scheduler_interval: Bounded<1, 32>,
        /// Lines of one instruction that are looked up in a cycle [lines, 1..=32].
        lines: Bounded<1, 32>,
        /// From one pass of a warp to its next one [core cycles, 1..=16].
        pass_interval: Bounded<1, 16>,
        /// How constants are read.
        constants: ConstantPasses,
    },
}

/// How a load of constants is served whose lines are in the L1: each different address of its lanes takes a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConstantPasses {
    /// Between two passes of one load, at least [core cycles, 1..=64].
    pub replay: Bounded<1, 64>,
    /// Between passes of any two loads, at least [core cycles, 1..=64].
    pub interval: Bounded<1, 64>,
}

/// The coalescer's rule: lanes whose addresses fall into the same segment share one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Segment {
    /// One L1 line, whatever the size of the elements.
    Line,
    /// 32 bytes for 1-byte elements, 64 for 2-byte elements, one line for larger ones.
    ByElement,
    /// By half-warps, as compute capability 1.2 and 1.3: segments as `ByElement` with 128 bytes for a
    /// line, each shrunk to its half while that holds all its lanes.
    HalfWarp,
    /// By half-warps, as compute capability 1.0 and 1.1: one access when lane k wants word k of an aligned
    /// block of 16 words of at least 4 bytes, else one of 32 bytes a lane.
    HalfWarpInOrder,
}

/// What an access that the L1 refuses holds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalBlocks {
    /// Every access behind it: the load/store unit stalls until the access is accepted.
    Unit,
    /// The other accesses of its warp instruction only; other queued instructions go ahead in turn.
    Instruction,
}

/// Shared memory of one SM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedMemoryConfig {
    /// Bytes for the resident CTAs, at most [bytes, 0..=262144].
    pub size: Bounded<0, 262_144>,
    /// Whether the bytes are shared memory's own or taken from the L1's.
    pub carve_out: CarveOut,
    /// Bytes that each CTA takes besides those it asks for [bytes, 0..=4096].
    pub per_cta: Bounded<0, 4096>,
    /// Shared memory is given to a CTA in multiples of this [bytes, 1..=4096].
    pub granule: Bounded<1, 4096>,
    /// Banks; a power of two [count, 1..=64].
    pub banks: Bounded<1, 64>,
    /// Width of a bank; a power of two [bytes, 4..=8].
    pub bank_bytes: Bounded<4, 8>,
    /// How the lanes of a warp share passes over the banks.
    pub sharing: BankSharing,
    /// From the last pass of an access until its data can be used [core cycles, 1..=256].
    pub latency: Bounded<1, 256>,
    /// What a shuffle takes longer, which goes from lane to lane as an access without conflicts does [core cycles, 0..=63].
    pub shuffle_extra: Bounded<0, 63>,
}

/// How the lanes of a warp share passes over the banks of shared memory. A pass serves each bank once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum BankSharing {
    /// As compute capability 1.x: half-warps, one after the other, and wide elements word by word. A pass gives one
    /// word to all lanes that read it, and every other bank serves one lane. Of lanes that write one address, one does.
    HalfWarps,
    /// As compute capability 2.x and later: lanes that want one word share a pass. Elements of two words go by
    /// half-warps, those of four by quarter-warps.
    Warps {
        /// Passes of a quarter-warp besides those of its lanes' conflicts [passes, 0..=8].
        quarter_extra: Bounded<0, 8>,
    },
}

/// Whether shared memory has bytes of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum CarveOut {
    /// Shared memory and L1 keep their sizes.
    Fixed,
    /// Both share one array. For each kernel shared memory gets the least of `options` with which as many
    /// CTAs are resident as with the largest; the L1 gets the rest, as ways of its sets.
    Unified {
        /// The array. The L1 has what an option leaves of it, and `l1.size` at most [bytes, 1..=1048576].
        total: Bounded<1, 1_048_576>,
        /// Sizes of shared memory, ascending; the last is `size` [bytes, 0..=262144].
        options: Vec<Bounded<0, 262_144>>,
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

impl Check for LsuConfig {
    fn check(&self) -> Result<(), String> {
        let segment = self.bypass_segment.get();
        if !segment.is_power_of_two() {
            return Err(format!("bypass_segment ({segment}) is not a power of two"));
        }
        Ok(())
    }
}

impl Check for SharedMemoryConfig {
    fn check(&self) -> Result<(), String> {
        for (name, value) in [("banks", self.banks.get()), ("bank_bytes", self.bank_bytes.get())] {
            if !value.is_power_of_two() {
                return Err(format!("{name} ({value}) is not a power of two"));
            }
        }
        let CarveOut::Unified { options, .. } = &self.carve_out else { return Ok(()) };
        if !options.is_sorted() || options.last().map(|last| last.get()) != Some(self.size.get()) {
            return Err(format!("carve_out.options must ascend to size ({})", self.size.get()));
        }
        Ok(())
    }
}
