//! The tag array of a set-associative cache. Which way makes room is in `tags/room.rs`, what keeps
//! one from it in `tags/state.rs`, and what hints change in `tags/hints.rs`.

mod hints;
mod room;
mod state;

use std::ops::{Index, IndexMut};

use super::marks::{Marks, State};
use crate::config::machine::{Replacement, SetIndex};
use crate::prefetch::prefetch;
use crate::units::{Divisor, LineAddr, fibonacci};

/// A line's place in a tag array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way(u32);

impl Way {
    /// The way of this number.
    pub fn new(number: u32) -> Self {
        Way(number)
    }

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

/// Where a line stands, or would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Present.
    Present(Way),
    /// Reserved for a fill that is on its way.
    Reserved(Way),
    /// Neither; this way would make room for it.
    Absent(Way),
    /// Neither, and every way of its set is reserved.
    NoRoom,
}

/// Tags, states and replacement order; no data. What the owner keeps of a line lies beside its tag, to be had by its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagArray<K = ()> {
    ways: usize,
    /// The bits of a set's number.
    set_mask: u64,
    index: SetIndex,
    replacement: Replacement,
    slots: Box<[Slot<K>]>,
    /// By way, where the order of the ways is not kept. The way with the least rank of its set makes room. [`EMPTY`], or an age, with
    /// [`SPARED`] or [`RESERVED`] added, and with `dirty` where it holds bytes that memory lacks. A search for the least looks at nothing
    /// else of the ways.
    ///
    /// The age is the order of use (LRU) or of arrival (FIFO): a larger number is younger. With NRU, it is the
    /// round of the set in which the line was last used, above [`ROUND`] bits in no order. Below an age are the bit of
    /// `dirty` and zeros: as many as the number of a way among those of its set has bits.
    ranks: Box<[u64]>,
    /// Never of another line than the way's; with the ways of each set from the one with the least age on, where ages are not
    /// drawn: those that are empty first. No order is kept where a search is as good.
    marks: Marks,
    age_bits: u32,
    /// A bit.
    dirty: u64,
    /// Counts lines that were put in or used.
    clock: u64,
    /// The clock when all lines were dropped.
    empty_at: u64,
    by_ways: Divisor,
    /// With NRU, by set.
    rounds: Box<[Round]>,
}

/// What a way holds. Who looks at its line looks at the rest as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot<K> {
    /// [`NO_LINE`] where it is empty.
    line: LineAddr,
    kept: K,
}

/// A set goes to the next round when every line was used in this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Round {
    number: u64,
    /// Lines used in it.
    used: usize,
}

/// Bits of an age below the round's number.
const ROUND: u32 = 32;

/// In an empty way: no address reaches it.
const NO_LINE: LineAddr = LineAddr(u64::MAX);

/// The rank of an empty way.
const EMPTY: u64 = 0;
/// In the rank of a way that makes no room.
const RESERVED: u64 = 1 << 63;
/// In the rank of a way that is spared.
const SPARED: u64 = 1 << 62;
/// The age in a rank.
const AGE: u64 = SPARED - 1;

impl<K: Copy + Default> TagArray<K> {
    /// An empty array of `sets` (a power of two) x `ways` lines.
    pub fn new(sets: usize, ways: usize, index: SetIndex, replacement: Replacement) -> Self {
        let lines = sets * ways;
        TagArray {
            ways,
            set_mask: sets as u64 - 1,
            index,
            replacement,
            slots: vec![Slot { line: NO_LINE, kept: K::default() }; lines].into(),
            ranks: vec![EMPTY; lines].into(),
            marks: Marks::new(sets, ways),
            age_bits: ways.next_power_of_two().trailing_zeros() + 1,
            dirty: ways.next_power_of_two() as u64,
            clock: 0,
            empty_at: 0,
            by_ways: Divisor::new(ways as u64),
            rounds: match replacement {
                Replacement::Nru => vec![Round { number: 1, used: 0 }; sets].into(),
                _ => Box::default(),
            },
        }
    }

    /// The same, that keeps the order of the ways where it can: it takes a use longer, and a search for room less.
    pub fn ordered(mut self) -> Self {
        if self.ways <= Marks::MOST_ORDERED && self.replacement != Replacement::Nru {
            let sets = self.slots.len() / self.ways;
            let spares_dirty = self.replacement == Replacement::LruCleanFirst;
            self.marks = Marks::ordered(sets, self.ways, spares_dirty);
            self.ranks = Box::default();
        }
        self
    }

    /// How many lines were put in or used so far.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Lines in all.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Every way of every set.
    pub fn ways(&self) -> impl Iterator<Item = Way> + use<K> {
        (0..self.slots.len() as u32).map(Way)
    }

    /// True for an array of no lines, which no configuration makes.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The set of a line.
    #[inline(always)]
    pub fn set_of(&self, line: LineAddr) -> usize {
        let folded = match self.index {
            SetIndex::Linear => line.0,
            SetIndex::Xor => self.fold(line),
        };
        (folded & self.set_mask) as usize
    }

    /// A line's number with all its pieces of as many bits as a set's number has in the lowest one.
    fn fold(&self, line: LineAddr) -> u64 {
        // Twice as many pieces are folded each time. One set alone has no bits.
        let (mut folded, mut bits) = (line.0, self.set_mask.count_ones().max(1));
        while bits < u64::BITS {
            folded ^= folded >> bits;
            bits *= 2;
        }
        folded
    }

    /// A line is looked for soon, and room for it where it is not there.
    #[inline(always)]
    pub fn prefetch(&self, line: LineAddr) {
        let set = self.set_of(line);
        self.marks.prefetch(set);
        if !self.marks.is_ordered() {
            // Eight of them take a line of the processor's caches.
            self.ranks[set * self.ways..][..self.ways].iter().step_by(8).for_each(prefetch);
        }
    }

    /// The line of a way comes soon.
    #[inline(always)]
    pub fn prefetch_fill(&self, way: Way) {
        match self.ranks.get(way.index()) {
            Some(rank) => prefetch(rank),
            None => self.marks.prefetch_states(self.place_of(way).0),
        }
    }

    /// The first way of the set of `line`.
    #[inline]
    pub fn first_of_set(&self, line: LineAddr) -> Way {
        Way((self.set_of(line) * self.ways) as u32)
    }

    /// Whether `way` is in the set whose ways begin with `first`.
    #[inline]
    pub fn is_in_set(&self, way: Way, first: Way) -> bool {
        way.index().wrapping_sub(first.index()) < self.ways
    }

    /// The way of set `set` that holds `line`.
    #[inline(always)]
    fn position(&self, set: usize, line: LineAddr) -> Option<Way> {
        let first = set * self.ways;
        // What lies behind the set holds none of its lines.
        let holds =
            |place: usize| self.slots.get(first + place).is_some_and(|slot| slot.line == line);
        self.marks.find(set, line, holds).map(|place| Way((first + place) as u32))
    }

    /// Where `line` stands. Changes nothing.
    #[inline]
    pub fn lookup(&self, line: LineAddr) -> Lookup {
        self.lookup_in(self.set_of(line), line)
    }

    /// The same, in set `set`.
    #[inline(always)]
    fn lookup_in(&self, set: usize, line: LineAddr) -> Lookup {
        match self.position(set, line) {
            None => Lookup::Absent,
            Some(way) if self.is_reserved_at(way, (set, way.index() - set * self.ways)) => {
                Lookup::Reserved(way)
            }
            Some(way) => Lookup::Present(way),
        }
    }

    /// What [`TagArray::lookup`] and [`TagArray::victim`] tell, in one.
    #[inline(always)]
    pub fn find(&self, line: LineAddr) -> Place {
        self.find_in(self.set_of(line), line)
    }

    /// The same, in the set of the line.
    #[inline(always)]
    pub fn find_in(&self, set: usize, line: LineAddr) -> Place {
        match self.lookup_in(set, line) {
            Lookup::Present(way) => Place::Present(way),
            Lookup::Reserved(way) => Place::Reserved(way),
            Lookup::Absent => self.victim_in(set).map_or(Place::NoRoom, Place::Absent),
        }
    }

    /// The line that `way` holds and that a new one would push out; `None` for an empty way.
    #[inline]
    pub fn occupant(&self, way: Way) -> Option<LineAddr> {
        let slot = &self.slots[way.index()];
        (slot.line != NO_LINE).then_some(slot.line)
    }

    /// The age of a line; 0 in an empty way. No order is kept.
    #[inline]
    fn age_of(&self, way: Way) -> u64 {
        self.ranks[way.index()] & AGE
    }

    /// The line of a way is used: it goes to the end of its set's order where that is kept, and else it has an age from now on, with
    /// `rest` above and below that.
    #[inline(always)]
    fn note_use(&mut self, way: Way, rest: u64) {
        self.clock += 1;
        if self.marks.is_ordered() {
            let (set, place) = self.place_of(way);
            self.marks.move_to_end(set, place);
        } else {
            self.ranks[way.index()] = self.next_age(way) | rest;
        }
    }

    /// The age of a line that is used now.
    #[inline(always)]
    fn next_age(&mut self, way: Way) -> u64 {
        match self.replacement {
            Replacement::Nru => self.round(way),
            // The least is that of a line to be evicted first.
            _ => (self.clock + 1) << self.age_bits,
        }
    }

    /// The age of a line that is used, with NRU.
    fn round(&mut self, way: Way) -> u64 {
        let before = self.round_of(way);
        let set = way.index() / self.ways;
        let round = &mut self.rounds[set];
        if before != round.number {
            round.used += 1;
            if round.used == self.ways {
                *round = Round { number: round.number + 1, used: 1 };
                if round.number > self.last_round() {
                    self.count_rounds_anew(set);
                }
            }
        }
        (self.rounds[set].number << ROUND | fibonacci(self.clock)) << self.age_bits
    }

    /// The round of the set in which the line of a way was last used; 0 where it is to make room first.
    pub(super) fn round_of(&self, way: Way) -> u64 {
        self.age_of(way) >> self.age_bits >> ROUND
    }

    /// The last round whose number an age has room for.
    fn last_round(&self) -> u64 {
        AGE >> self.age_bits >> ROUND
    }

    /// A round begins whose number would be too large: the one before it, in which all lines were used that are not to make room first,
    /// becomes the first.
    #[cold]
    fn count_rounds_anew(&mut self, set: usize) {
        let first = set * self.ways;
        for way in first..first + self.ways {
            let round = self.round_of(Way(way as u32));
            self.ranks[way] -= round.saturating_sub(1) << ROUND << self.age_bits;
        }
        self.rounds[set].number = 2;
    }

    /// The set of a way, and its number there.
    #[inline(always)]
    fn place_of(&self, way: Way) -> (usize, usize) {
        let set = self.by_ways.quotient(way.index() as u64) as usize;
        (set, way.index() - set * self.ways)
    }

    /// Gives `way` to `line`, whose fill is on its way. A line already there keeps its dirty mark.
    #[inline]
    pub fn reserve(&mut self, way: Way, line: LineAddr) {
        let index = way.index();
        if self.slots[index].line != line {
            return self.replace(way, line);
        }
        let place = self.place_of(way);
        let is_dirty = self.is_dirty(way) && !self.is_reserved_at(way, place);
        let is_to_be_last = match self.replacement {
            // There, the dirty ones are.
            Replacement::LruCleanFirst => 0,
            // An order knows no hints.
            _ => self.ranks.get(index).map_or(0, |rank| rank & SPARED),
        };
        if self.replacement != Replacement::Fifo {
            self.note_use(way, 0);
        }
        self.note(way, place, true, is_dirty);
        if is_to_be_last != 0 {
            self.ranks[index] |= is_to_be_last;
        }
    }

    /// The same of a line that is not there.
    #[inline(always)]
    pub fn replace(&mut self, way: Way, line: LineAddr) {
        self.put(self.set_of(line), way, line, State { is_reserved: true, is_dirty: false });
    }

    /// Gives `way` to `line`, which is not there, present at once.
    #[inline(always)]
    pub fn insert(&mut self, way: Way, line: LineAddr) {
        self.put(self.set_of(line), way, line, State { is_reserved: false, is_dirty: false });
    }

    /// As [`TagArray::insert`], of a line of set `set` that holds bytes that memory lacks.
    #[inline(always)]
    pub fn insert_dirty(&mut self, set: usize, way: Way, line: LineAddr) {
        self.put(set, way, line, State { is_reserved: false, is_dirty: true });
    }

    /// As [`TagArray::replace`], of a line of set `set`.
    #[inline(always)]
    pub fn replace_in(&mut self, set: usize, way: Way, line: LineAddr) {
        self.put(set, way, line, State { is_reserved: true, is_dirty: false });
    }

    /// Another line, of set `set`, goes to `way`.
    #[inline(always)]
    fn put(&mut self, set: usize, way: Way, line: LineAddr, state: State) {
        let index = way.index();
        debug_assert_ne!(self.slots[index].line, line, "the line is there");
        debug_assert_eq!(set, self.set_of(line));
        self.slots[index].line = line;
        self.clock += 1;
        self.marks.put(set, index - set * self.ways, line, state);
        if !self.marks.is_ordered() {
            self.ranks[index] = self.next_age(way) | self.in_rank(state);
        }
    }

    /// The reserved line has arrived.
    #[inline]
    pub fn fill(&mut self, way: Way) {
        if self.marks.is_ordered() {
            let (set, place) = self.place_of(way);
            return self.marks.fill(set, place);
        }
        debug_assert!(self.ranks[way.index()] >= RESERVED, "a fill for no reservation");
        if self.replacement == Replacement::LruCleanFirst {
            let place = self.place_of(way);
            return self.note(way, place, false, self.is_dirty_at(way, place));
        }
        // Where nothing is spared, what else stands in the rank stays.
        self.ranks[way.index()] &= !RESERVED;
    }

    /// Notes a use of a line that is present or on its way.
    #[inline]
    pub fn touch(&mut self, way: Way) {
        if self.replacement != Replacement::Fifo {
            let rest = self.ranks.get(way.index()).map_or(0, |rank| rank & (!AGE | self.dirty));
            self.note_use(way, rest);
        }
    }

    /// Drops a present line.
    pub fn invalidate(&mut self, way: Way) {
        let index = way.index();
        debug_assert!(self.slots[index].line != NO_LINE);
        debug_assert!(!self.is_reserved_at(way, self.place_of(way)));
        self.leave_round(way);
        self.slots[index].line = NO_LINE;
        if !self.marks.is_ordered() {
            self.ranks[index] = EMPTY;
            return;
        }
        // Those that are empty come first, by their number.
        let (set, place) = self.place_of(way);
        let before = &self.slots[set * self.ways..index];
        let before = before.iter().filter(|slot| slot.line == NO_LINE).count();
        self.marks.move_behind(set, place, before);
        self.note(way, (set, place), false, false);
    }

    /// Drops every line. No fill may be on its way.
    pub fn invalidate_all(&mut self) {
        if self.clock == self.empty_at {
            // No line has come since then: small launches leave most caches of a large GPU alone.
            return;
        }
        self.empty_at = self.clock;
        for number in 0..self.slots.len() {
            let way = Way(number as u32);
            let is_reserved = self.is_reserved_at(way, self.place_of(way));
            assert!(!is_reserved, "invalidation with a fill on its way");
            self.slots[number].line = NO_LINE;
        }
        self.ranks.fill(EMPTY);
        self.marks.reset_orders(self.ways);
        if self.replacement == Replacement::Nru {
            self.rounds.iter_mut().for_each(|round| round.used = 0);
        }
    }
}

impl<K> Index<Way> for TagArray<K> {
    type Output = K;

    /// What is kept of the line in a way.
    #[inline]
    fn index(&self, way: Way) -> &K {
        &self.slots[way.index()].kept
    }
}

impl<K> IndexMut<Way> for TagArray<K> {
    #[inline]
    fn index_mut(&mut self, way: Way) -> &mut K {
        &mut self.slots[way.index()].kept
    }
}

#[cfg(test)]
mod tests;
