//! The way out of a slice: replies whose data is on its way, or that wait for the network.

use crate::parts::{Occupancy, Reply};
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

/// Departures that were taken and are still kept, at most: it costs less to drop several at a time, and a list that begins again at its
/// first place stays in the processor's caches.
const KEPT: usize = 8;

/// The replies of a slice, oldest first. Each is taken as it leaves, or told ahead of that; then it keeps its place until it
/// leaves. When that is may be known at once, or the exit hears of it later.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Exit {
    /// When the next one is ready; never when there is none.
    ready: Cycle,
    /// From when on there is a place for another one; never, as far as that is not known.
    room_from: Cycle,
    /// The cycle after the last one in which one leaves that was told.
    free_from: Cycle,
    /// Those that were told ahead and leave nobody knows when.
    ahead: usize,
    /// Those before `next` were taken or told.
    departures: Vec<Departure>,
    next: usize,
    places: Occupancy,
}

impl Exit {
    /// Empty, for so many replies.
    pub(super) fn new(places: usize) -> Self {
        Exit {
            departures: Vec::with_capacity(DEPARTURES.max(2 * places)),
            next: 0,
            ready: Cycle::NEVER,
            room_from: Cycle(0),
            ahead: 0,
            free_from: Cycle(0),
            places: Occupancy::new(places),
        }
    }

    /// Replies in it that were not told.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.departures.len() - self.next
    }

    /// True when no place is free at `now`.
    #[inline]
    pub(super) fn is_full(&self, now: Cycle) -> bool {
        self.room_from > now
    }

    /// Whether so many more may find no place, or may find one, for all that is known.
    #[inline]
    pub(super) fn is_in_doubt(&self, count: usize) -> bool {
        self.ahead > 0 && self.places.may_lack_room_for(count)
    }

    /// The first cycle in which a place is free; never, as far as that is not known.
    #[inline]
    pub(super) fn room_from(&self) -> Cycle {
        self.room_from
    }

    /// Takes a reply in whose data is there from cycle `ready` on. There is a place for it.
    #[inline(always)]
    pub(super) fn push(&mut self, ready: Cycle, reply: &Reply) {
        assert!(self.room_from != Cycle::NEVER, "a reply was pushed without a place for it");
        self.places.take(1);
        self.room_from = self.places.room_from(1);
        if self.next == self.departures.len() {
            self.ready = ready;
        }
        let departure = Departure { reply: *reply, ready, is_uncertain: false, shares_port: false };
        self.departures.push(departure);
    }

    /// The place of the oldest reply that has one is free from cycle `from` on; true when none was known to be free before.
    #[inline]
    fn give_place(&mut self, from: Cycle) -> bool {
        self.places.note_free(from);
        let lacked = self.room_from == Cycle::NEVER;
        if lacked {
            self.room_from = self.places.room_from(1);
        }
        lacked
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
        self.give_place(Cycle(0));
        self.pass();
        if self.next == self.departures.len() || self.next >= KEPT {
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
                self.free_from = at + 1;
                self.give_place(at + 1);
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

    /// Hears that the oldest of those of which it was not known leaves in cycle `at`; true when it was not known when there is a
    /// place for another one.
    #[inline]
    pub fn note_leave(&mut self, at: Cycle) -> bool {
        self.ahead -= 1;
        self.free_from = at + 1;
        self.give_place(at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_told_ahead_keeps_its_place_until_it_has_left() {
        let mut exit = Exit::new(2);
        exit.push(Cycle(5), &Reply::default());
        assert_eq!((exit.tell(|| Some(Cycle(0))), exit.departures[0].ready), (1, Cycle(5)));
        assert!(!exit.is_full(Cycle(0)));
        exit.push(Cycle(5), &Reply::default());
        assert!(!exit.is_in_doubt(1));
        assert!(exit.is_full(Cycle(5)) && !exit.is_full(Cycle(6)));
        assert_eq!(exit.room_from(), Cycle(6));
        assert_eq!((exit.tell(|| Some(Cycle(0))), exit.departures[1].ready), (1, Cycle(6)));
        exit.push(Cycle(7), &Reply::default());
        assert_eq!(exit.room_from(), Cycle(7));
    }

    #[test]
    fn a_reply_that_is_taken_gives_its_place_free_at_once() {
        let mut exit = Exit::new(1);
        assert!(exit.len() == 0 && !exit.is_full(Cycle(0)));
        exit.push(Cycle(5), &Reply::default());
        assert!(exit.len() == 1 && exit.is_full(Cycle(9)));
        assert!(exit.pop(Cycle(4)).is_none());
        assert!(exit.pop(Cycle(5)).is_some());
        assert!(exit.len() == 0 && !exit.is_full(Cycle(5)));
    }

    #[test]
    fn an_exit_is_in_doubt_until_it_hears_when_a_reply_left() {
        let mut exit = Exit::new(2);
        for _ in 0..2 {
            exit.push(Cycle(5), &Reply::default());
            assert_eq!(exit.tell(|| None), 1);
        }
        assert!(!exit.is_certain() && exit.is_in_doubt(1) && !exit.is_in_doubt(0));
        assert_eq!(exit.room_from(), Cycle::NEVER);
        assert!(exit.note_leave(Cycle(7)));
        assert!(exit.is_full(Cycle(7)) && !exit.is_full(Cycle(8)));
        assert!(exit.is_in_doubt(2) && !exit.is_in_doubt(1));
        assert!(!exit.note_leave(Cycle(9)));
        assert!(exit.is_certain() && !exit.is_in_doubt(3));
        exit.push(Cycle(8), &Reply::default());
        // One a cycle.
        assert_eq!((exit.tell(|| Some(Cycle(0))), exit.departures[2].ready), (1, Cycle(10)));
        exit.push(Cycle(8), &Reply::default());
        assert_eq!(exit.room_from(), Cycle(11));
    }
}
