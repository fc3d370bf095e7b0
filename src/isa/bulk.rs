//! Bulk copies, which the SM makes without a thread: of bytes that follow each other, or of a box of a tensor.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Where a bulk copy goes: from one place of many bytes to another.
///
/// Source: PTX ISA 9.0, section 9.7.9 "cp.async.bulk".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BulkCopy {
    /// From global to shared memory; when it is done, it arrives at an mbarrier.
    ToShared,
    /// From shared to global memory; [`Copies`](super::Copies) waits for it.
    ToGlobal,
    /// From global memory to the L2, and nobody waits for it.
    ToL2,
    /// From shared to global memory, where the L2 combines each element with what is there; waited for as [`BulkCopy::ToGlobal`] is.
    Reduce,
}

impl BulkCopy {
    /// Whether it changes global memory.
    #[inline]
    pub fn changes_global(self) -> bool {
        matches!(self, BulkCopy::ToGlobal | BulkCopy::Reduce)
    }
}

/// One copy of an [`Op::Bulk`](super::Op::Bulk).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkUse {
    /// Its first byte in global memory; that of the first row of a box, which may lie outside of the tensor. A multiple of
    /// [`BULK_PIECE`].
    pub address: u64,
    /// How many bytes it copies, at least one; of a box, those of a row. A multiple of [`BULK_PIECE`].
    pub bytes: u32,
    /// The mbarrier at which it arrives, of a copy to shared memory.
    pub mbarrier: u16,
    /// The box that it copies, if it is no copy of bytes that follow each other.
    pub area: Option<BulkBox>,
}

/// Bytes that bulk copies are multiples of.
pub const BULK_PIECE: u32 = 16;

/// Rows of a box, and which part of them lies in the tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkBox {
    /// Bytes of a row from which on, and up to which, it lies in the tensor; the same where nothing does.
    pub inside: (u32, u32),
    /// From one row to the next one in shared memory; a multiple of [`BULK_PIECE`] `[bytes]`.
    pub pitch: u16,
    /// Halves of a sector that go to different sectors of shared memory are asked for one after the other.
    pub parts_halves: bool,
    /// The dimensions along which rows lie, that of neighbours in shared memory first.
    pub axes: [BulkAxis; BULK_AXES],
}

/// Dimensions of a box but that of its rows.
pub const BULK_AXES: usize = 4;

/// A dimension of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkAxis {
    /// Rows along it, at least one.
    pub count: u16,
    /// The first one that lies in the tensor, and the first one behind those.
    pub inside: (u16, u16),
    /// From one to the next one in global memory `[bytes]`.
    pub stride: u64,
}

impl BulkAxis {
    /// A dimension that there is none of.
    pub const NONE: BulkAxis = BulkAxis { count: 1, inside: (0, 1), stride: 0 };
}

/// How far a copy has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkPosition {
    /// The row, by dimension, and its number.
    row: BulkRow,
    number: u32,
    /// Bytes of the row that were asked for.
    at: u32,
    /// Of the bytes that are next, those of the first half of each sector have been asked for.
    is_second: bool,
}

/// What a copy asks the memory for at once: bytes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkRequest {
    /// The line.
    pub line: u64,
    /// Its bytes, none where all of them lie outside of the tensor.
    pub bytes: u128,
}

/// Of each two pieces of a line, the bytes of the first one.
const FIRST_HALVES: u128 = u128::MAX / (u32::MAX as u128) * 0xffff;

/// The lowest bytes of a line, so many.
fn low_bytes(count: u64) -> u128 {
    match count {
        128.. => u128::MAX,
        count => (1 << count) - 1,
    }
}

impl BulkUse {
    /// What it asks for at a position, where lines have `1 << line_bits` bytes, and the position behind that; the latter is `None` at the
    /// end.
    ///
    /// A request is for bytes of one row and one line. Where the halves of a sector go to different sectors of shared memory, all first halves
    /// are one request and all second halves another one, which brings the sectors again; from there, they go together.
    ///
    /// Source: measured on an H200, `results/h200/boxes`.
    pub fn request(
        &self,
        position: BulkPosition,
        line_bits: u32,
    ) -> (BulkRequest, Option<BulkPosition>) {
        let start = self.start_of(position.row);
        let at = start.wrapping_add(position.at.into());
        let line = at >> line_bits;
        let within = at - (line << line_bits);
        let left = u64::from(self.bytes - position.at);
        let count = left.min((1 << line_bits) - within);
        let all = low_bytes(count) << within;
        let next = BulkPosition { at: position.at + count as u32, is_second: false, ..position };
        let Some(area) = &self.area else {
            let next = (next.at < self.bytes).then_some(next);
            return (BulkRequest { line, bytes: all }, next);
        };
        let parts = area.parts(start, position.number, all);
        let part = parts[usize::from(position.is_second)];
        let inside = match area.holds(position.row) {
            true => {
                let (first, end) = area.inside;
                let [first, end] = [first, end]
                    .map(|byte| low_bytes(u64::from(byte.saturating_sub(position.at)).min(count)));
                (end & !first) << within
            }
            false => 0,
        };
        let request = BulkRequest { line, bytes: part & inside };
        if !position.is_second && parts[1] != 0 {
            return (request, Some(BulkPosition { is_second: true, ..position }));
        }
        match next.at < self.bytes {
            true => (request, Some(next)),
            false => {
                let number = position.number + 1;
                let next = |row| BulkPosition { row, number, ..Default::default() };
                (request, area.behind(position.row).map(next))
            }
        }
    }

    /// The address of a row, by its place along each dimension; the first one of a copy that is none of a box.
    pub fn start_of(&self, row: BulkRow) -> u64 {
        let axes = self.area.iter().flat_map(|area| area.axes).zip(row);
        axes.fold(self.address, |at, (axis, row)| {
            at.wrapping_add(axis.stride.wrapping_mul(row.into()))
        })
    }

    /// Requests that it asks the memory for.
    pub fn requests(&self, line_bits: u32) -> u64 {
        if self.area.is_none() {
            let last = self.address + u64::from(self.bytes.max(1)) - 1;
            return (last >> line_bits) - (self.address >> line_bits) + 1;
        }
        let mut requests = 0;
        let mut position = Some(BulkPosition::default());
        while let Some(at) = position {
            let (request, next) = self.request(at, line_bits);
            requests += u64::from(request.bytes != 0);
            position = next;
        }
        requests
    }

    /// Bytes of global memory that it copies.
    pub fn bytes_copied(&self) -> u64 {
        let Some(area) = &self.area else { return self.bytes.into() };
        let rows = area.axes.iter().map(|axis| u64::from(axis.inside.1 - axis.inside.0));
        u64::from(area.inside.1 - area.inside.0) * rows.product::<u64>()
    }

    /// The addresses from its first byte of global memory to its last one; `None` where it has none, or where these are no addresses.
    pub fn in_global(&self) -> Option<Range<u64>> {
        let (start, span) = match &self.area {
            None => (self.address, self.bytes.into()),
            Some(_) if self.bytes_copied() == 0 => return None,
            Some(area) => {
                let first = self.start_of(area.axes.map(|axis| axis.inside.0));
                let row = u64::from(area.inside.1 - area.inside.0);
                let span = area.axes.iter().try_fold(row, |span, axis| {
                    let rows = u64::from(axis.inside.1 - axis.inside.0) - 1;
                    axis.stride.checked_mul(rows)?.checked_add(span)
                });
                (first.wrapping_add(area.inside.0.into()), span?)
            }
        };
        Some(start..start.checked_add(span)?)
    }

    /// Says what no copy can be.
    ///
    /// # Errors
    /// In words without a place.
    pub fn check(&self, addresses: u64) -> Result<(), String> {
        let is_row = self.bytes > 0 && self.bytes.is_multiple_of(BULK_PIECE);
        if !is_row || !self.address.is_multiple_of(BULK_PIECE.into()) {
            return Err(format!("a bulk copy of {} bytes at 0x{:x}", self.bytes, self.address));
        }
        if let Some(area) = &self.area {
            let (first, end) = area.inside;
            let axes = area.axes.iter().all(|axis| {
                axis.inside.0 <= axis.inside.1
                    && axis.inside.1 <= axis.count
                    && axis.stride.is_multiple_of(BULK_PIECE.into())
            });
            let rows = area.axes.iter().map(|axis| u64::from(axis.count));
            let rows = rows.fold(1u64, |all, count| all.saturating_mul(count));
            let fits = rows.saturating_mul(self.bytes.into()) <= MOST_OF_BOX;
            if first > end || end > self.bytes || !axes || rows == 0 || !fits {
                return Err("a bulk copy of a box that there is none of".to_owned());
            }
        }
        let is_there = self.in_global().is_some_and(|place| place.end <= addresses);
        match is_there || self.bytes_copied() == 0 {
            true => Ok(()),
            false => Err(format!("a bulk copy at 0x{:x}, out of memory", self.address)),
        }
    }
}

/// Bytes of a box, with those that lie outside of the tensor, at most.
pub const MOST_OF_BOX: u64 = 1 << 24;

/// A row of a box, by its place along each dimension.
pub type BulkRow = [u16; BULK_AXES];

impl BulkBox {
    /// Whether a row lies in the tensor, but for its bytes outside of [`BulkBox::inside`].
    pub fn holds(&self, row: BulkRow) -> bool {
        self.axes.iter().zip(row).all(|(axis, at)| (axis.inside.0..axis.inside.1).contains(&at))
    }

    /// Bytes of a line, of the row with a number that begins at `start`, as they are asked for: all at once, or the halves of sectors one
    /// after the other.
    fn parts(&self, start: u64, number: u32, all: u128) -> [u128; 2] {
        let in_shared = u64::from(number) * u64::from(self.pitch);
        let parts = [all & FIRST_HALVES, all & !FIRST_HALVES];
        let part = (start ^ in_shared) & u64::from(BULK_PIECE) != 0 && self.parts_halves;
        if part && !parts.contains(&0) { parts } else { [all, 0] }
    }

    /// The row behind a row.
    pub fn behind(&self, mut row: BulkRow) -> Option<BulkRow> {
        for (at, axis) in row.iter_mut().zip(&self.axes) {
            *at += 1;
            if *at < axis.count {
                return Some(row);
            }
            *at = 0;
        }
        None
    }
}

/// Words of a copy in a stream, and of one of a box.
const WORDS: usize = 4;
const BOX_WORDS: usize = WORDS + 3 + 4 * BULK_AXES;
/// In the number of copies, the bit of those of boxes.
const BOXES: u32 = 1 << 31;

/// The words of an instruction's copies, which are all of boxes, or none of them is.
pub(super) fn pack(copies: impl ExactSizeIterator<Item = BulkUse>, words: &mut Vec<u32>) {
    let place = words.len();
    words.push(copies.len() as u32);
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    let pair = |(low, high): (u16, u16)| u32::from(low) | u32::from(high) << 16;
    for BulkUse { address, bytes, mbarrier, area } in copies {
        words.extend(halves(address));
        words.extend([bytes, mbarrier.into()]);
        let Some(BulkBox { inside, pitch, parts_halves, axes }) = area else { continue };
        words[place] |= BOXES;
        words.extend([inside.0, inside.1, pair((pitch, parts_halves.into()))]);
        for BulkAxis { count, inside, stride } in axes {
            words.extend([count.into(), pair(inside)]);
            words.extend(halves(stride));
        }
    }
}

/// The copies that words begin with, and how many words they are.
pub(super) fn unpack(words: &[u32]) -> (impl ExactSizeIterator<Item = BulkUse> + use<'_>, usize) {
    let size = if words[0] & BOXES == 0 { WORDS } else { BOX_WORDS };
    let all = size * (words[0] & !BOXES) as usize;
    let whole = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let axis = move |words: &[u32]| BulkAxis {
        count: words[0] as u16,
        inside: (words[1] as u16, (words[1] >> 16) as u16),
        stride: whole(words[2], words[3]),
    };
    let copies = words[1..][..all].chunks_exact(size).map(move |words| {
        let area = words.get(WORDS..BOX_WORDS).map(|words| {
            let axes = std::array::from_fn(|at| axis(&words[3 + 4 * at..]));
            let parts_halves = words[2] >> 16 != 0;
            BulkBox { inside: (words[0], words[1]), pitch: words[2] as u16, parts_halves, axes }
        });
        let address = whole(words[0], words[1]);
        BulkUse { address, bytes: words[2], mbarrier: words[3] as u16, area }
    });
    (copies, 1 + all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All requests of a copy, by line of 128 bytes.
    fn all(copy: &BulkUse) -> Vec<(u64, u128)> {
        let mut requests = Vec::new();
        let mut position = Some(BulkPosition::default());
        while let Some(at) = position {
            let (BulkRequest { line, bytes }, next) = copy.request(at, 7);
            requests.push((line, bytes));
            position = next;
        }
        requests
    }

    /// A box of rows of so many bytes, in a tensor whose rows are 1024 bytes apart.
    fn rows(address: u64, bytes: u32, count: u16) -> BulkUse {
        let mut axes = [BulkAxis::NONE; BULK_AXES];
        axes[0] = BulkAxis { count, inside: (0, count), stride: 1024 };
        let area = BulkBox { inside: (0, bytes), pitch: bytes as u16, parts_halves: true, axes };
        BulkUse { address, bytes, mbarrier: 0, area: Some(area) }
    }

    #[test]
    fn a_copy_of_bytes_asks_line_by_line() {
        let copy = BulkUse { address: 96, bytes: 192, mbarrier: 0, area: None };
        let want = [(0, low_bytes(32) << 96), (1, u128::MAX), (2, low_bytes(32))];
        assert_eq!(all(&copy), want);
        assert_eq!((copy.requests(7), copy.bytes_copied()), (3, 192));
    }

    #[test]
    fn a_row_of_a_box_is_asked_for_by_itself() {
        assert_eq!(all(&rows(0, 64, 3)), [0, 8, 16].map(|line| (line, low_bytes(64))));
        let two_lines = all(&rows(1024 + 64, 128, 1));
        assert_eq!(two_lines, [(8, low_bytes(64) << 64), (9, low_bytes(64))]);
    }

    #[test]
    fn halves_of_sectors_that_part_are_asked_for_one_after_the_other() {
        // As measured: three requests a row for rows of 128 bytes that begin at byte 16 or 112 of a line, two at 32.
        for (at, requests) in [(0, 1), (16, 3), (32, 2), (64, 2), (112, 3)] {
            assert_eq!(rows(at, 128, 4).requests(7), 4 * requests, "at byte {at}");
        }
        let parts = all(&rows(16, 32, 1));
        assert_eq!(parts, [(0, low_bytes(16) << 32), (0, low_bytes(16) << 16)]);
        // Rows of 48 bytes in shared memory: every second one begins in the middle of a sector.
        assert_eq!(rows(0, 48, 2).requests(7), 1 + 2);
        assert_eq!(rows(16, 16, 4).requests(7), 4);
        let mut written = rows(16, 128, 4);
        written.area.as_mut().unwrap().parts_halves = false;
        assert_eq!(written.requests(7), 4 * 2);
    }

    #[test]
    fn what_lies_outside_takes_a_turn_and_brings_nothing() {
        let mut copy = rows(1024 - 64, 128, 4);
        let area = copy.area.as_mut().unwrap();
        (area.inside, area.axes[0].inside) = ((64, 100), (1, 3));
        let requests = all(&copy);
        assert_eq!(requests.len(), 8);
        let some: Vec<_> = requests.iter().filter(|(_, bytes)| *bytes != 0).collect();
        assert_eq!(some, [&(16, low_bytes(36)), &(24, low_bytes(36))]);
        assert_eq!((copy.requests(7), copy.bytes_copied()), (2, 72));
        assert_eq!(copy.in_global(), Some(2048..3072 + 36));
    }

    #[test]
    fn words_give_back_what_was_put_into_them() {
        let mut copy = rows(u64::MAX - 1023, 128, 7);
        copy.mbarrier = 513;
        let area = copy.area.as_mut().unwrap();
        area.axes[3] = BulkAxis { count: 255, inside: (3, 200), stride: (1 << 43) + 16 };
        let plain = BulkUse { address: 1 << 40, bytes: 1 << 20, mbarrier: 2, area: None };
        for copies in [vec![copy; 3], vec![plain; 2], vec![]] {
            let mut words = vec![];
            pack(copies.iter().copied(), &mut words);
            let (unpacked, count) = unpack(&words);
            assert_eq!(unpacked.collect::<Vec<_>>(), copies);
            assert_eq!(count, words.len());
        }
    }
}
