//! Lists ordered by age.

use super::queue::Slot;

/// Neighbours in a list ordered by age.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Or the end of the list.
    pub older: Slot,
    /// The same.
    pub younger: Slot,
}

/// Lists ordered by age, of slots of which each is in one of them. Each list is a ring with an end, which is numbered as the slots
/// are, from their number on: what joins and leaves has neighbours in any case, so that nothing is to be asked.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    links: Box<[Link]>,
    slots: usize,
}

impl Lists {
    /// So many empty ones of so many slots.
    pub fn new(slots: usize, lists: usize) -> Lists {
        let alone = |slot| Link { older: slot as Slot, younger: slot as Slot };
        Lists { links: (0..slots + lists).map(alone).collect(), slots }
    }

    /// The neighbours of `slot`.
    #[inline]
    pub fn of(&self, slot: Slot) -> Link {
        self.links[usize::from(slot)]
    }

    /// The same, for change.
    #[inline]
    pub fn of_mut(&mut self, slot: Slot) -> &mut Link {
        &mut self.links[usize::from(slot)]
    }

    /// The end of a list: no slot.
    #[inline]
    fn end(&self, list: usize) -> Slot {
        (self.slots + list) as Slot
    }

    /// The oldest of a list; its end where it is empty.
    #[inline]
    pub fn oldest(&self, list: usize) -> Slot {
        self.of(self.end(list)).younger
    }

    /// Makes `slot`, which is in none, the youngest of a list.
    #[inline]
    pub fn append(&mut self, list: usize, slot: Slot) {
        let end = self.end(list);
        let youngest = std::mem::replace(&mut self.of_mut(end).older, slot);
        self.of_mut(youngest).younger = slot;
        *self.of_mut(slot) = Link { older: youngest, younger: end };
    }

    /// Takes `slot` out of its list.
    #[inline]
    pub fn unlink(&mut self, slot: Slot) {
        let Link { older, younger } = self.of(slot);
        self.of_mut(older).younger = younger;
        self.of_mut(younger).older = older;
    }
}
