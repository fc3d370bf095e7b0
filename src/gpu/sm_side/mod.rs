//! The SM side of the GPU: the nodes and the request network, from the warps to the inputs of the L2 slices.

mod awaited;
mod dispatch;
mod exit;
mod launch;
mod node;
mod requests;

use std::ops::{DerefMut, Range};

pub use launch::{Launch, Running, names};
pub use node::{Bounds, Node};
pub use requests::Requests;

use crate::error::Result;
use crate::gpu::news::{Coming, Delays, Reach, ToSmSide};
use crate::noc::Ports;
use crate::units::Cycle;

/// What an SM does that has got a CTA.
#[derive(Clone, Copy, Debug)]
pub enum Then {
    /// It advances as far as it may.
    GoOn,
    /// It advances no further than it takes to know who gets the next CTA.
    CatchUp,
}

/// The nodes and the request network, lent for a while.
pub struct SmSide<'a, N, const WORDS: usize> {
    pub nodes: &'a mut [N],
    pub requests: &'a mut Requests<WORDS>,
    pub active: &'a mut ActiveNodes<WORDS>,
}

/// Which SMs are looked at.
#[derive(Clone, Debug)]
pub struct ActiveNodes<const WORDS: usize> {
    /// The SM that is asked first for the next CTA.
    pub turn: usize,
    /// SMs that may do something before the kernel ends: all as long as there are CTAs.
    awake: Ports<WORDS>,
    /// Of these, the ones that may go on with what is known.
    pub behind: Ports<WORDS>,
    /// Of these, the ones that stopped before the replies were known no further: for news of the network, or for a CTA.
    stopped: Ports<WORDS>,
    /// By SM: the cycle in which it stopped.
    stopped_at: Box<[Cycle]>,
    /// SMs that have heard since of what they may have stopped for.
    roused: Ports<WORDS>,
    /// SMs that may wait for a CTA: all that have advanced since it was seen that they do not.
    may_wait: Ports<WORDS>,
    /// SMs that have advanced, or got a CTA, since the network heard of them.
    moved: Ports<WORDS>,
    /// Whether CTAs were left then.
    more_ctas: bool,
}

impl<const WORDS: usize> ActiveNodes<WORDS> {
    /// Of a launch on so many SMs.
    pub fn new(turn: usize, sms: usize) -> Self {
        let all = Ports::first(sms);
        ActiveNodes {
            turn,
            awake: all,
            behind: all,
            stopped: Ports::default(),
            stopped_at: vec![Cycle(0); sms].into(),
            roused: Ports::default(),
            may_wait: all,
            moved: all,
            more_ctas: true,
        }
    }

    /// An SM that was to advance to cycle `end` has come to `clock`.
    #[inline]
    fn note_stop(&mut self, sm: usize, clock: Cycle, end: Cycle) {
        self.stopped.set(sm, clock < end);
        self.stopped_at[sm] = clock;
    }

    /// SMs have advanced.
    #[inline]
    fn note_moved(&mut self, sms: &Ports<WORDS>) {
        self.may_wait = self.may_wait.with(sms);
        self.moved = self.moved.with(sms);
    }

    /// Of the SMs that have stopped, those that may go on, now that it is known as well which places become free in these cycles.
    fn take_roused(&mut self, places: Range<Cycle>) -> Ports<WORDS> {
        let roused = std::mem::take(&mut self.roused);
        let mut next = Ports::default();
        for sm in self.stopped.iter() {
            next.add(sm, roused.contains(sm) || places.contains(&self.stopped_at[sm]));
        }
        next
    }
}

impl<N: DerefMut<Target = Node>, const WORDS: usize> SmSide<'_, N, WORDS> {
    /// True when every CTA that was started has ended.
    pub fn is_idle(&self) -> bool {
        self.awake().all(|node| node.is_idle())
    }

    /// Cycles before this one are done in every SM.
    pub fn clock(&self) -> Cycle {
        let clock = self.awake().map(|node| node.clock()).min();
        clock
            .or_else(|| self.nodes.iter().map(|node| node.busy_to()).max())
            .expect("there is an SM")
    }

    /// The SMs that may do something.
    pub fn awake(&self) -> impl Iterator<Item = &Node> {
        self.active.awake.iter().map(|sm| &*self.nodes[sm])
    }

    /// Instructions issued and accesses answered so far.
    pub fn retired(&self) -> u64 {
        let retired = |node: &N| {
            let accounts = node.sm.accounts();
            accounts.stats.warp_instructions + accounts.latency_accesses
        };
        self.nodes.iter().map(retired).sum()
    }

    /// Stores that are not acknowledged.
    pub fn stores_in_flight(&self) -> u64 {
        self.nodes.iter().map(|node| node.sm.stores_in_flight()).sum()
    }

    /// The first cycle in which nothing is left to do, when all is idle.
    pub fn end(&self, launch: &Launch) -> Cycle {
        let quiet = self.nodes.iter().fold(launch.end, |end, node| end.max(node.busy_to()));
        let executed = self.nodes.iter().flat_map(|node| node.sm.executed()).collect();
        quiet.max(launch.dispatch.clone().end(executed))
    }

    /// How far the memory may go, when all is told.
    pub fn memory_reach(&self, launch: &Launch, delays: &Delays) -> Reach {
        let owing = delays.needs_from(self.requests.clock());
        Reach { owing, idle: owing.min(self.busy_to_at_least(launch, delays, owing)) }
    }

    /// The kernel does not end before this cycle, as far as is known: the memory must not count a cycle that
    /// is the next kernel's. A request that is on its way is looked at in cycle `owing` or later.
    fn busy_to_at_least(&self, launch: &Launch, delays: &Delays, owing: Cycle) -> Cycle {
        let mut end = launch.end;
        let mut least = Cycle::NEVER;
        for node in self.awake() {
            least = least.min(node.clock());
            if !node.is_idle() {
                end = end.max(node.busy_to_at_least());
            }
        }
        if launch.has_more() {
            // One CTA an SM and cycle.
            let left = (launch.ctas - launch.started).div_ceil(self.nodes.len() as u64);
            end = end.max(least + (left - 1));
        }
        if !self.requests.is_empty() {
            end = end.max(owing + 1);
        }
        match self.requests.last_arrival() {
            Some(arrival) => end.max(delays.needs_from(arrival) + 1),
            None => end,
        }
    }

    /// Nothing happens in the SM side before this cycle, as far as known, unless a reply comes.
    pub fn quiet_to(&self, launch: &Launch) -> Cycle {
        let starts_from = match launch.has_more() {
            true => launch.starts_from(),
            false => Cycle::NEVER,
        };
        if starts_from <= self.requests.clock() {
            return self.requests.clock();
        }
        let events = self.awake().map(Node::next_event);
        events.fold(self.requests.next_event().min(starts_from), Cycle::min)
    }

    /// Advances as far as it can go without news of the memory, whose slices have told of what left them before cycle
    /// `slices`.
    pub fn advance(&mut self, launch: &mut Launch, bounds: Bounds, slices: Cycle) -> Result<()> {
        let mut next = Some(bounds);
        self.begin();
        while let Some(bounds) = next {
            self.advance_nodes(&bounds);
            next = self.settle(launch, Then::GoOn, &bounds, slices)?;
        }
        Ok(())
    }

    /// Hears of the memory.
    pub fn hear(&mut self, mail: &mut ToSmSide) {
        self.expect(&mut mail.replies);
        for (slice, cycle) in mail.left.drain(..) {
            self.requests.note_leave(slice, cycle);
        }
    }

    /// Tells the SMs of replies on their way.
    pub fn expect(&mut self, replies: &mut Vec<Coming>) {
        for coming in replies.iter() {
            self.nodes[usize::from(coming.reply.sm)].expect(coming);
        }
        replies.clear();
    }

    /// Begins with what the memory has told: every node may go on.
    pub fn begin(&mut self) {
        self.go_on_with(self.active.awake);
    }

    /// These nodes may go on. They hear of the room that they have in the network.
    fn go_on_with(&mut self, sms: Ports<WORDS>) {
        self.active.behind = sms;
        for sm in sms.iter() {
            self.nodes[sm].note_exit(self.requests.exit(sm));
        }
    }

    /// The nodes that are behind, as far as they can go; gives the cycles in which they did anything, together.
    pub fn advance_nodes(&mut self, bounds: &Bounds) -> usize {
        let nodes = &mut self.nodes;
        let acts = self.active.behind.iter().map(|sm| nodes[sm].advance(bounds)).sum();
        self.note_advance(bounds);
        acts
    }

    /// The nodes that are behind have gone as far as they can.
    pub fn note_advance(&mut self, bounds: &Bounds) {
        let behind = std::mem::take(&mut self.active.behind);
        self.active.note_moved(&behind);
        for sm in behind.iter() {
            self.active.note_stop(sm, self.nodes[sm].clock(), bounds.replies);
        }
    }

    /// The nodes that can do something within these bounds.
    pub fn at_work(&self, bounds: &Bounds) -> usize {
        self.awake().filter(|node| node.has_work(bounds)).count()
    }

    /// What follows after the nodes advanced within `bounds`: CTAs for those that wait for one, and the request network. A
    /// place in a miss queue becomes free without a delay, so that nodes and network go on in turn: gives how far the nodes
    /// can go with the news of the network, and none where they need those of the memory.
    pub fn settle(
        &mut self,
        launch: &mut Launch,
        then: Then,
        bounds: &Bounds,
        slices: Cycle,
    ) -> Result<Option<Bounds>> {
        let had_more = launch.has_more();
        if had_more {
            self.start_ctas(launch, Some((then, bounds)))?;
        }
        let more_ctas = launch.has_more();
        if more_ctas != had_more {
            // Nobody waits for a CTA any more.
            self.active.roused = self.active.stopped;
        }
        self.tell_requests(more_ctas);
        self.requests.advance(bounds.replies, slices);
        self.tell_left();
        let places = self.requests.clock();
        let next = self.active.take_roused(bounds.places..places);
        if next.is_empty() || places >= bounds.replies {
            return Ok(None);
        }
        self.go_on_with(next);
        Ok(Some(Bounds { places, more_ctas, ..*bounds }))
    }

    /// From the SMs to the request network.
    #[inline(never)]
    pub fn tell_requests(&mut self, more_ctas: bool) {
        let moved = std::mem::take(&mut self.active.moved);
        let had_more = std::mem::replace(&mut self.active.more_ctas, more_ctas);
        let heard = if had_more == more_ctas { moved } else { self.active.awake };
        for sm in heard.iter() {
            let node = &mut self.nodes[sm];
            node.tell_requests(|request| self.requests.note_request(sm, request));
            self.requests.note_clock(sm, node.requests_known_to(more_ctas));
            if !more_ctas && node.is_done() {
                self.active.awake.set(sm, false);
                self.active.stopped.set(sm, false);
            }
        }
    }

    /// From the request network to the SMs.
    pub fn tell_left(&mut self) {
        let SmSide { nodes, requests, active } = self;
        for (sm, cycle) in requests.left.drain(..) {
            let sm = usize::from(sm);
            nodes[sm].note_leave(cycle);
            active.roused.add(sm, cycle <= active.stopped_at[sm]);
        }
    }

    /// Hands out CTAs, at most one an SM and cycle, to the SMs in turn; never before all SMs have come so far.
    /// SMs that got one advance again within the bounds, as `then` says; without it they wait for the next cycle.
    pub fn start_ctas(&mut self, launch: &mut Launch, then: Option<(Then, &Bounds)>) -> Result<()> {
        while launch.has_more() {
            let Some(at) = self.next_wait() else { return Ok(()) };
            if self.nodes.iter().any(|node| node.clock() <= at) {
                return Ok(());
            }
            self.start_ctas_at(at, launch)?;
            while launch.has_more() && self.next_wait() == Some(at) {
                // Another kernel has followed meanwhile, of which those that were asked before it get CTAs.
                self.start_ctas_at(at, launch)?;
            }
            let Some((then, bounds)) = then else { continue };
            let end = match (then, self.next_wait()) {
                (Then::GoOn, _) => bounds.replies,
                // Others wait for CTAs of later cycles: whether they are the next is soon known.
                (Then::CatchUp, Some(wait)) => bounds.replies.min(wait + 1),
                (Then::CatchUp, None) => return Ok(()),
            };
            let soon = Bounds { replies: end, more_ctas: launch.has_more(), ..*bounds };
            self.advance_roused(&soon, bounds.replies);
        }
        Ok(())
    }

    /// Every node as far as it can go within `bounds`.
    pub fn advance_all(&mut self, bounds: &Bounds) {
        self.active.note_moved(&Ports::first(self.nodes.len()));
        for node in self.nodes.iter_mut() {
            node.advance(bounds);
        }
    }

    /// Those that have heard of CTAs, as far as they can go within `bounds`. If that is less far than to cycle `end`, they go on later.
    fn advance_roused(&mut self, bounds: &Bounds, end: Cycle) {
        let SmSide { nodes, active, .. } = self;
        let roused = active.roused;
        active.note_moved(&roused);
        for sm in roused.iter() {
            nodes[sm].advance(bounds);
            active.note_stop(sm, nodes[sm].clock(), end);
        }
        if bounds.replies == end {
            active.roused = Ports::default();
        }
    }

    /// The first cycle at whose end an SM waits for a CTA.
    fn next_wait(&mut self) -> Option<Cycle> {
        let SmSide { nodes, active, .. } = self;
        let waits = active.may_wait.iter().filter_map(|sm| {
            let at = nodes[sm].waits_for_cta();
            active.may_wait.set(sm, at.is_some());
            at
        });
        waits.min()
    }

    /// Gives a CTA to every SM that waits for one at the end of cycle `at`, or the promise of one.
    fn start_ctas_at(&mut self, at: Cycle, launch: &mut Launch) -> Result<()> {
        let (first, count) = (self.active.turn, self.nodes.len());
        for offset in 0..count {
            let number = (first + offset) % count;
            let node = &mut self.nodes[number];
            if node.waits_for_cta() != Some(at) {
                continue;
            }
            self.active.roused.set(number, true);
            self.active.moved.set(number, true);
            if !node.finds_room(at, launch) {
                node.note_full(at, launch.is_followed());
                continue;
            }
            if node.is_promised() {
                launch.dispatch.use_grant();
            } else if launch.started + launch.dispatch.granted() >= launch.ctas {
                match launch.is_followed() {
                    // When those that others have a promise of have started, there is another kernel.
                    true => node.defer_cta(launch.dispatch.next_note(at)),
                    false => node.refuse_cta(),
                }
                continue;
            } else {
                let noted = node.sm.take_place().map(|left| launch.dispatch.note(left));
                let slot = launch.dispatch.from(noted.map_or(at, |noted| noted.max(at)));
                if slot > at {
                    launch.dispatch.grant();
                    node.promise_cta(slot);
                    self.active.turn = (number + 1) % count;
                    continue;
                }
            }
            if node.start_cta(at, |cta| launch.next(at, cta))? {
                self.active.turn = (number + 1) % count;
                launch.started += 1;
            } else {
                launch.ctas = launch.started;
                launch.end = at + 1;
            }
            node.note_full(at, launch.is_followed());
            if !launch.has_more() {
                self.follow(at, launch)?;
            }
            if !launch.has_more() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// All CTAs have been handed out, the last at the end of cycle `at`: goes on with the kernel that follows, if one does.
    fn follow(&mut self, at: Cycle, launch: &mut Launch) -> Result<()> {
        if launch.follow()? {
            for (sm, node) in self.nodes.iter_mut().enumerate() {
                node.note_follower(at);
                self.active.may_wait.set(sm, true);
                self.active.roused.set(sm, true);
            }
        }
        Ok(())
    }
}
