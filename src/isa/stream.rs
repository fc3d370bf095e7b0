//! What one warp executed, compactly: runs of instructions, and the addresses of the memory ones.
//!
//! A straight line of code costs 8 bytes however long it is, and 16 where not all lanes execute it. A memory
//! instruction costs 8 bytes when its addresses are affine in the lane number, and 16 where not all lanes access memory or
//! base or stride are large; 24 when they are affine in rows of lanes, as those of a block of threads with two dimensions
//! are, and 12 + 4 bytes a lane when they are scattered. Streams of many warps are read in turn, a few bytes at a time,
//! and what is read next has mostly left the processor's caches: the less there is the better.

mod reader;

pub use reader::WarpReader;

use super::pattern::{BASE_BITS, Rows, affine};
use super::{
    BarrierKind, BarrierUse, BulkUse, LOCAL_MEMORY, LaneMask, MbarrierUse, WARP, bulk, lanes,
    way_and_place,
};
use crate::prefetch::prefetch_at;

/// Consecutive instructions executed by the same lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first one's place in the kernel.
    pub pc: u32,
    /// How many, at least one.
    pub len: u32,
    /// The lanes that execute them.
    pub mask: LaneMask,
}

/// The instructions that one warp executed, in order. Its head is in one line of the processor's caches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct WarpStream {
    runs: Vec<Packed>,
    words: Vec<u32>,
    instructions: u64,
    /// The lanes that execute the last run.
    last: LaneMask,
}

/// A run as it is kept, of all lanes. With length 0 it is no run, and says which lanes execute the next one in place of `pc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Packed {
    pc: u32,
    len: u32,
}

/// The addresses of one memory instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneAddresses {
    /// Lanes that access memory; none when the guard predicate was false everywhere.
    pub mask: LaneMask,
    /// Where they do.
    pub shape: Shape,
}

/// Addresses by lane.
#[expect(clippy::large_enum_variant, reason = "short-lived, on the stack, never in bulk")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `base + lane * stride` for every lane of the mask.
    Affine {
        /// What lane 0 accesses, or would.
        base: u64,
        /// Bytes from one lane to the next.
        stride: i32,
    },
    /// In rows of lanes, for all lanes.
    Rows {
        /// What lane 0 accesses.
        base: u64,
        /// From there to the others.
        rows: Rows,
    },
    /// An address for each lane; those of lanes outside the mask mean nothing.
    Scattered([u64; WARP]),
}

impl LaneAddresses {
    /// The address of `lane`, which must be in the mask.
    #[inline]
    pub fn of(&self, lane: usize) -> u64 {
        match &self.shape {
            Shape::Affine { base, stride } => {
                base.wrapping_add_signed(i64::from(*stride) * lane as i64)
            }
            Shape::Rows { base, rows } => base.wrapping_add_signed(rows.offset(lane)),
            Shape::Scattered(addresses) => addresses[lane],
        }
    }

    /// All addresses are so many bytes further, wrapping.
    pub fn shift(&mut self, by: u64) {
        match &mut self.shape {
            Shape::Affine { base, .. } | Shape::Rows { base, .. } => *base = base.wrapping_add(by),
            Shape::Scattered(all) => all.iter_mut().for_each(|one| *one = one.wrapping_add(by)),
        }
    }

    /// Of lanes that access `bytes` bytes each in several spaces, those of local memory begin at a multiple of that, as others do: the
    /// words of a lane's local memory lie apart, and have addresses of their own.
    #[inline]
    pub fn align_local(&mut self, bytes: u8) {
        let is_local = |lane: usize| self.of(lane) >= LOCAL_MEMORY;
        let may_be = match &self.shape {
            Shape::Affine { .. } => is_local(0) || is_local(WARP - 1),
            _ => true,
        };
        if may_be && lanes(self.mask).any(is_local) {
            let aligned = |address: u64| match address {
                LOCAL_MEMORY.. => address & !(u64::from(bytes) - 1),
                _ => address,
            };
            self.shape = Shape::Scattered(self.all().map(aligned));
        }
    }

    /// The addresses of a copy without the numbers of their ways.
    pub fn without_ways(&mut self) {
        if let Shape::Scattered(all) = &mut self.shape {
            all.iter_mut().for_each(|one| *one = way_and_place(*one).1);
        }
    }

    /// The addresses of all lanes; those outside the mask mean nothing.
    pub fn all(&self) -> [u64; WARP] {
        match &self.shape {
            Shape::Scattered(addresses) => *addresses,
            _ => std::array::from_fn(|lane| self.of(lane)),
        }
    }

    /// How many different addresses the lanes of the mask have.
    pub fn distinct(&self) -> u32 {
        match &self.shape {
            Shape::Affine { stride: 0, .. } => u32::from(self.mask != 0),
            Shape::Affine { .. } => self.mask.count_ones(),
            _ => {
                let is_first = |lane: &usize| {
                    let before = self.mask & ((1 << lane) - 1);
                    lanes(before).all(|other| self.of(other) != self.of(*lane))
                };
                lanes(self.mask).filter(is_first).count() as u32
            }
        }
    }
}

impl Default for LaneAddresses {
    fn default() -> Self {
        LaneAddresses { mask: 0, shape: Shape::Affine { base: 0, stride: 0 } }
    }
}

/// Bytes of a line of the processor's caches.
const LINE: usize = 64;

/// Kinds of address records. Each starts with the low and high half of a base, below which is the kind. All but [`DENSE`] go on
/// with the mask.
///
/// Affine and of all lanes: above [`DENSE_BITS`] bits of the first two words is the stride, and that is all.
const DENSE: u32 = 0;
const AFFINE: u32 = 1;
/// An offset for each lane of the mask; of two words, with the mask before them, where the mask is 0.
const SCATTERED: u32 = 2;
const GRID: u32 = 3;
const KIND_BITS: u32 = u64::BITS - BASE_BITS;
/// Bits of a dense base and its kind.
const DENSE_BITS: u32 = 48;

impl WarpStream {
    /// Forgets everything but keeps the storage.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.words.clear();
        self.instructions = 0;
    }

    /// Makes room for so many more runs of instructions, and words of addresses: a stream that is known beforehand need not grow
    /// step by step.
    pub fn reserve(&mut self, runs: usize, words: usize) {
        self.runs.reserve(runs);
        self.words.reserve(words);
    }

    /// Becomes equal to `other`, keeping the storage.
    pub fn copy_from(&mut self, other: &WarpStream) {
        self.runs.clone_from(&other.runs);
        self.words.clone_from(&other.words);
        self.instructions = other.instructions;
        self.last = other.last;
    }

    /// Asks for the beginning: all of it, if it is short.
    #[inline]
    pub fn prefetch(&self) {
        for line in 0..2 {
            prefetch_at(&self.runs, line * LINE / size_of::<Packed>());
            prefetch_at(&self.words, line * LINE / size_of::<u32>());
        }
    }

    /// Instructions executed.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Moves all instructions by so many places, as where they lie behind those of another kernel.
    pub fn shift(&mut self, places: u32) {
        self.runs.iter_mut().filter(|run| run.len > 0).for_each(|run| run.pc += places);
    }

    /// Bytes of storage in use.
    pub fn bytes(&self) -> usize {
        self.runs.len() * size_of::<Packed>() + self.words.len() * size_of::<u32>()
    }

    /// Appends the instruction at `pc`, executed by the lanes of `mask`.
    ///
    /// A memory instruction, or a match, is followed by one call of [`WarpStream::push_addresses`] or
    /// [`WarpStream::push_affine`], a barrier by one of [`WarpStream::push_barrier`], an mbarrier by one of
    /// [`WarpStream::push_mbarrier`], bulk copies by one of [`WarpStream::push_bulk`].
    #[inline]
    pub fn push(&mut self, pc: u32, mask: LaneMask) {
        self.push_run(pc, 1, mask);
    }

    /// Appends `len` consecutive instructions from `pc` on, all executed by the lanes of `mask`.
    #[inline]
    pub fn push_run(&mut self, pc: u32, len: u32, mask: LaneMask) {
        if len == 0 {
            return;
        }
        self.instructions += u64::from(len);
        if let Some(run) = self.runs.last_mut()
            && self.last == mask
            && run.pc + run.len == pc
        {
            run.len += len;
            return;
        }
        if mask != LaneMask::MAX {
            self.push_mask(mask);
        }
        self.runs.push(Packed { pc, len });
        self.last = mask;
    }

    /// Says which lanes execute the next run.
    #[inline(never)]
    fn push_mask(&mut self, mask: LaneMask) {
        self.runs.push(Packed { pc: mask, len: 0 });
    }

    /// The runs of instructions, the last first: the place of each one's first instruction, and its length.
    pub fn recent(&self) -> impl Iterator<Item = (u32, u32)> {
        self.runs.iter().rev().filter(|run| run.len > 0).map(|run| (run.pc, run.len))
    }

    /// Begins a record of scattered addresses.
    fn push_scattered_header(&mut self, mask: LaneMask, base: u64) {
        let [low, high] = halves(SCATTERED, base);
        self.words.extend_from_slice(&[low, high, mask]);
    }

    /// Appends addresses of the form `base + lane * stride`; all below 2^62.
    #[inline(never)]
    pub fn push_affine(&mut self, mask: LaneMask, base: u64, stride: i32) {
        if mask == LaneMask::MAX
            && base >> (DENSE_BITS - KIND_BITS) == 0
            && let Ok(stride) = i16::try_from(stride)
        {
            let [low, high] = halves(DENSE, base | (stride as u64) << (DENSE_BITS - KIND_BITS));
            self.words.extend_from_slice(&[low, high]);
            return;
        }
        let [low, high] = halves(AFFINE, base);
        self.words.extend_from_slice(&[low, high, mask, stride as u32]);
    }

    /// Appends one address a lane, all below 2^62; lanes outside `mask` are ignored.
    pub fn push_addresses(&mut self, mask: LaneMask, addresses: &[u64; WARP]) {
        let Some((base, stride)) = affine(mask, addresses) else {
            return self.push_irregular(mask, addresses);
        };
        self.push_affine(mask, base, stride);
    }

    /// As [`WarpStream::push_addresses`], for addresses that are not affine in the lane number.
    pub fn push_irregular(&mut self, mask: LaneMask, addresses: &[u64; WARP]) {
        if mask != !0 {
            return self.push_scattered(mask, addresses);
        }
        match Rows::of(addresses) {
            Some(rows) => self.push_rows(mask, addresses[0], rows),
            None => self.push_lanes(addresses),
        }
    }

    /// Appends addresses in rows from `base` on; all below 2^62.
    #[inline]
    pub fn push_rows(&mut self, mask: LaneMask, base: u64, rows: Rows) {
        let Rows { width, across, down } = rows;
        let [low, high] = halves(GRID, base);
        self.words.extend_from_slice(&[low, high, mask, width, across as u32, down as u32]);
    }

    /// As [`WarpStream::push_addresses`], of all lanes, for addresses in no order.
    pub fn push_lanes(&mut self, addresses: &[u64; WARP]) {
        let mask = !0;
        // No bit of the mask to look at, and a base without a search for the least address.
        let base = addresses[0].saturating_sub(1 << 31);
        let mut offsets = [0; WARP];
        let mut widest = 0;
        for lane in 0..WARP {
            let offset = addresses[lane].wrapping_sub(base);
            offsets[lane] = offset as u32;
            widest |= offset;
        }
        if widest >> 32 != 0 {
            return self.push_scattered(mask, addresses);
        }
        self.push_scattered_header(mask, base);
        self.words.extend_from_slice(&offsets);
    }

    /// Words of records so far.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Takes away the records of addresses from word `start` on.
    pub fn take_records(&mut self, start: usize, records: &mut Vec<LaneAddresses>) {
        let mut cursor = WarpCursor { word: start as u32, ..WarpCursor::default() };
        records.clear();
        while (cursor.word as usize) < self.words.len() {
            records.push(cursor.addresses(self));
        }
        self.words.truncate(start);
    }

    /// Puts the records of addresses from word `start` on in another order: the first one is then that which was the
    /// `order[0]`th of them, counted from 0, and so on.
    pub fn reorder(&mut self, start: usize, order: &[u32], spare: &mut Spare) {
        let Spare { words, starts } = spare;
        words.clear();
        words.extend_from_slice(&self.words[start..]);
        starts.clear();
        let mut place = 0;
        while place < words.len() {
            starts.push(place as u32);
            place += record_words(&words[place..]);
        }
        debug_assert_eq!(starts.len(), order.len());
        starts.push(place as u32);
        self.words.truncate(start);
        for &record in order {
            let [from, to] = [record, record + 1].map(|at| starts[at as usize] as usize);
            self.words.extend_from_slice(&words[from..to]);
        }
    }

    /// Appends how a barrier is used; gives the record's place for [`WarpStream::set_barrier`].
    pub fn push_barrier(&mut self, barrier: BarrierUse) -> usize {
        self.words.push(pack_barrier(barrier));
        self.words.len() - 1
    }

    /// Changes a barrier record.
    pub fn set_barrier(&mut self, place: usize, barrier: BarrierUse) {
        self.words[place] = pack_barrier(barrier);
    }

    /// Appends how an mbarrier is used; gives the record's place for [`WarpStream::set_mbarrier`].
    pub fn push_mbarrier(&mut self, mbarrier: MbarrierUse) -> usize {
        self.words.extend_from_slice(&[mbarrier.id.into(), mbarrier.arrivals]);
        self.words.len() - 2
    }

    /// Appends the copies of an instruction, one for each lane at most; all are of boxes of tensors, or none is.
    pub fn push_bulk(&mut self, copies: impl ExactSizeIterator<Item = BulkUse>) {
        bulk::pack(copies, &mut self.words);
    }

    /// Changes how many times warps must have arrived.
    pub fn set_mbarrier(&mut self, place: usize, arrivals: u32) {
        self.words[place + 1] = arrivals;
    }

    /// As [`WarpStream::push_addresses`], for addresses in no order, of at least one lane.
    pub fn push_scattered(&mut self, mask: LaneMask, addresses: &[u64; WARP]) {
        // All lanes, the common case, and near each other: loops without a branch.
        if mask == !0 {
            let base = addresses.iter().copied().min().unwrap_or(0);
            let widest = addresses.iter().fold(0, |widest, address| widest | (address - base));
            if u32::try_from(widest).is_ok() {
                self.push_scattered_header(mask, base);
                self.words.extend(addresses.map(|address| (address - base) as u32));
                return;
            }
        }
        let base = lanes(mask).map(|lane| addresses[lane]).min().unwrap_or(0);
        // Gathered on the stack first: one growth check for the whole record.
        let mut offsets = [0; WARP];
        let mut count = 0;
        let mut widest = 0;
        for lane in lanes(mask) {
            offsets[count] = addresses[lane] - base;
            widest |= offsets[count];
            count += 1;
        }
        let offsets = &offsets[..count];
        if u32::try_from(widest).is_ok() {
            self.push_scattered_header(mask, base);
            self.words.extend(offsets.iter().map(|&offset| offset as u32));
        } else {
            self.push_scattered_header(0, base);
            self.words.push(mask);
            self.words.extend(offsets.iter().flat_map(|&o| [o as u32, (o >> 32) as u32]));
        }
    }
}

/// Storage of [`WarpStream::reorder`].
#[derive(Clone, Debug, Default)]
pub struct Spare {
    words: Vec<u32>,
    starts: Vec<u32>,
}

/// Words of the record of addresses that begins here.
fn record_words(words: &[u32]) -> usize {
    match words[0] & ((1 << KIND_BITS) - 1) {
        DENSE => 2,
        AFFINE => 4,
        GRID => 6,
        _ if words[2] == 0 => 4 + 2 * words[3].count_ones() as usize,
        _ => 3 + words[2].count_ones() as usize,
    }
}

/// What a record of addresses begins with.
#[inline]
fn halves(kind: u32, base: u64) -> [u32; 2] {
    // Addresses have at most 62 bits, which leaves room for the kind.
    let packed = base << KIND_BITS | u64::from(kind);
    [packed as u32, (packed >> 32) as u32]
}

fn pack_barrier(BarrierUse { id, warps, kind }: BarrierUse) -> u32 {
    u32::from(warps) << 16 | u32::from(kind.code()) << 8 | u32::from(id)
}

/// A reader's place in a [`WarpStream`].
#[derive(Clone, Copy, Debug, Default)]
pub struct WarpCursor {
    run: u32,
    done: u32,
    word: u32,
}

impl WarpCursor {
    /// The run of the next instruction, and the place of the one after it; `None` at the end.
    #[inline]
    fn run(&self, stream: &WarpStream) -> Option<(Run, u32)> {
        let Packed { pc, len } = *stream.runs.get(self.run as usize)?;
        if len > 0 {
            return Some((Run { pc, len, mask: LaneMask::MAX }, self.run + 1));
        }
        let (mask, Packed { pc, len }) = (pc, stream.runs[self.run as usize + 1]);
        Some((Run { pc, len, mask }, self.run + 2))
    }

    /// The next instruction's place in the kernel and the lanes that execute it; `None` at the end.
    #[inline]
    pub fn peek(&self, stream: &WarpStream) -> Option<(u32, LaneMask)> {
        let (run, _) = self.run(stream)?;
        Some((run.pc + self.done, run.mask))
    }

    /// Steps past the next instruction, of which there is one.
    #[inline]
    pub fn advance(&mut self, stream: &WarpStream) {
        self.done += 1;
        if let Some((run, next)) = self.run(stream)
            && self.done == run.len
        {
            (self.run, self.done) = (next, 0);
        }
    }

    /// Steps past a whole run of instructions and gives it; `None` at the end. For a reader that takes no single steps.
    #[inline]
    pub fn take_run(&mut self, stream: &WarpStream) -> Option<Run> {
        let (run, next) = self.run(stream)?;
        self.run = next;
        Some(run)
    }

    /// Reads how the next barrier is used. Called once for each, in order.
    #[inline]
    pub fn barrier(&mut self, stream: &WarpStream) -> BarrierUse {
        let word = stream.words[self.word as usize];
        self.word += 1;
        let kind = BarrierKind::of_code((word >> 8 & 0xff).into()).expect("it was put there");
        BarrierUse { id: word as u8, warps: (word >> 16) as u16, kind }
    }

    /// Reads how the next mbarrier is used. Called once for each, in order.
    #[inline]
    pub fn mbarrier(&mut self, stream: &WarpStream) -> MbarrierUse {
        let words = &stream.words[self.word as usize..];
        self.word += 2;
        MbarrierUse { id: words[0] as u16, arrivals: words[1] }
    }

    /// Reads the copies of the next instruction that makes any. Called once for each, in order.
    pub fn bulk<'a>(
        &mut self,
        stream: &'a WarpStream,
    ) -> impl ExactSizeIterator<Item = BulkUse> + use<'a> {
        let (copies, words) = bulk::unpack(&stream.words[self.word as usize..]);
        self.word += words as u32;
        copies
    }

    /// Reads the addresses of the next memory instruction. Called once for each, in order.
    #[inline(always)]
    pub fn addresses(&mut self, stream: &WarpStream) -> LaneAddresses {
        let words = &stream.words[self.word as usize..];
        let [low, high] = *words.first_chunk().expect("a memory instruction has addresses");
        self.addresses_from(u64::from(low) | u64::from(high) << 32, stream)
    }

    /// The same, which begin with `packed`.
    #[inline(always)]
    fn addresses_from(&mut self, packed: u64, stream: &WarpStream) -> LaneAddresses {
        if packed as u32 & ((1 << KIND_BITS) - 1) == DENSE {
            self.word += 2;
            let base = packed << (u64::BITS - DENSE_BITS) >> (u64::BITS - DENSE_BITS + KIND_BITS);
            let stride = i32::from((packed >> DENSE_BITS) as i16);
            return LaneAddresses { mask: LaneMask::MAX, shape: Shape::Affine { base, stride } };
        }
        self.other_addresses(packed, stream)
    }

    /// The same, of another kind.
    #[inline(never)]
    fn other_addresses(&mut self, packed: u64, stream: &WarpStream) -> LaneAddresses {
        let words = &stream.words[self.word as usize..];
        let (kind, base) = (packed as u32 & ((1 << KIND_BITS) - 1), packed >> KIND_BITS);
        let mut mask = words[2];
        if kind == AFFINE {
            self.word += 4;
            return LaneAddresses { mask, shape: Shape::Affine { base, stride: words[3] as i32 } };
        }
        if kind == GRID {
            self.word += 6;
            let (across, down) = (words[4] as i32, words[5] as i32);
            let rows = Rows { width: words[3], across, down };
            return LaneAddresses { mask, shape: Shape::Rows { base, rows } };
        }
        let mut place = 3;
        let is_wide = mask == 0;
        if is_wide {
            mask = words[place];
            place += 1;
        }
        let mut addresses = [0; WARP];
        for lane in lanes(mask) {
            let mut offset = u64::from(words[place]);
            place += 1;
            if is_wide {
                offset |= u64::from(words[place]) << 32;
                place += 1;
            }
            addresses[lane] = base + offset;
        }
        self.word += place as u32;
        LaneAddresses { mask, shape: Shape::Scattered(addresses) }
    }
}

#[cfg(test)]
mod tests;
