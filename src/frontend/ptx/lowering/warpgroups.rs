//! The products of warpgroups: who ends a group of them.

use super::super::parts::Block;
use super::code::Code;
use crate::isa::{Op, Warpgroup};

/// A product that nothing but a commit can follow says itself that it is the last of its group (`HGMMA .., gsb0`).
pub fn commits(code: &mut Code) {
    let mut ways_in = vec![0; code.blocks.len()];
    code.successors.iter().flatten().for_each(|next| ways_in[*next as usize] += 1);
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
        let (block, next) = (code.block_of[at] as usize, code.block_of[at + 1] as usize);
        let Block { start, .. } = code.blocks[next];
        let is_next = start as usize == at + 1 && block != next;
        if is_next && (ways_in[next] != 1 || code.successors[block] != [next as u32]) {
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
