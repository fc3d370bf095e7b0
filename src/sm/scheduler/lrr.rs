//! Loose round robin.

/// The first eligible warp after `last`, going round.
#[inline]
pub fn pick(eligible: u64, last: usize) -> Option<usize> {
    let after = eligible & (!0u64).checked_shl(last as u32 + 1).unwrap_or(0);
    let chosen = if after != 0 { after } else { eligible };
    (chosen != 0).then(|| chosen.trailing_zeros() as usize)
}
