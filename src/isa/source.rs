//! How a front end hands out the CTAs of a launch.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::inst::Inst;
use super::stream::WarpStream;
use crate::error::Result;

/// What the timing model needs to know of a kernel launch before its first CTA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Entry point.
    pub name: String,
    /// Static instructions; streams refer to them by index.
    pub insts: Vec<Inst>,
    /// Registers that the instructions name: all are below this.
    pub regs: u16,
    /// 32-bit registers that one thread occupies on an SM.
    pub registers_per_thread: u32,
    /// Shared memory of one CTA `[bytes]`.
    pub shared_bytes: u32,
    /// Local memory of one thread, as [`local_address`](super::local_address) has it; 0 where there is none, or nobody said
    /// `[bytes]`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub local_bytes: u32,
    /// Threads of one CTA.
    pub cta_threads: u32,
    /// CTAs of the launch.
    pub ctas: u64,
    /// Addresses of all buffers of the workload, in order, without the variables of the kernel's module `[bytes]`.
    pub buffers: Vec<Range<u64>>,
    /// The next launch may run at the same time: it needs nothing of what this one computes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub overlaps_next: bool,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Kernel {
    /// Warps of one CTA.
    pub fn cta_warps(&self) -> usize {
        self.cta_threads.div_ceil(super::WARP as u32) as usize
    }
}

/// The names of kernels that run at the same time, each as often as it follows itself: `a x 2 + b`.
pub fn joint_name(names: &[&str]) -> String {
    let each = names.chunk_by(|one, other| one == other).map(|same| match same.len() {
        1 => same[0].to_owned(),
        times => format!("{} x {times}", same[0]),
    });
    each.collect::<Vec<_>>().join(" + ")
}

/// What one CTA executed: a stream for each of its warps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cta {
    /// One stream a warp; as many as [`Kernel::cta_warps`].
    pub warps: Vec<WarpStream>,
}

impl Cta {
    /// Empties the streams, keeping their storage, and makes room for `warps` of them.
    pub fn reset(&mut self, warps: usize) {
        self.warps.resize_with(warps, WarpStream::default);
        for warp in &mut self.warps {
            warp.clear();
        }
    }

    /// Becomes equal to `other`, keeping the storage.
    pub fn copy_from(&mut self, other: &Cta) {
        self.warps.resize_with(other.warps.len(), WarpStream::default);
        for (to, from) in self.warps.iter_mut().zip(&other.warps) {
            to.copy_from(from);
        }
    }

    /// Bytes of storage in use.
    pub fn bytes(&self) -> usize {
        self.warps.iter().map(|warp| size_of::<WarpStream>() + warp.bytes()).sum()
    }
}

/// A launch, handed out CTA by CTA.
///
/// CTAs come in launch order (x fastest, then y, then z), each executed as a whole before the next
/// begins: values never depend on timing.
pub trait CtaSource: Send {
    /// The launch.
    fn kernel(&self) -> &Kernel;

    /// Fills `cta` with the next CTA, reusing its storage; `false` after the last one.
    fn next(&mut self, cta: &mut Cta) -> Result<bool>;
}

/// The launches of a workload, one after another.
///
/// A launch finds what those before it have left behind, so that all CTAs of one come before the next begins.
pub trait LaunchSource: Send {
    /// Moves to the next launch, when all CTAs of the one before have been handed out; `None` after the last one.
    fn begin(&mut self) -> Result<Option<Arc<Kernel>>>;

    /// Fills `cta` with the next CTA of the launch, reusing its storage; `false` after the last one.
    fn next(&mut self, cta: &mut Cta) -> Result<bool>;
}

/// One launch as all that there is.
pub struct OneLaunch<'a> {
    source: &'a mut dyn CtaSource,
    has_begun: bool,
}

impl<'a> OneLaunch<'a> {
    /// The launch of `source`.
    pub fn new(source: &'a mut dyn CtaSource) -> Self {
        OneLaunch { source, has_begun: false }
    }
}

impl LaunchSource for OneLaunch<'_> {
    fn begin(&mut self) -> Result<Option<Arc<Kernel>>> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        Ok(is_first.then(|| Arc::new(self.source.kernel().clone())))
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        self.source.next(cta)
    }
}
