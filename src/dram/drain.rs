//! Whose turn it is: reads, writes, or both.

use crate::config::machine::WriteDrain;
use crate::units::Cycle;

use super::queue::{Entry, Queue, Slot};

/// The directions that may go now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Reads and writes compete as equals.
    Both,
    /// Reads go; writes wait.
    Reads,
    /// A batch of writes goes; reads wait.
    Writes,
}

impl Turn {
    /// Whether `entry` may go. One that others wait for may go out of turn: were it held until
    /// their turn is over, neither could ever go.
    #[inline]
    pub fn allows(self, entry: &Entry) -> bool {
        let in_turn = match self {
            Turn::Both => true,
            Turn::Reads => !entry.write,
            Turn::Writes => entry.write,
        };
        entry.blockers == 0 && (in_turn || entry.dependents > 0)
    }

    /// The oldest request of the channel whose turn it is, or the one that must go before it; no slot where none waits.
    #[inline]
    pub fn oldest(self, queue: &Queue) -> Slot {
        let (first, second) = match self {
            // In one order, and the oldest of all waits for nobody.
            Turn::Both => return queue.oldest(false),
            Turn::Reads => (queue.oldest(false), queue.oldest(true)),
            Turn::Writes => (queue.oldest(true), queue.oldest(false)),
        };
        // The oldest of one direction can only wait for the other direction, whose oldest then
        // waits for nobody: it is older than whatever the first one waits for.
        if queue.get(first).is_none_or(|entry| entry.blockers > 0) { second } else { first }
    }
}

/// Decides whose turn it is from the number of waiting requests.
#[derive(Clone, Debug)]
pub struct Drain {
    policy: WriteDrain,
    turn: Turn,
    /// When the channel is quiet, if no request comes until then; never while a read waits.
    quiet_at: Cycle,
}

impl Drain {
    /// The turn of an empty queue.
    pub fn new(policy: WriteDrain) -> Drain {
        let turn = match policy {
            WriteDrain::Mixed => Turn::Both,
            WriteDrain::Batched { .. } => Turn::Reads,
        };
        Drain { policy, turn, quiet_at: Cycle::NEVER }
    }

    /// Whose turn it is.
    #[inline]
    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// Whether the turn never passes.
    #[inline]
    pub fn is_mixed(&self) -> bool {
        self.turn == Turn::Both
    }

    /// Requests came at `now`, or a read went: `reads` wait.
    #[inline]
    pub fn stir(&mut self, now: Cycle, reads: usize) {
        let WriteDrain::Batched { idle, .. } = self.policy else { return };
        self.quiet_at = if reads == 0 { now + idle.cycles() } else { Cycle::NEVER };
    }

    /// Tells how many requests wait at `now`; true when the turn passed to the other direction.
    #[inline]
    pub fn update(&mut self, now: Cycle, reads: usize, writes: usize) -> bool {
        let WriteDrain::Batched { high, low, .. } = self.policy else { return false };
        let is_quiet = reads == 0 && self.quiet_at <= now;
        let turn = match self.turn {
            Turn::Reads if writes >= high.size() || (is_quiet && writes > 0) => Turn::Writes,
            Turn::Writes if writes == 0 || (writes <= low.size() && !is_quiet) => Turn::Reads,
            turn => turn,
        };
        std::mem::replace(&mut self.turn, turn) != turn
    }

    /// When [`Drain::update`] may pass the turn though no request comes or goes.
    #[inline]
    pub fn next_event(&self, writes: usize) -> Cycle {
        if self.turn == Turn::Reads && writes > 0 { self.quiet_at } else { Cycle::NEVER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Bounded;

    fn batched(idle: u32) -> Drain {
        let high = Bounded::new(8).expect("in range");
        let low = Bounded::new(2).expect("in range");
        Drain::new(WriteDrain::Batched { high, low, idle: Bounded::new(idle).expect("in range") })
    }

    /// What [`Drain::update`] says once so many wait, the last of which just came or went.
    fn update(drain: &mut Drain, reads: usize, writes: usize) -> bool {
        drain.stir(Cycle(0), reads);
        drain.update(Cycle(0), reads, writes)
    }

    #[test]
    fn a_batch_starts_at_the_high_mark_and_ends_at_the_low_mark() {
        let mut drain = batched(0);
        assert!(!update(&mut drain, 5, 7));
        assert!(update(&mut drain, 5, 8));
        assert!(!update(&mut drain, 5, 3));
        assert_eq!(drain.turn(), Turn::Writes);
        assert!(update(&mut drain, 5, 2));
        assert_eq!(drain.turn(), Turn::Reads);
    }

    #[test]
    fn writes_go_when_no_read_waits() {
        let mut drain = batched(0);
        assert!(update(&mut drain, 0, 1));
        assert_eq!(drain.turn(), Turn::Writes);
    }

    #[test]
    fn a_batch_that_no_read_waits_for_goes_on_below_the_low_mark() {
        let mut drain = batched(0);
        update(&mut drain, 0, 8);
        assert!(!update(&mut drain, 0, 1));
        assert!(update(&mut drain, 1, 1));
    }

    #[test]
    fn writes_wait_for_a_batch_until_the_channel_is_quiet() {
        let mut drain = batched(100);
        drain.stir(Cycle(7), 0);
        assert!(!drain.update(Cycle(7), 0, 3));
        assert_eq!(drain.next_event(3), Cycle(107));
        assert!(!drain.update(Cycle(106), 0, 3));
        assert!(drain.update(Cycle(107), 0, 3));
        // They all go, as nothing came meanwhile.
        assert!(!drain.update(Cycle(110), 0, 1));
        assert!(drain.update(Cycle(111), 0, 0));
    }

    #[test]
    fn a_batch_of_a_busy_channel_ends_at_the_low_mark_though_no_read_waits() {
        let mut drain = batched(100);
        drain.stir(Cycle(7), 0);
        assert!(drain.update(Cycle(7), 0, 8));
        assert!(drain.update(Cycle(20), 0, 2));
        assert_eq!(drain.next_event(2), Cycle(107));
    }

    #[test]
    fn mixed_traffic_never_changes_the_turn() {
        let mut drain = Drain::new(WriteDrain::Mixed);
        assert!(!update(&mut drain, 0, 64));
        assert_eq!(drain.turn(), Turn::Both);
        assert_eq!(drain.next_event(64), Cycle::NEVER);
    }
}
