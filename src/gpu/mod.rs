//! The whole GPU: owns every component and every queue between them, the clocks, and the launches.
//!
//! A core cycle goes from the memory to the SMs: DRAM clocks that fall into it, then L2 cycles, then
//! network cycles, then the SMs in order, then CTAs that start. `engine.rs` runs kernels, `books.rs` counts them and `watch.rs`
//! sees to it that they come on; `floor.rs` says how far its two halves may go and carries the news between them. `front.rs` is
//! the one, of `node.rs` and `requests.rs`, and `memory.rs` the other, of `partition.rs` and `replies.rs`; `station.rs` is a
//! slice with its doors, `handover.rs` what slices hand on.
//! For threads, `crew.rs` advances the front and `memory_side.rs` the memory at the same time, by the letters of `post.rs`;
//! `team.rs` shares tasks, `pace.rs` judges whether that pays, `ahead.rs` executes CTAs ahead. `widths.rs` chooses how large
//! sets of ports are.

mod ahead;
mod books;
mod channel;
mod clocks;
mod crew;
mod dispatch;
mod engine;
mod floor;
mod front;
mod handover;
mod memory;
mod memory_side;
mod node;
mod occupancy;
mod pace;
mod partition;
mod post;
mod replies;
mod requests;
mod station;
mod statistics;
mod team;
mod watch;
mod widths;

/// Events that a list of one part's news has room for at first: as many as come in one window on most machines.
const EVENTS: usize = 512;
/// The same of all parts' news.
const ALL_EVENTS: usize = 8 * EVENTS;

pub use engine::Stepping;
pub use statistics::{Components, KernelStatistics, Ledgers, total};
pub use watch::Progress;
pub use widths::Gpu;
