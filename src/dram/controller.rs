//! One controller: queue, scheduler, banks and the data bus of one channel.

use crate::config::machine::DramConfig;
use crate::ring::Ring;
use crate::stats::DramLedger;
use crate::units::Cycle;

use super::bank::Banks;
use super::bus::Bus;
use super::drain::Drain;
use super::mapping::Mapping;
use super::queue::Queue;
use super::refresh::{BankRefresh, Refresh, Step};
use super::request::{Listener, Request, Sent, UntilOneLeaves};
use super::scheduler::Scheduler;
use super::stats::DramStats;

/// The controller of one channel.
#[derive(Clone, Debug)]
pub struct Controller {
    pub(super) mapping: Mapping,
    /// Accepted requests on their way to the queue. They hold a place in it already.
    pub(super) arriving: Ring<Request>,
    pub(super) queue: Queue,
    /// Requests that it takes: places of the queue, and of the way to it, that are free.
    pub(super) room: usize,
    pub(super) banks: Banks,
    pub(super) bus: Bus,
    pub(super) scheduler: Scheduler,
    pub(super) drain: Drain,
    pub(super) refresh: Refresh,
    pub(super) bank_refresh: BankRefresh,
    /// No command can go before this clock, unless a request arrives.
    pub(super) wake: Cycle,
    /// When the next request enters the queue; never while it is full.
    pub(super) arrives: Cycle,
    /// The clock after the last data of all reads, and of all writes, sent so far.
    pub(super) data_end: [Cycle; 2],
    /// Clocks before this one were ticked or skipped.
    passed_to: Cycle,
    /// From this clock on the queue has been empty, or not empty.
    pub(super) since: Cycle,
    /// When requests left the queue less when they entered it, summed up [clocks].
    pub(super) left_less_entered: u64,
    /// A refresh of all banks is due at this clock, or the turn may pass.
    pub(super) interrupt: Cycle,
    /// The same, or a refresh of a single bank is due.
    pub(super) attend: Cycle,
    burst_bytes: u64,
    block_bytes: u64,
    burst_clocks: u64,
    /// From a read's column command, or a write's, to the clock after its last data.
    pub(super) data_delay: [u64; 2],
    latency_in: u64,
    pub(super) latency_out: u64,
    /// Bursts read, and written.
    pub(super) bursts: [u64; 2],
    /// Reads, and writes, of which all was sent.
    pub(super) served: [u64; 2],
    pub(super) stats: DramStats,
}

impl Controller {
    /// An idle channel with all banks closed, at clock zero.
    pub fn new(config: &DramConfig) -> Controller {
        let capacity = config.queue.size();
        let banks = Banks::new(config);
        let refresh = Refresh::new(config);
        let burst_clocks = config.burst_clocks();
        let latency = config.interface_latency.cycles();
        let (latency_in, latency_out) = (latency / 2, latency - latency / 2);
        // The way in takes what the bus can serve while a request is on it.
        let way_in = (latency_in / burst_clocks) as usize;
        let drain = Drain::new(config.writes);
        let queue = Queue::new(capacity);
        let mut controller = Controller {
            mapping: Mapping::new(config),
            arriving: Ring::new(capacity + way_in),
            queue: if drain.is_mixed() { queue.in_one_order() } else { queue },
            room: capacity + way_in,
            scheduler: Scheduler::new(config),
            drain,
            wake: Cycle::NEVER,
            arrives: Cycle::NEVER,
            data_end: [Cycle(0); 2],
            passed_to: Cycle(0),
            since: Cycle(0),
            left_less_entered: 0,
            interrupt: Cycle(0),
            attend: Cycle(0),
            burst_bytes: u64::from(config.burst_bytes()),
            block_bytes: config.block_bytes(),
            burst_clocks,
            data_delay: [config.timing.cl.cycles(), config.timing.cwl.cycles()]
                .map(|delay| delay + burst_clocks),
            latency_in,
            latency_out,
            bursts: [0; 2],
            served: [0; 2],
            stats: DramStats::default(),
            banks,
            bus: Bus::new(config),
            refresh,
            bank_refresh: BankRefresh::new(config),
        };
        controller.find_interrupt();
        controller
    }

    /// Whether a request would be accepted: whether the queue, or the way to it, has a place left. A
    /// request that finds the queue full at the end of its way waits there.
    #[inline]
    pub fn can_accept(&self) -> bool {
        self.room > 0
    }

    /// Requests that it takes now.
    #[inline]
    pub fn room(&self) -> usize {
        self.room
    }

    /// From the clock in which a request is pushed until it can be scheduled `[clocks]`.
    pub fn latency_in(&self) -> u64 {
        self.latency_in
    }

    /// Takes `request` in at command clock `now`, or gives it back when the queue is full.
    ///
    /// It can be scheduled from `now` + half the interface latency. It must not cross a border of
    /// [`DramConfig::block_bytes`].
    #[inline]
    pub fn try_push(&mut self, now: Cycle, request: Request) -> Result<(), Request> {
        if !self.can_accept() {
            return Err(request);
        }
        self.push(now, request);
        Ok(())
    }

    /// The same, where it can be accepted.
    #[inline]
    pub fn push(&mut self, now: Cycle, request: Request) {
        debug_assert!(request.bursts > 0 && request.address.is_multiple_of(self.burst_bytes));
        debug_assert!(
            request.address % self.block_bytes + u64::from(request.bursts) * self.burst_bytes
                <= self.block_bytes,
            "{request:?} crosses a border of {} bytes",
            self.block_bytes
        );
        debug_assert!(self.can_accept());
        self.room -= 1;
        self.arriving.push(now + self.latency_in, request);
        self.find_arrival();
    }

    /// Passes command clock `now`: sends at most one command, and tells of it. As [`Controller::run`].
    #[inline]
    pub fn tick(&mut self, now: Cycle, owner: &mut impl Listener) {
        self.run(now, now + 1, owner);
    }

    /// Passes command clock `now`, and those before `to` in which anything can happen, until a request has left the queue; gives
    /// the last of them.
    ///
    /// Every clock is ticked or skipped, once and in order.
    #[inline]
    pub fn run(&mut self, now: Cycle, to: Cycle, owner: &mut impl Listener) -> Cycle {
        self.run_on(now, &mut UntilOneLeaves { owner, to });
        Cycle(self.passed_to.0 - 1)
    }

    /// Passes command clock `now`, and those in which anything can happen, as far as `owner` says; gives the next of them.
    pub fn run_on(&mut self, mut now: Cycle, owner: &mut impl Listener) -> Cycle {
        debug_assert!(self.passed_to <= now);
        loop {
            if self.arrives <= now {
                let alone = if self.queue.is_empty() { self.begin(now, owner) } else { None };
                match alone {
                    Some(last) => now = last,
                    None => self.admit(now, owner),
                }
            }
            if self.wake <= now {
                now = self.act(now, owner);
            }
            self.passed_to = now + 1;
            now = self.next_event(now + 1);
            if now >= owner.bound() {
                return now;
            }
        }
    }

    /// A request enters the empty queue at `now`: serves it if that can be done at once, and gives the clock of its last command.
    #[inline(always)]
    fn begin(&mut self, now: Cycle, owner: &mut impl Listener) -> Option<Cycle> {
        self.end_idleness(now, owner);
        self.serve_alone(now, owner.bound(), owner)
    }

    /// Clocks before this one were ticked or skipped.
    #[inline]
    pub fn passed_to(&self) -> Cycle {
        self.passed_to
    }

    /// The earliest clock, not before `now`, at which a tick can change anything, if no request is
    /// pushed. `now` is the first clock that was not yet ticked.
    ///
    /// Refreshes are no such change where nothing else is to be done: an idle controller answers [`Cycle::NEVER`].
    #[inline]
    pub fn next_event(&self, now: Cycle) -> Cycle {
        self.wake.min(self.arrives).max(now)
    }

    /// The data of a read whose last command goes at `command` or later does not come before this clock.
    #[inline]
    pub fn next_data(&self, command: Cycle) -> Cycle {
        Cycle(command.0.saturating_add(self.data_delay[0] + self.latency_out))
    }

    /// Passes the clocks before `to`, none of them later than [`Controller::next_event`] allows, exactly as
    /// ticking them would. Clocks before one that is ticked are skipped.
    #[inline]
    pub fn skip(&mut self, to: Cycle) {
        debug_assert!(to <= self.next_event(self.passed_to));
        self.passed_to = self.passed_to.max(to);
    }

    /// True when no request waits. Data of the last ones may still be on their way.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.held() == 0
    }

    /// Requests accepted and not yet fully sent to the chips.
    #[inline]
    pub fn held(&self) -> usize {
        self.queue.len() + self.arriving.len()
    }

    /// What was counted in the clocks that were ticked or skipped.
    pub fn stats(&self) -> DramStats {
        let (passed, queued) = (self.passed_to.0, self.queue.len() as u64);
        let mut stats = self.stats.clone();
        // What was due and is not booked, as nobody has looked at the banks since.
        if self.is_at_rest() && self.refresh.due() < self.passed_to {
            let (mut banks, mut refresh) = (self.banks.clone(), self.refresh.clone());
            refresh.catch_up(self.passed_to, &mut banks, &mut stats, |_, _| ());
        }
        if self.bank_refresh.due() < self.passed_to {
            let (mut banks, mut refresh) = (self.banks.clone(), self.bank_refresh.clone());
            refresh.catch_up(Cycle(self.passed_to.0 - 1), &mut banks, &mut stats, |_, _| ());
        }
        stats.clocks = passed;
        [stats.reads, stats.writes] = self.served;
        [stats.read_bursts, stats.write_bursts] = self.bursts;
        stats.queued = self.left_less_entered.wrapping_add(queued * passed);
        stats.busy_clocks += self.busy_before(self.passed_to);
        stats.data_clocks = (stats.read_bursts + stats.write_bursts) * self.burst_clocks;
        stats
    }

    /// What the data bus did with each of these clocks.
    pub fn ledger(&self) -> DramLedger {
        let is_empty = self.queue.is_empty();
        let mut ledger = self.bus.ledger(self.passed_to, self.bursts, self.since, is_empty);
        ledger.add_total(self.passed_to.0);
        ledger
    }

    /// The books of a kernel are closed: the clocks that were ticked or skipped are charged for good.
    pub fn settle(&mut self) {
        self.bus.settle(self.passed_to, self.since, self.queue.is_empty());
    }

    /// Busy clocks before `to` since the queue became empty, or not empty.
    #[inline]
    fn busy_before(&self, to: Cycle) -> u64 {
        let clocks = to.since(self.since);
        if !self.queue.is_empty() {
            return clocks;
        }
        let data_end = self.data_end[0].max(self.data_end[1]);
        clocks.min(data_end.since(self.since))
    }

    /// Counts the busy clocks before `to`, before the queue becomes empty, or not empty.
    #[inline]
    pub(super) fn count_to(&mut self, to: Cycle) {
        self.stats.busy_clocks += self.busy_before(to);
        self.since = to;
    }

    /// When the next request enters the queue; never while it is full.
    #[inline]
    pub fn next_arrival(&self) -> Cycle {
        self.arrives
    }

    #[inline]
    pub(super) fn find_arrival(&mut self) {
        let has_room = !self.queue.is_full();
        self.arrives = if has_room { self.arriving.next_visible() } else { Cycle::NEVER };
    }

    /// Counts and books what was done before `now`, when a request enters the empty queue, and the refreshes of single banks
    /// that were due by then.
    #[inline]
    fn end_idleness(&mut self, now: Cycle, owner: &mut impl Listener) {
        self.count_to(now);
        if self.refresh.due() < now && self.is_at_rest() {
            self.end_rest(now, owner);
        }
        self.refresh_banks(now, owner);
    }

    /// Counts the clocks from `from` to `to` in which the queue held one request, that found it empty and left it so.
    #[inline]
    pub(super) fn occupied(&mut self, from: Cycle, to: Cycle) {
        debug_assert_eq!(self.since, from);
        self.left_less_entered = self.left_less_entered.wrapping_add(to - from);
        self.stats.busy_clocks += to - from;
        self.since = to;
    }

    /// Takes in what arrived by `now` and has room.
    #[inline(always)]
    fn admit(&mut self, now: Cycle, owner: &mut impl Listener) {
        self.refresh_banks(now, owner);
        self.enter(now);
        self.wake = match self.scheduler.is_stale() {
            true => Cycle(0),
            false => self.wake.min(self.scheduler.next_event()).min(self.interrupt),
        };
    }

    /// What arrived by `now` and has room enters the queue.
    #[inline(never)]
    pub(super) fn enter(&mut self, now: Cycle) {
        while self.arrives <= now {
            let request = self.arriving.take();
            let (row, bank) = self.mapping.row_and_bank(request.address);
            let slot = self.queue.insert(now, request, row, bank, self.burst_bytes as u32);
            self.left_less_entered = self.left_less_entered.wrapping_sub(now.0);
            self.scheduler.arrived(slot, now, &self.queue, &self.banks, self.drain.turn());
            self.find_arrival();
        }
        if !self.drain.is_mixed() {
            self.drain.stir(now, self.queue.reads());
            self.pass_turn(now);
        }
    }

    /// Passes the turn to the other direction if it is time.
    #[inline(never)]
    pub(super) fn pass_turn(&mut self, now: Cycle) {
        if self.drain.update(now, self.queue.reads(), self.queue.writes()) {
            self.scheduler.touch_all(&self.queue);
        }
        // Only where no read waits, writes have a clock at which it is their turn.
        let is_held = self.drain.next_event(self.queue.writes()) != Cycle::NEVER;
        self.bus.holds(now, is_held);
        self.find_interrupt();
    }

    #[inline]
    pub(super) fn find_interrupt(&mut self) {
        self.interrupt = self.drain.next_event(self.queue.writes()).min(self.refresh.due());
        self.attend = self.interrupt.min(self.bank_refresh.due());
    }

    /// Nothing is to be done before a request enters the queue, but to refresh, which is booked then.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        self.wake == Cycle::NEVER && self.queue.is_empty()
    }

    /// Books what was refreshed before clock `now` in a rest that ends.
    #[inline(never)]
    fn end_rest(&mut self, now: Cycle, owner: &mut impl Listener) {
        self.refresh.catch_up(now, &mut self.banks, &mut self.stats, |step, at| match step {
            Step::Waits(_) => {}
            Step::Closed => owner.sent(Sent::PrechargeAll { at }),
            Step::Refreshed => {
                self.bus.refreshes(0, at, at);
                owner.sent(Sent::Refresh { at });
            }
        });
        self.find_interrupt();
    }

    /// Books the refreshes of single banks that were due by `now`.
    #[inline]
    pub(super) fn refresh_banks(&mut self, now: Cycle, owner: &mut impl Listener) {
        if self.bank_refresh.due() <= now {
            self.book_refreshes(now, owner);
        }
    }

    #[inline(never)]
    fn book_refreshes(&mut self, now: Cycle, owner: &mut impl Listener) {
        let scheduler = &mut self.scheduler;
        let concerned = scheduler.concerned(&self.queue);
        self.bank_refresh.catch_up(now, &mut self.banks, &mut self.stats, |bank, start| {
            if concerned >> bank & 1 == 1 {
                scheduler.touch(bank);
            }
            self.bus.refreshes(bank, start, start);
            owner.sent(Sent::RefreshOne { bank: bank as u32, start });
        });
        self.find_interrupt();
    }
}
