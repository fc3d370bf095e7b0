//! Barriers of a CTA.
//!
//! A unit of the SM takes one arrival after the other, whosever CTA it is. When it has taken the last one that a barrier waits for, the
//! warps there go on some cycles later. Where the machine says so, a warp that has arrived goes on until its next instruction is neither
//! arithmetic nor a read of the constant bank, and waits there.
//!
//! Source: measured on an H200, `results/h200/barrier`.

use super::core::Sm;
use super::program::{Action, Decoded, Maker, Port};
use super::scheduler::SLOTS;
use crate::config::machine::{BarrierTiming, BehindBarriers};
use crate::isa::{BarrierKind, BarrierUse, Operands};
use crate::stats::WaitReason;
use crate::units::{Bits, Cycle};

/// What takes operations of warps one after the other, and answers each some time later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    /// From an operation to the next one [core cycles].
    interval: u64,
    /// From an operation to its answer [core cycles].
    latency: u64,
    /// When it takes the next one.
    free: Cycle,
    /// When it takes the next one of those that follow from another one's answer.
    again: Cycle,
}

impl Unit {
    /// One that is free.
    pub fn new(interval: u64, latency: u64) -> Self {
        Unit { interval, latency, free: Cycle(0), again: Cycle(0) }
    }

    /// Takes an operation that comes at `at`; gives when its answer is there.
    pub fn operate(&mut self, at: Cycle) -> Cycle {
        let start = at.max(self.free);
        self.free = start + self.interval;
        start + self.latency
    }

    /// Takes an operation that comes at `at`, later than `now`, as an answer of now is there then; gives when its own is. What comes
    /// until then goes before it.
    pub fn operate_again(&mut self, now: Cycle, at: Cycle) -> Cycle {
        let start = at.max(self.again);
        self.again = start + self.interval;
        self.free = self.free.max(now) + self.interval;
        start + self.latency
    }

    /// When an answer is there that needs none of its own, but those before it.
    fn after_others(&self, at: Cycle) -> Cycle {
        at.max(Cycle(self.free.0.saturating_sub(self.interval))) + self.latency
    }
}

/// The unit for barriers, and where the warps stand that have arrived.
#[derive(Clone, Debug)]
pub(super) struct Barriers {
    unit: Unit,
    /// What an arrival takes longer for each register that says which barrier it is or how many threads come [core cycles].
    from_register: u64,
    /// From the opening of a barrier to the result of its reduction [core cycles].
    result: u64,
    /// Warps go on behind a barrier with arithmetic.
    goes_on: bool,
    /// By warp slot that goes on: when its barrier opens; never while that is not known.
    opens: Box<[Cycle; SLOTS]>,
    /// By warp slot that waits: the result of the reduction.
    results: Box<[Operands; SLOTS]>,
}

impl Barriers {
    /// Those of an SM.
    pub fn new(timing: &BarrierTiming) -> Self {
        Barriers {
            unit: Unit::new(timing.interval.cycles(), timing.latency.cycles()),
            from_register: timing.from_register.cycles(),
            result: timing.result.cycles(),
            goes_on: timing.behind == BehindBarriers::Arithmetic,
            opens: Box::new([Cycle::NEVER; SLOTS]),
            results: Box::new([Operands::NONE; SLOTS]),
        }
    }
}

impl Sm {
    /// Issues a warp's arrival at a barrier; its next instruction may issue at `next_issue` where nothing keeps it.
    #[inline(never)]
    pub(super) fn come_to_barrier(&mut self, now: Cycle, warp: usize, next_issue: Cycle) {
        let Decoded { port, action, dsts, .. } = self.program.insts[self.warps.pc(warp)];
        let at = self.warps.reader_mut(warp).barrier(self.ctas.stream(warp));
        let next = self.warps.advance(warp, port, &self.ctas, &self.program);
        let (more, stops) = (next.is_some(), next.is_some_and(|next| next.stops_behind_barrier));
        // A warp that has ended waits for nobody, and a barrier of all does not wait for it.
        if at.kind != BarrierKind::Pass && (more || at.warps > 0) {
            let waits = more && at.kind == BarrierKind::Wait;
            let goes_on = self.barriers.goes_on && !stops && dsts.as_slice().is_empty();
            let bit = u64::from(waits) << warp;
            if goes_on {
                self.warps.past_barrier |= bit;
                self.barriers.opens[warp] = Cycle::NEVER;
            } else {
                self.stay_at_barrier(warp, waits, now);
                self.barriers.results[warp] = if waits { dsts } else { Operands::NONE };
            }
            let registers = match action {
                Action::Barrier { registers } => u64::from(registers),
                _ => 0,
            };
            let later = registers * self.barriers.from_register;
            let opens = self.barriers.unit.operate(now) + later;
            let kind = if waits { BarrierKind::Wait } else { BarrierKind::Arrive };
            let cta = self.ctas.of_warp(warp);
            if let Some(waiting) = self.ctas.arrive(cta, warp, BarrierUse { kind, ..at }) {
                self.open_barriers(now, waiting, 1, opens);
            }
            if waits && !goes_on {
                return;
            }
        }
        if more {
            self.go_on(now, warp, next_issue);
        } else {
            self.end_warp(now, warp);
        }
    }

    /// The last warp of a CTA that barriers wait for has ended: those that wait at them go on.
    pub(super) fn open_without_arrival(&mut self, now: Cycle, waiting: u64, opened: u64) {
        let opens = self.barriers.unit.after_others(now);
        self.open_barriers(now, waiting, opened, opens);
    }

    /// Lets the warps go on at `opens` that wait at `opened` barriers.
    fn open_barriers(&mut self, now: Cycle, waiting: u64, opened: u64, opens: Cycle) {
        self.stats.barriers += opened;
        for warp in Bits(waiting & self.warps.past_barrier) {
            self.barriers.opens[warp] = opens;
        }
        let there = waiting & self.warps.at_barrier;
        self.warps.at_barrier &= !there;
        for warp in Bits(there) {
            let Barriers { results, result, .. } = &mut self.barriers;
            for &reg in std::mem::replace(&mut results[warp], Operands::NONE).as_slice() {
                self.warps.set_ready_at(warp, reg, opens + *result, Port::Int as Maker);
            }
            self.leave_barrier(now, warp, opens.max(self.warps[warp].wakes_at.near(now)));
        }
    }

    /// A warp that `waits` does so at a barrier, and does not go on before `next_issue`.
    fn stay_at_barrier(&mut self, warp: usize, waits: bool, next_issue: Cycle) {
        self.warps.at_barrier |= u64::from(waits) << warp;
        self.warps[warp].wakes_at = next_issue.into();
    }

    /// A warp that has gone on behind a barrier has come to an instruction that has to wait for it, and can issue at `next_issue`
    /// otherwise.
    #[inline(never)]
    pub(super) fn wait_behind_barrier(&mut self, now: Cycle, warp: usize, next_issue: Cycle) {
        self.warps.past_barrier &= !(1 << warp);
        match self.barriers.opens[warp] {
            Cycle::NEVER => self.stay_at_barrier(warp, true, next_issue),
            opens if opens > next_issue => self.leave_barrier(now, warp, opens),
            _ => self.go_on(now, warp, next_issue),
        }
    }

    /// A warp goes on when its barrier opens.
    pub(super) fn leave_barrier(&mut self, now: Cycle, warp: usize, opens: Cycle) {
        self.note_hold(warp, WaitReason::Barrier, opens);
        self.go_on(now, warp, opens);
        let waits = self.warps.on_arithmetic & !self.warps.on_fetch & 1 << warp;
        if waits != 0 && self.warps[warp].wakes_at.near(now) == opens {
            self.warps.opening |= waits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_takes_one_operation_after_the_other() {
        let mut unit = Unit::new(2, 11);
        let answers = [0, 0, 1, 9, 9].map(|at| unit.operate(Cycle(at)).0);
        assert_eq!(answers, [11, 13, 15, 20, 22]);
        assert_eq!([9, 12].map(|at| unit.after_others(Cycle(at)).0), [22, 23]);
        // All at once.
        let mut unit = Unit::new(0, 4);
        assert_eq!([3, 3, 3].map(|at| unit.operate(Cycle(at)).0), [7, 7, 7]);
    }
}
