//! What is looked at first in each set of a tag array: a byte of each tag, compared eight at a time, the order of the ways, and which of
//! them make no room at once. A miss needs to look no further.

use super::order::Orders;
use crate::prefetch::prefetch_at;
use crate::units::{LineAddr, fibonacci};

/// For each way of a tag array a byte that tells its line from most others: a line is only sought where its byte is found. And
/// the order of the ways of each set, where it is kept, with what keeps a way from making room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// By set, where it is kept, the order, and a word with a bit for each way that is held, [`DIRTY`] above it one where it is
    /// dirty, and [`RESERVED`] above it one where it is reserved. Then words of eight bytes, of which that of an empty way may be
    /// any.
    words: Box<[u64]>,
    /// Words of a set, and those before the bytes.
    of_set: usize,
    of_order: usize,
    orders: Option<Orders>,
}

/// What keeps a way from making room: it is held where it is reserved or spared.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// It waits for its line.
    pub is_reserved: bool,
    /// It makes room where no other one does.
    pub is_spared: bool,
    /// It holds bytes that memory lacks.
    pub is_dirty: bool,
}

/// One in each byte of a word, and its highest bit.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = ONES << 7;

/// Bits from that of a way that is held to that of one that is dirty, and of one that is reserved.
const DIRTY: usize = 16;
const RESERVED: usize = 32;
/// All bits of the first way.
const STATES: u64 = 1 | 1 << DIRTY | 1 << RESERVED;

/// The byte of a line eight times. Lines far apart have other ones than neighbours, whatever lies between them.
#[inline(always)]
fn marks_of(line: LineAddr) -> u64 {
    (fibonacci(line.0) >> 24) * ONES
}

impl Marks {
    /// Of `sets` sets with `ways` ways, whose order is kept if `is_ordered`.
    pub fn new(sets: usize, ways: usize, is_ordered: bool) -> Self {
        let of_order = 2 * usize::from(is_ordered);
        let of_set = of_order + ways.div_ceil(8);
        let orders = is_ordered.then(|| Orders::new(ways));
        let mut marks = Marks { words: vec![0; sets * of_set].into(), of_set, of_order, orders };
        marks.reset_orders();
        marks
    }

    /// Orders are kept.
    #[inline]
    pub fn is_ordered(&self) -> bool {
        self.orders.is_some()
    }

    /// A set is looked at soon.
    #[inline(always)]
    pub fn prefetch(&self, set: usize) {
        prefetch_at(&self.words, set * self.of_set);
    }

    /// All orders are those of the ways' numbers, and no way is held, dirty or reserved.
    pub fn reset_orders(&mut self) {
        if let Some(orders) = self.orders {
            for set in self.words.chunks_exact_mut(self.of_set) {
                (set[0], set[1]) = (orders.first(), 0);
            }
        }
    }

    /// Notes what keeps the way of number `place` from making room. Orders are kept.
    #[inline(always)]
    pub fn note(&mut self, set: usize, place: usize, state: State) {
        let State { is_reserved, is_spared, is_dirty } = state;
        let noted = &mut self.words[set * self.of_set + 1];
        let bits = u64::from(is_reserved | is_spared)
            | u64::from(is_dirty) << DIRTY
            | u64::from(is_reserved) << RESERVED;
        *noted = *noted & !(STATES << place) | bits << place;
    }

    /// Whether the way of number `place` is held. Orders are kept.
    #[inline(always)]
    pub fn is_held(&self, set: usize, place: usize) -> bool {
        self.words[set * self.of_set + 1] >> place & 1 == 1
    }

    /// Whether the way of number `place` is dirty. Orders are kept.
    #[inline(always)]
    pub fn is_dirty(&self, set: usize, place: usize) -> bool {
        self.is_held(set, place + DIRTY)
    }

    /// Whether the way of number `place` is reserved. Orders are kept.
    #[inline(always)]
    pub fn is_reserved(&self, set: usize, place: usize) -> bool {
        self.is_held(set, place + RESERVED)
    }

    /// How many ways of a set are reserved, where orders are kept.
    pub fn reserved(&self, set: usize) -> Option<usize> {
        let reserved = || self.words[set * self.of_set + 1] >> RESERVED;
        self.is_ordered().then(|| reserved().count_ones() as usize)
    }

    /// The order of the ways of set `set`, if it is kept: the first one has the lowest four bits.
    #[inline(always)]
    pub fn order(&self, set: usize) -> Option<u64> {
        self.is_ordered().then(|| self.words[set * self.of_set])
    }

    /// `line` goes to the way of number `place` in set `set`. Where the order is kept, that is the last one of it, and its state this.
    #[inline(always)]
    pub fn put(&mut self, set: usize, place: usize, line: LineAddr, state: State) {
        let word = &mut self.words[set * self.of_set + self.of_order + place / 8];
        let byte = 0xff << (place % 8 * 8);
        *word = *word & !byte | marks_of(line) & byte;
        if self.is_ordered() {
            self.move_to_end(set, place);
            self.note(set, place, state);
        }
    }

    /// The way of number `place` becomes the last one of its order, where that is kept.
    #[inline(always)]
    pub fn move_to_end(&mut self, set: usize, place: usize) {
        if let Some(orders) = self.orders {
            orders.move_to_end(&mut self.words[set * self.of_set], place);
        }
    }

    /// It goes behind the first `before` others of its order, where that is kept.
    pub fn move_behind(&mut self, set: usize, place: usize, before: usize) {
        if let Some(orders) = self.orders {
            orders.move_behind(&mut self.words[set * self.of_set], place, before);
        }
    }

    /// The first number of a way in set `set` that may hold `line` and does so as `holds` says. It is asked of numbers past
    /// the last one as well.
    #[inline(always)]
    pub fn find(&self, set: usize, line: LineAddr, holds: impl Fn(usize) -> bool) -> Option<usize> {
        let (marks, mut word, mut first) = (marks_of(line), set * self.of_set, 0);
        let end = word + self.of_set;
        word += self.of_order;
        loop {
            // The lowest of these bits is that of a byte that is equal; those above it may be any.
            let other = self.words[word] ^ marks;
            let mut equal = other.wrapping_sub(ONES) & !other & HIGHEST;
            while equal != 0 {
                let place = first + (equal.trailing_zeros() / 8) as usize;
                if holds(place) {
                    return Some(place);
                }
                equal &= equal - 1;
            }
            (word, first) = (word + 1, first + 8);
            if word == end {
                return None;
            }
        }
    }
}
