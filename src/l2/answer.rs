//! How a slice answers: data that arrives, the requests that waited for it, and their replies.

use super::slice::Slice;
use super::waiting::{Arrival, Data, Waiting};
use crate::parts::{MshrId, Reply, Request, Stamp};
use crate::units::Cycle;

impl Slice {
    /// Releases the oldest request whose data has arrived, if there is room for its reply.
    #[inline]
    pub(super) fn release(&mut self, now: Cycle) {
        if self.releasing.next_visible() <= now && !self.replies.is_full() {
            self.release_oldest(now);
        }
    }

    #[inline(never)]
    fn release_oldest(&mut self, now: Cycle) {
        let Some(arrival) = self.releasing.front_mut(now) else { return };
        let Arrival { entry, requests, data } = *arrival;
        arrival.requests -= 1;
        if requests == 1 {
            self.releasing.pop(now);
        }
        let (waiting, last) = self.mshrs.release(entry);
        if last {
            self.go_on_with_entry(now);
        }
        self.answer(now, waiting, data);
    }

    /// Answers a request whose last data is this.
    #[inline]
    fn answer(&mut self, now: Cycle, waiting: Waiting, data: Data) {
        let Waiting { reply, fetched } = waiting;
        let merged = !fetched.meets(data.sectors);
        let looked_up = reply.stamps.request.looked_up;
        let stamps = &mut self.send(now, reply).stamps;
        stamps.dram_started = if merged { looked_up } else { data.dram_started };
        stamps.filled = data.filled;
        stamps.merged_at_l2 = merged;
    }

    /// Answers a request.
    #[inline]
    pub(super) fn reply(&mut self, now: Cycle, request: &Request) {
        self.send(now, request.reply());
    }

    /// Sends a reply, whose data has been found at `now`, and gives it where it waits.
    #[inline]
    fn send(&mut self, now: Cycle, reply: Reply) -> &mut Reply {
        let mut ready = now + self.data_latency;
        if self.sector_latency > 0 {
            let further_sectors = u64::from(reply.sectors.count()).saturating_sub(1);
            ready += further_sectors * self.sector_latency;
        }
        self.replies.push(ready, reply)
    }

    /// The data of a fetch request has arrived from DRAM, before the tick of `now`.
    pub fn fill(&mut self, now: Cycle, core: Cycle, slot: u16, piece: u8, dram_started: Cycle) {
        let entry = MshrId(slot);
        if let Some(data) = self.take_in(now, core, entry, piece, dram_started) {
            self.give(now, entry, data);
        }
    }

    /// As [`Slice::fill`] of one with neither coalescer nor neighbour, after [`Slice::free_places`], where no other request
    /// was released in this cycle. If a request is released for it that alone waits for its line, it is so at once: true.
    #[inline]
    pub fn fill_and_release(
        &mut self,
        now: Cycle,
        core: Cycle,
        slot: u16,
        piece: u8,
        dram_started: Cycle,
    ) -> bool {
        let entry = MshrId(slot);
        let Some(data) = self.take_in(now, core, entry, piece, dram_started) else { return false };
        // As the tick would do that follows. Nothing else looks at this before.
        if self.releasing.is_empty()
            && !self.replies.is_full()
            && let missing = self.mshrs[entry].missing
            && let Some(waiting) =
                self.mshrs.release_single(entry, |waiting| !waiting.reply.sectors.meets(missing))
        {
            self.go_on_with_entry(now);
            self.answer(now, waiting, data);
            return true;
        }
        self.give(now, entry, data);
        false
    }

    /// Takes in the data of a fetch request; gives the sector when it was the last of one.
    #[inline]
    fn take_in(
        &mut self,
        now: Cycle,
        core: Cycle,
        entry: MshrId,
        piece: u8,
        dram_started: Cycle,
    ) -> Option<Data> {
        let fetch = &mut self.mshrs[entry];
        let number = self.sectors.of_offset(u32::from(piece) * self.fetch_bytes);
        let sector = &mut fetch.sectors[number];
        let is_first = sector.left == self.pieces;
        let started = Stamp::from(dram_started);
        sector.started = if is_first { started } else { sector.started.earlier(started) };
        sector.left -= 1;
        if sector.left > 0 {
            return None;
        }
        sector.left = self.pieces;
        let dram_started = sector.started;
        let sectors = self.sectors.parts_of(number);
        fetch.missing = fetch.missing.without(sectors);
        let (missing, way) = (fetch.missing, fetch.way);
        if let Some(way) = way {
            self.valid.add_sectors(way, sectors);
            if missing.is_empty() {
                self.tags.fill(way);
            }
        }
        self.go_on_with(now, way);
        Some(Data { sectors, dram_started, filled: core.into() })
    }

    /// Gives data to the requests that wait for it, which are then to be released.
    #[inline]
    fn give(&mut self, now: Cycle, entry: MshrId, data: Data) {
        let missing = self.mshrs[entry].missing;
        let has_data = |waiting: &Waiting| !waiting.reply.sectors.meets(missing);
        let (requests, _) = self.mshrs.arrive(entry, has_data);
        if requests > 0 {
            self.releasing.push(now, Arrival { entry, requests, data });
        }
    }
}
