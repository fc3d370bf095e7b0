//! Loops that `ptxas` unrolls: four iterations become one, then two, and the rest is left as it was.
//!
//! Loads of several iterations are then under way together, and the loop's counter and pointers advance once. Here such a loop
//! gets further blocks with its instructions two and four times; the executor finds out which iterations of a warp they stand
//! for.
//!
//! Measured with `ptxas` 13.0 for `sm_90`, on loops of 1 to 130 instructions: those that count by a constant up to a bound, and
//! are not too long, whatever else is in them; not those that the text asks to leave alone (`.pragma "nounroll"`).

use std::ops::Range;

use super::super::liveness::contains;
use super::super::parts::{Block, NO_BLOCK};
use super::address::constant_offset;
use super::code::{Arg, Code, Fate};
use super::regions;
use crate::isa::{Op, Reg, Space};

/// Iterations that become one, in the order of [`Copies`].
const TIMES: [usize; 2] = [2, 4];

/// The most instructions of a loop, where accesses of global and local memory count twice; and of a loop without memory.
const MOST: usize = 50;
const MOST_WITHOUT_MEMORY: usize = 21;

/// Registers beyond which no more are named.
const MOST_NAMES: usize = 60_000;

/// For a loop, the first blocks of two and of four iterations.
pub type Copies = [u32; TIMES.len()];

/// A loop that counts.
struct Counted {
    /// Sums that only addresses and the bound depend on: what they add becomes part of the offsets.
    advances: Vec<(usize, Reg, i64)>,
    /// The comparison with the bound.
    test: usize,
}

/// Adds the unrolled code of all loops that have one.
pub fn unroll(code: &mut Code) {
    let Some(live_out) = code.live_out() else { return };
    let blocks = code.blocks.len();
    for region in regions::regions(code, &regions::entered(code)) {
        if let Some(counted) = counted(code, &region) {
            let head = region.start;
            let copies =
                TIMES.map(|times| copy(code, region.clone(), &counted, &live_out[..], times));
            code.unrolled[head] = Some(copies);
        }
    }
    if code.blocks.len() > blocks {
        code.index();
    }
}

/// How a region counts, if it is a loop that is unrolled.
fn counted(code: &Code, region: &Range<usize>) -> Option<Counted> {
    let range = code.range(region);
    let branch = range.end - 1;
    let next = &code.successors[region.end - 1];
    let is_loop = code.opcode(branch) == "bra"
        && code.is_guarded(branch)
        && !code.is_gone(branch)
        && next[..] == [region.start as u32, region.end as u32];
    let asks = range.clone().any(|pc| code.lines[pc].nounroll);
    let room = code.weights.len() + 8 * range.len() < MOST_NAMES;
    if !is_loop || asks || !room || !is_short(code, range.clone()) {
        return None;
    }
    // The branch depends on one comparison, and nothing else does.
    let [guard] = code.insts[branch].srcs.as_slice() else { return None };
    let test = code.maker(Arg::Reg(*guard)).filter(|pc| range.contains(pc))?;
    let alone = code.readers(test).all(|reader| reader == branch);
    if !alone || code.opcode(test) != "setp" || code.jump_over(test).is_some() {
        return None;
    }
    let sums: Vec<_> = range.clone().filter_map(|pc| advance(code, &range, pc)).collect();
    let counts = |arg: Arg| sums.iter().any(|(_, reg, _)| arg == Arg::Reg(*reg));
    let stays = |arg: Arg| match arg {
        Arg::Reg(reg) => writers(code, &range, reg).next().is_none(),
        Arg::Number(_) => true,
        _ => false,
    };
    let (left, right) = (code.arg(test, 1), code.arg(test, 2));
    if !(counts(left) && stays(right) || counts(right) && stays(left)) {
        return None;
    }
    let serves_addresses = |&(sum, reg, _): &(usize, Reg, i64)| {
        range.clone().filter(|pc| code.insts[*pc].srcs.as_slice().contains(&reg)).all(|pc| {
            let args = &code.lines[pc].args;
            let in_address =
                args.iter().any(|arg| matches!(arg, Arg::Address(base, _) if *base == reg));
            pc == sum || pc == test || in_address && !args.contains(&Arg::Reg(reg))
        })
    };
    let advances = sums.iter().copied().filter(serves_addresses).collect();
    Some(Counted { advances, test })
}

/// Whether a loop has few enough instructions.
fn is_short(code: &Code, range: Range<usize>) -> bool {
    let (mut size, mut any) = (0, false);
    for pc in range {
        let is_far = match code.insts[pc].op {
            Op::Memory(op) => {
                any = true;
                !matches!(op.space, Space::Shared | Space::Constant)
            }
            _ => false,
        };
        if code.opcode(pc) != "mov" && code.fates[pc] != Fate::Dead {
            size += if is_far { 2 } else { 1 };
        }
    }
    size <= if any { MOST } else { MOST_WITHOUT_MEMORY }
}

/// The instructions of a loop that write a register.
fn writers(code: &Code, range: &Range<usize>, reg: Reg) -> impl Iterator<Item = usize> {
    range.clone().filter(move |pc| code.insts[*pc].written().any(|written| written == reg))
}

/// A sum of a register and a number that is the register's only change in a loop: the register, and what is added.
fn advance(code: &Code, range: &Range<usize>, pc: usize) -> Option<(usize, Reg, i64)> {
    let (reg, number) = constant_offset(code, pc)?;
    let alone = code.arg(pc, 0) == Arg::Reg(reg)
        && !code.is_guarded(pc)
        && !code.is_gone(pc)
        && code.jump_over(pc).is_none()
        && writers(code, range, reg).eq([pc]);
    alone.then_some((pc, reg, number))
}

/// Appends the blocks of `times` iterations of a loop; gives the first.
fn copy(
    code: &mut Code,
    region: Range<usize>,
    counted: &Counted,
    live_out: &[Vec<u64>],
    times: usize,
) -> u32 {
    let range = code.range(&region);
    let branch = range.end - 1;
    let is_last = |pc: &usize| {
        *pc == branch || *pc == counted.test || counted.advances.iter().any(|sum| sum.0 == *pc)
    };
    let head = code.blocks.len() as u32;
    // The present name of each register.
    let mut names: Vec<Reg> = (0..code.weights.len() as u32).map(|reg| reg as Reg).collect();
    for time in 0..times {
        for block in region.clone() {
            let body = code.blocks[block];
            let is_body = code.jump_over(body.start as usize).is_some();
            for pc in (body.start as usize..body.end as usize).filter(|pc| !is_last(pc)) {
                let new = append(code, pc, &names);
                look_ahead(code, new, pc, counted, time);
                // Where the old value may live on, the new one has its name.
                let inst = &code.insts[pc];
                let merges = |reg: Reg| {
                    if is_body { contains(&live_out[block], reg) } else { inst.guard.is_some() }
                };
                let results: Vec<Reg> =
                    inst.dsts.as_slice().iter().copied().filter(|reg| !merges(*reg)).collect();
                for reg in results {
                    names[usize::from(reg)] =
                        if time + 1 == times { reg } else { fresh(code, reg) };
                }
                rename_results(code, new, pc, &names);
            }
            // Code before and behind what is predicated is a block of its own.
            let jumps = code.predicated[block].is_some();
            if jumps || is_body {
                close(code, jumps);
            }
        }
    }
    let last: Vec<usize> = range.filter(is_last).collect();
    for pc in last {
        append(code, pc, &names);
    }
    close(code, false);
    let successors = code.successors[region.end - 1].clone();
    *code.successors.last_mut().expect("a block was closed") = successors;
    head
}

/// Adds what counters and pointers will have advanced to the offsets of `new`, a copy of `pc` in the iteration `time`: they
/// do so at the end.
fn look_ahead(code: &mut Code, new: usize, pc: usize, counted: &Counted, time: usize) {
    for &(sum, reg, step) in &counted.advances {
        let ahead = step.wrapping_mul((time + usize::from(sum < pc)) as i64);
        for arg in &mut code.lines[new].args {
            if let Arg::Address(base, offset) = arg
                && *base == reg
            {
                *offset = offset.wrapping_add(ahead);
            }
        }
    }
}

/// A new register like `reg`.
fn fresh(code: &mut Code, reg: Reg) -> Reg {
    code.weights.push(code.weights[usize::from(reg)]);
    (code.weights.len() - 1) as Reg
}

/// Appends a copy of `pc` that reads registers by their present names; gives its place.
fn append(code: &mut Code, pc: usize, names: &[Reg]) -> usize {
    let name = |reg: Reg| names[usize::from(reg)];
    let (mut line, mut inst) = (code.lines[pc].clone(), code.insts[pc].clone());
    for arg in &mut line.args {
        if let Arg::Reg(reg) | Arg::Address(reg, _) = arg {
            *reg = name(*reg);
        }
    }
    inst.srcs = inst.srcs.renamed(|reg| names[usize::from(reg)]);
    inst.guard = inst.guard.map(name);
    code.lines.push(line);
    code.insts.push(inst);
    code.fates.push(code.fates[pc].clone());
    code.block_of.push(code.blocks.len() as u32);
    code.len() - 1
}

/// Gives the results of `new`, a copy of `pc`, their present names.
fn rename_results(code: &mut Code, new: usize, pc: usize, names: &[Reg]) {
    let dsts = code.insts[pc].dsts;
    code.insts[new].dsts = dsts.renamed(|reg| names[usize::from(reg)]);
    for (place, arg) in code.lines[pc].args.clone().into_iter().enumerate() {
        match arg {
            // Of a register that is read and written, this is the place of the result.
            Arg::Reg(reg) if place < dsts.as_slice().len() && dsts.as_slice().contains(&reg) => {
                code.lines[new].args[place] = Arg::Reg(names[usize::from(reg)]);
            }
            _ => {}
        }
    }
}

/// Makes a block of what was appended last; the next one is jumped over if this one `jumps`.
fn close(code: &mut Code, jumps: bool) {
    let number = code.blocks.len() as u32;
    let start = code.blocks.last().map_or(0, |block| block.end);
    code.blocks.push(Block { start, end: code.insts.len() as u32, reconverge: NO_BLOCK });
    code.successors.push(if jumps { vec![number + 2, number + 1] } else { vec![number + 1] });
    code.heads.push(Vec::new());
    code.tails.push(Vec::new());
    code.predicated.push(jumps.then_some(number + 1));
    code.unrolled.push(None);
}
