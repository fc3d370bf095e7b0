//! One controller: queue, scheduler, banks and the data bus of one channel.

use crate::config::machine::DramConfig;
use crate::ring::Ring;
use crate::units::Cycle;

use super::bank::{Banks, CLOSED};
use super::drain::Drain;
use super::mapping::Mapping;
use super::queue::{Entry, NONE, Queue, Slot};
use super::refresh::{BankRefresh, Refresh, Step};
use super::request::{Completion, Request, Sent};
use super::scheduler::{Action, Scheduler};
use super::stats::DramStats;
use super::timing::Command;

/// The controller of one channel.
#[derive(Clone, Debug)]
pub struct Controller {
    mapping: Mapping,
    /// Accepted requests on their way to the queue. They hold a place in it already.
    arriving: Ring<Request>,
    queue: Queue,
    /// Requests that the queue holds.
    capacity: usize,
    /// Requests on their way to the queue that need no place in it yet.
    way_in: usize,
    banks: Banks,
    scheduler: Scheduler,
    drain: Drain,
    refresh: Refresh,
    bank_refresh: BankRefresh,
    completions: Ring<Completion>,
    /// No command can go before this clock, unless a request arrives.
    wake: Cycle,
    /// The clock after the last data of all columns sent so far.
    data_end: Cycle,
    /// Clocks before this one were ticked or skipped.
    passed_to: Cycle,
    /// Clocks before this one are counted: the queue is as long since then.
    counted_to: Cycle,
    burst_bytes: u64,
    block_bytes: u64,
    burst_clocks: u64,
    read_latency: u64,
    write_latency: u64,
    latency_in: u64,
    latency_out: u64,
    stats: DramStats,
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
        let read_latency = config.timing.cl.cycles();
        // A completion stays at least this long, and reads follow each other by a burst: so many
        // are under way when the owner takes them at once. `capacity` more let it lag behind.
        let under_way = (read_latency + burst_clocks + latency_out) / burst_clocks + 1;
        // The way in takes what the bus can serve while a request is on it.
        let way_in = (latency_in / burst_clocks) as usize;
        Controller {
            mapping: Mapping::new(config),
            arriving: Ring::new(capacity + way_in),
            queue: Queue::new(capacity, banks.count()),
            capacity,
            way_in,
            scheduler: Scheduler::new(config),
            drain: Drain::new(config.writes),
            completions: Ring::new(capacity + under_way as usize),
            wake: refresh.due(),
            data_end: Cycle(0),
            passed_to: Cycle(0),
            counted_to: Cycle(0),
            burst_bytes: u64::from(config.burst_bytes()),
            block_bytes: config.block_bytes(),
            burst_clocks,
            read_latency,
            write_latency: config.timing.cwl.cycles(),
            latency_in,
            latency_out,
            stats: DramStats::default(),
            banks,
            refresh,
            bank_refresh: BankRefresh::new(config),
        }
    }

    /// Whether a request would be accepted: whether the queue, or the way to it, has a place left. A
    /// request that finds the queue full at the end of its way waits there.
    #[inline]
    pub fn can_accept(&self) -> bool {
        self.held() < self.capacity + self.way_in
    }

    /// Takes `request` in at command clock `now`, or gives it back when the queue is full.
    ///
    /// It can be scheduled from `now` + half the interface latency. It must not cross a border of
    /// [`DramConfig::block_bytes`].
    #[inline]
    pub fn try_push(&mut self, now: Cycle, request: Request) -> Result<(), Request> {
        debug_assert!(request.bursts > 0 && request.address.is_multiple_of(self.burst_bytes));
        debug_assert!(
            request.address % self.block_bytes + u64::from(request.bursts) * self.burst_bytes
                <= self.block_bytes,
            "{request:?} crosses a border of {} bytes",
            self.block_bytes
        );
        if !self.can_accept() {
            return Err(request);
        }
        self.arriving.try_push(now + self.latency_in, request)
    }

    /// Passes command clock `now`: sends at most one command. `core` is the stamp for a request's first command.
    ///
    /// Every clock is ticked or skipped, once and in order.
    #[inline]
    pub fn tick(&mut self, now: Cycle, core: Cycle) {
        self.tick_traced(now, core, &mut |_| ());
    }

    /// As [`Controller::tick`]; tells `trace` what was sent.
    #[inline]
    pub fn tick_traced(&mut self, now: Cycle, core: Cycle, trace: &mut impl FnMut(Sent)) {
        debug_assert!(self.passed_to <= now);
        if self.next_arrival() <= now {
            self.admit(now, trace);
        }
        self.passed_to = now + 1;
        if self.wake <= now {
            self.act(now, core, trace);
        }
    }

    /// The earliest clock, not before `now`, at which a tick or a pop can change anything, if no
    /// request is pushed. `now` is the first clock that was not yet ticked.
    ///
    /// A refresh of all banks is such a change, so this is never later than the next one. One of a single bank is not:
    /// without the former an idle controller answers [`Cycle::NEVER`].
    #[inline]
    pub fn next_event(&self, now: Cycle) -> Cycle {
        self.wake.min(self.next_arrival()).min(self.completions.next_visible()).max(now)
    }

    /// No completion can be taken before this clock, if no command goes before `command`.
    #[inline]
    pub fn next_data(&self, command: Cycle) -> Cycle {
        let delay = self.read_latency + self.burst_clocks + self.latency_out;
        self.completions.next_visible().min(Cycle(command.0.saturating_add(delay)))
    }

    /// Passes the clocks before `to`, none of them later than [`Controller::next_event`] allows, exactly as
    /// ticking them would. Clocks before one that is ticked are skipped.
    #[inline]
    pub fn skip(&mut self, to: Cycle) {
        debug_assert!(to <= self.next_event(self.passed_to));
        self.passed_to = self.passed_to.max(to);
    }

    /// A read whose last data reached the owner by `now`, in the order of the data.
    ///
    /// The owner takes completions as they appear. While it does not, reads go on until the room
    /// for completions is used up, and then wait.
    #[inline]
    pub fn pop_completion(&mut self, now: Cycle) -> Option<Completion> {
        let was_full = self.completions.is_full();
        let completion = self.completions.pop(now)?;
        if was_full {
            self.scheduler.wake();
            self.wake = Cycle(0);
        }
        Some(completion)
    }

    /// When the next completion can be taken: the last data of a read is known when its last command goes, so its owner
    /// may take it ahead.
    #[inline]
    pub fn next_completion(&self) -> Cycle {
        self.completions.next_visible()
    }

    /// True when no request waits and no completion is left to take. Data of the last writes may
    /// still be on the bus.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.held() == 0 && self.completions.is_empty()
    }

    /// Requests accepted and not yet fully sent to the chips.
    #[inline]
    pub fn held(&self) -> usize {
        self.queue.len() + self.arriving.len()
    }

    /// What was counted in the clocks that were ticked or skipped.
    pub fn stats(&self) -> DramStats {
        let (clocks, queued, busy) = self.uncounted(self.passed_to);
        let mut stats = self.stats.clone();
        if self.bank_refresh.due() < self.passed_to {
            // Due and not booked, as nobody has looked at the banks since.
            let (mut banks, mut refresh) = (self.banks.clone(), self.bank_refresh.clone());
            refresh.catch_up(Cycle(self.passed_to.0 - 1), &mut banks, &mut stats, |_, _| ());
        }
        stats.clocks += clocks;
        stats.queued += queued;
        stats.busy_clocks += busy;
        stats
    }

    /// Clocks before `to` that are not counted, the requests queued in them, and those that were busy.
    #[inline]
    fn uncounted(&self, to: Cycle) -> (u64, u64, u64) {
        let clocks = to.since(self.counted_to);
        match self.queue.len() as u64 {
            0 => (clocks, 0, clocks.min(self.data_end.since(self.counted_to))),
            queued => (clocks, queued * clocks, clocks),
        }
    }

    /// Counts the clocks before `to`, before the queue becomes longer or shorter.
    #[inline]
    fn count_to(&mut self, to: Cycle) {
        let (clocks, queued, busy) = self.uncounted(to);
        self.stats.clocks += clocks;
        self.stats.queued += queued;
        self.stats.busy_clocks += busy;
        self.counted_to = to;
    }

    /// When the next request enters the queue; never while it is full.
    #[inline]
    fn next_arrival(&self) -> Cycle {
        let arrival = self.arriving.next_visible();
        if self.queue.len() == self.capacity { Cycle::NEVER } else { arrival }
    }

    /// Takes in what arrived by `now` and has room.
    fn admit(&mut self, now: Cycle, trace: &mut impl FnMut(Sent)) {
        self.count_to(now);
        self.refresh_banks(now, trace);
        while self.queue.len() < self.capacity
            && let Some(request) = self.arriving.pop(now)
        {
            let (row, bank) = self.mapping.row_and_bank(request.address);
            let slot = self.queue.insert(request, row, bank, self.burst_bytes);
            if self.scheduler.arrived(slot, &self.queue, &self.banks) {
                self.wake = Cycle(0);
            }
        }
        self.drain.stir(now, self.queue.reads());
        self.pass_turn(now);
        self.wake = self.wake.min(self.drain.next_event(self.queue.writes()));
    }

    /// Passes the turn to the other direction if it is time.
    fn pass_turn(&mut self, now: Cycle) {
        if self.drain.update(now, self.queue.reads(), self.queue.writes()) {
            self.scheduler.touch_all(&self.queue);
            self.wake = Cycle(0);
        }
    }

    /// Books the refreshes of single banks that were due by `now`.
    #[inline]
    fn refresh_banks(&mut self, now: Cycle, trace: &mut impl FnMut(Sent)) {
        if self.bank_refresh.due() <= now {
            self.book_refreshes(now, trace);
        }
    }

    #[inline(never)]
    fn book_refreshes(&mut self, now: Cycle, trace: &mut impl FnMut(Sent)) {
        let scheduler = &mut self.scheduler;
        self.bank_refresh.catch_up(now, &mut self.banks, &mut self.stats, |bank, start| {
            scheduler.touch(bank);
            trace(Sent::RefreshOne { bank: bank as u32, start });
        });
    }

    fn act(&mut self, now: Cycle, core: Cycle, trace: &mut impl FnMut(Sent)) {
        self.refresh_banks(now, trace);
        if self.drain.next_event(self.queue.writes()) <= now {
            self.pass_turn(now);
        }
        if self.refresh.due() <= now {
            match self.refresh.step(now, &mut self.banks, &mut self.stats) {
                Step::Waits(ready) => {
                    self.wake = ready;
                    return;
                }
                Step::Closed => {
                    trace(Sent::PrechargeAll);
                    self.scheduler.touch_all(&self.queue);
                    self.wake = now + 1;
                    return;
                }
                Step::Refreshed => {
                    trace(Sent::Refresh);
                    self.scheduler.touch_all(&self.queue);
                }
            }
        } else {
            let turn = self.drain.turn();
            self.scheduler.settle(&self.queue, &self.banks, turn);
            let room = !self.completions.is_full();
            if let Some(action) = self.scheduler.pick(now, &self.queue, &self.banks, room) {
                self.send(action, now, core, trace);
            }
        }
        self.scheduler.settle(&self.queue, &self.banks, self.drain.turn());
        self.scheduler.look_ahead(&self.banks);
        let turn_passes = self.drain.next_event(self.queue.writes());
        self.wake =
            self.scheduler.next_event().min(turn_passes).max(now + 1).min(self.refresh.due());
    }

    fn send(&mut self, action: Action, now: Cycle, core: Cycle, trace: &mut impl FnMut(Sent)) {
        let Action { command, bank, slot } = action;
        let wanted = if slot == NONE { None } else { Some(self.stamp(command, slot, core)) };
        let row = wanted.unwrap_or(CLOSED);
        let tag = wanted.map(|_| self.queue.entry(slot).tag);
        trace(Sent::Command { command, bank: bank as u32, row, tag });
        self.banks.issue(command, bank, row, now);
        self.scheduler.sent(action, &mut self.queue, &self.banks, self.drain.turn());
        match command {
            Command::Activate => self.stats.activates += 1,
            Command::Precharge => self.stats.precharges += 1,
            Command::Read => self.stats.read_bursts += 1,
            Command::Write => self.stats.write_bursts += 1,
        }
        if matches!(command, Command::Read | Command::Write) {
            self.column(command, bank, slot, now);
        }
    }

    /// Notes the first command for the request in `slot`; gives the row that it wants.
    fn stamp(&mut self, command: Command, slot: Slot, core: Cycle) -> u64 {
        let entry = self.queue.entry_mut(slot);
        if entry.first_command == Cycle::NEVER {
            entry.first_command = core;
            match command {
                Command::Read | Command::Write => self.stats.row_hits += 1,
                Command::Activate => self.stats.row_misses += 1,
                Command::Precharge => self.stats.row_conflicts += 1,
            }
        }
        entry.row
    }

    fn column(&mut self, command: Command, bank: usize, slot: Slot, now: Cycle) {
        let latency = if command == Command::Read { self.read_latency } else { self.write_latency };
        let data_end = now + latency + self.burst_clocks;
        self.data_end = data_end.max(self.data_end);
        self.stats.data_clocks += self.burst_clocks;
        let entry = self.queue.entry_mut(slot);
        entry.bursts -= 1;
        if entry.bursts > 0 {
            return;
        }
        let Entry { write, tag, first_command, .. } = *entry;
        self.count_to(now + 1);
        self.queue.remove(slot);
        self.scheduler.touch(bank);
        if !write {
            self.drain.stir(now, self.queue.reads());
        }
        self.pass_turn(now);
        if write {
            self.stats.writes += 1;
        } else {
            self.stats.reads += 1;
            let completion = Completion { tag, first_command };
            self.completions.push(data_end + self.latency_out, completion);
        }
    }
}
