//! The interconnect.

use serde::{Deserialize, Serialize};

use crate::config::bounded::Bounded;

/// Two crossbars: requests from SMs to L2 slices, and replies back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NocConfig {
    /// What a slice sends in one cycle [bytes, 1..=1024].
    pub flit_bytes: Bounded<1, 1024>,
    /// What a slice takes in one cycle [bytes, 1..=1024].
    pub slice_in_bytes: Bounded<1, 1024>,
    /// What an SM takes in one cycle [bytes, 1..=1024].
    pub sm_port_bytes: Bounded<1, 1024>,
    /// What an SM sends in one cycle [bytes, 1..=1024].
    pub sm_out_bytes: Bounded<1, 1024>,
    /// What the SMs of a GPC take in one cycle, together.
    pub gpc_port: GpcPort,
    /// Bytes of a packet besides its data [bytes, 1..=64].
    pub header_bytes: Bounded<1, 64>,
    /// Stores move their line in pieces of so many bytes; a power of two [bytes, 1..=32].
    pub store_piece: Bounded<1, 32>,
    /// Masks of a store that does not write all bytes of its pieces, and of an atomic where stores move in pieces
    /// [bytes, 0..=64].
    pub mask_bytes: Bounded<0, 64>,
    /// From the last flit's departure to its arrival [NoC cycles, 1..=1023].
    pub latency: Bounded<1, 1023>,
    /// Packets waiting at one input port, all destinations together [packets, 1..=1024].
    pub input_queue: Bounded<1, 1024>,
}

impl NocConfig {
    /// Cycles that a packet of `data` bytes besides its header keeps a port of `port` bytes a cycle: its flits there.
    pub fn flits(&self, data: u32, port: u32) -> u32 {
        (self.header_bytes.get() + data).div_ceil(port)
    }
}

/// What the SMs of a GPC take in one cycle, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum GpcPort {
    /// As much as each of them takes.
    Unlimited,
    /// So much, headers included. A reply for several of them counts once.
    Limited {
        /// In a cycle [bytes, 32..=16384].
        bytes: Bounded<32, 16_384>,
    },
    /// So much from each group of slices, counted in the same way. The slices of a partition go round the groups.
    BySlices {
        /// Groups of slices in a partition [groups, 2..=32].
        groups: Bounded<2, 32>,
        /// From one group in a cycle [bytes, 32..=16384].
        bytes: Bounded<32, 16_384>,
    },
}
