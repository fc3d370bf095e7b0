//! Loads with hints about eviction, and what drops lines that nobody has written.

use super::cache::L1;
use crate::config::machine::EvictionHints;
use crate::parts::{Access, AccessKind, Lookup, Outcome, Refusal, SectorSet, Way};
use crate::units::Cycle;

impl L1 {
    /// A load of a line that is to be evicted first, or last.
    pub(super) fn load_to_evict(
        &mut self,
        now: Cycle,
        access: &Access,
    ) -> Result<Outcome, Refusal> {
        let was_absent = self.tags.lookup(access.line) == Lookup::Absent;
        let outcome = self.load(now, access.line, access.bytes, access.waiter)?;
        let (Lookup::Present(way) | Lookup::Reserved(way)) = self.tags.lookup(access.line) else {
            return Ok(outcome);
        };
        match (access.kind, self.config.hints) {
            (AccessKind::LoadFirst, _) if was_absent => self.tags.evict_first(way),
            (AccessKind::LoadLast, EvictionHints::Followed { last_ways }) => {
                self.tags.evict_last(way, last_ways.size());
            }
            _ => {}
        }
        Ok(outcome)
    }

    /// A load of a line that is not to be kept where it is not here: it goes past the tags then.
    pub(super) fn load_once(&mut self, now: Cycle, access: &Access) -> Result<Outcome, Refusal> {
        let wanted = access.bytes & self.sectors.whole();
        let is_served_here = match self.tags.lookup(access.line) {
            Lookup::Present(way) => wanted & !self.valid(way) == 0,
            Lookup::Reserved(way) => {
                // One that is refused for want of a merger field would go past the tags once an acquire has dropped what is here.
                let may_join = !self.mshrs.is_entry_full(self.tags[way].entry);
                let comes = if may_join { self.on_their_way(way) } else { 0 };
                wanted & !(self.valid(way) | comes) == 0
            }
            Lookup::Absent => false,
        };
        match is_served_here {
            true => self.load(now, access.line, access.bytes, access.waiter),
            false => self.bypass(now, access),
        }
    }

    /// A load goes past the tags: what it wants does not stay here.
    pub(super) fn drop_past(&mut self, access: &Access) {
        let is_dropped = self.drop_touched(access);
        self.stats.load_evictions += u64::from(is_dropped);
    }

    /// Drops every line; those that are on their way are when they have come.
    pub(super) fn empty(&mut self) {
        self.stats.acquires += 1;
        if self.empty_since == Some(self.tags.clock()) {
            // As between two looks at a flag that nobody has set.
            return;
        }
        let mut are_on_their_way = false;
        for way in self.tags.ways() {
            if self.tags.occupant(way).is_none() {
                continue;
            }
            if self.tags.is_reserved(way) {
                let missing = SectorSet::of(self.on_their_way(way));
                self.doom_sectors(way, missing);
                let here = SectorSet::of(self.valid(way)).without(missing);
                self.drop_sectors(way, here);
                are_on_their_way = true;
            } else {
                self.tags.invalidate(way);
            }
        }
        self.empty_since = (!are_on_their_way).then_some(self.tags.clock());
    }

    /// Bytes of a line that are on their way.
    fn on_their_way(&self, way: Way) -> u128 {
        match self.tags.is_reserved(way) {
            true => self.mshrs[self.tags[way].entry].missing.bytes(),
            false => 0,
        }
    }
}
