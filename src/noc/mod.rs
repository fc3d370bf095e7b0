//! The interconnect: one crossbar for requests, one for replies.

mod calendar;
mod crossbar;
mod input;
mod output;
mod packet;
mod ports;
mod queues;
mod stats;
#[cfg(test)]
mod tests;
mod times;

pub use calendar::Calendar;
pub use crossbar::Crossbar;
pub use packet::{Entering, Landing, Packet, Sent};
pub use ports::{MOST_WORDS, Ports};
pub use stats::NocStats;
