//! The order of instructions in a block.
//!
//! The text computes each value where it is used. `ptxas` starts loads as early as it can, so that they are under way
//! together; a machine that issues in order depends on it. Here every memory instruction goes before everything that it
//! does not depend on, as long as there are registers for its results: else the oldest values are used up first. Memory
//! instructions keep their order. Next come the instructions that decide the block's branch, unless they wait for loads,
//! as a branch waits long for its predicate.

use super::code::Code;
use super::pressure::Pressure;
use crate::isa::Reg;

/// The instructions of a block as they are issued, those that are gone among them.
pub fn order(
    code: &Code,
    block: usize,
    pressure: &mut Pressure,
    last_writer: &mut [u32],
    readers: &mut [Vec<u32>],
) -> Vec<usize> {
    let (start, end) = (code.blocks[block].start as usize, code.blocks[block].end as usize);
    let mut needs: Vec<Vec<u32>> = vec![Vec::new(); end - start];
    let mut touched: Vec<Reg> = Vec::new();
    for pc in start..end {
        let mine = &mut needs[pc - start];
        for &reg in code.insts[pc].srcs.as_slice() {
            let at = usize::from(reg);
            touched.push(reg);
            if last_writer[at] != u32::MAX {
                mine.push(last_writer[at]);
            }
            readers[at].push(pc as u32);
        }
        for &reg in code.insts[pc].dsts.as_slice() {
            let at = usize::from(reg);
            touched.push(reg);
            if last_writer[at] != u32::MAX {
                mine.push(last_writer[at]);
            }
            mine.extend(readers[at].drain(..).filter(|reader| *reader as usize != pc));
            last_writer[at] = pc as u32;
        }
    }
    for reg in touched {
        last_writer[usize::from(reg)] = u32::MAX;
        readers[usize::from(reg)].clear();
    }
    let mut done = vec![false; end - start];
    let mut order = Vec::with_capacity(end - start);
    let mut wanted: Vec<usize> = Vec::new();
    pressure.start(block);
    // Everything before it is done.
    let mut oldest = start;
    // The last instruction may be a branch: everything comes before it.
    for pinned in (start..end).filter(|pc| code.is_pinned(*pc) || pc + 1 == end) {
        if pinned + 1 == end {
            decide_early(code, start, &needs, &mut done, &mut order);
            order.extend((start..end).filter(|pc| !done[pc - start]));
            break;
        }
        while !pressure.has_room_for(pinned) && oldest < pinned {
            if !std::mem::replace(&mut done[oldest - start], true) {
                pressure.issue(oldest);
                order.push(oldest);
            }
            oldest += 1;
        }
        let first = order.len();
        wanted.push(pinned);
        while let Some(pc) = wanted.pop() {
            if !std::mem::replace(&mut done[pc - start], true) {
                order.push(pc);
                wanted.extend(needs[pc - start].iter().map(|need| *need as usize));
            }
        }
        order[first..].sort_unstable();
        order[first..].iter().for_each(|pc| pressure.issue(*pc));
    }
    order
}

/// Orders what the branch at the end of a block depends on, if that does not wait for memory.
fn decide_early(
    code: &Code,
    start: usize,
    needs: &[Vec<u32>],
    done: &mut [bool],
    order: &mut Vec<usize>,
) {
    let branch = start + needs.len() - 1;
    if code.opcode(branch) != "bra" {
        return;
    }
    let mut seen = vec![false; needs.len()];
    let mut chain: Vec<usize> = Vec::new();
    let mut wanted: Vec<usize> = needs[branch - start].iter().map(|need| *need as usize).collect();
    while let Some(pc) = wanted.pop() {
        if std::mem::replace(&mut seen[pc - start], true) {
            continue;
        }
        if code.is_pinned(pc) {
            return;
        }
        wanted.extend(needs[pc - start].iter().map(|need| *need as usize));
        if !done[pc - start] {
            chain.push(pc);
        }
    }
    chain.sort_unstable();
    chain.iter().for_each(|pc| done[pc - start] = true);
    order.extend(chain);
}
