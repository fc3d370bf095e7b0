//! What a workload is: device memory with its buffers, launches, and a check of the result.

pub mod bundled;
pub mod catalogue;
mod description;
mod elements;
mod kernel;
mod launch;
mod matmul;
mod memory;
pub mod npy;
mod output;
pub mod ptx_header;
pub mod registry;
mod stencil1d;
mod stereo;
pub(crate) mod synthetic;
mod tensor_map;

use std::collections::BTreeMap;

pub use kernel::{Symbol, compile, compile_by};
pub use launch::{Arg, Launch, Launches, PtxSource, SyntheticLaunch, Work};
pub use memory::{Buffer, DeviceMemory};
pub use output::{Output, Outputs};
pub use tensor_map::{TENSOR_MAP_BYTES, TensorMap};

use crate::config::kernel::Checks;
use crate::error::Result;

/// Something to run: buffers filled, launches in order, and the host's opinion of the result.
pub struct Workload {
    /// What reports call it.
    pub name: String,
    /// Device memory before the first launch.
    pub memory: DeviceMemory,
    /// What to launch, in order.
    pub launches: Launches,
    /// Compares memory after the last launch with the host reference.
    pub check: Check,
    /// What only a user's own kernel has.
    pub own: Own,
}

impl Workload {
    /// Names of the buffers, by address: those in device memory, and the arrays of patterns.
    pub fn buffer_names(&self) -> BTreeMap<u64, String> {
        let buffers = self.memory.own_buffers().iter();
        let buffers = buffers.map(|(name, buffer)| (buffer.address, name.clone()));
        let arrays = self.launches.distinct().iter().filter_map(|work| match work {
            Work::Synthetic(launch) => Some(synthetic::layout::names(&launch.spec)),
            Work::Ptx(_) => None,
        });
        buffers.chain(arrays.flatten()).collect()
    }
}

/// What a user's own kernel has and a workload of gsim's does not need.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// For each of [`Launches::distinct`], the path of its step below `workload`, for messages.
    pub places: Vec<String>,
    /// Warp instructions that a launch may execute, where it is not the default.
    pub limit: Option<u64>,
    /// What ends a launch, where it is not the default.
    pub checks: Checks,
    /// Variables of the module that are filled before the first launch.
    pub symbols: Vec<Symbol>,
    /// Buffers that are written to files after the last launch.
    pub outputs: Vec<Output>,
    /// SHA-256 of every file that took part, and the compiler, by the names that the run file has.
    pub digests: BTreeMap<String, String>,
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
