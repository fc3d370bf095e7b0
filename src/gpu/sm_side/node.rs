//! A node: an SM with its L1, and what it knows of the networks. It advances on its own, as far as that goes.

use std::sync::Arc;

use super::awaited::Awaited;
use super::exit::{Exit, may_leave};
use super::launch::Launch;
use crate::config::Machine;
use crate::error::Result;
use crate::gpu::clocks::{Clocks, Domain};
use crate::gpu::news::{Coming, EVENTS, push_copy};
use crate::isa::Cta;
use crate::l1::L1;
use crate::parts::Request;
use crate::sm::{Program, Residency, Sm};
use crate::units::Cycle;

/// How far a node may advance.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Every reply that arrives before this cycle is known.
    pub replies: Cycle,
    /// Every place that becomes free in the miss queue before this cycle is known.
    pub places: Cycle,
    /// The launch has CTAs left: a node with room for one waits for it.
    pub more_ctas: bool,
    /// Tick in every cycle, whether or not anything can happen.
    pub every_cycle: bool,
}

/// Cycles from one time to the next at which SMs without room ask whether another kernel's CTAs come. SMs do not go on past such a
/// time before all others have come so far, so that less would cost time; a microsecond has ten of them on a recent GPU.
const ASKS: u64 = 128;

/// Replies whose entries are asked for together.
const NEXT: usize = 16;

/// An SM with its L1. What every look at it needs comes first and lies together.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Node {
    /// Cycles before this one are done.
    clock: Cycle,
    /// The SM has a CTA, or stores on their way.
    is_busy: bool,
    /// The SM has room for a CTA.
    has_room: bool,
    /// When the last CTA started here.
    started_at: Cycle,
    /// A CTA is promised for `room_since`.
    is_promised: bool,
    /// Replies on their way here, with the core cycle from which each can be taken.
    inbox: Awaited<Coming>,
    /// The first cycle at whose end a CTA can start, if there is room.
    room_since: Cycle,
    /// Without room, the node asks at the end of this cycle whether another kernel's CTAs come, for which there may be.
    asks_at: Cycle,
    /// Requests at the front of the miss queue that leave it for the network, seen when they do, as far as known.
    leaves: Awaited<Cycle>,
    /// The way out of the miss queue, and for how many more requests there is room behind it, as far as known.
    exit: Exit,
    room_behind: usize,
    /// Requests of which the network has not heard, and of which is known when they leave.
    foreseen: usize,
    noc: Domain,
    /// The SM was busy in the cycle before this one, and in none from it on; of no meaning while it is busy.
    busy_to: Cycle,
    pub l1: L1,
    pub sm: Sm,
}

impl Node {
    /// An idle node.
    pub fn new(machine: &Machine, number: usize) -> Self {
        Node {
            sm: Sm::new(machine, number),
            l1: L1::new(&machine.l1, number as u16),
            inbox: Awaited::new(EVENTS),
            leaves: Awaited::new(machine.l1.miss_queue.size()),
            exit: Exit::default(),
            room_behind: 0,
            foreseen: 0,
            noc: Clocks::new(&machine.clocks).noc,
            clock: Cycle(0),
            room_since: Cycle(0),
            asks_at: Cycle::NEVER,
            started_at: Cycle::NEVER,
            is_promised: false,
            busy_to: Cycle(0),
            has_room: false,
            is_busy: false,
        }
    }

    /// Makes ready for a kernel that starts at `now`.
    pub fn prepare(&mut self, now: Cycle, program: Arc<Program>, residency: Residency) {
        self.sm.prepare(now, program, residency);
        self.l1.set_ways(residency.l1_ways);
        (self.clock, self.room_since, self.busy_to) = (now, now, now);
        (self.asks_at, self.started_at) = (Cycle::NEVER, Cycle::NEVER);
        self.is_promised = false;
        (self.has_room, self.is_busy) = (self.sm.has_room(), false);
    }

    /// True when the SM has no CTA, and no store on its way.
    #[inline]
    pub fn is_idle(&self) -> bool {
        debug_assert_eq!(self.is_busy, !self.sm.is_idle());
        !self.is_busy
    }

    /// Cycles before this one are done.
    #[inline]
    pub fn clock(&self) -> Cycle {
        self.clock
    }

    /// The cycle at whose end the node waits for a CTA, or to hear of another kernel; it goes no further without.
    #[inline]
    pub fn waits_for_cta(&self) -> Option<Cycle> {
        let at = self.next_wait();
        (self.clock > at).then_some(at)
    }

    /// The cycle at whose end it waits next.
    #[inline]
    fn next_wait(&self) -> Cycle {
        if self.has_room { self.room_since } else { self.asks_at }
    }

    /// Whether the next CTA can start here at the end of cycle `at`, at which the node waits.
    ///
    /// Only now does it hear of kernels that have followed: when others are that far is known to all, and how far they are is not.
    pub fn finds_room(&mut self, at: Cycle, launch: &Launch) -> bool {
        if self.sm.kernels_known() < launch.kernels().len() {
            let more =
                launch.kernels()[self.sm.kernels_known()..].iter().map(|running| running.residency);
            self.sm.join(launch.program().clone(), more);
            if !self.is_busy {
                self.divide_anew();
            }
            let had_room = std::mem::replace(&mut self.has_room, self.sm.has_room());
            if self.has_room && !had_room {
                self.room_since = self.sm.next_cta_launch().max(at);
            }
        }
        self.has_room && self.room_since == at
    }

    /// After cycle `at` the node has no room for a CTA, unless it has. It asks again if another kernel follows.
    pub fn note_full(&mut self, at: Cycle, is_followed: bool) {
        if !self.has_room {
            let next = Cycle((at.0 / ASKS + 1) * ASKS);
            self.asks_at = if is_followed { next } else { Cycle::NEVER };
        }
    }

    /// Another kernel follows after the end of cycle `at`. If a CTA has started here then, the node asks at once.
    pub fn note_follower(&mut self, at: Cycle) {
        if self.started_at == at {
            self.asks_at = at;
        }
    }

    /// Promises the next CTA for the end of cycle `at`; the node goes on meanwhile.
    pub fn promise_cta(&mut self, at: Cycle) {
        (self.room_since, self.is_promised) = (at, true);
    }

    /// An idle SM is divided for the kernel whose CTAs come.
    fn divide_anew(&mut self) {
        // Nothing is outstanding in its L1 then: a CTA has waited for its loads, and stores count until they are acknowledged.
        if let Some(ways) = self.sm.divide_anew() {
            self.l1.set_ways(ways);
        }
    }

    /// There may be a CTA for this node at the end of cycle `at`: it asks again then.
    pub fn defer_cta(&mut self, at: Cycle) {
        self.room_since = self.room_since.max(at);
    }

    /// There is no CTA left for this node, unless it asks again.
    pub fn refuse_cta(&mut self) {
        self.room_since = Cycle::NEVER;
    }

    /// True when the CTA that it waits for was promised.
    pub fn is_promised(&self) -> bool {
        self.is_promised
    }

    /// The first cycle in which the SM is no longer busy; only of an idle one.
    pub fn busy_to(&self) -> Cycle {
        self.busy_to
    }

    /// A busy SM is busy in every cycle before this one, at least: until it has the last reply that is known.
    pub fn busy_to_at_least(&self) -> Cycle {
        let last = self.inbox.last().map_or(self.clock, |coming| coming.at.max(self.clock));
        last + 1
    }

    /// True when it does nothing more unless it gets a CTA.
    pub fn is_done(&self) -> bool {
        self.is_idle() && self.inbox.is_empty() && self.leaves.is_empty() && self.l1.is_idle()
    }

    /// Cycles of the request network before this one need to know of no other request from here.
    pub fn requests_known_to(&self, more_ctas: bool) -> Cycle {
        if self.is_idle() && !more_ctas { Cycle::NEVER } else { self.clock + 1 }
    }

    /// Whether anything happens here within the bounds, as far as known.
    pub fn has_work(&self, bounds: &Bounds) -> bool {
        let event = self.next_event_within(bounds);
        event < self.end(bounds) && !self.may_find_no_place(event, bounds)
    }

    /// How far it may go.
    #[inline]
    fn end(&self, bounds: &Bounds) -> Cycle {
        if bounds.more_ctas {
            return bounds.replies.min(Cycle(self.next_wait().0.saturating_add(1)));
        }
        bounds.replies
    }

    /// Whether an access may find no place in the miss queue in cycle `now`, as far as known.
    #[inline]
    fn may_find_no_place(&self, now: Cycle, bounds: &Bounds) -> bool {
        let is_left = usize::from(self.leaves.next() <= now);
        self.l1.miss_queue_room() + is_left < self.sm.accesses_per_cycle()
            && now >= bounds.places
            && self.sm.may_access()
    }

    /// Advances until a bound is reached; gives the cycles in which anything happened on the way.
    pub fn advance(&mut self, bounds: &Bounds) -> usize {
        let mut end = self.end(bounds);
        let mut acts = 0;
        let coming = self.inbox.waiting().iter().take(NEXT).map(|coming| &coming.reply);
        self.l1.prefetch_fills(coming, |waiter| self.sm.prefetch_wait(waiter));
        loop {
            if bounds.every_cycle {
                self.sm.look_anew(self.clock);
            }
            let event = self.next_event_within(bounds);
            if event >= end {
                self.clock = self.clock.max(end);
                return acts;
            }
            if self.may_find_no_place(event, bounds) {
                if self.foresee_leaves() {
                    continue;
                }
                self.clock = event;
                return acts;
            }
            if self.leaves.next() <= event {
                self.free_places(event);
            }
            let goes_on = self.is_busy && !bounds.every_cycle;
            let last = self.go_on(event, if goes_on { end } else { event }, &mut acts);
            self.free_places(last);
            if self.sm.take_residency_changed() {
                self.note_residency(last);
                end = self.end(bounds);
            }
            self.clock = last + 1;
        }
    }

    /// Does what has to be done in cycle `now`, and in later ones before `end`. Gives the last one done: others follow where
    /// places in the miss queue may be short, as those that become free are not looked at here, and after the end of a CTA, or of
    /// the last store. Counts the cycles done in `acts`.
    #[inline(always)]
    fn go_on(&mut self, mut now: Cycle, end: Cycle, acts: &mut usize) -> Cycle {
        loop {
            *acts += 1;
            if self.inbox.next() <= now {
                self.take_reply(now);
            }
            self.sm.tick(now, &mut self.l1);
            let next = self.inbox.next().min(self.sm.next_event()).max(now + 1);
            if next >= end || !self.sm.goes_on(&self.l1) {
                return now;
            }
            now = next;
        }
    }

    /// The next cycle, from the clock on, in which anything happens, or may.
    #[inline(always)]
    fn next_event_within(&self, bounds: &Bounds) -> Cycle {
        let mut event = self.next_event();
        // A refused access is tried again when a place becomes free, which may not be known yet.
        if self.sm.waits_for_place() && self.leaves.is_empty() && self.l1.is_miss_queue_full() {
            event = event.min(bounds.places);
        }
        event.max(self.clock)
    }

    /// The next cycle in which anything happens, as far as known. An idle SM does nothing that matters before it gets a CTA or
    /// the kernel ends.
    #[inline(always)]
    pub fn next_event(&self) -> Cycle {
        if self.inbox.next() == Cycle::NEVER && !self.is_busy {
            return Cycle::NEVER;
        }
        let event = self.inbox.next().min(self.sm.next_event());
        if self.sm.waits_for_place() { event.min(self.leaves.next()) } else { event }
    }

    /// Frees the places in the miss queue of requests that have left it by `now`.
    fn free_places(&mut self, now: Cycle) {
        let mut left = 0;
        while self.leaves.next() <= now {
            self.leaves.pass();
            left += 1;
        }
        self.l1.free_places(left);
    }

    /// A CTA has ended at `now`, or the last store.
    #[inline(never)]
    fn note_residency(&mut self, now: Cycle) {
        let was_busy = std::mem::replace(&mut self.is_busy, !self.sm.is_idle());
        if was_busy && !self.is_busy {
            self.busy_to = now + 1;
            self.divide_anew();
        }
        let had_room = std::mem::replace(&mut self.has_room, self.sm.has_room());
        if self.has_room && !had_room {
            self.room_since = self.sm.next_cta_launch().max(now);
        }
    }

    /// Hands the SM the reply that has come.
    #[inline(always)]
    fn take_reply(&mut self, now: Cycle) {
        self.sm.receive(now, &self.inbox.first().reply, &mut self.l1);
        self.inbox.pass();
    }

    /// One cycle of an idle SM.
    #[inline(never)]
    fn tick_idling(&mut self, now: Cycle) {
        self.sm.tick(now, &mut self.l1);
        if self.sm.take_residency_changed() {
            self.note_residency(now);
        }
    }

    /// What an idle SM had left to do before `end`.
    #[inline(never)]
    fn finish_idling(&mut self, end: Cycle) {
        while !self.is_busy && self.sm.next_event() < end {
            let event = self.sm.next_event();
            if self.inbox.next() <= event {
                self.take_reply(event);
            }
            self.sm.make_all_due(event);
            self.tick_idling(event);
            self.clock = self.clock.max(event + 1);
        }
    }

    /// Starts a CTA at the end of cycle `at`, which `fill` writes; false when there is none left.
    pub fn start_cta(
        &mut self,
        at: Cycle,
        fill: impl FnOnce(&mut Cta) -> Result<bool>,
    ) -> Result<bool> {
        self.finish_idling(at + 1);
        (self.busy_to, self.is_promised, self.started_at) = (at + 1, false, at);
        let has_started = self.sm.start_cta(at, &mut self.l1, fill)?;
        self.room_since = self.sm.next_cta_launch().max(at + 1);
        self.sm.take_residency_changed();
        (self.has_room, self.is_busy) = (self.sm.has_room(), !self.sm.is_idle());
        Ok(has_started)
    }

    /// The kernel has ended before cycle `end`.
    pub fn finish(&mut self, end: Cycle) {
        self.free_places(end);
        self.finish_idling(end);
        self.sm.finish(end, &mut self.l1);
        self.clock = end;
    }

    /// Finds out when requests leave the miss queue for which there is room, before the network hears of them; false when it knows of
    /// no other one.
    fn foresee_leaves(&mut self) -> bool {
        let told = self.foreseen;
        for request in self.l1.requests()[told..].iter().take(self.room_behind) {
            let leaves = self.exit.leaves(may_leave(request, self.clock, &self.noc));
            let cycle = self.noc.core_cycle_of(leaves);
            self.leaves.push_with(cycle, |leaves| leaves.push(cycle));
            self.foreseen += 1;
        }
        self.room_behind -= self.foreseen - told;
        self.foreseen > told
    }

    /// Tells the request network of requests that have joined the miss queue. It says when they leave that, where it is known.
    #[inline]
    pub fn tell_requests(&mut self, mut tell: impl FnMut(&Request) -> Option<Cycle>) {
        let requests = self.l1.requests();
        for (number, request) in requests.iter().enumerate() {
            match tell(request) {
                Some(_) if number < self.foreseen => {}
                Some(cycle) => self.leaves.push_with(cycle, |leaves| leaves.push(cycle)),
                None => {
                    debug_assert!(number >= self.foreseen, "a request finds no room that was there")
                }
            }
        }
        requests.clear();
        (self.foreseen, self.room_behind) = (0, 0);
    }

    /// Hears of the way out of its miss queue, when the network has heard of all requests: for so many more there is room behind it.
    #[inline]
    pub fn note_exit(&mut self, (exit, room): (Exit, usize)) {
        debug_assert_eq!(self.foreseen, 0, "requests have left of which the network has not heard");
        (self.exit, self.room_behind) = (exit, room);
    }

    /// Hears of a reply on its way here, after those before it.
    #[inline]
    pub fn expect(&mut self, coming: &Coming) {
        self.inbox.push_with(coming.at, |inbox| push_copy(coming, inbox, |coming| coming));
    }

    /// Hears when the next request leaves the miss queue.
    #[inline]
    pub fn note_leave(&mut self, cycle: Cycle) {
        self.leaves.push_with(cycle, |leaves| leaves.push(cycle));
    }
}
