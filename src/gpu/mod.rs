//! The whole GPU: owns every component and every queue between them, the clocks, and the launches.
//!
//! A core cycle goes from the memory to the SMs: DRAM clocks that fall into it, then L2 cycles, then
//! network cycles, then the SMs in order, then CTAs that start. A component with nothing to do is not
//! called; when none has anything to do, time jumps to the next event.

mod ahead;
mod clocks;
mod crew;
mod engine;
mod floor;
mod memory;
mod node;
mod requests;
mod statistics;
mod team;

pub use engine::{Gpu, Progress, Stepping};
pub use statistics::{Components, KernelStatistics, Ledgers, total};
