//! The load/store unit of an SM, and its shared memory.

use serde::{Deserialize, Serialize};

use crate::config::bounded::{Bounded, Check};

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
