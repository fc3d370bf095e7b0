//! What the machine does not issue: dead code, copies, addresses that are the same in every space, numbers that are
//! operands of others, signs.

use super::super::ast::{Type, VarSpace};
use super::super::liveness;
use super::super::parts::Special;
use super::code::{Arg, Code, Fate};
use crate::isa::{AccessKind, ArithClass, Inst, MemoryOp, Op, Operands, Reg, Space, Turns};

/// Removes instructions whose results nobody reads.
pub fn dead(code: &mut Code) {
    let mut open: Vec<usize> = (0..code.len()).rev().collect();
    while let Some(pc) = open.pop() {
        let effect = !matches!(code.insts[pc].op, Op::Arith(class) if class != ArithClass::Control);
        let writes = !code.insts[pc].dsts.as_slice().is_empty();
        if effect || !writes || code.fates[pc] == Fate::Dead || code.opcode(pc) == "call" {
            continue;
        }
        if code.readers(pc).all(|reader| reader == pc) {
            code.kill(pc);
            let srcs = code.insts[pc].srcs;
            open.extend(srcs.as_slice().iter().filter_map(|reg| code.maker(Arg::Reg(*reg))));
        }
    }
    code.index();
}

/// An atomic whose result nobody reads writes no register. If it adds 1 to a word of shared memory, the lanes of a word are
/// counted and added at once (`ATOMS.POPC.INC`).
pub fn atomics(code: &mut Code) {
    for pc in 0..code.len() {
        let Op::Memory(op) = code.insts[pc].op else { continue };
        // By itself as well: around a loop, the next one waits for it.
        let is_read = code.readers(pc).next().is_some();
        if !matches!(op.kind, AccessKind::Atomic(_)) || is_read {
            continue;
        }
        code.insts[pc].dsts = Operands::NONE;
        let adds =
            code.has(pc, "add") && matches!(code.types(pc).next(), Some(Type::U32 | Type::S32));
        if adds && op.space == Space::Shared && code.lines[pc].args.last() == Some(&Arg::Number(1))
        {
            let kind = AccessKind::Atomic(Turns::Words);
            code.insts[pc].op = Op::Memory(MemoryOp { kind, ..op });
        }
    }
    code.index();
}

/// Gives both sides of a copy one register where that register can be the same.
///
/// A value that is written once and copied is the same value. Other copies join the values of several paths; they
/// need no instruction when what is copied is not used afterwards, so that both can share a register.
pub fn copies(code: &mut Code) {
    let live_out = code.live_out();
    let mut names: Vec<Reg> = (0..code.weights.len()).map(|reg| reg as Reg).collect();
    let is_single: Vec<bool> = names.iter().map(|reg| code.is_single(*reg)).collect();
    for block in 0..code.blocks.len() {
        let mut live = live_out.as_ref().map(|all| all[block].clone());
        let range = code.blocks[block].start as usize..code.blocks[block].end as usize;
        for pc in range.rev() {
            // Others may change places with it.
            let before = code.insts[pc].clone();
            if let Some((to, from)) = copy(code, pc) {
                let same = is_single[usize::from(to)] && is_single[usize::from(from)];
                let ends = live.as_ref().is_some_and(|live| !liveness::contains(live, from));
                let joins = ends && !code.is_guarded(pc);
                if !code.is_gone(pc) && (same || joins && read_old_value_first(code, pc, to, from))
                {
                    code.kill(pc);
                    let (to, from) = (find(&names, to), find(&names, from));
                    names[usize::from(to)] = from;
                }
            }
            let Some(live) = &mut live else { continue };
            if !code.is_guarded(pc) {
                before.written().for_each(|reg| liveness::remove(live, reg));
            }
            before.read().for_each(|reg| liveness::insert(live, reg));
        }
    }
    let names: Vec<Reg> = (0..names.len()).map(|reg| find(&names, reg as Reg)).collect();
    code.rename(&names);
}

/// Before both sides of the copy at `pc` share a register: what reads the old value of `to` goes before what writes `from`. False
/// where something cannot, so that the copy stays.
fn read_old_value_first(code: &mut Code, pc: usize, to: Reg, from: Reg) -> bool {
    let start = code.blocks[code.block_of[pc] as usize].start as usize;
    let writes =
        |code: &Code, at: usize, reg| code.insts[at].written().any(|written| written == reg);
    let reads = |code: &Code, at: usize, reg| code.insts[at].read().any(|read| read == reg);
    let Some(mut write) = (start..pc).rev().find(|at| writes(code, *at, from)) else { return true };
    if (write..pc).any(|at| writes(code, at, to)) {
        return true;
    }
    // By itself, the instruction reads before it writes.
    for reader in write + 1..pc {
        if !reads(code, reader, to) {
            continue;
        }
        if !may_go_up(code, reader, write) {
            return false;
        }
        code.move_up(reader, write);
        write += 1;
    }
    true
}

/// Whether an instruction can go before that at `to`, earlier in its block.
pub fn may_go_up(code: &Code, from: usize, to: usize) -> bool {
    let Inst { op, dsts, srcs, .. } = &code.insts[from];
    let (dsts, srcs) = (dsts.as_slice(), srcs.as_slice());
    let is_free = |passed: &Inst| {
        let mut written = passed.written();
        let mut read = passed.read();
        !(written.any(|reg| srcs.contains(&reg) || dsts.contains(&reg))
            || read.any(|reg| dsts.contains(&reg)))
    };
    let computes = matches!(op, Op::Arith(class) if *class != ArithClass::Control);
    computes && !code.is_pinned(from) && code.insts[to..from].iter().all(is_free)
}

fn find(names: &[Reg], mut reg: Reg) -> Reg {
    while names[usize::from(reg)] != reg {
        reg = names[usize::from(reg)];
    }
    reg
}

/// The registers of a copy: `mov`, or `cvta`, as all windows but those of shared and local memory start at 0.
fn copy(code: &Code, pc: usize) -> Option<(Reg, Reg)> {
    let is_copy = match code.opcode(pc) {
        "mov" => true,
        "cvta" => code.has(pc, "global") || code.has(pc, "const") || code.has(pc, "param"),
        _ => false,
    };
    let [Arg::Reg(to), Arg::Reg(from)] = code.lines[pc].args[..] else { return None };
    let is_same = code.weights[usize::from(to)] == code.weights[usize::from(from)];
    (is_copy && is_same && to != from).then_some((to, from))
}

/// Numbers, conversions that keep the bits, and vectors of registers.
pub fn constants(code: &mut Code) {
    for pc in 0..code.len() {
        if code.is_gone(pc) || code.is_guarded(pc) {
            continue;
        }
        let args = &code.lines[pc].args;
        let single = matches!(args.first(), Some(Arg::Reg(to)) if code.is_single(*to));
        match (code.opcode(pc), &args[..]) {
            ("mov", [_, Arg::Number(number)]) if single => {
                // The low half of a number of 64 bits is no operand: both halves go to registers.
                let doubles = code.types(pc).next() == Some(Type::F64) && *number as u32 != 0;
                let stored = *number != 0 && code.readers(pc).any(|reader| stores(code, reader));
                if doubles {
                    code.set(pc, &[ArithClass::Move; 2]);
                } else if !stored {
                    code.remove(pc);
                }
            }
            ("mov", [_, Arg::Symbol(VarSpace::Shared, _)]) if single => code.remove(pc),
            // Packs and unpacks halves of a pair of registers.
            ("mov", [_, _, _]) if code.bytes(pc) == 8 => code.remove(pc),
            ("mov", [_, _, _]) if is_unpacked_for_conversions(code, pc) => code.remove(pc),
            ("mov", [_, Arg::Special(special)]) => special_register(code, pc, *special),
            ("cvta", _) if !code.has(pc, "global") => code.set(pc, &[ArithClass::IntAdd; 3]),
            ("cvt", _) if is_free_conversion(code, pc) => code.remove(pc),
            _ => {}
        }
    }
}

/// Unpacks the halves of a register for conversions, which take the half of one as an operand (`F2FP R.H1`, `HADD2.F32 R.H1_H1`, `I2F R.H1`): to
/// single precision, and from pairs of 8 bits. Nothing may write the register before they read it.
fn is_unpacked_for_conversions(code: &Code, pc: usize) -> bool {
    let converts = |reader: usize| {
        let types: Vec<Type> = code.types(reader).collect();
        let takes_half = match types[..] {
            [Type::F32, Type::F16 | Type::U16 | Type::S16] => true,
            [Type::F16x2] => !code.has(reader, "satfinite"),
            _ => false,
        };
        code.opcode(reader) == "cvt" && takes_half
    };
    let from = match code.arg(pc, 2) {
        Arg::Reg(from) => from,
        _ => return false,
    };
    let writes = |other: usize| code.insts[other].written().any(|reg| reg == from);
    let is_there = |reader: usize| {
        let follows = reader > pc && code.block_of[reader] == code.block_of[pc];
        code.is_single(from) || follows && !(pc + 1..reader).any(writes)
    };
    let unpacks = code.bytes(pc) == 4 && code.insts[pc].dsts.as_slice().len() == 2;
    unpacks && code.readers(pc).all(|reader| converts(reader) && is_there(reader))
}

/// Stores a register as it is: a number would have to be in one.
fn stores(code: &Code, pc: usize) -> bool {
    matches!(code.insts[pc].op, Op::Memory(op) if !op.kind.only_reads())
}

/// Sizes of the launch lie in constant memory (`LDC`, `ULDC`); the others are read by `S2R`, which takes the time of a
/// special function.
fn special_register(code: &mut Code, pc: usize, special: Special) {
    use Special::*;
    match special {
        Ntid(_) | Nctaid(_) | WarpCount | SharedBytes { .. } => {}
        _ => code.set(pc, &[ArithClass::Sfu]),
    }
}

/// Conversions between whole numbers that keep the bits: to fewer, from unsigned ones, and from a load that has
/// extended them already.
fn is_free_conversion(code: &Code, pc: usize) -> bool {
    let mut types = code.types(pc);
    let (Some(to), Some(from)) = (types.next(), types.next()) else { return false };
    if to.float() || from.float() || code.has(pc, "sat") {
        return false;
    }
    let (to_bytes, from_bytes) = (to.bytes(), from.bytes());
    if to_bytes >= from_bytes && from_bytes < 4 {
        let loaded = code.maker(code.arg(pc, 1)).is_some_and(|maker| {
            code.opcode(maker) == "ld"
                && code
                    .types(maker)
                    .next()
                    .is_some_and(|ty| ty.bytes() <= from_bytes && (ty.signed() == from.signed()))
        });
        return loaded || from_bytes == 2 && !from.signed();
    }
    // Half a register is the rest of it, too, unless it is stored as one byte.
    to_bytes <= from_bytes && to_bytes != 1 || from_bytes == 4 && !from.signed()
}

/// Signs are modifiers of operands.
///
/// Source: CUDA Binary Utilities; `FADD`, `FMUL`, `FFMA`, `FSETP`, `FMNMX` and their likes in double precision take
/// `-x`, all but `FFMA` and `DFMA` take `|x|`.
pub fn signs(code: &mut Code) {
    for pc in 0..code.len() {
        let float = matches!(code.types(pc).next(), Some(Type::F32 | Type::F64));
        if code.is_gone(pc) || code.is_guarded(pc) {
            continue;
        }
        let takes = |reader: usize| match code.opcode(reader) {
            "add" | "sub" | "mul" | "setp" | "min" | "max" => true,
            "fma" | "mad" => code.opcode(pc) == "neg",
            _ => false,
        };
        let free = match code.opcode(pc) {
            "neg" | "abs" if float => code.readers(pc).all(takes),
            // `IADD3` takes `-x`.
            "neg" => code.bytes(pc) == 4 && code.readers(pc).all(|reader| code.is_sum(reader)),
            "not" => code.has(pc, "pred"),
            _ => false,
        };
        if free {
            code.remove(pc);
        }
    }
}

/// A predicate that goes through a register as one of two numbers is the same predicate: what inline assembly gives back.
pub fn flags(code: &mut Code) {
    let selections: Vec<Option<usize>> = (0..code.len()).map(|pc| flag(code, pc)).collect();
    for pc in 0..code.len() {
        let Some(selection) = selections[pc] else { continue };
        code.remove(pc);
        if code.readers(selection).all(|reader| selections[reader].is_some()) {
            code.remove(selection);
        }
    }
}

/// The selection between zero and another number whose result an instruction only compares with zero, with a single result.
fn flag(code: &Code, pc: usize) -> Option<usize> {
    let [Arg::Reg(to), from, Arg::Number(0)] = code.lines[pc].args[..] else { return None };
    let compares = code.opcode(pc) == "setp" && (code.has(pc, "eq") || code.has(pc, "ne"));
    if !compares || code.is_gone(pc) || !code.is_single(to) {
        return None;
    }
    let selection = code.maker(from)?;
    let is_flag = match code.lines[selection].args[..] {
        [_, Arg::Number(one), Arg::Number(other), Arg::Reg(_)] => (one == 0) != (other == 0),
        _ => false,
    };
    (code.opcode(selection) == "selp" && is_flag).then_some(selection)
}

/// Two neighbouring words of parameters or constants that a block loads are one `LDC.64`.
pub fn pairs(code: &mut Code) {
    for block in code.blocks.clone() {
        let mut words: Vec<(u64, Option<u32>)> = Vec::new();
        for pc in block.start as usize..block.end as usize {
            let fixed = code.insts[pc].op == Op::Arith(ArithClass::Move);
            if !fixed || code.opcode(pc) != "ld" || code.fates[pc] != Fate::Same {
                continue;
            }
            let Arg::Symbol(_, place) = code.arg(pc, 1) else { continue };
            if code.bytes(pc) != 4 || code.lines[pc].args.len() != 2 {
                continue;
            }
            // Loads are made where they are needed.
            let needed = code.readers(pc).map(|reader| code.block_of[reader]).min();
            match words.iter().position(|word| *word == (place ^ 4, needed)) {
                Some(other) => {
                    words.swap_remove(other);
                    code.remove(pc);
                }
                None => words.push((place, needed)),
            }
        }
    }
}
