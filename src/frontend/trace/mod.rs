//! Traces: instruction streams in files, written once and simulated on any machine.
//!
//! ```text
//! any isa::LaunchSource -writer-> .gtrace -reader-> isa::LaunchSource
//! Accel-Sim's text      -accelsim--^
//! ```
//!
//! A `.gtrace` file is the eight bytes `GSIMTRC\n`, the version of the format as a little-endian `u32`, and one Zstandard frame
//! with a checksum. In the frame are records: a letter, the length of what follows as a little-endian `u32`, and the content.
//!
//! | letter | content |
//! | --- | --- |
//! | `H` | the [`Header`], in JSON; first, and once |
//! | `K` | a launch: its [`crate::isa::Kernel`], in JSON |
//! | `C` | the next CTA of the launch: its warps, one behind the other (`codec.rs` has the bytes) |
//! | `E` | the [`End`], in JSON; last, and once |
//!
//! What holds:
//! * what is read is what was written, and a simulation of it is that of the source, to the last byte of its report;
//! * reading needs the memory of one CTA, however long the trace;
//! * no content makes the reader panic: every index, register, address and count is checked before the timing model
//!   sees it, and a file that is cut off is an error;
//! * addresses are those of the lanes. Nothing is coalesced, so that any machine can run any trace.

pub mod accelsim;
mod check;
mod codec;
mod header;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use header::{End, Header, Origin};
pub use reader::TraceReader;
pub use writer::{TraceFile, TraceWriter};
