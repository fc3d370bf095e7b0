//! The simulator against a GPU: the same questions, the same kernels, and how far apart the answers are.

mod compared;
pub mod correlate;
mod errors;
pub mod micro;
mod pair;
mod samples;
mod waits;

pub use errors::Agreement;
