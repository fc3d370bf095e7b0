//! The products of warpgroups: who ends a group of them, and what goes on meanwhile.

use super::code::{Code, Fate};
use super::free::may_go_up;
use crate::isa::{Inst, Op, Warpgroup};

/// Arithmetic behind a wait for products that does not need them goes before it, as the counter of a loop does.
pub fn overlap(code: &mut Code) {
    // What products under way write, and what they may still read.
    let (mut written, mut read) =
        (vec![false; code.weights.len()], vec![false; code.weights.len()]);
    for inst in &code.insts {
        let Op::Warpgroup(Warpgroup::Multiply(product)) = inst.op else { continue };
        inst.sums.iter().for_each(|reg| written[usize::from(*reg)] = true);
        if product.from_registers {
            inst.read().for_each(|reg| read[usize::from(reg)] = true);
        }
    }
    let is_independent = |inst: &Inst| {
        !inst.read().any(|reg| written[usize::from(reg)])
            && !inst.written().any(|reg| written[usize::from(reg)] | read[usize::from(reg)])
    };
    let ways_in = code.ways_in();
    let mut wait = 0;
    while wait < code.len() {
        if !matches!(code.insts[wait].op, Op::Warpgroup(Warpgroup::Wait(_))) {
            wait += 1;
            continue;
        }
        let mut pc = wait + 1;
        while pc < code.len() {
            let block = code.block_of[pc] as usize;
            let is_first = code.blocks[block].start as usize == pc;
            if is_first && !code.follows(block, &ways_in) {
                break;
            }
            let is_arithmetic = matches!(code.insts[pc].op, Op::Arith(_)) && !code.is_pinned(pc);
            let ends_block = code.blocks[block].end as usize == pc + 1;
            if !is_arithmetic || ends_block {
                break;
            }
            let is_issued = code.fates[pc] != Fate::Dead;
            if is_issued
                && !code.is_guarded(pc)
                && is_independent(&code.insts[pc])
                && may_go_up(code, pc, wait)
            {
                code.move_up_blocks(pc, wait);
                wait += 1;
            }
            pc += 1;
        }
        wait = pc;
    }
    code.index();
}

/// A product behind which a commit comes before any wait, on every way, says itself that it is the last of its group (`HGMMA .., gsb0`).
pub fn commits(code: &mut Code) {
    let ways_in = code.ways_in();
    for pc in 0..code.len() {
        if code.insts[pc].op != Op::Warpgroup(Warpgroup::Commit) {
            continue;
        }
        if let Some(product) = product_before(code, &ways_in, pc)
            && let Op::Warpgroup(Warpgroup::Multiply(product)) = &mut code.insts[product].op
        {
            product.commits = true;
            code.remove(pc);
        }
    }
}

/// The last product before `pc`, where control comes from there alone and neither another commit nor a wait is between.
fn product_before(code: &Code, ways_in: &[u32], pc: usize) -> Option<usize> {
    for at in (0..pc).rev() {
        let next = code.block_of[at + 1] as usize;
        if code.blocks[next].start as usize == at + 1 && !code.follows(next, ways_in) {
            return None;
        }
        match code.insts[at].op {
            Op::Warpgroup(Warpgroup::Multiply(product)) => return (!product.commits).then_some(at),
            Op::Warpgroup(Warpgroup::Commit | Warpgroup::Wait(_)) => return None,
            _ => {}
        }
    }
    None
}
