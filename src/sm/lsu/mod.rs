//! The load/store unit with its coalescer and the banks of shared memory.

mod banked;
mod banks;
mod coalescer;
mod entry;
mod half_warp;
mod queues;
mod returns;
mod unit;

pub use banks::{Banks, Passes};
pub use coalescer::AccessList;
pub use entry::Target;
pub use returns::Returns;
pub use unit::Lsu;
