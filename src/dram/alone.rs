//! A request that finds the queue empty and leaves it before anything else happens: its commands go as soon as they may, so
//! their clocks are known at once.

use crate::units::Cycle;

use super::bank::CLOSED;
use super::controller::Controller;
use super::drain::Turn;
use super::queue::NONE;
use super::request::{Completion, Listener, Request, Sent};
use super::scheduler::column_command;
use super::timing::Command;

impl Controller {
    /// Serves the request that enters the empty queue at `now`, if all of it is sent before clock `to` and nothing else is to
    /// be done until then; gives the clock of its last command. As if it had been done clock by clock: it is the oldest of its
    /// bank and of the channel, nobody waits for it, and there is nothing to choose.
    #[inline(never)]
    pub(super) fn serve_alone(
        &mut self,
        now: Cycle,
        to: Cycle,
        owner: &mut impl Listener,
    ) -> Option<Cycle> {
        let is_idle = self.scheduler.is_idle(&self.queue) && !self.scheduler.is_stale();
        if !is_idle || self.scheduler.is_any_alone || self.arriving.len() > 1 {
            return None;
        }
        let &Request { address, bursts, write, tag } = self.arriving.front(now)?;
        let direction = usize::from(write);
        if write && self.drain.turn() == Turn::Reads {
            return None;
        }
        let (row, bank) = self.mapping.row_and_bank(address);
        let (bank, open) = (bank as usize, self.banks.row(bank as usize));
        let is_conflict = open != row && open != CLOSED;
        let closes =
            if is_conflict { self.banks.ready(Command::Precharge, bank).max(now) } else { now };
        let opens =
            if open != row { self.banks.opens_alone(bank, closes, is_conflict) } else { now };
        let (begins, step) = self.banks.column_alone(direction, bank, opens, open != row);
        let last = begins + step * u64::from(bursts - 1);
        if last >= to || last >= self.attend {
            return None;
        }

        self.arriving.take();
        self.find_arrival();
        let mut tell = |command| {
            owner.sent(Sent::Command { command, bank: bank as u32, row, tag: Some(tag) });
        };
        if is_conflict {
            tell(Command::Precharge);
            self.stats.precharges += 1;
            self.banks.precharge(bank, closes);
        }
        let mut first_command = begins;
        if open != row {
            tell(Command::Activate);
            self.stats.activates += 1;
            self.bus.activates(bank, now, &self.banks);
            self.banks.activate(bank, row, opens);
            let (kind, first) = match is_conflict {
                true => (&mut self.stats.row_conflicts, closes),
                false => (&mut self.stats.row_misses, opens),
            };
            *kind += 1;
            first_command = first;
        } else {
            self.stats.row_hits += 1;
        }
        let command = column_command(write);
        (0..bursts).for_each(|_| tell(command));
        self.bus.burst(begins, direction, bank, &self.banks, self.since);
        self.bus.more_bursts(u64::from(bursts - 1), step);
        // What the earlier ones hold back, the last one holds back for longer.
        self.banks.column(command, bank, last);
        self.data_end[direction] = last + self.data_delay[direction];
        self.bursts[direction] += u64::from(bursts);
        self.served[direction] += 1;
        self.room += 1;
        owner.left(last);
        self.occupied(now, last + 1);
        if !write {
            let comes = self.data_end[0] + self.latency_out;
            owner.done(Completion { tag, comes, first_command });
            self.drain.stir(last, 0);
        }
        if self.scheduler.close_unwanted {
            self.scheduler.touch(bank);
            self.scheduler.settle(&self.queue, &self.banks, self.drain.turn());
        }
        debug_assert_eq!((self.scheduler.column, self.scheduler.row), (NONE, NONE));
        self.find_wake(last);
        Some(last)
    }
}
