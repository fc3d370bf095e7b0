//! The L2 slices.

mod stats;

pub use stats::L2Stats;
