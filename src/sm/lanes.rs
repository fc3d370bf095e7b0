//! What looks across the lanes of a warp, other than shuffles and votes.
//!
//! A unit of the SM takes one operation after the other: one that finds which lanes have the same value once for each value.
//!
//! Source: measured on an H200, `results/h200/lanes`.

use super::core::Sm;
use super::program::{Maker, Port};
use crate::config::machine::{Arithmetic, MatchTiming, OpTiming};
use crate::units::Cycle;

/// What the unit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneOp {
    /// Finds which lanes have the same value.
    Match,
    /// Finds whether all have.
    MatchAll,
    /// Sums and the like.
    Reduce,
}

/// The unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneUnit {
    matches: MatchTiming,
    reduce: OpTiming,
    /// When it takes the next operation.
    free: Cycle,
}

impl LaneUnit {
    /// One that is free.
    pub fn new(config: &Arithmetic) -> Self {
        LaneUnit { matches: config.match_, reduce: config.reduce, free: Cycle(0) }
    }

    /// Takes an operation that comes at `at`, on lanes that have so many values; gives when its result is there.
    fn operate(&mut self, at: Cycle, op: LaneOp, values: u64) -> Cycle {
        let MatchTiming { first, further } = self.matches;
        let timing = if op == LaneOp::Reduce { self.reduce } else { first };
        let start = at.max(self.free);
        self.free = start + values * timing.interval.cycles();
        start + timing.latency.cycles() + (values - 1) * further.cycles()
    }
}

impl Sm {
    /// Issues an operation across lanes; the next instruction may issue at `next_issue`.
    #[inline(never)]
    pub(super) fn issue_across_lanes(
        &mut self,
        now: Cycle,
        warp: usize,
        op: LaneOp,
        next_issue: Cycle,
    ) {
        let dsts = self.program.insts[self.warps.pc(warp)].dsts;
        let values = match op {
            LaneOp::Match => {
                let lanes = self.warps.reader_mut(warp).addresses(self.ctas.stream(warp));
                u64::from(lanes.distinct().max(1))
            }
            LaneOp::MatchAll | LaneOp::Reduce => 1,
        };
        let done = self.lanes.operate(now, op, values);
        for &reg in dsts.as_slice() {
            self.warps.set_ready_at(warp, reg, done, Port::Sfu as Maker);
        }
        let next = self.warps.advance(warp, Port::None, &self.ctas, &self.program);
        let Some(stops) = next.map(|next| next.stops_behind_barrier) else {
            return self.end_warp(now, warp);
        };
        if (self.warps.past_barrier >> warp & 1 == 1) & stops {
            return self.wait_behind_barrier(now, warp, next_issue);
        }
        self.go_on(now, warp, next_issue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::presets;

    #[test]
    fn each_value_takes_the_unit_once() {
        let machine = presets::find("h200").unwrap().machine().unwrap();
        let mut unit = LaneUnit::new(&machine.sm.arithmetic);
        let mut at = |cycle, op, values| unit.operate(Cycle(cycle), op, values).0;
        assert_eq!(at(0, LaneOp::Match, 1), 28);
        assert_eq!(at(0, LaneOp::Reduce, 1), 2 + 44);
        assert_eq!(at(0, LaneOp::Match, 32), 4 + 28 + 31 * 11);
        assert_eq!(at(0, LaneOp::MatchAll, 1), 4 + 64 + 28);
        assert_eq!(at(100, LaneOp::MatchAll, 1), 128);
    }
}
