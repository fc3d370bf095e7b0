//! One slice.

use super::stats::L2Stats;
use crate::config::Machine;
use crate::config::machine::line_bits;
use crate::parts::{
    AddressMap, DramRequest, Lookup, MshrFile, MshrId, Reply, Request, RequestKind, TagArray, Way,
};
use crate::ring::Ring;
use crate::units::{Cycle, LineAddr};

/// Why a request was refused this cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    NoMerger,
    NoCacheLine,
    NoMshrLine,
    DramQueue,
    ReplyQueue,
}

/// One L2 slice. Times are L2 cycles unless they are called `core`.
#[derive(Clone, Debug)]
pub struct Slice {
    number: usize,
    map: AddressMap,
    line_bits: u32,
    burst_bytes: u32,
    /// Bytes of one fetch request, and what it takes of the DRAM.
    fetch_bytes: u32,
    tag_latency: u64,
    data_latency: u64,
    /// One bit for each byte of a line.
    whole_line: u128,
    tags: TagArray,
    /// Bytes that hold data, and bytes that memory lacks, by way.
    valid: Box<[u128]>,
    dirty: Box<[u128]>,
    entry_of_way: Box<[MshrId]>,
    way_of_entry: Box<[Way]>,
    /// What each entry still waits for.
    fetches: Box<[Fetch]>,
    mshrs: MshrFile<Request>,
    /// Entries whose line has arrived, with the times of the fetch, oldest first.
    releasing: Ring<Arrival>,
    input: Ring<Request>,
    replies: Ring<Reply>,
    to_dram: Ring<DramRequest>,
    /// The head of `input` was refused and nothing has happened since that could change that.
    stalled: Option<Refusal>,
    /// Cycles before this one are counted.
    counted_to: Cycle,
    stats: L2Stats,
}

/// The requests of one fetch.
#[derive(Clone, Copy, Debug, Default)]
struct Fetch {
    /// Those whose data has not arrived.
    left: u32,
    /// When the DRAM began with the first of them.
    started: Cycle,
}

#[derive(Clone, Copy, Debug, Default)]
struct Arrival {
    entry: MshrId,
    dram_started: Cycle,
    filled: Cycle,
}

impl Slice {
    /// Slice `number` of `machine`, empty.
    pub fn new(machine: &Machine, number: usize) -> Self {
        let config = &machine.l2;
        let tags =
            TagArray::new(config.sets.size(), config.ways.size(), config.index, config.replacement);
        let entries = config.mshr_entries.size();
        let line = config.line.get();
        Slice {
            number,
            map: AddressMap::new(machine),
            line_bits: line_bits(line),
            burst_bytes: machine.dram.burst_bytes(),
            fetch_bytes: config.fetch.get(),
            tag_latency: config.tag_latency.cycles(),
            data_latency: config.data_latency.cycles(),
            whole_line: u128::MAX >> (128 - line),
            valid: vec![0; tags.len()].into(),
            dirty: vec![0; tags.len()].into(),
            entry_of_way: vec![MshrId::default(); tags.len()].into(),
            way_of_entry: vec![Way::default(); entries].into(),
            fetches: vec![Fetch::default(); entries].into(),
            tags,
            mshrs: MshrFile::new(entries, config.mshr_mergers.size()),
            releasing: Ring::new(entries),
            input: Ring::new(config.input_queue.size() + config.tag_latency.size()),
            replies: Ring::new(config.reply_queue.size() + config.data_latency.size()),
            to_dram: Ring::new(config.miss_queue.size()),
            stalled: None,
            counted_to: Cycle(0),
            stats: L2Stats::default(),
        }
    }

    /// Counters since construction.
    pub fn stats(&self) -> &L2Stats {
        &self.stats
    }

    /// True when [`Slice::accept`] may be called.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.input.is_full()
    }

    /// Takes a request that has arrived from the network.
    pub fn accept(&mut self, now: Cycle, core: Cycle, mut request: Request) {
        request.stamps.at_slice = core;
        self.input.push(now + self.tag_latency, request);
    }

    /// One cycle: releases one request whose line has arrived, and looks one up. Cycles without an event
    /// may be left out.
    pub fn tick(&mut self, now: Cycle, core: Cycle) {
        self.catch_up(now);
        self.release(now);
        if self.stalled.is_none()
            && let Some(&request) = self.input.front(now)
        {
            match self.look_up(now, core, request) {
                Ok(()) => {
                    self.input.pop(now);
                }
                Err(refusal) => self.stalled = Some(refusal),
            }
        }
        self.catch_up(now + 1);
    }

    /// Counts a standing refusal for the cycles before `now`.
    pub fn catch_up(&mut self, now: Cycle) {
        let cycles = now.since(self.counted_to);
        self.counted_to = self.counted_to.max(now);
        let Some(refusal) = self.stalled else { return };
        *match refusal {
            Refusal::NoMerger => &mut self.stats.stall_nomerger,
            Refusal::NoCacheLine => &mut self.stats.stall_nocacheline,
            Refusal::NoMshrLine => &mut self.stats.stall_nomshrline,
            Refusal::DramQueue => &mut self.stats.stall_dramqueue,
            Refusal::ReplyQueue => &mut self.stats.stall_replyqueue,
        } += cycles;
    }

    /// The earliest cycle from `now` on in which a tick does more than count a standing refusal.
    pub fn next_event(&self, now: Cycle) -> Cycle {
        let lookup = match self.stalled {
            Some(_) => Cycle::NEVER,
            None => self.input.next_visible().max(now),
        };
        let release = if self.releasing.is_empty() || self.replies.is_full() {
            Cycle::NEVER
        } else {
            self.releasing.next_visible().max(now)
        };
        lookup.min(release)
    }

    fn release(&mut self, now: Cycle) {
        let Some(&Arrival { entry, dram_started, filled }) = self.releasing.front(now) else {
            return;
        };
        if self.replies.is_full() {
            return;
        }
        let merged = !self.mshrs.is_untouched(entry);
        let (mut request, last) = self.mshrs.release(entry);
        if last {
            self.releasing.pop(now);
            self.stalled = None;
        }
        request.stamps.dram_started = if merged { request.stamps.looked_up } else { dram_started };
        request.stamps.filled = filled;
        request.stamps.merged_at_l2 = merged;
        self.reply(now, request);
    }

    fn reply(&mut self, now: Cycle, request: Request) {
        self.replies.push(now + self.data_latency, request.reply(1 << self.line_bits));
    }

    /// Serves a request, or refuses it and changes nothing.
    fn look_up(&mut self, now: Cycle, core: Cycle, mut request: Request) -> Result<(), Refusal> {
        let stamps = &mut request.stamps;
        (stamps.looked_up, stamps.dram_started, stamps.filled) = (core, core, core);
        let line = self.map.within_slice(request.line);
        match request.kind {
            RequestKind::Store => self.write(now, line, request),
            RequestKind::Fetch => self.read(now, line, request, self.whole_line),
            RequestKind::Load => self.read(now, line, request, request.bytes),
            RequestKind::Atomic => self.read(now, line, request, request.bytes),
        }
    }

    fn read(
        &mut self,
        now: Cycle,
        line: LineAddr,
        request: Request,
        wanted: u128,
    ) -> Result<(), Refusal> {
        let way = match self.tags.lookup(line) {
            Lookup::Present(way) if self.valid[way.index()] & wanted == wanted => {
                if self.replies.is_full() {
                    return Err(Refusal::ReplyQueue);
                }
                self.tags.touch(way);
                self.modify(way, &request);
                self.count_read(&request, |stats| &mut stats.read_hits);
                self.reply(now, request);
                return Ok(());
            }
            Lookup::Reserved(way) => {
                let entry = self.entry_of_way[way.index()];
                self.mshrs.merge(entry, request).map_err(|_| Refusal::NoMerger)?;
                self.modify(way, &request);
                self.count_read(&request, |stats| &mut stats.read_merged);
                return Ok(());
            }
            // Written in part before; the rest is fetched around it.
            Lookup::Present(way) => {
                self.room_for_miss(0)?;
                way
            }
            Lookup::Absent => {
                let way = self.tags.victim(line).ok_or(Refusal::NoCacheLine)?;
                self.room_for_miss(usize::from(self.tags.is_dirty(way)))?;
                self.write_back(now, way);
                self.valid[way.index()] = 0;
                way
            }
        };
        let entry = self.mshrs.allocate(request).expect("room_for_miss saw a free entry");
        self.tags.reserve(way, line);
        self.entry_of_way[way.index()] = entry;
        self.way_of_entry[entry.index()] = way;
        self.modify(way, &request);
        self.fetch(now, line, entry);
        self.count_read(&request, |stats| &mut stats.read_misses);
        Ok(())
    }

    fn fetch(&mut self, now: Cycle, line: LineAddr, entry: MshrId) {
        let first = self.map.within_channel(self.number, line).first_byte(self.line_bits);
        let left = self.fetch_requests();
        self.fetches[entry.index()] = Fetch { left, started: Cycle::NEVER };
        for piece in 0..left {
            let offset = piece * self.fetch_bytes;
            let address = first + u64::from(offset / self.burst_bytes * self.burst_bytes);
            let bytes = self.fetch_bytes.max(self.burst_bytes);
            self.to_dram.push(now, DramRequest { address, bytes, write: false, slot: entry.0 });
        }
    }

    /// An atomic leaves its bytes changed.
    fn modify(&mut self, way: Way, request: &Request) {
        if request.kind == RequestKind::Atomic {
            self.dirty[way.index()] |= request.bytes;
            self.tags.set_dirty(way, true);
        }
    }

    fn count_read(&mut self, request: &Request, counter: fn(&mut L2Stats) -> &mut u64) {
        if request.kind == RequestKind::Atomic {
            self.stats.atomics += 1;
        }
        *counter(&mut self.stats) += 1;
    }

    /// Room for a fetch and for so many dirty lines.
    fn room_for_miss(&self, dirty_lines: usize) -> Result<(), Refusal> {
        if self.mshrs.is_full() {
            return Err(Refusal::NoMshrLine);
        }
        self.room_for_dram(self.fetch_requests() as usize + dirty_lines)
    }

    /// Requests that fetch a line.
    fn fetch_requests(&self) -> u32 {
        (1 << self.line_bits) / self.fetch_bytes
    }

    fn room_for_dram(&self, requests: usize) -> Result<(), Refusal> {
        if self.to_dram.free() < requests { Err(Refusal::DramQueue) } else { Ok(()) }
    }

    fn write(&mut self, now: Cycle, line: LineAddr, request: Request) -> Result<(), Refusal> {
        if self.replies.is_full() {
            return Err(Refusal::ReplyQueue);
        }
        let way = match self.tags.lookup(line) {
            Lookup::Present(way) | Lookup::Reserved(way) => {
                self.stats.write_hits += 1;
                self.tags.touch(way);
                way
            }
            Lookup::Absent => {
                let way = self.tags.victim(line).ok_or(Refusal::NoCacheLine)?;
                self.room_for_dram(usize::from(self.tags.is_dirty(way)))?;
                self.write_back(now, way);
                self.tags.insert(way, line);
                self.valid[way.index()] = 0;
                self.stats.write_misses += 1;
                way
            }
        };
        self.valid[way.index()] |= request.bytes;
        self.dirty[way.index()] |= request.bytes;
        self.tags.set_dirty(way, true);
        self.reply(now, request);
        Ok(())
    }

    /// Sends the dirty bytes of `way` to DRAM: every burst from the first dirty one to the last.
    fn write_back(&mut self, now: Cycle, way: Way) {
        let dirty = std::mem::take(&mut self.dirty[way.index()]);
        if dirty == 0 {
            return;
        }
        let line = self.tags.occupant(way).expect("a dirty way holds a line");
        let first = dirty.trailing_zeros() / self.burst_bytes * self.burst_bytes;
        let end = (128 - dirty.leading_zeros()).next_multiple_of(self.burst_bytes);
        let start = self.map.within_channel(self.number, line).first_byte(self.line_bits);
        let address = start + u64::from(first);
        self.to_dram.push(now, DramRequest { address, bytes: end - first, write: true, slot: 0 });
        self.stats.writebacks += 1;
    }

    /// The data of a fetch request has arrived from DRAM, before the tick of `now`.
    pub fn fill(&mut self, now: Cycle, core: Cycle, slot: u16, dram_started: Cycle) {
        self.catch_up(now);
        let entry = MshrId(slot);
        let fetch = &mut self.fetches[entry.index()];
        fetch.left -= 1;
        fetch.started = fetch.started.min(dram_started);
        if fetch.left > 0 {
            return;
        }
        let dram_started = fetch.started;
        let way = self.way_of_entry[entry.index()];
        self.tags.fill(way);
        self.valid[way.index()] = self.whole_line;
        self.mshrs.arrive(entry);
        self.releasing.push(now, Arrival { entry, dram_started, filled: core });
        self.stalled = None;
    }

    /// The oldest request for DRAM.
    #[inline]
    pub fn next_dram_request(&self) -> Option<&DramRequest> {
        self.to_dram.front(Cycle::NEVER)
    }

    /// Takes the oldest request for DRAM, after the tick of `now`.
    pub fn take_dram_request(&mut self, now: Cycle) -> Option<DramRequest> {
        self.catch_up(now + 1);
        self.stalled = None;
        self.to_dram.pop(Cycle::NEVER)
    }

    /// The oldest reply whose data is ready.
    #[inline]
    pub fn next_reply(&self, now: Cycle) -> Option<&Reply> {
        self.replies.front(now)
    }

    /// When the oldest reply is ready.
    #[inline]
    pub fn reply_ready(&self) -> Cycle {
        self.replies.next_visible()
    }

    /// Takes the oldest reply whose data is ready, after the tick of `now`.
    pub fn take_reply(&mut self, now: Cycle, core: Cycle) -> Option<Reply> {
        let mut reply = self.replies.pop(now)?;
        self.catch_up(now + 1);
        self.stalled = None;
        reply.stamps.replied = core;
        Some(reply)
    }

    /// True when it holds no request, no reply and no outstanding fetch.
    pub fn is_idle(&self) -> bool {
        self.input.is_empty()
            && self.mshrs.in_use() == 0
            && self.replies.is_empty()
            && self.to_dram.is_empty()
    }
}

#[cfg(test)]
impl Slice {
    /// All that decides how later requests are served, to show that a refusal changed nothing; the
    /// refusals counted so far; and the replies queued.
    pub(super) fn state(&self) -> (impl PartialEq + use<>, u64, usize) {
        let ways = (self.tags.clone(), self.valid.clone(), self.dirty.clone());
        let queues = (self.replies.len(), self.to_dram.len(), self.input.len());
        let stats = &self.stats;
        let refusals = stats.stall_nomerger
            + stats.stall_nomshrline
            + stats.stall_nocacheline
            + stats.stall_dramqueue
            + stats.stall_replyqueue;
        ((ways, self.mshrs.clone(), queues), refusals, self.replies.len())
    }
}
