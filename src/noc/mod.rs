//! The interconnect: one crossbar for requests, one for replies.

mod calendar;
mod crossbar;
mod ports;
mod stats;

pub use calendar::Calendar;
pub use crossbar::{Crossbar, Landing, Packet, Sent};
pub use ports::{MOST_WORDS, Ports};
pub use stats::NocStats;
