//! The whole GPU: owns every component and every queue between them, the clocks, and the launches.
//!
//! A core cycle goes from the memory to the SMs: DRAM clocks that fall into it, then L2 cycles, then
//! network cycles, then the SMs in order, then CTAs that start. `engine.rs` runs kernels, `books.rs` counts
//! them, `lines.rs` by line of their sources and `buffers.rs` by buffer, and `watch.rs` sees to it that they
//! come on. `sides.rs` says how far the two sides of the GPU may go, `sm_side` and `memory`, and carries the
//! `news` from one to the other; `threads` does that with several threads. `widths.rs` chooses how large sets
//! of ports are.
//!
//! | here | in the field's words |
//! | --- | --- |
//! | node | an SM with its L1, and the replies on their way there |
//! | SM side | all nodes, and the request network |
//! | partition | a memory partition: a DRAM channel with its L2 slices, or two such channels whose slices are each other's neighbours in the two halves of an L2 (`l2.partitions`) |
//! | sub-partition | an L2 slice with the queues around it |
//! | slice input | an L2 slice as the request network sees it |
//! | hub | the reply network, and what the memory tells |
//! | memory | all partitions, and the hub |
//! | sides | SM side and memory, lent to one thread |
//! | workers, task pool | the threads of a run, and the tasks that they share |
//!
//! Who goes ahead keeps to bounds, each a cycle before which all is known: no node takes a reply from `Bounds::replies` on, nor
//! does what depends on a place in its miss queue from `Bounds::places` on; no slice looks a request up from `Reach::owing`
//! on; `Known` has the clocks of the memory that these follow from, and `Delays` the latencies between.

mod books;
mod buffers;
mod clocks;
mod engine;
mod lines;
mod memory;
mod news;
mod sides;
mod sm_side;
mod statistics;
mod threads;
mod watch;
mod widths;

pub use buffers::BufferStatistics;
pub use engine::Stepping;
pub use lines::LineStatistics;
pub use statistics::{
    Components, ConcurrentKernel, KernelStatistics, Ledgers, RunStatistics, total,
};
pub use watch::Progress;
pub use widths::Gpu;
