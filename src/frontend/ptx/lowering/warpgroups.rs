//! The products of warpgroups: who ends a group of them, and what goes on meanwhile.

use super::code::{Code, Fate};
use super::free::may_go_up;
use crate::isa::{Inst, Op, Warpgroup};

/// Arithmetic behind a wait for products that does not need them goes before it, as the counter of a loop does.
pub fn overlap(code: &mut Code) {
    let mut is_sum = vec![false; code.weights.len()];
    for reg in code.insts.iter().flat_map(|inst| &inst.sums) {
        is_sum[usize::from(*reg)] = true;
    }
    let uses_sums =
        |inst: &Inst| inst.read().chain(inst.written()).any(|reg| is_sum[usize::from(reg)]);
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
            let waits = code.fates[pc] == Fate::Dead || uses_sums(&code.insts[pc]);
            if !waits && !code.is_guarded(pc) && may_go_up(code, pc, wait) {
                code.move_up_blocks(pc, wait);
                wait += 1;
            }
            pc += 1;
        }
        wait = pc;
    }
    code.index();
}

/// A product that nothing but a commit can follow says itself that it is the last of its group (`HGMMA .., gsb0`).
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

/// The last product before `pc`, where control comes from there alone and no other commit is between.
fn product_before(code: &Code, ways_in: &[u32], pc: usize) -> Option<usize> {
    for at in (0..pc).rev() {
        let next = code.block_of[at + 1] as usize;
        if code.blocks[next].start as usize == at + 1 && !code.follows(next, ways_in) {
            return None;
        }
        match code.insts[at].op {
            Op::Warpgroup(Warpgroup::Multiply(product)) => return (!product.commits).then_some(at),
            Op::Warpgroup(Warpgroup::Commit) => return None,
            _ => {}
        }
    }
    None
}
