//! Exits, branches, predicated code, convergence barriers, and what every kernel starts with.

use super::super::ast::VarSpace;
use super::super::parts::{NO_BLOCK, Special};
use super::bank;
use super::code::{Arg, Code, Fate};
use crate::isa::{AccessKind, ArithClass, Inst, Op, Space};

const MOVE: Op = Op::Arith(ArithClass::Move);

/// Instructions of a block that is predicated rather than jumped over, at most, where lanes may part and where all go
/// the same way. Measured with `ptxas` 13.0: blocks of 1 to 13 instructions under both kinds of predicates.
const MOST_PREDICATED: [usize; 2] = [8, 6];

/// Applies all rules.
pub fn control(code: &mut Code) {
    if code.blocks.is_empty() {
        return;
    }
    prologue(code);
    exits(code);
    jumps(code);
    let varying = varying(code);
    predicate(code, &varying);
    converge(code, &varying);
}

/// The stack pointer; the descriptor of global memory; the window of shared memory, which on `sm_90` depends on the
/// place in the cluster (`S2UR SR_CgaCtaId`, `UMOV`, `ULEA`).
fn prologue(code: &mut Code) {
    let mut head = vec![Inst { constant: Some(bank::STACK_POINTER), ..Inst::bare(MOVE) }];
    let space = |op: &Op| match op {
        Op::Memory(op) => Some(op.space),
        _ => None,
    };
    let spaces = || code.insts.iter().filter_map(|inst| space(&inst.op));
    if spaces().any(|space| matches!(space, Space::Global | Space::Generic)) {
        head.push(Inst::bare(MOVE));
    }
    let args = code.lines.iter().flat_map(|line| &line.args);
    let mut windows: Vec<u64> = args
        .filter_map(|arg| match arg {
            Arg::Symbol(VarSpace::Shared, address) => Some(*address),
            _ => None,
        })
        .collect();
    windows.sort_unstable();
    windows.dedup();
    let add = Op::Arith(ArithClass::IntAdd);
    for place in 0..windows.len() {
        // Further variables: IADD3, LEA.
        let window =
            if place == 0 { vec![Op::Arith(ArithClass::Sfu), MOVE, add] } else { vec![add; 2] };
        head.extend(window.into_iter().map(Inst::bare));
    }
    head.append(&mut code.heads[0]);
    code.heads[0] = head;
}

/// The last instruction of a block that is left.
fn last(code: &Code, block: usize) -> usize {
    code.blocks[block].end as usize - 1
}

/// Whether a block ends with a branch, and where to.
fn branch(code: &Code, block: usize) -> Option<u32> {
    let pc = last(code, block);
    if code.opcode(pc) != "bra" {
        return None;
    }
    // The fall-through comes last.
    let successors = &code.successors[block];
    match (code.is_guarded(pc), &successors[..]) {
        (false, [target]) => Some(*target),
        (true, [target, _]) => Some(*target),
        _ => None,
    }
}

/// The blocks that each may follow.
fn predecessors(code: &Code) -> Vec<Vec<u32>> {
    let mut predecessors = vec![Vec::new(); code.blocks.len()];
    for (block, next) in code.successors.iter().enumerate() {
        for target in next {
            predecessors[*target as usize].push(block as u32);
        }
    }
    predecessors
}

/// A block that does nothing but exit is copied to where it is jumped to: `@P0 EXIT`.
fn exits(code: &mut Code) {
    for (end, before) in predecessors(code).into_iter().enumerate().skip(1) {
        let pc = last(code, end);
        let alone = code.blocks[end].start as usize == pc;
        if !alone || code.insts[pc].op != Op::Exit || code.is_guarded(pc) {
            continue;
        }
        let before: Vec<usize> = before.into_iter().map(|block| block as usize).collect();
        let jumps = |block: &usize| branch(code, *block) == Some(end as u32);
        let falls = |block: &usize| *block + 1 == end && code.successors[*block].len() == 1;
        if before.is_empty() || !before.iter().all(|block| jumps(block) || falls(block)) {
            continue;
        }
        for block in before {
            match branch(code, block) {
                Some(_) => {
                    let pc = last(code, block);
                    code.insts[pc].op = Op::Exit;
                    code.fates[pc] = Fate::Same;
                }
                None => code.tails[block].push(Op::Exit),
            }
        }
        code.remove(pc);
    }
}

/// Jumps to where the code can be laid out behind them.
fn jumps(code: &mut Code) {
    for block in 0..code.blocks.len() {
        let pc = last(code, block);
        let Some(target) = branch(code, block) else { continue };
        let target = target as usize;
        if code.is_guarded(pc) || code.insts[pc].op == Op::Exit || target <= block {
            continue;
        }
        let alone = code.blocks[block].start as usize == pc && block > 0;
        let behind_branch = alone && branch(code, block - 1).is_some();
        // Nothing falls into the target.
        let free = target == block + 1
            || code.successors[target - 1].iter().all(|next| *next as usize != target);
        if behind_branch || free {
            code.remove(pc);
        }
    }
}

/// Short blocks that are jumped over are predicated; the jump is gone.
fn predicate(code: &mut Code, varying: &[bool]) {
    let predecessors = predecessors(code);
    for block in 0..code.blocks.len().saturating_sub(1) {
        let (pc, body) = (last(code, block), block + 1);
        let Some(join) = branch(code, block) else { continue };
        let is_if = code.is_guarded(pc)
            && code.insts[pc].op != Op::Exit
            && join as usize > body
            && code.successors[body] == [join]
            && code.blocks[block].reconverge == join;
        let entered = predecessors[body].len();
        if !is_if || entered != 1 {
            continue;
        }
        let range = code.blocks[body].start as usize..code.blocks[body].end as usize;
        let mut issued = 0;
        let mut plain = true;
        for at in range.clone() {
            issued += match &code.fates[at] {
                Fate::Gone | Fate::Dead => 0,
                Fate::Same => 1,
                Fate::Into(sequence) => sequence.classes.len(),
            };
            plain &= code.opcode(at) == "bra"
                || matches!(code.insts[at].op, Op::Memory(op) if !matches!(op.kind, AccessKind::Atomic(_)))
                || matches!(code.insts[at].op, Op::Arith(class) if class != ArithClass::Control);
        }
        let end = range.end - 1;
        // Lanes may wait there for others, which come with a run of their own.
        plain &= !code.has(end, "sync");
        let jumps = usize::from(code.opcode(end) == "bra" && !code.is_gone(end));
        let parts = code.insts[pc].srcs.as_slice().iter().any(|reg| varying[usize::from(*reg)]);
        let most = MOST_PREDICATED[usize::from(!parts)];
        if plain && issued - jumps <= most && code.tails[body].is_empty() {
            code.remove(pc);
            if code.opcode(end) == "bra" {
                code.remove(end);
            }
            code.predicated[block] = Some(body as u32);
        }
    }
}

/// Where lanes that part meet again, and one of the block's branches: `BSSY` before it, `BSYNC` there.
fn converge(code: &mut Code, varying: &[bool]) {
    let mut met = vec![false; code.blocks.len()];
    for block in 0..code.blocks.len() {
        let pc = last(code, block);
        let meet = code.blocks[block].reconverge;
        let parts = code.is_guarded(pc)
            && !code.is_gone(pc)
            && code.insts[pc].op != Op::Exit
            && code.insts[pc].srcs.as_slice().iter().any(|reg| varying[usize::from(*reg)]);
        let Some(target) = branch(code, block) else { continue };
        if !parts || meet == NO_BLOCK || std::mem::replace(&mut met[meet as usize], true) {
            continue;
        }
        // Only exits follow: nobody needs to meet.
        let first = code.blocks[meet as usize].start as usize;
        if code.insts[first].op == Op::Exit {
            continue;
        }
        // A loop is entered once.
        let before =
            if target as usize <= block { (target as usize).checked_sub(1) } else { Some(block) };
        code.tails[before.unwrap_or(0)].push(MOVE);
        code.heads[meet as usize].insert(0, Inst::bare(Op::Arith(ArithClass::Converge)));
    }
}

/// Registers that may differ from lane to lane.
pub fn varying(code: &Code) -> Vec<bool> {
    let mut varying = vec![false; code.weights.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for pc in 0..code.len() {
            let inst = &code.insts[pc];
            let lane = |arg: &Arg| {
                use Special::*;
                matches!(
                    arg,
                    Arg::Special(Tid(_) | LaneId | MaskEq | MaskLe | MaskLt | MaskGe | MaskGt)
                )
            };
            let loads = matches!(inst.op, Op::Memory(_));
            let part = code.lines[pc].args.iter().any(lane)
                || loads
                || inst.srcs.as_slice().iter().any(|reg| varying[usize::from(*reg)]);
            if part {
                for reg in inst.written() {
                    changed |= !std::mem::replace(&mut varying[usize::from(reg)], true);
                }
            }
        }
    }
    varying
}
