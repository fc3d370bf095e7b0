//! What each bank would do next: found anew when its state or its requests changed.
//!
//! Most changes are small, and what follows from them is known at once: a request arrives that can go, one leaves whose row
//! has another, a row opens. Whatever else happens makes the bank stale, and all its requests are looked through.

use crate::units::{Bits, Cycle};

use super::bank::{Banks, CLOSED, MOST_BANKS};
#[cfg(test)]
use super::candidate::First;
use super::candidate::{Candidate, Candidates, NOBODY};
use super::drain::Turn;
use super::queue::{Entry, NONE, Queue, Slot};
use super::scheduler::{Scheduler, column_command, row_command};
use super::timing::Command;

impl Scheduler {
    /// The state or the requests of `bank` changed.
    #[inline]
    pub fn touch(&mut self, bank: usize) {
        self.stale |= 1 << bank;
    }

    /// The state of every bank may have changed, or whose turn it is.
    #[inline]
    pub fn touch_all(&mut self, queue: &Queue) {
        self.stale |= self.concerned(queue);
    }

    /// The banks for which a change can matter. The others had nothing to do and have nothing to do.
    #[inline]
    pub fn concerned(&self, queue: &Queue) -> u64 {
        queue.occupied() | self.closing
    }

    /// Nothing is to be sent before a request comes. Needs [`Scheduler::settle`].
    #[inline]
    pub fn is_idle(&self, queue: &Queue) -> bool {
        queue.is_empty() && self.closing == 0
    }

    /// Whether anything was touched.
    #[inline]
    pub fn is_stale(&self) -> bool {
        self.stale != 0
    }

    /// Finds new candidates for all banks that were touched.
    #[inline]
    pub fn settle(&mut self, queue: &Queue, banks: &Banks, turn: Turn) {
        if self.stale != 0 {
            self.settle_stale(queue, banks, turn);
        }
    }

    #[inline(never)]
    fn settle_stale(&mut self, queue: &Queue, banks: &Banks, turn: Turn) {
        (self.column, self.row) = (NONE, NONE);
        for bank in Bits(std::mem::take(&mut self.stale)) {
            self.settle_bank(bank, queue, banks, turn);
        }
        if !self.is_any_alone {
            return;
        }
        let before = self.only;
        let head = turn.oldest(queue);
        let alone = queue.get(head).is_some_and(|entry| entry.overtaken >= self.channel_cap);
        self.only = if alone { head } else { NONE };
        if alone || before != NONE {
            (self.next_column, self.next_row) = (Cycle(0), Cycle(0));
        }
    }

    #[inline]
    fn settle_bank(&mut self, bank: usize, queue: &Queue, banks: &Banks, turn: Turn) {
        let (found, wanted) = self.find_candidates(bank, queue, banks, turn);
        self.candidates[bank] = found;
        let (waits, closes) = self.next_commands(&found, wanted, banks.row(bank));
        let others = !(1 << bank);
        let put = |mask: &mut u64, set: bool| *mask = *mask & others | u64::from(set) << bank;
        for command in Command::ALL {
            put(&mut self.waiting[command as usize], waits[command as usize]);
        }
        put(&mut self.closing, closes);
        let [activates, precharges, reads, writes] = waits;
        if reads {
            self.next_column = banks.ready(Command::Read, bank).min(self.next_column);
        }
        if writes {
            self.next_column = banks.ready(Command::Write, bank).min(self.next_column);
        }
        if activates || precharges || closes {
            self.next_row = banks.ready(row_command(banks, bank), bank).min(self.next_row);
        }
    }

    /// The commands, by number, that a bank waits to send whose open row is `row`, and whether the row is to close because
    /// nobody wants it.
    #[inline]
    fn next_commands(
        &self,
        found: &Candidates,
        wanted: bool,
        row: u64,
    ) -> ([bool; Command::COUNT], bool) {
        let [reads, writes] = found.hits.map(|hit| hit != NOBODY);
        let prepares = !reads && !writes && found.oldest != NOBODY;
        let closes = self.close_unwanted && row != CLOSED && !wanted && !prepares;
        let opens = prepares && row == CLOSED;
        ([opens, prepares && !opens, reads, writes], closes)
    }

    /// The candidates of `bank`, and whether any request was seen that wants its row: all are, unless there is a candidate.
    #[inline]
    fn find_candidates(
        &self,
        bank: usize,
        queue: &Queue,
        banks: &Banks,
        turn: Turn,
    ) -> (Candidates, bool) {
        let row = banks.row(bank);
        let mut found = Candidates::NONE;
        let mut wanted = false;
        let mut left = queue.of_bank(bank);
        let mut slot = queue.oldest_of_bank(bank);
        // A direction that has its candidate, or no request left, needs no further search.
        while ((left[0] > 0) & (found.hits[0] == NOBODY))
            | ((left[1] > 0) & (found.hits[1] == NOBODY))
        {
            let entry = queue.entry(slot);
            let (this, direction) = (Candidate::new(entry.age, slot), usize::from(entry.write));
            let hit = entry.row == row;
            wanted |= hit;
            left[direction] -= 1;
            if turn.allows(entry) {
                let first = found.oldest == NOBODY;
                if first {
                    found.oldest = this;
                }
                if row == CLOSED {
                    break;
                }
                if hit && found.hits[direction] == NOBODY {
                    found.hits[direction] = this;
                }
                if first && entry.passed >= self.bank_cap {
                    break;
                }
            }
            slot = queue.younger_of_bank(slot);
        }
        (found, wanted)
    }

    /// Fails where a bank's candidates are not those that a look through all its requests finds, or a clock in which a
    /// command can go would be missed.
    #[cfg(test)]
    pub fn check(&self, now: Cycle, queue: &Queue, banks: &Banks, turn: Turn) {
        for bank in 0..banks.count() {
            let (found, wanted) = self.find_candidates(bank, queue, banks, turn);
            assert_eq!(self.candidates[bank], found, "bank {bank} at {now}");
            let (waits, closes) = self.next_commands(&found, wanted, banks.row(bank));
            assert_eq!(self.waiting.map(|mask| mask >> bank & 1 == 1), waits);
            assert_eq!(self.closing >> bank & 1 == 1, closes);
            let of = |command: Command| waits[command as usize];
            for command in Command::ALL.into_iter().filter(|&command| of(command)) {
                let is_column = matches!(command, Command::Read | Command::Write);
                let next = if is_column { self.next_column } else { self.next_row };
                let ready = banks.ready(command, bank);
                assert!(self.only != NONE || next <= ready.max(now), "{command:?} at {now}");
            }
        }
        if self.only == NONE && self.column != NONE && self.next_column >= now {
            let First { ready, candidate } = self.first_column(now, 0, banks);
            assert_eq!((self.next_column, self.column), (ready, candidate.slot()), "at {now}");
        }
        if self.only == NONE && self.row != NONE && self.next_row >= now {
            let First { ready, candidate } = self.first_row(now, banks);
            assert_eq!((self.next_row, self.row), (ready, candidate.slot()), "at {now}");
        }
    }

    /// The request in `slot` arrived at `now` as the youngest of its bank.
    #[inline]
    pub fn arrived(&mut self, slot: Slot, now: Cycle, queue: &Queue, banks: &Banks, turn: Turn) {
        let entry = queue.entry(slot);
        let (bank, direction) = (usize::from(entry.bank), usize::from(entry.write));
        let Candidates { hits, oldest } = &mut self.candidates[bank % MOST_BANKS];
        let is_first = *oldest == NOBODY;
        let hit = entry.row == banks.row(bank);
        let matters = is_first | (entry.blockers > 0) | (hit & (hits[direction] == NOBODY));
        if self.stale >> bank & 1 == 1 {
            return;
        }
        // Where it is the first of its direction, it may be the channel's oldest from now on, whatever its bank has.
        if self.is_any_alone && (matters || turn.oldest(queue) == slot) {
            return self.touch(bank);
        }
        if !matters {
            return;
        }
        if !turn.allows(entry) {
            // An older one may go out of turn for this one, or a row that nobody wanted is wanted.
            if entry.blockers > 0 || self.closing >> bank & 1 == 1 {
                self.touch(bank);
            }
            return;
        }
        let this = Candidate::new(entry.age, slot);
        if is_first {
            *oldest = this;
        } else if queue.entry(oldest.slot()).passed >= self.bank_cap {
            return;
        }
        let others = !(1 << bank);
        self.closing &= others;
        if !hit {
            let command = row_command(banks, bank);
            self.waiting[command as usize] |= 1 << bank;
            // All others are older, so it goes next only where it is ready before them.
            let ready = banks.ready(command, bank).max(now);
            if ready < self.next_row {
                (self.next_row, self.row) = (ready, slot);
            }
            return;
        }
        hits[direction] = this;
        let command = column_command(entry.write);
        if self.waiting[Command::Precharge as usize] >> bank & 1 == 1 {
            self.waiting[Command::Precharge as usize] &= others;
            self.row = NONE;
        }
        self.waiting[command as usize] |= 1 << bank;
        let ready = banks.column_ready(command, bank).max(now);
        if ready < self.next_column {
            (self.next_column, self.column) = (ready, slot);
        }
    }

    /// The request in `slot` leaves the queue, as the last of it was sent at `now`.
    #[inline(always)]
    pub fn finished(&mut self, slot: Slot, now: Cycle, queue: &Queue, banks: &Banks, turn: Turn) {
        let entry = queue.entry(slot);
        let bank = usize::from(entry.bank);
        if self.is_any_alone || entry.dependents > 0 || self.stale >> bank & 1 == 1 {
            return self.touch(bank);
        }
        let Candidates { hits, mut oldest } = *self.of(bank);
        if oldest.slot() == slot {
            if entry.passed >= self.bank_cap {
                return self.touch(bank);
            }
            oldest = NOBODY;
        }
        // None of the older ones can be the next: they are not allowed to go, or want another row.
        let mut next = queue.younger_of_bank(slot);
        if oldest == NOBODY {
            while let Some(this) = queue.get(next) {
                if turn.allows(this) {
                    if this.passed >= self.bank_cap {
                        return self.touch(bank);
                    }
                    oldest = Candidate::new(this.age, next);
                    break;
                }
                next = queue.younger_of_bank(next);
            }
        }
        let mut hit = NOBODY;
        while let Some(this) = queue.get(next) {
            if this.row == entry.row && this.write == entry.write && turn.allows(this) {
                hit = Candidate::new(this.age, next);
                break;
            }
            next = queue.younger_of_bank(next);
        }
        if hit == NOBODY {
            let other = hits[usize::from(!entry.write)];
            if other == NOBODY {
                if oldest != NOBODY {
                    self.waiting[Command::Precharge as usize] |= 1 << bank;
                    let ready = banks.ready(Command::Precharge, bank).max(now + 1);
                    if ready <= self.next_row {
                        // Of two that can go at once, one is older.
                        self.row = if ready < self.next_row { oldest.slot() } else { NONE };
                        self.next_row = ready;
                    }
                } else if self.close_unwanted {
                    return self.touch(bank);
                }
            }
            self.waiting[column_command(entry.write) as usize] &= !(1 << bank);
        }
        let candidates = self.of_mut(bank);
        candidates.hits[usize::from(entry.write)] = hit;
        candidates.oldest = oldest;
    }

    /// A row was closed: the same request goes on in that bank.
    #[inline]
    pub fn row_closed(&mut self, bank: usize, slot: Slot) {
        if slot == NONE || self.only != NONE {
            return self.touch(bank);
        }
        self.waiting[Command::Precharge as usize] &= !(1 << bank);
        self.waiting[Command::Activate as usize] |= 1 << bank;
    }

    /// A row was opened: the same request goes on in that bank.
    #[inline]
    pub fn row_opened(
        &mut self,
        bank: usize,
        slot: Slot,
        queue: &Queue,
        banks: &Banks,
        turn: Turn,
    ) {
        if self.only != NONE {
            return self.touch(bank);
        }
        let entry = queue.entry(slot);
        self.waiting[Command::Activate as usize] &= !(1 << bank);
        self.hit_found(bank, slot, entry, banks);
        if queue.of_bank(bank)[usize::from(!entry.write)] == 0 || entry.passed >= self.bank_cap {
            return;
        }
        // The oldest one of the other direction that wants the same row.
        let mut next = queue.younger_of_bank(slot);
        while let Some(this) = queue.get(next) {
            if this.write != entry.write && this.row == entry.row && turn.allows(this) {
                return self.hit_found(bank, next, this, banks);
            }
            next = queue.younger_of_bank(next);
        }
    }

    /// The request in `slot` is the first of its direction for the row that was opened.
    #[inline]
    fn hit_found(&mut self, bank: usize, slot: Slot, entry: &Entry, banks: &Banks) {
        let command = column_command(entry.write);
        self.waiting[command as usize] |= 1 << bank;
        self.of_mut(bank).hits[usize::from(entry.write)] = Candidate::new(entry.age, slot);
        let ready = banks.column_ready(command, bank);
        if ready <= self.next_column {
            self.column = if ready < self.next_column { slot } else { NONE };
            self.next_column = ready;
        }
    }
}
