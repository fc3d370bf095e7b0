//! The whole GPU: owns every component and every queue between them, the clocks, and the launches.
//!
//! A core cycle goes from the memory to the SMs: DRAM clocks that fall into it, then L2 cycles, then
//! network cycles, then the SMs in order, then CTAs that start. `engine.rs` runs a kernel, `floor.rs` says how far
//! each part may go and carries the news between them, `node.rs`, `requests.rs`, `partition.rs` and `replies.rs` are
//! the parts; `station.rs` is a slice with its doors, `handover.rs` what slices hand on, `memory.rs` puts the last two
//! parts together.
//! `crew.rs`, `team.rs`, `pace.rs` and `ahead.rs` are for threads; `widths.rs` chooses how large sets of ports are.

mod ahead;
mod channel;
mod clocks;
mod crew;
mod dispatch;
mod engine;
mod floor;
mod front;
mod handover;
mod memory;
mod node;
mod occupancy;
mod pace;
mod partition;
mod replies;
mod requests;
mod station;
mod statistics;
mod team;
mod widths;

pub use engine::{Progress, Stepping};
pub use statistics::{Components, KernelStatistics, Ledgers, total};
pub use widths::Gpu;
