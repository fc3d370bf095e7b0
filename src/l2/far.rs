//! Two partitions: a slice is home to the lines of its channel, and keeps copies of its neighbour's, which is in the
//! other partition.
//!
//! A copy serves reads as any line does, but what it lacks is asked of the home slice where another line asks the DRAM.
//! Stores and atomics go on to the home slice. It acknowledges stores to the SM itself; what an atomic found comes back the
//! way that it went. A store or an atomic of the home's own partition makes the copy go, so that no copy is ever older than
//! its line.

use super::port::Side;
use super::slice::Slice;
use super::waiting::Refusal;
use crate::config::machine::{L2Config, L2Partitions};
use crate::parts::{
    DramRequest, FROM_SLICE, Lookup, MshrId, Reply, Request, RequestKind, RequestStamps, SectorSet,
    Stamps, THROUGH_COPY, sectors_of,
};
use crate::prefetch::prefetch_at;
use crate::ring::Ring;
use crate::units::{Cycle, LineAddr};

/// Marks a line's number within the slice that keeps a copy of it: beyond the lines of all memories, of which those of local
/// memory come last.
const COPY: u64 = 1 << 60;

/// Whether this is the number of a copy.
#[inline]
pub(super) fn is_copy(line: LineAddr) -> bool {
    line.0 & COPY != 0
}

/// The number of a line, or of the one that this is a copy of, within its home slice.
#[inline]
pub(super) fn within_home(line: LineAddr) -> LineAddr {
    LineAddr(line.0 & !COPY)
}

/// How the home slice had what it brought for an entry, and the DRAM's time for all of that; none where it brought nothing. It lies in
/// one line of the processor's caches.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct AtHome(Option<Stamps>);

/// A slice's dealings with its neighbour.
#[derive(Clone, Debug)]
pub struct Far {
    is_paired: bool,
    latency: u64,
    /// What the neighbour asks and passes on.
    asked: Ring<Request>,
    /// The head of `asked` was refused and nothing has happened since that could change that.
    pub(super) stalled: Option<Refusal>,
    /// The cycles of that refusal from this one on are not counted.
    pub(super) stalled_from: Cycle,
    /// Stores and atomics to be passed on.
    passed_on: Ring<Request>,
    /// Atomics that were passed on and have not come back.
    away: usize,
    /// What they found, on its way back; has a place for each.
    returning: Ring<Reply>,
    /// Fetches of copies.
    pub(super) to_home: Ring<DramRequest>,
    /// By MSHR entry, as many as were ever needed.
    at_home: Vec<AtHome>,
    /// What has to do with the neighbour goes before what has not, as there was no place left for its reply.
    pub(super) is_owed_a_place: bool,
    /// Of this, an atomic's result went last, and no look-up.
    has_returned: bool,
    /// A line that has just changed without the neighbour's knowledge.
    changed: Option<LineAddr>,
}

impl Far {
    /// Nothing is on its way.
    pub fn new(config: &L2Config) -> Self {
        let (is_paired, latency, room, fetches) = match &config.partitions {
            L2Partitions::One => (false, 0, 1, 1),
            L2Partitions::Two { latency, queue, .. } => {
                (true, latency.cycles(), queue.size(), config.miss_queue.size())
            }
        };
        let entries = if is_paired { config.mshr_entries.size() } else { 0 };
        Far {
            is_paired,
            latency,
            asked: Ring::new(room),
            stalled: None,
            stalled_from: Cycle(0),
            passed_on: Ring::new(room),
            away: 0,
            returning: Ring::new(entries.max(1)),
            to_home: Ring::new(fetches),
            at_home: Vec::new(),
            is_owed_a_place: false,
            has_returned: false,
            changed: None,
        }
    }

    /// Whether there are two partitions.
    #[inline]
    pub fn is_paired(&self) -> bool {
        self.is_paired
    }

    /// What is kept of an entry is looked at soon.
    #[inline(always)]
    pub fn prefetch(&self, entry: MshrId) {
        prefetch_at(&self.at_home, entry.index());
    }

    /// When the next request of the other slice can be looked up.
    #[inline]
    pub fn next_lookup(&self) -> Cycle {
        if self.stalled.is_some() { Cycle::NEVER } else { self.asked.next_visible() }
    }

    /// When the next result of an atomic is back.
    #[inline]
    pub fn next_return(&self) -> Cycle {
        self.returning.next_visible()
    }

    /// True when nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.asked.is_empty()
            && self.passed_on.is_empty()
            && self.to_home.is_empty()
            && self.away == 0
    }
}

impl Slice {
    /// Whether there are two partitions.
    #[inline]
    pub fn is_paired(&self) -> bool {
        self.far.is_paired()
    }

    /// The number of a line within this slice, which has a line of its neighbour's as a copy.
    #[inline]
    pub(super) fn local(&self, line: LineAddr) -> LineAddr {
        if !self.far.is_paired {
            return self.map.within_slice(line);
        }
        let (home, local) = self.map.place(line);
        if home != self.number { LineAddr(local.0 | COPY) } else { local }
    }

    /// Whether a copy's fetch leaves enough for what the neighbour may ask: else each could wait for the other.
    pub(super) fn can_spare(&self, line: LineAddr) -> Result<(), Refusal> {
        if !is_copy(line) {
            return Ok(());
        }
        let free = self.mshrs.size() - self.mshrs.in_use();
        if free <= (self.mshrs.size() / 4).max(1) {
            return Err(Refusal::NoMshrLine);
        }
        if self.tags.can_spare(line) { Ok(()) } else { Err(Refusal::NoCacheLine) }
    }

    /// Whether a result that is back, or a request of the other slice, waits for a place for its reply.
    pub(super) fn waits_for_place(&self, now: Cycle) -> bool {
        self.replies.is_full(now)
            && (self.far.next_return() <= now || self.far.stalled == Some(Refusal::ReplyQueue))
    }

    /// Lets a result go on, and looks up a request of the other slice, in turn; true when either went.
    pub(super) fn serve_owed(&mut self, now: Cycle, core: Cycle) -> bool {
        let look_up_first = self.far.has_returned;
        let looked_up = look_up_first && self.tick_far(now, core);
        let returned = self.pass_back(now);
        let looked_up = looked_up | (!look_up_first && self.tick_far(now, core));
        if returned != looked_up {
            self.far.has_returned = returned;
        }
        returned | looked_up
    }

    /// Looks up the oldest request of the other slice; true when it went.
    pub(super) fn tick_far(&mut self, now: Cycle, core: Cycle) -> bool {
        if !self.far.is_paired || self.far.stalled.is_some() {
            return false;
        }
        let Some(&request) = self.far.asked.front(now) else { return false };
        if !self.port.is_open(now, Side::Far, self.wants_port(now)) {
            return false;
        }
        match self.look_up_far(now, core, request) {
            Ok(()) => {
                self.port.take(now, Side::Far, &request, false);
                self.far.asked.pop(now);
                true
            }
            Err(refusal) => {
                (self.far.stalled, self.far.stalled_from) = (Some(refusal), now);
                false
            }
        }
    }

    fn look_up_far(
        &mut self,
        now: Cycle,
        core: Cycle,
        mut request: Request,
    ) -> Result<(), Refusal> {
        request.stamps.look_up(core);
        let line = within_home(request.line);
        if request.kind == RequestKind::Store {
            self.write(now, line, &request)?;
            self.stats.far_write_sectors += u64::from(sectors_of(request.bytes));
            return Ok(());
        }
        if request.kind.is_atomic() {
            request.held = THROUGH_COPY;
        }
        self.read(now, line, &request)
    }

    /// A store or an atomic goes on to the line's home.
    pub(super) fn pass_on(&mut self, now: Cycle, request: &Request) -> Result<(), Refusal> {
        let is_atomic = request.kind.is_atomic();
        if self.far.passed_on.is_full() || (is_atomic && self.far.away == self.mshrs.size()) {
            return Err(Refusal::DramQueue);
        }
        self.far.passed_on.push(now, *request);
        if is_atomic {
            self.far.away += 1;
            self.forget(request.line);
        }
        Ok(())
    }

    /// These sectors are fetched for an entry, from the DRAM or from home: if it waits for no other ones, the home slice has brought
    /// it nothing yet.
    pub(super) fn expect_from_home(&mut self, entry: MshrId, sectors: SectorSet) {
        if let Some(at_home) = self.far.at_home.get_mut(entry.index())
            && self.mshrs[entry].missing == sectors
        {
            *at_home = AtHome(None);
        }
    }

    /// The home slice brings what a copy lacked, before the tick of `now`; `found` is how it had that.
    pub fn fill_from_home(
        &mut self,
        now: Cycle,
        core: Cycle,
        slot: u16,
        piece: u8,
        found: &Stamps,
    ) {
        let (place, all) = (usize::from(slot), &mut self.far.at_home);
        if place >= all.len() {
            all.resize(place + 1, AtHome(None));
        }
        let at_home = all[place].0.get_or_insert(*found);
        // What was there already took none of the DRAM's time.
        let was_there = |stamps: &Stamps| stamps.dram_started == stamps.filled;
        if was_there(at_home) {
            *at_home = *found;
        } else if !was_there(found) {
            at_home.dram_started = at_home.dram_started.earlier(found.dram_started);
            at_home.filled = at_home.filled.later(found.filled);
        }
        self.fill(now, core, slot, piece, found.dram_started);
    }

    /// The answer to a request whose data came for this entry: what was fetched for it from home was found there when it was.
    pub(super) fn since_home(&self, entry: MshrId, mut reply: Reply) -> Reply {
        let stamps = &mut reply.stamps;
        if let Some(AtHome(Some(home))) = self.far.at_home.get(entry.index())
            && !stamps.merged_at_l2
        {
            // What came first may have been asked for before this request was, and what came last may be for a later one.
            let own = stamps.request;
            let looked_up = home.request.looked_up.later(own.looked_up);
            let on_the_way = looked_up.since(own.looked_up) as u32;
            let queued = own.queued + home.request.queued.min(on_the_way);
            stamps.request = RequestStamps { looked_up, queued, ..own };
            stamps.dram_started = home.dram_started.later(looked_up);
            stamps.filled = home.filled.later(stamps.dram_started);
            stamps.merged_at_l2 = home.merged_at_l2;
        }
        reply
    }

    /// What an atomic found at home comes back in cycle `at`.
    pub fn come_back(&mut self, at: Cycle, reply: Reply) {
        self.far.returning.push(at, Reply { held: 0, ..reply });
    }

    /// The oldest result that is back goes on to its SM; true when there is one, and a place for it.
    pub(super) fn pass_back(&mut self, now: Cycle) -> bool {
        if self.far.next_return() > now || self.replies.is_full(now) {
            return false;
        }
        let reply = self.far.returning.take();
        self.replies.push(now + self.data_latency, &reply);
        self.far.away -= 1;
        self.go_on(now);
        true
    }

    /// The copy of a line that its home slice has changed goes; its number is that of the home slice, or of the copy.
    pub fn forget(&mut self, line: LineAddr) {
        let line = LineAddr(line.0 | COPY);
        match self.tags.lookup(line) {
            Lookup::Absent => {}
            Lookup::Present(way) => self.tags.invalidate(way),
            // What is here goes at once; what is on its way may be older than the change, and serves those who wait for it.
            Lookup::Reserved(way) => {
                let kept = &mut self.tags[way];
                let fetch = &mut self.mshrs[kept.entry];
                let promised = if fetch.is_promised { fetch.missing } else { SectorSet::default() };
                fetch.is_stale = true;
                self.bytes.make(&mut kept.valid, promised);
            }
        }
    }

    /// A line at home has changed for an SM of the own partition.
    #[inline]
    pub(super) fn note_change(&mut self, line: LineAddr) {
        if self.far.is_paired && !is_copy(line) {
            self.far.changed = Some(line);
        }
    }

    /// The line that has changed in this cycle's tick without the other slice's knowledge.
    #[inline]
    pub fn take_change(&mut self) -> Option<LineAddr> {
        self.far.changed.take()
    }

    /// True when the other slice can ask for more.
    #[inline]
    pub fn can_be_asked(&self) -> bool {
        !self.far.asked.is_full()
    }

    /// Requests of the other slice that are not looked up.
    #[inline]
    pub fn asked(&self) -> usize {
        self.far.asked.len()
    }

    /// Takes a request of the other slice; gives the cycle in which it is looked up.
    pub fn ask(&mut self, now: Cycle, request: Request) -> Cycle {
        let at = now + self.far.latency;
        self.tags.prefetch(within_home(request.line));
        self.far.asked.push(at, request);
        at
    }

    /// Takes the oldest request that goes to the other slice, as long as [`Slice::has_for_home`] is true; `core_of` gives the core
    /// cycle of one of the L2's.
    pub fn take_for_home(
        &mut self,
        now: Cycle,
        core_of: impl FnOnce(Cycle) -> Cycle,
    ) -> Option<Request> {
        // What was looked up first goes first, so that neither keeps the other one back.
        let (fetch, passed_on) =
            (self.far.to_home.next_visible(), self.far.passed_on.next_visible());
        let mut request = match fetch < passed_on {
            false => self.far.passed_on.pop(now)?,
            true => {
                let fetch = self.far.to_home.pop(now)?;
                debug_assert!(!fetch.write, "copies are never dirty");
                // What it lacks, and not the whole burst that the DRAM would send.
                let mask = u128::MAX >> (128 - self.fetch_bytes);
                Request {
                    line: LineAddr(fetch.address >> self.line_bits),
                    bytes: mask << (u32::from(fetch.piece) * self.fetch_bytes),
                    kind: RequestKind::Fetch,
                    sm: FROM_SLICE,
                    slot: fetch.slot,
                    ..Request::default()
                }
            }
        };
        // Had it not waited here, it would be there then.
        let looked_up = fetch.min(passed_on) + self.far.latency;
        request.stamps.looked_up = core_of(looked_up).into();
        self.go_on(now + 1);
        Some(request)
    }

    /// True when something is to go to the other slice.
    #[inline]
    pub fn has_for_home(&self) -> bool {
        !self.far.passed_on.is_empty() || !self.far.to_home.is_empty()
    }

    /// True when the oldest reply, ready or not, goes to the other slice.
    #[inline]
    pub fn is_reply_for_slice(&self) -> bool {
        let goes_there = |reply: &Reply| reply.sm == FROM_SLICE || reply.held == THROUGH_COPY;
        self.far.is_paired && self.replies.front(Cycle::NEVER).is_some_and(goes_there)
    }

    /// The place in its line, in fetches, of what a reply for the other slice brings.
    pub fn piece(&self, reply: &Reply) -> u8 {
        (reply.sectors.first_byte() / self.fetch_bytes) as u8
    }

    /// From one partition's slice to the other's, each way [L2 cycles].
    pub fn far_latency(&self) -> u64 {
        self.far.latency
    }
}
