//! Refresh, of all banks at once or of one after the other.
//!
//! All banks: a refresh is due at every multiple of tREFI, busy or idle, and is never put off: from then on no
//! other command goes. When all open banks may be closed, one command closes them; when all have
//! been closed for tRP, one command refreshes them; the banks open again tRFC later.
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

    /// Sends the next command of a refresh that is due, if it is ready.
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
    banks: u64,
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
        let banks = u64::from(config.banks.get());
        let mut this = BankRefresh { interval, length, banks, booked: 0, due: Cycle::NEVER };
        this.find_due();
        this
    }

    fn find_due(&mut self) {
        if self.interval > 0 {
            self.due = Cycle((self.booked + 1) * self.interval / self.banks);
        }
    }

    /// When the next bank is due.
    #[inline]
    pub fn due(&self) -> Cycle {
        self.due
    }

    /// Books what was due by `now`, before anybody looks at the banks in that clock; tells `booked` of each.
    pub fn catch_up(
        &mut self,
        now: Cycle,
        banks: &mut Banks,
        stats: &mut DramStats,
        mut booked: impl FnMut(usize, Cycle),
    ) {
        let before = self.booked;
        while self.due <= now {
            let bank = (self.booked % self.banks) as usize;
            let was_open = banks.row(bank) != CLOSED;
            let start = banks.refresh_one(bank, self.due, self.length);
            booked(bank, start);
            stats.precharges += u64::from(was_open);
            stats.refreshes += 1;
            self.booked += 1;
            if self.booked - before == self.banks {
                // All are closed and nothing was sent to them since: of further rounds only the last matters.
                let rounds = (now.since(self.due) / self.interval).saturating_sub(1);
                self.booked += rounds * self.banks;
                stats.refreshes += rounds * self.banks;
            }
            self.find_due();
        }
    }
}
