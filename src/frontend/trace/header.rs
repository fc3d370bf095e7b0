//! What a trace says of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::WorkloadSpec;
use crate::config::machine::InstructionSet;

/// The bytes that a trace begins with. Their last one shows that nobody changed line ends on the way.
pub const MAGIC: [u8; 8] = *b"GSIMTRC\n";

/// The version of the format. A reader knows one.
pub const VERSION: u32 = 2;

/// Content of a record, at most `[bytes]`: what a warp of it decodes to has places of 32 bits.
pub const MOST_BYTES: usize = 1 << 28;

/// Letters of records.
pub const HEADER: u8 = b'H';
pub const KERNEL: u8 = b'K';
pub const CTA: u8 = b'C';
pub const END: u8 = b'E';

/// What a trace begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of gsim that wrote it.
    pub gsim: String,
    /// What its instructions are.
    pub instructions: InstructionSet,
    /// How many launches there are.
    pub launches: u32,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a trace comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Origin {
    /// Captured from a run of gsim.
    Run {
        /// Its name.
        name: String,
        /// What ran.
        workload: WorkloadSpec,
        /// Its seed.
        seed: u64,
        /// Compiler and digest of every file that took part.
        versions: BTreeMap<String, String>,
    },
    /// Converted from a trace of Accel-Sim.
    AccelSim {
        /// The list of its kernels.
        list: String,
        /// Compute capability of the code, times ten.
        binary_version: u32,
        /// The tracer's version.
        tracer_version: String,
    },
}

/// What a trace ends with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// CTAs of all launches.
    pub ctas: u64,
    /// Warp instructions of all launches.
    pub warp_instructions: u64,
}
