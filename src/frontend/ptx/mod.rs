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
//! `lower::memory`, control instructions in `lower::control`, those on matrices in `lower::matrix`.
//!
//! What holds:
//! * one [`crate::isa::Inst`] for each PTX instruction, in the order of the text, or what `lowering` makes of it,
//!   as the machine has it;
//! * an instruction is recorded for the lanes that run together, whatever its guard; the mask of
//!   its addresses is what the guard leaves;
//! * CTAs execute in launch order, warps of a CTA in turn up to a barrier, lanes in order: values are
//!   the same in every run. A warp, or a lane, that waits for another one by spinning never ends, and meets
//!   the launch's limit;
//! * a warp arrives at a barrier when all of its lanes that have not exited wait at it, at whatever
//!   instruction; lanes that wait hold up nobody. Lanes that are to go on together with such lanes, from
//!   where control flow meets, go ahead of them when the others wait for members or at a barrier that is not
//!   aligned, and have come where it is aligned. When every warp waits and no barrier can open, that is
//!   an error that says who waits where;
//! * no text makes the parser panic or recurse, and no kernel makes the executor panic: bounds and
//!   alignment of every access are checked.
//!
//! **What stops a launch**: an access that is out of bounds, misaligned, or writes constants; a read of
//! shared memory of which no byte was written; a whole number divided by zero (PTX does not say what
//! that gives); `trap` and failed assertions; calls that are too deep; barriers that never open, and mbarriers with too many arrivals; and the
//! limit of instructions, with the lines of the loop. [`PtxLaunch::check`] can switch off what some
//! programs do on purpose.
//!
//! **Functions** are decoded with the kernel that may call them and executed as calls: their parameters
//! lie in a frame of the thread's local memory, but cost a move each, as registers pass them. Any function
//! whose address is taken may be called through a pointer. `printf` is counted and prints nothing.
//!
//! **Clocks** (`%clock`, `%globaltimer`) count the instructions of the warp, and registers that name
//! a place on the chip (`%smid`) are 0: values never depend on timing.
//!
//! **Asynchronous copies** (`cp.async`) copy at once. The machine sees a load from global memory whose data nobody gets, and
//! waits for it by groups, as the program does. A **prefetch** is a load without a register.
//!
//! **Mbarriers** (`mbarrier.init`, `arrive`, `test_wait`, .., `cp.async.mbarrier.arrive`; `cuda::barrier`, `cuda::pipeline`) hold up the
//! lanes that wait, as barriers do, until their phase ends; a wait gives false only where nobody of the CTA can go on otherwise, see
//! `exec::mbarrier`. Lanes that run together name one mbarrier.
//!
//! **Bulk copies** (`cp.async.bulk`) between global memory and shared memory of the CTA copy at once, too, and complete as many bytes of their
//! mbarrier; the machine sees each as an arrival there. A wait for those to global memory is one for groups. Copies of boxes of tensors
//! (`cp.async.bulk.tensor`) take tensor maps that are arguments of the launch: see `exec::tensor`.
//!
//! **Matrix products** (`mma.sync` of half precision, `.bf16`, `.tf32`, `.f64`, bytes and bits, `ldmatrix`, `stmatrix`, `movmatrix`) give the bits
//! that an H200 gives, on any machine: see `ops::matrix`. All lanes of the warp must execute them together. `wmma` of 16 by 16 by 16 numbers of
//! half precision and `.bf16` is spelled out as these, and loads and stores, see `parser::wmma`. Products of `.e4m3` and `.e5m2` are spelled out as
//! conversions and products of half precision, see `parser::short_mma`.
//!
//! **Products of warpgroups** (`wgmma.mma_async` of half precision, `.bf16`, `.tf32`, `.e4m3`, `.e5m2` and bytes, with its fences and groups) are made at
//! once, warp by warp; a warp that waits for products waits for the other three to have made them. Descriptors of matrices in shared memory may
//! say all that a card understands: see `exec::warpgroup`.
//!
//! What is refused, with its place: textures and surfaces, other `wmma`, `wgmma` of bits and sparse matrices, clusters and their barriers,
//! bulk copies of tensors by `im2col` and to other CTAs, changes of tensor maps, the heap, launches from kernels, and parameters in registers. A generic access goes where
//! its first lane's address lies as far as the machine is concerned; values are right for each lane.
//! Shuffles and votes see the lanes that execute together, see `ops::warp`.
//!
//! Arithmetic follows the ISA bit for bit in every type and direction of rounding, but for the approximate
//! instructions. Those give the rounded value of a double that `libm` computes: the same on every host,
//! within the ISA's bounds, not the chips' bits. What the ISA leaves open, NaN's payload first of all, is what
//! an H200 does; `tests/ptx_device.rs` compares the two. Refused are formats of fewer than 8 bits, mixed
//! precision in one instruction, video instructions on single values (`vadd`, ..), comparisons among those on
//! several (`vset4`, ..) and their masks and selectors.
//! Variables of the module in global memory become buffers at the first launch that uses them.

mod ast;
mod cfg;
mod describe;
mod exec;
mod lexer;
mod liveness;
mod lower;
mod lowering;
mod ops;
mod parser;
mod parts;
mod program;
mod source;
#[cfg(test)]
mod tests;

pub use describe::{Description, ModuleVariable, Parameter, ParameterKind};
pub use exec::Checks;
pub use source::{Module, PtxLaunch};
