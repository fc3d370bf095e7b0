//! Greedy, then loose round robin.

use super::lrr;

/// The warp that issued last if it is eligible and `keeps` its turn, else the first eligible one after it, going round.
#[inline]
pub fn pick(eligible: u64, last: usize, keeps: bool) -> Option<usize> {
    if keeps && eligible >> last & 1 == 1 { Some(last) } else { lrr::pick(eligible, last) }
}
