//! Refresh of all banks, once every tREFI.
//!
//! A refresh is due at every multiple of tREFI, busy or idle, and is never put off: from then on no
//! other command goes. When all open banks may be closed, one command closes them; when all have
//! been closed for tRP, one command refreshes them; the banks open again tRFC later.

use crate::config::machine::DramConfig;
use crate::units::Cycle;

use super::bank::Banks;
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
        let interval = config.timing.refi.cycles();
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
