//! What keeps a way from making room: beside the order of its set where that is kept, and else in its rank.

use super::{AGE, NO_LINE, RESERVED, SPARED, TagArray, Way};
use crate::config::machine::Replacement;
use crate::parts::marks::State;

impl<K: Copy + Default> TagArray<K> {
    /// True when `way` holds bytes that memory lacks.
    #[inline(always)]
    pub fn is_dirty(&self, way: Way) -> bool {
        self.is_dirty_at(way, self.place_of(way))
    }

    /// The same of a way of set `set`, which is found sooner.
    #[inline(always)]
    pub fn is_dirty_in(&self, set: usize, way: Way) -> bool {
        self.is_dirty_at(way, (set, way.index() - set * self.ways))
    }

    #[inline(always)]
    pub(super) fn is_dirty_at(&self, way: Way, (set, place): (usize, usize)) -> bool {
        if self.marks.is_ordered() {
            return self.marks.is_dirty(set, place);
        }
        self.ranks[way.index()] & self.dirty != 0
    }

    /// True when the fill of `way` is on its way.
    pub fn is_reserved(&self, way: Way) -> bool {
        self.is_reserved_at(way, self.place_of(way))
    }

    /// True when the fill of `way` is on its way; its place is this.
    #[inline(always)]
    pub(super) fn is_reserved_at(&self, way: Way, (set, place): (usize, usize)) -> bool {
        if self.marks.is_ordered() {
            return self.marks.is_reserved(set, place);
        }
        self.ranks[way.index()] >= RESERVED
    }

    /// A state as it stands in the rank of a way.
    #[inline(always)]
    pub(super) fn in_rank(&self, State { is_reserved, is_dirty }: State) -> u64 {
        let dirty = if is_dirty { self.dirty } else { 0 };
        match (is_reserved, is_dirty && self.replacement == Replacement::LruCleanFirst) {
            (true, _) => RESERVED | dirty,
            (false, true) => SPARED | dirty,
            (false, false) => dirty,
        }
    }

    /// Notes what keeps `way` from making room, beside its age.
    #[inline(always)]
    pub(super) fn note(
        &mut self,
        way: Way,
        (set, place): (usize, usize),
        is_reserved: bool,
        is_dirty: bool,
    ) {
        let state = State { is_reserved, is_dirty };
        if self.marks.is_ordered() {
            self.marks.note(set, place, state);
            return;
        }
        let noted = self.in_rank(state);
        let rank = &mut self.ranks[way.index()];
        *rank = *rank & AGE & !self.dirty | noted;
    }

    /// Notes whether `way` holds bytes that memory lacks.
    #[inline]
    pub fn set_dirty(&mut self, way: Way, dirty: bool) {
        debug_assert!(self.slots[way.index()].line != NO_LINE, "an empty way holds nothing");
        let place = self.place_of(way);
        self.note(way, place, self.is_reserved_at(way, place), dirty);
    }
}
