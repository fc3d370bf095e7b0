//! The L2: slices, each with its own tags, MSHRs and merger fields.
//!
//! Write-back. A write that finds no line takes one without fetching it and notes which bytes are
//! valid (write-validate); a read that wants other bytes of such a line fetches it then, and where a slice holds few of them, it completes the
//! oldest (`partial_lines.rs`). One request is
//! looked up a cycle, in the order of arrival; a refused one holds up those behind it.

mod answer;
mod coalescer;
mod contents;
mod distance;
mod exit;
mod far;
mod lookup;
mod partial_lines;
mod port;
mod runs;
mod slice;
mod stall;
mod stats;
#[cfg(test)]
mod tests;
mod waiting;

pub use exit::{DEPARTURES, Departure, Exit};
pub use slice::Slice;
pub use stats::L2Stats;
