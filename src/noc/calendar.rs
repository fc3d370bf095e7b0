//! When what is to be looked at.

use super::ports::Ports;
use crate::units::Cycle;

/// Days of a calendar: most of what happens at a port is known less far ahead.
const DAYS: u64 = u64::BITS as u64;

/// Ports by the cycle in which something happens there, so that nobody has to look through all of them for what is due. A port may
/// stand in several days, and comes early when its cycle was further away than the last day: whoever takes it sees whether it is
/// due, and notes it again.
#[derive(Clone, Debug)]
pub struct Calendar<const WORDS: usize> {
    /// By cycle, modulo the days.
    days: Box<[Ports<WORDS>; DAYS as usize]>,
    /// Days in which something stands, a bit each.
    marked: u64,
    /// What is noted for a cycle further away: it comes with the first of these.
    far: Ports<WORDS>,
    far_from: Cycle,
    /// The next cycle for which something is noted.
    next: Cycle,
    /// Cycles before this one are gone.
    from: u64,
}

impl<const WORDS: usize> Default for Calendar<WORDS> {
    /// Empty.
    fn default() -> Self {
        let days = Box::new([Ports::default(); DAYS as usize]);
        Calendar {
            days,
            marked: 0,
            far: Ports::default(),
            far_from: Cycle::NEVER,
            next: Cycle::NEVER,
            from: 0,
        }
    }
}

impl<const WORDS: usize> Calendar<WORDS> {
    /// Something happens at `port` in `cycle`, or in the one that was taken last when that is gone.
    #[inline]
    pub fn note(&mut self, cycle: Cycle, port: usize) {
        self.note_later(cycle.max(Cycle(self.from)), port);
    }

    /// The same, in a cycle that is not gone.
    #[inline(always)]
    pub fn note_later(&mut self, cycle: Cycle, port: usize) {
        debug_assert!(cycle.0 >= self.from, "something is noted for a cycle that is gone");
        self.next = self.next.min(cycle);
        let cycle = cycle.0;
        if cycle - self.from >= DAYS {
            self.far_from = self.far_from.min(Cycle(cycle));
            self.far.set(port, true);
            return;
        }
        let day = cycle % DAYS;
        self.marked |= 1 << day;
        self.days[day as usize].set(port, true);
    }

    /// The next cycle for which something is noted.
    #[inline]
    pub fn next(&self) -> Cycle {
        self.next
    }

    /// What is noted for cycles before `from` comes in that one.
    #[inline]
    pub fn begin(&mut self, from: Cycle) {
        if self.next < from {
            self.put_off(from);
        }
        self.from = self.from.max(from.0);
    }

    #[cold]
    #[inline(never)]
    fn put_off(&mut self, from: Cycle) {
        for port in self.take(from).iter() {
            self.note_later(from, port);
        }
    }

    /// Takes the ports that stand in the next cycle for which something is noted; there is one.
    #[inline(always)]
    pub fn take_next(&mut self) -> Ports<WORDS> {
        let now = self.next.0;
        let day = now % DAYS;
        let mut taken = std::mem::take(&mut self.days[day as usize]);
        self.marked &= !(1 << day);
        if self.far_from.0 <= now {
            taken = taken.with(&self.far);
            (self.far, self.far_from) = (Ports::default(), Cycle::NEVER);
        }
        self.from = now;
        self.next = self.far_from;
        if self.marked != 0 {
            let ahead = self.marked.rotate_right(day as u32).trailing_zeros();
            self.next = self.next.min(Cycle(now + u64::from(ahead)));
        }
        taken
    }

    /// Takes the ports that stand in `now` or before.
    pub fn take(&mut self, now: Cycle) -> Ports<WORDS> {
        let mut taken = Ports::default();
        while self.next <= now {
            taken = taken.with(&self.take_next());
        }
        self.from = self.from.max(now.0);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noc::MOST_WORDS;

    #[test]
    fn ports_come_in_their_cycle_or_early_but_never_late() {
        let mut calendar = Calendar::<MOST_WORDS>::default();
        assert_eq!(calendar.next(), Cycle::NEVER);
        for (cycle, port) in [(90, 8), (70, 7), (62, 1), (62, 200), (63, 3)] {
            calendar.note(Cycle(cycle), port);
        }
        assert_eq!(calendar.next(), Cycle(62));
        assert_eq!(calendar.take(Cycle(62)).iter().collect::<Vec<_>>(), [1, 200]);
        assert_eq!(calendar.take(Cycle(63)).iter().collect::<Vec<_>>(), [3]);
        // What was further away comes with the first of it.
        assert_eq!(calendar.next(), Cycle(70));
        assert_eq!(calendar.take(Cycle(70)).iter().collect::<Vec<_>>(), [7, 8]);
        calendar.note(Cycle(5), 9);
        assert_eq!(calendar.next(), Cycle(70));
        assert!(calendar.take(Cycle(1000)).contains(9));
        calendar.note(Cycle(1063), 4);
        assert_eq!(calendar.next(), Cycle(1063));
        assert!(calendar.take(Cycle(1063)).contains(4));
        calendar.note(Cycle(3), 5);
        assert!(calendar.take(Cycle(1063)).contains(5));
        assert_eq!(calendar.next(), Cycle::NEVER);
    }

    #[test]
    fn what_is_noted_for_a_cycle_that_is_left_out_comes_in_the_first_one_that_is_not() {
        let mut calendar = Calendar::<MOST_WORDS>::default();
        for (cycle, port) in [(70, 7), (10, 1), (12, 2), (30, 3), (100, 8)] {
            calendar.note(Cycle(cycle), port);
        }
        calendar.begin(Cycle(20));
        assert_eq!(calendar.next(), Cycle(20));
        assert_eq!(calendar.take_next().iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(calendar.next(), Cycle(30));
        assert_eq!(calendar.take_next().iter().collect::<Vec<_>>(), [3]);
        calendar.note(Cycle(25), 4);
        assert_eq!(calendar.take_next().iter().collect::<Vec<_>>(), [4]);
        calendar.begin(Cycle(50));
        assert_eq!(calendar.next(), Cycle(70));
        assert_eq!(calendar.take_next().iter().collect::<Vec<_>>(), [7, 8]);
        assert_eq!(calendar.next(), Cycle::NEVER);
    }
}
