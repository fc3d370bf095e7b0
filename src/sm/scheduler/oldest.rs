//! Oldest first.

use super::Candidates;

/// The eligible warp that came first.
#[inline]
pub fn pick(candidates: Candidates) -> Option<usize> {
    candidates.ages.oldest(candidates.eligible)
}
