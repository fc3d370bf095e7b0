//! The access path and the fill path.

use super::stats::L1Stats;
use crate::config::machine::L1Config;
use crate::parts::{
    Access, AccessKind, DataCache, Lookup, MshrFile, MshrId, Outcome, Refusal, Released, Reply,
    Request, RequestKind, Stamps, TagArray, Waiter, Way,
};
use crate::ring::Ring;
use crate::units::{Cycle, LineAddr};

/// One L1 data cache.
#[derive(Clone, Debug)]
pub struct L1 {
    sm: u16,
    fill_latency: u64,
    tags: TagArray,
    /// The MSHR entry of each way; meaningful for reserved ways.
    entry_of_way: Box<[MshrId]>,
    mshrs: MshrFile<Waiter>,
    /// What each entry's fill brought; the way it fills is kept beside.
    fills: Box<[EntryFill]>,
    /// Entries whose line has arrived and that still have accesses to release, oldest first.
    releasing: Ring<MshrId>,
    miss_queue: Ring<Request>,
    /// Loads and atomics that went past the tags, by slot.
    bypasses: Vec<Waiter>,
    free_bypasses: Vec<u16>,
    stats: L1Stats,
}

#[derive(Clone, Copy, Debug, Default)]
struct EntryFill {
    way: Way,
    arrived: Cycle,
    stamps: Stamps,
}

impl L1 {
    /// An empty cache of SM `sm`.
    pub fn new(config: &L1Config, sm: u16) -> Self {
        let tags =
            TagArray::new(config.sets.size(), config.ways.size(), config.index, config.replacement);
        let entries = config.mshr_entries.size();
        L1 {
            sm,
            fill_latency: config.fill_latency.cycles(),
            entry_of_way: vec![MshrId::default(); tags.len()].into(),
            tags,
            mshrs: MshrFile::new(entries, config.mshr_mergers.size()),
            fills: vec![EntryFill::default(); entries].into(),
            releasing: Ring::new(entries),
            miss_queue: Ring::new(config.miss_queue.size()),
            bypasses: Vec::new(),
            free_bypasses: Vec::new(),
            stats: L1Stats::default(),
        }
    }

    /// Counters since construction.
    pub fn stats(&self) -> &L1Stats {
        &self.stats
    }

    fn load(&mut self, now: Cycle, access: Access) -> Result<Outcome, Refusal> {
        let waiter = Waiter { accepted: now, ..access.waiter };
        match self.tags.lookup(access.line) {
            Lookup::Present(way) => {
                self.tags.touch(way);
                return Ok(Outcome::Hit);
            }
            Lookup::Reserved(way) => {
                let entry = self.entry_of_way[way.index()];
                self.mshrs.merge(entry, waiter).map_err(|_| Refusal::NoMerger)?;
                return Ok(Outcome::Merged);
            }
            Lookup::Absent => {}
        }
        let way = self.tags.victim(access.line).ok_or(Refusal::NoCacheLine)?;
        if self.mshrs.is_full() {
            return Err(Refusal::NoMshrLine);
        }
        if self.miss_queue.is_full() {
            return Err(Refusal::MissQueue);
        }
        let entry = self.mshrs.allocate(waiter).expect("an entry is free");
        self.tags.reserve(way, access.line);
        self.entry_of_way[way.index()] = entry;
        self.fills[entry.index()].way = way;
        self.send(now, access, RequestKind::Fetch, entry.0);
        Ok(Outcome::Miss)
    }

    fn bypass(&mut self, now: Cycle, access: Access) -> Result<Outcome, Refusal> {
        if self.miss_queue.is_full() {
            return Err(Refusal::MissQueue);
        }
        let kind = match access.kind {
            AccessKind::Atomic => RequestKind::Atomic,
            _ => RequestKind::Load,
        };
        self.drop_line(access.line, access.kind);
        let waiter = Waiter { accepted: now, ..access.waiter };
        let slot = self.free_bypasses.pop().unwrap_or_else(|| {
            self.bypasses.push(Waiter::default());
            u16::try_from(self.bypasses.len() - 1).expect("fewer than 2^16 loads past the L1")
        });
        self.bypasses[usize::from(slot)] = waiter;
        self.send(now, access, kind, slot);
        Ok(Outcome::Sent)
    }

    fn store(&mut self, now: Cycle, access: Access) -> Result<Outcome, Refusal> {
        if self.miss_queue.is_full() {
            return Err(Refusal::MissQueue);
        }
        self.drop_line(access.line, access.kind);
        self.send(now, access, RequestKind::Store, access.waiter.tracker);
        Ok(Outcome::Sent)
    }

    /// A line that the L2 is about to change does not stay here.
    fn drop_line(&mut self, line: LineAddr, kind: AccessKind) {
        if kind != AccessKind::BypassLoad
            && let Lookup::Present(way) = self.tags.lookup(line)
        {
            self.tags.invalidate(way);
            self.stats.store_evictions += 1;
        }
    }

    fn send(&mut self, now: Cycle, access: Access, kind: RequestKind, slot: u16) {
        let stamps = Stamps { accepted: now, ..Stamps::default() };
        let Access { line, bytes, .. } = access;
        self.miss_queue.push(now, Request { line, bytes, kind, sm: self.sm, slot, stamps });
    }

    /// The oldest request for the interconnect.
    pub fn next_request(&self, now: Cycle) -> Option<&Request> {
        self.miss_queue.front(now)
    }

    /// Takes the oldest request for the interconnect.
    pub fn take_request(&mut self, now: Cycle) -> Option<Request> {
        self.miss_queue.pop(now)
    }

    /// True when nothing is outstanding, queued or being released.
    pub fn is_idle(&self) -> bool {
        self.mshrs.in_use() == 0
            && self.miss_queue.is_empty()
            && self.free_bypasses.len() == self.bypasses.len()
    }

    /// Accesses waiting for lines.
    pub fn outstanding(&self) -> usize {
        self.mshrs.outstanding()
    }

    /// Drops every line, as at the start of a kernel.
    pub fn invalidate(&mut self) {
        self.tags.invalidate_all();
    }
}

impl DataCache for L1 {
    fn access(&mut self, now: Cycle, access: Access) -> Result<Outcome, Refusal> {
        let outcome = match access.kind {
            AccessKind::Load => self.load(now, access),
            AccessKind::BypassLoad | AccessKind::Atomic => self.bypass(now, access),
            AccessKind::Store => self.store(now, access),
        };
        match outcome {
            Ok(Outcome::Hit) => self.stats.load_hits += 1,
            Ok(Outcome::Merged) => self.stats.load_merged += 1,
            Ok(Outcome::Miss) => self.stats.load_misses += 1,
            Ok(Outcome::Sent) => match access.kind {
                AccessKind::BypassLoad => self.stats.load_bypasses += 1,
                AccessKind::Atomic => self.stats.atomics += 1,
                AccessKind::Store => self.stats.stores += 1,
                AccessKind::Load => {}
            },
            Err(refusal) => self.count_refusals(refusal, 1),
        }
        outcome
    }

    fn count_refusals(&mut self, refusal: Refusal, cycles: u64) {
        *match refusal {
            Refusal::NoMerger => &mut self.stats.stall_nomerger,
            Refusal::NoCacheLine => &mut self.stats.stall_nocacheline,
            Refusal::NoMshrLine => &mut self.stats.stall_nomshrline,
            Refusal::MissQueue => &mut self.stats.stall_missqueue,
        } += cycles;
    }

    fn fill(&mut self, now: Cycle, reply: &Reply) {
        let entry = MshrId(reply.slot);
        let fill = &mut self.fills[entry.index()];
        fill.arrived = now;
        fill.stamps = reply.stamps;
        self.tags.fill(fill.way);
        self.mshrs.arrive(entry);
        self.releasing.push(now + self.fill_latency, entry);
        self.stats.fills += 1;
    }

    fn bypass_arrived(&mut self, reply: &Reply) -> Waiter {
        self.free_bypasses.push(reply.slot);
        self.bypasses[usize::from(reply.slot)]
    }

    fn release(&mut self, now: Cycle) -> Option<Released> {
        let entry = *self.releasing.front(now)?;
        let merged = !self.mshrs.is_untouched(entry);
        let (waiter, last) = self.mshrs.release(entry);
        if last {
            self.releasing.pop(now);
        }
        let EntryFill { arrived, stamps, .. } = self.fills[entry.index()];
        Some(Released { waiter, merged, arrived, stamps })
    }

    fn next_release(&self) -> Cycle {
        self.releasing.next_visible()
    }
}

#[cfg(test)]
impl L1 {
    /// All that decides how later accesses are served, to show that a refusal changed nothing.
    pub(super) fn state(&self) -> (TagArray, MshrFile<Waiter>, usize) {
        (self.tags.clone(), self.mshrs.clone(), self.miss_queue.len())
    }
}
