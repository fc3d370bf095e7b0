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

use crate::config::machine::{DramConfig, DramScheduler, RowPolicy};
use crate::units::{Bits, Cycle};

use super::bank::{Banks, CLOSED, MOST_BANKS};
use super::candidate::{Action, Candidates, First};
use super::drain::Turn;
use super::queue::{NONE, Queue, Slot};
use super::timing::Command;

/// The number of the first column command: a read, which a write follows.
const COLUMNS: usize = Command::Read as usize;

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
    /// What goes at `next_column` if no candidate changes before; [`NONE`] where that is not known.
    pub(super) column: Slot,
    /// The same at `next_row`, where no column command goes.
    pub(super) row: Slot,
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
            column: NONE,
            row: NONE,
        }
    }

    /// No command can go before this clock, if nothing is touched. Needs [`Scheduler::settle`].
    #[inline]
    pub fn next_event(&self) -> Cycle {
        debug_assert!(!self.is_stale());
        self.next_column.min(self.next_row)
    }

    /// The request whose column command goes at `now`, if it is known that one does; else [`NONE`].
    #[inline]
    pub fn known_column(&self, now: Cycle) -> Slot {
        debug_assert!(!self.is_stale());
        if self.next_column != now {
            return NONE;
        }
        self.column
    }

    /// The command that goes at `now`; none when none is ready.
    #[inline]
    pub fn pick(&mut self, now: Cycle, queue: &Queue, banks: &Banks) -> Option<Action> {
        if self.only != NONE {
            return self.pick_only(now, queue, banks);
        }
        if self.next_column <= now {
            self.look_for_column(now, 0, banks);
            if self.next_column <= now {
                let entry = queue.entry(self.column);
                let (command, bank) = (column_command(entry.write), usize::from(entry.bank));
                return Some(Action { command, bank, slot: self.column });
            }
        }
        if self.next_row > now {
            return None;
        }
        if self.next_row < now || self.row == NONE {
            self.look_for_row(now, banks);
            if self.next_row > now {
                return None;
            }
        }
        let slot = match self.closing {
            0 => self.row,
            _ => match self.first_row(now, banks) {
                First { ready, candidate } if ready <= now => candidate.slot(),
                _ => return self.pick_closing(now, banks),
            },
        };
        let bank = usize::from(queue.entry(slot).bank);
        Some(Action { command: row_command(banks, bank), bank, slot })
    }

    /// Finds the row command that can go first, not before clock `from`. Needs [`Scheduler::settle`].
    #[inline]
    pub fn look_for_row(&mut self, from: Cycle, banks: &Banks) {
        if self.only != NONE {
            return;
        }
        let First { ready, candidate } = self.first_row(from, banks);
        (self.next_row, self.row) = (ready, candidate.slot());
        if self.closing != 0 {
            self.next_row = self.first_closing(banks).min(ready).max(from);
            self.row = NONE;
        }
    }

    /// The first of the banks that wait to open or close a row for a request, not before clock `from`.
    #[inline]
    pub(super) fn first_row(&self, from: Cycle, banks: &Banks) -> First {
        let [opens, closes] = [Command::Activate, Command::Precharge];
        let from = [banks.channel_ready(opens).max(from), from];
        let mut first = First::NONE;
        for bank in Bits(self.waiting[opens as usize] | self.waiting[closes as usize]) {
            let ready = banks.row_command_from(from, bank);
            first = first.or(First { ready, candidate: self.of(bank).oldest });
        }
        first
    }

    /// Finds the column command that can go first, not before clock `from`, probably in `direction`. Needs
    /// [`Scheduler::settle`].
    #[inline(always)]
    pub fn look_for_column(&mut self, from: Cycle, direction: usize, banks: &Banks) {
        if self.only == NONE {
            let First { ready, candidate } = self.first_column(from, direction, banks);
            (self.next_column, self.column) = (ready, candidate.slot());
        }
    }

    /// The first of the banks that have a request for their open row, as [`Scheduler::look_for_column`].
    #[inline(always)]
    pub(super) fn first_column(&self, from: Cycle, direction: usize, banks: &Banks) -> First {
        let first = self.first_of(direction, banks.columns_from(direction, from), banks);
        let other = 1 - direction;
        // The other direction has to wait until the bus has turned around, mostly until after this.
        let bound = banks.columns_from(other, from);
        if self.waiting[COLUMNS + other] == 0 || bound > first.ready {
            return first;
        }
        first.or(self.first_of_other(other, bound, banks))
    }

    #[inline(never)]
    fn first_of_other(&self, direction: usize, from: Cycle, banks: &Banks) -> First {
        self.first_of(direction, from, banks)
    }

    /// The first of the banks that wait to be read, or written, where none is before clock `from`.
    #[inline(always)]
    fn first_of(&self, direction: usize, from: Cycle, banks: &Banks) -> First {
        let mut first = First::NONE;
        for bank in Bits(self.waiting[COLUMNS + direction]) {
            let ready = banks.column_from(from, direction, bank);
            first = first.or(First { ready, candidate: self.of(bank).hits[direction] });
        }
        first
    }

    #[inline]
    pub(super) fn of(&self, bank: usize) -> &Candidates {
        &self.candidates[bank % MOST_BANKS]
    }

    #[inline]
    pub(super) fn of_mut(&mut self, bank: usize) -> &mut Candidates {
        &mut self.candidates[bank % MOST_BANKS]
    }

    /// A bank whose row nobody wants, and that can be closed at `now`.
    fn pick_closing(&self, now: Cycle, banks: &Banks) -> Option<Action> {
        let mut closing = Bits(self.closing);
        let bank = closing.find(|&bank| banks.ready(Command::Precharge, bank) <= now)?;
        Some(Action { command: Command::Precharge, bank, slot: NONE })
    }

    /// When the first of the banks can be closed whose rows nobody wants.
    fn first_closing(&self, banks: &Banks) -> Cycle {
        let closes = Bits(self.closing).map(|bank| banks.ready(Command::Precharge, bank));
        closes.fold(Cycle::NEVER, Cycle::min)
    }

    fn pick_only(&mut self, now: Cycle, queue: &Queue, banks: &Banks) -> Option<Action> {
        let entry = queue.entry(self.only);
        let bank = usize::from(entry.bank);
        let command = match () {
            () if banks.row(bank) != entry.row => row_command(banks, bank),
            () => column_command(entry.write),
        };
        let ready = banks.ready(command, bank);
        let action = if ready <= now {
            Some(Action { command, bank, slot: self.only })
        } else {
            self.pick_closing(now, banks)
        };
        self.next_column = match action {
            Some(_) => now + 1,
            None => ready.min(self.first_closing(banks)),
        };
        self.next_row = Cycle::NEVER;
        action
    }

    /// Books that a column command was sent for the request in `slot`, before it leaves the queue.
    #[inline(always)]
    pub fn column_sent(&mut self, bank: usize, slot: Slot, queue: &mut Queue, turn: Turn) {
        // None when the channel's oldest goes out of turn because a younger one waits for it.
        let oldest = self.of(bank).oldest.slot();
        if oldest != slot && oldest != NONE {
            let entry = queue.entry_mut(oldest);
            entry.passed += 1;
            if entry.passed == self.bank_cap {
                self.touch(bank);
            }
        }
        let head = turn.oldest(queue);
        let entry = queue.entry_mut(head);
        entry.overtaken += u32::from(head != slot);
        // Of one that has been passed so often before, this is known.
        if entry.overtaken == self.channel_cap {
            self.is_any_alone = true;
            self.touch(bank);
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
