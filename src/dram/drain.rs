//! Whose turn it is: reads, writes, or both.

use crate::config::machine::WriteDrain;

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
