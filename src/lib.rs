//! gsim: a cycle-level simulator of GPU memory systems.

pub mod cli;
pub mod config;
pub mod dram;
pub mod error;
pub mod frontend;
pub mod gpu;
pub mod isa;
pub mod l1;
pub mod l2;
pub mod native;
pub mod noc;
pub mod parts;
pub mod report;
pub mod ring;
pub mod simulate;
pub mod sm;
pub mod stats;
pub mod study;
pub mod units;
pub mod workload;
