//! Exact clocks of single requests, through the whole controller.

use crate::config::machine::{DramConfig, DramScheduler, Refreshes, RowPolicy, WriteDrain};
use crate::dram::testing::{Bench, bare, bounded, gtx480, line};
use crate::dram::timing::Command::{self, Activate, Precharge, Read, Write};
use crate::dram::{Completion, Controller, DramStats, Request, Sent};
use crate::units::Cycle;

/// Address of `column` (in lines) of `row` of bank 0 in the GTX 480 mapping, for the first two lines.
fn at(row: u64, column: u64) -> u64 {
    row << 16 | column << 7
}

/// Address of row 0 of `bank`, in the same mapping.
fn of_bank(bank: u32) -> u64 {
    u64::from(bank >> 1) << 13 | u64::from(bank & 1) << 8
}

/// Clock, command and tag of everything sent to single banks.
fn commands(bench: &Bench) -> Vec<(u64, Command, u32)> {
    let single = |&(clock, sent): &(Cycle, Sent)| match sent {
        Sent::Command { command, tag, .. } => Some((clock.0, command, tag.unwrap_or(u32::MAX))),
        Sent::PrechargeAll { .. } | Sent::Refresh { .. } | Sent::RefreshOne { .. } => None,
    };
    bench.sent.iter().filter_map(single).collect()
}

fn served(config: &DramConfig, requests: &[Request]) -> Bench {
    let mut bench = Bench::new(config);
    bench.serve(requests.iter().copied());
    bench
}

#[test]
fn a_read_of_a_closed_bank_takes_trcd_cl_and_its_bursts() {
    let bench = served(&bare(), &[line(0, false, 7)]);
    assert_eq!(commands(&bench), [(0, Activate, 7), (12, Read, 7), (15, Read, 7)]);
    let done = Completion { tag: 7, comes: Cycle(15 + 12 + 2), first_command: Cycle(0) };
    assert_eq!(bench.done, [done]);
    let expected = DramStats {
        clocks: 30,
        reads: 1,
        read_bursts: 2,
        data_clocks: 4,
        busy_clocks: 29,
        activates: 1,
        row_misses: 1,
        queued: 16,
        ..DramStats::default()
    };
    assert_eq!(bench.controller.stats(), expected);
}

#[test]
fn the_interface_takes_half_its_latency_each_way() {
    let mut config = bare();
    config.interface_latency = bounded(101);
    let bench = served(&config, &[line(0, false, 0)]);
    assert_eq!(bench.sent[0].0, Cycle(50));
    assert_eq!(bench.done[0].comes, Cycle(50 + 29 + 51));
}

#[test]
fn a_full_queue_gives_the_request_back_and_is_not_changed() {
    let mut config = bare();
    config.queue = bounded(2);
    let mut bench = Bench::new(&config);
    bench.push(line(0, false, 0));
    bench.push(line(0, false, 1));
    assert!(!bench.controller.can_accept());
    let refused = line(0, true, 2);
    assert_eq!(bench.controller.try_push(bench.now, refused), Err(refused));
    assert_eq!(bench.controller.held(), 2);
}

#[test]
fn a_request_at_the_end_of_its_way_waits_for_a_place_in_the_queue() {
    let mut config = bare();
    config.queue = bounded(1);
    config.interface_latency = bounded(8);
    // Two bursts are under way beside the one place, each served in turn after the other.
    let mut bench = Bench::new(&config);
    for tag in 0..3 {
        bench.push(line(0, false, tag));
    }
    assert!(!bench.controller.can_accept());
    bench.serve([]);
    let tags: Vec<_> = bench.done.iter().map(|done| done.tag).collect();
    assert_eq!(tags, [0, 1, 2]);
    assert!(bench.controller.stats().queued <= bench.controller.stats().clocks);
}

#[test]
fn a_place_that_becomes_free_is_taken_in_the_next_clock() {
    let mut config = bare();
    config.queue = bounded(2);
    config.interface_latency = bounded(8);
    let mut bench = Bench::new(&config);
    for tag in 0..4 {
        bench.push(line(0, false, tag));
    }
    let mut queued = Vec::new();
    while !bench.controller.is_idle() {
        let before = bench.controller.stats().queued;
        bench.tick();
        queued.push(bench.controller.stats().queued - before);
    }
    // Of two reads each, and one request after the other.
    let reads = commands(&bench).into_iter().filter(|&(_, command, _)| command == Read);
    let reads: Vec<_> = reads.map(|(clock, ..)| clock).collect();
    let (third_leaves, last_leaves) = (reads[5], reads[7]);
    let expected = (0..=last_leaves).map(|clock| match clock {
        0..4 => 0,
        _ if clock <= third_leaves => 2,
        _ => 1,
    });
    assert_eq!(queued, expected.collect::<Vec<_>>());
}

#[test]
fn a_second_row_of_a_bank_waits_for_tras_and_trp() {
    let bench = served(&bare(), &[line(at(0, 0), false, 0), line(at(1, 0), false, 1)]);
    let expected = [
        (0, Activate, 0),
        (12, Read, 0),
        (15, Read, 0),
        (28, Precharge, 1),
        (40, Activate, 1),
        (52, Read, 1),
        (55, Read, 1),
    ];
    assert_eq!(commands(&bench), expected);
    let stats = bench.controller.stats();
    assert_eq!((stats.row_hits, stats.row_misses, stats.row_conflicts), (0, 1, 1));
}

#[test]
fn lines_of_two_groups_interleave_to_fill_the_bus() {
    let mut bench = Bench::new(&bare());
    bench.serve([line(0, false, 9), line(256, false, 9)]);
    bench.sent.clear();
    let start = bench.now.0;
    bench.serve([line(0, false, 0), line(256, false, 1)]);
    let expected = [(0, Read, 0), (2, Read, 1), (4, Read, 0), (6, Read, 1)];
    assert_eq!(commands(&bench), expected.map(|(clock, what, tag)| (start + clock, what, tag)));
}

#[test]
fn a_younger_hit_goes_before_an_older_conflict_under_fr_fcfs_only() {
    let order = |config: &DramConfig| {
        let requests =
            [line(at(0, 0), false, 0), line(at(1, 0), false, 1), line(at(0, 1), false, 2)];
        served(config, &requests).done.iter().map(|done| done.tag).collect::<Vec<_>>()
    };
    let mut config = bare();
    assert_eq!(order(&config), [0, 2, 1]);
    config.scheduler = DramScheduler::Fcfs;
    assert_eq!(order(&config), [0, 1, 2]);
}

/// Column accesses that go before a conflicting request which arrives first, with hits for ever.
fn passes_before_the_conflict(cap: u32, hit: impl Fn(u64) -> Request) -> u64 {
    let mut config = bare();
    config.scheduler = DramScheduler::FrFcfs { cap: bounded(cap) };
    config.queue = bounded(8);
    let mut bench = Bench::new(&config);
    bench.serve((0..2).map(&hit));
    let before = bench.controller.stats().read_bursts + bench.controller.stats().write_bursts;
    bench.push(line(at(1, 0), true, 1));
    for i in 0.. {
        while bench.controller.can_accept() {
            bench.push(hit(i));
        }
        bench.tick();
        if bench.controller.stats().writes == 1 {
            break;
        }
        assert!(i < 100_000, "starved");
    }
    bench.controller.stats().read_bursts - before
}

#[test]
fn hits_of_its_bank_pass_a_request_at_most_cap_times() {
    assert_eq!(passes_before_the_conflict(8, |_| line(at(0, 0), false, 0)), 8);
    assert_eq!(passes_before_the_conflict(64, |_| line(at(0, 0), false, 0)), 64);
}

#[test]
fn traffic_of_other_banks_passes_a_request_at_most_cap_times_banks_times() {
    // The write's bank is left alone, but reads of other banks keep the bus from turning around.
    let reads = passes_before_the_conflict(4, |i| line(256 * (1 + 2 * (i % 2)), false, 0));
    assert_eq!(reads, 4 * 16);
}

#[test]
fn an_unwanted_row_closes_under_the_closed_policy() {
    let mut config = bare();
    config.row_policy = RowPolicy::Closed;
    let mut bench = served(&config, &[line(at(0, 0), false, 0)]);
    bench.run_to(100);
    assert_eq!(commands(&bench)[3..], [(28, Precharge, u32::MAX)]);
    let start = bench.now.0;
    bench.serve([line(at(5, 0), false, 1)]);
    assert_eq!(commands(&bench)[4], (start, Activate, 1));
    assert_eq!(bench.controller.stats().row_misses, 2);
}

#[test]
fn a_row_that_someone_wants_stays_open_under_the_closed_policy() {
    let mut config = bare();
    config.row_policy = RowPolicy::Closed;
    let mut bench = Bench::new(&config);
    bench.push(line(at(0, 0), false, 0));
    bench.run_to(27);
    bench.push(line(at(0, 1), false, 1));
    bench.run_to(100);
    assert_eq!(commands(&bench)[3..5], [(27, Read, 1), (30, Read, 1)]);
}

fn batched() -> DramConfig {
    let mut config = bare();
    config.writes = WriteDrain::Batched { high: bounded(4), low: bounded(1), idle: bounded(0) };
    config
}

#[test]
fn writes_wait_for_reads_until_the_high_mark_is_reached() {
    let write = |i: u64| line(at(0, 0) + 8192 * i, true, 0);
    let read = |i: u64| line(at(0, 1) + 8192 * i, false, 1);
    let served_first = |writes: u64| {
        let requests = (0..writes).map(write).chain((0..4).map(read)).collect::<Vec<_>>();
        let bench = served(&batched(), &requests);
        commands(&bench).iter().find(|c| matches!(c.1, Read | Write)).map(|c| c.1)
    };
    assert_eq!(served_first(3), Some(Read));
    assert_eq!(served_first(4), Some(Write));
}

#[test]
fn a_read_does_not_pass_an_older_write_to_the_same_line() {
    for config in [bare(), batched()] {
        let requests =
            [line(at(0, 1), false, 0), line(at(0, 0), true, 1), line(at(0, 0), false, 2)];
        let bench = served(&config, &requests);
        let columns: Vec<_> =
            commands(&bench).into_iter().filter(|c| c.1 != Activate).map(|c| c.2).collect();
        assert_eq!(columns, [0, 0, 1, 1, 2, 2]);
    }
}

#[test]
fn a_refresh_comes_at_every_multiple_of_trefi_even_when_idle() {
    let mut bench = Bench::new(&gtx480());
    bench.run_to(3604 * 3);
    assert_eq!(bench.controller.stats().refreshes, 2);
    bench.run_to(3604 * 3 + 1);
    assert_eq!(bench.controller.stats().refreshes, 3);
    // An idle channel tells of them when a request has come.
    assert_eq!(bench.sent, []);
    bench.push(line(at(0, 0), false, 0));
    bench.run_to(3604 * 4);
    let expected = [1, 2, 3].map(|k| (Cycle(3604 * k), Sent::Refresh { at: Cycle(3604 * k) }));
    assert_eq!(bench.sent[..3], expected);
}

#[test]
fn a_refresh_closes_the_banks_and_holds_requests_for_trfc() {
    let mut config = bare();
    config.timing.refi = bounded(3604);
    let mut bench = served(&config, &[line(at(0, 0), false, 0)]);
    bench.run_to(3604);
    bench.push(line(at(0, 0), false, 1));
    bench.run_to(3800);
    let expected = [
        (Cycle(3604), Sent::PrechargeAll { at: Cycle(3604) }),
        (Cycle(3616), Sent::Refresh { at: Cycle(3616) }),
        (Cycle(3616 + 61), Sent::Command { command: Activate, bank: 0, row: 0, tag: Some(1) }),
    ];
    assert_eq!(bench.sent[3..6], expected);
    assert_eq!(bench.controller.stats().precharges, 1);
}

#[test]
fn a_write_does_not_pass_an_older_write_that_waits_for_a_read() {
    // The read waits for tWTR after an unrelated write, and the third request for the read; the last
    // could go at once, as it overlaps only the third.
    let narrow = |address, write, tag| Request { address, bursts: 1, write, tag };
    let requests = [
        line(at(0, 1), true, 0),
        narrow(at(0, 0) + 64, false, 1),
        line(at(0, 0), true, 2),
        narrow(at(0, 0), true, 3),
    ];
    let bench = served(&bare(), &requests);
    let columns: Vec<_> =
        commands(&bench).into_iter().filter(|c| c.1 != Activate).map(|c| c.2).collect();
    assert_eq!(columns, [0, 0, 1, 2, 2, 3]);
}

/// Refreshes bank by bank, one every 400 clocks, each for 61.
fn bank_by_bank() -> DramConfig {
    let mut config = bare();
    config.refresh = Refreshes::PerBank;
    config.timing.refi = bounded(400 * config.banks.get());
    config
}

#[test]
fn each_bank_is_refreshed_in_turn_while_the_others_work() {
    // Bank 0 is due at 400: open since before, it closes at once, as tRAS is over, and refreshes tRP = 12 later.
    let mut bench =
        served(&bank_by_bank(), &[line(of_bank(0), false, 0), line(of_bank(1), false, 1)]);
    bench.run_to(400);
    bench.push(line(of_bank(0), false, 2));
    bench.push(line(of_bank(1), false, 3));
    bench.run_to(600);
    let column = |tag| {
        bench.sent.iter().find_map(|&(clock, sent)| match sent {
            Sent::Command { command: Read, tag: Some(of), .. } if of == tag => Some(clock.0),
            _ => None,
        })
    };
    assert_eq!(column(3), Some(400), "the other bank's row is still open");
    assert_eq!(column(2), Some(400 + 12 + 61 + 12), "tRP, tRFC, tRCD");
    let start = Cycle(400 + 12);
    assert!(bench.sent.contains(&(Cycle(400), Sent::RefreshOne { bank: 0, start })));
}

#[test]
fn an_idle_channel_books_the_refreshes_of_single_banks_later() {
    let config = bank_by_bank();
    let mut bench = Bench::new(&config);
    let end = u64::from(config.timing.refi.get()) * 10 + 1;
    bench.run_to(end);
    assert_eq!(bench.sent, []);
    assert_eq!(bench.controller.stats().refreshes, 10 * u64::from(config.banks.get()));
    // The last bank was due in the clock before.
    bench.push(line(of_bank(config.banks.get() - 1), false, 0));
    bench.run_to(end + 200);
    let Some((first, _)) = bench.sent.iter().find(|(_, sent)| matches!(sent, Sent::Command { .. }))
    else {
        panic!("no command went")
    };
    assert_eq!(first.0, end - 1 + 61);
}

#[test]
fn a_request_that_is_alone_is_served_at_once_as_if_clock_by_clock() {
    // To a closed bank, to the open row, to another one, and after a refresh.
    let requests = [
        line(at(0, 0), false, 0),
        line(at(0, 1), false, 1),
        line(at(1, 0), false, 2),
        line(at(1, 1), true, 3),
    ];
    let (mut bench, mut controller) = (Bench::new(&gtx480()), Controller::new(&gtx480()));
    let mut done = Vec::new();
    for (clock, request) in (1..).map(|number| Cycle(1000 * number)).zip(requests) {
        bench.run_to(clock.0);
        bench.push(request);
        controller.try_push(clock, request).expect("there is room");
        let arrives = controller.next_event(clock);
        let last = controller.run(arrives, clock + 1000, &mut |read| done.push(read));
        assert!(arrives < last && controller.is_idle());
    }
    bench.run_to(5000);
    controller.skip(Cycle(5000));
    assert_eq!(done, bench.done);
    assert_eq!(controller.stats(), bench.controller.stats());
}
