//! What a controller does in a clock in which something may go: a command, or a refresh.

use crate::units::Cycle;

use super::bank::CLOSED;
use super::candidate::Action;
use super::controller::Controller;
use super::queue::{Entry, NONE, Slot};
use super::refresh::Step;
use super::request::{Completion, Listener, Sent};
use super::scheduler::column_command;
use super::timing::Command;

impl Controller {
    /// Passes clock `now`, in which a command may go, and those after it until anything but a command may happen; gives the last
    /// in which one may have gone.
    #[inline(always)]
    pub(super) fn act(&mut self, mut now: Cycle, owner: &mut impl Listener) -> Cycle {
        if self.attend <= now && self.intervene(now, owner) {
            return now;
        }
        self.scheduler.settle(&self.queue, &self.banks, self.drain.turn());
        loop {
            #[cfg(test)]
            self.scheduler.check(now, &self.queue, &self.banks, self.drain.turn());
            match self.scheduler.known_column(now) {
                NONE => self.act_otherwise(now, owner),
                slot => self.send_column(slot, now, owner),
            }
            let next = self.scheduler.next_event().max(now + 1);
            if next >= self.commands_only_to(owner) {
                break;
            }
            now = next;
        }
        self.find_wake(now);
        now
    }

    /// The clock before which nothing but a command happens, as far as `owner` lets it go on.
    #[inline]
    fn commands_only_to(&self, owner: &impl Listener) -> Cycle {
        self.arrives.min(self.attend).min(owner.bound())
    }

    /// The same where no column command is known.
    #[inline(never)]
    fn act_otherwise(&mut self, now: Cycle, owner: &mut impl Listener) {
        if let Some(action) = self.scheduler.pick(now, &self.queue, &self.banks) {
            match action.command {
                Command::Activate | Command::Precharge => self.send_row(action, now, owner),
                Command::Read | Command::Write => self.send_picked(action.slot, now, owner),
            }
        }
    }

    #[inline(never)]
    fn send_picked(&mut self, slot: Slot, now: Cycle, owner: &mut impl Listener) {
        self.send_column(slot, now, owner);
    }

    #[inline]
    pub(super) fn find_wake(&mut self, now: Cycle) {
        self.wake = match self.scheduler.is_idle(&self.queue) && self.refresh.due() > now {
            true => Cycle::NEVER,
            false => self.scheduler.next_event().min(self.interrupt).max(now + 1),
        };
    }

    /// Refreshes that are due, and the turn if it passes. True when a refresh of all banks takes this clock.
    #[inline(never)]
    fn intervene(&mut self, now: Cycle, owner: &mut impl Listener) -> bool {
        self.refresh_banks(now, owner);
        if self.drain.next_event(self.queue.writes()) <= now {
            self.pass_turn(now);
        }
        let due = self.refresh.due();
        if due > now {
            return false;
        }
        match self.refresh.step(now, &mut self.banks, &mut self.stats) {
            Step::Waits(ready) => self.wake = ready,
            Step::Closed => {
                owner.sent(Sent::PrechargeAll { at: now });
                self.scheduler.touch_all(&self.queue);
                self.wake = now + 1;
            }
            Step::Refreshed => {
                owner.sent(Sent::Refresh { at: now });
                self.bus.refreshes(0, due, now);
                self.find_interrupt();
                self.scheduler.touch_all(&self.queue);
                self.scheduler.settle(&self.queue, &self.banks, self.drain.turn());
                self.find_wake(now);
            }
        }
        true
    }

    /// Opens or closes a row.
    #[inline]
    fn send_row(&mut self, action: Action, now: Cycle, owner: &mut impl Listener) {
        let Action { command, bank, slot } = action;
        let (mut row, mut tag, mut is_first, mut entered) = (CLOSED, None, 0, now);
        if slot != NONE {
            let entry = self.queue.entry_mut(slot);
            (row, tag, entered) = (entry.row, Some(entry.tag), entry.entered);
            // A row that closes for a request opens for it: of two commands one is the first.
            is_first = u64::from(entry.first_command == Cycle::NEVER);
            entry.first_command = entry.first_command.min(now);
        }
        owner.sent(Sent::Command { command, bank: bank as u32, row, tag });
        if command == Command::Activate {
            self.stats.activates += 1;
            self.stats.row_misses += is_first;
            self.bus.activates(bank, entered, &self.banks);
            self.banks.activate(bank, row, now);
            self.scheduler.row_opened(bank, slot, &self.queue, &self.banks, self.drain.turn());
        } else {
            self.stats.precharges += 1;
            self.stats.row_conflicts += is_first;
            self.banks.precharge(bank, now);
            self.scheduler.row_closed(bank, slot);
        }
        self.scheduler.settle(&self.queue, &self.banks, self.drain.turn());
        self.scheduler.look_for_row(now + 1, &self.banks);
    }

    /// Reads or writes a burst for the request in `slot`.
    #[inline(always)]
    fn send_column(&mut self, slot: Slot, now: Cycle, owner: &mut impl Listener) {
        self.queue.prefetch_younger_of_bank(slot);
        let entry = self.queue.entry_mut(slot);
        // Of two bursts one is the first: which of them this is cannot be foretold.
        self.stats.row_hits += u64::from(entry.first_command == Cycle::NEVER);
        entry.first_command = entry.first_command.min(now);
        entry.bursts -= 1;
        let Entry { row, tag, bursts, write, bank, .. } = *entry;
        let (bank, direction) = (usize::from(bank), usize::from(write));
        let command = column_command(write);
        owner.sent(Sent::Command { command, bank: bank as u32, row, tag: Some(tag) });
        self.bus.burst(now, direction, bank, &self.banks, self.since);
        self.banks.column(command, bank, now);
        self.data_end[direction] = now + self.data_delay[direction];
        self.bursts[direction] += 1;
        self.scheduler.column_sent(bank, slot, &mut self.queue, self.drain.turn());
        if bursts == 0 {
            self.finish(slot, now, owner);
            self.fill_place(now + 1);
        }
        self.scheduler.settle(&self.queue, &self.banks, self.drain.turn());
        self.scheduler.look_for_column(now + 1, direction, &self.banks);
    }

    /// Who waits for the place of a request that has left enters in clock `next`, the one after that. Nothing comes before it
    /// then, so this is done at once, unless something is due that might, or the queue is empty and has to be begun anew.
    #[inline(always)]
    fn fill_place(&mut self, next: Cycle) {
        if self.arrives <= next && self.attend > next && !self.queue.is_empty() {
            self.enter(next);
        }
    }

    /// All of the request in `slot` was sent.
    #[inline(always)]
    fn finish(&mut self, slot: Slot, now: Cycle, owner: &mut impl Listener) {
        let Entry { write, tag, first_command, .. } = *self.queue.entry(slot);
        self.served[usize::from(write)] += 1;
        self.scheduler.finished(slot, now, &self.queue, &self.banks, self.drain.turn());
        if self.queue.len() == 1 {
            self.count_to(now + 1);
        }
        self.left_less_entered = self.left_less_entered.wrapping_add(now.0 + 1);
        self.queue.remove(slot);
        self.room += 1;
        owner.left(now);
        self.find_arrival();
        if !write {
            let comes = self.data_end[0] + self.latency_out;
            owner.done(Completion { tag, comes, first_command });
        }
        if !self.drain.is_mixed() {
            if !write {
                self.drain.stir(now, self.queue.reads());
            }
            self.pass_turn(now);
        }
    }
}
