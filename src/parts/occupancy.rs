//! How full a bounded queue of another part is, as far as known.

use crate::units::Cycle;

/// The places of a queue, of which its owner tells when they become free.
///
/// Places are taken in the order in which they become free, so that when the next one is free stands in one place of a ring.
#[derive(Clone, Debug)]
pub struct Occupancy {
    /// From when on each of the next places is free, as far as known, by its number in the order in which they are taken: a
    /// power of two of them.
    free_from: Box<[Cycle]>,
    /// The number of the next one.
    next: usize,
    /// Of those before this one it is known.
    known: usize,
}

impl Occupancy {
    /// Of an empty queue with so many places.
    pub fn new(room: usize) -> Self {
        let free_from = vec![Cycle(0); room.next_power_of_two()].into();
        Occupancy { free_from, next: 0, known: room }
    }

    /// So many more places are taken.
    #[inline]
    pub fn take(&mut self, places: usize) {
        self.next += places;
    }

    /// What has a place leaves it in `cycle`, after all that were noted before.
    #[inline]
    pub fn note_leave(&mut self, cycle: Cycle) {
        self.note_free(cycle + 1);
    }

    /// The place of what came first of those of which it was not known is free from `cycle` on.
    #[inline]
    pub fn note_free(&mut self, cycle: Cycle) {
        let mask = self.free_from.len() - 1;
        self.free_from[self.known & mask] = cycle;
        self.known += 1;
    }

    /// From when on there is room for so many (at least one); never, as far as that is not known.
    #[inline]
    pub fn room_from(&self, count: usize) -> Cycle {
        if self.may_lack_room_for(count) {
            return Cycle::NEVER;
        }
        let mask = self.free_from.len() - 1;
        self.free_from[(self.next + count - 1) & mask]
    }

    /// Whether so many may find no places once all have left that are known to leave.
    #[inline]
    pub fn may_lack_room_for(&self, count: usize) -> bool {
        self.next + count > self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_after_the_cycle_in_which_it_is_left() {
        let mut places = Occupancy::new(2);
        assert_eq!(places.room_from(2), Cycle(0));
        places.take(2);
        assert_eq!(places.room_from(1), Cycle::NEVER);
        assert!(places.may_lack_room_for(1));
        places.note_leave(Cycle(5));
        assert!(!places.may_lack_room_for(1) && places.may_lack_room_for(2));
        assert_eq!(places.room_from(1), Cycle(6));
        assert_eq!(places.room_from(2), Cycle::NEVER);
        places.note_leave(Cycle(8));
        assert_eq!((places.room_from(1), places.room_from(2)), (Cycle(6), Cycle(9)));
        places.take(1);
        assert_eq!(places.room_from(1), Cycle(9));
    }
}
