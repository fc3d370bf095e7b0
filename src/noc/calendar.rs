//! When which ports are to be looked at.

use super::ports::{MOST_WORDS, Ports};
use crate::units::Cycle;

/// Days of a calendar: most of what happens at a port is known less far ahead.
const DAYS: u64 = u64::BITS as u64;

/// Ports by the cycle in which something happens there, so that nobody has to look through all of them for those that are
/// due. A port may stand in several days, and comes early when its cycle is further away than the last one: whoever takes
/// it sees whether it is due, and notes it again.
#[derive(Clone, Debug)]
pub struct Calendar<const WORDS: usize = MOST_WORDS> {
    /// By cycle, modulo the days.
    days: Box<[Ports<WORDS>]>,
    /// Days in which a port stands, a bit each.
    marked: u64,
    /// Cycles before this one are gone. It may be taken more than once: a core cycle has several network cycles on some
    /// machines.
    from: u64,
}

impl<const WORDS: usize> Default for Calendar<WORDS> {
    /// Empty.
    fn default() -> Self {
        Calendar { days: vec![Ports::default(); DAYS as usize].into(), marked: 0, from: 0 }
    }
}

impl<const WORDS: usize> Calendar<WORDS> {
    /// Something happens at `port` in `cycle`, or in the one that was taken last when that is gone.
    #[inline]
    pub fn note(&mut self, cycle: Cycle, port: usize) {
        let day = cycle.0.clamp(self.from, self.from + (DAYS - 1)) % DAYS;
        self.days[day as usize].set(port, true);
        self.marked |= 1 << day;
    }

    /// The next cycle in which a port stands.
    #[inline]
    pub fn next(&self) -> Cycle {
        if self.marked == 0 {
            return Cycle::NEVER;
        }
        let ahead = self.marked.rotate_right((self.from % DAYS) as u32).trailing_zeros();
        Cycle(self.from + u64::from(ahead))
    }

    /// Takes the ports that stand in `now` or before.
    #[inline]
    pub fn take(&mut self, now: Cycle) -> Ports<WORDS> {
        let mut taken = Ports::default();
        loop {
            let next = self.next();
            if next > now {
                break;
            }
            let day = next.0 % DAYS;
            taken = taken.with(&self.days[day as usize]);
            self.days[day as usize] = Ports::default();
            self.marked &= !(1 << day);
        }
        self.from = self.from.max(now.0);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_come_in_their_cycle_or_early_but_never_late() {
        let mut calendar = Calendar::<MOST_WORDS>::default();
        assert_eq!(calendar.next(), Cycle::NEVER);
        for (cycle, port) in [(70, 7), (62, 1), (62, 200), (63, 3)] {
            calendar.note(Cycle(cycle), port);
        }
        assert_eq!(calendar.next(), Cycle(62));
        assert_eq!(calendar.take(Cycle(62)).iter().collect::<Vec<_>>(), [1, 200]);
        // It cannot look further than 63.
        assert_eq!(calendar.take(Cycle(63)).iter().collect::<Vec<_>>(), [3, 7]);
        calendar.note(Cycle(5), 9);
        assert_eq!(calendar.next(), Cycle(63));
        assert!(calendar.take(Cycle(1000)).contains(9));
        calendar.note(Cycle(1063), 4);
        assert_eq!(calendar.next(), Cycle(1063));
    }
}
