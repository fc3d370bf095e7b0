//! The DRAM controllers: one [`Controller`] is one channel.
//!
//! A request enters with [`Controller::push`] where there is room, waits half of the interface latency, then in
//! the queue until the scheduler sent its column commands. A read is done when its last data came
//! and the other half of the latency passed, which the owner is told as soon as its last command
//! goes; a write is done when its last column command went, and says nothing.
//!
//! What holds:
//!
//! - One command goes in a clock, as on GDDR5's single command bus. No two bursts overlap on the
//!   data bus: the column-to-column distances are never shorter than a burst.
//! - Every constraint is one row of [`timing::rules`]; [`bank`] keeps the earliest clocks that
//!   follow from them and [`refresh`] adds refresh, of all banks or of one at a time.
//! - Requests to the same bytes take effect in the order of their arrival: a read never passes an
//!   older write to the same bytes, nor a write an older read, whatever the policies.
//! - A refused request changes nothing, and every accepted read completes exactly once.
//! - Every clock of the data bus is explained: see [`DramReason`](crate::stats::DramReason).
//! - Skipping is exact: clocks before [`Controller::next_event`] may be ticked or skipped, and all
//!   counters and completions are the same.
//!
//! The files in reading order: `request`, `mapping`, `timing`, `bank`, `lists`, `queue`, `drain`,
//! `candidate`, `scheduler`, `settle`, `refresh`, `bus`, `controller`, `act`, `alone`.

mod act;
mod alone;
pub mod bank;
mod bus;
mod candidate;
mod controller;
mod drain;
mod lists;
mod mapping;
mod queue;
pub mod refresh;
mod request;
mod scheduler;
mod settle;
mod stats;
pub mod timing;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use controller::Controller;
pub use mapping::{Location, Mapping};
pub use request::{Completion, Listener, Request, Sent};
pub use stats::DramStats;
