//! Accesses that go on to the L2 in any case: stores, atomics, and loads past the tags. What they do to lines here.

use super::cache::L1;
use crate::config::machine::{PastLoads, StorePolicy};
use crate::parts::{
    Access, AccessKind, Lookup, Outcome, Refusal, RequestKind, SectorSet, Waiter, Way, sectors_of,
};
use crate::units::{Cycle, LineAddr};

impl L1 {
    /// An access that goes on to the L2 in any case.
    #[inline(never)]
    pub(super) fn pass_by(&mut self, now: Cycle, access: &Access) -> Result<Outcome, Refusal> {
        match access.kind {
            AccessKind::Store => self.store(now, access, self.config.stores),
            AccessKind::LocalStore => self.store(now, access, self.config.local_stores),
            AccessKind::Reduction => self.reduce(now, access),
            AccessKind::BulkStore => self.store_in_bulk(now, access),
            AccessKind::BulkReduction => self.reduce_in_bulk(now, access),
            AccessKind::LoadFirst | AccessKind::LoadLast => self.load_to_evict(now, access),
            AccessKind::LoadOnce => self.load_once(now, access),
            _ => self.bypass(now, access),
        }
    }

    pub(super) fn bypass(&mut self, now: Cycle, access: &Access) -> Result<Outcome, Refusal> {
        let slot = self.bypass_slot().ok_or(Refusal::MissQueue)?;
        let (kind, bytes) = if access.kind == AccessKind::Atomic {
            self.modify(access);
            (RequestKind::Atomic, access.bytes)
        } else {
            if self.config.past_loads == PastLoads::Drop && access.kind == AccessKind::BypassLoad {
                self.drop_past(access);
            }
            self.stats.load_bypasses += 1;
            self.stats.load_sectors += u64::from(sectors_of(access.bytes));
            (RequestKind::Load, self.reply_sectors.around(access.bytes))
        };
        let waiter = Waiter { accepted: now.into(), ..access.waiter };
        self.bypasses[usize::from(slot)] = waiter;
        self.send(now, access.line, bytes, kind, slot, access.atomic_work);
        Ok(Outcome::Sent)
    }

    /// An atomic without an answer but that it is done.
    fn reduce(&mut self, now: Cycle, access: &Access) -> Result<Outcome, Refusal> {
        if self.is_miss_queue_full() {
            return Err(Refusal::MissQueue);
        }
        self.modify(access);
        Ok(self.send_reduction(now, access))
    }

    /// The same of a bulk copy, which does not concern what is here.
    fn reduce_in_bulk(&mut self, now: Cycle, access: &Access) -> Result<Outcome, Refusal> {
        if self.is_miss_queue_full() {
            return Err(Refusal::MissQueue);
        }
        self.stats.atomics += 1;
        Ok(self.send_reduction(now, access))
    }

    fn send_reduction(&mut self, now: Cycle, access: &Access) -> Outcome {
        let Access { line, bytes, waiter, atomic_work, .. } = *access;
        let kind = RequestKind::Reduction;
        self.send(now, line, bytes, kind, waiter.tracker as u16, atomic_work);
        Outcome::Sent
    }

    /// The L2 is about to modify bytes of a line.
    fn modify(&mut self, access: &Access) {
        let is_dropped = match self.tags.lookup(access.line) {
            Lookup::Present(way) => {
                self.tags.invalidate(way);
                true
            }
            Lookup::Reserved(way) if self.config.stores == StorePolicy::Drop => {
                self.drop_reserved(way, access)
            }
            _ => false,
        };
        self.stats.store_evictions += u64::from(is_dropped);
        self.stats.atomics += 1;
    }

    /// Where to note who waits for a load past the tags; none when the miss queue is full, or as many are outstanding as requests
    /// have slots.
    #[inline]
    fn bypass_slot(&mut self) -> Option<u16> {
        if self.is_miss_queue_full() {
            return None;
        }
        self.free_bypasses.pop().or_else(|| {
            let slot = u16::try_from(self.bypasses.len()).ok()?;
            self.bypasses.push(Waiter::default());
            Some(slot)
        })
    }

    #[inline]
    fn store(
        &mut self,
        now: Cycle,
        access: &Access,
        policy: StorePolicy,
    ) -> Result<Outcome, Refusal> {
        if self.is_miss_queue_full() {
            return Err(Refusal::MissQueue);
        }
        match policy {
            StorePolicy::Evict => {
                if let Lookup::Present(way) = self.tags.lookup(access.line) {
                    self.tags.invalidate(way);
                    self.stats.store_evictions += 1;
                }
            }
            StorePolicy::Drop => {
                let is_dropped = self.drop_touched(access);
                self.stats.store_evictions += u64::from(is_dropped);
            }
            StorePolicy::Update => {
                if let Lookup::Present(way) = self.tags.lookup(access.line) {
                    self.tags.touch(way);
                }
            }
            StorePolicy::Validate => self.validate(access.line, access.bytes),
        }
        Ok(self.send_store(now, access))
    }

    /// A store that leaves lines here as they are.
    fn store_in_bulk(&mut self, now: Cycle, access: &Access) -> Result<Outcome, Refusal> {
        if self.is_miss_queue_full() {
            return Err(Refusal::MissQueue);
        }
        Ok(self.send_store(now, access))
    }

    fn send_store(&mut self, now: Cycle, access: &Access) -> Outcome {
        self.stats.stores += 1;
        self.stats.store_sectors += u64::from(sectors_of(access.bytes));
        let Access { line, bytes, waiter, .. } = *access;
        self.send(now, line, bytes, RequestKind::Store, waiter.tracker as u16, 0);
        Outcome::Sent
    }

    /// Keeps the bytes of a store, in a line of their own if there is one to be had.
    fn validate(&mut self, line: LineAddr, bytes: u128) {
        let way = match self.tags.lookup(line) {
            Lookup::Present(way) | Lookup::Reserved(way) => {
                self.tags.touch(way);
                way
            }
            Lookup::Absent => {
                let Some(way) = self.tags.victim(line) else { return };
                self.absent = None;
                self.tags.insert(way, line);
                self.bytes.clear(&mut self.tags[way].valid);
                way
            }
        };
        self.bytes.add(&mut self.tags[way].valid, bytes);
    }

    /// Sectors that an access touches do not stay here, nor do those that are on their way; true when there are any.
    pub(super) fn drop_touched(&mut self, access: &Access) -> bool {
        match self.tags.lookup(access.line) {
            Lookup::Reserved(way) => self.drop_reserved(way, access),
            Lookup::Present(way) => {
                let is_dropped = self.drop_sectors(way, self.touched(access));
                self.drop_if_empty(way);
                is_dropped
            }
            Lookup::Absent => false,
        }
    }

    /// The same, of a line of which some sectors are on their way.
    fn drop_reserved(&mut self, way: Way, access: &Access) -> bool {
        let sectors = self.touched(access);
        let missing = self.mshrs[self.tags[way].entry].missing;
        let is_doomed = self.doom_sectors(way, sectors.within(missing));
        self.drop_sectors(way, sectors.without(missing)) || is_doomed
    }

    /// Sectors that an access touches.
    fn touched(&self, access: &Access) -> SectorSet {
        SectorSet::of(self.sectors.around(access.bytes))
    }

    /// Sectors do not stay here when they arrive; true when some would have.
    pub(super) fn doom_sectors(&mut self, way: Way, sectors: SectorSet) -> bool {
        let doomed = &mut self.tags[way].doomed;
        let is_new = !sectors.without(*doomed).is_empty();
        self.doomed_ways += usize::from(doomed.is_empty() && is_new);
        *doomed = doomed.with(sectors);
        is_new
    }

    /// Drops those of the sectors that have arrived for `way` that are doomed; no other is on its way if the line `is_present`.
    #[inline(never)]
    pub(super) fn drop_doomed(&mut self, way: Way, arrived: SectorSet, is_present: bool) {
        let doomed = &mut self.tags[way].doomed;
        let dropped = doomed.within(arrived);
        if dropped.is_empty() {
            return;
        }
        *doomed = doomed.without(dropped);
        self.doomed_ways -= usize::from(doomed.is_empty());
        self.drop_sectors(way, dropped);
        if is_present {
            self.drop_if_empty(way);
        }
    }

    /// Sectors do not stay here; true when any of their bytes were.
    pub(super) fn drop_sectors(&mut self, way: Way, sectors: SectorSet) -> bool {
        self.bytes.remove(&mut self.tags[way].valid, sectors)
    }

    /// A present line without any sector does not stay.
    fn drop_if_empty(&mut self, way: Way) {
        if self.valid(way) == 0 {
            self.tags.invalidate(way);
        }
    }
}
