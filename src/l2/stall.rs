//! The oldest request of a slice: its look at the tags, and what it waits for when it was refused.

use super::slice::Slice;
use super::waiting::Refusal;
use crate::config::machine::L2Mode;
use crate::parts::{Request, RequestKind, Way};
use crate::units::Cycle;

impl Slice {
    /// Serves the oldest request, of which there is one, or refuses it; true when it left its queue.
    #[inline(never)]
    pub(super) fn look_up_oldest(&mut self, now: Cycle, core: Cycle) -> bool {
        let mut request = *self.input.look(false);
        request.stamps.look_up(core);
        match self.look_up(now, &request) {
            Ok(()) => {
                self.input.take();
                true
            }
            Err(refusal) => {
                (self.stalled, self.stalled_from) = (Some(refusal), now);
                self.stalled_set = self.set_of_read(&request);
                false
            }
        }
    }

    /// The set in which a read looks; none of one that is not a cache's, or whose ways other slices empty, or of a store, which may
    /// ask for room that sectors of other sets take.
    fn set_of_read(&self, request: &Request) -> Option<Way> {
        let is_read = self.mode == L2Mode::Cache && request.kind != RequestKind::Store;
        let is_alone = is_read && !self.far.is_paired();
        is_alone.then(|| self.tags.first_of_set(request.line))
    }

    /// Counts standing refusals for the cycles before `now`.
    pub fn catch_up(&mut self, now: Cycle) {
        if let Some(refusal) = self.stalled {
            let cycles = pass(&mut self.stalled_from, now);
            self.count_refusals(refusal, cycles);
        }
        if let Some(refusal) = self.far.stalled {
            let cycles = pass(&mut self.far.stalled_from, now);
            self.count_refusals(refusal, cycles);
        }
    }

    fn count_refusals(&mut self, refusal: Refusal, cycles: u64) {
        *match refusal {
            Refusal::NoMerger => &mut self.stats.stall_nomerger,
            Refusal::NoCacheLine => &mut self.stats.stall_nocacheline,
            Refusal::NoMshrLine => &mut self.stats.stall_nomshrline,
            Refusal::DramQueue => &mut self.stats.stall_dramqueue,
            Refusal::ReplyQueue => &mut self.stats.stall_replyqueue,
        } += cycles;
    }

    /// Something happened that may let a refused request go on, which it was until cycle `now`.
    #[inline]
    pub(super) fn go_on(&mut self, now: Cycle) {
        if self.stalled.is_some() | self.far.stalled.is_some() {
            self.catch_up(now);
            (self.stalled, self.far.stalled) = (None, None);
        }
    }

    /// A request that was refused is looked at again in cycle `now`, even if nothing has happened. Not where it shares the port
    /// with a neighbour: one that stands refused does not ask for that.
    pub fn look_anew(&mut self, now: Cycle) {
        if !self.far.is_paired() {
            self.go_on(now);
        }
    }

    /// Data has come for the line in `way`, which is all that changes where other lines stand.
    #[inline]
    pub(super) fn go_on_with(&mut self, now: Cycle, way: Option<Way>) {
        let concerns = match (self.stalled_set, way) {
            (Some(first), Some(way)) => self.tags.is_in_set(way, first),
            _ => true,
        };
        if concerns {
            self.go_on(now);
        }
    }

    /// An MSHR entry is free.
    #[inline]
    pub(super) fn go_on_with_entry(&mut self, now: Cycle) {
        // A read asks for one last but for places in the queue to the DRAM.
        if self.stalled_set.is_none() || self.stalled == Some(Refusal::NoMshrLine) {
            self.go_on(now);
        }
    }

    /// As [`Slice::go_on`], of a request that was refused for this reason.
    #[inline]
    pub(super) fn go_on_after(&mut self, now: Cycle, refusal: Refusal) {
        // Another slice may have changed more than that meanwhile.
        if self.stalled == Some(refusal) || self.far.is_paired() {
            self.go_on(now);
        }
    }

    /// Whether a request may go on that was refused, once one for DRAM has been taken.
    #[inline]
    pub fn may_go_on_with_dram(&self) -> bool {
        self.stalled == Some(Refusal::DramQueue) || self.far.is_paired()
    }
}

/// Goes on from `from` to `to`, unless that is earlier; gives the cycles on the way.
fn pass(from: &mut Cycle, to: Cycle) -> u64 {
    let cycles = to.since(*from);
    *from = to.max(*from);
    cycles
}
