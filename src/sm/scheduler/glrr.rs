//! Greedy, then loose round robin.

use super::lrr;

/// The warp that issued last while it is eligible, else the first eligible one after it, going round.
#[inline]
pub fn pick(eligible: u64, last: usize) -> Option<usize> {
    if eligible >> last & 1 == 1 { Some(last) } else { lrr::pick(eligible, last) }
}
