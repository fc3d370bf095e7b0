//! From a launch to the first instructions of its CTAs.

use serde::{Deserialize, Serialize};

use crate::config::bounded::Bounded;

/// How a kernel starts and how fast its CTAs are handed out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchConfig {
    /// From the start of a kernel, or of the first of several at the same time, to its first CTA [core cycles, 0..=1000000].
    pub latency: Bounded<0, 1_000_000>,
    /// How fast CTAs are handed out.
    pub rate: DispatchRate,
    /// Kernels that may run at the same time, where the host launches them so [count, 1..=128].
    pub concurrent_kernels: Bounded<1, 128>,
    /// What the L2 holds when a kernel starts, or the first of several at the same time. L1s hold nothing then.
    pub l2: L2AtStart,
}

/// How fast the GPU hands out CTAs, besides what each SM takes (`sm.cta_launch_interval`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum DispatchRate {
    /// One to every SM in every cycle.
    Unlimited,
    /// So many CTAs in so many cycles, to the SMs in turn.
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
