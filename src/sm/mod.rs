//! The streaming multiprocessor.

mod stats;

pub use stats::SmStats;
