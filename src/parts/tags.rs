//! The tag array of a set-associative cache.

use crate::config::machine::{Replacement, SetIndex};
use crate::units::LineAddr;

/// A line's place in a tag array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way(u32);

impl Way {
    /// As an index into arrays that run beside the tags.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Present.
    Present(Way),
    /// Reserved for a fill that is on its way.
    Reserved(Way),
    /// Neither.
    Absent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Empty,
    Reserved,
    Present,
}

/// Tags, states and replacement order; no data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagArray {
    ways: usize,
    set_bits: u32,
    index: SetIndex,
    replacement: Replacement,
    lines: Box<[LineAddr]>,
    states: Box<[State]>,
    dirty: Box<[bool]>,
    /// Order of use (LRU) or of arrival (FIFO): a larger number is younger.
    ages: Box<[u64]>,
    clock: u64,
}

impl TagArray {
    /// An empty array of `sets` (a power of two) x `ways` lines.
    pub fn new(sets: usize, ways: usize, index: SetIndex, replacement: Replacement) -> Self {
        let lines = sets * ways;
        TagArray {
            ways,
            set_bits: sets.trailing_zeros(),
            index,
            replacement,
            lines: vec![LineAddr::default(); lines].into(),
            states: vec![State::Empty; lines].into(),
            dirty: vec![false; lines].into(),
            ages: vec![0; lines].into(),
            clock: 0,
        }
    }

    /// Lines in all.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True for an array of no lines, which no configuration makes.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn set_of(&self, line: LineAddr) -> usize {
        let mask = (1u64 << self.set_bits) - 1;
        let set = match self.index {
            SetIndex::Linear => line.0 & mask,
            SetIndex::Xor if self.set_bits == 0 => 0,
            SetIndex::Xor => {
                let (mut folded, mut rest) = (0, line.0);
                while rest != 0 {
                    folded ^= rest & mask;
                    rest >>= self.set_bits;
                }
                folded
            }
        };
        set as usize
    }

    fn ways_of(&self, line: LineAddr) -> std::ops::Range<usize> {
        let first = self.set_of(line) * self.ways;
        first..first + self.ways
    }

    /// Where `line` stands. Changes nothing.
    #[inline]
    pub fn lookup(&self, line: LineAddr) -> Lookup {
        for way in self.ways_of(line) {
            if self.lines[way] == line {
                match self.states[way] {
                    State::Present => return Lookup::Present(Way(way as u32)),
                    State::Reserved => return Lookup::Reserved(Way(way as u32)),
                    State::Empty => {}
                }
            }
        }
        Lookup::Absent
    }

    /// The way that would make room for `line`; `None` when every way of its set is reserved.
    /// Changes nothing.
    pub fn victim(&self, line: LineAddr) -> Option<Way> {
        let rank = |way: &usize| match self.states[*way] {
            State::Empty => (0, 0),
            _ if self.replacement == Replacement::LruCleanFirst && self.dirty[*way] => {
                (2, self.ages[*way])
            }
            _ => (1, self.ages[*way]),
        };
        self.ways_of(line)
            .filter(|&way| self.states[way] != State::Reserved)
            .min_by_key(rank)
            .map(|way| Way(way as u32))
    }

    /// True when more than one way of the set of `line` is not reserved.
    pub fn can_spare(&self, line: LineAddr) -> bool {
        self.ways_of(line).filter(|&way| self.states[way] != State::Reserved).nth(1).is_some()
    }

    /// The line that `way` holds and that a new one would push out; `None` for an empty way.
    pub fn occupant(&self, way: Way) -> Option<LineAddr> {
        (self.states[way.index()] != State::Empty).then(|| self.lines[way.index()])
    }

    /// True when `way` holds bytes that memory lacks.
    #[inline]
    pub fn is_dirty(&self, way: Way) -> bool {
        self.dirty[way.index()]
    }

    /// Notes whether `way` holds bytes that memory lacks.
    #[inline]
    pub fn set_dirty(&mut self, way: Way, dirty: bool) {
        self.dirty[way.index()] = dirty;
    }

    fn age(&mut self, way: Way) {
        self.clock += 1;
        self.ages[way.index()] = self.clock;
    }

    /// Gives `way` to `line`, whose fill is on its way. A line already there keeps its dirty mark.
    pub fn reserve(&mut self, way: Way, line: LineAddr) {
        let index = way.index();
        if self.states[index] != State::Present || self.lines[index] != line {
            self.dirty[index] = false;
        }
        self.lines[index] = line;
        self.states[index] = State::Reserved;
        self.age(way);
    }

    /// Gives `way` to `line`, present at once.
    pub fn insert(&mut self, way: Way, line: LineAddr) {
        self.reserve(way, line);
        self.fill(way);
    }

    /// The reserved line has arrived.
    pub fn fill(&mut self, way: Way) {
        debug_assert_eq!(self.states[way.index()], State::Reserved, "a fill for no reservation");
        self.states[way.index()] = State::Present;
    }

    /// Notes a use of a present line.
    #[inline]
    pub fn touch(&mut self, way: Way) {
        if self.replacement != Replacement::Fifo {
            self.age(way);
        }
    }

    /// Drops a present line.
    pub fn invalidate(&mut self, way: Way) {
        debug_assert_eq!(self.states[way.index()], State::Present);
        self.states[way.index()] = State::Empty;
        self.dirty[way.index()] = false;
    }

    /// Drops every line. No fill may be on its way.
    pub fn invalidate_all(&mut self) {
        assert!(!self.states.contains(&State::Reserved), "invalidation with a fill on its way");
        self.states.fill(State::Empty);
        self.dirty.fill(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_ways(replacement: Replacement) -> TagArray {
        TagArray::new(4, 2, SetIndex::Linear, replacement)
    }

    fn insert(tags: &mut TagArray, line: u64) -> Way {
        let way = tags.victim(LineAddr(line)).unwrap();
        tags.insert(way, LineAddr(line));
        way
    }

    #[test]
    fn lru_replaces_the_line_used_longest_ago_and_fifo_the_one_filled_first() {
        for (replacement, gone) in [(Replacement::Lru, 4), (Replacement::Fifo, 0)] {
            let mut tags = two_ways(replacement);
            let first = insert(&mut tags, 0);
            insert(&mut tags, 4);
            tags.touch(first);
            insert(&mut tags, 8);
            assert_eq!(tags.lookup(LineAddr(gone)), Lookup::Absent);
        }
    }

    #[test]
    fn clean_first_spares_a_dirty_line_that_is_older() {
        let mut tags = two_ways(Replacement::LruCleanFirst);
        let first = insert(&mut tags, 0);
        tags.set_dirty(first, true);
        let second = insert(&mut tags, 4);
        assert_eq!(tags.victim(LineAddr(8)), Some(second));
    }

    #[test]
    fn reserved_ways_never_make_room() {
        let mut tags = two_ways(Replacement::Lru);
        for line in [0, 4] {
            let way = tags.victim(LineAddr(line)).unwrap();
            tags.reserve(way, LineAddr(line));
        }
        assert_eq!(tags.victim(LineAddr(8)), None);
        assert!(tags.victim(LineAddr(9)).is_some());
        let Lookup::Reserved(way) = tags.lookup(LineAddr(4)) else { panic!("reserved above") };
        tags.fill(way);
        assert_eq!(tags.lookup(LineAddr(4)), Lookup::Present(way));
        assert_eq!(tags.victim(LineAddr(8)), Some(way));
    }

    #[test]
    fn the_xor_index_spreads_a_power_of_two_stride() {
        let sets_used = |index| {
            let tags = TagArray::new(32, 1, index, Replacement::Lru);
            let sets: std::collections::BTreeSet<_> =
                (0..32).map(|i| tags.set_of(LineAddr(i * 32))).collect();
            sets.len()
        };
        assert_eq!(sets_used(SetIndex::Linear), 1);
        assert_eq!(sets_used(SetIndex::Xor), 32);
    }
}
