//! Greedy then oldest (Rogers, O'Connor and Aamodt, "Cache-Conscious Wavefront Scheduling", 2012).

use super::{Candidates, oldest};

/// The warp that issued last while it is eligible, else the oldest eligible one.
#[inline]
pub fn pick(candidates: Candidates, last: usize) -> Option<usize> {
    if candidates.eligible >> last & 1 == 1 { Some(last) } else { oldest::pick(candidates) }
}
