//! PTX: parses kernels as NVRTC and nvcc write them, and executes them.
//!
//! ```text
//! text -lexer-> words -parser-> ast -lower-> program -exec-> values and warp streams
//! ```
//!
//! [`Module::parse`] reads a module once; [`Module::launch`] gives a [`PtxLaunch`], which hands out
//! CTAs through [`crate::isa::CtaSource`] and executes each as a whole when it is asked for.
//!
//! **A new opcode** is one line in a table of `ops`. Memory instructions are decoded in
//! `lower::memory`, control instructions in `lower::control`.
//!
//! What holds:
//! * one [`crate::isa::Inst`] for each PTX instruction, in the order of the text;
//! * an instruction is recorded for the lanes that run together, whatever its guard; the mask of
//!   its addresses is what the guard leaves;
//! * CTAs execute in launch order, warps of a CTA in turn up to a barrier, lanes in order: values are
//!   the same in every run. A warp that waits for another one by spinning never ends, and meets
//!   the launch's limit;
//! * a barrier is reached by the warp, not by its lanes: the lanes that reach it arrive for all of
//!   the warp, and warps that have ended count as arrived, so nothing waits for ever;
//! * no text makes the parser panic or recurse, and no kernel makes the executor panic: bounds and
//!   alignment of every access are checked.
//!
//! What is refused, with its place: calls of functions, jump tables, half precision, carry chains,
//! textures, tensor cores, asynchronous copies, clusters, barriers other than 0, clocks, and
//! addresses of parameters. A generic access is recorded as one to global memory, also when its
//! addresses fall into the windows of shared or constant memory.
//!
//! Arithmetic is bit-exact but for the approximate instructions, which give the host's value.
//! Variables of the module in global memory become buffers at the first launch that uses them.

mod ast;
mod cfg;
mod describe;
mod exec;
mod lexer;
mod liveness;
mod lower;
mod ops;
mod parser;
mod program;
mod source;
#[cfg(test)]
mod tests;

pub use describe::{Description, Parameter, ParameterKind};
pub use source::{DEFAULT_LIMIT, Module, PtxLaunch};
