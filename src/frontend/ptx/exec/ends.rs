//! What ends a block: branches, calls, exits, and waiting.

use super::super::program::{NO_BLOCK, Step};
use super::Fault;
use super::barrier;
use super::calls::Calls;
use super::control::{meet, meeting, micro_at, ways_of};
use super::matrix;
use super::mbarrier::some_wait;
use super::memory::Spaces;
use super::registers::Registers;
use super::warp::{Here, Running};
use crate::isa::{BarrierKind, BarrierUse, LaneMask};

impl Running<'_> {
    /// Goes on from a block whose last instruction is `step`, for the lanes of `active`.
    #[inline(always)]
    pub fn end_block(
        &mut self,
        here: Here,
        (step, active): (Step, LaneMask),
        regs: &mut Registers,
        spaces: &mut Spaces,
    ) -> Result<(), Fault> {
        match (step, active) {
            (Step::Branch(target), _) => self.branch(here, target, active),
            (Step::Exit, _) => {
                self.stack.exit(active, here.next());
                self.calls.end_if_done(here.frame.call, self.program, self.stack, regs, spaces);
            }
            (Step::Return, _) => {
                self.stack.leave(active, here.next());
                self.calls.end_if_done(here.frame.call, self.program, self.stack, regs, spaces);
            }
            (Step::Call(_), 0) => self.stack.go(here.next()),
            (Step::Call(site), _) => self.call(here, site, active, regs, spaces)?,
            (Step::Indexed(table), _) => self.branch_by_table(here, table, active, regs)?,
            (Step::WarpSync | Step::Meet(..), _) => {
                meet(self.program, self.stack, here, active, regs)
            }
            (Step::Barrier(_), 0) => {
                let none = BarrierUse { kind: BarrierKind::Pass, ..BarrierUse::ALL };
                self.stream.push_barrier(none);
                self.stack.go(here.next());
            }
            (Step::Barrier(barrier), _) => self.barrier(here, barrier, active, regs)?,
            (Step::GroupWait, _) => self.wait_for_warpgroup(here, active)?,
            (Step::Bulk(index), _) => self.bulk(here, index, active, regs, spaces)?,
            (Step::Mbarrier(index), _) => self.mbarrier(here, index, active, regs, spaces)?,
            _ => self.stack.go(here.next()),
        }
        Ok(())
    }

    #[inline(always)]
    fn branch(&mut self, here: Here, target: u32, taken: LaneMask) {
        if here.issued.predicated != NO_BLOCK && taken == here.frame.mask {
            // No lane executes the block that is predicated.
            let issued = &self.program.issued;
            let skipped = issued.blocks[here.issued.predicated as usize];
            (0..skipped.accesses).for_each(|_| self.stream.push_affine(0, 0, 0));
            self.iterations.end_region(skipped.order, issued, self.stream);
        }
        self.stack.branch(taken, target, here.next(), here.block.reconverge);
    }

    #[inline(always)]
    fn branch_by_table(
        &mut self,
        here: Here,
        table: u32,
        active: LaneMask,
        regs: &Registers,
    ) -> Result<(), Fault> {
        let targets = &self.program.tables[table as usize];
        let ways = ways_of(targets, regs, micro_at(self.program, here.last()), active)
            .map_err(|(lane, message)| self.fault(here.last(), lane, message))?;
        let rest = here.frame.mask & !active;
        let stay = (rest != 0).then_some((here.next(), rest));
        let ways: Vec<(u32, LaneMask)> = stay.into_iter().chain(ways).collect();
        self.stack.part(&ways, here.block.reconverge);
        Ok(())
    }

    #[inline(always)]
    fn call(
        &mut self,
        here: Here,
        site: u32,
        active: LaneMask,
        regs: &mut Registers,
        spaces: &mut Spaces,
    ) -> Result<(), Fault> {
        let pc = here.last();
        let (function, same) = Calls::target(self.program, site, regs, active)
            .map_err(|(lane, message)| self.fault(pc, lane, message))?;
        if same == active {
            self.stack.part_from(active, here.next());
            return self
                .calls
                .enter(self.program, (site, function, same), self.stack, regs, spaces)
                .map_err(|message| self.fault(pc, here.lane(), message));
        }
        // The call is a block of its own: it executes again for each function.
        let mask = here.frame.mask;
        let block = here.frame.block;
        let ways = [(here.next(), mask & !active), (block, active & !same), (block, same)];
        self.stack.part(&ways[usize::from(mask == active)..], here.next());
        Ok(())
    }

    #[inline(always)]
    fn barrier(
        &mut self,
        here: Here,
        barrier: u32,
        active: LaneMask,
        regs: &Registers,
    ) -> Result<(), Fault> {
        let (pc, lane) = (here.last(), here.lane());
        let at = barrier::named(&self.program.barriers[barrier as usize], regs, active)
            .map_err(|(lane, message)| self.fault(pc, lane, message))?;
        if at.kind == BarrierKind::Arrive {
            if active != self.stack.live() {
                let message = "arrives at a barrier without all lanes of its warp";
                return Err(self.fault(pc, lane, message.into()));
            }
            self.stream.push_barrier(at);
            self.barriers
                .arrive(at, self.warp, false, self.alive)
                .map_err(|message| self.fault(pc, lane, message))?;
            self.stack.go(here.next());
        } else {
            self.stack.part_from(active, here.next());
            self.stack.wait(pc as u32);
            let pass = BarrierUse { kind: BarrierKind::Pass, ..at };
            *self.passed = Some((self.stream.push_barrier(pass), at));
        }
        Ok(())
    }

    #[inline(never)]
    fn mbarrier(
        &mut self,
        here: Here,
        index: u32,
        active: LaneMask,
        regs: &mut Registers,
        spaces: &mut Spaces,
    ) -> Result<(), Fault> {
        let step = &self.program.mbarriers[index as usize];
        let place = (self.program, here.last() as u32);
        let Running { mbarriers, stream, waits, .. } = self;
        let goes_on = mbarriers
            .execute(place, step, active, regs, spaces.shared, (stream, waits))
            .map_err(|(lane, message)| self.fault(here.last(), lane, message))?;
        if goes_on {
            self.stack.go(here.next());
        } else {
            self.stack.part_from(active, here.next());
            self.stack.wait(here.last() as u32);
        }
        Ok(())
    }

    /// Waits for the other warps of the warpgroup.
    #[inline(never)]
    fn wait_for_warpgroup(&mut self, here: Here, active: LaneMask) -> Result<(), Fault> {
        if active != LaneMask::MAX {
            let message = matrix::lanes_missing(active);
            return Err(self.fault(here.last(), here.lane(), message));
        }
        self.stack.part_from(active, here.next());
        self.stack.wait(here.last() as u32);
        Ok(())
    }

    #[inline(never)]
    fn bulk(
        &mut self,
        here: Here,
        index: u32,
        active: LaneMask,
        regs: &Registers,
        spaces: &mut Spaces,
    ) -> Result<(), Fault> {
        let step = &self.program.bulks[index as usize];
        spaces
            .bulk(step, active, regs, self.mbarriers, self.stream)
            .map_err(|(lane, message)| self.fault(here.last(), lane, message))?;
        self.stack.go(here.next());
        Ok(())
    }

    /// Where no lane runs: whether some wait at an mbarrier. Those whose phase has ended go on.
    pub fn waits_at_mbarrier(&mut self, regs: &mut Registers, spaces: &Spaces) -> bool {
        if !some_wait(self.program, self.stack) {
            return false;
        }
        let stream = (&mut *self.stream, &mut *self.waits);
        self.mbarriers.go_on(self.program, self.stack, regs, spaces.shared, stream, false);
        true
    }

    /// Arrives at the barrier at which all lanes wait; the block is the one that ran last.
    #[inline(always)]
    pub fn arrive(&mut self, here: Here, regs: &Registers) -> Result<(), Fault> {
        let at = meeting(self.program, self.stack, regs, self.warp).map_err(|(a, b)| {
            let [first, second] = [a, b].map(|pc| self.program.insts[pc as usize].line);
            let meets = |pc: u32| {
                let step = micro_at(self.program, pc as usize).step;
                matches!(step, Step::Meet(..) | Step::WarpSync)
            };
            let why = if meets(a) || meets(b) {
                "for members that do not come"
            } else {
                "at different barriers, so that none opens"
            };
            let others = if first == second {
                String::new()
            } else {
                format!(" and others in line {second}")
            };
            let message = format!("lanes of its warp wait in line {first}{others}, {why}");
            self.fault(a as usize, self.stack.live().trailing_zeros() as usize, message)
        })?;
        if let Some((place, _)) = *self.passed {
            self.stream.set_barrier(place, at);
        }
        self.barriers
            .arrive(at, self.warp, true, self.alive)
            .map_err(|message| self.fault(here.last(), here.lane(), message))
    }
}
