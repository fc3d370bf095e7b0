//! What a node waits for, in the order in which it comes.

use crate::gpu::news::Coming;
use crate::units::Cycle;

/// Items that are over and still kept, at most: it costs less to drop many at a time.
const KEPT: usize = 16;

/// What comes in a cycle.
pub trait Comes {
    /// In which.
    fn at(&self) -> Cycle;
}

impl Comes for Coming {
    #[inline]
    fn at(&self) -> Cycle {
        self.at
    }
}

impl Comes for Cycle {
    #[inline]
    fn at(&self) -> Cycle {
        *self
    }
}

/// Items that come one after the other, as far as known; of any number.
#[derive(Clone, Debug)]
pub struct Awaited<T> {
    /// The cycle of the next one; never when there is none.
    next: Cycle,
    /// The items, the next one in this place: those before it are over.
    items: Vec<T>,
    over: usize,
}

impl<T: Comes> Awaited<T> {
    /// None. Allocates nothing as long as no more than `most` are awaited at once.
    pub fn new(most: usize) -> Self {
        Awaited { next: Cycle::NEVER, items: Vec::with_capacity(most + KEPT), over: 0 }
    }

    /// The cycle of the next one; [`Cycle::NEVER`] when there is none.
    #[inline(always)]
    pub fn next(&self) -> Cycle {
        self.next
    }

    /// True when nothing is awaited.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.next == Cycle::NEVER
    }

    /// The next one; there is one.
    #[inline(always)]
    pub fn first(&self) -> &T {
        &self.items[self.over]
    }

    /// Those that have not come.
    #[inline(always)]
    pub fn waiting(&self) -> &[T] {
        &self.items[self.over..]
    }

    /// The last one.
    pub fn last(&self) -> Option<&T> {
        self.items.last()
    }

    /// `push` appends one that comes in cycle `at`, behind all others.
    #[inline(always)]
    pub fn push_with(&mut self, at: Cycle, push: impl FnOnce(&mut Vec<T>)) {
        self.next = self.next.min(at);
        push(&mut self.items);
    }

    /// The next one has come.
    #[inline(always)]
    pub fn pass(&mut self) {
        self.over += 1;
        if self.over == self.items.len() {
            // It begins with its first place again: in little storage it stays in the processor's caches.
            self.items.clear();
            (self.over, self.next) = (0, Cycle::NEVER);
            return;
        }
        if self.over == KEPT {
            self.items.drain(..KEPT);
            self.over = 0;
        }
        self.next = self.items[self.over].at();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_in_order_however_many_are_awaited() {
        for awaited in [1, 2, KEPT - 1, KEPT, KEPT + 1, 3 * KEPT] {
            let mut list = Awaited::new(1);
            let (mut pushed, mut passed) = (0, 0);
            for round in 0..10 * KEPT as u64 {
                let to = passed + (round % awaited as u64) + 1;
                while pushed < to {
                    list.push_with(Cycle(3 * pushed), |items| items.push(Cycle(3 * pushed)));
                    pushed += 1;
                }
                assert_eq!(list.last(), Some(&Cycle(3 * (pushed - 1))));
                for _ in 0..=round % 2 {
                    if passed < pushed {
                        assert_eq!((list.next(), *list.first()), (Cycle(3 * passed), list.next()));
                        list.pass();
                        passed += 1;
                    }
                }
                assert_eq!(list.is_empty(), passed == pushed);
                assert_eq!(list.next() == Cycle::NEVER, passed == pushed);
                assert!(list.items.len() - list.over == (pushed - passed) as usize);
            }
        }
    }
}
