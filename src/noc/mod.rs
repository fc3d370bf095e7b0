//! The interconnect: one crossbar for requests, one for replies.

mod crossbar;
mod stats;

pub use crossbar::{Crossbar, Ports, Sent};
pub use stats::NocStats;
