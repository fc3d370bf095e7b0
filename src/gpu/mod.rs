//! The whole GPU.

mod statistics;

pub use statistics::{Components, KernelStatistics, Ledgers, total};
