//! The SM: residency, schedulers, arithmetic, load/store unit, shared memory.

use serde::{Deserialize, Serialize};

use crate::config::bounded::{Bounded, Check};

/// One streaming multiprocessor, times `count`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmConfig {
    /// SMs of the GPU [count, 1..=256].
    pub count: Bounded<1, 256>,
    /// Warp schedulers of an SM; each issues at most one instruction a cycle [count, 1..=8].
    pub schedulers: Bounded<1, 8>,
    /// Which ready warp a scheduler picks.
    pub policy: Policy,
    /// Warps resident at once [warps, 1..=64].
    pub max_warps: Bounded<1, 64>,
    /// CTAs resident at once [CTAs, 1..=64].
    pub max_ctas: Bounded<1, 64>,
    /// Threads of one CTA [threads, 1..=1024].
    pub max_cta_threads: Bounded<1, 1024>,
    /// 32-bit registers [count, 1024..=262144].
    pub registers: Bounded<1024, 262_144>,
    /// Registers are given to a warp in multiples of this [count, 1..=1024].
    pub register_granule: Bounded<1, 1024>,
    /// Cycles from one CTA's start on this SM to the next one's [core cycles, 1..=1024].
    pub cta_launch_interval: Bounded<1, 1024>,
    /// What a CTA that has run out of instructions still waits for before another takes its place.
    pub cta_release: CtaRelease,
    /// The arithmetic pipelines.
    pub arithmetic: Arithmetic,
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
    /// Pipelines for integer and single-precision operations, shared by all schedulers of the SM [count, 1..=8].
    pub sp_units: Bounded<1, 8>,
    /// Pipelines for special functions and for double precision [count, 1..=8].
    pub sfu_units: Bounded<1, 8>,
    /// Moves, and reads of special registers and of kernel parameters.
    pub move_: OpTiming,
    /// Integer add, logic, shift, compare, select, convert, predicate operations.
    pub int_add: OpTiming,
    /// Integer multiply.
    pub int_mul: OpTiming,
    /// Integer multiply-add.
    pub int_mad: OpTiming,
    /// Integer division and remainder.
    pub int_div: OpTiming,
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
    /// Branches, barriers and other control.
    pub control: OpTiming,
}

/// The time of one class of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpTiming {
    /// From issue until a dependent instruction can issue [core cycles, 1..=1023].
    pub latency: Bounded<1, 1023>,
    /// From issue until the pipeline takes another instruction [core cycles, 1..=255].
    pub interval: Bounded<1, 255>,
}

/// Load/store unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LsuConfig {
    /// Memory instructions issued and not yet fully accepted [instructions, 1..=64].
    pub queue: Bounded<1, 64>,
    /// From issue until the first access is offered to the L1 or to shared memory [core cycles, 1..=64].
    pub issue_latency: Bounded<1, 64>,
    /// Bytes within which the lanes of a warp share one access.
    pub segment: Segment,
    /// What an access that the L1 refuses holds up.
    pub refusal_blocks: RefusalBlocks,
}

/// The coalescer's unit: lanes whose addresses fall into the same segment share one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Segment {
    /// One L1 line, whatever the size of the elements.
    Line,
    /// 32 bytes for 1-byte elements, 64 for 2-byte elements, one line for larger ones.
    ByElement,
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
    /// Bytes for the resident CTAs [bytes, 0..=262144].
    pub size: Bounded<0, 262_144>,
    /// Shared memory is given to a CTA in multiples of this [bytes, 1..=4096].
    pub granule: Bounded<1, 4096>,
    /// Banks; a power of two [count, 1..=64].
    pub banks: Bounded<1, 64>,
    /// Width of a bank; a power of two [bytes, 4..=8].
    pub bank_bytes: Bounded<4, 8>,
    /// From the last pass of an access until its data can be used [core cycles, 1..=256].
    pub latency: Bounded<1, 256>,
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

impl Check for SharedMemoryConfig {
    fn check(&self) -> Result<(), String> {
        for (name, value) in [("banks", self.banks.get()), ("bank_bytes", self.bank_bytes.get())] {
            if !value.is_power_of_two() {
                return Err(format!("{name} ({value}) is not a power of two"));
            }
        }
        Ok(())
    }
}
