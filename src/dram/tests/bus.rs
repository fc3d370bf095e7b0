//! What the data bus did, to the clock.

use DramReason::{Activates, BankGroup, Read, Refresh, Row, Turnaround, Write, WriteHold};

use crate::config::machine::{DramConfig, Refreshes, WriteDrain};
use crate::dram::Request;
use crate::dram::testing::{Bench, bare, bounded, line};
use crate::stats::DramReason;

/// Address of `column` (in lines) of `row` of `bank` in the GTX 480 mapping, for the first two lines.
fn at(bank: u64, row: u64, column: u64) -> u64 {
    row << 16 | (bank >> 1) << 13 | (bank & 1) << 8 | column << 7
}

fn read(bank: u64, row: u64, column: u64) -> Request {
    line(at(bank, row, column), false, 0)
}

fn write(bank: u64, row: u64, column: u64) -> Request {
    line(at(bank, row, column), true, 0)
}

/// The channel of a GTX 480, with all bursts of a request one behind the other.
fn smooth() -> DramConfig {
    let mut config = bare();
    config.timing.ccd_l = bounded(2);
    config
}

/// A channel to which requests came, each at its clock.
fn run(config: &DramConfig, requests: &[(u64, Request)], end: u64) -> Bench {
    let mut bench = Bench::new(config);
    for &(clock, request) in requests {
        bench.run_to(clock);
        bench.push(request);
    }
    bench.run_to(end);
    bench
}

/// Fails where other clocks were charged than `parts`, in the order of their declaration, and the rest to no request.
#[track_caller]
fn check(bench: &Bench, parts: &[(DramReason, u64)]) {
    let ledger = bench.controller.ledger();
    assert_eq!(ledger.check(), Ok(()));
    let charged: Vec<_> = DramReason::ALL
        .iter()
        .map(|&reason| (reason, ledger.part(reason)))
        .filter(|&(reason, clocks)| clocks > 0 && reason != DramReason::NoRequest)
        .collect();
    assert_eq!(charged, parts);
}

#[test]
fn a_read_waits_for_its_row_and_its_bursts_for_each_other() {
    // tRCD is 12. A burst takes 2 clocks, and the next one of its group goes tCCD_L = 3 behind it.
    let requests = [(10, read(0, 0, 0))];
    check(&run(&bare(), &requests, 100), &[(Read, 4), (BankGroup, 1), (Row, 12)]);
    // Of the last burst, one clock has passed.
    let bench = run(&bare(), &requests, 10 + 12 + 3 + 1);
    check(&bench, &[(Read, 3), (BankGroup, 1), (Row, 12)]);
    // What is still waited for counts as a row.
    check(&run(&bare(), &requests, 20), &[(Row, 10)]);
}

#[test]
fn a_conflict_waits_until_the_row_may_close_and_another_one_is_open() {
    // The first activate goes at 0, tRAS = 28 later the precharge, and tRP + tRCD = 24 later the burst.
    let requests = [(0, read(0, 0, 0)), (0, read(0, 1, 0))];
    check(&run(&smooth(), &requests, 100), &[(Read, 8), (Row, 12 + 28 + 24 - 16)]);
}

#[test]
fn a_row_that_others_keep_from_being_opened_says_so() {
    // Its activate goes tRRD = 6 behind the first one, and its burst two clocks behind the other bursts.
    let requests = [(0, read(0, 0, 0)), (0, read(1, 0, 0))];
    check(&run(&smooth(), &requests, 100), &[(Read, 8), (Row, 12), (Activates, 2)]);
    // It came when it could be opened.
    let requests = [(0, read(0, 0, 0)), (6, read(1, 0, 0))];
    check(&run(&smooth(), &requests, 100), &[(Read, 8), (Row, 12 + 2)]);
    // The fifth activate of five waits for tFAW.
    let mut config = smooth();
    config.timing.faw = bounded(60);
    let requests: Vec<_> = (0..5).map(|bank| (0, read(bank, 0, 0))).collect();
    let crowded = 3 * 2 + (60 - 4 * 6) + 2;
    check(&run(&config, &requests, 100), &[(Read, 20), (Row, 12), (Activates, crowded)]);
}

#[test]
fn the_bus_turns_around_between_reads_and_writes() {
    let mut config = smooth();
    config.writes = WriteDrain::Mixed;
    let requests = [(0, read(0, 0, 0)), (0, write(0, 0, 1)), (30, read(0, 0, 0))];
    // The write goes CL + burst + turnaround - CWL = 11 behind the last burst that is read, and the second read CWL + burst + tWTR
    // = 11 behind the last one that is written; it came a clock after that.
    let parts = [(Read, 8), (Write, 4), (Turnaround, 9 + 8), (Row, 12)];
    check(&run(&config, &requests, 100), &parts);
}

#[test]
fn a_refresh_is_charged_from_when_it_is_due_until_banks_open_again() {
    let mut config = smooth();
    config.timing.refi = bounded(3604);
    // Due at 3604. The row closes CWL + burst + tWR = 18 behind the last burst, which goes at 3602, is refreshed tRP = 12 later, and
    // opens tRFC = 61 after that.
    let requests = [(0, read(0, 0, 0)), (3600, write(0, 0, 0)), (3610, read(0, 0, 1))];
    let parts = [(Read, 8), (Write, 4), (Row, 12 + 12), (Refresh, 3602 + 18 + 12 + 61 - 3610)];
    let bench = run(&config, &requests, 3800);
    check(&bench, &parts);
}

#[test]
fn only_who_wants_a_bank_that_is_refreshed_waits_for_that() {
    let mut config = smooth();
    config.refresh = Refreshes::PerBank;
    config.timing.refi = bounded(400 * config.banks.get());
    let open = [(0, read(0, 0, 0)), (50, read(1, 0, 0))];
    let opened = [(Read, 8), (Row, 24)];
    check(&run(&config, &open, 400), &opened);
    let both = [open[0], open[1], (400, read(0, 0, 0)), (400, read(1, 0, 0))];
    // The row of bank 0 closes at 400 and is refreshed tRP = 12 later; the other bank's bursts take 4 clocks of that.
    let parts = [(Read, 16), (Row, 24 + 12 - 4 + 12), (Refresh, 61)];
    check(&run(&config, &both, 600), &parts);
}

#[test]
fn writes_that_wait_for_their_turn_say_so() {
    let mut config = smooth();
    config.writes = WriteDrain::Batched { high: bounded(4), low: bounded(1), idle: bounded(100) };
    // Nobody comes for 100 clocks.
    check(&run(&config, &[(10, write(0, 0, 0))], 60), &[(WriteHold, 50)]);
    check(&run(&config, &[(10, write(0, 0, 0))], 200), &[(Write, 4), (Row, 12), (WriteHold, 100)]);
    // A read comes after 30, and waits for its row; the write waits for 100 clocks behind its last burst.
    let requests = [(10, write(0, 0, 0)), (40, read(0, 0, 1))];
    check(&run(&config, &requests, 60), &[(Read, 4), (Row, 12), (WriteHold, 30 + 4)]);
    let parts = [(Read, 4), (Write, 4), (Row, 12), (WriteHold, 30 + 100 - 2)];
    check(&run(&config, &requests, 300), &parts);
}

#[test]
fn closed_books_stay_as_they_are() {
    let mut bench = run(&smooth(), &[(10, read(0, 0, 0))], 15);
    bench.controller.settle();
    bench.run_to(23);
    // One burst is half over.
    bench.controller.settle();
    check(&bench, &[(Read, 1), (Row, 12)]);
    bench.run_to(100);
    check(&bench, &[(Read, 4), (Row, 12)]);
}
