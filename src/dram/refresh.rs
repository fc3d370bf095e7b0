//! Refresh, of all banks at once or of one after the other.
//!
//! All banks: a refresh is due at every multiple of tREFI, busy or idle, and is never put off: from then on no
//! other command goes. When all open banks may be closed, one command closes them; when all have
//! been closed for tRP, one command refreshes them; the banks open again tRFC later. Of a channel with nothing else to do,
//! all this is known as well: it is booked when a request comes.
//!
//! Bank by bank: one bank is due at every multiple of tREFI / banks. No other command goes to it from then on; it closes as
//! soon as it may, is refreshed tRP later and opens again tRFC after that. As all this is known when it is due, it is booked
//! in one step, and only when somebody looks at the banks: an idle channel is not woken for it. The two commands
//! take no place among those of the other banks.

use crate::config::machine::{DramConfig, Refreshes};
use crate::units::Cycle;

use super::bank::{Banks, CLOSED};
use super::stats::DramStats;

/// When the next refresh is due, and how far the one under way is.
#[derive(Clone, Debug)]
pub struct Refresh {
    interval: u64,
    length: u64,
    due: Cycle,
}

/// What a refresh under way did in this clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing; the next step is possible at this clock.
    Waits(Cycle),
    /// Closed all open banks.
    Closed,
    /// Refreshed all banks; the next refresh is one interval away.
    Refreshed,
}

impl Refresh {
    /// The first refresh is due one interval after clock zero.
    pub fn new(config: &DramConfig) -> Refresh {
        let at_once = config.refresh == Refreshes::AllBanks;
        let interval = if at_once { config.timing.refi.cycles() } else { 0 };
        let due = if interval == 0 { Cycle::NEVER } else { Cycle(interval) };
        Refresh { interval, length: config.timing.rfc.cycles(), due }
    }

    /// From this clock on, only [`Refresh::step`] may send commands.
    #[inline]
    pub fn due(&self) -> Cycle {
        self.due
    }

    /// Does what an idle channel does by itself before clock `end`, from a clock on that is not later than the next refresh;
    /// tells `sent` of each step and its clock.
    #[inline(always)]
    pub fn catch_up(
        &mut self,
        end: Cycle,
        banks: &mut Banks,
        stats: &mut DramStats,
        mut sent: impl FnMut(Step, Cycle),
    ) {
        let mut now = self.due;
        while now < end {
            let step = self.step(now, banks, stats);
            sent(step, now);
            now = match step {
                Step::Waits(ready) => ready,
                Step::Closed => now + 1,
                Step::Refreshed => self.due.max(now + 1),
            };
        }
    }

    /// Sends the next command of a refresh that is due, if it is ready.
    #[inline]
    pub fn step(&mut self, now: Cycle, banks: &mut Banks, stats: &mut DramStats) -> Step {
        debug_assert!(self.due <= now);
        if banks.open() != 0 {
            let ready = banks.precharge_all_ready();
            if now < ready {
                return Step::Waits(ready);
            }
            stats.precharges += u64::from(banks.precharge_all(now));
            return Step::Closed;
        }
        let ready = banks.refresh_ready();
        if now < ready {
            return Step::Waits(ready);
        }
        banks.refresh(now, self.length);
        stats.refreshes += 1;
        self.due += self.interval;
        Step::Refreshed
    }
}

/// Which bank is due next, where banks are refreshed one after the other.
#[derive(Clone, Debug)]
pub struct BankRefresh {
    interval: u64,
    length: u64,
    /// The number of banks is two to this power.
    bank_bits: u32,
    /// Refreshes booked so far, of all banks.
    booked: u64,
    due: Cycle,
}

impl BankRefresh {
    /// The first bank is due a share of the interval after clock zero.
    pub fn new(config: &DramConfig) -> BankRefresh {
        let one_by_one = config.refresh == Refreshes::PerBank;
        let interval = if one_by_one { config.timing.refi.cycles() } else { 0 };
        let length = config.timing.rfc.cycles();
        let bank_bits = config.banks.get().trailing_zeros();
        let due = Cycle::NEVER;
        let mut this = BankRefresh { interval, length, bank_bits, booked: 0, due };
        if interval > 0 {
            this.due = this.due_of(0);
        }
        this
    }

    /// When the next bank is due.
    #[inline]
    pub fn due(&self) -> Cycle {
        self.due
    }

    /// When the refresh is due before which so many were.
    #[inline]
    fn due_of(&self, before: u64) -> Cycle {
        Cycle(((before + 1) * self.interval) >> self.bank_bits)
    }

    /// How many refreshes are due by `now`.
    #[inline]
    fn due_by(&self, now: Cycle) -> u64 {
        (((now.0 + 1) << self.bank_bits) - 1) / self.interval
    }

    /// The bank that is refreshed after so many.
    #[inline]
    fn bank(&self, before: u64) -> usize {
        (before & ((1 << self.bank_bits) - 1)) as usize
    }

    /// Books what was due by `now`, before anybody looks at the banks in that clock; tells `booked` of the last of each bank.
    #[inline(always)]
    pub fn catch_up(
        &mut self,
        now: Cycle,
        banks: &mut Banks,
        stats: &mut DramStats,
        mut booked: impl FnMut(usize, Cycle),
    ) {
        if self.due > now {
            return;
        }
        let (from, to) = (self.booked, self.due_by(now));
        // Nothing is sent to a bank between two of its refreshes: what matters of all but the last is whether it was open, and
        // when it is done with them.
        let count = 1 << self.bank_bits;
        let last = to.saturating_sub(count).max(from);
        let mut book = |before: u64, times: u64| {
            let bank = self.bank(before);
            stats.precharges += u64::from(banks.row(bank) != CLOSED);
            (bank, banks.refresh_one(bank, self.due_of(before), times * self.length))
        };
        for before in from..last.min(from + count) {
            book(before, ((last - before - 1) >> self.bank_bits) + 1);
        }
        for before in last..to {
            let (bank, start) = book(before, 1);
            booked(bank, start);
        }
        stats.refreshes += to - from;
        (self.booked, self.due) = (to, self.due_of(to));
    }
}

#[cfg(test)]
mod tests {
    use super::super::timing::Command;
    use super::*;
    use crate::dram::testing::{bounded, gtx480};

    #[test]
    fn what_was_due_in_a_rest_is_booked_as_if_it_had_been_one_by_one() {
        // Refreshes of a bank that take so long that one that began late makes the next ones late.
        for length in [61, 399] {
            let mut config = gtx480();
            config.refresh = Refreshes::PerBank;
            (config.timing.refi, config.timing.rfc) = (bounded(400), bounded(length));
            for rest in 0..3000 {
                let mut at_once =
                    (BankRefresh::new(&config), Banks::new(&config), DramStats::default());
                let (_, banks, _) = &mut at_once;
                for (bank, clock) in [(0, 30), (9, 36), (10, 42)] {
                    banks.activate(bank, 7, Cycle(clock));
                }
                banks.precharge(10, Cycle(395));
                let mut one_by_one = at_once.clone();
                let catch_up = |(refresh, banks, stats): &mut (BankRefresh, Banks, DramStats),
                                now| {
                    refresh.catch_up(now, banks, stats, |_, _| ());
                };
                for clock in 396..=396 + rest {
                    catch_up(&mut one_by_one, Cycle(clock));
                }
                catch_up(&mut at_once, Cycle(396 + rest));
                let state = |(refresh, banks, stats): &(BankRefresh, Banks, DramStats)| {
                    let ready = |bank| (banks.row(bank), banks.ready(Command::Activate, bank));
                    let banks: Vec<_> = (0..banks.count()).map(ready).collect();
                    (refresh.due(), banks, stats.refreshes, stats.precharges)
                };
                assert_eq!(state(&at_once), state(&one_by_one), "after {rest} clocks");
            }
        }
    }
}
