//! A bounded queue whose items carry the cycle from which they can be seen.
//!
//! One type serves as queue (visible at once) and as fixed-latency pipe (visible later). It goes round in no more storage than it
//! needed so far: most queues hold far less than they could, and little storage stays in the processor's caches. Nor has a queue
//! memory for all items to begin with: a large GPU has thousands of queues.

use std::hint::select_unpredictable;

use crate::units::Cycle;

/// Places in use to begin with.
const AT_FIRST: usize = 4;
/// Queues for more items than so many have memory for a few to begin with, and others for as many as they ever hold, mostly.
const MODERATE: usize = 256;
const OF_MODERATE: usize = 128;
const OF_LARGE: usize = 32;

/// An item with the cycle from which it can be seen. The item comes first, so that it is copied as it is aligned: behind a
/// cycle it would be copied with the gap before it, across the borders of what was written.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Place<T> {
    item: T,
    visible: Cycle,
}

/// A first-in, first-out queue of at most `capacity` items.
///
/// Items leave in the order in which they came; an item that is not yet visible blocks those behind
/// it, as in a pipe.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Ring<T> {
    /// When the oldest item can be seen; never when there is none. Most looks at a queue ask for no more.
    next: Cycle,
    head: u32,
    len: u32,
    /// The storage in use, a power of two.
    slots: Vec<Place<T>>,
    /// Items that the storage in use takes, at most `capacity`.
    room: u32,
    capacity: u32,
}

impl<T: Copy + Default> Ring<T> {
    /// An empty queue for `capacity` items (at least one).
    pub fn new(capacity: usize) -> Self {
        assert!(capacity > 0, "a ring needs room for one item");
        let most = capacity.next_power_of_two();
        let reserved = if most > MODERATE { OF_LARGE } else { OF_MODERATE };
        let mut slots = Vec::with_capacity(reserved.min(most));
        slots.resize(AT_FIRST.min(most), Place::default());
        let capacity = u32::try_from(capacity).expect("a ring has room for less than 2^32 items");
        let room = capacity.min(slots.len() as u32);
        Ring { next: Cycle::NEVER, head: 0, len: 0, slots, room, capacity }
    }

    /// Goes round in twice the storage from now on, for an item more.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        assert!(self.len < self.capacity, "a producer pushed without a credit");
        // Every place is taken, and the items at the storage's beginning are the youngest.
        let before = self.slots.len();
        self.slots.extend_from_within(..self.head as usize);
        self.slots.resize(2 * before, Place::default());
        self.room = self.capacity.min(self.slots.len() as u32);
    }

    #[inline]
    fn slot(&self, offset: u32) -> usize {
        self.head.wrapping_add(offset) as usize & (self.slots.len() - 1)
    }

    /// Appends `item`, to be seen from cycle `visible`; gives it back when the queue is full.
    #[inline]
    pub fn try_push(&mut self, visible: Cycle, item: T) -> Result<(), T> {
        if self.len == self.capacity {
            return Err(item);
        }
        self.push(visible, item);
        Ok(())
    }

    /// Appends `item` and gives it where it lies. The caller holds a credit for the room, so a full queue is a broken
    /// invariant.
    #[inline(always)]
    pub fn push(&mut self, visible: Cycle, item: T) -> &mut T {
        if self.len == self.room {
            self.grow();
        }
        self.next = select_unpredictable(self.len == 0, visible, self.next);
        let slot = self.slot(self.len);
        self.len += 1;
        let place = &mut self.slots[slot];
        *place = Place { item, visible };
        &mut place.item
    }

    /// As [`Ring::push`], but before the items that are seen later.
    #[inline(always)]
    pub fn insert(&mut self, visible: Cycle, item: T) -> &mut T {
        let last = self.slot(self.len.wrapping_sub(1));
        if self.len == 0 || self.slots[last].visible <= visible {
            return self.push(visible, item);
        }
        self.insert_before(visible, item)
    }

    #[inline(never)]
    fn insert_before(&mut self, visible: Cycle, item: T) -> &mut T {
        self.push(visible, item);
        let mut place = self.len - 1;
        while place > 0 && self.slots[self.slot(place - 1)].visible > visible {
            let (before, here) = (self.slot(place - 1), self.slot(place));
            self.slots.swap(before, here);
            place -= 1;
        }
        self.next = self.slots[self.head as usize].visible;
        let slot = self.slot(place);
        &mut self.slots[slot].item
    }

    /// The oldest item, if it can be seen at `now`.
    #[inline]
    pub fn front(&self, now: Cycle) -> Option<&T> {
        (self.next <= now && self.len > 0).then(|| &self.slots[self.head as usize].item)
    }

    /// As [`Ring::front`], for change.
    #[inline]
    pub fn front_mut(&mut self, now: Cycle) -> Option<&mut T> {
        (self.next <= now && self.len > 0).then(|| &mut self.slots[self.head as usize].item)
    }

    /// Takes the oldest item, if it can be seen at `now`.
    #[inline]
    pub fn pop(&mut self, now: Cycle) -> Option<T> {
        if self.next > now || self.len == 0 {
            return None;
        }
        Some(self.take())
    }

    /// Takes the oldest item, visible or not; there is one.
    #[inline]
    pub fn take(&mut self) -> T {
        debug_assert!(self.len > 0, "an item was taken that is not there");
        let item = self.slots[self.head as usize].item;
        self.len -= 1;
        // It begins with its first place again when it is empty, which is in the processor's caches more likely than the next one.
        // All bits of NEVER are set; nobody can tell beforehand whether it is empty.
        let if_empty = u64::from(self.len == 0).wrapping_neg();
        self.head = self.slot(1) as u32 & !if_empty as u32;
        self.next = Cycle(self.slots[self.head as usize].visible.0 | if_empty);
        item
    }

    /// The oldest item, visible or not, where it lies; there is one. It is taken out of the queue if `is_taken`.
    #[inline]
    pub fn look(&mut self, is_taken: bool) -> &T {
        let head = self.head as usize;
        if is_taken {
            self.take();
        }
        &self.slots[head].item
    }

    /// The cycle at which the oldest item can be seen; [`Cycle::NEVER`] when empty.
    #[inline]
    pub fn next_visible(&self) -> Cycle {
        self.next
    }

    /// Items held, visible or not.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True when nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True when a push would be refused.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Room left `[items]`.
    #[inline]
    pub fn free(&self) -> usize {
        (self.capacity - self.len) as usize
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|offset| &self.slots[self.slot(offset)].item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_seen_from_its_cycle_on_and_not_before() {
        let mut ring = Ring::new(2);
        ring.push(Cycle(5), 'a');
        assert_eq!(ring.pop(Cycle(4)), None);
        assert_eq!(ring.pop(Cycle(5)), Some('a'));
    }

    #[test]
    fn storage_grows_up_to_the_capacity() {
        let mut ring = Ring::new(100);
        let mut next = 0;
        for item in 0..1000 {
            ring.push(Cycle(0), item);
            // More come than go, until it is full.
            while ring.is_full() || (item % 3 == 0 && !ring.is_empty()) {
                assert_eq!(ring.pop(Cycle(0)), Some(next));
                next += 1;
                if item % 3 == 0 {
                    break;
                }
            }
        }
        assert_eq!((ring.len(), ring.slots.len()), (99, 128));
        assert!(ring.iter().copied().eq(next..1000));
    }

    #[test]
    #[should_panic = "without a credit"]
    fn a_push_into_a_full_ring_is_a_broken_invariant() {
        let mut ring = Ring::new(20);
        (0..21).for_each(|item| {
            ring.push(Cycle(0), item);
        });
    }

    #[test]
    fn a_full_ring_gives_the_item_back() {
        let mut ring = Ring::new(3);
        for item in 0..3 {
            ring.push(Cycle(0), item);
        }
        assert_eq!(ring.try_push(Cycle(0), 9), Err(9));
        assert_eq!(ring.pop(Cycle(0)), Some(0));
        assert_eq!(ring.try_push(Cycle(0), 9), Ok(()));
        assert_eq!(ring.iter().copied().collect::<Vec<_>>(), [1, 2, 9]);
        assert_eq!(ring.iter().skip(1).copied().collect::<Vec<_>>(), [2, 9]);
        assert_eq!([ring.take(), ring.take()], [1, 2]);
        assert_eq!((ring.len(), ring.pop(Cycle(0))), (1, Some(9)));
    }

    #[test]
    fn an_item_is_inserted_before_those_seen_later() {
        let mut ring = Ring::new(4);
        for (cycle, item) in [(5, 'c'), (9, 'd'), (2, 'a'), (2, 'b')] {
            ring.insert(Cycle(cycle), item);
        }
        assert_eq!(ring.iter().copied().collect::<String>(), "abcd");
        assert_eq!([ring.next_visible(), Cycle(2)], [Cycle(2); 2]);
    }

    #[test]
    fn an_invisible_head_blocks_those_behind_it() {
        let mut ring = Ring::new(2);
        ring.push(Cycle(9), 'a');
        ring.push(Cycle(1), 'b');
        assert_eq!(ring.pop(Cycle(5)), None);
        assert_eq!(ring.next_visible(), Cycle(9));
    }
}
