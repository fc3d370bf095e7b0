//! Whether sharing phases between threads pays: found out by measuring. The results are the same either way.

use std::time::{Duration, Instant};

use crate::units::Cycle;

/// Phases of a block: all are shared, or none.
const BLOCK: u32 = 32;
/// Every so many blocks the way that seems slower is tried again.
const TRIAL: u32 = 16;

/// What a cycle costs, shared and alone.
#[derive(Debug)]
pub struct Pace {
    is_shared: bool,
    /// Phases left of this block, and blocks until the next trial.
    phases: u32,
    blocks: u32,
    began: Instant,
    from: Cycle,
    /// Nanoseconds a cycle, alone and shared, as far as known.
    costs: [Option<f64>; 2],
}

impl Pace {
    /// Of a run that begins now, with cycle `from`.
    pub fn new(from: Cycle) -> Self {
        let (blocks, began) = (TRIAL, Instant::now());
        Pace { is_shared: true, phases: BLOCK, blocks, began, from, costs: [None; 2] }
    }

    /// Whether the next phase is to be shared.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// A phase is over; `clock` says which cycle comes next.
    #[inline]
    pub fn end_phase(&mut self, clock: impl FnOnce() -> Cycle) {
        self.phases -= 1;
        if self.phases == 0 {
            let (now, clock) = (Instant::now(), clock());
            self.end_block(now - self.began, clock.since(self.from));
            (self.began, self.from) = (now, clock);
        }
    }

    /// A block took `time` for so many cycles.
    fn end_block(&mut self, time: Duration, cycles: u64) {
        let cost = time.as_nanos() as f64 / cycles.max(1) as f64;
        let known = &mut self.costs[usize::from(self.is_shared)];
        *known = Some(known.map_or(cost, |known| (known + cost) / 2.0));
        self.phases = BLOCK;
        self.blocks -= 1;
        let shared_pays = match self.costs {
            [Some(alone), Some(shared)] => shared < alone,
            [alone, _] => alone.is_some(),
        };
        self.is_shared = shared_pays;
        if self.blocks == 0 {
            self.blocks = TRIAL;
            self.is_shared = !shared_pays;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand blocks are shared when a cycle costs so much alone and so much shared.
    fn shared_blocks(alone: u64, shared: u64) -> usize {
        let mut pace = Pace::new(Cycle(0));
        let blocks = (0..1000).filter(|_| {
            let is_shared = pace.is_shared();
            let nanos = 1000 * if is_shared { shared } else { alone };
            pace.end_block(Duration::from_nanos(nanos), 1000);
            is_shared
        });
        blocks.count()
    }

    #[test]
    fn the_faster_way_is_taken_nearly_always_and_the_other_one_tried_at_times() {
        assert!((900..980).contains(&shared_blocks(20, 10)));
        assert!((20..100).contains(&shared_blocks(10, 20)));
    }
}
