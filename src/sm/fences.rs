//! Fences: what a warp waits for at one, and what follows.

use super::core::Sm;
use super::program::FenceAction;
use super::scheduler::SLOTS;
use crate::stats::WaitReason;
use crate::units::Cycle;

/// What the warps wait for that are at a fence, and whether the L1 is to hear of one.
#[derive(Clone, Debug)]
pub(super) struct Fences {
    /// By warp slot: the fence that it came to last.
    last: Box<[FenceAction; SLOTS]>,
    /// Acquires in this cycle, from which on what the L1 holds is old.
    acquires: u32,
}

impl Fences {
    /// No warp is at one.
    pub fn new() -> Self {
        Fences { last: Box::new([FenceAction::default(); SLOTS]), acquires: 0 }
    }

    /// What the L1 holds is old from now on.
    pub fn acquire(&mut self) {
        self.acquires += 1;
    }

    /// How often warps have acquired since this was asked.
    #[inline]
    pub fn take_acquires(&mut self) -> u32 {
        std::mem::take(&mut self.acquires)
    }
}

impl Sm {
    /// A warp has issued a fence; it issues its next instruction at `next_issue` where nothing keeps it.
    pub(super) fn come_to_fence(
        &mut self,
        now: Cycle,
        warp: usize,
        fence: FenceAction,
        next_issue: Cycle,
    ) {
        self.fences.last[warp % SLOTS] = fence;
        if self.waits_at_fence(warp) {
            self.warps.at_fence |= 1 << warp;
            self.warps.for_loads |= u64::from(self.warps[warp].pending_loads > 0) << warp;
        } else {
            self.begin_fence(now, warp, next_issue);
        }
    }

    /// Whether accesses of a warp are under way that its fence waits for.
    fn waits_at_fence(&self, warp: usize) -> bool {
        let stores = self.fences.last[warp % SLOTS].release && self.warps[warp].pending_stores > 0;
        self.warps[warp].pending_loads > 0 || stores
    }

    /// An access of a warp is done, for which it may wait at a fence.
    #[inline(always)]
    pub(super) fn end_fence_wait_if_done(&mut self, now: Cycle, warp: usize) {
        if self.warps.at_fence >> warp & 1 == 1 {
            self.end_fence_wait(now, warp);
        }
    }

    #[inline(never)]
    fn end_fence_wait(&mut self, now: Cycle, warp: usize) {
        debug_assert!(self.warps.on_fetch >> warp & 1 == 0, "an access ends behind its fence");
        if !self.waits_at_fence(warp) {
            self.begin_fence(now, warp, now);
        }
    }

    /// A fence takes its time, from `now` on, as all that it waits for is done; without, the warp goes on at `next_issue`.
    fn begin_fence(&mut self, now: Cycle, warp: usize, next_issue: Cycle) {
        match self.fences.last[warp % SLOTS].latency {
            0 => self.leave_fence(now, warp, next_issue),
            latency => {
                self.warps.at_fence |= 1 << warp;
                self.warps.wait_for_instruction(warp, now, now + u64::from(latency));
            }
        }
    }

    /// A fence is done, and its warp goes on at `next_issue`.
    pub(super) fn leave_fence(&mut self, now: Cycle, warp: usize, next_issue: Cycle) {
        self.fences.acquires += u32::from(self.fences.last[warp % SLOTS].acquire);
        self.warps.at_fence &= !(1 << warp);
        self.note_hold(warp, WaitReason::Barrier, next_issue);
        self.go_on(now, warp, next_issue);
    }
}
