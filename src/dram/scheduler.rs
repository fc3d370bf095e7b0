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
//! Nothing here scans the queue in a clock. Each bank keeps its candidates and finds new ones only
//! when its own state changed; and as earliest clocks only ever move later, a clock before which
//! nothing can go (`next_column`, `next_row`) stays true until a candidate changes.

use crate::config::machine::{DramConfig, DramScheduler, RowPolicy};
use crate::units::Cycle;

use super::bank::{Banks, CLOSED};
use super::candidate::{Bits, Candidate, Candidates, NOBODY, Search};
use super::drain::Turn;
use super::queue::{NONE, Queue, Slot};
use super::timing::Command;

/// A command to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// What.
    pub command: Command,
    /// Where.
    pub bank: usize,
    /// For which request; [`NONE`] when a row closes because nobody wants it.
    pub slot: Slot,
}

/// Picks one command a clock.
#[derive(Clone, Debug)]
pub struct Scheduler {
    bank_cap: u32,
    channel_cap: u32,
    close_unwanted: bool,
    candidates: Box<[Candidates]>,
    /// Banks whose candidates may have changed.
    stale: u64,
    /// For every command, the banks that have a candidate for it.
    waiting: [u64; Command::COUNT],
    /// Banks to close because nobody wants their row.
    closing: u64,
    /// The only request that may go, when there is such a one.
    only: Slot,
    /// A request has been passed so often that it may become the only one.
    is_any_alone: bool,
    next_column: Cycle,
    next_row: Cycle,
    /// What goes at `next_column` if no candidate changes before.
    column: Option<Action>,
    /// The command that went last, until [`Scheduler::look_ahead`] has looked at what it keeps waiting.
    sent: Option<Command>,
}

impl Scheduler {
    /// With nothing to do.
    pub fn new(config: &DramConfig) -> Scheduler {
        let banks = config.banks.get();
        let (bank_cap, channel_cap) = match config.scheduler {
            DramScheduler::Fcfs => (0, 0),
            DramScheduler::FrFcfs { cap } => (cap.get(), cap.get() * banks),
        };
        let nothing = Candidates { read: NOBODY, write: NOBODY, oldest: NOBODY };
        Scheduler {
            bank_cap,
            channel_cap,
            close_unwanted: config.row_policy == RowPolicy::Closed,
            candidates: vec![nothing; banks as usize].into(),
            stale: 0,
            waiting: [0; Command::COUNT],
            closing: 0,
            only: NONE,
            is_any_alone: channel_cap == 0,
            next_column: Cycle::NEVER,
            next_row: Cycle::NEVER,
            column: None,
            sent: None,
        }
    }

    /// The state or the requests of `bank` changed.
    #[inline]
    pub fn touch(&mut self, bank: usize) {
        self.stale |= 1 << bank;
    }

    /// The request in `slot` arrived as the youngest of its bank. True when this may change what
    /// goes next: when it can be a candidate itself, or when an older one may go out of turn for it.
    #[inline]
    pub fn arrived(&mut self, slot: Slot, queue: &Queue, banks: &Banks) -> bool {
        let entry = queue.entry(slot);
        let bank = entry.bank as usize;
        let Candidates { read, write, oldest } = &self.candidates[bank];
        let of_direction = if entry.write { write } else { read };
        let hit = entry.row == banks.row(bank);
        let matters = *oldest == NOBODY || entry.blockers > 0 || (hit && *of_direction == NOBODY);
        self.stale |= u64::from(matters) << bank;
        matters
    }

    /// The state of every bank may have changed, or whose turn it is.
    #[inline]
    pub fn touch_all(&mut self, queue: &Queue) {
        // The others had nothing to do and have nothing to do.
        self.stale |= queue.occupied() | self.closing;
    }

    /// Reads are allowed again after a time in which they were not.
    #[inline]
    pub fn wake(&mut self) {
        self.next_column = Cycle(0);
    }

    /// No command can go before this clock, if nothing is touched. Needs [`Scheduler::settle`].
    #[inline]
    pub fn next_event(&self) -> Cycle {
        debug_assert_eq!(self.stale, 0);
        self.next_column.min(self.next_row)
    }

    /// Finds new candidates for all banks that were touched.
    #[inline]
    pub fn settle(&mut self, queue: &Queue, banks: &Banks, turn: Turn) {
        if self.stale != 0 {
            self.settle_stale(queue, banks, turn);
        }
    }

    fn settle_stale(&mut self, queue: &Queue, banks: &Banks, turn: Turn) {
        self.column = None;
        for bank in Bits(std::mem::take(&mut self.stale)) {
            self.settle_bank(bank, queue, banks, turn);
        }
        if !self.is_any_alone {
            return;
        }
        let before = self.only;
        let head = turn.oldest(queue);
        let alone = head != NONE && queue.entry(head).overtaken >= self.channel_cap;
        self.only = if alone { head } else { NONE };
        if alone || before != NONE {
            (self.next_column, self.next_row) = (Cycle(0), Cycle(0));
        }
    }

    #[inline]
    fn settle_bank(&mut self, bank: usize, queue: &Queue, banks: &Banks, turn: Turn) {
        let row = banks.row(bank);
        let mut found = Candidates { read: NOBODY, write: NOBODY, oldest: NOBODY };
        let mut wanted = false;
        let [mut reads, mut writes] = queue.of_bank(bank);
        let mut slot = queue.oldest_of_bank(bank);
        // A direction that has its candidate, or no request left, needs no further search.
        while ((reads > 0) & (found.read == NOBODY)) | ((writes > 0) & (found.write == NOBODY)) {
            let entry = queue.entry(slot);
            let this = Candidate::new(entry.age, slot);
            let hit = entry.row == row;
            wanted |= hit;
            *(if entry.write { &mut writes } else { &mut reads }) -= 1;
            if turn.allows(entry) {
                let first = found.oldest == NOBODY;
                if first {
                    found.oldest = this;
                }
                if row == CLOSED {
                    break;
                }
                let place = if entry.write { &mut found.write } else { &mut found.read };
                if hit && *place == NOBODY {
                    *place = this;
                }
                if first && entry.passed >= self.bank_cap {
                    break;
                }
            }
            slot = entry.younger_of_bank();
        }
        self.candidates[bank] = found;

        let (reads, writes) = (found.read != NOBODY, found.write != NOBODY);
        let prepares = !reads && !writes && found.oldest != NOBODY;
        let closes = self.close_unwanted && row != CLOSED && !wanted && !prepares;
        let opens = prepares && row == CLOSED;
        let others = !(1 << bank);
        let put = |mask: &mut u64, set: bool| *mask = *mask & others | u64::from(set) << bank;
        put(&mut self.waiting[Command::Read as usize], reads);
        put(&mut self.waiting[Command::Write as usize], writes);
        put(&mut self.waiting[Command::Activate as usize], opens);
        put(&mut self.waiting[Command::Precharge as usize], prepares && !opens);
        put(&mut self.closing, closes);
        if reads {
            self.next_column = banks.ready(Command::Read, bank).min(self.next_column);
        }
        if writes {
            self.next_column = banks.ready(Command::Write, bank).min(self.next_column);
        }
        if prepares || closes {
            self.next_row = banks.ready(row_command(banks, bank), bank).min(self.next_row);
        }
    }

    /// The command that goes at `now`; none when none is ready.
    pub fn pick(
        &mut self,
        now: Cycle,
        queue: &Queue,
        banks: &Banks,
        reads_allowed: bool,
    ) -> Option<Action> {
        debug_assert_eq!(self.stale, 0);
        if self.only != NONE {
            return self.pick_only(now, queue, banks, reads_allowed);
        }
        if self.next_column <= now {
            let action = self.pick_column(now, banks, reads_allowed);
            if action.is_some() {
                return action;
            }
        }
        if self.next_row <= now { self.pick_row(now, banks) } else { None }
    }

    #[inline]
    fn pick_column(&mut self, now: Cycle, banks: &Banks, reads_allowed: bool) -> Option<Action> {
        let column = self.column.take();
        if column.is_some() && self.next_column == now && reads_allowed {
            return column;
        }
        let mut search = Search::new(now);
        if reads_allowed {
            self.search(Command::Read, |candidates| candidates.read, banks, &mut search);
        }
        self.search(Command::Write, |candidates| candidates.write, banks, &mut search);
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

    /// Books that a row was opened or closed: mostly the same request goes on in that bank.
    fn row_sent(&mut self, action: Action, queue: &Queue, banks: &Banks) {
        let Action { command, bank, slot } = action;
        if slot == NONE || self.only != NONE {
            return self.touch(bank);
        }
        let entry = queue.entry(slot);
        let next = match command {
            Command::Precharge => Command::Activate,
            _ if queue.of_bank(bank)[usize::from(!entry.write)] > 0 => return self.touch(bank),
            _ if entry.write => Command::Write,
            _ => Command::Read,
        };
        self.waiting[command as usize] &= !(1 << bank);
        self.waiting[next as usize] |= 1 << bank;
        let ready = banks.ready(next, bank);
        if next == Command::Activate {
            self.next_row = ready.min(self.next_row);
            return;
        }
        let candidates = &mut self.candidates[bank];
        let place = if entry.write { &mut candidates.write } else { &mut candidates.read };
        *place = Candidate::new(entry.age, slot);
        self.next_column = ready.min(self.next_column);
        self.column = None;
    }

    /// Finds when the next command can go after one that keeps others waiting: a look at them here costs less than a look
    /// at all of them in a clock in which none can go. Needs [`Scheduler::settle`].
    #[inline]
    pub fn look_ahead(&mut self, banks: &Banks) {
        let Some(sent) = self.sent.take() else { return };
        if self.only != NONE {
            return;
        }
        match sent {
            Command::Read | Command::Write => self.look_for_column(banks),
            Command::Activate if self.closing == 0 => {
                let opens = self.first_ready(Command::Activate, banks);
                self.next_row = opens.min(self.first_ready(Command::Precharge, banks));
            }
            Command::Activate | Command::Precharge => {}
        }
    }

    /// Finds the oldest of the column commands that are ready first.
    #[inline]
    fn look_for_column(&mut self, banks: &Banks) {
        let mut first = (u128::MAX, 0, Command::Read);
        let mut look = |command: Command, candidate: fn(&Candidates) -> Candidate| {
            for bank in Bits(self.waiting[command as usize]) {
                // As one number, since it cannot be foretold which of two is the lesser.
                let ready = u128::from(banks.ready(command, bank).0);
                let key = ready << u64::BITS | u128::from(candidate(&self.candidates[bank]).0);
                if key < first.0 {
                    first = (key, bank, command);
                }
            }
        };
        look(Command::Read, |candidates| candidates.read);
        look(Command::Write, |candidates| candidates.write);
        let (key, bank, command) = first;
        self.next_column = Cycle((key >> u64::BITS) as u64);
        let slot = Candidate(key as u64).slot();
        self.column = (slot != NONE).then_some(Action { command, bank, slot });
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

    fn pick_only(
        &mut self,
        now: Cycle,
        queue: &Queue,
        banks: &Banks,
        reads_allowed: bool,
    ) -> Option<Action> {
        let entry = queue.entry(self.only);
        let bank = entry.bank as usize;
        let command = match () {
            () if banks.row(bank) != entry.row => row_command(banks, bank),
            () if entry.write => Command::Write,
            () => Command::Read,
        };
        let refused = command == Command::Read && !reads_allowed;
        let mut next = if refused { Cycle::NEVER } else { banks.ready(command, bank) };
        let action = if next <= now {
            Some(Action { command, bank, slot: self.only })
        } else {
            self.pick_closing(now, banks, &mut next)
        };
        self.next_column = if action.is_some() { now + 1 } else { next };
        self.next_row = Cycle::NEVER;
        action
    }

    /// Books that `action` was sent to `banks`, before its request leaves the queue.
    #[inline]
    pub fn sent(&mut self, action: Action, queue: &mut Queue, banks: &Banks, turn: Turn) {
        self.sent = Some(action.command);
        if matches!(action.command, Command::Activate | Command::Precharge) {
            self.row_sent(action, queue, banks);
            return;
        }
        // The next burst of the same request needs no new candidate.
        self.next_column = banks.ready(action.command, action.bank).min(self.next_column);
        // None when the channel's oldest goes out of turn because a younger one waits for it.
        let oldest = self.candidates[action.bank].oldest.slot();
        if oldest != NONE && oldest != action.slot {
            let entry = queue.entry_mut(oldest);
            entry.passed += 1;
            if entry.passed == self.bank_cap {
                self.touch(action.bank);
            }
        }
        let head = turn.oldest(queue);
        if head != action.slot {
            let entry = queue.entry_mut(head);
            entry.overtaken += 1;
            if entry.overtaken == self.channel_cap {
                self.is_any_alone = true;
                self.touch(action.bank);
            }
        }
    }
}

/// What brings a row into `bank` next.
#[inline]
fn row_command(banks: &Banks, bank: usize) -> Command {
    if banks.row(bank) == CLOSED { Command::Activate } else { Command::Precharge }
}
