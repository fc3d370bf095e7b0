//! The whole GPU: owns every component and every queue between them, the clocks, and the launches.
//!
//! A core cycle goes from the memory to the SMs: DRAM clocks that fall into it, then L2 cycles, then
//! network cycles, then the SMs in order, then CTAs that start. `engine.rs` runs kernels, `books.rs` counts them and `watch.rs`
//! sees to it that they come on. `floor.rs` says how far the two halves of the GPU may go, `front` and `memory`, and carries the
//! `news` from one to the other; `threads` does that with several threads. `widths.rs` chooses how large sets of ports are.

mod books;
mod clocks;
mod engine;
mod floor;
mod front;
mod memory;
mod news;
mod statistics;
mod threads;
mod watch;
mod widths;

pub use engine::Stepping;
pub use statistics::{Components, KernelStatistics, Ledgers, total};
pub use watch::Progress;
pub use widths::Gpu;
