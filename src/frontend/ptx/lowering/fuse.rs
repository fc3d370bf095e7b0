//! Pairs of instructions that the machine has one for.

use super::super::ast::Type;
use super::code::{Arg, Code, Fate};
use crate::isa::{ArithClass, Op};

/// Sources that `IADD3` and `LOP3` have.
const INPUTS: usize = 3;

/// Fuses what computes operands into the instructions that read them, but for conditions of branches: see [`conditions`].
///
/// A result that several instructions read is fused into all of them or into none.
pub fn fuse(code: &mut Code) {
    fuse_where(code, |code, pc| !is_half_condition(code, pc));
}

/// A branch or an exit can test two predicates, `@P0 BRA P1`, and jumps where both are true: then neither comparison waits for the
/// other one. For any other condition, and for predicated code, one comparison takes the other's result. Measured with `ptxas` 13.0, conditions of two comparisons by `and`, `or` and
/// `xor`, negated or not, of loops, exits, and blocks short and long.
pub fn conditions(code: &mut Code) {
    for pc in 0..code.len() {
        if branch_on_both(code, pc).is_some_and(|branch| !code.is_gone(branch)) {
            code.remove(pc);
        }
    }
    // Conjunctions that are gone are none any more.
    fuse_where(code, is_half_condition);
}

/// Whether `pc` is a comparison that nothing but a branch's conjunction reads.
fn is_half_condition(code: &Code, pc: usize) -> bool {
    let mut readers = code.readers(pc);
    let (Some(reader), None) = (readers.next(), readers.next()) else { return false };
    code.opcode(pc) == "setp" && branch_on_both(code, reader).is_some()
}

/// The branch that jumps where both of what `pc` joins are true, if nothing else reads that.
fn branch_on_both(code: &Code, pc: usize) -> Option<usize> {
    let joins = code.opcode(pc) == "and" && code.has(pc, "pred") && code.fates[pc] == Fate::Same;
    let Arg::Reg(joined) = code.arg(pc, 0) else { return None };
    if !joins || code.is_guarded(pc) || !code.is_single(joined) {
        return None;
    }
    let mut readers = code.readers(pc);
    let (Some(branch), None) = (readers.next(), readers.next()) else { return None };
    let jumps_where_true = matches!(code.lines[branch].text.guard, Some((_, false)));
    (code.opcode(branch) == "bra" && jumps_where_true).then_some(branch)
}

fn fuse_where(code: &mut Code, may: impl Fn(&Code, usize) -> bool) {
    let mut full = vec![false; code.len()];
    for pc in 0..code.len() {
        if code.is_gone(pc) || code.is_guarded(pc) || code.maker(code.arg(pc, 0)) != Some(pc) {
            continue;
        }
        let readers: Vec<usize> = code.readers(pc).collect();
        if readers.is_empty() || !may(code, pc) {
            continue;
        }
        // LOP3 with a predicate that says whether the result is zero.
        if is_logic(code, pc) && code.bytes(pc) == 4 {
            for &reader in &readers {
                let zero = code.arg(reader, 2) == Arg::Number(0) && code.bytes(reader) == 4;
                if code.opcode(reader) == "setp"
                    && zero
                    && (code.has(reader, "eq") || code.has(reader, "ne"))
                    && code.lines[reader].args.len() == 3
                {
                    code.remove(reader);
                }
            }
        }
        let takes = |reader: &usize| !full[*reader] && takes(code, pc, *reader, readers.len());
        if !readers.iter().all(takes) {
            continue;
        }
        for &reader in &readers {
            full[reader] = fills(code, pc, reader);
            if let Some(class) = class(code, pc, reader) {
                code.set(reader, &[class]);
            }
            if is_sum_of_numbers(code, pc) {
                continue;
            }
            // The reader has one operand more.
            let new: Vec<Arg> = code.inputs(pc);
            let result = code.arg(pc, 0);
            let args = &mut code.lines[reader].args;
            if let Some(place) = args.iter().skip(1).position(|arg| *arg == result) {
                args.splice(place + 1..place + 2, new);
            }
        }
        code.remove(pc);
    }
    code.index();
}
fn is_sum_of_numbers(code: &Code, pc: usize) -> bool {
    code.inputs(pc).is_empty()
}

/// Whether `reader` can compute what `pc` does besides what it does itself.
fn takes(code: &Code, pc: usize, reader: usize, readers: usize) -> bool {
    let one = readers == 1;
    let same_size = code.bytes(pc) == code.bytes(reader);
    if code.fates[reader] != Fate::Same || code.fates[pc] != Fate::Same {
        return is_logic(code, pc)
            && is_logic(code, reader)
            && same_size
            && one
            && code.fates[pc] == code.fates[reader]
            && inputs_together(code, pc, reader) <= INPUTS;
    }
    let sum = code.is_sum(reader) && code.bytes(reader) == 4;
    match code.opcode(pc) {
        // LEA, LEA.HI
        "shl" | "shr" if sum && same_size => matches!(code.arg(pc, 2), Arg::Number(_)),
        // IMAD
        "mul" if sum && same_size && code.has(pc, "lo") => code.opcode(reader) == "add" || one,
        "mul" | "add" | "sub" if is_float(code, pc) => {
            // FFMA: only what the text leaves open may be contracted.
            code.opcode(pc) == "mul"
                && matches!(code.opcode(reader), "add" | "sub")
                && same_size
                && one
                && is_float(code, reader)
                && !code.has(pc, "rn")
                && !code.has(reader, "rn")
                && code.arg(reader, 1) != code.arg(reader, 2)
        }
        // IADD3
        "add" | "sub" if code.is_sum(pc) && sum && one => {
            inputs_together(code, pc, reader) <= INPUTS
                && code.numbers(pc) + code.numbers(reader) <= 1
        }
        // VIADDMNMX
        "add" if code.is_sum(pc) && one => {
            matches!(code.opcode(reader), "min" | "max") && code.bytes(reader) == 4 && same_size
        }
        // VHMNMX
        "min" | "max" if one && same_size => {
            let [this, other] = [pc, reader].map(|pc| &code.lines[pc].text);
            let are_alike = this.opcode == other.opcode && this.modifiers == other.modifiers;
            let are_pairs = code.types(pc).any(Type::half) && code.bytes(pc) == 4;
            are_pairs
                && are_alike
                && !code.has(pc, "xorsign")
                && inputs_together(code, pc, reader) <= INPUTS
        }
        // LOP3
        _ if is_logic(code, pc) && is_logic(code, reader) && same_size => {
            one && inputs_together(code, pc, reader) <= INPUTS
        }
        // ISETP.AND, FSETP.OR: a comparison joined with another predicate.
        "setp" => one && is_predicate_logic(code, reader),
        _ => false,
    }
}

/// The class of `reader` when it computes `pc`, too, unless it keeps its own.
fn class(code: &Code, pc: usize, reader: usize) -> Option<ArithClass> {
    match (code.opcode(pc), code.types(reader).next()) {
        ("mul", Some(Type::F32)) => Some(ArithClass::FpFma),
        ("mul", Some(Type::F64)) => Some(ArithClass::DpFma),
        ("mul", _) => Some(ArithClass::IntMad),
        ("setp", _) => match code.insts[pc].op {
            Op::Arith(class) => Some(class),
            _ => None,
        },
        _ => None,
    }
}

/// Whether `reader` can take nothing more when it computes `pc`.
fn fills(code: &Code, pc: usize, reader: usize) -> bool {
    match code.opcode(pc) {
        "add" | "sub" => !code.is_sum(reader) || inputs_together(code, pc, reader) == INPUTS,
        "and" | "or" | "xor" | "not" if is_logic(code, pc) => false,
        _ => true,
    }
}

/// Operands of both but for the result of `pc`; numbers count as one each, and what `LOP3` reads twice once.
fn inputs_together(code: &Code, pc: usize, reader: usize) -> usize {
    let mut inputs = code.inputs(reader);
    inputs.retain(|arg| *arg != code.arg(pc, 0));
    for arg in code.inputs(pc) {
        if !is_logic(code, pc) || !inputs.contains(&arg) {
            inputs.push(arg);
        }
    }
    inputs.len() + code.numbers(pc) + code.numbers(reader)
}

fn is_float(code: &Code, pc: usize) -> bool {
    matches!(code.types(pc).next(), Some(Type::F32 | Type::F64))
}

fn is_logic(code: &Code, pc: usize) -> bool {
    matches!(code.opcode(pc), "and" | "or" | "xor" | "not") && code.is_whole(pc)
}

fn is_predicate_logic(code: &Code, pc: usize) -> bool {
    matches!(code.opcode(pc), "and" | "or" | "xor") && code.has(pc, "pred")
}
