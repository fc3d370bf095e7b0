//! How a slice answers: data that arrives, the requests that waited for it, and their replies.

use super::slice::Slice;
use super::waiting::{Arrival, Data, Fetch, Waiting};
use crate::parts::{MshrId, Reply, Request, SectorSet, Stamp};
use crate::prefetch::prefetch_at;
use crate::units::Cycle;

impl Slice {
    /// Releases the oldest request whose data has arrived, if there is room for its reply.
    #[inline]
    pub(super) fn release(&mut self, now: Cycle) -> bool {
        let releases = self.releasing.next_visible() <= now && !self.replies.is_full(now);
        if releases {
            self.release_oldest(now);
        }
        releases
    }

    #[inline(never)]
    fn release_oldest(&mut self, now: Cycle) {
        let Some(arrival) = self.releasing.front_mut(now) else { return };
        let Arrival { entry, requests, data } = *arrival;
        arrival.requests -= 1;
        if requests == 1 {
            self.releasing.pop(now);
        }
        let (&waiting, last) = self.mshrs.release(entry);
        if last {
            self.go_on_with_entry(now);
        }
        let data = self.since_first(entry, &waiting, data);
        self.send(now, &self.since_home(entry, waiting.reply(data)));
    }

    /// The last data of a request, which counts from the beginning of the first.
    #[inline(always)]
    fn since_first(&self, entry: MshrId, waiting: &Waiting, data: Data) -> Data {
        if self.comes_whole { data } else { self.since_first_sector(entry, waiting, data) }
    }

    /// The same, of a line that comes by sectors.
    #[inline(never)]
    fn since_first_sector(&self, entry: MshrId, waiting: &Waiting, data: Data) -> Data {
        let fetched = (0..self.sectors.count())
            .filter(|number| waiting.fetched.meets(self.sectors.parts_of(*number)));
        let dram_started = self.arriving[entry.index()].started(fetched);
        // A sector that a copy lost may have been fetched again, since those that this request waited for came.
        let earliest = |started: Stamp| started.earlier(data.dram_started);
        Data { dram_started: dram_started.map_or(data.dram_started, earliest), ..data }
    }

    /// Answers a request.
    #[inline]
    pub(super) fn reply(&mut self, now: Cycle, request: &Request) {
        self.send(now, &request.reply());
    }

    /// Sends a reply, whose data has been found at `now`.
    #[inline]
    fn send(&mut self, now: Cycle, reply: &Reply) {
        let ready = ready(now, reply.sectors, self.data_latency, self.sector_latency);
        self.replies.push(ready, reply);
    }

    /// Data of a fetch request is on its way: its entry is looked at soon.
    #[inline(always)]
    pub fn prefetch(&self, slot: u16) {
        let entry = MshrId(slot);
        self.mshrs.prefetch(entry);
        prefetch_at(&self.arriving, entry.index());
        self.far.prefetch(entry);
    }

    /// The data of a fetch request has arrived from DRAM, before the tick of `now`.
    pub fn fill(&mut self, now: Cycle, core: Cycle, slot: u16, piece: u8, dram_started: Stamp) {
        let entry = MshrId(slot);
        if let Some(data) = self.take_in(now, core, entry, piece, dram_started) {
            self.give(now, entry, data);
        }
    }

    /// As [`Slice::fill`] of one with neither coalescer nor neighbour, after [`Slice::go_on_with_place`], where no other
    /// request was released in this cycle. If a request is released for it that alone waits for its line, it is so at once: true.
    #[inline]
    pub fn fill_and_release(
        &mut self,
        now: Cycle,
        core: Cycle,
        slot: u16,
        piece: u8,
        dram_started: Stamp,
    ) -> bool {
        let entry = MshrId(slot);
        let Some(data) = self.take_in(now, core, entry, piece, dram_started) else { return false };
        // As the tick would do that follows. Nothing else looks at this before.
        if self.releasing.is_empty()
            && !self.replies.is_full(now)
            && let Some(waiting) = self.mshrs.single(entry)
            && !waiting.sectors.meets(self.mshrs[entry].missing)
        {
            let data = self.since_first(entry, waiting, data);
            self.go_on_with_entry(now);
            let waiting = self.mshrs.release_single(entry);
            let ready = ready(now, waiting.sectors, self.data_latency, self.sector_latency);
            self.replies.push(ready, &waiting.reply(data));
            return true;
        }
        self.give(now, entry, data);
        false
    }

    /// Takes in the data of a fetch request; gives the sector when it was the last of one.
    #[inline(always)]
    fn take_in(
        &mut self,
        now: Cycle,
        core: Cycle,
        entry: MshrId,
        piece: u8,
        dram_started: Stamp,
    ) -> Option<Data> {
        let mut number = 0;
        if !self.comes_whole {
            number = self.sectors.of_offset(u32::from(piece) * self.fetch_bytes);
            if !self.arriving[entry.index()].take(number, self.pieces, dram_started) {
                return None;
            }
        }
        let fetch = &mut self.mshrs[entry];
        let sectors = self.sectors.parts_of(number);
        fetch.missing = fetch.missing.without(sectors);
        let Fetch { missing, way, is_promised, is_stale } = *fetch;
        if let Some(way) = way {
            if !is_promised {
                self.bytes.add_sectors(&mut self.tags[way].valid, sectors);
            }
            if missing.is_empty() {
                self.tags.fill(way);
                if is_stale {
                    self.tags.invalidate(way);
                }
            } else {
                // The rest of the line comes soon.
                self.tags.prefetch_fill(way);
            }
        }
        self.go_on_with(now, way);
        Some(Data { sectors, dram_started, filled: core.into() })
    }

    /// Gives data to the requests that wait for it, which are then to be released.
    #[inline]
    fn give(&mut self, now: Cycle, entry: MshrId, data: Data) {
        let missing = self.mshrs[entry].missing;
        let has_data = |waiting: &Waiting| !waiting.sectors.meets(missing);
        let (requests, _) = self.mshrs.arrive(entry, has_data);
        if requests > 0 {
            self.releasing.push(now, Arrival { entry, requests, data });
        }
    }
}

/// When a reply with these sectors can leave whose data has been found at `now`.
#[inline]
fn ready(now: Cycle, sectors: SectorSet, data_latency: u64, sector_latency: u64) -> Cycle {
    let ready = now + data_latency;
    if sector_latency == 0 {
        return ready;
    }
    ready + u64::from(sectors.count()).saturating_sub(1) * sector_latency
}
