//! Patterns that the addresses of a warp may have.

use super::{LaneMask, WARP, lanes};

/// Bits of a base: a stream keeps its kind in the rest of the word.
pub const BASE_BITS: u32 = 62;

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
    let fits = base >> BASE_BITS == 0
        && lanes(rest).all(|lane| {
            addresses[lane] == base.wrapping_add_signed(i64::from(stride) * lane as i64)
        });
    fits.then_some((base, stride))
}

/// Addresses of a warp in rows of lanes, as those of a block of threads with two dimensions are: lane `l` has
/// `base + l / width * down + l % width * across`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Lanes of a row, a power of two.
    pub width: u32,
    /// Bytes from one lane of a row to the next.
    pub across: i32,
    /// Bytes from one row to the next.
    pub down: i32,
}

impl Rows {
    /// The rows of `addresses` that are not affine in the lane number; `None` when they have no such order.
    #[inline]
    pub fn of(addresses: &[u64; WARP]) -> Option<Self> {
        let first = addresses[0];
        let across = addresses[1].wrapping_sub(first);
        let breaks = |width: &usize| {
            addresses[*width] != first.wrapping_add(across.wrapping_mul(*width as u64))
        };
        let width = [2, 4, 8, 16].into_iter().find(breaks)?;
        let down = addresses[width].wrapping_sub(first);
        let are_rows = match width {
            2 => are_rows::<2>(addresses, across, down),
            4 => are_rows::<4>(addresses, across, down),
            8 => are_rows::<8>(addresses, across, down),
            _ => are_rows::<16>(addresses, across, down),
        };
        let (across, down) = (i32::try_from(across as i64).ok()?, i32::try_from(down as i64).ok()?);
        are_rows.then_some(Rows { width: width as u32, across, down })
    }

    /// From lane 0 to `lane` `[bytes]`.
    #[inline]
    pub fn offset(&self, lane: usize) -> i64 {
        let row = lane >> self.width.trailing_zeros();
        let place = lane & (self.width as usize - 1);
        row as i64 * i64::from(self.down) + place as i64 * i64::from(self.across)
    }
}

#[inline]
fn are_rows<const WIDTH: usize>(addresses: &[u64; WARP], across: u64, down: u64) -> bool {
    let offsets: [u64; WIDTH] = std::array::from_fn(|lane| across.wrapping_mul(lane as u64));
    let (mut row, mut wrong) = (addresses[0], 0);
    for lanes in addresses.as_chunks::<WIDTH>().0 {
        for (address, offset) in lanes.iter().zip(offsets) {
            wrong |= address ^ row.wrapping_add(offset);
        }
        row = row.wrapping_add(down);
    }
    wrong == 0
}
