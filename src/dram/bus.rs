//! What the data bus of a channel did with every clock.
//!
//! A burst counts from its column command on, though its data follows later. What a burst waited for is known when it goes, so
//! the clocks since the burst before it are charged then, to what held it for longest. The bursts themselves follow from their number.

use crate::config::machine::{DramConfig, Refreshes};
use crate::stats::{DramLedger, DramReason};
use crate::units::Cycle;

use super::bank::{Banks, MOST_BANKS};

/// The clocks from `from` to the one before `to`.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    from: Cycle,
    to: Cycle,
}

impl Span {
    /// How many of the clocks from `from` to the one before `to` it has.
    #[inline]
    fn overlap(self, from: Cycle, to: Cycle) -> u64 {
        self.to.sooner(to).since(self.from.later(from))
    }
}

/// The books of one channel's data bus.
#[derive(Clone, Debug)]
pub struct Bus {
    /// The clock after the last burst, or before which all is explained already.
    explained_to: Cycle,
    /// Of the last burst: 0 where it was read, 1 where it was written.
    last: usize,
    burst_clocks: u64,
    refresh_clocks: u64,
    /// Only writes wait, and for their turn.
    is_held: bool,
    /// Since this clock they do not.
    free_from: Cycle,
    /// What bursts waited for.
    waits: DramLedger,
    /// By bank: how long others alone kept it from being activated, the last time that it was [clocks].
    crowded: [u64; MOST_BANKS],
    /// The last refresh, by bank where they are refreshed one after the other.
    refreshes: Box<[Span]>,
}

impl Bus {
    /// Of a channel in clock zero.
    pub fn new(config: &DramConfig) -> Bus {
        let refreshed = match config.refresh {
            Refreshes::AllBanks => 1,
            Refreshes::PerBank => config.banks.size(),
        };
        Bus {
            explained_to: Cycle(0),
            last: 0,
            burst_clocks: config.burst_clocks(),
            refresh_clocks: config.timing.rfc.cycles(),
            is_held: false,
            free_from: Cycle(0),
            waits: DramLedger::default(),
            crowded: [0; MOST_BANKS],
            refreshes: vec![Span::default(); refreshed].into(),
        }
    }

    /// `bank` is activated, which has not changed `banks` yet, for a request that waits since `entered`.
    #[inline]
    pub fn activates(&mut self, bank: usize, entered: Cycle, banks: &Banks) {
        let (of_bank, of_others) = banks.activate_limits(bank);
        let refreshed = self.refresh_of(bank).to;
        let wanted = of_bank.later(entered).later(refreshed);
        self.crowded[bank % MOST_BANKS] = of_others.since(wanted);
    }

    /// `bank`, or every bank, is refreshed at `now`; since `from`, requests wait for that.
    #[inline]
    pub fn refreshes(&mut self, bank: usize, from: Cycle, now: Cycle) {
        *self.refresh_of(bank) = Span { from, to: now + self.refresh_clocks };
    }

    #[inline]
    fn refresh_of(&mut self, bank: usize) -> &mut Span {
        let place = bank & (self.refreshes.len() - 1);
        &mut self.refreshes[place]
    }

    /// From `now` on, only writes wait, and for their turn; or it is not so.
    #[inline]
    pub fn holds(&mut self, now: Cycle, is_held: bool) {
        if self.is_held && !is_held {
            self.free_from = now;
        }
        self.is_held = is_held;
    }

    /// A burst for `bank` goes at `now`, and has not changed `banks` yet; the queue has had a request since `since`.
    #[inline(always)]
    pub fn burst(
        &mut self,
        now: Cycle,
        direction: usize,
        bank: usize,
        banks: &Banks,
        since: Cycle,
    ) {
        let from = self.explained_to;
        if from < now {
            self.explain(Span { from, to: now }, direction, bank, banks, since);
        }
        self.explained_to = now + self.burst_clocks;
        self.last = direction;
    }

    /// So many more bursts follow it, each so long after the one before it.
    #[inline]
    pub fn more_bursts(&mut self, count: u64, distance: u64) {
        self.waits.charge(DramReason::BankGroup, count * (distance - self.burst_clocks));
        self.explained_to += count * distance;
    }

    /// Charges `span`, in which no burst went before one for `bank`.
    #[inline(never)]
    fn explain(&mut self, span: Span, direction: usize, bank: usize, banks: &Banks, since: Cycle) {
        let Span { mut from, to } = span;
        if since.later(self.free_from) > from {
            let held_to = self.free_from.sooner(to);
            from = charge_absence(&mut self.waits, span, since.sooner(to), held_to);
        }
        let (of_bus, of_row) = banks.column_limits(direction, bank);
        if of_bus > of_row && of_bus > from {
            let turns = direction != self.last;
            let reason = if turns { DramReason::Turnaround } else { DramReason::BankGroup };
            self.waits.charge(reason, to - from);
            return;
        }
        let refreshed = self.refresh_of(bank).overlap(from, to);
        // So much sooner it could have gone, had the others not been.
        let sooner = of_row.since(from.later(of_bus));
        let crowded = self.crowded[bank % MOST_BANKS].min(sooner).min((to - from) - refreshed);
        self.waits.charge(DramReason::Refresh, refreshed);
        self.waits.charge(DramReason::Activates, crowded);
        self.waits.charge(DramReason::Row, (to - from) - refreshed - crowded);
    }

    /// What every clock before `to` went to, of which so many bursts were read and written; `since` and `is_empty` tell of the queue.
    pub fn ledger(&self, to: Cycle, bursts: [u64; 2], since: Cycle, is_empty: bool) -> DramLedger {
        let mut ledger = self.waits.clone();
        let mut data = bursts.map(|bursts| bursts * self.burst_clocks);
        data[self.last] -= self.explained_to.since(to);
        ledger.charge(DramReason::Read, data[0]);
        ledger.charge(DramReason::Write, data[1]);
        self.charge_open(&mut ledger, to, since, is_empty);
        ledger
    }

    /// What comes later changes nothing of the clocks before `to`.
    pub fn settle(&mut self, to: Cycle, since: Cycle, is_empty: bool) {
        let mut waits = std::mem::take(&mut self.waits);
        self.charge_open(&mut waits, to, since, is_empty);
        self.waits = waits;
        self.explained_to = self.explained_to.later(to);
    }

    /// Charges the clocks since the last burst and before `to`. What is still waited for is not known, and counts as a row.
    fn charge_open(&self, ledger: &mut DramLedger, to: Cycle, since: Cycle, is_empty: bool) {
        let span = Span { from: self.explained_to.sooner(to), to };
        let waits_from = if is_empty { to } else { since.sooner(to) };
        let held_to = if self.is_held { to } else { self.free_from.sooner(to) };
        let from = charge_absence(ledger, span, waits_from, held_to);
        ledger.charge(DramReason::Row, to - from);
    }
}

/// Charges the clocks of `span` before `waits_from`, in which no request waited, and those behind them before `held_to`, in which
/// none was let go; gives the first clock that is left.
#[inline]
fn charge_absence(ledger: &mut DramLedger, span: Span, waits_from: Cycle, held_to: Cycle) -> Cycle {
    let waits_from = waits_from.later(span.from);
    ledger.charge(DramReason::NoRequest, waits_from - span.from);
    let free_from = held_to.later(waits_from);
    ledger.charge(DramReason::WriteHold, free_from - waits_from);
    free_from
}
