//! Two levels (Narasiman et al., "Improving GPU Performance via Large Warps and Two-Level Warp
//! Scheduling", 2011; Gebhart et al., 2011): an active set that issues round robin, and the others.

use super::{Candidates, lrr};

/// Drops members that wait for memory or are gone, and fills up to `size` with eligible warps in turn.
#[inline]
pub fn refill(active: &mut u64, candidates: Candidates, last: usize, size: u32) {
    *active &= !candidates.waiting;
    let mut from = last;
    while active.count_ones() < size {
        let Some(warp) = lrr::pick(candidates.eligible & !*active, from) else { return };
        *active |= 1 << warp;
        from = warp;
    }
}
