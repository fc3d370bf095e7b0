//! What lies in the constant bank: sizes of the launch, parameters, constants at fixed addresses (`LDC`, `ULDC`).
//!
//! Places are those that `ptxas` 13.0 gives them for `sm_90`.

use super::super::ast::VarSpace;
use super::super::exec::CONST_WINDOW;
use super::super::parts::Special;
use super::code::{Arg, Code};
use crate::isa::{ArithClass, Op};

/// Where the stack pointer lies, which every kernel loads first.
pub const STACK_POINTER: u32 = 0x28;

/// Sizes of CTAs and of the grid, by axis.
const NTID: u32 = 0;
const NCTAID: u32 = 0xc;

/// The first parameter, in the bank of the launch.
const PARAMETERS: u64 = 0x210;

/// Constants of the module have a bank of their own; this far away they share no line with the other one.
const MODULE: u64 = 1 << 24;

/// Notes what each instruction reads there.
pub fn places(code: &mut Code) {
    for pc in 0..code.len() {
        if code.insts[pc].op == Op::Arith(ArithClass::Move) {
            code.insts[pc].constant = place(code, pc);
        }
    }
}

/// What an instruction reads.
fn place(code: &Code, pc: usize) -> Option<u32> {
    let in_bank = |start: u64, address: u64| {
        u32::try_from(start.wrapping_add(address.wrapping_sub(CONST_WINDOW))).ok()
    };
    match (code.opcode(pc), code.lines[pc].args.last()?) {
        ("mov", Arg::Special(Special::Ntid(axis))) => Some(NTID + 4 * u32::from(*axis)),
        ("mov", Arg::Special(Special::Nctaid(axis))) => Some(NCTAID + 4 * u32::from(*axis)),
        ("ld", Arg::Symbol(VarSpace::Param, address)) => in_bank(PARAMETERS, *address),
        ("ld", Arg::Symbol(VarSpace::Const, address)) => in_bank(MODULE, *address),
        _ => None,
    }
}
