//! Patterns that the addresses of a warp may have.

use super::stream::{KIND_BITS, lanes};
use super::{LaneMask, WARP};

/// Base and stride of addresses that are affine in the lane number and whose lane 0 is representable.
pub fn affine(mask: LaneMask, addresses: &[u64; WARP]) -> Option<(u64, i32)> {
    let first = mask.trailing_zeros() as usize;
    let rest = mask & mask.wrapping_sub(1);
    if rest == 0 {
        let base = if mask == 0 { 0 } else { addresses[first] };
        return Some((base, 0));
    }
    let second = rest.trailing_zeros() as usize;
    let span = addresses[second].wrapping_sub(addresses[first]) as i64;
    let gap = (second - first) as i64;
    if span % gap != 0 {
        return None;
    }
    let stride = i32::try_from(span / gap).ok()?;
    let base = addresses[first].checked_add_signed(-i64::from(stride) * first as i64)?;
    let fits = base >> (u64::BITS - KIND_BITS) == 0
        && lanes(rest).all(|lane| {
            addresses[lane] == base.wrapping_add_signed(i64::from(stride) * lane as i64)
        });
    fits.then_some((base, stride))
}

/// Lanes of a row, stride within a row and stride from row to row, of addresses that have these.
pub fn grid(addresses: &[u64; WARP]) -> Option<(u32, i32, i32)> {
    let first = addresses[0];
    let across = addresses[1].wrapping_sub(first);
    let mut expected = first;
    let width = addresses.iter().position(|address| {
        let breaks = *address != expected;
        expected = expected.wrapping_add(across);
        breaks
    })?;
    if !width.is_power_of_two() {
        return None;
    }
    let down = addresses[width].wrapping_sub(first);
    let (mut row, mut wrong) = (first, 0);
    for lanes in addresses.chunks_exact(width) {
        let mut expected = row;
        for address in lanes {
            wrong |= address ^ expected;
            expected = expected.wrapping_add(across);
        }
        row = row.wrapping_add(down);
    }
    let (across, down) = (i32::try_from(across as i64).ok()?, i32::try_from(down as i64).ok()?);
    (wrong == 0).then_some((width as u32, across, down))
}
