//! Synthetic kernels: warp streams made from patterns of accesses, without executing anything.
//!
//! ```text
//! SyntheticSpec -schedule-> order of accesses -program-> static instructions
//!               -layout---> addresses of arrays -pattern-> lane addresses
//! ```
//!
//! Order, layout and addresses are in [`crate::workload`], where the same specification also becomes a kernel in
//! PTX, for GPUs.
//!
//! What holds:
//! * an address is a function of seed, CTA, warp, lane and the number of the access, and of nothing else, so
//!   that CTAs can be asked for in any order, and so that a kernel on a GPU can compute the same;
//! * no array has memory: a footprint may be as large as the address space;
//! * every warp executes the same instructions in the same order, and only addresses differ. A stream
//!   holds a CTA as a whole, with 16 bytes for a memory instruction whose addresses are affine in the
//!   lane number, and 140 for one whose addresses are scattered;
//! * values do not exist: there is no result to check.
//!
//! `workloads/PATTERNS.md` has the formula of every pattern.
//!
//! **A new pattern** is a variant of [`crate::config::synthetic::Pattern`] with its checks, a rule in
//! `workload::synthetic::pattern`, one in `workload::synthetic::kernel` for a GPU, a section in `workloads/PATTERNS.md`, and a test of its exact addresses.

mod program;
mod source;
#[cfg(test)]
mod tests;

pub use source::SyntheticSource;
