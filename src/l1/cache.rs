//! The access path and the fill path.

use super::stats::L1Stats;
use crate::config::machine::{Acquires, L1Config, LoadsLook, PastLoads, StorePolicy};
use crate::parts::{
    Access, AccessKind, BytePool, ByteSet, DataCache, Lookup, MshrFile, MshrId, Outcome, Place,
    Refusal, Released, Reply, ReplyKind, Request, RequestKind, RequestStamps, SectorSet, Sectors,
    Stamps, TagArray, Waiter, Way,
};
use crate::prefetch::prefetch;
use crate::ring::Ring;
use crate::units::{Cycle, LineAddr};

/// The L2 answers in sectors of so many bytes: CUDA C Programming Guide, "Compute Capability 2.x", global
/// memory; the same since.
const REPLY_SECTOR: u32 = 32;

/// One L1 data cache. What every visit looks at comes first and lies together.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct L1 {
    /// Places of the miss queue that are free, and all.
    room: usize,
    miss_places: usize,
    /// By refusal: what happened that may have ended it.
    changes: [u64; Refusal::COUNT],
    /// A line that is neither here nor outstanding, looked for in vain since the last one came: most loads that are refused
    /// are tried again.
    pub(super) absent: Option<LineAddr>,
    /// Replies whose accesses are still to be released, oldest first.
    releasing: Ring<Arrival>,
    fill_latency: u64,
    pub(super) mshrs: MshrFile<Waiting, Outstanding>,
    /// Requests that have joined the miss queue since the interconnect was told.
    requests: Vec<Request>,
    sm: u16,
    /// The sectors of a line whose bytes are fetched together, where one sector is all of it.
    line_sectors: Option<SectorSet>,
    pub(super) sectors: Sectors,
    pub(super) stats: L1Stats,
    pub(super) tags: TagArray<Kept>,
    /// Bytes that are present of lines of which parts of sectors are.
    pub(super) bytes: BytePool,
    /// Ways that have doomed sectors: most often none, and nobody looks.
    pub(super) doomed_ways: usize,
    /// What a load past the tags is answered in.
    pub(super) reply_sectors: Sectors,
    /// Loads and atomics that went past the tags, by slot.
    pub(super) bypasses: Vec<Waiter>,
    pub(super) free_bypasses: Vec<u16>,
    /// What the tags had counted when the last acquire left no line.
    pub(super) empty_since: Option<u64>,
    pub(super) config: L1Config,
}

/// What is kept of the line in a way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// The bytes that are present. A line that is not sectored has all of them or none, except where stores validate.
    pub valid: ByteSet,
    /// The MSHR entry of a reserved one.
    pub(super) entry: MshrId,
    /// Sectors that are dropped as they arrive.
    pub doomed: SectorSet,
}

/// An access that waits for sectors of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waiting {
    waiter: Waiter,
    /// What it wants of what was on its way when it came, or was fetched for it.
    lacking: SectorSet,
    /// What was fetched for it; nothing when it merely joined.
    fetched: SectorSet,
}

/// The way that an entry fills, and the sectors that are on their way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outstanding {
    way: Way,
    pub(super) missing: SectorSet,
}

/// A reply, and how many accesses it gave their data.
#[derive(Clone, Copy, Debug, Default)]
struct Arrival {
    entry: MshrId,
    accesses: u32,
    sectors: SectorSet,
    arrived: Cycle,
    stamps: Stamps,
}

/// Loads past the tags that there is memory for from the start where all go there; where there are ever more, their lists grow.
const USUAL_BYPASSES: usize = 512;

impl L1 {
    /// An empty cache of SM `sm`.
    pub fn new(config: &L1Config, sm: u16) -> Self {
        let sectors = Sectors::new(config.line.get(), config.sector.get());
        let entries = config.mshr_entries.size();
        // A sector comes once for an entry, unless something drops it while others of its line are on their way.
        let drops = [config.stores, config.local_stores].contains(&StorePolicy::Drop)
            || config.past_loads == PastLoads::Drop
            || config.acquires == Acquires::Empty;
        let once = entries * sectors.count();
        let most = if drops { once.max(entries * config.mshr_mergers.size()) } else { once };
        let usual_bypasses = match config.global_loads {
            LoadsLook::Bypass => USUAL_BYPASSES,
            LoadsLook::Cached => 0,
        };
        let mut l1 = L1 {
            sm,
            config: config.clone(),
            fill_latency: config.fill_latency.cycles(),
            sectors,
            line_sectors: (sectors.count() == 1).then(|| SectorSet::of(sectors.whole())),
            reply_sectors: Sectors::new(config.line.get(), REPLY_SECTOR),
            tags: TagArray::new(1, 1, config.index, config.replacement),
            bytes: BytePool::new(0),
            doomed_ways: 0,
            mshrs: MshrFile::new(entries, config.mshr_mergers.size()),
            releasing: Ring::new(most),
            miss_places: config.miss_queue.size(),
            room: config.miss_queue.size(),
            requests: Vec::with_capacity(config.miss_queue.size()),
            bypasses: Vec::with_capacity(usual_bypasses),
            free_bypasses: Vec::with_capacity(usual_bypasses),
            absent: None,
            empty_since: None,
            changes: [0; Refusal::COUNT],
            stats: L1Stats::default(),
        };
        l1.set_ways(config.ways.size());
        l1
    }

    /// Empties the cache and gives it so many ways a set. Nothing may be outstanding.
    pub fn set_ways(&mut self, ways: usize) {
        assert!(self.is_idle(), "a cache changes its size while lines are outstanding");
        let L1Config { sets, index, replacement, .. } = self.config;
        let lines = sets.size() * ways;
        if lines != self.tags.len() {
            self.tags = TagArray::new(sets.size(), ways, index, replacement);
            let policies = [self.config.stores, self.config.local_stores];
            let has_parts = policies.contains(&StorePolicy::Validate);
            self.bytes = BytePool::new(if has_parts { lines } else { 0 });
            self.empty_since = None;
        }
        self.tags.invalidate_all();
    }

    /// Counters since construction.
    pub fn stats(&self) -> &L1Stats {
        &self.stats
    }

    /// The bytes that are present of the line in a way.
    #[inline]
    pub(super) fn valid(&self, way: Way) -> u128 {
        self.bytes.of(self.tags[way].valid)
    }

    #[inline(always)]
    pub(super) fn load(
        &mut self,
        now: Cycle,
        line: LineAddr,
        bytes: u128,
        waiter: Waiter,
    ) -> Result<Outcome, Refusal> {
        let wanted = bytes & self.sectors.whole();
        let place = match self.absent {
            Some(absent) if absent == line => {
                self.tags.victim(line).map_or(Place::NoRoom, Place::Absent)
            }
            _ => self.tags.find(line),
        };
        let (way, is_here) = match place {
            Place::Present(way) | Place::Reserved(way) if self.valid(way) & wanted == wanted => {
                self.tags.touch(way);
                self.count_sectors(SectorSet::of(wanted), SectorSet::default());
                self.stats.load_hits += 1;
                return Ok(Outcome::Hit);
            }
            Place::Reserved(way) => return self.join(now, line, waiter, way, wanted),
            // Its missing sectors are fetched around those that are here.
            Place::Present(way) => (way, true),
            Place::Absent(way) => (way, false),
            Place::NoRoom => return Err(Refusal::NoCacheLine),
        };
        if self.mshrs.is_full() {
            return Err(Refusal::NoMshrLine);
        }
        if self.is_miss_queue_full() {
            return Err(Refusal::MissQueue);
        }
        let here = if is_here {
            self.stats.sector_misses += 1;
            self.valid(way)
        } else {
            self.bytes.clear(&mut self.tags[way].valid);
            0
        };
        let (fetched, missing) = match self.line_sectors {
            Some(line_sectors) => {
                debug_assert_ne!(
                    wanted & !here,
                    0,
                    "a load that misses wants a byte that is not here"
                );
                (self.sectors.whole(), line_sectors)
            }
            None => {
                let fetched = self.sectors.around(wanted & !here);
                (fetched, SectorSet::of(fetched))
            }
        };
        let waiter = Waiter { accepted: now.into(), ..waiter };
        let sectors = SectorSet::of(wanted);
        let waiting = Waiting { waiter, lacking: sectors.within(missing), fetched: missing };
        let outstanding = Outstanding { way, missing };
        let entry = self.mshrs.add(waiting, outstanding);
        self.tags[way].entry = entry;
        self.absent = None;
        match is_here {
            true => self.tags.reserve(way, line),
            false => self.tags.replace(way, line),
        }
        self.count_sectors(sectors, missing);
        self.stats.load_misses += 1;
        self.send(now, line, fetched, RequestKind::Fetch, entry.0, 0);
        Ok(Outcome::Miss)
    }

    /// A load of a line that is outstanding: it waits with the others, and fetches what they did not.
    #[inline(never)]
    fn join(
        &mut self,
        now: Cycle,
        line: LineAddr,
        waiter: Waiter,
        way: Way,
        wanted: u128,
    ) -> Result<Outcome, Refusal> {
        let entry = self.tags[way].entry;
        let missing = self.mshrs[entry].missing;
        let there = self.valid(way) | missing.bytes();
        let fetched = self.sectors.around(wanted & !there);
        if self.mshrs.is_entry_full(entry) {
            return Err(Refusal::NoMerger);
        }
        if fetched != 0 && self.is_miss_queue_full() {
            return Err(Refusal::MissQueue);
        }
        let waiter = Waiter { accepted: now.into(), ..waiter };
        let (sectors, more) = (SectorSet::of(wanted), SectorSet::of(fetched));
        let missing = missing.with(more);
        let waiting = Waiting { waiter, lacking: sectors.within(missing), fetched: more };
        let merged = self.mshrs.merge(entry, waiting);
        debug_assert!(merged.is_ok(), "the entry has a free merger field");
        self.count_sectors(sectors, more);
        if fetched == 0 {
            self.stats.load_merged += 1;
            return Ok(Outcome::Merged);
        }
        self.stats.load_misses += 1;
        self.stats.sector_misses += 1;
        self.mshrs[entry].missing = missing;
        self.send(now, line, fetched, RequestKind::Fetch, entry.0, 0);
        Ok(Outcome::Miss)
    }

    /// Counts what a load wanted, of which it had to fetch some.
    #[inline]
    fn count_sectors(&mut self, wanted: SectorSet, fetched: SectorSet) {
        self.stats.load_sectors += u64::from(wanted.count());
        self.stats.load_sector_hits += u64::from(wanted.without(fetched).count());
    }

    #[inline(always)]
    pub(super) fn send(
        &mut self,
        now: Cycle,
        line: LineAddr,
        bytes: u128,
        kind: RequestKind,
        slot: u16,
        atomic_work: u8,
    ) {
        let stamps = RequestStamps { injected: now.into(), ..RequestStamps::default() };
        let sm = self.sm;
        self.requests.push(Request { line, bytes, kind, sm, slot, atomic_work, held: 0, stamps });
        self.room -= 1;
    }

    /// Requests that have joined the miss queue and of which the interconnect is to be told, oldest first: to be taken.
    #[inline]
    pub fn requests(&mut self) -> &mut Vec<Request> {
        &mut self.requests
    }

    /// True when a request would be refused.
    #[inline]
    pub fn is_miss_queue_full(&self) -> bool {
        self.room == 0
    }

    /// Requests that find room.
    #[inline]
    pub fn miss_queue_room(&self) -> usize {
        self.room
    }

    /// So many of the oldest requests have left the miss queue.
    #[inline]
    pub fn free_places(&mut self, count: usize) {
        self.changes[Refusal::MissQueue as usize] += count as u64;
        self.room += count;
    }

    /// Takes the oldest request for the interconnect out of the miss queue.
    pub fn take_request(&mut self) -> Option<Request> {
        let request = (!self.requests.is_empty()).then(|| self.requests.remove(0))?;
        self.free_places(1);
        Some(request)
    }

    /// True when nothing is outstanding, queued or being released.
    pub fn is_idle(&self) -> bool {
        self.mshrs.in_use() == 0
            && self.room == self.miss_places
            && self.free_bypasses.len() == self.bypasses.len()
    }

    /// These replies come soon. What they fill has left the processor's caches for the most part, and is asked for at once.
    #[inline]
    pub fn prefetch_fills<'a>(
        &self,
        replies: impl Iterator<Item = &'a Reply> + Clone,
        waits: impl Fn(&Waiter),
    ) {
        let filled = replies.filter(|reply| reply.kind == ReplyKind::Fill);
        let entries = filled.map(|reply| MshrId(reply.slot));
        entries.clone().for_each(|entry| self.mshrs.prefetch(entry));
        for entry in entries {
            let way = self.mshrs[entry].way;
            prefetch(&self.tags[way]);
            self.tags.prefetch_fill(way);
            waits(&self.mshrs.recorded_first(entry).waiter);
        }
    }

    /// Accesses waiting for lines.
    pub fn outstanding(&self) -> usize {
        self.mshrs.outstanding()
    }
}

impl DataCache for L1 {
    #[inline(always)]
    fn access(&mut self, now: Cycle, access: Access) -> Result<Outcome, Refusal> {
        let outcome = match access.kind {
            AccessKind::Load => self.load(now, access.line, access.bytes, access.waiter),
            // A copy, so that a load need not be put together in memory.
            _ => self.pass_by(now, &Access { ..access }),
        };
        if let Err(refusal) = outcome {
            self.count_refusals(refusal, 1);
        }
        outcome
    }

    #[inline(always)]
    fn prefetch(&self, line: LineAddr) {
        self.tags.prefetch(line);
    }

    #[inline]
    fn room(&self) -> usize {
        self.miss_queue_room()
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.mshrs.is_full()
    }

    #[inline(always)]
    fn refusal(&mut self, line: LineAddr, bytes: u128) -> Option<Refusal> {
        let wanted = bytes & self.sectors.whole();
        match self.tags.lookup(line) {
            Lookup::Absent => {
                self.absent = Some(line);
                let has_room = self.tags.has_room(line);
                Some(if has_room { Refusal::NoMshrLine } else { Refusal::NoCacheLine })
            }
            Lookup::Present(way) if wanted & !self.valid(way) != 0 => Some(Refusal::NoMshrLine),
            Lookup::Present(_) | Lookup::Reserved(_) => None,
        }
    }

    #[inline]
    fn count_refusals(&mut self, refusal: Refusal, cycles: u64) {
        *match refusal {
            Refusal::NoMerger => &mut self.stats.stall_nomerger,
            Refusal::NoCacheLine => &mut self.stats.stall_nocacheline,
            Refusal::NoMshrLine => &mut self.stats.stall_nomshrline,
            Refusal::MissQueue => &mut self.stats.stall_missqueue,
        } += cycles;
    }

    #[inline]
    fn changes(&self, refusal: Refusal) -> u64 {
        self.changes[refusal as usize]
    }

    #[inline(always)]
    fn fill(&mut self, now: Cycle, reply: &Reply) {
        let entry = MshrId(reply.slot);
        let outstanding = &mut self.mshrs[entry];
        let sectors = reply.sectors;
        outstanding.missing = outstanding.missing.without(sectors);
        let Outstanding { way, missing } = *outstanding;
        self.bytes.add_sectors(&mut self.tags[way].valid, sectors);
        if missing.is_empty() {
            self.tags.fill(way);
        }
        if self.doomed_ways > 0 {
            self.drop_doomed(way, sectors, missing.is_empty());
        }
        let (accesses, _) = self.mshrs.arrive(entry, |waiting| !waiting.lacking.meets(missing));
        if accesses > 0 {
            let arrival = Arrival { entry, accesses, sectors, arrived: now, stamps: reply.stamps };
            self.releasing.push(now + self.fill_latency, arrival);
        }
        self.stats.fills += 1;
        // What found the miss queue full, and would have fetched its line, may find it here.
        for refusal in [Refusal::NoMerger, Refusal::NoCacheLine, Refusal::MissQueue] {
            self.changes[refusal as usize] += 1;
        }
    }

    fn acquire(&mut self) {
        if self.config.acquires == Acquires::Empty {
            self.empty();
        }
    }

    fn bypass_arrived(&mut self, reply: &Reply) -> Waiter {
        // Who was refused for want of a slot is tried again.
        let had_none = self.free_bypasses.is_empty() & (self.bypasses.len() > u16::MAX.into());
        self.changes[Refusal::MissQueue as usize] += u64::from(had_none);
        self.free_bypasses.push(reply.slot);
        self.bypasses[usize::from(reply.slot)]
    }

    #[inline(always)]
    fn release(&mut self, now: Cycle) -> Option<Released<'_>> {
        let arrival = self.releasing.front_mut(now)?;
        let (Waiting { waiter, fetched, .. }, last) = self.mshrs.release(arrival.entry);
        self.changes[Refusal::NoMshrLine as usize] += u64::from(last);
        let merged = !fetched.meets(arrival.sectors);
        arrival.accesses -= 1;
        let is_done = arrival.accesses == 0;
        let Arrival { arrived, stamps, .. } = self.releasing.look(is_done);
        Some(Released { waiter, merged, arrived: *arrived, stamps })
    }

    #[inline]
    fn next_release(&self) -> Cycle {
        self.releasing.next_visible()
    }
}

#[cfg(test)]
impl L1 {
    /// All that decides how later accesses are served, to show that a refusal changed nothing.
    pub(super) fn state(&self) -> (TagArray<Kept>, MshrFile<Waiting, Outstanding>, usize) {
        (self.tags.clone(), self.mshrs.clone(), self.room)
    }
}
