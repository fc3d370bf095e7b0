//! What a machine can do at most, and what it takes when nothing else is under way, before any kernel runs.
//!
//! `rates.rs` has the peak of every level and which of them a stream of reads meets first. `latency.rs` asks the
//! simulator what a lone load takes. `under_way.rs` has what may be outstanding, and what follows by Little's law.
//!
//! Peaks are what the configuration allows, without conflicts, refreshes, turnarounds and queues: a kernel gets less.

mod latency;
mod rates;
mod under_way;

pub use latency::{Found, Latencies};
pub use rates::{Narrowest, Rate, Rates, Unit};
pub use under_way::{Capacity, Filling, Holder, Place, UnderWay};

use crate::config::Machine;
use crate::config::machine::{L2Mode, LoadsLook, Segment};
use crate::error::Result;

/// All that is known of a machine before a kernel runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Peak rates.
    pub rates: Rates,
    /// Latencies without load.
    pub latencies: Latencies,
    /// What may be outstanding.
    pub under_way: UnderWay,
    /// What must be outstanding for the DRAM's peak.
    pub filling: Filling,
}

impl Limits {
    /// The limits of `machine`; a few thousand loads are simulated for it.
    ///
    /// # Errors
    /// When not even one warp fits on an SM.
    pub fn of(machine: &Machine) -> Result<Self> {
        let (rates, latencies) = (Rates::of(machine), Latencies::of(machine)?);
        let filling = Filling::of(machine, &latencies, &rates.from_dram);
        Ok(Limits { rates, latencies, under_way: UnderWay::of(machine), filling })
    }
}

/// Bytes of the largest request that a dense load makes `[bytes]`.
///
/// A load that misses the L1 fetches the sectors of a line. Past the L1, a warp makes requests of `lsu.bypass_segment`, and
/// a half-warp of 8 bytes a lane one of 128 bytes, or of a line where that is less (`sm/lsu/half_warp.rs`).
fn request_bytes(machine: &Machine) -> u32 {
    let line = machine.l1.line.get();
    let by_warps = matches!(machine.lsu.segment, Segment::Line | Segment::ByElement);
    match machine.l1.global_loads {
        LoadsLook::Bypass if by_warps => machine.lsu.bypass_segment.get().min(line),
        _ => line,
    }
}

/// How often the L2's slices look a line up that comes from DRAM, in the mean: with two partitions half of the lines are at
/// home in the other one, and are looked up there as well (`l2/far.rs`).
fn lookups(machine: &Machine) -> f64 {
    let partitions = machine.l2.partitions.count() as f64;
    1.0 + (partitions - 1.0) / partitions
}

/// Whether the L2 keeps anything.
fn has_l2(machine: &Machine) -> bool {
    machine.l2.mode == L2Mode::Cache
}
