//! Lines that are to make room first, or last.

use super::{AGE, SPARED, TagArray, Way};
use crate::config::machine::Replacement;

impl<K: Copy + Default> TagArray<K> {
    /// The line of `way` makes room before all others of its set, whatever was used when; with others like it, the one with the
    /// lowest number does. A use ends that.
    pub fn evict_first(&mut self, way: Way) {
        debug_assert!(!self.marks.is_ordered(), "an order of ways knows no hints");
        self.leave_round(way);
        let rank = &mut self.ranks[way.index()];
        *rank = *rank & (!AGE | self.dirty) | 1 << self.age_bits;
    }

    /// The line of `way` is spared as long as its set has others. Where `most` of a set are, the oldest of them is no longer.
    pub fn evict_last(&mut self, way: Way, most: usize) {
        debug_assert!(!self.marks.is_ordered(), "an order of ways knows no hints");
        let is_spared = |number: usize| self.ranks[number] & SPARED != 0;
        if is_spared(way.index()) {
            return;
        }
        let first = self.place_of(way).0 * self.ways;
        let spared = || (first..first + self.ways).filter(|number| is_spared(*number));
        if spared().count() >= most
            && let Some(oldest) = spared().min_by_key(|number| self.age_of(Way(*number as u32)))
        {
            self.ranks[oldest] &= !SPARED;
        }
        self.ranks[way.index()] |= SPARED;
    }

    /// With NRU, the line of a way does not count as used in the present round.
    pub(super) fn leave_round(&mut self, way: Way) {
        if self.replacement == Replacement::Nru {
            let last = self.round_of(way);
            let round = &mut self.rounds[way.index() / self.ways];
            round.used -= usize::from(last == round.number);
        }
    }
}
