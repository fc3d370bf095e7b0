//! How much of the peak each pattern of accesses gets, on the channel of the GTX 480.

use crate::config::machine::{DramConfig, DramScheduler, GroupBits, WriteDrain};
use crate::dram::Request;
use crate::dram::testing::{Bench, bounded, gtx480, line};

/// Share of the peak, offered as fast as the queue takes it.
fn share(config: &DramConfig, requests: impl IntoIterator<Item = Request>) -> f64 {
    let mut bench = Bench::new(config);
    bench.serve(requests);
    let stats = bench.controller.stats();
    assert!(stats.data_clocks <= stats.clocks, "the bus carries one burst at a time");
    stats.utilisation()
}

/// Asserts that `share` lies in `low..=high`.
#[track_caller]
fn within(share: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&share), "{share:.4} is outside {low}..={high}");
}

fn reads(address: impl Fn(u64) -> u64) -> impl Iterator<Item = Request> {
    (0..20_000).map(move |i| line(address(i), false, 0))
}

/// Numbers that look random; the same in every run.
fn scatter(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// Line `i` of slice `slice`: the two slices of a channel share its addresses by 256 bytes.
fn of_slice(slice: u64, i: u64) -> u64 {
    i / 2 * 512 + slice * 256 + i % 2 * 128
}

// Refresh alone takes tRP + tRFC and the refilling of the banks of every tREFI: about 2.5%.

#[test]
fn a_stream_of_reads_gets_all_that_refresh_leaves() {
    within(share(&gtx480(), reads(|i| i * 128)), 0.97, 0.98);
}

#[test]
fn a_stream_of_writes_gets_all_that_refresh_leaves() {
    within(share(&gtx480(), (0..20_000).map(|i| line(i * 128, true, 0))), 0.96, 0.98);
}

#[test]
fn two_slices_get_the_same_however_far_apart_they_run() {
    for skew in [0, 4, 16, 64, 256] {
        let address = |i| of_slice(i % 2, i / 2 + i % 2 * skew);
        within(share(&gtx480(), reads(address)), 0.97, 0.98);
    }
}

#[test]
fn one_slice_alone_gets_the_same_with_a_full_queue() {
    // It sees every other bank only. Two groups fill the bus as the queue, 64 lines, reaches past
    // its half of a row, 32 lines, into the next bank.
    within(share(&gtx480(), reads(|i| of_slice(0, i))), 0.96, 0.98);
}

#[test]
fn a_stream_within_one_bank_group_stays_at_two_thirds() {
    // tCCD_L is 3 for bursts of 2 clocks.
    let mut config = gtx480();
    config.group_bits = GroupBits::High;
    // A deep queue reaches from one group's 16 KiB into the next and mixes them; a short one does not.
    within(share(&config, reads(|i| i * 128)), 0.90, 0.98);
    config.queue = bounded(16);
    within(share(&config, reads(|i| i * 128)), 0.64, 0.72);
    config.bank_groups = bounded(1);
    within(share(&config, reads(|i| i * 128)), 0.64, 0.667);
}

#[test]
fn random_lines_are_bound_by_trrd() {
    // Four data clocks for each activate, and an activate every six clocks.
    within(share(&gtx480(), reads(|i| scatter(i) * 128)), 0.57, 4.0 / 6.0);
}

#[test]
fn random_rows_of_one_bank_are_bound_by_trc() {
    within(share(&gtx480(), reads(|i| scatter(i) << 16)), 0.095, 4.0 / 40.0);
}

#[test]
fn reads_and_writes_of_one_stream_lose_little_to_turnarounds() {
    let requests = || (0..20_000).map(|i| line(i * 128, scatter(i) % 2 == 1, 0));
    within(share(&gtx480(), requests()), 0.88, 0.96);
    let mut batched = gtx480();
    batched.writes = WriteDrain::Batched { high: bounded(32), low: bounded(8), idle: bounded(0) };
    within(share(&batched, requests()), 0.88, 0.96);
}

#[test]
fn copying_between_two_regions_gets_nine_tenths() {
    let copy = (0..20_000).map(|i| line(i / 2 * 128 + i % 2 * 0x10_2000, i % 2 == 1, 0));
    within(share(&gtx480(), copy), 0.88, 0.95);
}

#[test]
fn fr_fcfs_keeps_rows_open_that_fcfs_closes_for_every_request() {
    let rows_in_turn = || reads(|i| i / 2 * 128 + i % 2 * 0x10_0000);
    let mut fcfs = gtx480();
    fcfs.scheduler = DramScheduler::Fcfs;
    within(share(&gtx480(), rows_in_turn()), 0.9, 0.98);
    within(share(&fcfs, rows_in_turn()), 0.1, 0.12);
}

#[test]
fn fcfs_streams_at_the_distance_within_a_group() {
    let mut fcfs = gtx480();
    fcfs.scheduler = DramScheduler::Fcfs;
    within(share(&fcfs, reads(|i| i * 128)), 0.64, 0.75);
}
