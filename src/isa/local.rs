//! Where the threads' local memories lie.

use super::WARP;

/// Where the threads' local memories lie, as streams have it: from here on. See [`local_address`].
pub const LOCAL_MEMORY: u64 = 1 << 52;

/// Bytes of a word, in which local memories are interleaved.
pub const LOCAL_WORD: u8 = 4;

const WORD: u64 = LOCAL_WORD as u64;

/// Where a byte of a lane's local memory lies, as streams have it: the byte at `offset` of lane `lane`, of the warp with number
/// `warp` in its launch, each of whose lanes has `bytes` of local memory.
///
/// Words of four bytes of the lanes of a warp lie side by side, as chips interleave them (CUDA C Programming Guide, "Local Memory"),
/// so the words of a lane lie 128 bytes apart; a stream has the address of the first one that is accessed. Every warp of the launch
/// has its own range, of whole words.
///
/// Warps with a number of 2^32 and more share the ranges of those from 0 on, so that for up to 16 MiB a lane, which is more than a
/// thread may have, every address is below 2^62, as streams need it. A lane that takes no part in an access may have any offset; what
/// it gets means nothing.
#[inline]
pub fn local_address(warp: u64, bytes: u64, lane: usize, offset: u64) -> u64 {
    let words = bytes.div_ceil(WORD).wrapping_mul(WARP as u64);
    let start = (warp % (1 << 32)).wrapping_mul(words.wrapping_mul(WORD));
    let word = (offset / WORD).wrapping_mul(WARP as u64).wrapping_add(lane as u64);
    let place = word.wrapping_mul(WORD).wrapping_add(offset % WORD);
    LOCAL_MEMORY.wrapping_add(start).wrapping_add(place)
}

/// How far the local memory of a warp lies from where streams have it, if the warp runs in warp slot `slot` of all of a GPU: to be
/// added, wrapping, to its addresses, of which `address` is any. Lanes have `bytes` of local memory each; for 0 there is no shift.
///
/// The local memory of a GPU has a place for each warp slot, which the warps that run there have one after the other: what a kernel
/// takes of the caches does not grow with its CTAs.
#[inline]
pub fn local_shift(address: u64, bytes: u64, slot: u64) -> u64 {
    let of_warp = bytes.div_ceil(WORD) * WARP as u64 * WORD;
    match address.saturating_sub(LOCAL_MEMORY).checked_div(of_warp) {
        Some(warp) => slot.wrapping_sub(warp).wrapping_mul(of_warp),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_lanes_lie_side_by_side() {
        let of = |lane, offset| local_address(0, 32, lane, offset) - LOCAL_MEMORY;
        assert_eq!([of(0, 0), of(1, 0), of(31, 0)], [0, 4, 124]);
        assert_eq!([of(0, 3), of(0, 4), of(1, 7)], [3, 128, 135]);
        assert_eq!(of(31, 31), 32 * 32 - 1);
    }

    #[test]
    fn warps_have_ranges_of_whole_words() {
        let of = |warp, bytes| local_address(warp, bytes, 0, 0) - LOCAL_MEMORY;
        assert_eq!([of(1, 32), of(2, 32), of(7, 32)], [1024, 2048, 7168]);
        // Five bytes are two words.
        assert_eq!([of(1, 5), of(1, 8)], [256, 256]);
        assert_eq!(of(1, 0), 0);
    }

    #[test]
    fn warps_that_run_in_one_slot_have_one_place() {
        for warp in [0, 7, 1 << 20] {
            let address = local_address(warp, 12, 31, 9);
            let shifted = address.wrapping_add(local_shift(address, 12, 5));
            assert_eq!(shifted, local_address(5, 12, 31, 9));
        }
        assert_eq!(local_shift(local_address(3, 0, 0, 0), 0, 5), 0);
    }

    #[test]
    fn addresses_stay_below_two_to_the_62() {
        let most = 1 << 24;
        let last = local_address(u64::from(u32::MAX), most, 31, most - 1);
        assert_eq!(last, LOCAL_MEMORY + (1 << 61) - 1);
        assert_eq!(local_address(1 << 32, 32, 0, 0), LOCAL_MEMORY);
    }

    #[test]
    fn any_offset_of_a_lane_that_takes_no_part_will_do() {
        assert_eq!(local_address(0, 32, 31, u64::MAX), LOCAL_MEMORY - 1);
        local_address(u64::MAX, u64::MAX, 31, u64::MAX);
    }
}
