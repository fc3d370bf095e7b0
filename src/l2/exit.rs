//! The way out of a slice: replies whose data is on its way, or that wait for the network.

use crate::parts::Reply;
use crate::ring::Ring;
use crate::units::Cycle;

/// The replies of a slice, oldest first. One may be taken ahead of the cycle in which it leaves; it keeps its place until
/// then.
#[derive(Clone, Debug)]
pub(super) struct Exit {
    replies: Ring<Reply>,
    /// When those leave that were taken ahead.
    leaving: Ring<()>,
    /// The cycle after the last of these.
    free_from: Cycle,
    places: usize,
}

impl Exit {
    /// Empty, for so many replies.
    pub fn new(places: usize) -> Self {
        Exit { replies: Ring::new(places), leaving: Ring::new(places), free_from: Cycle(0), places }
    }

    /// Replies in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.replies.len() + self.leaving.len()
    }

    /// True when no reply is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when no place is free.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() == self.places
    }

    /// The first cycle from `now` on in which a place is free, as far as known.
    #[inline]
    pub fn free_from(&self, now: Cycle) -> Cycle {
        match self.leaving.next_visible() {
            _ if !self.is_full() => now,
            Cycle::NEVER => Cycle::NEVER,
            leaves => now.max(leaves + 1),
        }
    }

    /// Gives the places free of what left before `now`; true when there was any.
    #[inline]
    pub fn free_places(&mut self, now: Cycle) -> bool {
        let before = self.leaving.len();
        while self.leaving.next_visible() < now {
            self.leaving.pop(now);
        }
        self.leaving.len() < before
    }

    /// Takes a reply in whose data is there from cycle `ready` on.
    #[inline]
    pub fn push(&mut self, ready: Cycle, reply: Reply) -> &mut Reply {
        assert!(!self.is_full(), "a reply was pushed without a place for it");
        self.replies.push(ready, reply)
    }

    /// The oldest reply that was not taken, if its data is there at `now`.
    #[inline]
    pub fn front(&self, now: Cycle) -> Option<&Reply> {
        self.replies.front(now)
    }

    /// When its data is there.
    #[inline]
    pub fn ready(&self) -> Cycle {
        self.replies.next_visible()
    }

    /// Takes the oldest reply, if its data is there.
    #[inline]
    pub fn pop(&mut self, now: Cycle) -> Option<Reply> {
        self.replies.pop(now)
    }

    /// The first cycle from `now` on in which the oldest reply can leave, when one leaves a cycle.
    #[inline]
    pub fn next_leave(&self, now: Cycle) -> Cycle {
        self.replies.next_visible().max(self.free_from).max(now)
    }

    /// Takes the oldest reply, which leaves in cycle `at`; there is one.
    #[inline]
    pub fn pop_ahead(&mut self, at: Cycle) -> Reply {
        self.leaving.push(at, ());
        self.free_from = at + 1;
        self.replies.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_taken_ahead_keeps_its_place_until_it_has_left() {
        let mut exit = Exit::new(2);
        exit.push(Cycle(5), Reply::default());
        exit.push(Cycle(5), Reply::default());
        assert_eq!(exit.next_leave(Cycle(3)), Cycle(5));
        exit.pop_ahead(Cycle(5));
        // One a cycle.
        assert_eq!(exit.next_leave(Cycle(3)), Cycle(6));
        assert!(!exit.free_places(Cycle(5)));
        assert!(exit.is_full());
        assert_eq!(exit.free_from(Cycle(4)), Cycle(6));
        assert!(exit.free_places(Cycle(6)));
        assert_eq!(exit.free_from(Cycle(6)), Cycle(6));
    }
}
