//! Data and acknowledgements that come to the warps of an SM.

use super::bulk::{BULK, BULK_WRITE};
use super::copies::NO_GROUP;
use super::core::Sm;
use super::journey::Journey;
use super::program::FROM_MEMORY;
use crate::parts::{DataCache, Reply, ReplyKind, Waiter};
use crate::stats::WaitReason;
use crate::units::Cycle;

impl Sm {
    /// Data of an access comes soon.
    #[inline(always)]
    pub fn prefetch_wait(&self, waiter: &Waiter) {
        self.outstanding.prefetch(waiter.tracker);
    }

    /// A reply arrives, before the rest of cycle `now`.
    #[inline(always)]
    pub fn receive(&mut self, now: Cycle, reply: &Reply, cache: &mut impl DataCache) {
        match reply.kind {
            ReplyKind::Fill => {
                cache.fill(now, reply);
                self.next_data = self.next_data.min(cache.next_release());
            }
            ReplyKind::Data => {
                let waiter = cache.bypass_arrived(reply);
                let journey = Journey::bypassed(&waiter, &reply.stamps, now);
                if waiter.tracker >= BULK {
                    return self.bulk_arrived(now, waiter.tracker, &journey);
                }
                self.access_done(now, waiter.tracker, &journey, true);
            }
            ReplyKind::Ack => {
                self.stores_in_flight -= 1;
                self.residency_changed |= self.stores_in_flight == 0;
                if reply.slot & BULK_WRITE != 0 {
                    return self.bulk_written(now, usize::from(reply.slot & !BULK_WRITE));
                }
                let warp = usize::from(reply.slot);
                self.warps[warp].pending_stores -= 1;
                self.end_fence_wait_if_done(now, warp);
                self.end_cta_of_warp_if_done(now, warp);
            }
        }
    }

    /// An access of the latency ledger has its data, from the L2 or from here.
    #[inline(always)]
    fn access_done(&mut self, now: Cycle, place: u32, journey: &Journey, from_l2: bool) {
        journey.charge_latency(&mut self.latency_ledger);
        if let Some(profile) = &mut self.profile {
            profile.access_done(place, journey);
        }
        self.latency_accesses += 1;
        self.finish_access(now, place, journey, from_l2);
    }

    #[inline(always)]
    fn finish_access(&mut self, now: Cycle, place: u32, journey: &Journey, from_l2: bool) {
        let load = self.outstanding.at_mut(place);
        load.remaining -= 1;
        let is_done = load.remaining == 0;
        let ready = if from_l2 { self.lsu.pass_data(now, load.warp) } else { now };
        if is_done {
            self.finish_load(now, place, journey, ready);
        }
    }

    /// A load has all of its data, the last with `journey`; it is in the registers at `ready`.
    #[inline(never)]
    fn finish_load(&mut self, now: Cycle, place: u32, journey: &Journey, ready: Cycle) {
        let Sm { outstanding, sub_cores, issue_ledger, .. } = self;
        let done = outstanding.remove(now, place, journey, sub_cores, issue_ledger);
        let (warp, group) = (usize::from(done.warp), done.group);
        for &reg in done.dsts.as_slice() {
            self.warps.set_ready_at(warp, reg, ready, FROM_MEMORY);
        }
        self.warps[warp].pending_loads -= 1;
        if self.warps.on_memory >> warp & 1 == 1 {
            self.warps.on_memory &= !(1 << warp);
            let earliest = now.max(self.warps[warp].wakes_at.near(now));
            self.wait_for_operands(now, warp, earliest);
            // Not where another register keeps it for longer.
            if (ready > now) & (self.warps[warp].wakes_at.near(now) == ready) {
                self.warps.passing |= self.warps.on_arithmetic & 1 << warp;
            }
        }
        if (self.warps.for_loads >> warp & 1 == 1) | (group != NO_GROUP) {
            self.loads_done(now, warp, group);
        }
        self.end_cta_of_warp_if_done(now, warp);
    }

    /// A load of a warp is done that waits for loads, or a copy of any.
    #[inline(never)]
    fn loads_done(&mut self, now: Cycle, warp: usize, group: u8) {
        let copies_done = group != NO_GROUP && self.copies.end(warp, group);
        while let Some(id) = self.copies.take_arrival(warp) {
            self.arrive_at_mbarrier(now, self.ctas.of_warp(warp), id);
            self.warps.stirred = true;
        }
        let bit = 1 << warp;
        let is_done = match self.warps.at_fence & bit {
            0 => copies_done,
            _ => self.warps[warp].pending_loads == 0,
        };
        if self.warps.for_loads & bit == 0 || !is_done {
            return;
        }
        self.warps.for_loads &= !bit;
        // What a scheduler waits for is another thing now.
        self.warps.stirred = true;
        if self.warps.at_fence & bit == 0 {
            self.note_hold(warp, WaitReason::Memory, now);
            self.go_on(now, warp, now);
        } else {
            self.end_fence_wait_if_done(now, warp);
        }
    }

    /// Data to the warps that wait for it.
    #[inline(always)]
    pub(super) fn take_data(&mut self, now: Cycle, cache: &mut impl DataCache) {
        for _ in 0..self.releases_per_cycle {
            if cache.next_release() > now {
                break;
            }
            let Some(released) = cache.release(now) else { break };
            let journey = Journey::filled(&released, now);
            self.access_done(now, released.waiter.tracker, &journey, true);
        }
        if self.bulk.next <= now {
            self.run_bulk(now, cache);
        }
        if self.returns.next() > now {
            return;
        }
        if let Some((waiter, accesses)) = self.returns.take_hits(now) {
            for _ in 0..accesses {
                self.access_done(now, waiter.tracker, &Journey::hit(&waiter, now), false);
            }
        }
        if let Some(waiter) = self.returns.take_shared(now) {
            self.finish_access(now, waiter.tracker, &Journey::shared(&waiter, now), false);
        }
    }
}
