//! The L1 data cache.

mod stats;

pub use stats::L1Stats;
