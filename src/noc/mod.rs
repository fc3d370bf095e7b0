//! The interconnect.

mod stats;

pub use stats::NocStats;
