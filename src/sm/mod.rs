//! The streaming multiprocessor: resident CTAs, schedulers, scoreboard, arithmetic, load/store unit.
//!
//! In a cycle, in this order: a reply arrives; a line's waiting accesses are released; data of hits
//! reaches the registers; the load/store unit serves an access, or looks up lines and makes a pass over
//! its banks; each scheduler issues to one warp, one instruction or two. The first three are in `arrivals.rs`. What a warp needs next is kept in bit masks, so that a cycle in which nothing can
//! happen is known as such: [`Sm::next_event`] says when the next one is due, and the cycles between
//! are charged to the ledgers in one step. Where somebody asks for it, `profile.rs` counts by instruction what warps stood for and what
//! loads took, and `buffers.rs` by buffer where loads found their lines. What instructions read of the constant bank is no access of the
//! load/store unit: `constants.rs` says when it is there. Barriers have units of their own, those of a CTA in `barriers.rs`,
//! those in shared memory in `mbarriers.rs`; so have bulk copies in `bulk.rs`, and, in `lanes.rs`, what looks across the lanes of a warp. Four warps
//! share the tensor cores for the products of `warpgroups.rs`.

mod accounts;
mod arrivals;
mod barriers;
mod buffers;
mod bulk;
mod constants;
mod copies;
mod core;
mod ctas;
mod fences;
mod fetch;
mod issue;
mod journey;
mod lanes;
mod lsu;
mod mbarriers;
mod memory_issue;
mod pipelines;
mod profile;
mod program;
mod residency;
mod scheduler;
mod stats;
mod sub_core;
mod waits;
mod warp_slot;
mod warpgroups;
mod warps;

pub use self::core::Sm;
pub use buffers::{BufferCounters, BufferProfile, Region};
pub use lsu::{AccessList, Banks};
pub use pipelines::Throughput;
pub use profile::{InstCounters, InstProfile};
pub use program::{Port, Program};
pub use residency::Residency;
pub use scheduler::{Ages, Candidates, SLOTS, Scheduler};
pub use stats::SmStats;
