//! Whose turn it is: reads, writes, or both.

use crate::config::machine::WriteDrain;

use super::queue::{Entry, NONE, Queue, Slot};

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

    /// The oldest request of the channel whose turn it is, or the one that must go before it.
    #[inline]
    pub fn oldest(self, queue: &Queue) -> Slot {
        let (read, write) = (queue.oldest(false), queue.oldest(true));
        let age = |slot| if slot == NONE { u64::MAX } else { queue.entry(slot).age };
        let (first, second) = match self {
            Turn::Both if age(read) < age(write) => (read, write),
            Turn::Both => (write, read),
            Turn::Reads => (read, write),
            Turn::Writes => (write, read),
        };
        // The oldest of one direction can only wait for the other direction, whose oldest then
        // waits for nobody: it is older than whatever the first one waits for.
        if first == NONE || queue.entry(first).blockers > 0 { second } else { first }
    }
}

/// Decides whose turn it is from the number of waiting requests.
#[derive(Clone, Debug)]
pub struct Drain {
    policy: WriteDrain,
    turn: Turn,
}

impl Drain {
    /// The turn of an empty queue.
    pub fn new(policy: WriteDrain) -> Drain {
        let turn = match policy {
            WriteDrain::Mixed => Turn::Both,
            WriteDrain::Batched { .. } => Turn::Reads,
        };
        Drain { policy, turn }
    }

    /// Whose turn it is.
    #[inline]
    pub fn turn(&self) -> Turn {
        self.turn
    }

    /// Tells how many requests wait now; true when the turn passed to the other direction.
    #[inline]
    pub fn update(&mut self, reads: usize, writes: usize) -> bool {
        let WriteDrain::Batched { high, low } = self.policy else { return false };
        let turn = match self.turn {
            Turn::Reads if writes >= high.size() || (reads == 0 && writes > 0) => Turn::Writes,
            Turn::Writes if writes <= low.size() && (reads > 0 || writes == 0) => Turn::Reads,
            turn => turn,
        };
        std::mem::replace(&mut self.turn, turn) != turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Bounded;

    fn batched() -> Drain {
        let high = Bounded::new(8).expect("in range");
        Drain::new(WriteDrain::Batched { high, low: Bounded::new(2).expect("in range") })
    }

    #[test]
    fn a_batch_starts_at_the_high_mark_and_ends_at_the_low_mark() {
        let mut drain = batched();
        assert!(!drain.update(5, 7));
        assert!(drain.update(5, 8));
        assert!(!drain.update(5, 3));
        assert_eq!(drain.turn(), Turn::Writes);
        assert!(drain.update(5, 2));
        assert_eq!(drain.turn(), Turn::Reads);
    }

    #[test]
    fn writes_go_when_no_read_waits() {
        let mut drain = batched();
        assert!(drain.update(0, 1));
        assert_eq!(drain.turn(), Turn::Writes);
    }

    #[test]
    fn a_batch_that_no_read_waits_for_goes_on_below_the_low_mark() {
        let mut drain = batched();
        drain.update(0, 8);
        assert!(!drain.update(0, 1));
        assert!(drain.update(1, 1));
    }

    #[test]
    fn mixed_traffic_never_changes_the_turn() {
        let mut drain = Drain::new(WriteDrain::Mixed);
        assert!(!drain.update(0, 64));
        assert_eq!(drain.turn(), Turn::Both);
    }
}
