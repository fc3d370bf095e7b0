//! The state of the banks: which row is open, and the earliest clock of every command.
//!
//! **Bank groups.** With the low bits of the bank number as its group, banks that follow each other
//! in the address (the lowest B of the mapping) lie in different groups, and a stream alternates
//! between groups, at tCCD_S. This is how bank groups are meant to be used: JESD212 gives tCCD_L so
//! that the chip's core may run at a part of the bus's speed, and leaves it to the controller to
//! interleave the groups. With the high bits, all lines of a GTX 480 stream stay for 16 KiB in one
//! group and go at tCCD_L: two data clocks of every three, 67% of the peak.

use std::hint::select_unpredictable;

use crate::config::machine::{DramConfig, GroupBits};
use crate::units::{Bits, Cycle};

use super::timing::{Command, Rule, Scope, distances, rules};

/// The row of a closed bank. No address reaches it: a row number has fewer than 64 bits.
pub const CLOSED: u64 = u64::MAX;

/// A controller has no more banks than this, as sets of them are the bits of one number.
pub const MOST_BANKS: usize = 64;

/// Nor more groups than this.
const MOST_GROUPS: usize = 16;

/// Moves the earliest clock `next` behind a command that goes at `now`; where no rule says more, to `now`, which never binds.
#[inline]
fn delay(next: &mut Cycle, now: Cycle, clocks: u64) {
    *next = (now + clocks).max(*next);
}

/// Whether a command heeds a rule: a look at every pair of commands in every scope would take it far longer.
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

/// One bank: its row, and the earliest clocks of its commands as far as it knows. They lie together, as they are looked at
/// together.
#[derive(Clone, Copy, Debug)]
struct Bank {
    /// The open row, or [`CLOSED`].
    row: u64,
    /// Of a read or a write.
    column: Cycle,
    precharge: Cycle,
    activate: Cycle,
}

/// How long others wait after a read, or after a write [clocks].
#[derive(Clone, Copy, Debug)]
struct After {
    /// A precharge of the same bank.
    precharge: u64,
    /// The same command to the same group.
    group: u64,
    /// A read and a write to any bank.
    channel: [u64; 2],
}

/// All banks of one channel with the timing between their commands.
///
/// Earliest clocks only ever move later, so a bound computed from them stays a bound.
#[derive(Clone, Debug)]
pub struct Banks {
    /// The earliest read and write to any bank.
    columns: [Cycle; 2],
    /// The earliest activate of any bank.
    activate: Cycle,
    after: [After; 2],
    /// One bit a bank: its row is open.
    open: u64,
    /// The earliest read and write as far as each group knows.
    groups: [[Cycle; MOST_GROUPS]; 2],
    banks: [Bank; MOST_BANKS],
    group_of: [u8; MOST_BANKS],
    /// From an activate to a read or a write of the bank, to its precharge, to its next activate, and to one of another bank.
    activated: [u64; 4],
    precharged: u64,
    four_activates: u64,
    /// When each of the last four activates leaves the tFAW window; `oldest` is the first of them.
    window: [Cycle; 4],
    oldest: usize,
    /// The latest of the clocks before which a bank does not activate.
    all_activate: Cycle,
    count: usize,
}

/// Which of a read and a write.
#[inline]
fn direction(command: Command) -> usize {
    usize::from(command == Command::Write)
}

impl Banks {
    /// Closed banks, ready for anything.
    pub fn new(config: &DramConfig) -> Banks {
        use Command::{Activate, Precharge, Read, Write};
        let rules = rules(config);
        assert!(rules.iter().all(is_heeded), "a rule that no command heeds");
        let table = distances(&rules);
        let distance = |scope: Scope, before: Command, after: Command| {
            table[scope as usize][before as usize][after as usize]
        };
        let [to_read, to_write] = [Read, Write].map(|after| distance(Scope::Bank, Activate, after));
        assert_eq!(to_read, to_write, "a row opens for reads and writes at once");
        let group_mask = config.bank_groups.size() - 1;
        let group_shift = match config.group_bits {
            GroupBits::Low => 0,
            GroupBits::High => (config.banks.get() / config.bank_groups.get()).trailing_zeros(),
        };
        let bank = Bank { row: CLOSED, column: Cycle(0), precharge: Cycle(0), activate: Cycle(0) };
        Banks {
            columns: [Cycle(0); 2],
            activate: Cycle(0),
            after: [Read, Write].map(|before| After {
                precharge: distance(Scope::Bank, before, Precharge),
                group: distance(Scope::Group, before, before),
                channel: [Read, Write].map(|after| distance(Scope::Channel, before, after)),
            }),
            open: 0,
            groups: [[Cycle(0); MOST_GROUPS]; 2],
            banks: [bank; MOST_BANKS],
            group_of: std::array::from_fn(|number| (number >> group_shift & group_mask) as u8),
            activated: [
                to_read,
                distance(Scope::Bank, Activate, Precharge),
                distance(Scope::Bank, Activate, Activate),
                distance(Scope::Channel, Activate, Activate),
            ],
            precharged: distance(Scope::Bank, Precharge, Activate),
            four_activates: config.timing.faw.cycles(),
            window: [Cycle(0); 4],
            oldest: 0,
            all_activate: Cycle(0),
            count: config.banks.size(),
        }
    }

    #[inline]
    fn bank(&self, bank: usize) -> &Bank {
        &self.banks[bank % MOST_BANKS]
    }

    #[inline]
    fn bank_mut(&mut self, bank: usize) -> &mut Bank {
        &mut self.banks[bank % MOST_BANKS]
    }

    /// How many there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The open row of `bank`; [`CLOSED`] when none is.
    #[inline]
    pub fn row(&self, bank: usize) -> u64 {
        self.bank(bank).row
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
        match command {
            Command::Precharge => self.bank(bank).precharge,
            Command::Activate => self.bank(bank).activate.max(self.activate),
            Command::Read | Command::Write => self.column_ready(command, bank),
        }
    }

    /// As [`Banks::ready`], of a read or a write.
    #[inline]
    pub fn column_ready(&self, command: Command, bank: usize) -> Cycle {
        let direction = direction(command);
        let of_group = self.groups[direction][self.group(bank)];
        self.bank(bank).column.max(of_group).max(self.columns[direction])
    }

    /// When `bank` is opened that is closed at `closes` if it is open, or is closed, if no other command goes.
    #[inline]
    pub fn opens_alone(&self, bank: usize, closes: Cycle, is_open: bool) -> Cycle {
        let closed = if is_open { closes + self.precharged.max(1) } else { closes };
        self.ready(Command::Activate, bank).max(closed)
    }

    /// When `bank` is read, or written, whose row is opened at `opens`, or is open then, if no other command goes; and how long
    /// after that it is again.
    #[inline]
    pub fn column_alone(
        &self,
        direction: usize,
        bank: usize,
        opens: Cycle,
        is_opened: bool,
    ) -> (Cycle, u64) {
        let opened = if is_opened { opens + self.activated[0].max(1) } else { opens };
        let After { group, channel, .. } = self.after[direction];
        let from = self.columns_from(direction, opened);
        (self.column_from(from, direction, bank), group.max(channel[direction]).max(1))
    }

    /// The first clock from `from` on in which any bank may be read, or written.
    #[inline]
    pub fn columns_from(&self, direction: usize, from: Cycle) -> Cycle {
        self.columns[direction].max(from)
    }

    /// The first clock from `from` on in which `bank` may be read, or written, as far as it and its group know.
    #[inline]
    pub fn column_from(&self, from: Cycle, direction: usize, bank: usize) -> Cycle {
        let of_group = self.groups[direction][self.group(bank)];
        of_group.later(self.bank(bank).column).later(from)
    }

    /// The first clock in which `bank` may be opened, if it is closed, or be closed, where any bank may be opened and closed from
    /// these clocks on. Which of the two it is cannot be foretold.
    #[inline]
    pub fn row_command_from(&self, [opens, closes]: [Cycle; 2], bank: usize) -> Cycle {
        let &Bank { row, precharge, activate, .. } = self.bank(bank);
        let is_closed = row == CLOSED;
        let of_bank = select_unpredictable(is_closed, activate, precharge);
        of_bank.later(select_unpredictable(is_closed, opens, closes))
    }

    /// Since when `bank` may be read, or written, as far as the data bus and its group know, and as far as its row does.
    #[inline]
    pub fn column_limits(&self, direction: usize, bank: usize) -> (Cycle, Cycle) {
        let of_group = self.groups[direction][self.group(bank)];
        (of_group.later(self.columns[direction]), self.bank(bank).column)
    }

    /// Since when `bank` may be activated as far as it knows, and as far as the activates of others let it.
    #[inline]
    pub fn activate_limits(&self, bank: usize) -> (Cycle, Cycle) {
        (self.bank(bank).activate, self.activate)
    }

    #[inline]
    fn group(&self, bank: usize) -> usize {
        usize::from(self.group_of[bank % MOST_BANKS]) % MOST_GROUPS
    }

    /// The earliest clock at which `command` may go to any bank: a bound below [`Banks::ready`].
    #[inline]
    pub fn channel_ready(&self, command: Command) -> Cycle {
        match command {
            Command::Precharge => Cycle(0),
            Command::Activate => self.activate,
            Command::Read | Command::Write => self.columns[direction(command)],
        }
    }

    /// Sends `command` to `bank` at `now`; `row` matters to an activate only.
    #[cfg(test)]
    pub fn issue(&mut self, command: Command, bank: usize, row: u64, now: Cycle) {
        match command {
            Command::Activate => self.activate(bank, row, now),
            Command::Precharge => self.precharge(bank, now),
            Command::Read | Command::Write => self.column(command, bank, now),
        }
    }

    /// Opens `row` of `bank`.
    #[inline]
    pub fn activate(&mut self, bank: usize, row: u64, now: Cycle) {
        debug_assert!(self.ready(Command::Activate, bank) <= now, "Activate at {now} is too early");
        debug_assert_eq!(self.row(bank), CLOSED);
        let [column, precharge, activate, another] = self.activated;
        self.open |= 1 << bank;
        self.window[self.oldest % 4] = now + self.four_activates;
        self.oldest = (self.oldest + 1) % 4;
        // All were ready, so nothing but the window holds them back for longer.
        self.activate = self.window[self.oldest].max(now + another);
        let this = self.bank_mut(bank);
        this.row = row;
        this.column = now + column;
        delay(&mut this.precharge, now, precharge);
        this.activate = now + activate;
        self.all_activate = self.all_activate.max(now + activate);
    }

    /// Closes the open row of `bank`.
    #[inline]
    pub fn precharge(&mut self, bank: usize, now: Cycle) {
        debug_assert!(
            self.ready(Command::Precharge, bank) <= now,
            "Precharge at {now} is too early"
        );
        self.open &= !(1 << bank);
        let clocks = self.precharged;
        let this = self.bank_mut(bank);
        this.row = CLOSED;
        delay(&mut this.activate, now, clocks);
        self.all_activate = self.all_activate.max(now + clocks);
    }

    /// Reads or writes a burst of the open row of `bank`.
    #[inline]
    pub fn column(&mut self, command: Command, bank: usize, now: Cycle) {
        debug_assert!(self.ready(command, bank) <= now, "{command:?} at {now} is too early");
        debug_assert_ne!(self.row(bank), CLOSED);
        let direction = direction(command);
        let After { precharge, group, channel: [read, write] } = self.after[direction];
        delay(&mut self.bank_mut(bank).precharge, now, precharge);
        // It was ready, so nothing holds its like back for longer.
        self.groups[direction][self.group(bank)] = now + group;
        delay(&mut self.columns[0], now, read);
        delay(&mut self.columns[1], now, write);
    }

    /// The earliest clock at which every open bank may be precharged with one command.
    pub fn precharge_all_ready(&self) -> Cycle {
        Bits(self.open).map(|bank| self.bank(bank).precharge).max().unwrap_or_default()
    }

    /// Closes all open banks at `now` and says how many there were.
    pub fn precharge_all(&mut self, now: Cycle) -> u32 {
        debug_assert!(self.precharge_all_ready() <= now);
        let open = self.open;
        Bits(open).for_each(|bank| self.precharge(bank, now));
        open.count_ones()
    }

    /// The earliest clock of a refresh once all banks are closed: as of an activate, to all banks.
    #[inline]
    pub fn refresh_ready(&self) -> Cycle {
        self.all_activate
    }

    /// Keeps all banks from activating for `clocks`.
    #[inline]
    pub fn refresh(&mut self, now: Cycle, clocks: u64) {
        debug_assert!(self.open == 0 && self.refresh_ready() <= now);
        delay(&mut self.activate, now, clocks);
    }

    /// Closes `bank` at `due` or as soon as it may be, keeps it from activating for `clocks` from tRP later on, and says
    /// from when. No command goes to it in between.
    pub fn refresh_one(&mut self, bank: usize, due: Cycle, clocks: u64) -> Cycle {
        let precharged = self.precharged;
        let this = self.bank_mut(bank);
        let mut start = this.activate.max(due);
        if this.row != CLOSED {
            start = start.max(this.precharge.max(due) + precharged);
            this.row = CLOSED;
        }
        this.activate = start + clocks;
        self.open &= !(1 << bank);
        self.all_activate = self.all_activate.max(start + clocks);
        start
    }
}
