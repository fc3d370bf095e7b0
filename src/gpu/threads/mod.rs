//! Several threads for one run: whatever they do and when, the results are the same.
//!
//! `crew.rs` advances the front and `memory_side.rs` the memory at the same time, by the letters of `letter.rs`. `team.rs`
//! shares tasks between threads, `pace.rs` judges whether that pays, `ahead.rs` executes CTAs ahead.

mod ahead;
mod crew;
mod letter;
mod memory_side;
mod pace;
mod team;

pub use ahead::Ahead;
pub use crew::{Crew, Enough};
pub use memory_side::PARTS;
pub use pace::Pace;

/// Why a lock and a thread must succeed: whoever panics ends the run.
pub const NO_PANIC: &str = "no thread failed";
