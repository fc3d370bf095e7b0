//! The way out of a slice: replies whose data is on its way, or that wait for the network.

use std::hint::select_unpredictable;

use crate::parts::Reply;
use crate::ring::Ring;
use crate::units::Cycle;

/// A reply that leaves a slice for the reply network. The reply comes first, so that it is copied as it is aligned.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Departure {
    /// The reply, before it bears the stamp of this.
    pub reply: Reply,
    /// The L2 cycle in which it leaves, or the first in which it can.
    pub ready: Cycle,
    /// The first, and the slice is to hear when it left.
    pub is_uncertain: bool,
    /// It leaves the slice together with the one before it, and reaches another SM.
    pub shares_port: bool,
}

/// Departures that a list has room for at first: more than a slice makes in one window on most machines.
pub const DEPARTURES: usize = 64;

/// The replies of a slice, oldest first. Each is taken as it leaves, or told ahead of that; then it keeps its place until it
/// leaves. When that is may be known at once, or the exit hears of it later.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Exit {
    /// When the next one is ready; never when there is none.
    ready: Cycle,
    /// Places taken.
    held: usize,
    places: usize,
    /// Those that were told ahead and leave nobody knows when.
    ahead: usize,
    /// When those leave of which it is known.
    leaving: Ring<()>,
    /// The cycle after the last of these.
    free_from: Cycle,
    /// Those before `next` were taken or told.
    departures: Vec<Departure>,
    next: usize,
}

impl Exit {
    /// Empty, for so many replies.
    pub(super) fn new(places: usize) -> Self {
        Exit {
            departures: Vec::with_capacity(DEPARTURES.max(2 * places)),
            next: 0,
            ready: Cycle::NEVER,
            held: 0,
            ahead: 0,
            leaving: Ring::new(places),
            free_from: Cycle(0),
            places,
        }
    }

    /// Replies in it.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.held
    }

    /// True when no reply is in it.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// True when no place is free.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.held == self.places
    }

    /// True when so many more may find no place, or take the last one, before what has left gives its places free.
    #[inline]
    pub(super) fn may_be_full_after(&self, count: usize) -> bool {
        self.held + count >= self.places
    }

    /// Whether so many more may find no place, or may find one, for all that is known.
    #[inline]
    pub(super) fn is_in_doubt(&self, count: usize) -> bool {
        self.ahead > 0 && self.len() + count > self.places
    }

    /// The first cycle from `now` on in which a place is free, as far as known.
    #[inline]
    pub(super) fn free_from(&self, now: Cycle) -> Cycle {
        let leaves = self.leaving.next_visible();
        let freed = Cycle(leaves.0.saturating_add(1)).max(now);
        select_unpredictable(self.is_full(), freed, now)
    }

    /// Gives the places free of what left before `now`; true when there was any.
    #[inline]
    pub(super) fn free_places(&mut self, now: Cycle) -> bool {
        let is_any = self.leaving.next_visible() < now;
        while self.leaving.next_visible() < now {
            self.leaving.take();
            self.held -= 1;
        }
        is_any
    }

    /// Takes a reply in whose data is there from cycle `ready` on.
    #[inline(always)]
    pub(super) fn push(&mut self, ready: Cycle, reply: &Reply) {
        assert!(!self.is_full(), "a reply was pushed without a place for it");
        self.held += 1;
        if self.next == self.departures.len() {
            self.ready = ready;
        }
        let departure = Departure { reply: *reply, ready, is_uncertain: false, shares_port: false };
        self.departures.push(departure);
    }

    /// The oldest reply, if its data is there at `now`.
    #[inline]
    pub(super) fn front(&self, now: Cycle) -> Option<&Reply> {
        if self.ready > now {
            return None;
        }
        self.departures.get(self.next).map(|departure| &departure.reply)
    }

    /// When its data is there; never when there is none.
    #[inline]
    pub fn ready(&self) -> Cycle {
        self.ready
    }

    /// Takes the oldest reply, if its data is there.
    #[inline]
    pub(super) fn pop(&mut self, now: Cycle) -> Option<Reply> {
        let reply = *self.front(now)?;
        self.held -= 1;
        self.pass();
        if self.next >= DEPARTURES / 2 {
            self.departures.drain(..std::mem::take(&mut self.next));
        }
        Some(reply)
    }

    /// Goes on to the next reply.
    #[inline]
    fn pass(&mut self) {
        self.next += 1;
        self.ready = self.departures.get(self.next).map_or(Cycle::NEVER, |next| next.ready);
    }

    /// True when it is known of all that were told ahead when they leave.
    #[inline]
    pub fn is_certain(&self) -> bool {
        self.ahead == 0
    }

    /// Tells of all replies, of which there is one, whether or not their data is there, and gives their number. `room_from`
    /// gives from which cycle on there is room for the next one, as far as that is known: it leaves then, as soon as its data
    /// is there, one a cycle.
    #[inline]
    pub fn tell(&mut self, mut room_from: impl FnMut() -> Option<Cycle>) -> usize {
        let told = self.departures.len() - self.next;
        self.tell_next(&mut room_from);
        if told > 1 {
            self.tell_others(&mut room_from);
        }
        self.ready = Cycle::NEVER;
        told
    }

    #[inline(never)]
    fn tell_others(&mut self, room_from: &mut impl FnMut() -> Option<Cycle>) {
        while self.next < self.departures.len() {
            self.tell_next(room_from);
        }
    }

    #[inline(always)]
    fn tell_next(&mut self, room_from: &mut impl FnMut() -> Option<Cycle>) {
        let departure = &mut self.departures[self.next];
        self.next += 1;
        match if self.ahead == 0 { room_from() } else { None } {
            Some(from) => {
                let at = departure.ready.max(self.free_from).max(from);
                departure.ready = at;
                self.leaving.push(at, ());
                self.free_from = at + 1;
            }
            None => {
                departure.is_uncertain = true;
                self.ahead += 1;
            }
        }
    }

    /// What was told, all of it, to be taken.
    #[inline]
    pub fn told(&mut self) -> &mut Vec<Departure> {
        debug_assert_eq!(self.next, self.departures.len());
        self.next = 0;
        &mut self.departures
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
        exit.push(Cycle(5), &Reply::default());
        assert_eq!((exit.tell(|| Some(Cycle(0))), exit.departures[0].ready), (1, Cycle(5)));
        exit.push(Cycle(5), &Reply::default());
        assert!(!exit.is_in_doubt(1));
        assert!(!exit.free_places(Cycle(5)));
        assert!(exit.is_full() && !exit.is_in_doubt(1));
        assert_eq!(exit.free_from(Cycle(4)), Cycle(6));
        assert!(exit.free_places(Cycle(6)));
        assert_eq!(exit.free_from(Cycle(6)), Cycle(6));
    }

    #[test]
    fn an_exit_may_be_full_with_so_many_more_as_long_as_none_was_given_free() {
        let mut exit = Exit::new(3);
        assert!(!exit.may_be_full_after(2) && exit.may_be_full_after(3));
        exit.push(Cycle(5), &Reply::default());
        exit.tell(|| Some(Cycle(0)));
        assert!(exit.may_be_full_after(2));
        assert!(exit.free_places(Cycle(6)));
        assert!(!exit.may_be_full_after(2));
    }

    #[test]
    fn an_exit_is_in_doubt_until_it_hears_when_a_reply_left() {
        let mut exit = Exit::new(2);
        for _ in 0..2 {
            exit.push(Cycle(5), &Reply::default());
            assert_eq!(exit.tell(|| None), 1);
        }
        assert!(!exit.is_certain() && exit.is_in_doubt(1) && !exit.is_in_doubt(0));
        assert_eq!(exit.free_from(Cycle(4)), Cycle::NEVER);
        assert!(exit.note_leave(Cycle(7)));
        assert_eq!(exit.free_from(Cycle(4)), Cycle(8));
        assert!(exit.free_places(Cycle(8)));
        assert!(exit.is_in_doubt(2) && !exit.is_in_doubt(1));
        assert!(!exit.note_leave(Cycle(9)));
        assert!(exit.is_certain());
        exit.push(Cycle(8), &Reply::default());
        // One a cycle.
        assert_eq!((exit.tell(|| Some(Cycle(0))), exit.departures[2].ready), (1, Cycle(10)));
    }
}
