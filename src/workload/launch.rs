//! A kernel launch.

use std::path::PathBuf;
use std::sync::Arc;

use super::memory::Buffer;
use crate::config::SyntheticSpec;

/// PTX text and where it came from, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxSource {
    /// The file, as messages name it.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// One launch of a workload: which front end makes its warp instructions, and of what.
#[derive(Clone, Debug)]
pub enum Work {
    /// A PTX kernel, executed.
    Ptx(Launch),
    /// A pattern of accesses, generated.
    Synthetic(SyntheticLaunch),
}

impl Work {
    /// The launch of a PTX kernel, if it is one.
    pub fn ptx(&self) -> Option<&Launch> {
        match self {
            Work::Ptx(launch) => Some(launch),
            Work::Synthetic(_) => None,
        }
    }
}

impl From<Launch> for Work {
    fn from(launch: Launch) -> Self {
        Work::Ptx(launch)
    }
}

/// One launch of a synthetic kernel. It has no memory on the host: there are addresses and no values.
#[derive(Clone, Debug)]
pub struct SyntheticLaunch {
    /// What the kernel does.
    pub spec: Arc<SyntheticSpec>,
    /// Seed of everything random.
    pub seed: u64,
}

/// One kernel launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The module that holds the entry.
    pub ptx: Arc<PtxSource>,
    /// Name of the entry.
    pub entry: String,
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a CTA `[bytes]`.
    pub dynamic_shared: u32,
    /// Arguments, in the order of the entry's parameters.
    pub args: Vec<Arg>,
}

/// An argument of a launch. Its size must be that of the parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    /// The device address of a buffer.
    Buffer(Buffer),
    /// A 32-bit whole number.
    I32(i32),
    /// A 64-bit whole number.
    I64(i64),
    /// A single-precision number.
    F32(f32),
    /// A double-precision number.
    F64(f64),
}
