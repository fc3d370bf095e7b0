//! The coalescer: groups the lanes of a memory instruction by segment.

use crate::isa::{LaneAddresses, Shape, WARP, lanes, way_and_place};
use crate::units::{LineAddr, fibonacci};

/// The accesses of one memory instruction, in the order of their lowest lanes.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct AccessList {
    /// Pieces.
    count: u8,
    /// Words of local memory that each lane accesses, one behind the other: as many accesses for each piece.
    words: u8,
    pieces: [Piece; WARP],
    /// While the list is being filled piece by piece: the segments of its accesses.
    segments: [u64; WARP],
    /// Lines from a word of local memory to the next one.
    row_lines: u64,
}

/// Bytes from a word of a lane's local memory to the next one: those of all lanes lie between.
const ROW_BYTES: u64 = 4 * WARP as u64;

/// One access, side by side.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    bytes: u128,
    line: LineAddr,
    /// How long an atomic keeps a slice's data port [quarters of an L2 cycle].
    atomic_work: u8,
}

/// A list that is being filled, piece by piece.
struct Pieces<'a> {
    list: &'a mut AccessList,
    /// A bit for each segment that is there, which others may share.
    there: u64,
    /// The access of the piece before, which is the likeliest to share its segment.
    latest: usize,
    line_bits: u32,
    segment_bits: u32,
}

impl Pieces<'_> {
    /// Adds what lanes access that each access `size` bytes. Those that access the same bytes, or go on where the last ones
    /// ended, make one piece.
    #[inline(always)]
    fn add_lanes(&mut self, mut addresses: impl Iterator<Item = u64>, size: u64) {
        let Some(first) = addresses.next() else { return };
        let (mut from, mut to) = (first, first + size);
        for address in addresses {
            if (from..to).contains(&address) {
                continue;
            }
            if address != to {
                self.add(from, to - from);
                from = address;
            }
            to = address + size;
        }
        self.add(from, to - from);
    }

    /// Adds `length` bytes from `first` on.
    #[inline(always)]
    fn add(&mut self, first: u64, length: u64) {
        let segment = first >> self.segment_bits;
        if (first + length - 1) >> self.segment_bits == segment {
            return self.add_to(segment, first, length);
        }
        self.add_parts(first, length);
    }

    /// The same, of bytes in more than one segment.
    #[inline(never)]
    fn add_parts(&mut self, first: u64, length: u64) {
        for (from, length) in by_segment(first, length, self.segment_bits) {
            self.add_to(from >> self.segment_bits, from, length);
        }
    }

    /// Adds `length` bytes from `first` on to the access of their segment.
    #[inline(always)]
    fn add_to(&mut self, segment: u64, first: u64, length: u64) {
        let wanted = byte_mask(first, length, self.line_bits);
        let list = &mut *self.list;
        if self.latest < list.count() && list.segments[self.latest] == segment {
            list.pieces[self.latest].bytes |= wanted;
            return;
        }
        let bit = 1u64 << (fibonacci(segment) % u64::from(u64::BITS));
        let known = match self.there & bit {
            0 => None,
            _ => list.segments[..list.count()].iter().rposition(|&other| other == segment),
        };
        self.there |= bit;
        self.latest = known.unwrap_or(list.count());
        match known {
            Some(access) => list.pieces[access].bytes |= wanted,
            None => {
                list.segments[list.count()] = segment;
                list.push(LineAddr::of_byte(first, self.line_bits), wanted);
            }
        }
    }
}

impl Default for AccessList {
    fn default() -> Self {
        AccessList {
            count: 0,
            words: 1,
            pieces: [Piece::default(); WARP],
            segments: [0; WARP],
            row_lines: 0,
        }
    }
}

impl AccessList {
    /// How many accesses.
    #[inline]
    pub fn len(&self) -> usize {
        self.count() * usize::from(self.words)
    }

    /// How many pieces.
    #[inline]
    fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// True when no lane accessed memory.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Line and bytes of an access; bit 0 is the line's first byte.
    #[inline]
    pub fn get(&self, access: usize) -> (LineAddr, u128) {
        if access >= self.count() {
            return self.get_behind(access);
        }
        let Piece { line, bytes, .. } = self.pieces[access];
        (line, bytes)
    }

    /// The same of a word behind the first one of each lane. Lines are powers of two and no longer than a row of words.
    #[inline(never)]
    fn get_behind(&self, access: usize) -> (LineAddr, u128) {
        let Piece { line, bytes, .. } = self.pieces[access % self.count()];
        (LineAddr(line.0 + (access / self.count()) as u64 * self.row_lines), bytes)
    }

    /// Each lane accesses `words` words of local memory, of which the accesses are those of the first ones. Words that follow each
    /// other in a lane's memory lie a row of words of all lanes apart.
    pub fn repeat(&mut self, words: u32, line_bits: u32) {
        self.words = words as u8;
        self.row_lines = ROW_BYTES >> line_bits;
    }

    /// How long an access of an atomic, which goes to no local memory, keeps a slice's data port [quarters of an L2 cycle].
    #[inline]
    pub fn atomic_work(&self, access: usize) -> u8 {
        self.pieces.get(access).map_or(0, |piece| piece.atomic_work)
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        (self.count, self.words) = (0, 1);
    }

    #[inline]
    pub(super) fn push(&mut self, line: LineAddr, bytes: u128) {
        self.pieces[self.count()] = Piece { line, bytes, atomic_work: 0 };
        self.count += 1;
    }

    /// Fills the list with the accesses of a warp whose lanes each access `bytes` bytes, aligned to
    /// their size. Lines have `1 << line_bits` bytes (at most 128), segments `1 << segment_bits`,
    /// no more than a line.
    #[inline]
    pub fn group(
        &mut self,
        addresses: &LaneAddresses,
        bytes: u32,
        line_bits: u32,
        segment_bits: u32,
    ) {
        self.clear();
        let (mask, size) = (addresses.mask, u64::from(bytes));
        if let Shape::Affine { base, stride } = addresses.shape {
            if mask == !0 && stride as u32 == bytes {
                return self.group_dense(base, size * WARP as u64, line_bits, segment_bits);
            }
            if mask.is_power_of_two() {
                // What a lane accesses is aligned to its size, so that it lies in one segment.
                let first = addresses.of(mask.trailing_zeros() as usize);
                let wanted = byte_mask(first, size, line_bits);
                return self.push(LineAddr::of_byte(first, line_bits), wanted);
            }
        }
        self.group_pieces(addresses, size, line_bits, segment_bits);
    }

    /// As [`AccessList::group`], of a copy past the L1: a segment is an access for each way that its sectors go
    /// ([`way_and_place`]).
    pub fn group_copies(
        &mut self,
        addresses: &LaneAddresses,
        bytes: u32,
        line_bits: u32,
        segment_bits: u32,
    ) {
        let Shape::Scattered(all) = &addresses.shape else {
            return self.group(addresses, bytes, line_bits, segment_bits);
        };
        self.clear();
        let mut pieces = Pieces { list: self, there: 0, latest: 0, line_bits, segment_bits };
        for lane in lanes(addresses.mask) {
            // The number of the way is part of the segment's.
            let (_, first) = way_and_place(all[lane]);
            pieces.add_to(all[lane] >> segment_bits, first, bytes.into());
        }
    }

    /// As [`AccessList::group`], where lanes have to be looked at.
    fn group_pieces(
        &mut self,
        addresses: &LaneAddresses,
        size: u64,
        line_bits: u32,
        segment_bits: u32,
    ) {
        let mask = addresses.mask;
        let mut pieces = Pieces { list: self, there: 0, latest: 0, line_bits, segment_bits };
        match &addresses.shape {
            Shape::Rows { base, rows } if rows.across == 0 || rows.across as u64 == size => {
                // Lanes of a row access the same bytes, or go on where the last one ended.
                let row = if rows.across == 0 { size } else { size * u64::from(rows.width) };
                for lane in (0..WARP).step_by(rows.width as usize) {
                    pieces.add(base.wrapping_add_signed(rows.offset(lane)), row);
                }
            }
            Shape::Scattered(addresses) => {
                pieces.add_lanes(lanes(mask).map(|lane| addresses[lane]), size);
            }
            _ => pieces.add_lanes(lanes(mask).map(|lane| addresses.of(lane)), size),
        }
    }

    /// Counts how long each access of an atomic keeps a slice's data port, where an operation on a sector takes
    /// `whole` quarters of a cycle, if it changes all of it, or `part`. Lanes of one word take turns.
    pub fn count_atomic_work(
        &mut self,
        addresses: &LaneAddresses,
        bytes: u32,
        line_bits: u32,
        (whole, part): (u8, u8),
    ) {
        for access in 0..self.count() {
            let mut lanes_of_word = [0u8; WARP];
            for lane in lanes(addresses.mask) {
                let address = addresses.of(lane);
                if LineAddr::of_byte(address, line_bits) == self.pieces[access].line {
                    let first = (address & ((1 << line_bits) - 1)) / 4;
                    for word in first..first + u64::from(bytes.div_ceil(4)) {
                        lanes_of_word[word as usize] += 1;
                    }
                }
            }
            let work_of = |sector: &[u8]| {
                let most = sector.iter().copied().max().unwrap_or_default();
                let least = sector.iter().copied().min().unwrap_or_default();
                u32::from(least) * u32::from(whole) + u32::from(most - least) * u32::from(part)
            };
            let work: u32 = lanes_of_word.chunks(8).map(work_of).sum();
            self.pieces[access].atomic_work = work.min(u32::from(u8::MAX)) as u8;
        }
    }

    /// All bytes from `first` to `first + length`, without a look at each lane.
    #[inline]
    fn group_dense(&mut self, first: u64, length: u64, line_bits: u32, segment_bits: u32) {
        let rest = (1 << line_bits) - 1;
        if (first | length) & rest == 0 && segment_bits == line_bits {
            // Whole lines, as most are.
            let line = LineAddr::of_byte(first, line_bits);
            for number in 0..length >> line_bits {
                self.push(
                    LineAddr(line.0 + number),
                    u128::MAX >> (u64::from(u128::BITS) - 1 - rest),
                );
            }
            return;
        }
        for (from, length) in by_segment(first, length, segment_bits) {
            self.push(LineAddr::of_byte(from, line_bits), byte_mask(from, length, line_bits));
        }
    }
}

/// The parts of `length` bytes from `first` on that lie in one segment each: where they begin, and their length.
#[inline]
fn by_segment(first: u64, length: u64, segment_bits: u32) -> impl Iterator<Item = (u64, u64)> {
    let (mut from, end) = (first, first + length);
    std::iter::from_fn(move || {
        let start = from;
        from = (((start >> segment_bits) + 1) << segment_bits).min(end);
        (start < end).then_some((start, from.wrapping_sub(start)))
    })
}

/// The bytes `address..address + bytes` as a mask over their line.
#[inline]
pub(super) fn byte_mask(address: u64, bytes: u64, line_bits: u32) -> u128 {
    let offset = address & ((1 << line_bits) - 1);
    if bytes <= u64::BITS.into() {
        return u128::from(u64::MAX >> (u64::from(u64::BITS) - bytes)) << offset;
    }
    (u128::MAX >> (u64::from(u128::BITS) - bytes)) << offset
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::isa::{Rows, WAY_SHIFT};

    fn group(addresses: &LaneAddresses, bytes: u32, segment_bits: u32) -> Vec<(u64, u128)> {
        let mut list = AccessList::default();
        list.group(addresses, bytes, 7, segment_bits);
        (0..list.len()).map(|access| list.get(access)).map(|(line, b)| (line.0, b)).collect()
    }

    fn dense(base: u64, bytes: u32) -> LaneAddresses {
        LaneAddresses { mask: !0, shape: Shape::Affine { base, stride: bytes as i32 } }
    }

    #[test]
    fn an_aligned_warp_of_words_is_one_line_and_a_shifted_one_two() {
        assert_eq!(group(&dense(256, 4), 4, 7), [(2, !0)]);
        let shifted = group(&dense(252, 4), 4, 7);
        assert_eq!(shifted, [(1, 0xf << 124), (2, !0 >> 4)]);
    }

    #[test]
    fn four_warps_of_bytes_share_a_line_and_each_has_its_own_32_byte_segment() {
        assert_eq!(group(&dense(0x120, 1), 1, 7), [(2, 0xffff_ffff << 32)]);
        let segments = group(&dense(0x11f, 1), 1, 5);
        assert_eq!(segments, [(2, 1 << 31), (2, 0x7fff_ffff << 32)]);
    }

    #[test]
    fn words_of_local_memory_lie_a_row_of_all_lanes_apart() {
        let half = LaneAddresses { mask: 0xffff, ..dense(512, 4) };
        let mut list = AccessList::default();
        list.group(&half, 4, 6, 6);
        list.repeat(4, 6);
        let lines: Vec<_> = (0..list.len()).map(|access| list.get(access)).collect();
        let all = u128::from(u64::MAX);
        assert_eq!(lines, [8, 10, 12, 14].map(|line| (LineAddr(line), all)));
    }

    #[test]
    fn a_line_of_a_copy_is_an_access_for_each_way_that_it_goes() {
        // Two lines of 64 bytes. All of the first goes one way, every second 16 bytes of the other one another way.
        let ways = [0, 0, 0, 0, 0, 1, 0, 1];
        let shape = Shape::Scattered(std::array::from_fn(|lane| {
            let place = 0x1000 + lane as u64 / 4 * 0x800 + lane as u64 % 4 * 16;
            place | ways.get(lane).copied().unwrap_or(0) << WAY_SHIFT
        }));
        let copies = LaneAddresses { mask: 0xff, shape };
        let mut list = AccessList::default();
        list.group_copies(&copies, 16, 7, 7);
        let accesses: Vec<_> = (0..list.len()).map(|access| list.get(access)).collect();
        let bytes =
            |pieces: &[u32]| pieces.iter().fold(0, |all, piece| all | 0xffffu128 << (16 * piece));
        assert_eq!(
            accesses,
            [
                (LineAddr(32), bytes(&[0, 1, 2, 3])),
                (LineAddr(48), bytes(&[0, 2])),
                (LineAddr(48), bytes(&[1, 3]))
            ]
        );
        let dense = LaneAddresses { mask: !0, shape: Shape::Affine { base: 256, stride: 16 } };
        list.group_copies(&dense, 16, 7, 7);
        assert_eq!((list.len(), list.get(3)), (4, (LineAddr(5), !0)));
    }

    #[test]
    fn lanes_of_one_address_are_one_access() {
        let same = LaneAddresses { mask: !0, shape: Shape::Affine { base: 68, stride: 0 } };
        assert_eq!(group(&same, 4, 7), [(0, 0xf << 68)]);
    }

    #[test]
    fn a_stride_of_a_line_is_an_access_a_lane() {
        let far = LaneAddresses { mask: 0xff, shape: Shape::Affine { base: 0, stride: 128 } };
        let lines: Vec<u64> = group(&far, 4, 7).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    /// Quarters of a cycle of each access: four for a whole sector, five for a part.
    fn atomic_work(addresses: &LaneAddresses) -> Vec<u8> {
        let mut list = AccessList::default();
        list.group(addresses, 4, 7, 7);
        list.count_atomic_work(addresses, 4, 7, (4, 5));
        (0..list.len()).map(|access| list.atomic_work(access)).collect()
    }

    #[test]
    fn lanes_of_one_word_take_turns_and_those_of_a_sector_go_together() {
        let same = LaneAddresses { mask: !0, shape: Shape::Affine { base: 64, stride: 0 } };
        assert_eq!(atomic_work(&same), [32 * 5]);
        assert_eq!(atomic_work(&dense(256, 4)), [4 * 4]);
        let four_words = LaneAddresses { mask: 0xf, ..dense(256, 4) };
        assert_eq!(atomic_work(&four_words), [5]);
        let eight_words = LaneAddresses {
            mask: !0,
            shape: Shape::Scattered(std::array::from_fn(|lane| 4 * (lane as u64 % 8))),
        };
        assert_eq!(atomic_work(&eight_words), [4 * 4]);
        let far = LaneAddresses { mask: 0b11, shape: Shape::Affine { base: 0, stride: 32 } };
        assert_eq!(atomic_work(&far), [2 * 5]);
    }

    #[test]
    fn no_lane_is_no_access() {
        assert_eq!(group(&LaneAddresses::default(), 4, 7), []);
    }

    /// Line and bytes of each segment, in the order of the lowest lanes.
    fn one_by_one(addresses: &[u64; WARP], bytes: u32, segment_bits: u32) -> Vec<(u64, u128)> {
        let mut segments: Vec<(u64, u128)> = Vec::new();
        for address in addresses {
            let (segment, wanted) = (address >> segment_bits, byte_mask(*address, bytes.into(), 7));
            match segments.iter_mut().find(|(known, _)| *known == segment) {
                Some((_, bytes)) => *bytes |= wanted,
                None => segments.push((segment, wanted)),
            }
        }
        segments
            .into_iter()
            .map(|(segment, bytes)| (segment >> (7 - segment_bits), bytes))
            .collect()
    }

    #[test]
    fn all_bytes_of_a_range_are_grouped_as_one_by_one() {
        for (bytes, first) in [1, 2, 4, 8, 16]
            .iter()
            .flat_map(|bytes| [0, 31, 32, 33, 64, 96].map(|first| (*bytes, first)))
        {
            let addresses = std::array::from_fn(|lane| u64::from(bytes) * (first + lane as u64));
            for segment_bits in 5..8 {
                let range = dense(addresses[0], bytes);
                assert_eq!(
                    group(&range, bytes, segment_bits),
                    one_by_one(&addresses, bytes, segment_bits)
                );
            }
        }
    }

    proptest! {
        #[test]
        fn rows_of_lanes_and_any_lanes_are_grouped_as_one_by_one(
            first in 1000u64..1100, across in -2i32..4, down in -40i32..40, width in 1u32..5, log in 0u32..4,
            segment_bits in 5u32..8,
        ) {
            let bytes = 1 << log;
            let (across, down) = (across * bytes as i32, down * bytes as i32);
            let rows = Rows { width: 1 << width, across, down };
            let base = first * u64::from(bytes);
            let rows = LaneAddresses { mask: !0, shape: Shape::Rows { base, rows } };
            let any = LaneAddresses { mask: !0, shape: Shape::Scattered(rows.all()) };
            let wanted = one_by_one(&rows.all(), bytes, segment_bits);
            prop_assert_eq!(&group(&rows, bytes, segment_bits), &wanted);
            prop_assert_eq!(&group(&any, bytes, segment_bits), &wanted);
        }

        #[test]
        fn every_byte_is_in_exactly_one_access_and_no_segment_appears_twice(
            mask in any::<u32>(), places in prop::array::uniform32(0u64..200), log in 0u32..4,
            segment_bits in 5u32..8,
        ) {
            let bytes = 1u64 << log;
            let addresses = places.map(|place| place * bytes);
            let warp = LaneAddresses { mask, shape: Shape::Scattered(addresses) };
            let grouped = group(&warp, bytes as u32, segment_bits);
            let mut wanted = std::collections::BTreeSet::new();
            for lane in lanes(mask) {
                wanted.extend(addresses[lane]..addresses[lane] + bytes);
            }
            let mut seen = Vec::new();
            for (line, mask) in &grouped {
                seen.extend((0..128).filter(|bit| mask >> bit & 1 == 1).map(|bit| line * 128 + bit));
                prop_assert_ne!(*mask, 0);
            }
            seen.sort_unstable();
            prop_assert_eq!(seen, wanted.iter().copied().collect::<Vec<_>>());
            let segments: std::collections::BTreeSet<_> =
                wanted.iter().map(|byte| byte >> segment_bits).collect();
            prop_assert_eq!(grouped.len(), segments.len());
        }
    }
}
