//! The distances between the commands to the banks of a channel.

use crate::config::machine::DramConfig;
use crate::dram::bank::Banks;
use crate::dram::testing::{bounded, gtx480};
use crate::dram::timing::Command::{self, Activate, Precharge, Read, Write};
use crate::units::Cycle;

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
