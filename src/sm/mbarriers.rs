//! Mbarriers: barriers in shared memory.
//!
//! An operation on one, an arrival or the question whether a phase has ended, takes a unit of the SM for some cycles, and has its answer
//! as late as a load from shared memory. Who waits for the end of a phase is told of it, and asks again.
//!
//! Source: measured on an H200, `results/h200/mbarrier`.

use super::barriers::Unit;
use super::core::Sm;
use super::program::{FROM_MEMORY, Port};
use crate::isa::Mbarrier;
use crate::units::{Bits, Cycle};

/// From one operation to the next [core cycles]: with 32 warps, each of which arrives and asks, a turn takes 114 cycles more than with one.
const INTERVAL: u64 = 2;

/// What does the operations, where shared memory has this latency [core cycles].
pub(super) fn unit(latency: u64) -> Unit {
    Unit::new(INTERVAL, latency)
}

impl Sm {
    /// Issues what a warp does at an mbarrier; its next instruction may issue at `next_issue` where it waits for nothing.
    #[inline(never)]
    pub(super) fn come_to_mbarrier(
        &mut self,
        now: Cycle,
        warp: usize,
        mbarrier: Mbarrier,
        next_issue: Cycle,
    ) {
        let at = self.warps.reader_mut(warp).mbarrier(self.ctas.stream(warp));
        let cta = self.ctas.of_warp(warp);
        let state = self.program.insts[self.warps.pc(warp)].dsts;
        if self.warps.advance(warp, Port::None, &self.ctas, &self.program).is_none() {
            return self.end_warp(now, warp);
        }
        if mbarrier == Mbarrier::Wait {
            if self.ctas.wait_at_mbarrier(cta, warp, at) {
                self.warps.at_barrier |= 1 << warp;
                return;
            }
            let answer = self.mbarriers.operate(now);
            return self.leave_barrier(now, warp, answer);
        }
        // Where no lane executes it, nobody arrives.
        let arrives = at.arrivals > 0;
        let is_later = arrives
            && mbarrier == Mbarrier::ArriveAfterCopies
            && self.copies.arrives_later(warp, at.id);
        if arrives && !is_later {
            let answer = self.arrive_at_mbarrier(now, cta, at.id);
            for &reg in state.as_slice().iter().filter(|_| mbarrier == Mbarrier::Arrive) {
                self.warps.set_ready_at(warp, reg, answer, FROM_MEMORY);
            }
        }
        self.go_on(now, warp, next_issue);
    }

    /// A warp of a CTA arrives at an mbarrier, or its copies do; gives when the state before that is there.
    pub(super) fn arrive_at_mbarrier(&mut self, now: Cycle, cta: usize, id: u16) -> Cycle {
        let answer = self.mbarriers.operate(now);
        let waiting = self.ctas.arrive_at_mbarrier(cta, id);
        self.stats.barriers += u64::from(waiting != 0);
        self.warps.at_barrier &= !waiting;
        for warp in Bits(waiting) {
            let again = self.mbarriers.operate_again(now, answer);
            self.leave_barrier(now, warp, again);
        }
        answer
    }
}
