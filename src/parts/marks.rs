//! A byte of each tag of a set, compared eight at a time.

use crate::units::{LineAddr, fibonacci};

/// For each way of a tag array a byte that tells its line from most others. A line is only sought where its byte is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// So many words a set; a byte of an empty way may be any.
    words: Box<[u64]>,
    of_set: usize,
}

/// One in each byte of a word, and its highest bit.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = ONES << 7;

/// The byte of a line eight times. Lines far apart have other ones than neighbours, whatever lies between them.
#[inline(always)]
fn marks_of(line: LineAddr) -> u64 {
    (fibonacci(line.0) >> 24) * ONES
}

impl Marks {
    /// Of `sets` sets with `ways` ways.
    pub fn new(sets: usize, ways: usize) -> Self {
        let of_set = ways.div_ceil(8);
        Marks { words: vec![0; sets * of_set].into(), of_set }
    }

    /// `line` goes to the way of number `place` in set `set`.
    #[inline(always)]
    pub fn put(&mut self, set: usize, place: usize, line: LineAddr) {
        let word = &mut self.words[set * self.of_set + place / 8];
        let byte = 0xff << (place % 8 * 8);
        *word = *word & !byte | marks_of(line) & byte;
    }

    /// The first number of a way in set `set` that may hold `line` and does so as `holds` says. It is asked of numbers past
    /// the last one as well.
    #[inline(always)]
    pub fn find(&self, set: usize, line: LineAddr, holds: impl Fn(usize) -> bool) -> Option<usize> {
        let (marks, mut word, mut first) = (marks_of(line), set * self.of_set, 0);
        let end = word + self.of_set;
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
