//! The interconnect: one crossbar for requests, one for replies.

mod calendar;
mod crossbar;
mod output;
mod ports;
mod stats;
#[cfg(test)]
mod tests;

pub use calendar::Calendar;
pub use crossbar::{Crossbar, Landing, Packet, Sent};
pub use ports::{MOST_WORDS, Ports};
pub use stats::NocStats;
