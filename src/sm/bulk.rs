//! Bulk copies: a unit of the SM moves them, without a thread.
//!
//! The unit takes one copy after the other, and asks for its bytes, or writes them, line by line past the L1. A copy to shared memory
//! arrives at its mbarrier when its last bytes have come; a copy to global memory has been waited for when its last bytes have left
//! shared memory, as a wait for all of it takes no longer on the GPU than a wait for its reads. A wait for all of it makes what the L1 holds
//! old, too: `ptxas` puts `CCTL.IVALL` behind it. Fences do not wait for bulk copies; a CTA stays until all of its are done and
//! acknowledged. That the bytes pass over the banks of shared memory is left out.
//!
//! A box of a tensor is asked for row by row. What of it lies outside of the tensor takes its turn in the unit as well, and the time until it
//! is filled in, but nobody is asked for it.
//!
//! A copy that is combined with what is in global memory is one to there whose requests are atomics: the slices of the L2 combine it, sector by
//! sector. A request leaves in 32 bytes a cycle, with its header. That sums of double precision take a slice twice as long is left out.
//!
//! A copy counts as an instruction that loads, stores or modifies, of as many accesses as it has lines, or a box requests.
//!
//! Source: measured on an H200, `results/h200/bulk`, `results/h200/boxes` and `results/h200/sums`.

use std::collections::VecDeque;

use super::copies::Groups;
use super::core::Sm;
use super::journey::Journey;
use super::program::Port;
use crate::config::Machine;
use crate::config::machine::{BulkCopies, BulkTiming, line_bits};
use crate::isa::{BulkCopy, BulkPosition, BulkRequest, BulkUse, Copies};
use crate::parts::{Access, AccessKind, DataCache, Waiter, sectors_of, whole_sectors_of};
use crate::stats::WaitReason;
use crate::units::{Cycle, LineAddr};

/// What the names of copies in requests for bytes have that those of loads have not.
pub(super) const BULK: u32 = 1 << 31;
/// What the names of warps in writes of bulk copies have that those in their stores have not.
pub(super) const BULK_WRITE: u16 = 1 << 15;

/// Bytes of a sector.
const SECTOR_BYTES: u64 = 32;
/// The unit's time goes by quarters of a cycle.
const QUARTERS: u64 = 4;

/// One copy.
#[derive(Clone, Copy, Debug)]
struct Copy {
    kind: BulkCopy,
    warp: usize,
    cta: usize,
    /// The mbarrier at which it arrives, or the group that it is in.
    joins: Joins,
    /// No line of it was asked for.
    is_new: bool,
    /// What it copies, and how far it was asked for; `None` behind the end.
    asked: BulkUse,
    position: Option<BulkPosition>,
    /// When the unit may begin with it; when it did, once that is known.
    due: Cycle,
    /// Requests without an answer.
    under_way: u32,
    /// When what lies outside of the tensor has been filled in.
    filled: Cycle,
    /// Its instruction and its buffer, where somebody counts by these.
    counted: (u32, u32),
}

/// Who hears of a copy that is done.
#[derive(Clone, Copy, Debug)]
enum Joins {
    Mbarrier(u16),
    Group(u8),
    Nobody,
}

/// The unit of an SM.
#[derive(Clone, Debug)]
pub(super) struct BulkUnit {
    timing: BulkTiming,
    line_bits: u32,
    /// What an atomic on all of a sector, or on a part of one, takes at the L2 [quarters of an L2 cycle], where that is limited.
    atomic_work: Option<(u8, u8)>,
    /// When it does something next.
    pub next: Cycle,
    /// When it may ask for another line [quarters of a cycle].
    line_free: u64,
    /// When it may begin with another copy.
    next_copy: Cycle,
    /// When it asks for a line next.
    sends: Cycle,
    /// Copies with lines to ask for, by place: the first one is at work.
    queue: VecDeque<u32>,
    /// Copies that are done at these times, by place.
    done: VecDeque<(Cycle, u32)>,
    copies: Vec<Copy>,
    unused: Vec<u32>,
    groups: Groups,
    /// Warp slots that wait for their writes, and not for reads alone: what the L1 holds is old then.
    acquires: u64,
    /// By CTA slot: copies that are not done, and writes that are not acknowledged.
    of_cta: Vec<u32>,
}

impl BulkUnit {
    /// Of an SM of a machine, with so many warp slots. Where there is none, nobody asks it for anything.
    pub fn new(machine: &Machine, warps: usize) -> Self {
        let timing = match machine.sm.bulk_copies {
            BulkCopies::Present(timing) => timing,
            BulkCopies::Absent => BulkTiming::LEAST,
        };
        BulkUnit {
            timing,
            line_bits: line_bits(machine.l1.line.get()),
            atomic_work: machine.l2.data_port.atomic_work(),
            next: Cycle::NEVER,
            line_free: 0,
            next_copy: Cycle(0),
            sends: Cycle::NEVER,
            queue: VecDeque::new(),
            done: VecDeque::new(),
            copies: Vec::new(),
            unused: Vec::new(),
            groups: Groups::new(warps),
            acquires: 0,
            of_cta: Vec::new(),
        }
    }

    /// Whether copies of a CTA are under way.
    #[inline]
    pub fn holds(&self, cta: usize) -> bool {
        self.of_cta.get(cta).is_some_and(|copies| *copies > 0)
    }

    /// Whether it may ask for a line in the next cycle.
    #[inline]
    pub fn sends(&self) -> bool {
        self.sends != Cycle::NEVER
    }

    /// Takes a copy that was issued at `now`.
    fn begin(&mut self, now: Cycle, mut copy: Copy) {
        if copy.cta >= self.of_cta.len() {
            self.of_cta.resize(copy.cta + 1, 0);
        }
        self.of_cta[copy.cta] += 1;
        let BulkTiming { latency, boxes, .. } = self.timing;
        let latency = match (copy.asked.area, copy.kind.changes_global()) {
            (None, _) => latency,
            (Some(_), true) => boxes.store_latency,
            (Some(_), false) => boxes.latency,
        };
        copy.due = now + latency.cycles();
        let place = self.unused.pop().unwrap_or(self.copies.len() as u32);
        match self.copies.get_mut(place as usize) {
            Some(unused) => *unused = copy,
            None => self.copies.push(copy),
        }
        if self.queue.is_empty() {
            self.sends = self.begins(copy.due);
        }
        self.queue.push_back(place);
        self.note_next();
    }

    /// When it begins with a copy that is due at `due`, if that is the next one.
    fn begins(&self, due: Cycle) -> Cycle {
        due.max(self.next_copy).max(Cycle(self.line_free.div_ceil(QUARTERS)))
    }

    /// A copy is done at `at`, behind those that are as soon.
    fn finish_at(&mut self, at: Cycle, place: u32) {
        let behind = self.done.partition_point(|(other, _)| *other <= at);
        self.done.insert(behind, (at, place));
    }

    fn note_next(&mut self) {
        let done = self.done.front().map_or(Cycle::NEVER, |(at, _)| *at);
        self.next = self.sends.min(done);
    }

    /// Asks for a line of the first copy; where that finds no room, once more in the next cycle. Gives the kind of the copy where the memory
    /// was asked.
    fn send(&mut self, now: Cycle, cache: &mut impl DataCache) -> Option<BulkCopy> {
        self.sends = now + 1;
        let &place = self.queue.front()?;
        let copy = &mut self.copies[place as usize];
        let position = copy.position?;
        let (BulkRequest { line, bytes }, next) = copy.asked.request(position, self.line_bits);
        let kind = match copy.kind {
            BulkCopy::ToGlobal => AccessKind::BulkStore,
            BulkCopy::Reduce => AccessKind::BulkReduction,
            BulkCopy::ToShared | BulkCopy::ToL2 => AccessKind::BulkLoad,
        };
        let tracker = match copy.kind.changes_global() {
            true => u32::from(BULK_WRITE) | copy.warp as u32,
            false => BULK | place,
        };
        let begun = if copy.is_new { now } else { copy.due };
        let is_void = bytes == 0;
        if !is_void {
            let waiter = Waiter { tracker, issued: begun.into(), accepted: now.into() };
            // As measured, a slice takes as long for all of a sector as other atomics do for a part of one.
            let atomic_work = match (kind, self.atomic_work) {
                (AccessKind::BulkReduction, Some((_, part))) => sectors_of(bytes) as u8 * part,
                _ => 0,
            };
            let access = Access { line: LineAddr(line), bytes, kind, atomic_work, waiter };
            if cache.room() == 0 || cache.access(now, access).is_err() {
                return None;
            }
        }
        let is_first = std::mem::take(&mut copy.is_new);
        copy.due = begun;
        copy.position = next;
        if is_void {
            copy.filled = now + self.timing.boxes.fill.cycles();
        } else {
            copy.under_way += u32::from(kind == AccessKind::BulkLoad);
        }
        let (sent, is_box, cta) = (copy.kind, copy.asked.area.is_some(), copy.cta);
        if is_first {
            self.next_copy = now + self.timing.interval.cycles();
        }
        // What is left of the cycle that the line before it ended in counts.
        self.line_free = self.line_free.max(QUARTERS * now.0 - (QUARTERS - 1))
            + self.quarters(sent, is_box, bytes);
        self.sends = Cycle(self.line_free.div_ceil(QUARTERS));
        self.of_cta[cta] += u32::from(sent.changes_global() && !is_void);
        if next.is_none() {
            self.finish_asking(now, place);
        }
        (!is_void).then_some(sent)
    }

    /// Quarters of a cycle from a request for these bytes to the next one.
    fn quarters(&self, kind: BulkCopy, is_box: bool, bytes: u128) -> u64 {
        let BulkTiming { store_line, load_line, boxes, reductions, .. } = &self.timing;
        match (kind, is_box) {
            (BulkCopy::ToGlobal, false) => store_line.cycles(),
            (BulkCopy::ToShared | BulkCopy::ToL2, false) => load_line.cycles(),
            (BulkCopy::ToShared | BulkCopy::ToL2, true) => {
                let sectors = (1u64 << self.line_bits).div_ceil(SECTOR_BYTES);
                let part = load_line.cycles() * u64::from(sectors_of(bytes));
                boxes.load.cycles().max(part.div_ceil(sectors))
            }
            (BulkCopy::ToGlobal, true) => {
                let sectors = 2 * sectors_of(bytes) - whole_sectors_of(bytes);
                boxes.store_sector.cycles() * u64::from(sectors.max(1))
            }
            (BulkCopy::Reduce, _) => {
                let packet = reductions.header.cycles() + u64::from(bytes.count_ones());
                boxes.store_sector.cycles() * packet.div_ceil(SECTOR_BYTES).max(1)
            }
        }
    }

    /// The last line of the first copy was asked for.
    fn finish_asking(&mut self, now: Cycle, place: u32) {
        let &Copy { kind, due, asked, under_way, filled, .. } = &self.copies[place as usize];
        self.queue.pop_front();
        if kind.changes_global() {
            if asked.area.is_none() {
                self.next_copy = self.next_copy.max(now + self.timing.behind_store.cycles());
            }
            let done = now + self.timing.read.cycles();
            let least = due + self.timing.read_least.cycles();
            self.finish_at(done.max(least), place);
        } else if under_way == 0 {
            self.finish_at(filled.max(now) + self.timing.arrival.cycles(), place);
        }
        let next = self.queue.front().map(|next| self.copies[*next as usize].due);
        self.sends = next.map_or(Cycle::NEVER, |due| self.begins(due));
    }
}

impl Sm {
    /// Issues the bulk copies of an instruction; the next one may issue at `next_issue` where there are none.
    #[inline(never)]
    pub(super) fn begin_bulk(
        &mut self,
        now: Cycle,
        warp: usize,
        kind: BulkCopy,
        next_issue: Cycle,
    ) {
        let cta = self.ctas.of_warp(warp);
        let pc = self.warps.pc(warp);
        let Sm { warps, ctas, bulk, stats, profile, .. } = self;
        let mut next_issue = next_issue;
        for asked in warps.reader_mut(warp).bulk(ctas.stream(warp)) {
            let lines = asked.requests(bulk.line_bits);
            let (instructions, accesses) = match kind {
                BulkCopy::ToGlobal => (&mut stats.store_instructions, &mut stats.store_accesses),
                BulkCopy::Reduce => (&mut stats.atomic_instructions, &mut stats.atomic_accesses),
                _ => (&mut stats.load_instructions, &mut stats.load_accesses),
            };
            *instructions += 1;
            *accesses += lines;
            let region = profile.as_mut().map_or(0, |p| p.ask_in_bulk(pc, kind, &asked, lines));
            let joins = match kind {
                BulkCopy::ToShared => Joins::Mbarrier(asked.mbarrier),
                BulkCopy::ToGlobal | BulkCopy::Reduce => Joins::Group(bulk.groups.begin(warp)),
                BulkCopy::ToL2 => Joins::Nobody,
            };
            let copy = Copy {
                kind,
                warp,
                cta,
                joins,
                is_new: true,
                asked,
                position: Some(BulkPosition::default()),
                due: now,
                under_way: 0,
                filled: now,
                counted: (pc as u32, region as u32),
            };
            bulk.begin(now, copy);
            let BulkTiming { begin, boxes, reductions, .. } = bulk.timing;
            let begin = if asked.area.is_some() { boxes.begin } else { begin };
            let more = if kind == BulkCopy::Reduce { reductions.begin.cycles() } else { 0 };
            next_issue = next_issue.max(now) + begin.cycles() + more;
        }
        self.note_bulk();
        if self.warps.advance(warp, Port::None, &self.ctas, &self.program).is_none() {
            return self.end_warp(now, warp);
        }
        self.go_on(now, warp, next_issue);
    }

    /// The unit may have other things to do than before.
    fn note_bulk(&mut self) {
        self.next_data = self.next_data.min(self.bulk.next);
        self.places_needed = self.lsu.accesses_per_cycle() + usize::from(self.bulk.sends());
    }

    /// Divides a warp's bulk copies to global memory into groups, or waits for these; true where the warp waits.
    pub(super) fn group_bulk(&mut self, warp: usize, copies: Copies) -> bool {
        let waits = self.bulk.groups.execute(warp, copies);
        let acquires = matches!(copies, Copies::WaitBulk(_));
        if waits {
            self.warps.at_bulk |= 1 << warp;
            self.bulk.acquires |= u64::from(acquires) << warp;
        } else if acquires {
            self.fences.acquire();
        }
        waits
    }

    /// What the unit does in cycle `now`.
    #[inline(never)]
    pub(super) fn run_bulk(&mut self, now: Cycle, cache: &mut impl DataCache) {
        while let Some(&(at, place)) = self.bulk.done.front()
            && at <= now
        {
            self.bulk.done.pop_front();
            self.end_bulk(now, place);
        }
        if self.bulk.sends <= now
            && self.bulk.send(now, cache).is_some_and(BulkCopy::changes_global)
        {
            self.stores_in_flight += 1;
        }
        self.bulk.note_next();
        self.note_bulk();
    }

    /// Bytes of a copy have come.
    #[inline(never)]
    pub(super) fn bulk_arrived(&mut self, now: Cycle, tracker: u32, journey: &Journey) {
        journey.charge_latency(&mut self.latency_ledger);
        self.latency_accesses += 1;
        let place = tracker & !BULK;
        let copy = &mut self.bulk.copies[place as usize];
        if let Some(profile) = &mut self.profile {
            profile.data_came(copy.counted, journey);
        }
        copy.under_way -= 1;
        if copy.under_way == 0 && copy.position.is_none() {
            let done = copy.filled.max(now) + self.bulk.timing.arrival.cycles();
            self.bulk.finish_at(done, place);
            self.bulk.note_next();
            self.note_bulk();
        }
    }

    /// A write of a copy of this warp is acknowledged.
    #[inline(never)]
    pub(super) fn bulk_written(&mut self, now: Cycle, warp: usize) {
        let cta = self.ctas.of_warp(warp);
        self.bulk.of_cta[cta] -= 1;
        self.end_cta_if_done(cta, now);
    }

    /// A copy is done.
    fn end_bulk(&mut self, now: Cycle, place: u32) {
        let Copy { warp, cta, joins, .. } = self.bulk.copies[place as usize];
        self.bulk.unused.push(place);
        self.bulk.of_cta[cta] -= 1;
        match joins {
            Joins::Mbarrier(id) => {
                self.arrive_at_mbarrier(now, cta, id);
                self.warps.stirred = true;
            }
            Joins::Group(group) => {
                let bit = 1 << warp;
                if self.bulk.groups.end(warp, group) && self.warps.at_bulk & bit != 0 {
                    self.warps.at_bulk &= !bit;
                    if self.bulk.acquires & bit != 0 {
                        self.bulk.acquires &= !bit;
                        self.fences.acquire();
                    }
                    self.warps.stirred = true;
                    self.note_hold(warp, WaitReason::Barrier, now);
                    self.go_on(now, warp, now);
                }
            }
            Joins::Nobody => {}
        }
        self.end_cta_if_done(cta, now);
    }
}
