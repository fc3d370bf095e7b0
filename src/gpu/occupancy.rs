//! How full a bounded queue of another part is, as far as known.

use std::collections::VecDeque;

use crate::units::Cycle;

/// The places of a queue, of which its owner tells when they become free.
#[derive(Clone, Debug)]
pub(super) struct Occupancy {
    /// Places taken, as far as known.
    held: usize,
    /// When some of them become free, as far as known, in order.
    leaves: VecDeque<Cycle>,
    room: usize,
}

impl Occupancy {
    /// Of an empty queue with so many places.
    pub fn new(room: usize) -> Self {
        Occupancy { held: 0, leaves: VecDeque::with_capacity(room), room }
    }

    /// So many more places are taken.
    #[inline]
    pub fn take(&mut self, places: usize) {
        self.held += places;
    }

    /// What has a place leaves it in `cycle`, after all that were noted before.
    #[inline]
    pub fn note_leave(&mut self, cycle: Cycle) {
        self.leaves.push_back(cycle);
    }

    /// From when on there is room for one more, where that is known: where it does not [lack](Self::may_lack_room_for) room.
    #[inline]
    pub fn room_from(&self) -> Cycle {
        match self.held.checked_sub(self.room) {
            None => Cycle(0),
            Some(before) => self.leaves[before] + 1,
        }
    }

    /// When the next place becomes free, where that is known.
    #[inline]
    pub fn next_leave(&self) -> Option<Cycle> {
        self.leaves.front().copied()
    }

    /// Forgets what left before `cycle`.
    #[inline]
    pub fn free_before(&mut self, cycle: Cycle) {
        while self.leaves.front().is_some_and(|&leave| leave < cycle) {
            self.leaves.pop_front();
            self.held -= 1;
        }
    }

    /// Whether so many find places now.
    #[inline]
    pub fn has_room_for(&self, count: usize) -> bool {
        self.held + count <= self.room
    }

    /// Whether so many may find no places once all have left that are known to leave.
    #[inline]
    pub fn may_lack_room_for(&self, count: usize) -> bool {
        self.held - self.leaves.len() + count > self.room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_after_the_cycle_in_which_it_is_left() {
        let mut places = Occupancy::new(2);
        places.take(2);
        assert!(!places.has_room_for(1) && places.may_lack_room_for(1));
        places.note_leave(Cycle(5));
        assert!(!places.has_room_for(1) && !places.may_lack_room_for(1));
        assert_eq!(places.room_from(), Cycle(6));
        assert_eq!(places.next_leave(), Some(Cycle(5)));
        places.free_before(Cycle(5));
        assert!(!places.has_room_for(1));
        places.free_before(Cycle(6));
        assert!(places.has_room_for(1) && !places.has_room_for(2));
        assert_eq!(places.room_from(), Cycle(0));
        assert_eq!(places.next_leave(), None);
    }
}
