//! The arithmetic pipelines of an SM, and its tensor cores.

use serde::{Deserialize, Serialize};

use crate::config::bounded::Bounded;

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
    /// Single-precision add; in code of PTX instructions compare and convert, too.
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
    /// None, or none that are modelled: kernels with matrix products are refused, and half precision takes the time of `fp_fma`.
    Absent,
    /// With these times.
    Present(TensorTimes),
}

impl TensorCores {
    /// The times of products of warpgroups, where they make these.
    pub fn warpgroups(self) -> Option<WarpgroupTimes> {
        match self {
            TensorCores::Present(TensorTimes {
                warpgroups: WarpgroupProducts::Present(times),
                ..
            }) => Some(times),
            _ => None,
        }
    }
}

/// The times of matrix products, and of half precision, which has half of its sums there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorTimes {
    /// Of 16 by 8, with 32 bytes in a row of the first factor: m16n8k16 of half precision, m16n8k8 of `.tf32`, m16n8k32 of bytes.
    pub mma: OpTiming,
    /// The same with 16 bytes in a row.
    pub mma_half: OpTiming,
    /// Of 8 by 8, with 16 bytes in a row: m8n8k16 of bytes.
    pub mma_small: OpTiming,
    /// Sums and products of single numbers or pairs in half precision and `bf16`, which run where integers are multiplied.
    pub half: OpTiming,
    /// The same by tensor cores: every other one of pairs.
    pub half_tensor: OpTiming,
    /// In double precision, of 8 by 8 with four numbers in a row.
    pub dp_mma_small: OpTiming,
    /// In double precision, of 16 by 8 with four numbers in a row.
    pub dp_mma_4: OpTiming,
    /// The same with eight.
    pub dp_mma_8: OpTiming,
    /// The same with sixteen.
    pub dp_mma_16: OpTiming,
    /// Products of warpgroups.
    pub warpgroups: WarpgroupProducts,
}

/// Whether tensor cores make products of four warps together, while these go on (`wgmma`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WarpgroupProducts {
    /// They do not: kernels with such products are refused.
    Absent,
    /// With these times.
    Present(WarpgroupTimes),
}

/// The times of products of warpgroups: of 64 rows, with 32 bytes in a row of the first factor.
///
/// One product begins after the other, when all of its warps have come: the tensor cores are taken for its columns, and for as long as its
/// factors are read from shared memory, a row of the banks a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarpgroupTimes {
    /// Columns that a tensor core, which has 16 of the rows, does in a cycle [columns, 1..=64].
    pub columns: Bounded<1, 64>,
    /// From one product to the next one, at least [core cycles, 1..=255].
    pub interval: Bounded<1, 255>,
    /// Columns of the second factor that are read from shared memory at once [columns, 8..=256].
    pub read_columns: Bounded<8, 256>,
    /// What a product takes beside its columns until its sums are there, with both factors in shared memory [core cycles, 1..=255].
    pub latency: Bounded<1, 255>,
    /// The same with the first factor in registers [core cycles, 1..=255].
    pub latency_from_registers: Bounded<1, 255>,
    /// From a warp's product to its next instruction [core cycles, 1..=63].
    pub issue: Bounded<1, 63>,
    /// Products of a warpgroup that wait or have just begun: the warps come to a further one when there are fewer [count, 1..=16].
    pub queue: Bounded<1, 16>,
    /// How long a product that has begun counts among these [core cycles, 0..=63].
    pub leaves_queue: Bounded<0, 63>,
    /// What it takes to say that registers are written (`wgmma.fence`) [core cycles, 1..=63].
    pub arrive: Bounded<1, 63>,
    /// From the end of the last product that a warp waits for to its next instruction [core cycles, 0..=63].
    pub wait: Bounded<0, 63>,
}

impl WarpgroupTimes {
    /// The shortest there are.
    pub const LEAST: WarpgroupTimes = WarpgroupTimes {
        columns: Bounded::LEAST,
        interval: Bounded::LEAST,
        read_columns: Bounded::LEAST,
        latency: Bounded::LEAST,
        latency_from_registers: Bounded::LEAST,
        issue: Bounded::LEAST,
        queue: Bounded::LEAST,
        leaves_queue: Bounded::LEAST,
        arrive: Bounded::LEAST,
        wait: Bounded::LEAST,
    };
}
