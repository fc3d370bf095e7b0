//! What a workload is: device memory with its buffers, launches, and a check of the result.

mod elements;
mod launch;
mod matmul;
mod memory;
pub mod ptx_header;
pub mod registry;
mod stencil1d;
mod stereo;

pub use launch::{Arg, Launch, PtxSource};
pub use memory::{Buffer, DeviceMemory};

use crate::error::Result;

/// Something to run: buffers filled, launches in order, and the host's opinion of the result.
pub struct Workload {
    /// What reports call it.
    pub name: String,
    /// Device memory before the first launch.
    pub memory: DeviceMemory,
    /// What to launch, in order.
    pub launches: Vec<Launch>,
    /// Compares memory after the last launch with the host reference.
    pub check: Check,
}

/// Compares memory after the last launch with the host reference; an error names the first mismatch.
pub type Check = Box<dyn Fn(&DeviceMemory) -> Result<Verdict> + Send + Sync>;

/// What a check found when all was well.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Verdict {
    /// Elements compared with the host reference; all were equal.
    pub elements: u64,
}
