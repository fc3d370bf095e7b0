//! Address arithmetic.
//!
//! A pointer is a base and an index times a size. Signed indices are one `IMAD.WIDE` (R = A * B + C of 64 bits) for
//! each base they are added to; shifts and unsigned indices are `LEA` and `LEA.HI.X`; indices of bytes `IADD3` and
//! `LEA.HI.X.SX32`. Constant offsets are part of the memory instruction, and so is the place of a variable of constant memory
//! (`LDC R, c[bank][R+place]`). Addresses of shared and of constant memory have 32 bits on the machine whatever the text
//! says.

use super::super::ast::VarSpace;
use super::code::{Arg, Code, Fate};
use super::expand;
use crate::isa::{ArithClass, Op, Reg, Space};

use ArithClass::{IntAdd, IntMad, IntMulWide};

/// Offsets that a memory instruction can hold: 24 bits with a sign.
const MOST_OFFSET: u64 = 1 << 23;

/// Constants that are added to an address become its offset.
pub fn offsets(code: &mut Code) {
    for pc in 0..code.len() {
        let Op::Memory(op) = code.insts[pc].op else { continue };
        for place in 0..code.lines[pc].args.len() {
            while let Arg::Address(base, offset) = code.lines[pc].args[place] {
                let Some(maker) = code.maker(Arg::Reg(base)) else { break };
                // The place of the variable says nothing here.
                let of_variable = (op.space == Space::Constant)
                    .then(|| index_of_variable(code, maker))
                    .flatten()
                    .map(|index| (index, 0));
                let found = of_variable.or_else(|| constant_offset(code, maker));
                let Some((new, more)) = found else { break };
                let sum = offset.saturating_add(more);
                if !code.is_single(new) || sum.unsigned_abs() >= MOST_OFFSET {
                    break;
                }
                code.lines[pc].args[place] = Arg::Address(new, sum);
                code.replace(pc, base, new);
            }
        }
    }
}

/// The register and number that `pc` adds.
pub fn constant_offset(code: &Code, pc: usize) -> Option<(Reg, i64)> {
    let (Arg::Reg(from), Arg::Number(number)) = (code.arg(pc, 1), code.arg(pc, 2)) else {
        return None;
    };
    let number = if code.bytes(pc) == 4 { i64::from(number as i32) } else { number as i64 };
    match code.opcode(pc) {
        "add" if code.is_sum(pc) => Some((from, number)),
        "sub" if code.is_sum(pc) => Some((from, number.checked_neg()?)),
        _ => None,
    }
}

/// The register that `pc` adds to the address of a variable of constant memory.
fn index_of_variable(code: &Code, pc: usize) -> Option<Reg> {
    if code.opcode(pc) != "add" || !code.is_sum(pc) {
        return None;
    }
    let is_variable = |arg| {
        let symbol = code.maker(arg).filter(|&maker| code.opcode(maker) == "mov");
        symbol.is_some_and(|maker| matches!(code.arg(maker, 1), Arg::Symbol(VarSpace::Const, _)))
    };
    match (code.arg(pc, 1), code.arg(pc, 2)) {
        (Arg::Reg(index), variable) if is_variable(variable) => Some(index),
        (variable, Arg::Reg(index)) if is_variable(variable) => Some(index),
        _ => None,
    }
}

/// Arithmetic of 64 bits of which only the low half is read is that of 32 bits: addresses of shared and of constant memory.
pub fn narrow(code: &mut Code) {
    // Backwards, so that readers come first; what a loop carries stays wide.
    for pc in (0..code.len()).rev() {
        let plain =
            matches!(code.opcode(pc), "add" | "sub" | "shl" | "mul" | "mad" | "cvt" | "and");
        let wide =
            code.insts[pc].dsts.as_slice().iter().any(|reg| code.weights[usize::from(*reg)] == 2);
        let whole = code.types(pc).all(|ty| !ty.float());
        if !plain || !wide || !whole || code.has(pc, "hi") || code.is_gone(pc) || code.is_pinned(pc)
        {
            continue;
        }
        let mut any = false;
        let low = code.readers(pc).all(|reader| {
            any = true;
            reads_low_half(code, pc, reader)
        });
        if any && low {
            match code.opcode(pc) {
                "cvt" => code.remove(pc),
                "mul" | "mad" => code.set(pc, &[IntMad]),
                _ => code.set(pc, &[IntAdd]),
            }
        }
    }
}

fn reads_low_half(code: &Code, pc: usize, reader: usize) -> bool {
    let of = code.insts[pc].dsts.as_slice()[0];
    match code.insts[reader].op {
        Op::Memory(op) => {
            matches!(op.space, Space::Shared | Space::Constant)
                && !code.lines[reader].args.contains(&Arg::Reg(of))
        }
        _ => match code.opcode(reader) {
            // A sum of itself, which a loop carries, says nothing new.
            _ if reader == pc => true,
            "add" | "sub" | "mul" | "mad" | "shl" => {
                matches!(&code.fates[reader], Fate::Into(sequence) if sequence.classes.len() == 1)
                    && code.bytes(reader) == 8
                    && !code.has(reader, "wide")
            }
            "cvt" => {
                code.types(reader).all(|ty| !ty.float() && ty.bytes() > 0)
                    && code.bytes(reader) <= 4
            }
            _ => false,
        },
    }
}

/// Products, shifts and extended indices that are added to bases.
pub fn bases(code: &mut Code) {
    for pc in 0..code.len() {
        if code.is_gone(pc) || code.is_guarded(pc) || code.bytes(pc) == 0 {
            continue;
        }
        let readers: Vec<usize> = code.readers(pc).collect();
        let wide_sum = |reader: &usize| {
            code.opcode(*reader) == "add"
                && code.is_sum(*reader)
                && code.bytes(*reader) == 8
                && code.becomes(*reader, &[IntAdd; 2])
                && !matches!(code.arg(*reader, 2), Arg::Number(_))
        };
        // LEA or IMAD.
        let narrow_sum = |reader: &usize| {
            code.is_sum(*reader) && code.bytes(*reader) == 8 && code.becomes(*reader, &[IntAdd])
        };
        let scales = match code.opcode(pc) {
            "mul" => code.has(pc, "wide") || code.has(pc, "lo"),
            "shl" => code.shift_left(pc).is_some(),
            _ => false,
        };
        let narrow = scales && readers.iter().all(narrow_sum);
        if readers.is_empty()
            || !narrow && !readers.iter().all(wide_sum)
            || code.maker(code.arg(pc, 0)) != Some(pc)
        {
            continue;
        }
        let many = readers.len() > 1;
        match code.opcode(pc) {
            _ if narrow => code.remove(pc),
            "mul" if code.has(pc, "wide") => {
                let unsigned = code.has(pc, "u32") && Code::is_power(code.arg(pc, 2));
                if unsigned && many {
                    code.set(pc, &[IntAdd; 2]);
                    continue;
                }
                code.remove(pc);
                readers.iter().for_each(|reader| code.set(*reader, &[IntMulWide]));
            }
            "mul"
                if code.becomes(pc, &expand::classes(expand::PRODUCT))
                    && !many
                    && code.block_of[pc] == code.block_of[readers[0]] =>
            {
                code.fates[readers[0]] = code.fates[pc].clone();
                code.remove(pc);
            }
            "shl" if code.shift_left(pc).is_some() && !many => {
                code.remove(pc);
            }
            "cvt" if !many && code.types(pc).all(|ty| !ty.float()) => code.remove(pc),
            _ => {}
        }
    }
}
