//! The DRAM controllers.

mod stats;

pub use stats::DramStats;
