//! What a workload is: device memory with its buffers, launches, and a check of the result.

mod launch;
mod memory;
pub mod ptx_header;
pub mod registry;
mod stencil1d;
mod synthetic;

pub use launch::{Arg, Launch, PtxSource, SyntheticLaunch, Work};
pub use memory::{Buffer, DeviceMemory};

use crate::error::Result;

/// Something to run: buffers filled, launches in order, and the host's opinion of the result.
pub struct Workload {
    /// What reports call it.
    pub name: String,
    /// Device memory before the first launch.
    pub memory: DeviceMemory,
    /// What to launch, in order.
    pub launches: Vec<Work>,
    /// Compares memory after the last launch with the host reference.
    pub check: Check,
}

/// Compares memory after the last launch with the host reference; an error names the first mismatch.
pub type Check = Box<dyn Fn(&DeviceMemory) -> Result<Verdict> + Send + Sync>;

/// What a check found when all was well.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Verdict {
    /// Elements compared with the host reference, all equal; 0 where there is no result to check.
    pub elements: u64,
}

impl Verdict {
    /// The verdict on a workload that computes nothing.
    pub const NOTHING_TO_CHECK: Verdict = Verdict { elements: 0 };
}
