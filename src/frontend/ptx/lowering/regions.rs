//! Blocks that become one: where a short block is predicated, the code before it, the block, and the code behind it that
//! nobody else jumps to follow one another without a branch. `ptxas` puts their instructions in one order.

use std::ops::Range;

use super::code::Code;

/// How many blocks each follows.
pub fn entered(code: &Code) -> Vec<u32> {
    let mut entered = vec![0; code.blocks.len()];
    for &target in code.successors.iter().flatten() {
        entered[target as usize] += 1;
    }
    entered
}

/// The blocks of each region, in order; most regions have one. `entered` says how many blocks each follows.
pub fn regions(code: &Code, entered: &[u32]) -> Vec<Range<usize>> {
    let mut regions = Vec::new();
    let mut start = 0;
    while start < code.blocks.len() {
        let mut end = start + 1;
        while let Some(body) = code.predicated[end - 1] {
            debug_assert_eq!(body as usize, end);
            end += 1;
            // Lanes that call different functions execute a call again for each.
            let goes_on = code.successors[body as usize] == [end as u32]
                && entered[end] == 2
                && code.tails[body as usize].is_empty()
                && code.opcode(code.blocks[end].end as usize - 1) != "call";
            if !goes_on {
                break;
            }
            end += 1;
        }
        regions.push(start..end);
        start = end;
    }
    regions
}
