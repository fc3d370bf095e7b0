//! The registers that instructions read from the register file, which gives few of them a cycle.

use super::code::{Arg, Code};
use crate::isa::{ArithClass, Inst, Op, Reg};

/// Counts the registers of 32 bits that the instructions of a region read, of those that are to be counted: each once, and not
/// parameters, which are constants; nor what the instruction before read, if one can issue right behind it: that is kept
/// (`.reuse`).
pub fn count(code: &Code, insts: &mut [Inst], is_counted: impl Fn(usize) -> bool) {
    for at in 0..insts.len() {
        let Some(most) = most(insts[at].op).filter(|_| is_counted(at)) else { continue };
        let srcs = insts[at].srcs;
        let srcs = srcs.as_slice();
        let before = insts[..at].last().filter(|before| {
            let independent = |reg: &Reg| !srcs.contains(reg);
            matches!(before.op, Op::Arith(_)) && before.dsts.as_slice().iter().all(independent)
        });
        let is_kept = |reg: &Reg| before.is_some_and(|inst| inst.srcs.as_slice().contains(reg));
        let reads: u8 = (srcs.iter())
            .filter(|reg| !is_kept(reg) && !is_parameter(code, **reg))
            .map(|reg| code.weights.get(usize::from(*reg)).copied().unwrap_or(0))
            .sum();
        insts[at].reads = reads.min(most);
    }
}

fn is_parameter(code: &Code, reg: Reg) -> bool {
    let maker = code.maker(Arg::Reg(reg));
    maker.is_some_and(|maker| code.opcode(maker) == "ld" && code.has(maker, "param"))
}

/// The most 32-bit registers that an instruction of one step reads; `None` for those that read none.
fn most(op: Op) -> Option<u8> {
    use ArithClass::{Branch, Control, IntMulWide, Sfu, SfuPair};
    match op {
        Op::Arith(Control | Branch | Sfu | SfuPair) => None,
        Op::Arith(class) if is_double(class) => Some(6),
        Op::Arith(IntMulWide) => Some(4),
        // As many as its fragments have.
        Op::Arith(class) if class.is_matrix_product() => Some(u8::MAX),
        Op::Arith(_) => Some(3),
        _ => None,
    }
}

/// Whether it computes in double precision.
pub fn is_double(class: ArithClass) -> bool {
    matches!(class, ArithClass::DpAdd | ArithClass::DpMul | ArithClass::DpFma)
}
