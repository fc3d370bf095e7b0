//! The interconnect: one crossbar for requests, one for replies.

mod crossbar;
mod ports;
mod stats;

pub use crossbar::{Crossbar, Packet, Sent};
pub use ports::Ports;
pub use stats::NocStats;
