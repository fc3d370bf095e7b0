//! Coalescing of compute capability 1.x: a half-warp at a time.
//!
//! Source: CUDA C Programming Guide 3.2, appendix G.3.2, "Global Memory".

use super::coalescer::{AccessList, byte_mask};
use crate::isa::{LaneAddresses, LaneMask, WARP, lanes};
use crate::units::LineAddr;

/// Lanes that coalesce together.
const HALF: usize = WARP / 2;
/// The smallest transaction `[bytes]`, as a number of bits.
const LEAST_BITS: u32 = 5;

impl AccessList {
    /// As [`AccessList::group`], by the rules of compute capability 1.2 and 1.3.
    ///
    /// Each half-warp: the segment of its lowest lane that is not served, 32 bytes for 1-byte elements, 64
    /// for 2-byte ones, else 128; it serves all lanes in it, and shrinks to its half while that holds
    /// them all. The access is to the lanes' own bytes if `exact`, as for a store, else to the whole segment.
    pub fn group_half_warps(
        &mut self,
        addresses: &LaneAddresses,
        bytes: u32,
        line_bits: u32,
        exact: bool,
    ) {
        self.clear();
        let segment_bits = match bytes {
            1 => 5,
            2 => 6,
            _ => 7,
        };
        let segment_bits = segment_bits.min(line_bits);
        for half in halves(addresses.mask) {
            let mut left = half;
            while left != 0 {
                let first = addresses.of(left.trailing_zeros() as usize);
                let segment = first >> segment_bits;
                let (mut low, mut high) = (first, first);
                let mut wanted = 0;
                for lane in lanes(left) {
                    let address = addresses.of(lane);
                    if address >> segment_bits == segment {
                        left &= !(1 << lane);
                        low = low.min(address);
                        high = high.max(address + u64::from(bytes) - 1);
                        wanted |= byte_mask(address, u64::from(bytes), line_bits);
                    }
                }
                let mut bits = segment_bits;
                while bits > LEAST_BITS && low >> (bits - 1) == high >> (bits - 1) {
                    bits -= 1;
                }
                if exact {
                    self.push(LineAddr::of_byte(low, line_bits), wanted);
                } else {
                    self.push_segment(low, bits, line_bits);
                }
            }
        }
    }

    /// As [`AccessList::group`], by the rules of compute capability 1.0 and 1.1.
    ///
    /// A half-warp whose lane k accesses word k of an aligned block of 16 words of 4, 8 or 16 bytes takes
    /// one transaction of 64 or 128 bytes, or two of 128. Any other takes one of 32 bytes a lane. `exact` as
    /// there.
    pub fn group_in_order(
        &mut self,
        addresses: &LaneAddresses,
        bytes: u32,
        line_bits: u32,
        exact: bool,
    ) {
        self.clear();
        for half in halves(addresses.mask) {
            let lowest = half.trailing_zeros() as usize;
            let size = u64::from(bytes);
            let place = |lane: usize| (lane % HALF) as u64 * size;
            let block = addresses.of(lowest).wrapping_sub(place(lowest));
            let in_order = bytes >= 4
                && block.is_multiple_of(HALF as u64 * size)
                && lanes(half).all(|lane| addresses.of(lane) == block + place(lane));
            if in_order {
                let whole = HALF as u64 * size;
                let bits = (whole.trailing_zeros()).min(line_bits);
                for start in (block..block + whole).step_by(1 << bits) {
                    if !exact {
                        self.push_segment(start, bits, line_bits);
                        continue;
                    }
                    let inside =
                        lanes(half).filter(|&lane| addresses.of(lane) >> bits == start >> bits);
                    let wanted = inside
                        .fold(0, |all, lane| all | byte_mask(addresses.of(lane), size, line_bits));
                    if wanted != 0 {
                        self.push(LineAddr::of_byte(start, line_bits), wanted);
                    }
                }
            } else {
                for lane in lanes(half) {
                    let address = addresses.of(lane);
                    if exact {
                        let line = LineAddr::of_byte(address, line_bits);
                        self.push(line, byte_mask(address, size, line_bits));
                    } else {
                        self.push_segment(address, LEAST_BITS, line_bits);
                    }
                }
            }
        }
    }

    /// The segment of `1 << bits` bytes that holds `address`.
    fn push_segment(&mut self, address: u64, bits: u32, line_bits: u32) {
        let start = address >> bits << bits;
        self.push(LineAddr::of_byte(start, line_bits), byte_mask(start, 1 << bits, line_bits));
    }
}

/// The lanes of each half of a warp that has any.
pub(super) fn halves(mask: LaneMask) -> impl Iterator<Item = LaneMask> {
    [mask & 0xffff, mask & 0xffff_0000].into_iter().filter(|&half| half != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Shape;

    fn sizes(list: &AccessList) -> Vec<(u64, u32)> {
        let first = |(line, bytes): (LineAddr, u128)| {
            (line.0 * 128 + u64::from(bytes.trailing_zeros()), bytes.count_ones())
        };
        (0..list.len()).map(|access| first(list.get(access))).collect()
    }

    fn segments(mask: LaneMask, base: u64, stride: i32, bytes: u32) -> Vec<(u64, u32)> {
        let mut list = AccessList::default();
        let addresses = LaneAddresses { mask, shape: Shape::Affine { base, stride } };
        list.group_half_warps(&addresses, bytes, 7, false);
        sizes(&list)
    }

    fn in_order(mask: LaneMask, base: u64, stride: i32, bytes: u32) -> Vec<(u64, u32)> {
        let mut list = AccessList::default();
        let addresses = LaneAddresses { mask, shape: Shape::Affine { base, stride } };
        list.group_in_order(&addresses, bytes, 7, false);
        sizes(&list)
    }

    #[test]
    fn an_aligned_half_warp_takes_one_segment_of_its_size() {
        assert_eq!(segments(!0, 256, 4, 4), [(256, 64), (320, 64)]);
        assert_eq!(segments(!0, 256, 2, 2), [(256, 32), (288, 32)]);
        assert_eq!(segments(!0, 256, 1, 1), [(256, 32), (256, 32)]);
        assert_eq!(segments(!0, 256, 8, 8), [(256, 128), (384, 128)]);
    }

    #[test]
    fn a_shifted_half_warp_of_words_takes_one_larger_segment_or_two_small_ones() {
        // Figure G-2 of the guide: misaligned by one word.
        assert_eq!(segments(0xffff, 132, 4, 4), [(128, 128)]);
        // Across a border of 128 bytes: 32 and 64, each shrunk to what it holds.
        assert_eq!(segments(0xffff, 96, 4, 4), [(96, 32), (128, 32)]);
        assert_eq!(segments(0xffff, 100, 4, 4), [(100 - 4, 32), (128, 64)]);
        // Misaligned by a byte, as a neighbour in the stencil is.
        assert_eq!(segments(!0, 255, 1, 1), [(224, 32), (256, 32), (256, 32)]);
    }

    #[test]
    fn a_store_writes_the_bytes_of_its_lanes() {
        let mut list = AccessList::default();
        let shape = Shape::Affine { base: 256, stride: 4 };
        let addresses = LaneAddresses { mask: 0x3, shape };
        list.group_half_warps(&addresses, 4, 7, true);
        assert_eq!(sizes(&list), [(256, 8)]);
        list.group_in_order(&addresses, 4, 7, true);
        assert_eq!(sizes(&list), [(256, 8)]);
        list.group_in_order(
            &LaneAddresses { mask: 0x3, shape: Shape::Affine { base: 0, stride: 64 } },
            4,
            7,
            true,
        );
        assert_eq!(sizes(&list), [(0, 4), (64, 4)]);
    }

    #[test]
    fn a_stride_takes_a_segment_a_lane() {
        assert_eq!(segments(0xf, 0, 128, 4), [(0, 32), (128, 32), (256, 32), (384, 32)]);
        assert_eq!(segments(0, 0, 4, 4), []);
    }

    #[test]
    fn in_order_and_aligned_is_one_transaction_else_one_a_lane() {
        assert_eq!(in_order(!0, 256, 4, 4), [(256, 64), (320, 64)]);
        assert_eq!(in_order(!0, 256, 8, 8), [(256, 128), (384, 128)]);
        assert_eq!(in_order(0xffff, 256, 16, 16), [(256, 128), (384, 128)]);
        assert_eq!(in_order(0xfff0, 256, 4, 4), [(256, 64)]);
        assert_eq!(in_order(0xffff, 260, 4, 4).len(), 16);
        assert_eq!(in_order(0xffff, 256, 0, 4), vec![(256, 32); 16]);
        assert_eq!(in_order(0x3, 256, 1, 1), [(256, 32), (256, 32)]);
    }
}
