//! How a slice answers: data that arrives, the requests that waited for it, and their replies.

use super::slice::Slice;
use super::waiting::{Arrival, Waiting};
use crate::parts::{MshrId, Reply, Request, SectorSet, Stamp};
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
        let Arrival { entry, requests, sectors, dram_started, filled } = *arrival;
        arrival.requests -= 1;
        if requests == 1 {
            self.releasing.pop(now);
        }
        let (Waiting { reply, fetched }, last) = self.mshrs.release(entry);
        if last {
            self.go_on_with_entry(now);
        }
        let merged = !fetched.meets(sectors);
        let looked_up = reply.stamps.request.looked_up;
        let stamps = &mut self.send(now, reply).stamps;
        stamps.dram_started = if merged { looked_up } else { dram_started };
        stamps.filled = filled;
        stamps.merged_at_l2 = merged;
    }

    /// Answers a request.
    #[inline]
    pub(super) fn reply(&mut self, now: Cycle, request: &Request) {
        self.send(now, request.reply());
    }

    /// Sends a reply, whose data has been found at `now`, and gives it where it waits.
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
        let fetch = &mut self.mshrs[entry];
        let number = self.sectors.of_offset(u32::from(piece) * self.fetch_bytes);
        let sector = &mut fetch.sectors[number];
        let is_first = sector.left == self.pieces;
        let started = Stamp::from(dram_started);
        sector.started = if is_first { started } else { sector.started.earlier(started) };
        sector.left -= 1;
        if sector.left > 0 {
            return;
        }
        let (dram_started, filled) = (sector.started, core.into());
        let bytes = self.sectors.of(number);
        let sectors = SectorSet::of(bytes);
        fetch.missing = fetch.missing.without(sectors);
        let (missing, way) = (fetch.missing, fetch.way);
        if let Some(way) = way {
            self.valid.add_sectors(way, sectors);
            if missing.is_empty() {
                self.tags.fill(way);
            }
        }
        let has_data = |waiting: &Waiting| !waiting.reply.sectors.meets(missing);
        let (requests, _) = self.mshrs.arrive(entry, has_data);
        if requests > 0 {
            let arrival = Arrival { entry, requests, sectors, dram_started, filled };
            self.releasing.push(now, arrival);
        }
        self.go_on_with(now, way);
    }
}
