//! Which way of a set makes room.

use std::hint::select_unpredictable;

use super::{AGE, RESERVED, TagArray, Way};
use crate::units::LineAddr;

/// The less of two, of which nobody can tell beforehand which it is.
#[inline]
fn least_of(one: u64, other: u64) -> u64 {
    select_unpredictable(one < other, one, other)
}

impl<K: Copy + Default> TagArray<K> {
    /// The way that would make room for `line`; `None` when every way of its set is reserved.
    /// Changes nothing.
    #[inline]
    pub fn victim(&self, line: LineAddr) -> Option<Way> {
        self.victim_in(self.set_of(line))
    }

    /// The same, in set `set`.
    #[inline(always)]
    pub(super) fn victim_in(&self, set: usize) -> Option<Way> {
        let Some(place) = self.marks.first(set) else { return self.least_in(set) };
        if self.marks.is_held(set, place) {
            return self.first_in(set);
        }
        Some(Way((set * self.ways + place) as u32))
    }

    /// The same, where the first way of the order is held.
    #[inline(never)]
    fn first_in(&self, set: usize) -> Option<Way> {
        let mut places = self.marks.in_order(set, self.ways);
        let free = places.clone().find(|&place| !self.marks.is_held(set, place));
        let spared = || places.find(|&place| !self.marks.is_reserved(set, place));
        free.or_else(spared).map(|place| Way((set * self.ways + place) as u32))
    }

    /// The same, by the ranks.
    #[inline]
    pub(super) fn least_in(&self, set: usize) -> Option<Way> {
        let first = set * self.ways;
        // A rank with the place of its way in its lowest bits: of equal ones the first is the least.
        let mut least = RESERVED;
        let (fours, rest) = self.ranks[first..first + self.ways].as_chunks::<4>();
        let mut place = 0;
        for &[a, b, c, d] in fours {
            let one = least_of(a | place, b | (place + 1));
            let other = least_of(c | (place + 2), d | (place + 3));
            least = least_of(least, least_of(one, other));
            place += 4;
        }
        // Three at most: written out, as a loop would be made one of vectors.
        if let &[a, ref rest @ ..] = rest {
            least = least_of(least, a | place);
            if let &[b, ref rest @ ..] = rest {
                least = least_of(least, b | (place + 1));
                if let &[c, ..] = rest {
                    least = least_of(least, c | (place + 2));
                }
            }
        }
        let place = least & (self.dirty - 1);
        (least < RESERVED).then_some(Way((first + place as usize) as u32))
    }

    /// True when a way of the set of `line` is not reserved.
    #[inline]
    pub fn has_room(&self, line: LineAddr) -> bool {
        let set = self.set_of(line);
        if let Some(reserved) = self.marks.reserved(set) {
            return reserved < self.ways;
        }
        let first = set * self.ways;
        self.ranks[first..first + self.ways].iter().any(|rank| *rank < RESERVED)
    }

    /// True when more than one way of the set of `line` is not reserved.
    pub fn can_spare(&self, line: LineAddr) -> bool {
        let set = self.set_of(line);
        if let Some(reserved) = self.marks.reserved(set) {
            return reserved + 1 < self.ways;
        }
        let first = set * self.ways;
        let ranks = self.ranks[first..first + self.ways].iter();
        ranks.filter(|rank| **rank < RESERVED).nth(1).is_some()
    }

    /// The oldest dirty way of the set of `line`, where `most` or more are dirty.
    pub fn to_clean(&self, line: LineAddr, most: usize) -> Option<Way> {
        if most >= self.ways {
            return None;
        }
        let set = self.set_of(line);
        let first = set * self.ways;
        if self.marks.is_ordered() {
            if self.marks.dirty(set) < most {
                return None;
            }
            let mut places = self.marks.in_order(set, self.ways);
            let oldest = places.find(|place| self.marks.is_dirty(set, *place));
            return oldest.map(|place| Way((first + place) as u32));
        }
        let (mut count, mut oldest) = (0, None);
        for (place, rank) in self.ranks[first..first + self.ways].iter().enumerate() {
            if rank & self.dirty == 0 {
                continue;
            }
            count += 1;
            let age = rank & AGE;
            if oldest.is_none_or(|(least, _)| age < least) {
                oldest = Some((age, Way((first + place) as u32)));
            }
        }
        oldest.filter(|_| count >= most).map(|(_, way)| way)
    }
}
