//! The way out of a slice: replies whose data is on its way, or that wait for the network.

use crate::parts::Reply;
use crate::ring::Ring;
use crate::units::Cycle;

/// The replies of a slice, oldest first. One may be taken ahead of the cycle in which it leaves; it keeps its place until
/// then. When that is may be known at once, or the exit hears of it later.
#[derive(Clone, Debug)]
pub struct Exit {
    replies: Ring<Reply>,
    /// Those that were taken ahead and leave nobody knows when.
    ahead: usize,
    /// When those leave of which it is known.
    leaving: Ring<()>,
    /// The cycle after the last of these.
    free_from: Cycle,
    places: usize,
}

impl Exit {
    /// Empty, for so many replies.
    pub(super) fn new(places: usize) -> Self {
        Exit {
            replies: Ring::new(places),
            ahead: 0,
            leaving: Ring::new(places),
            free_from: Cycle(0),
            places,
        }
    }

    /// Replies in it.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.replies.len() + self.ahead + self.leaving.len()
    }

    /// True when no reply is in it.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True when no place is free.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len() == self.places
    }

    /// Whether so many more may find no place, or may find one, for all that is known.
    #[inline]
    pub(super) fn is_in_doubt(&self, count: usize) -> bool {
        self.ahead > 0 && self.len() + count > self.places
    }

    /// The first cycle from `now` on in which a place is free, as far as known.
    #[inline]
    pub(super) fn free_from(&self, now: Cycle) -> Cycle {
        match self.leaving.next_visible() {
            _ if !self.is_full() => now,
            Cycle::NEVER => Cycle::NEVER,
            leaves => now.max(leaves + 1),
        }
    }

    /// Gives the places free of what left before `now`; true when there was any.
    #[inline]
    pub(super) fn free_places(&mut self, now: Cycle) -> bool {
        let before = self.leaving.len();
        while self.leaving.next_visible() < now {
            self.leaving.pop(now);
        }
        self.leaving.len() < before
    }

    /// Takes a reply in whose data is there from cycle `ready` on.
    #[inline]
    pub(super) fn push(&mut self, ready: Cycle, reply: Reply) -> &mut Reply {
        assert!(!self.is_full(), "a reply was pushed without a place for it");
        self.replies.push(ready, reply)
    }

    /// The oldest reply that was not taken, if its data is there at `now`.
    #[inline]
    pub(super) fn front(&self, now: Cycle) -> Option<&Reply> {
        self.replies.front(now)
    }

    /// When its data is there.
    #[inline]
    pub(super) fn ready(&self) -> Cycle {
        self.replies.next_visible()
    }

    /// Takes the oldest reply, if its data is there.
    #[inline]
    pub(super) fn pop(&mut self, now: Cycle) -> Option<Reply> {
        self.replies.pop(now)
    }

    /// True when it is known of all that were taken ahead when they leave.
    #[inline]
    pub fn is_certain(&self) -> bool {
        self.ahead == 0
    }

    /// Takes the oldest reply, whether or not its data is there; there is one. It leaves from cycle `from` on, as soon as its
    /// data is there, one a cycle: gives the cycle, too.
    #[inline]
    pub fn pop_certain(&mut self, from: Cycle) -> (Cycle, Reply) {
        let at = self.replies.next_visible().max(self.free_from).max(from);
        self.leaving.push(at, ());
        self.free_from = at + 1;
        (at, self.replies.take())
    }

    /// Takes the oldest reply, whether or not its data is there; there is one. When it leaves is not known; gives when its
    /// data is there.
    #[inline]
    pub fn pop_uncertain(&mut self) -> (Cycle, Reply) {
        let ready = self.replies.next_visible();
        self.ahead += 1;
        (ready, self.replies.take())
    }

    /// Hears that the oldest of those of which it was not known leaves in cycle `at`; true when no place was free before.
    #[inline]
    pub fn note_leave(&mut self, at: Cycle) -> bool {
        let was_full = self.is_full();
        self.ahead -= 1;
        self.leaving.push(at, ());
        self.free_from = at + 1;
        was_full
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
        assert!(!exit.is_in_doubt(1));
        assert_eq!(exit.pop_certain(Cycle(0)).0, Cycle(5));
        assert!(!exit.free_places(Cycle(5)));
        assert!(exit.is_full() && !exit.is_in_doubt(1));
        assert_eq!(exit.free_from(Cycle(4)), Cycle(6));
        assert!(exit.free_places(Cycle(6)));
        assert_eq!(exit.free_from(Cycle(6)), Cycle(6));
    }

    #[test]
    fn an_exit_is_in_doubt_until_it_hears_when_a_reply_left() {
        let mut exit = Exit::new(2);
        for _ in 0..2 {
            exit.push(Cycle(5), Reply::default());
            assert_eq!(exit.pop_uncertain().0, Cycle(5));
        }
        assert!(!exit.is_certain() && exit.is_in_doubt(1) && !exit.is_in_doubt(0));
        assert_eq!(exit.free_from(Cycle(4)), Cycle::NEVER);
        assert!(exit.note_leave(Cycle(7)));
        assert_eq!(exit.free_from(Cycle(4)), Cycle(8));
        assert!(exit.free_places(Cycle(8)));
        assert!(exit.is_in_doubt(2) && !exit.is_in_doubt(1));
        assert!(!exit.note_leave(Cycle(9)));
        assert!(exit.is_certain());
        exit.push(Cycle(8), Reply::default());
        // One a cycle.
        assert_eq!(exit.pop_certain(Cycle(0)).0, Cycle(10));
    }
}
