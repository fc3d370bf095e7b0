//! What a slice does with a request: the tags, the fetches, the way to DRAM.

use super::far::{is_copy, within_home};
use super::port::Side;
use super::runs::Runs;
use super::slice::Slice;
use super::stats::L2Stats;
use super::waiting::{Fetch, Refusal, Waiting};
use crate::config::machine::L2Mode;
use crate::parts::{
    DramRequest, FROM_SLICE, MshrId, Place, Request, RequestKind, SectorSet, Way, sectors_of,
};
use crate::units::{Cycle, LineAddr};

impl Slice {
    /// Serves a request, or refuses it and changes nothing.
    #[inline]
    pub(super) fn look_up(&mut self, now: Cycle, request: &Request) -> Result<(), Refusal> {
        let line = request.line;
        if self.is_plain && self.mode == L2Mode::Cache {
            // Loads and stores take turns as nobody can tell beforehand: what both begin with comes before the choice.
            let set = self.tags.set_of(line);
            let place = self.tags.find_in(set, line);
            match request.kind {
                RequestKind::Store => self.write_at(now, (set, line), place, request),
                _ => self.read_at(now, (set, line), place, request, false),
            }?;
            self.port.take(now, Side::Near, request, false);
        } else {
            self.look_up_special(now, request)?;
        }
        if request.kind == RequestKind::Store {
            self.stats.write_sectors += u64::from(sectors_of(request.bytes));
        }
        Ok(())
    }

    /// The same where the slice has a neighbour or a coalescer, or is no cache.
    #[inline(never)]
    fn look_up_special(&mut self, now: Cycle, request: &Request) -> Result<(), Refusal> {
        let line = request.line;
        let is_change = request.kind.is_change();
        let passes_on = is_change && is_copy(line);
        match (self.mode, request.kind) {
            _ if passes_on => self.pass_on(now, request),
            (L2Mode::Cache, RequestKind::Store) => self.write(now, line, request),
            (L2Mode::Cache, _) => self.read(now, line, request),
            (L2Mode::PassThrough, RequestKind::Store) => self.pass_write(now, line, request),
            (L2Mode::PassThrough, _) => self.pass_read(now, line, request),
        }?;
        self.port.take(now, Side::Near, request, passes_on);
        if is_change {
            self.note_change(line);
        }
        Ok(())
    }

    #[inline(never)]
    pub(super) fn read(
        &mut self,
        now: Cycle,
        line: LineAddr,
        request: &Request,
    ) -> Result<(), Refusal> {
        let set = self.tags.set_of(line);
        self.read_at(now, (set, line), self.tags.find_in(set, line), request, is_copy(line))
    }

    /// As [`Slice::read`], with the line's set and where it stands there given; it may be a copy.
    #[inline(always)]
    fn read_at(
        &mut self,
        now: Cycle,
        (set, line): (usize, LineAddr),
        place: Place,
        request: &Request,
        is_copy: bool,
    ) -> Result<(), Refusal> {
        let way = match place {
            Place::Absent(way) => way,
            Place::Present(way) => return self.read_here(now, line, way, request, false),
            Place::Reserved(way) => return self.read_here(now, line, way, request, true),
            Place::NoRoom => return Err(Refusal::NoCacheLine),
        };
        if is_copy {
            self.can_spare(line)?;
        }
        let is_dirty = self.tags.is_dirty_in(set, way);
        let wanted = SectorSet::of(request.bytes);
        let fetched = self.sectors.around_parts(wanted);
        self.room_for_fetch(is_copy, fetched, if is_dirty { self.writes_of(way) } else { 0 })?;
        if is_dirty {
            self.write_back(now, way);
        }
        self.tags.replace_in(set, way, line);
        let waiting = Waiting::new(request, wanted, fetched);
        let fetch = Fetch { is_promised: true, ..Fetch::new(Some(way), fetched) };
        let entry = self.mshrs.add(waiting, fetch);
        let kept = &mut self.tags[way];
        self.bytes.make(&mut kept.valid, fetched);
        kept.entry = entry;
        self.modify(way, request);
        self.fetch(now, line, entry, fetched, is_copy);
        self.count_read(request, wanted, fetched, |stats| &mut stats.read_misses);
        Ok(())
    }

    /// A read of a line that is present or outstanding.
    #[inline(never)]
    fn read_here(
        &mut self,
        now: Cycle,
        line: LineAddr,
        way: Way,
        request: &Request,
        is_reserved: bool,
    ) -> Result<(), Refusal> {
        let mut valid = self.bytes.of(self.tags[way].valid);
        if is_reserved {
            let Fetch { missing, is_promised, .. } = self.mshrs[self.tags[way].entry];
            valid &= !if is_promised { missing.bytes() } else { 0 };
        }
        let lacking = request.bytes & !valid;
        if lacking != 0 && is_reserved {
            return self.join(now, line, way, request, lacking);
        }
        let wanted = SectorSet::of(request.bytes);
        if lacking == 0 {
            self.place_for_reply(now)?;
            self.tags.touch(way);
            self.modify(way, request);
            let fetched = SectorSet::default();
            self.count_read(request, wanted, fetched, |stats| &mut stats.read_hits);
            self.reply(now, request);
            return Ok(());
        }
        // The sectors that are missing, or were written in part, are fetched around the rest.
        self.can_spare(line)?;
        let fetched = self.sectors_around(lacking);
        self.room_for_fetch(is_copy(line), fetched, 0)?;
        self.tags.reserve(way, line);
        let waiting = Waiting::new(request, wanted, fetched);
        let fetch = Fetch::new(Some(way), fetched);
        let entry = self.mshrs.add(waiting, fetch);
        self.tags[way].entry = entry;
        self.modify(way, request);
        self.fetch(now, line, entry, fetched, is_copy(line));
        self.count_read(request, wanted, fetched, |stats| &mut stats.read_misses);
        Ok(())
    }

    /// A read of a line that is outstanding, of which it lacks bytes: it waits with the others, and fetches what they did not.
    fn join(
        &mut self,
        now: Cycle,
        line: LineAddr,
        way: Way,
        request: &Request,
        lacking: u128,
    ) -> Result<(), Refusal> {
        let entry = self.tags[way].entry;
        if self.mshrs.is_entry_full(entry) {
            return Err(Refusal::NoMerger);
        }
        let on_their_way = self.mshrs[entry].missing;
        let fetched = self.sectors_around(lacking & !on_their_way.bytes());
        self.room_for(is_copy(line), fetched, 0)?;
        let wanted = SectorSet::of(request.bytes);
        let waiting = Waiting::new(request, wanted, fetched);
        let merged = self.mshrs.merge(entry, waiting);
        debug_assert!(merged.is_ok(), "the entry has a free merger field");
        self.modify(way, request);
        if fetched.is_empty() {
            self.count_read(request, wanted, fetched, |stats| &mut stats.read_merged);
        } else {
            let fetch = &mut self.mshrs[entry];
            fetch.missing = on_their_way.with(fetched);
            if fetch.is_promised {
                self.bytes.add_sectors(&mut self.tags[way].valid, fetched);
            }
            self.fetch(now, line, entry, fetched, is_copy(line));
            self.count_read(request, wanted, fetched, |stats| &mut stats.read_misses);
        }
        Ok(())
    }

    /// The parts of the sectors that hold any of `bytes`.
    #[inline(always)]
    fn sectors_around(&self, bytes: u128) -> SectorSet {
        self.sectors.around_parts(SectorSet::of(bytes))
    }

    /// Asks the DRAM, or a copy's home slice, for whole sectors on behalf of an entry.
    #[inline(always)]
    fn fetch(
        &mut self,
        now: Cycle,
        line: LineAddr,
        entry: MshrId,
        sectors: SectorSet,
        is_copy: bool,
    ) {
        let address = self.first_byte(line);
        if self.comes_whole && !is_copy {
            let (bytes, slot) = (self.least_fetch, entry.0);
            self.to_dram.push(now, DramRequest { address, bytes, write: false, slot, piece: 0 });
            self.stats.fetches += 1;
        } else {
            self.fetch_pieces(now, address, entry, sectors, is_copy);
        }
    }

    /// The same, of a line that begins at `first`, a piece at a time.
    #[inline(never)]
    fn fetch_pieces(
        &mut self,
        now: Cycle,
        first: u64,
        entry: MshrId,
        sectors: SectorSet,
        is_copy: bool,
    ) {
        self.expect_from_home(entry, sectors);
        let pieces = self.pieces(first, sectors, entry.0);
        let queue = if is_copy { &mut self.far.to_home } else { &mut self.to_dram };
        for read in pieces {
            queue.push(now, read);
            self.stats.fetches += 1;
        }
    }

    /// Requests for these sectors, as whole ones are fetched, of a line that begins at `first`.
    #[inline(always)]
    pub(super) fn pieces(
        &self,
        first: u64,
        sectors: SectorSet,
        slot: u16,
    ) -> impl Iterator<Item = DramRequest> + use<> {
        let Slice { fetch_bytes, burst_bytes, least_fetch: bytes, part_bits, .. } = *self;
        let (parts, mut rest) = ((1 << (fetch_bytes / 32)) - 1, u32::from(sectors.bits()));
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let part = rest.trailing_zeros();
            rest &= !(parts << part);
            let address = first + u64::from((part * 32) & !(burst_bytes - 1));
            Some(DramRequest {
                address,
                bytes,
                write: false,
                slot,
                piece: (part >> part_bits) as u8,
            })
        })
    }

    /// An atomic leaves its bytes changed.
    #[inline(always)]
    fn modify(&mut self, way: Way, request: &Request) {
        if request.kind.is_atomic() {
            self.bytes.add(&mut self.tags[way].dirty, request.bytes);
            self.tags.set_dirty(way, true);
        }
    }

    /// Counts a read that had to fetch these sectors.
    #[inline(always)]
    fn count_read(
        &mut self,
        request: &Request,
        wanted: SectorSet,
        fetched: SectorSet,
        counter: fn(&mut L2Stats) -> &mut u64,
    ) {
        let stats = &mut self.stats;
        match request.kind {
            kind if kind.is_atomic() => stats.atomics += 1,
            _ if request.sm == FROM_SLICE => stats.far_read_sectors += u64::from(wanted.count()),
            _ => {
                stats.read_sectors += u64::from(wanted.count());
                stats.read_sector_hits += u64::from(wanted.without(fetched).count());
            }
        }
        *counter(&mut self.stats) += 1;
    }

    /// Room for a fetch of these sectors and for so many writes.
    #[inline(always)]
    fn room_for_fetch(
        &mut self,
        is_copy: bool,
        sectors: SectorSet,
        writes: usize,
    ) -> Result<(), Refusal> {
        if self.mshrs.is_full() {
            return Err(Refusal::NoMshrLine);
        }
        self.room_for(is_copy, sectors, writes)
    }

    /// The same without an MSHR entry.
    #[inline(always)]
    fn room_for(
        &mut self,
        is_copy: bool,
        sectors: SectorSet,
        writes: usize,
    ) -> Result<(), Refusal> {
        let fetches = (sectors.count() >> self.part_bits) as usize;
        if !is_copy {
            return self.room_for_dram(fetches + writes);
        }
        if self.far.to_home.free() < fetches {
            return Err(Refusal::DramQueue);
        }
        self.room_for_dram(writes)
    }

    #[inline(always)]
    fn room_for_dram(&mut self, requests: usize) -> Result<(), Refusal> {
        if self.to_dram.free() >= requests {
            return Ok(());
        }
        self.dram_places = requests;
        Err(Refusal::DramQueue)
    }

    /// Whether there is a place for a reply. Nothing is asked after this: replies of others take places and leave them while a
    /// request waits, and what it waits for would change from cycle to cycle.
    #[inline(always)]
    fn place_for_reply(&self, now: Cycle) -> Result<(), Refusal> {
        if self.replies.is_full(now) { Err(Refusal::ReplyQueue) } else { Ok(()) }
    }

    /// Where a line begins in its channel's address space.
    #[inline]
    pub(super) fn first_byte(&self, line: LineAddr) -> u64 {
        let local = within_home(line);
        self.map.within_channel(self.part, local).first_byte(self.line_bits)
    }

    pub(super) fn write(
        &mut self,
        now: Cycle,
        line: LineAddr,
        request: &Request,
    ) -> Result<(), Refusal> {
        let set = self.tags.set_of(line);
        self.write_at(now, (set, line), self.tags.find_in(set, line), request)
    }

    /// The same, of a line with its set, that stands there.
    fn write_at(
        &mut self,
        now: Cycle,
        (set, line): (usize, LineAddr),
        place: Place,
        request: &Request,
    ) -> Result<(), Refusal> {
        let (way, is_there) = match place {
            Place::Present(way) | Place::Reserved(way) => (way, true),
            Place::Absent(way) => (way, false),
            Place::NoRoom => return Err(Refusal::NoCacheLine),
        };
        // One more dirty way in the set, and perhaps one too many.
        let is_dirty = self.tags.is_dirty_in(set, way);
        let cleaned = if is_dirty { None } else { self.tags.to_clean(line, self.dirty_ways) };
        let written = if is_dirty && !is_there { Some(way) } else { cleaned };
        let writes = written.map_or(0, |way| self.writes_of(way));
        self.room_for_dram(writes + self.room_to_complete())?;
        self.place_for_reply(now)?;
        match is_there {
            true => {
                self.stats.write_hits += 1;
                self.tags.touch(way);
                self.tags.set_dirty(way, true);
            }
            false => {
                if is_dirty {
                    self.write_back(now, way);
                }
                self.tags.insert_dirty(set, way, line);
                self.bytes.clear(&mut self.tags[way].valid);
                self.stats.write_misses += 1;
            }
        }
        if let Some(cleaned) = cleaned {
            self.write_back(now, cleaned);
            self.tags.set_dirty(cleaned, false);
        }
        if matches!(place, Place::Reserved(_)) {
            self.break_promise(way);
        }
        let kept = &mut self.tags[way];
        self.bytes.add(&mut kept.valid, request.bytes);
        self.bytes.add(&mut kept.dirty, request.bytes);
        if self.partial.is_limited() {
            self.note_store(now, way);
        }
        self.reply(now, request);
        Ok(())
    }

    /// Bytes of a line that is outstanding are written: from now on, those that are on their way are valid when they come.
    #[inline(never)]
    fn break_promise(&mut self, way: Way) {
        let kept = &mut self.tags[way];
        let fetch = &mut self.mshrs[kept.entry];
        if std::mem::take(&mut fetch.is_promised) {
            self.bytes.remove(&mut kept.valid, fetch.missing);
        }
    }

    /// Sends the dirty bytes of `way`, which is dirty, to DRAM.
    pub(super) fn write_back(&mut self, now: Cycle, way: Way) {
        debug_assert!(self.tags.is_dirty(way));
        let set = &mut self.tags[way].dirty;
        let dirty = self.bytes.of(*set);
        self.bytes.clear(set);
        if dirty == 0 {
            return;
        }
        let line = self.tags.occupant(way).expect("a dirty way holds a line");
        if self.partial.is_limited() {
            self.complete(now, line, way);
        }
        self.write_bytes(now, line, dirty);
        self.stats.writebacks += 1;
    }

    /// The DRAM requests that write the dirty bytes of `way`, which is dirty, and read what its sectors lack.
    #[inline]
    pub(super) fn writes_of(&self, way: Way) -> usize {
        // There is no room for a gap where a line is two bursts, or one.
        if 2 * self.burst_bytes >= 1 << self.line_bits {
            return 1 + self.reads_of(way);
        }
        let runs = Runs::new(self.bytes.of(self.tags[way].dirty), self.burst_bytes).count();
        runs + self.reads_of(way)
    }

    /// Writes bytes of a line to DRAM, with the bursts that hold them.
    fn write_bytes(&mut self, now: Cycle, line: LineAddr, bytes: u128) {
        let start = self.first_byte(line);
        for (first, bytes) in Runs::new(bytes, self.burst_bytes) {
            let address = start + u64::from(first);
            self.to_dram.push(now, DramRequest { address, bytes, write: true, slot: 0, piece: 0 });
        }
    }

    /// A read that no cache serves: its sectors come from DRAM; those of an atomic go back there.
    fn pass_read(&mut self, now: Cycle, line: LineAddr, request: &Request) -> Result<(), Refusal> {
        let wanted = SectorSet::of(request.bytes);
        let sectors = self.sectors.around_parts(wanted);
        let is_atomic = request.kind.is_atomic();
        let writes = if is_atomic { Runs::new(request.bytes, self.burst_bytes).count() } else { 0 };
        self.room_for_fetch(false, sectors, writes)?;
        let waiting = Waiting::new(request, wanted, sectors);
        let fetch = Fetch::new(None, sectors);
        let entry = self.mshrs.add(waiting, fetch);
        self.fetch(now, line, entry, sectors, false);
        if is_atomic {
            self.write_bytes(now, line, request.bytes);
        }
        self.count_read(request, wanted, sectors, |stats| &mut stats.read_misses);
        Ok(())
    }

    /// A write that goes straight to DRAM.
    fn pass_write(&mut self, now: Cycle, line: LineAddr, request: &Request) -> Result<(), Refusal> {
        self.room_for_dram(Runs::new(request.bytes, self.burst_bytes).count())?;
        self.place_for_reply(now)?;
        self.write_bytes(now, line, request.bytes);
        self.stats.write_misses += 1;
        self.reply(now, request);
        Ok(())
    }
}
