//! Which command goes next.
//!
//! First ready, first come: among the waiting requests the oldest that can read or write its open
//! row at once; else the oldest whose bank can be opened or closed for it at once. Column commands
//! of different requests interleave, because that is what keeps the bus full when tCCD_L is longer
//! than a burst. Two caps keep the old from starving, see [`DramScheduler::FrFcfs`]: a bank's
//! oldest request is passed at most `cap` times in its bank, and the channel's oldest at most
//! `cap x banks` times in all; after that only it goes. First come, first served is the same
//! machine with a cap of zero on the channel.
//!
//! Nothing here scans the queue in a clock. Each bank keeps its candidates, which [`super::settle`] finds when the bank's
//! own state changed; and as earliest clocks only ever move later, a clock before which nothing can go (`next_column`,
//! `next_row`) stays true until a candidate changes.

use std::hint::select_unpredictable;

use crate::config::machine::{DramConfig, DramScheduler, RowPolicy};
use crate::units::{Bits, Cycle};

use super::bank::{Banks, CLOSED, MOST_BANKS};
use super::candidate::{Action, Candidate, Candidates, First, NOBODY, Search, UNKNOWN};
use super::drain::Turn;
use super::queue::{NONE, Queue, Slot};
use super::timing::Command;

/// Picks one command a clock.
#[derive(Clone, Debug)]
pub struct Scheduler {
    pub(super) bank_cap: u32,
    pub(super) channel_cap: u32,
    pub(super) close_unwanted: bool,
    pub(super) candidates: [Candidates; MOST_BANKS],
    /// Banks whose candidates may have changed.
    pub(super) stale: u64,
    /// For every command, the banks that have a candidate for it.
    pub(super) waiting: [u64; Command::COUNT],
    /// Banks to close because nobody wants their row.
    pub(super) closing: u64,
    /// The only request that may go, when there is such a one.
    pub(super) only: Slot,
    /// A request has been passed so often that it may become the only one.
    pub(super) is_any_alone: bool,
    pub(super) next_column: Cycle,
    pub(super) next_row: Cycle,
    /// What goes at `next_column` if no candidate changes before; for [`NONE`] where that is not known.
    pub(super) column: Action,
}

impl Scheduler {
    /// With nothing to do.
    pub fn new(config: &DramConfig) -> Scheduler {
        let banks = config.banks.get();
        let (bank_cap, channel_cap) = match config.scheduler {
            DramScheduler::Fcfs => (0, 0),
            DramScheduler::FrFcfs { cap } => (cap.get(), cap.get() * banks),
        };
        Scheduler {
            bank_cap,
            channel_cap,
            close_unwanted: config.row_policy == RowPolicy::Closed,
            candidates: [Candidates::NONE; MOST_BANKS],
            stale: 0,
            waiting: [0; Command::COUNT],
            closing: 0,
            only: NONE,
            is_any_alone: channel_cap == 0,
            next_column: Cycle::NEVER,
            next_row: Cycle::NEVER,
            column: UNKNOWN,
        }
    }

    /// No command can go before this clock, if nothing is touched. Needs [`Scheduler::settle`].
    #[inline]
    pub fn next_event(&self) -> Cycle {
        debug_assert!(!self.is_stale());
        self.next_column.min(self.next_row)
    }

    /// The column command that goes at `now`, if it is known that one does.
    #[inline]
    pub fn known_column(&self, now: Cycle) -> Option<Action> {
        debug_assert!(!self.is_stale());
        let is_known = self.next_column == now && self.column.slot != NONE;
        is_known.then_some(self.column)
    }

    /// The command that goes at `now`; none when none is ready.
    pub fn pick(&mut self, now: Cycle, queue: &Queue, banks: &Banks) -> Option<Action> {
        if self.only != NONE {
            return self.pick_only(now, queue, banks);
        }
        if self.next_column <= now {
            let action = self.pick_column(now, banks);
            if action.is_some() {
                return action;
            }
        }
        if self.next_row <= now { self.pick_row(now, banks) } else { None }
    }

    #[inline]
    fn pick_column(&mut self, now: Cycle, banks: &Banks) -> Option<Action> {
        self.column = UNKNOWN;
        let mut search = Search::new(now);
        self.search(Command::Read, |candidates| candidates.hits[0], banks, &mut search);
        self.search(Command::Write, |candidates| candidates.hits[1], banks, &mut search);
        self.next_column = search.next;
        search.action()
    }

    #[inline]
    fn pick_row(&mut self, now: Cycle, banks: &Banks) -> Option<Action> {
        let mut search = Search::new(now);
        for command in [Command::Activate, Command::Precharge] {
            self.search(command, |candidates| candidates.oldest, banks, &mut search);
        }
        let mut action = search.action();
        if self.closing != 0 {
            // Also looked at when another command goes, so that no bank to close is forgotten.
            action = action.or(self.pick_closing(now, banks, &mut search.next));
        }
        self.next_row = search.next;
        action
    }

    /// Looks through the banks that wait to send `command` for a ready one with an older request.
    #[inline]
    fn search(
        &self,
        command: Command,
        candidate: impl Fn(&Candidates) -> Candidate,
        banks: &Banks,
        search: &mut Search,
    ) {
        let mask = self.waiting[command as usize];
        let bound = banks.channel_ready(command);
        if mask == 0 || bound > search.now {
            search.next = if mask == 0 { search.next } else { bound.min(search.next) };
            return;
        }
        for bank in Bits(mask) {
            let ready = banks.ready(command, bank);
            if ready > search.now {
                search.next = ready.min(search.next);
                continue;
            }
            let this = candidate(&self.candidates[bank]);
            if search.oldest != NOBODY {
                // One of the two is left for the next clock.
                search.next = search.now + 1;
            }
            if this < search.oldest {
                (search.oldest, search.bank, search.command) = (this, bank, command);
            }
        }
    }

    /// Finds the row command that can go first after an activate, which keeps others waiting: a look at them here costs less
    /// than a look at all of them in a clock in which none can go. Needs [`Scheduler::settle`].
    #[inline]
    pub fn look_for_row(&mut self, banks: &Banks) {
        if self.only == NONE && self.closing == 0 {
            let opens = self.first_ready(Command::Activate, banks);
            self.next_row = opens.min(self.first_ready(Command::Precharge, banks));
        }
    }

    /// The same after a column command: the oldest of those that are ready first.
    #[inline]
    pub fn look_for_column(&mut self, sent: Command, banks: &Banks) {
        if self.only != NONE {
            return;
        }
        let other = column_command(sent == Command::Read);
        let (mut command, mut first) = (sent, self.look(sent, banks));
        // The other direction has to wait until the bus has turned around, mostly until after this.
        if self.waiting[other as usize] != 0 && banks.channel_ready(other) <= first.ready {
            let another = self.look(other, banks);
            if another.key() < first.key() {
                (command, first) = (other, another);
            }
        }
        self.next_column = first.ready;
        self.column = Action { command, bank: first.bank, slot: first.candidate.slot() };
    }

    /// Looks through the banks that wait to send `command` for the one that can first.
    #[inline]
    fn look(&self, command: Command, banks: &Banks) -> First {
        let direction = usize::from(command == Command::Write);
        let mut first = First::NONE;
        for bank in Bits(self.waiting[command as usize]) {
            let ready = banks.column_ready(command, bank);
            let this = First { ready, candidate: self.candidates[bank].hits[direction], bank };
            first = select_unpredictable(this.key() < first.key(), this, first);
        }
        first
    }

    /// When the first of the banks can that wait to send `command`.
    #[inline]
    fn first_ready(&self, command: Command, banks: &Banks) -> Cycle {
        let waiting = Bits(self.waiting[command as usize]);
        waiting.map(|bank| banks.ready(command, bank)).fold(Cycle::NEVER, Cycle::min)
    }

    fn pick_closing(&self, now: Cycle, banks: &Banks, next: &mut Cycle) -> Option<Action> {
        for bank in Bits(self.closing) {
            let ready = banks.ready(Command::Precharge, bank);
            if ready <= now {
                *next = now + 1;
                return Some(Action { command: Command::Precharge, bank, slot: NONE });
            }
            *next = ready.min(*next);
        }
        None
    }

    fn pick_only(&mut self, now: Cycle, queue: &Queue, banks: &Banks) -> Option<Action> {
        let entry = queue.entry(self.only);
        let bank = usize::from(entry.bank);
        let command = match () {
            () if banks.row(bank) != entry.row => row_command(banks, bank),
            () => column_command(entry.write),
        };
        let mut next = banks.ready(command, bank);
        let action = if next <= now {
            Some(Action { command, bank, slot: self.only })
        } else {
            self.pick_closing(now, banks, &mut next)
        };
        self.next_column = if action.is_some() { now + 1 } else { next };
        self.next_row = Cycle::NEVER;
        action
    }

    /// Books that a column command was sent for the request in `slot`, before it leaves the queue.
    #[inline]
    pub fn column_sent(&mut self, bank: usize, slot: Slot, queue: &mut Queue, turn: Turn) {
        // None when the channel's oldest goes out of turn because a younger one waits for it.
        let oldest = self.candidates[bank].oldest.slot();
        if oldest != NONE && oldest != slot {
            let entry = queue.entry_mut(oldest);
            entry.passed += 1;
            if entry.passed == self.bank_cap {
                self.touch(bank);
            }
        }
        let head = turn.oldest(queue);
        if head != slot {
            let entry = queue.entry_mut(head);
            entry.overtaken += 1;
            if entry.overtaken == self.channel_cap {
                self.is_any_alone = true;
                self.touch(bank);
            }
        }
    }
}

/// What brings a row into `bank` next.
#[inline]
pub(super) fn row_command(banks: &Banks, bank: usize) -> Command {
    if banks.row(bank) == CLOSED { Command::Activate } else { Command::Precharge }
}

/// What reads or writes a burst.
#[inline]
pub(super) fn column_command(write: bool) -> Command {
    if write { Command::Write } else { Command::Read }
}
