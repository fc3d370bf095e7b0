//! Several threads for one run: whatever they do and when, the results are the same.
//!
//! `workers.rs` advances the SM side and `memory_side.rs` the memory at the same time, and tell each other by way of `mailbox.rs`. `tasks.rs`
//! shares tasks between threads, `cores.rs` gives each a core, `pace.rs` judges whether sharing pays, `ahead.rs` executes CTAs ahead.

mod ahead;
mod cores;
mod mailbox;
mod memory_side;
mod pace;
mod tasks;
mod workers;

pub use ahead::Ahead;
pub use cores::Cores;
pub use memory_side::PARTS;
pub use pace::Pace;
pub use workers::{Enough, Workers};

/// Why a lock and a thread must succeed: whoever panics ends the run.
pub const NO_PANIC: &str = "no thread failed";
