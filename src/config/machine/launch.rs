//! How kernels start and end.

use serde::{Deserialize, Serialize};

use crate::config::bounded::Bounded;

/// How a kernel starts and ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchConfig {
    /// From the start of a kernel, or of the first of several at the same time, to its first CTA [core cycles, 0..=1000000].
    pub latency: Bounded<0, 1_000_000>,
    /// From the last instruction of a kernel, or of several at the same time, to its end, at least, and from when its last CTA is
    /// noted. Stores that are acknowledged meanwhile are not waited for [core cycles, 0..=65535].
    pub completion: Bounded<0, 65_535>,
    /// How fast the GPU takes note of CTAs that have ended.
    pub retirement: Retirement,
    /// Kernels that may run at the same time, where the host launches them so [count, 1..=128].
    pub concurrent_kernels: Bounded<1, 128>,
    /// What the L2 holds when a kernel starts, or the first of several at the same time. L1s hold nothing then.
    pub l2: L2AtStart,
}

/// How fast the GPU takes note of CTAs that have ended, of all SMs together: only then another takes its place, and a kernel ends when
/// all have been noted. SMs that have room from the start get CTAs at `sm.cta_launch_interval`, all at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Retirement {
    /// At once.
    Unlimited,
    /// So many CTAs in so many cycles.
    Limited {
        /// CTAs [count, 1..=256].
        ctas: Bounded<1, 256>,
        /// Cycles [core cycles, 1..=1024].
        cycles: Bounded<1, 1024>,
    },
}

/// What the L2 holds when a kernel starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum L2AtStart {
    /// Nothing when the first kernel starts; then what the kernels before it have left.
    Cold,
    /// Nothing when any kernel starts. What memory lacked of its lines has been written, which takes no time and is not counted.
    /// Writes that were on their way go on, and the DRAM is as the kernel before has left it.
    Flushed,
    /// When the first kernel starts, what copying the buffers to their place from elsewhere in device memory, one after the other,
    /// has left; then as `Cold`. Variables of a module (`.global`) are no buffers. An L2 that keeps nothing has nothing.
    Warm,
}
