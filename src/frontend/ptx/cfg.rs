//! Basic blocks and immediate post-dominators.
//!
//! Lanes that part at a branch meet again at the immediate post-dominator of its block.

use super::parts::{Block, NO_BLOCK};

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the next instruction, after a pause of the warp or a call.
    Pause,
    /// As [`Flow::Pause`], and the instruction starts a block of its own.
    Alone,
    /// To one of the instructions of a table, or, under a guard, to the next one.
    Table {
        /// The table.
        table: u32,
        /// Whether there is a guard.
        guarded: bool,
    },
    /// To the instruction of that number, or, under a guard, to the next one.
    Jump {
        /// The instruction.
        target: u32,
        /// Whether there is a guard.
        guarded: bool,
    },
    /// Nowhere, or, under a guard, to the next one.
    Stop {
        /// Whether there is a guard.
        guarded: bool,
    },
}

/// The control flow of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Blocks in the order of the text.
    pub blocks: Vec<Block>,
    /// Blocks that may follow each.
    pub successors: Vec<Vec<u32>>,
    /// The block of each instruction.
    pub block_of: Vec<u32>,
}

impl Graph {
    /// Whether lanes that part at a branch may come to a block one after the other, before they meet again: from several ways of the
    /// branch. Behind an early way out of an `if` in a loop or a kernel, they may.
    pub fn reached_apart(&self) -> Vec<bool> {
        let count = self.blocks.len();
        let mut apart = vec![false; count];
        // The last search that came to each block, and the branch that it was for.
        let mut seen = vec![(usize::MAX, usize::MAX); count];
        let mut next = Vec::new();
        for (branch, ways) in self.successors.iter().enumerate() {
            let meet = self.blocks[branch].reconverge;
            // Of a single way, which others wait for at its end, nothing is reached by two.
            if ways.iter().filter(|first| **first != meet).count() < 2 {
                continue;
            }
            for (way, &first) in ways.iter().enumerate() {
                next.push(first);
                while let Some(block) = next.pop() {
                    let at = block as usize;
                    if block == meet || seen[at] == (branch, way) {
                        continue;
                    }
                    apart[at] |= seen[at].0 == branch;
                    seen[at] = (branch, way);
                    next.extend_from_slice(&self.successors[at]);
                }
            }
        }
        apart
    }
}

/// Builds the graph; `Err` holds an instruction after which control leaves the kernel's text. `tables` has
/// the targets of indirect branches.
pub fn build(flow: &[Flow], tables: &[Vec<u32>]) -> Result<Graph, usize> {
    let count = flow.len();
    let mut leader = vec![false; count + 1];
    for (pc, step) in flow.iter().enumerate() {
        leader[pc + 1] |= *step != Flow::Next;
        leader[pc] |= *step == Flow::Alone;
        for &target in targets(step, tables) {
            match leader.get_mut(target as usize) {
                Some(place) if (target as usize) < count => *place = true,
                _ => return Err(pc),
            }
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    let mut block_of = vec![0; count];
    for pc in 0..count {
        if pc == 0 || leader[pc] {
            let (start, end) = (pc as u32, pc as u32);
            blocks.push(Block { start, end, reconverge: NO_BLOCK });
        }
        if let Some(block) = blocks.last_mut() {
            block.end = pc as u32 + 1;
        }
        block_of[pc] = blocks.len() as u32 - 1;
    }
    let mut successors = Vec::with_capacity(blocks.len());
    for (number, block) in blocks.iter().enumerate() {
        let last = block.end as usize - 1;
        let falls = match flow[last] {
            Flow::Next | Flow::Pause | Flow::Alone => true,
            Flow::Jump { guarded, .. } | Flow::Table { guarded, .. } => guarded,
            Flow::Stop { guarded } => guarded,
        };
        let jumps = targets(&flow[last], tables).iter();
        let mut next: Vec<u32> = jumps.map(|target| block_of[*target as usize]).collect();
        next.sort_unstable();
        next.dedup();
        if falls {
            if number + 1 == blocks.len() {
                return Err(last);
            }
            next.push(number as u32 + 1);
        }
        successors.push(next);
    }
    for (block, reconverge) in blocks.iter_mut().zip(post_dominators(&successors)) {
        block.reconverge = reconverge;
    }
    Ok(Graph { blocks, successors, block_of })
}

/// The instructions that a step may jump to.
fn targets<'a>(step: &'a Flow, tables: &'a [Vec<u32>]) -> &'a [u32] {
    match step {
        Flow::Jump { target, .. } => std::slice::from_ref(target),
        Flow::Table { table, .. } => &tables[*table as usize],
        _ => &[],
    }
}

/// The immediate post-dominator of each block; [`NO_BLOCK`] when that is the end of the kernel, or
/// when the end cannot be reached.
///
/// Source: Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm", 2001, on the reversed
/// graph with one more node for the end.
fn post_dominators(successors: &[Vec<u32>]) -> Vec<u32> {
    let count = successors.len();
    let end = count;
    // A block leaves for the end when nothing follows it, or when it may stop under a guard; the
    // latter does not matter for where the others meet.
    let mut sources = vec![Vec::new(); count + 1];
    for (block, next) in successors.iter().enumerate() {
        for &successor in next {
            sources[successor as usize].push(block);
        }
        if next.is_empty() {
            sources[end].push(block);
        }
    }
    // Postorder of the reversed graph, from the end, with a stack of our own.
    let mut order = vec![usize::MAX; count + 1];
    let mut sequence = Vec::new();
    let mut seen = vec![false; count + 1];
    let mut stack = vec![(end, 0)];
    seen[end] = true;
    while let Some((node, next)) = stack.last_mut() {
        if let Some(&source) = sources[*node].get(*next) {
            *next += 1;
            if !std::mem::replace(&mut seen[source], true) {
                stack.push((source, 0));
            }
        } else {
            order[*node] = sequence.len();
            sequence.push(*node);
            stack.pop();
        }
    }
    const NONE: usize = usize::MAX;
    let mut parent = vec![NONE; count + 1];
    parent[end] = end;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in sequence.iter().rev().skip(1) {
            let at_end = successors[node].is_empty().then_some(end);
            let next = successors[node].iter().map(|next| *next as usize).chain(at_end);
            let mut meet = NONE;
            for successor in next.filter(|next| parent[*next] != NONE) {
                meet =
                    if meet == NONE { successor } else { common(meet, successor, &parent, &order) };
            }
            if parent[node] != meet {
                parent[node] = meet;
                changed = true;
            }
        }
    }
    let known = |block: usize| parent[block] != NONE && parent[block] != end;
    (0..count).map(|block| if known(block) { parent[block] as u32 } else { NO_BLOCK }).collect()
}

fn common(mut a: usize, mut b: usize, parent: &[usize], order: &[usize]) -> usize {
    while a != b {
        while order[a] < order[b] {
            a = parent[a];
        }
        while order[b] < order[a] {
            b = parent[b];
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jump(target: u32, guarded: bool) -> Flow {
        Flow::Jump { target, guarded }
    }

    const STOP: Flow = Flow::Stop { guarded: false };

    fn meets(flow: &[Flow]) -> Vec<u32> {
        build(flow, &[]).unwrap().blocks.iter().map(|block| block.reconverge).collect()
    }

    #[test]
    fn both_ways_of_an_if_meet_after_it() {
        // 0: if -> 3; 1: then; 2: jump 4; 3: else; 4: stop
        let flow = [jump(3, true), Flow::Next, jump(4, false), Flow::Next, STOP];
        assert_eq!(meets(&flow), [3, 3, 3, NO_BLOCK]);
    }

    #[test]
    fn lanes_that_leave_a_loop_meet_behind_it() {
        let flow = [Flow::Next, jump(1, true), STOP];
        assert_eq!(meets(&flow), [1, 2, NO_BLOCK]);
    }

    #[test]
    fn a_loop_without_end_has_no_place_to_meet() {
        let flow = [jump(3, true), Flow::Next, jump(1, false), STOP];
        assert_eq!(meets(&flow)[1], NO_BLOCK);
    }

    #[test]
    fn lanes_come_apart_to_what_lies_behind_an_early_way_out_of_an_if() {
        // 0: if -> 3; 1: out -> 5; 2: then; 3: behind; 4: loop -> 0; 5: stop
        let flow = [jump(3, true), jump(5, true), Flow::Next, Flow::Next, jump(0, true), STOP];
        let apart = build(&flow, &[]).unwrap().reached_apart();
        // Once there, they come apart to all that the loop goes through again.
        assert_eq!(apart, [true, true, true, true, false]);
        // Without the way out they meet behind the `if`, and in each turn of the loop.
        let flow = [jump(3, true), Flow::Next, Flow::Next, Flow::Next, jump(0, true), STOP];
        assert_eq!(build(&flow, &[]).unwrap().reached_apart(), [false; 4]);
    }

    #[test]
    fn control_must_not_leave_the_text() {
        assert_eq!(build(&[Flow::Next], &[]), Err(0));
        assert_eq!(build(&[jump(7, false)], &[]), Err(0));
        assert_eq!(build(&[Flow::Stop { guarded: true }], &[]), Err(0));
    }
}
