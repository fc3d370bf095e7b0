//! Oldest first.

use super::Candidates;

/// The eligible warp that came first.
#[inline]
pub fn pick(candidates: Candidates) -> Option<usize> {
    let mut rest = candidates.eligible;
    let mut oldest = None;
    let mut least = u64::MAX;
    while rest != 0 {
        let warp = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        if candidates.ages[warp] < least {
            least = candidates.ages[warp];
            oldest = Some(warp);
        }
    }
    oldest
}
