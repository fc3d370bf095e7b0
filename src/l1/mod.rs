//! The L1 data cache of an SM: tags, MSHRs with merger fields, and the way to the interconnect.
//!
//! Write-through; a store allocates a line only where its policy is `Validate`. A line is reserved when its miss is sent. The checks of an
//! access come in a fixed order, each with its own refusal:
//!
//! 1. tag lookup: present is a hit;
//! 2. outstanding: merge into its MSHR entry, or [`Refusal::NoMerger`](crate::parts::Refusal);
//! 3. reserve a line of the set, or `NoCacheLine`;
//! 4. take an MSHR entry, or `NoMshrLine`;
//! 5. queue the fetch for the interconnect, or `MissQueue`.
//!
//! Source of the order: Lashgar and Baniasadi, "A Case Against Small Data Types in GPGPUs", Section IV.
//! A refusal changes nothing.

mod cache;
mod hints;
mod pass_by;
mod stats;
#[cfg(test)]
mod tests;

pub use cache::L1;
pub use stats::L1Stats;
