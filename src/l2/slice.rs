//! One slice: its queues and its time. What it does with a request is in `lookup.rs`, how it answers in `answer.rs`.

use std::hint::select_unpredictable;

use super::coalescer::Coalescer;
use super::distance::Distances;
use super::exit::Exit;
use super::far::{Far, is_copy};
use super::partial_lines::PartialLines;
use super::port::{DataPort, SECTOR, Side};
use super::stats::L2Stats;
use super::waiting::{Arrival, Fetch, Kept, Pieces, Refusal, Waiting};
use crate::config::Machine;
use crate::config::machine::{L2Config, L2Mode, line_bits};
use crate::parts::{
    AddressMap, BytePool, DramRequest, MshrFile, Reply, Request, Sectors, TagArray, Way,
};
use crate::ring::Ring;
use crate::units::Cycle;

/// Replies that one tick of a plain slice makes, at most: a line has come, and another is there.
const A_TICK: usize = 2;

/// One L2 slice. Times are L2 cycles unless they are called `core`.
///
/// What each visit looks at comes first, then what a request needs, and then what few machines have.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Slice {
    pub(super) input: Ring<Request>,
    pub(super) port: DataPort,
    /// The head of `input` was refused and nothing has happened since that could change that.
    pub(super) stalled: Option<Refusal>,
    /// It has no coalescer and no neighbour.
    pub(super) is_plain: bool,
    pub(super) mode: L2Mode,
    /// A line comes in one piece.
    pub(super) comes_whole: bool,
    /// Fetch requests of one sector.
    pub(super) pieces: u8,
    /// Where nothing but data for one of the ways of a set, or a place that it lacks, changes what that request finds: the
    /// first of them.
    pub(super) stalled_set: Option<Way>,
    pub(super) to_dram: Ring<DramRequest>,
    /// Sectors that have arrived for requests that are still to be answered, oldest first.
    pub(super) releasing: Ring<Arrival>,
    pub(super) replies: Exit,
    pub(super) data_latency: u64,
    pub(super) sector_latency: u64,
    pub(super) mshrs: MshrFile<Waiting, Fetch>,
    pub(super) tags: TagArray<Kept>,
    /// Where the bytes of lines lie.
    pub(super) bytes: BytePool,
    /// The cycles of a standing refusal from this one on are not counted.
    pub(super) stalled_from: Cycle,
    /// Places in `to_dram` that the last request needed that was refused for want of them.
    pub(super) dram_places: usize,
    pub(super) sectors: Sectors,
    /// Its place among the slices of its channel.
    pub(super) part: u64,
    pub(super) line_bits: u32,
    pub(super) burst_bytes: u32,
    /// Bytes of one fetch request.
    pub(super) fetch_bytes: u32,
    /// Bytes that one brings.
    pub(super) least_fetch: u32,
    /// Parts of 32 bytes in a fetch request are two to this power.
    pub(super) part_bits: u32,
    tag_latency: u64,
    /// Ways of a set that may be dirty.
    pub(super) dirty_ways: usize,
    pub(super) map: AddressMap,
    distances: Distances,
    pub(super) stats: L2Stats,
    /// By entry: how far its sectors have come, where a line does not come in one piece.
    pub(super) arriving: Box<[Pieces]>,
    pub(super) number: usize,
    /// Lines with sectors that were written in part.
    pub(super) partial: PartialLines,
    /// What it has to do with the other partition, where there is one.
    pub(super) far: Far,
    /// What reads of other SMs are held against on the way to `input`, where there is such a thing.
    coalescer: Option<Coalescer>,
}

impl Slice {
    /// Slice `number` of `machine`, empty.
    pub fn new(machine: &Machine, number: usize) -> Self {
        let config = &machine.l2;
        let tags =
            TagArray::new(config.sets.size(), config.ways.size(), config.index, config.replacement)
                .ordered();
        let entries = config.mshr_entries.size();
        let line = config.line.get();
        let sectors = Sectors::new(line, config.sector.get());
        let coalescer = Coalescer::new(machine, Slice::room(config));
        let far = Far::new(config);
        let map = AddressMap::new(machine);
        let pieces = (sectors.bytes() / config.fetch.get()) as u8;
        let comes_whole = config.fetch.get() == line;
        Slice {
            number,
            part: map.part(number),
            map,
            mode: config.mode,
            line_bits: line_bits(line),
            burst_bytes: machine.dram.burst_bytes(),
            fetch_bytes: config.fetch.get(),
            least_fetch: config.fetch.get().max(machine.dram.burst_bytes()),
            part_bits: config.fetch.get().trailing_zeros() - 5,
            pieces,
            arriving: vec![Pieces::new(pieces); if comes_whole { 0 } else { entries }].into(),
            comes_whole,
            tag_latency: config.tag_latency.cycles(),
            distances: Distances::new(machine, number),
            data_latency: config.data_latency.cycles(),
            sector_latency: config.sector_latency.cycles(),
            sectors,
            bytes: BytePool::new(2 * tags.len()),
            partial: PartialLines::new(&config.partial_lines, tags.len()),
            dirty_ways: config.dirty_ways.size(),
            tags,
            mshrs: MshrFile::new(entries, config.mshr_mergers.size()),
            releasing: Ring::new(entries * sectors.count()),
            is_plain: coalescer.is_none() && !far.is_paired(),
            coalescer,
            input: Ring::new(Slice::room(config)),
            replies: Exit::new(Slice::exits(config)),
            to_dram: Ring::new(config.miss_queue.size()),
            stalled: None,
            stalled_from: Cycle(0),
            stalled_set: None,
            dram_places: 0,
            port: DataPort::new(&config.data_port),
            far,
            stats: L2Stats::default(),
        }
    }

    /// Counters since construction; a standing refusal as far as [`Slice::catch_up`] went.
    pub fn stats(&self) -> &L2Stats {
        &self.stats
    }

    /// Requests that it can hold that are not looked up yet.
    pub fn room(config: &L2Config) -> usize {
        config.input_queue.size() + config.tag_latency.size() + config.distance.longest()
    }

    /// Replies that it can hold: those that wait, and one for each cycle that a line's data takes.
    pub fn exits(config: &L2Config) -> usize {
        let further_sectors = (config.line.get() / SECTOR).saturating_sub(1) as usize;
        let data = config.data_latency.size() + further_sectors * config.sector_latency.size();
        config.reply_queue.size() + data
    }

    /// Takes a request that has arrived from the network in cycle `core`; `core_of` gives the core cycle of one of the L2's. The
    /// caller knows that there is [`Slice::room`].
    #[inline(always)]
    pub fn accept(
        &mut self,
        now: Cycle,
        core: Cycle,
        request: Request,
        core_of: impl FnOnce(Cycle) -> Cycle,
    ) {
        if !(self.is_plain && self.distances.are_alike()) {
            return self.accept_special(now, core, request, core_of);
        }
        // All take as long, so that they are looked up in the order in which they arrive.
        let looked_up = now + self.tag_latency;
        let queued = self.input.push(looked_up, request);
        queued.stamps.arrive(core, core_of(looked_up));
        queued.line = self.map.within_slice(request.line);
    }

    /// The same where the slice is not plain, or further from some SMs than from others.
    #[inline(never)]
    fn accept_special(
        &mut self,
        now: Cycle,
        core: Cycle,
        request: Request,
        core_of: impl FnOnce(Cycle) -> Cycle,
    ) {
        let line = self.local(request.line);
        let looked_up = now + self.tag_latency + self.distances.to(request.sm, is_copy(line));
        let request = match &mut self.coalescer {
            None => self.input.insert(looked_up, request),
            Some(coalescer) => coalescer.expect(Cycle(looked_up.0 - coalescer.latency()), request),
        };
        request.stamps.arrive(core, core_of(looked_up));
        request.line = line;
    }

    /// From a request's arrival until the slice does anything with it, at least [L2 cycles].
    pub fn first_look(config: &L2Config) -> u64 {
        config.tag_latency.cycles() - config.coalescer.latency()
    }

    /// Requests that have come to the coalescer go on to the tags, or wait for another's reply; gives how many do that.
    fn coalesce(&mut self, now: Cycle) -> u32 {
        let mut waiting = 0;
        let Some(coalescer) = &mut self.coalescer else { return 0 };
        while let Some(coming) = coalescer.pop(now) {
            match coalescer.admit(coming) {
                Some(request) => {
                    self.tags.prefetch(request.line);
                    self.input.push(now + coalescer.latency(), request);
                }
                None => {
                    self.stats.coalesced += 1;
                    waiting += 1;
                }
            }
        }
        waiting
    }

    /// One cycle: releases one request whose line has arrived, and looks one up; gives how many left their queue.
    /// Cycles without an event may be left out.
    pub fn tick(&mut self, now: Cycle, core: Cycle) -> u32 {
        self.go_on_with_place(now);
        if self.is_plain {
            return u32::from(self.tick_plain(now, core, false));
        }
        let taken = self.coalesce(now);
        let far_first = self.far.is_owed_a_place;
        let mut far_went = far_first && self.serve_owed(now, core);
        let released = self.release(now);
        far_went |= !far_first && self.pass_back(now);
        let far_wants = self.far.next_lookup() <= now;
        let is_open = self.port.is_open(now, Side::Near, far_wants);
        let is_taken = is_open && self.wants_port(now) && self.look_up_oldest(now, core);
        far_went |= !far_first && self.tick_far(now, core);
        self.far.is_owed_a_place &= !far_went;
        // Who goes first had the last place for a reply: the next one is not its.
        if (released | is_taken) & !far_went & self.waits_for_place(now) {
            self.far.is_owed_a_place = true;
        }
        taken + u32::from(is_taken)
    }

    /// The same, after [`Slice::go_on_with_place`], of one with neither coalescer nor neighbour, which may have released a request
    /// in this cycle; true when a request left its queue.
    #[inline(always)]
    pub fn tick_plain(&mut self, now: Cycle, core: Cycle, has_released: bool) -> bool {
        if !has_released {
            self.release(now);
        }
        self.wants_port(now)
            && self.port.is_open(now, Side::Near, false)
            && self.look_up_oldest(now, core)
    }

    /// A request that was refused for want of a place for its reply looks again where there is one.
    #[inline]
    pub fn go_on_with_place(&mut self, now: Cycle) {
        if self.stalled == Some(Refusal::ReplyQueue) && !self.replies.is_full(now) {
            self.go_on(now);
        }
    }

    /// The earliest cycle from `now` on in which a tick does more than count a standing refusal.
    #[inline]
    pub fn next_event(&self, now: Cycle) -> Cycle {
        let event = self.next_plain_event(now);
        if self.is_plain { event } else { event.min(self.next_special_event(now)) }
    }

    /// The same of one with neither coalescer nor neighbour.
    #[inline]
    pub fn next_plain_event(&self, now: Cycle) -> Cycle {
        // Nobody can tell beforehand how it stands.
        let place = self.replies.room_from();
        let lookup = self.input.next_visible().max(self.port.free_from());
        let lookup = select_unpredictable(self.stalled.is_none(), lookup, Cycle::NEVER);
        // One that was refused for want of a place goes on as soon as there is one; until then there is none.
        let wants_place = self.stalled == Some(Refusal::ReplyQueue);
        let lookup = select_unpredictable(wants_place, place, lookup);
        let release = self.releasing.next_visible().max(place);
        lookup.min(release).max(now)
    }

    /// The same of the coalescer and of what the other slice has to do with.
    fn next_special_event(&self, now: Cycle) -> Cycle {
        let mut event = Cycle::NEVER;
        if let Some(coalescer) = &self.coalescer {
            event = event.min(coalescer.next_event().max(now));
        }
        if self.far.is_paired() {
            event = event.min(self.far.next_lookup().max(self.port.next_free(now)));
            event = event.min(self.far.next_return().max(self.replies.room_from()).max(now));
        }
        event
    }

    /// Whether there is a request for DRAM.
    #[inline]
    pub fn has_dram_request(&self) -> bool {
        !self.to_dram.is_empty()
    }

    /// Takes the oldest request for DRAM, if there is one, after the tick of `now`.
    #[cfg(test)]
    pub fn take_dram_request(&mut self, now: Cycle) -> Option<DramRequest> {
        self.has_dram_request().then(|| self.take_next_dram_request(now))
    }

    /// Takes the oldest request for DRAM, of which there is one, after the tick of `now`.
    #[inline]
    pub fn take_next_dram_request(&mut self, now: Cycle) -> DramRequest {
        let request = self.to_dram.take();
        if self.may_go_on_with_dram()
            && (self.to_dram.free() >= self.dram_places || self.far.is_paired())
        {
            self.go_on(now + 1);
        }
        request
    }

    /// The oldest reply whose data is ready.
    #[cfg(test)]
    pub fn next_reply(&self, now: Cycle) -> Option<&Reply> {
        self.replies.front(now)
    }

    /// When the oldest reply is ready.
    #[inline]
    pub fn reply_ready(&self) -> Cycle {
        self.replies.ready()
    }

    /// The way out, from which replies may be taken ahead.
    #[inline]
    pub fn exit(&mut self) -> &mut Exit {
        &mut self.replies
    }

    /// Whether a reply of one of the next `ticks` may find no place, or may find one, for all that is known.
    #[inline]
    pub fn is_in_doubt(&self, ticks: usize) -> bool {
        self.replies.is_in_doubt(ticks * A_TICK)
    }

    /// From a tick until a reply that it makes can leave, at least.
    #[inline]
    pub fn reply_delay(&self) -> u64 {
        self.data_latency
    }

    /// Takes the oldest reply whose data is ready, after the tick of `now`.
    pub fn take_reply(&mut self, now: Cycle) -> Option<Reply> {
        let reply = self.replies.pop(now)?;
        self.go_on_after(now + 1, Refusal::ReplyQueue);
        Some(reply)
    }

    /// How many replies leave with the oldest one, itself included.
    #[inline]
    pub fn replies_at_once(&self) -> usize {
        let Some(coalescer) = &self.coalescer else { return 1 };
        self.replies.front(Cycle::NEVER).map_or(1, |reply| coalescer.replies(reply))
    }

    /// True when replies leave it one by one, and nothing is held against reads on their way to it.
    #[inline]
    pub fn replies_leave_alone(&self) -> bool {
        self.is_plain
    }

    /// The other replies that leave with one that was taken.
    #[inline]
    pub fn take_others(&mut self, reply: &Reply) -> impl Iterator<Item = Reply> {
        self.coalescer.as_mut().map(|coalescer| coalescer.release(reply)).into_iter().flatten()
    }

    /// True when a request of its own SMs can be looked up, but for the port.
    #[inline]
    pub(super) fn wants_port(&self, now: Cycle) -> bool {
        self.stalled.is_none() && self.input.next_visible() <= now
    }

    /// True when it holds no request, no reply and no outstanding fetch.
    pub fn is_idle(&self) -> bool {
        self.input.is_empty()
            && self.coalescer.as_ref().is_none_or(Coalescer::is_idle)
            && self.mshrs.in_use() == 0
            && self.replies.len() == 0
            && self.to_dram.is_empty()
            && self.far.is_idle()
    }
}

#[cfg(test)]
impl Slice {
    /// As [`Slice::accept`], where the L2 has the core's clock.
    pub(super) fn arrive(&mut self, now: Cycle, request: Request) {
        self.accept(now, now, request, |cycle| cycle);
    }

    /// True when [`Slice::accept`] may be called.
    pub(super) fn has_room(&self) -> bool {
        !self.input.is_full()
    }

    /// All that decides how later requests are served, to show that a refusal changed nothing; the
    /// refusals counted so far; and the replies queued.
    pub(super) fn state(&self) -> (impl PartialEq + use<>, u64, usize) {
        let ways = (self.tags.clone(), self.bytes.clone());
        let queues = (self.replies.len(), self.to_dram.len(), self.input.len());
        let stats = &self.stats;
        let refusals = stats.stall_nomerger
            + stats.stall_nomshrline
            + stats.stall_nocacheline
            + stats.stall_dramqueue
            + stats.stall_replyqueue;
        ((ways, self.mshrs.clone(), self.arriving.clone(), queues), refusals, self.replies.len())
    }
}
