//! Functional execution, a warp at a time over vectors of 32 lanes.
//!
//! * `registers` — rows of lanes, and how values are read from them; `rows` — where those of each warp lie;
//! * `memory` — addresses, bounds and alignment; `copy` — loads and stores; `matrix` — matrices in shared memory; `warpgroup` — products of four warps;
//!   `atomic` — the rest;
//! * `shared` — shared memory, with what of it was written;
//! * `calls` — functions; `barrier` — who waits where; `mbarrier` — barriers in shared memory; `bulk` — bulk copies, `tensor` — boxes of tensors;
//! * `stack` — divergence: which lanes are where;
//! * `warp` — the blocks of a warp, one after the other; `ends` — what ends a block;
//! * `cta` — the warps of a CTA in turn, each until a barrier or its end.

mod atomic;
mod barrier;
mod bulk;
mod calls;
mod control;
mod copy;
mod cta;
mod ends;
mod iterations;
mod matrix;
mod mbarrier;
mod memory;
mod registers;
mod rows;
mod shared;
mod stack;
mod storage;
mod tensor;
mod transfers;
mod warp;
mod warpgroup;

pub use control::LIMIT_REACHED;
pub use cta::{CtaState, Place};
pub use mbarrier::pending_in;
pub use registers::{Bits, Flushed, Kind, Lane, Registers, flush, pack, write};

pub use crate::config::kernel::Checks;
pub use crate::isa::SHARED_WINDOW;

/// Generic address of a thread's first byte of local memory.
pub const LOCAL_WINDOW: u64 = 1 << 49;
/// Address of the module's first constant byte.
pub const CONST_WINDOW: u64 = 1 << 50;
/// Address of the module's first function.
pub const FUNCTION_WINDOW: u64 = 1 << 51;

/// The address of a function, by its place in the module.
pub fn function_address(number: u32) -> u64 {
    FUNCTION_WINDOW + 16 * u64::from(number)
}

/// Why execution stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The instruction.
    pub pc: u32,
    /// Warp of the CTA.
    pub warp: u32,
    /// The first lane concerned.
    pub lane: u32,
    /// What happened.
    pub message: String,
}
