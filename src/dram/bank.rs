//! The state of the banks: which row is open, and the earliest clock of every command.
//!
//! **Bank groups.** With the low bits of the bank number as its group, banks that follow each other
//! in the address (the lowest B of the mapping) lie in different groups, and a stream alternates
//! between groups, at tCCD_S. This is how bank groups are meant to be used: JESD212 gives tCCD_L so
//! that the chip's core may run at a part of the bus's speed, and leaves it to the controller to
//! interleave the groups. With the high bits, all lines of a GTX 480 stream stay for 16 KiB in one
//! group and go at tCCD_L: two data clocks of every three, 67% of the peak.

use crate::config::machine::{DramConfig, GroupBits};
use crate::units::Cycle;

use super::timing::{Command, Distances, Rule, Scope, distances, rules};

/// The earliest clock of every command, as far as one scope knows.
type Times = [Cycle; Command::COUNT];

/// The row of a closed bank. No address reaches it: a row number has fewer than 64 bits.
pub const CLOSED: u64 = u64::MAX;

/// A controller has no more banks than this, as sets of them are the bits of one number.
pub const MOST_BANKS: usize = 64;

/// What one bank knows.
#[derive(Clone, Copy, Debug)]
struct Bank {
    next: Times,
    row: u64,
    group: usize,
}

/// Moves the earliest clock of command `after` behind one that goes at `now`; where no rule says more, to `now`, which
/// never binds.
#[inline]
fn delay(times: &mut Times, after: Command, now: Cycle, clocks: &[u64; Command::COUNT]) {
    let next = &mut times[after as usize];
    *next = (now + clocks[after as usize]).max(*next);
}

/// Whether [`Banks::issue`] heeds a rule: a look at every pair of commands in every scope would take it far longer.
fn is_heeded(rule: &Rule) -> bool {
    use Command::{Activate, Precharge, Read, Write};
    match (rule.before, rule.scope) {
        (Activate, Scope::Bank) => true,
        (Activate, Scope::Channel) => rule.after == Activate,
        (Precharge, Scope::Bank) => rule.after == Activate,
        (Read | Write, Scope::Bank) => rule.after == Precharge,
        (Read | Write, Scope::Group) => rule.after == rule.before,
        (Read | Write, Scope::Channel) => matches!(rule.after, Read | Write),
        (Activate | Precharge, _) => false,
    }
}

/// All banks of one channel with the timing between their commands.
///
/// Earliest clocks only ever move later, so a bound computed from them stays a bound.
#[derive(Clone, Debug)]
pub struct Banks {
    banks: Box<[Bank]>,
    groups: Box<[Times]>,
    channel: Times,
    distances: Distances,
    /// One bit a bank: its row is open.
    open: u64,
    precharge_clocks: u64,
    four_activates: u64,
    /// When each of the last four activates leaves the tFAW window; `oldest` is the first of them.
    window: [Cycle; 4],
    oldest: usize,
}

impl Banks {
    /// Closed banks, ready for anything.
    pub fn new(config: &DramConfig) -> Banks {
        let rules = rules(config);
        assert!(rules.iter().all(is_heeded), "a rule that no command heeds");
        let group_mask = config.bank_groups.size() - 1;
        let group_shift = match config.group_bits {
            GroupBits::Low => 0,
            GroupBits::High => (config.banks.get() / config.bank_groups.get()).trailing_zeros(),
        };
        let bank = |number: usize| {
            let group = number >> group_shift & group_mask;
            Bank { next: Times::default(), row: CLOSED, group }
        };
        Banks {
            banks: (0..config.banks.size()).map(bank).collect(),
            groups: vec![Times::default(); config.bank_groups.size()].into(),
            channel: Times::default(),
            distances: distances(&rules),
            open: 0,
            precharge_clocks: config.timing.rp.cycles(),
            four_activates: config.timing.faw.cycles(),
            window: [Cycle(0); 4],
            oldest: 0,
        }
    }

    /// How many there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.banks.len()
    }

    /// The open row of `bank`; [`CLOSED`] when none is.
    #[inline]
    pub fn row(&self, bank: usize) -> u64 {
        self.banks[bank].row
    }

    /// One bit a bank: its row is open.
    #[inline]
    pub fn open(&self) -> u64 {
        self.open
    }

    /// The earliest clock at which `command` may go to `bank`, as to timing; the caller knows
    /// whether the row fits.
    #[inline]
    pub fn ready(&self, command: Command, bank: usize) -> Cycle {
        let command_index = command as usize;
        let Bank { next, group, .. } = &self.banks[bank];
        next[command_index].max(self.groups[*group][command_index]).max(self.channel[command_index])
    }

    /// The earliest clock at which `command` may go to any bank: a bound below [`Banks::ready`].
    #[inline]
    pub fn channel_ready(&self, command: Command) -> Cycle {
        self.channel[command as usize]
    }

    /// Sends `command` to `bank` at `now`; `row` matters to an activate only.
    #[inline]
    pub fn issue(&mut self, command: Command, bank: usize, row: u64, now: Cycle) {
        use Command::{Activate, Precharge, Read, Write};
        debug_assert!(self.ready(command, bank) <= now, "{command:?} at {now} is too early");
        let of = |scope: Scope| &self.distances[scope as usize][command as usize];
        let (in_bank, in_group, in_channel) =
            (of(Scope::Bank), of(Scope::Group), of(Scope::Channel));
        match command {
            Activate => {
                debug_assert_eq!(self.banks[bank].row, CLOSED);
                self.banks[bank].row = row;
                self.open |= 1 << bank;
                self.window[self.oldest] = now + self.four_activates;
                self.oldest = (self.oldest + 1) % self.window.len();
                let next = &mut self.channel[Command::Activate as usize];
                *next = self.window[self.oldest].max(*next);
                for after in Command::ALL {
                    delay(&mut self.banks[bank].next, after, now, in_bank);
                }
                delay(&mut self.channel, Activate, now, in_channel);
            }
            Precharge => {
                self.banks[bank].row = CLOSED;
                self.open &= !(1 << bank);
                delay(&mut self.banks[bank].next, Activate, now, in_bank);
            }
            Read | Write => {
                debug_assert_ne!(self.banks[bank].row, CLOSED);
                let Bank { next, group, .. } = &mut self.banks[bank];
                delay(next, Precharge, now, in_bank);
                delay(&mut self.groups[*group], command, now, in_group);
                delay(&mut self.channel, Read, now, in_channel);
                delay(&mut self.channel, Write, now, in_channel);
            }
        }
    }

    /// The earliest clock at which every open bank may be precharged with one command.
    pub fn precharge_all_ready(&self) -> Cycle {
        let open = self.banks.iter().filter(|bank| bank.row != CLOSED);
        open.map(|bank| bank.next[Command::Precharge as usize]).max().unwrap_or_default()
    }

    /// Closes all open banks at `now` and says how many there were.
    pub fn precharge_all(&mut self, now: Cycle) -> u32 {
        debug_assert!(self.precharge_all_ready() <= now);
        for bank in self.banks.iter_mut().filter(|bank| bank.row != CLOSED) {
            bank.row = CLOSED;
            let next = &mut bank.next[Command::Activate as usize];
            *next = (now + self.precharge_clocks).max(*next);
        }
        std::mem::take(&mut self.open).count_ones()
    }

    /// The earliest clock of a refresh once all banks are closed: as of an activate, to all banks.
    pub fn refresh_ready(&self) -> Cycle {
        let next = self.banks.iter().map(|bank| bank.next[Command::Activate as usize]);
        next.max().unwrap_or_default()
    }

    /// Keeps all banks from activating for `clocks`.
    pub fn refresh(&mut self, now: Cycle, clocks: u64) {
        debug_assert!(self.open == 0 && self.refresh_ready() <= now);
        let next = &mut self.channel[Command::Activate as usize];
        *next = (now + clocks).max(*next);
    }

    /// Closes `bank` at `due` or as soon as it may be, keeps it from activating for `clocks` from tRP later on, and says
    /// from when. No command goes to it in between.
    pub fn refresh_one(&mut self, bank: usize, due: Cycle, clocks: u64) -> Cycle {
        let Bank { next, row, .. } = &mut self.banks[bank];
        let mut start = next[Command::Activate as usize].max(due);
        if *row != CLOSED {
            let closes = next[Command::Precharge as usize].max(due);
            start = start.max(closes + self.precharge_clocks);
            *row = CLOSED;
            self.open &= !(1 << bank);
        }
        next[Command::Activate as usize] = start + clocks;
        start
    }
}

#[cfg(test)]
mod tests {
    use super::Command::{Activate, Precharge, Read, Write};
    use super::*;
    use crate::dram::testing::{bounded, gtx480};

    /// Sends `history` and asserts that `command` to `bank` is not ready at `t` - 1 and is at `t`.
    fn ready_at(
        config: &DramConfig,
        history: &[(u64, Command, usize)],
        (command, bank): (Command, usize),
        t: u64,
    ) {
        let mut banks = Banks::new(config);
        for &(at, command, bank) in history {
            banks.issue(command, bank, 0, Cycle(at));
        }
        assert!(banks.ready(command, bank) > Cycle(t - 1), "ready before {t}");
        assert!(banks.ready(command, bank) <= Cycle(t), "not ready at {t}");
    }

    #[test]
    fn a_column_command_follows_its_activate_by_trcd() {
        let config = gtx480();
        ready_at(&config, &[(0, Activate, 0)], (Read, 0), 12);
        ready_at(&config, &[(0, Activate, 0)], (Write, 0), 12);
    }

    #[test]
    fn a_precharge_follows_its_activate_by_tras() {
        ready_at(&gtx480(), &[(0, Activate, 0)], (Precharge, 0), 28);
    }

    #[test]
    fn an_activate_follows_the_precharge_of_its_bank_by_trp() {
        let history = [(0, Activate, 0), (30, Precharge, 0)];
        ready_at(&gtx480(), &history, (Activate, 0), 42);
    }

    #[test]
    fn an_activate_follows_the_last_of_its_bank_by_trc() {
        let mut config = gtx480();
        config.timing.rc = bounded(50);
        ready_at(&config, &[(0, Activate, 0), (28, Precharge, 0)], (Activate, 0), 50);
    }

    #[test]
    fn an_activate_follows_one_of_another_bank_by_trrd() {
        ready_at(&gtx480(), &[(0, Activate, 0)], (Activate, 5), 6);
    }

    #[test]
    fn a_fifth_activate_waits_until_the_first_leaves_the_window() {
        let mut config = gtx480();
        config.timing.faw = bounded(32);
        let mut history = vec![(0, Activate, 0), (6, Activate, 1), (12, Activate, 2)];
        ready_at(&config, &history, (Activate, 3), 18);
        history.push((20, Activate, 3));
        ready_at(&config, &history, (Activate, 4), 32);
        history.push((32, Activate, 4));
        ready_at(&config, &history, (Activate, 5), 38);
    }

    #[test]
    fn reads_follow_each_other_by_tccd_l_in_a_group_and_by_tccd_s_across_groups() {
        let opened = [(0, Activate, 0), (6, Activate, 4), (12, Activate, 1), (40, Read, 0)];
        ready_at(&gtx480(), &opened, (Read, 0), 43);
        ready_at(&gtx480(), &opened, (Read, 4), 43);
        ready_at(&gtx480(), &opened, (Read, 1), 42);
    }

    #[test]
    fn writes_follow_each_other_by_tccd_l_in_a_group_and_by_tccd_s_across_groups() {
        let opened = [(0, Activate, 0), (6, Activate, 4), (12, Activate, 1), (40, Write, 0)];
        ready_at(&gtx480(), &opened, (Write, 4), 43);
        ready_at(&gtx480(), &opened, (Write, 1), 42);
    }

    #[test]
    fn a_burst_longer_than_tccd_keeps_the_bus() {
        let mut config = gtx480();
        config.burst_length = bounded(32); // eight clocks
        let opened = [(0, Activate, 0), (6, Activate, 1), (40, Read, 0)];
        ready_at(&config, &opened, (Read, 1), 48);
        ready_at(&config, &opened, (Read, 0), 48);
    }

    #[test]
    fn a_read_follows_a_write_by_twtr_after_its_last_data() {
        let opened = [(0, Activate, 0), (6, Activate, 1), (40, Write, 0)];
        // CWL 4, two clocks of data, tWTR 5.
        ready_at(&gtx480(), &opened, (Read, 0), 51);
        ready_at(&gtx480(), &opened, (Read, 1), 51);
    }

    #[test]
    fn write_data_leaves_the_bus_a_rest_after_read_data() {
        let opened = [(0, Activate, 0), (6, Activate, 1), (40, Read, 0)];
        // Read data ends at 40 + 12 + 2; one clock of rest; write data comes 4 after its command.
        ready_at(&gtx480(), &opened, (Write, 1), 51);
    }

    #[test]
    fn a_precharge_follows_a_read_by_trtp() {
        ready_at(&gtx480(), &[(0, Activate, 0), (40, Read, 0)], (Precharge, 0), 42);
    }

    #[test]
    fn a_precharge_follows_a_write_by_twr_after_its_last_data() {
        // CWL 4, two clocks of data, tWR 12.
        ready_at(&gtx480(), &[(0, Activate, 0), (40, Write, 0)], (Precharge, 0), 58);
    }

    #[test]
    fn a_precharge_leaves_other_banks_alone() {
        let mut banks = Banks::new(&gtx480());
        banks.issue(Activate, 0, 0, Cycle(0));
        banks.issue(Precharge, 0, 0, Cycle(40));
        assert!(banks.ready(Activate, 1) <= Cycle(41));
    }

    #[test]
    fn after_a_refresh_every_bank_waits_for_trfc() {
        let mut banks = Banks::new(&gtx480());
        banks.issue(Activate, 3, 0, Cycle(0));
        assert_eq!(banks.precharge_all_ready(), Cycle(28));
        assert_eq!(banks.precharge_all(Cycle(30)), 1);
        assert_eq!(banks.refresh_ready(), Cycle(42));
        banks.refresh(Cycle(42), 61);
        for bank in 0..banks.count() {
            assert_eq!(banks.ready(Activate, bank), Cycle(103));
        }
    }
}
