//! Outstanding load instructions, and the schedulers' waits for them.
//!
//! A scheduler that cannot issue because its warps wait for memory charges the cycle to its oldest
//! outstanding access. Where that access is, is known when it is done: until then the cycles are kept
//! as spans, and then each is split by the access's journey. Nothing has to be asked of the rest of
//! the machine while the access is on its way.

use std::collections::VecDeque;

use super::journey::Journey;
use crate::isa::Operands;
use crate::stats::IssueLedger;
use crate::units::Cycle;

/// Places to begin with: as many as most kernels need.
const AT_FIRST: usize = 512;
/// Instructions in order to begin with: a queue that goes round in little storage stays in the processor's caches.
const IN_ORDER_AT_FIRST: usize = 128;

/// One outstanding load instruction.
#[derive(Clone, Copy, Debug)]
pub struct Tracker {
    /// Its warp slot.
    pub warp: u8,
    /// The scheduler of that.
    scheduler: u8,
    /// Registers that wait for it.
    pub dsts: Operands,
    /// Accesses whose data has not arrived.
    pub remaining: u16,
    /// Order of issue within the SM, its low bits: tells a tracker from an earlier one in the same place.
    sequence: u32,
}

/// The oldest outstanding instruction of one scheduler, and the cycles waited for it.
#[derive(Clone, Debug, Default)]
struct Waits {
    /// Place and sequence number, oldest first; those already done are dropped when they come to the front.
    outstanding: VecDeque<(u16, u32)>,
    /// Cycles waited for the front one.
    spans: Vec<(Cycle, Cycle)>,
    /// The wait that has not ended; a span for each front one.
    since: Option<Cycle>,
}

/// Every outstanding load instruction of an SM.
#[derive(Clone, Debug)]
pub struct Outstanding {
    trackers: Vec<Tracker>,
    free: Vec<u16>,
    sequence: u32,
    /// By scheduler.
    waits: Box<[Waits]>,
}

impl Outstanding {
    /// None, for so many schedulers.
    pub fn new(schedulers: usize) -> Self {
        Outstanding {
            trackers: Vec::with_capacity(AT_FIRST),
            free: Vec::with_capacity(AT_FIRST),
            sequence: 0,
            waits: (0..schedulers)
                .map(|_| Waits {
                    outstanding: VecDeque::with_capacity(IN_ORDER_AT_FIRST),
                    spans: Vec::with_capacity(AT_FIRST),
                    since: None,
                })
                .collect(),
        }
    }

    /// Notes an instruction of `accesses` accesses, issued by `scheduler`; gives its place.
    #[inline]
    pub fn add(&mut self, warp: usize, dsts: Operands, accesses: u16, scheduler: usize) -> u16 {
        self.sequence = self.sequence.wrapping_add(1);
        let (warp, remaining, sequence) = (warp as u8, accesses, self.sequence);
        let tracker = Tracker { warp, scheduler: scheduler as u8, dsts, remaining, sequence };
        let place = match self.free.pop() {
            Some(place) => {
                self.trackers[usize::from(place)] = tracker;
                place
            }
            None => {
                self.trackers.push(tracker);
                u16::try_from(self.trackers.len() - 1).expect("fewer than 2^16 loads in flight")
            }
        };
        self.waits[scheduler].outstanding.push_back((place, self.sequence));
        place
    }

    /// The place that the next [`Outstanding::add`] will give.
    #[inline]
    pub fn next_place(&self) -> u16 {
        self.free.last().copied().unwrap_or(self.trackers.len() as u16)
    }

    fn is_outstanding(trackers: &[Tracker], (place, sequence): (u16, u32)) -> bool {
        let tracker = &trackers[usize::from(place)];
        tracker.sequence == sequence && tracker.remaining > 0
    }

    /// `scheduler` waits for its oldest outstanding instruction from cycle `from` on.
    #[inline]
    pub fn begin_wait(&mut self, scheduler: usize, from: Cycle) {
        let waits = &mut self.waits[scheduler];
        debug_assert!(!waits.outstanding.is_empty(), "a wait for memory with nothing outstanding");
        waits.since = Some(from);
    }

    /// That wait has ended before cycle `to`.
    #[inline]
    pub fn end_wait(&mut self, scheduler: usize, to: Cycle) {
        let waits = &mut self.waits[scheduler];
        if let Some(from) = waits.since.take()
            && from < to
        {
            waits.spans.push((from, to));
        }
    }

    /// The instruction at `place`, which has been added, and not again since it was done.
    #[inline]
    pub fn at_mut(&mut self, place: u16) -> &mut Tracker {
        &mut self.trackers[usize::from(place)]
    }

    /// The instruction at `place` has all of its data at `now`: its waits are explained by the journey of the last access.
    #[inline]
    pub fn remove(
        &mut self,
        now: Cycle,
        place: u16,
        journey: &Journey,
        ledger: &mut IssueLedger,
    ) -> Tracker {
        let tracker = self.trackers[usize::from(place)];
        let waits = &mut self.waits[usize::from(tracker.scheduler)];
        if waits.outstanding.front() == Some(&(place, tracker.sequence)) {
            if let Some(from) = waits.since.filter(|&from| from < now) {
                waits.spans.push((from, now));
                waits.since = Some(now);
            }
            for &(from, to) in &waits.spans {
                journey.explain(from, to, |reason, cycles| ledger.charge(reason, cycles));
            }
            waits.spans.clear();
            waits.outstanding.pop_front();
            // Those behind it that are done already: without a wait nobody else would drop them.
            while let Some(&front) = waits.outstanding.front()
                && !Self::is_outstanding(&self.trackers, front)
            {
                waits.outstanding.pop_front();
            }
        }
        self.free.push(place);
        tracker
    }
}

impl Default for Tracker {
    fn default() -> Self {
        Tracker { warp: 0, scheduler: 0, dsts: Operands::NONE, remaining: 0, sequence: 0 }
    }
}
