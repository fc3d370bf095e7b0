//! One behaviour a test, on the slices of the GTX 480 preset with small queues.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::config::Machine;
use crate::config::parse::stated;
use crate::parts::{FOR_NOBODY, ReplyKind, Request, RequestKind, Stamps};
use crate::units::{Cycle, LineAddr};

/// A slice that has the whole memory to itself: two sets of two ways, two MSHR entries of two mergers.
fn slice() -> Slice {
    slice_of("Cache", 128, 128)
}

/// The same in sectors, or as no cache at all.
fn slice_of(mode: &str, sector: u32, fetch: u32) -> Slice {
    slice_that_holds(mode, sector, fetch, 2)
}

/// With so many dirty ways a set at most.
fn slice_that_holds(mode: &str, sector: u32, fetch: u32, dirty_ways: u32) -> Slice {
    slice_made((mode, sector, fetch), dirty_ways, "Unlimited")
}

/// In sectors of 32 bytes, with so few lines that were written in part.
fn slice_with_few(partial_lines: &str) -> Slice {
    slice_made(("Cache", 32, 32), 2, partial_lines)
}

fn slice_made(kind: (&str, u32, u32), dirty_ways: u32, partial_lines: &str) -> Slice {
    Slice::new(&machine(kind, dirty_ways, partial_lines, [2, 5, 4]), 0)
}

/// With so many mergers an entry, data that takes so many cycles, and so many places for replies besides.
fn machine(
    (mode, sector, fetch): (&str, u32, u32),
    dirty_ways: u32,
    partial_lines: &str,
    [mergers, data_latency, reply_queue]: [u32; 3],
) -> Machine {
    let preset = include_str!("../../configs/gpus/gtx480.ron");
    let (before, l2) = preset.split_once("    l2: (").unwrap();
    let (_, after) = l2.split_once("    dram: (").unwrap();
    let miss_queue = if partial_lines == "Unlimited" { 6 } else { 16 };
    let small = format!(
        "    l2: (mode: {mode}, slices: 6, interleave: 128, slice_hash: RoundRobin, partitions: One, coalescer: None, size: 512, \
                 sets: 2, ways: 2, line: 128, sector: {sector}, \
                 index: Linear, replacement: Lru, dirty_ways: {dirty_ways}, partial_lines: {partial_lines}, mshr_entries: 2, mshr_mergers: {mergers}, \
                 input_queue: 8, tag_latency: 3, distance: Alike, data_latency: {data_latency}, sector_latency: 0, data_port: Unlimited, fetch: {fetch}, miss_queue: {miss_queue}, reply_queue: {reply_queue}),\n"
    );
    stated(&format!("{before}{small}    dram: ({after}"))
}

/// The lines of slice 0 are every sixth one.
fn request(kind: RequestKind, local: u64, bytes: u128) -> Request {
    Request { line: LineAddr(local * 6), kind, bytes, slot: local as u16, ..Request::default() }
}

fn fetch(local: u64) -> Request {
    request(RequestKind::Fetch, local, !0)
}

/// Ticks from `from` until before `to`, with all refusals counted.
fn run(slice: &mut Slice, from: u64, to: u64) {
    for now in from..to {
        slice.tick(Cycle(now), Cycle(now));
    }
    slice.catch_up(Cycle(to));
}

/// What the slice asks of the DRAM next: line, byte there, bytes, and whether they are written.
fn asked(slice: &mut Slice, now: u64) -> Vec<(u64, u64, u32, bool)> {
    let mut asked = Vec::new();
    while let Some(request) = slice.take_dram_request(Cycle(now)) {
        assert_eq!(request.slot == FOR_NOBODY, !request.write);
        let (line, byte) = (request.address / 128, request.address % 128);
        asked.push((line, byte, request.bytes, request.write));
    }
    asked
}

#[test]
fn of_too_many_lines_that_were_written_in_part_the_oldest_are_completed() {
    let mut slice = slice_with_few("Limited(most: 3, least: 1)");
    let store = |local, bytes| request(RequestKind::Store, local, bytes);
    // A part of the second sector, a whole first one, a part of the third, and one that a second store makes whole.
    for (cycle, local, bytes) in [
        (0, 0, 0xff << 40),
        (1, 1, 0xffff_ffff),
        (2, 2, 0xf << 64),
        (3, 3, 0xffff),
        (4, 3, 0xffff << 16),
    ] {
        slice.arrive(Cycle(cycle), store(local, bytes));
    }
    run(&mut slice, 0, 7);
    // After the third one in part.
    let both = |line, byte| [(line, byte, 64, false), (line, byte, 64, true)];
    assert_eq!(asked(&mut slice, 10), [both(0, 0), both(2, 64)].concat());
    run(&mut slice, 7, 20);
    assert_eq!((slice.stats().completions, slice.stats().writebacks), (2, 2));
    // What was read is there, and nothing else.
    slice.arrive(Cycle(20), request(RequestKind::Fetch, 0, 0xffff_ffff << 32));
    run(&mut slice, 20, 30);
    assert_eq!((slice.stats().read_hits, asked(&mut slice, 30).len()), (1, 0));
    // The third line lacks nothing, and two in part are not too many.
    slice.arrive(Cycle(30), store(1, 0xf << 96));
    slice.arrive(Cycle(31), store(0, 0xf));
    run(&mut slice, 30, 50);
    assert_eq!(asked(&mut slice, 50), []);
}

#[test]
fn a_line_that_a_read_has_completed_is_not_written_for_that() {
    let mut slice = slice_with_few("Limited(most: 2, least: 1)");
    slice.arrive(Cycle(0), request(RequestKind::Store, 0, 0xf));
    slice.arrive(Cycle(1), request(RequestKind::Fetch, 0, 0xffff_ffff));
    run(&mut slice, 0, 20);
    assert_eq!(serve(&mut slice, 20), [(0, 64, false)]);
    // The second one in part, and a third one beside it.
    slice.arrive(Cycle(20), request(RequestKind::Store, 1, 0xf));
    run(&mut slice, 20, 40);
    assert_eq!((asked(&mut slice, 40), slice.stats().writebacks), (vec![], 0));
    slice.arrive(Cycle(40), request(RequestKind::Store, 3, 0xf));
    run(&mut slice, 40, 60);
    assert_eq!(asked(&mut slice, 60), [(1, 0, 64, false), (1, 0, 64, true)]);
}

#[test]
fn a_line_that_was_written_in_part_is_completed_before_it_makes_room() {
    let mut slice = slice_with_few("Limited(most: 9, least: 1)");
    // Parts of two sectors of a line, which share a burst, and the whole of one of the other line of the set.
    slice.arrive(Cycle(0), request(RequestKind::Store, 0, 0xf | 0xf << 32));
    slice.arrive(Cycle(1), request(RequestKind::Store, 2, 0xffff_ffff));
    run(&mut slice, 0, 20);
    assert_eq!(asked(&mut slice, 20), []);
    for local in [4, 6] {
        slice.arrive(Cycle(20), request(RequestKind::Store, local, 0xffff_ffff));
    }
    run(&mut slice, 20, 40);
    let read = (0, 0, 64, false);
    assert_eq!(asked(&mut slice, 40), [read, read, (0, 0, 64, true), (2, 0, 64, true)]);
    assert_eq!(slice.stats().completions, 2);
    // Nothing is left of it: the line can be there again.
    slice.arrive(Cycle(40), request(RequestKind::Store, 0, 0xf));
    run(&mut slice, 40, 60);
    assert_eq!(asked(&mut slice, 60), [(4, 0, 64, true)]);
}

/// The lines that the slice writes to DRAM next.
fn writes(slice: &mut Slice, now: u64) -> Vec<(u64, u32)> {
    let mut writes = Vec::new();
    while let Some(request) = slice.take_dram_request(Cycle(now)) {
        if request.write {
            writes.push((request.address / 128, request.bytes));
        }
    }
    writes
}

#[test]
fn what_was_put_there_hits_and_goes_to_dram_when_it_makes_room() {
    let mut slice = slice();
    // Both ways of set 0: one was read, one written.
    slice.install(LineAddr(0), false);
    slice.install(LineAddr(2 * 6), true);
    for local in [0, 2] {
        slice.arrive(Cycle(0), fetch(local));
    }
    run(&mut slice, 0, 20);
    assert!(!slice.has_dram_request());
    assert_eq!(slice.stats().read_hits, 2);
    // Another two lines of the set: only the written one is written back.
    for local in [4, 6] {
        slice.arrive(Cycle(20), fetch(local));
    }
    run(&mut slice, 20, 40);
    let written = writes(&mut slice, 40);
    assert_eq!(written.iter().map(|(_, bytes)| bytes).sum::<u32>(), 128, "{written:?}");
    assert_eq!(slice.stats().writebacks, 1);
}

#[test]
fn no_more_ways_are_dirty_than_may_be_when_lines_are_put_there() {
    let mut slice = slice_that_holds("Cache", 128, 128, 1);
    slice.install(LineAddr(0), true);
    slice.install(LineAddr(2 * 6), true);
    // Of the first one nothing is to be written any more.
    for local in [4, 6] {
        slice.arrive(Cycle(0), fetch(local));
    }
    run(&mut slice, 0, 20);
    assert_eq!(slice.stats().writebacks, 1);
}

#[test]
fn an_emptied_slice_holds_nothing_and_writes_nothing() {
    let mut slice = slice();
    slice.arrive(Cycle(0), request(RequestKind::Store, 0, 0xff));
    slice.install(LineAddr(2 * 6), true);
    run(&mut slice, 0, 20);
    slice.invalidate_all();
    for local in [0, 2] {
        slice.arrive(Cycle(20), fetch(local));
    }
    run(&mut slice, 20, 40);
    assert_eq!(writes(&mut slice, 40), []);
    assert_eq!((slice.stats().read_hits, slice.stats().read_misses), (0, 2));
}

/// Stores 8 bytes to lines `stored`, which nothing else is known of; then other lines make all go.
#[track_caller]
fn check_writes_of_eight_bytes(slice: &mut Slice, stored: &[u64]) {
    for (number, &local) in stored.iter().enumerate() {
        slice.arrive(Cycle(number as u64), request(RequestKind::Store, local, 0xff));
    }
    run(slice, 0, 20);
    let before = writes(slice, 20).len();
    for local in [8, 10] {
        slice.arrive(Cycle(20), fetch(local));
    }
    run(slice, 20, 40);
    let written = writes(slice, 40);
    // The one burst that holds them, of each.
    assert_eq!((before, written.len()), (0, stored.len()), "{written:?}");
    assert!(written.iter().all(|(_, bytes)| *bytes < 128), "{written:?}");
}

#[test]
fn what_was_installed_once_leaves_no_dirty_bytes_behind() {
    let mut slice = slice();
    slice.install(LineAddr(0), true);
    slice.install(LineAddr(2 * 6), true);
    slice.invalidate_all();
    check_writes_of_eight_bytes(&mut slice, &[4, 6]);
    // The second one makes the first one clean, and is cleaned itself by the store.
    let mut slice = slice_that_holds("Cache", 128, 128, 1);
    slice.install(LineAddr(0), true);
    slice.install(LineAddr(2 * 6), true);
    slice.arrive(Cycle(0), request(RequestKind::Store, 0, 0xff));
    run(&mut slice, 0, 20);
    let cleaned: u32 = writes(&mut slice, 20).iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(cleaned, 128);
    check_writes_of_eight_bytes(&mut slice, &[0]);
}

#[test]
fn what_is_no_cache_takes_nothing() {
    let mut slice = slice_of("PassThrough", 128, 128);
    slice.install(LineAddr(0), true);
    assert!(slice.tags.ways().all(|way| slice.tags.occupant(way).is_none()));
}

#[test]
fn a_miss_takes_tag_latency_then_dram_then_data_latency_and_a_hit_needs_no_dram() {
    let mut slice = slice();
    slice.arrive(Cycle(0), fetch(0));
    run(&mut slice, 0, 3);
    assert!(!slice.has_dram_request());
    run(&mut slice, 3, 4);
    let dram = slice.take_dram_request(Cycle(0)).unwrap();
    assert_eq!((dram.address, dram.bytes, dram.write), (0, 128, false));
    slice.fill(Cycle(50), Cycle(50), dram.slot, dram.piece, Cycle(20).into());
    run(&mut slice, 50, 51);
    assert!(slice.next_reply(Cycle(54)).is_none());
    let reply = slice.take_reply(Cycle(55)).unwrap();
    assert_eq!(reply.kind, ReplyKind::Fill);
    let stamps = reply.stamps;
    let times =
        [stamps.request.at_slice, stamps.request.looked_up, stamps.dram_started, stamps.filled]
            .map(|stamp| stamp.near(Cycle(0)).0);
    assert_eq!(times, [0, 3, 20, 50]);
    assert_eq!(stamps.request.queued, 0);
    slice.arrive(Cycle(60), fetch(0));
    run(&mut slice, 60, 64);
    assert!(slice.next_reply(Cycle(67)).is_none());
    assert!(slice.next_reply(Cycle(68)).is_some());
    assert_eq!(
        slice.stats(),
        &L2Stats {
            read_misses: 1,
            read_sectors: 8,
            read_sector_hits: 4,
            read_hits: 1,
            fetches: 1,
            ..L2Stats::default()
        }
    );
}

#[test]
fn what_the_tags_are_asked_for_at_once_is_queued_one_cycle_after_the_other() {
    let mut slice = slice();
    slice.install(LineAddr(0), false);
    for _ in 0..3 {
        slice.arrive(Cycle(0), fetch(0));
    }
    run(&mut slice, 0, 20);
    let stamps =
        std::iter::from_fn(|| slice.take_reply(Cycle(20))).map(|reply| reply.stamps.request);
    let times = stamps.map(|stamps| (stamps.looked_up.near(Cycle(0)).0, stamps.queued));
    assert_eq!(times.collect::<Vec<_>>(), [(3, 0), (4, 1), (5, 2)]);
}

#[test]
fn an_entry_serves_two_fetches_and_the_third_waits() {
    let mut slice = slice();
    for _ in 0..3 {
        slice.arrive(Cycle(0), fetch(0));
    }
    run(&mut slice, 0, 10);
    let stats = slice.stats().clone();
    assert_eq!((stats.read_misses, stats.read_merged, stats.stall_nomerger), (1, 1, 5));
    let dram = slice.take_dram_request(Cycle(0)).unwrap();
    slice.fill(Cycle(10), Cycle(10), dram.slot, dram.piece, Cycle(10).into());
    run(&mut slice, 10, 12);
    assert_eq!(slice.stats().read_hits, 1);
    assert_eq!(slice.stats().stall_nomerger, 5);
}

#[test]
fn every_resource_has_its_own_refusal() {
    // Three lines of one set with two ways.
    let mut by_line = slice();
    // Three lines of two sets with two MSHR entries.
    let mut by_entry = slice();
    for (slice, locals) in [(&mut by_line, [0, 2, 4]), (&mut by_entry, [0, 1, 2])] {
        for local in locals {
            slice.arrive(Cycle(0), fetch(local));
        }
        run(slice, 0, 6);
    }
    assert_eq!(by_line.stats().stall_nocacheline, 1);
    assert_eq!(by_entry.stats().stall_nomshrline, 1);
}

#[test]
fn a_write_takes_a_line_without_a_fetch_and_goes_back_when_room_is_needed() {
    let mut slice = slice();
    slice.arrive(Cycle(0), request(RequestKind::Store, 0, 0xffff_ffff));
    run(&mut slice, 0, 4);
    assert!(!slice.has_dram_request());
    assert_eq!(slice.take_reply(Cycle(8)).unwrap().kind, ReplyKind::Ack);
    for (start, local) in [(10, 2), (20, 4)] {
        slice.arrive(Cycle(start), fetch(local));
        run(&mut slice, start, start + 5);
        if let Some(dram) = slice.take_dram_request(Cycle(0)).filter(|dram| !dram.write) {
            slice.fill(
                Cycle(start + 5),
                Cycle(start + 5),
                dram.slot,
                dram.piece,
                Cycle(start).into(),
            );
            run(&mut slice, start + 5, start + 8);
        }
    }
    // The third line pushed the dirty one out: one burst of 64 bytes, then the fetch.
    assert_eq!(slice.stats().writebacks, 1);
    assert!(!slice.take_dram_request(Cycle(0)).unwrap().write);
}

#[test]
fn the_oldest_dirty_line_of_a_set_is_cleaned_when_there_is_one_too_many_and_stays() {
    let mut slice = slice_that_holds("Cache", 128, 128, 1);
    let store = |local| request(RequestKind::Store, local, 0xff);
    slice.arrive(Cycle(0), store(0));
    slice.arrive(Cycle(0), store(0));
    run(&mut slice, 0, 6);
    assert!(!slice.has_dram_request(), "one line, however often it is written");
    slice.arrive(Cycle(6), store(2));
    run(&mut slice, 6, 12);
    let write = slice.take_dram_request(Cycle(11)).unwrap();
    assert_eq!((write.write, write.bytes, write.address), (true, 64, 0));
    assert_eq!(slice.stats().writebacks, 1);
    slice.arrive(Cycle(12), request(RequestKind::Load, 0, 0x0f));
    run(&mut slice, 12, 18);
    assert_eq!((slice.stats().read_hits, slice.has_dram_request()), (1, false));
}

#[test]
fn a_read_of_bytes_that_were_written_hits_and_one_of_other_bytes_fetches_the_line() {
    let mut slice = slice();
    slice.arrive(Cycle(0), request(RequestKind::Store, 0, 0xff));
    slice.arrive(Cycle(0), request(RequestKind::Load, 0, 0x0f));
    run(&mut slice, 0, 6);
    assert_eq!(slice.stats().read_hits, 1);
    slice.arrive(Cycle(6), fetch(0));
    run(&mut slice, 6, 12);
    assert_eq!(slice.stats().read_misses, 1);
    let dram = slice.take_dram_request(Cycle(0)).unwrap();
    slice.fill(Cycle(20), Cycle(20), dram.slot, dram.piece, Cycle(15).into());
    run(&mut slice, 20, 21);
    // Still dirty: it goes back when its way is needed.
    for local in [2, 4] {
        slice.arrive(Cycle(30), request(RequestKind::Store, local, 0xff));
    }
    run(&mut slice, 30, 36);
    let write = slice.take_dram_request(Cycle(0)).unwrap();
    assert_eq!((write.write, write.bytes, write.address), (true, 64, 0));
}

#[test]
fn an_atomic_fetches_its_line_and_leaves_it_dirty() {
    let mut slice = slice();
    slice.arrive(Cycle(0), request(RequestKind::Atomic, 0, 0xf));
    run(&mut slice, 0, 5);
    let dram = slice.take_dram_request(Cycle(0)).unwrap();
    slice.fill(Cycle(9), Cycle(9), dram.slot, dram.piece, Cycle(6).into());
    run(&mut slice, 9, 10);
    let reply = slice.take_reply(Cycle(14)).unwrap();
    assert_eq!((reply.kind, reply.data_bytes), (ReplyKind::Data, 4));
    assert_eq!(slice.stats().atomics, 1);
    for local in [2, 4] {
        slice.arrive(Cycle(30), request(RequestKind::Store, local, 0xff));
    }
    run(&mut slice, 30, 36);
    assert!(slice.take_dram_request(Cycle(0)).unwrap().write);
}

/// A sector of a line of four, as bytes.
const SECTOR: u128 = 0xffff_ffff;

/// Answers every DRAM request at `now`; gives their addresses and sizes.
fn serve(slice: &mut Slice, now: u64) -> Vec<(u64, u32, bool)> {
    let mut seen = Vec::new();
    while let Some(request) = slice.take_dram_request(Cycle(now)) {
        seen.push((request.address, request.bytes, request.write));
        if !request.write {
            slice.fill(Cycle(now), Cycle(now), request.slot, request.piece, Cycle(now).into());
        }
    }
    seen
}

#[test]
fn a_sectored_slice_fetches_the_sectors_that_are_wanted_and_missing() {
    // Bursts of this memory have 64 bytes: a sector of 64.
    let half = SECTOR | SECTOR << 32;
    let mut slice = slice_of("Cache", 64, 64);
    slice.arrive(Cycle(0), request(RequestKind::Fetch, 0, SECTOR << 64));
    slice.arrive(Cycle(1), request(RequestKind::Fetch, 0, half));
    run(&mut slice, 0, 6);
    // The second wants the other sector of the same entry.
    assert_eq!((slice.stats().read_misses, slice.stats().fetches), (2, 2));
    assert_eq!(serve(&mut slice, 10), [(64, 64, false), (0, 64, false)]);
    run(&mut slice, 10, 20);
    let bytes: Vec<u128> = std::iter::from_fn(|| slice.take_reply(Cycle(30)))
        .map(|reply| reply.sectors.bytes())
        .collect();
    assert_eq!(bytes, [SECTOR << 64, half]);
    slice.arrive(Cycle(30), request(RequestKind::Fetch, 0, !0));
    run(&mut slice, 30, 40);
    assert_eq!(slice.stats().read_hits, 1);
    assert!(!slice.has_dram_request());
}

#[test]
fn the_dram_begins_with_a_request_when_it_begins_with_the_first_of_its_sectors() {
    let mut slice = slice_of("Cache", 32, 32);
    slice.arrive(Cycle(0), fetch(0));
    run(&mut slice, 0, 4);
    for (number, started) in [30, 20, 40, 50].into_iter().enumerate() {
        let dram = slice.take_dram_request(Cycle(4)).unwrap();
        let now = Cycle(60 + number as u64);
        slice.fill(now, now, dram.slot, dram.piece, Cycle(started).into());
    }
    run(&mut slice, 63, 64);
    let stamps = slice.take_reply(Cycle(70)).unwrap().stamps;
    assert_eq!(stamps.dram_started.near(Cycle(0)), Cycle(20));
    assert_eq!(stamps.filled.near(Cycle(0)), Cycle(63));
}

#[test]
fn what_changes_at_home_while_a_copy_is_on_its_way_leaves_none() {
    let machine = crate::config::presets::find("h200").unwrap().machine().unwrap();
    let mut slice = Slice::new(&machine, 0);
    // A line of the second slice, as the first one keeps it.
    let line = (0..).map(LineAddr).find(|line| slice.map.home(*line) == 1).unwrap();
    let at_home = slice.map.within_slice(line);
    let mut now = 0;
    let mut read = |slice: &mut Slice, sector: u32| {
        let bytes = 0xffff_ffff << (32 * sector);
        let kind = RequestKind::Fetch;
        slice.arrive(Cycle(now), Request { line, kind, bytes, ..Request::default() });
        run(slice, now, now + 400);
        now += 400;
        let fetch_bytes = slice.fetch_bytes;
        let piece = |bytes: u128| (bytes.trailing_zeros() / fetch_bytes) as u8;
        let request = slice.take_for_home(Cycle(now), |cycle| cycle);
        request.map(|request| (request.slot, piece(request.bytes), now))
    };
    let fill = |slice: &mut Slice, fetch: Option<(u16, u8, u64)>| {
        let (slot, piece, now) = fetch.expect("it is asked of the home");
        slice.fill(Cycle(now), Cycle(now), slot, piece, Cycle(now).into());
        // Until they have left, the replies stand for all reads of the same bytes.
        run(slice, now, now + 100);
        while let Some(reply) = slice.take_reply(Cycle(now + 100)) {
            assert_eq!(slice.take_others(&reply).count(), 0);
        }
    };
    let first = read(&mut slice, 0);
    fill(&mut slice, first);
    assert_eq!(read(&mut slice, 1), None, "the copy is here");
    let second = read(&mut slice, 2);
    slice.forget(at_home);
    let again = read(&mut slice, 0);
    assert!(again.is_some(), "what was here is gone at once");
    fill(&mut slice, second);
    fill(&mut slice, again);
    for sector in [0, 2] {
        let fetch = read(&mut slice, sector);
        assert!(fetch.is_some(), "what was on its way did not stay");
        slice.forget(at_home);
        fill(&mut slice, fetch);
    }
}

#[test]
fn what_home_had_for_a_copy_is_charged_as_it_was_there() {
    let machine = crate::config::presets::find("h200").unwrap().machine().unwrap();
    let mut slice = Slice::new(&machine, 0);
    let line = (0..).map(LineAddr).find(|line| slice.map.home(*line) == 1).unwrap();
    let kind = RequestKind::Fetch;
    slice.arrive(Cycle(0), Request { line, kind, bytes: 0xffff_ffff, ..Request::default() });
    run(&mut slice, 0, 400);
    let asked = slice.take_for_home(Cycle(400), |cycle| cycle).unwrap();
    // It would be there sooner, had it not waited until now, and waits for the tags there.
    let there = asked.stamps.looked_up.near(Cycle(400));
    assert!(there < Cycle(400), "{there:?}");
    let mut request = asked.stamps;
    request.look_up(Cycle(500));
    assert_eq!(u64::from(request.queued), 500 - there.0);
    let (dram_started, filled) = (Cycle(600).into(), Cycle(700).into());
    let found = Stamps { request, dram_started, filled, ..Stamps::default() };
    slice.fill_from_home(Cycle(800), Cycle(800), asked.slot, 0, &found);
    run(&mut slice, 800, 1200);
    let stamps = slice.take_reply(Cycle(1200)).unwrap().stamps;
    let times = [stamps.request.looked_up, stamps.dram_started, stamps.filled];
    assert_eq!(times.map(|stamp| stamp.near(Cycle(500)).0), [500, 600, 700]);
    assert_eq!(stamps.request.queued, request.queued);
    assert!(!stamps.merged_at_l2);
}

#[test]
fn of_a_line_that_is_outstanding_only_what_was_written_can_be_read() {
    let (half, word) = ((SECTOR | SECTOR << 32) << 64, 0xf << 64);
    for is_written in [false, true] {
        let mut slice = slice_of("Cache", 64, 64);
        slice.arrive(Cycle(0), request(RequestKind::Fetch, 0, half));
        if is_written {
            slice.arrive(Cycle(0), request(RequestKind::Store, 0, word));
        }
        slice.arrive(Cycle(0), request(RequestKind::Load, 0, word));
        run(&mut slice, 0, 6);
        let expected = if is_written { (1, 0) } else { (0, 1) };
        assert_eq!((slice.stats().read_hits, slice.stats().read_merged), expected);
        if is_written {
            slice.arrive(Cycle(6), request(RequestKind::Load, 0, word << 4));
            run(&mut slice, 6, 10);
            assert_eq!((slice.stats().read_hits, slice.stats().read_merged), (1, 1));
        }
        // The other half comes later, and is no more valid before than this one.
        slice.arrive(Cycle(10), request(RequestKind::Load, 0, 0xf));
        run(&mut slice, 10, 14);
        let stats = slice.stats();
        assert_eq!((stats.read_misses, stats.stall_nomerger), (1, 1));
        assert_eq!(serve(&mut slice, 14), [(64, 64, false)]);
        run(&mut slice, 14, 30);
        assert_eq!(serve(&mut slice, 30), [(0, 64, false)]);
        slice.arrive(Cycle(30), fetch(0));
        run(&mut slice, 30, 40);
        assert_eq!((slice.stats().read_hits, slice.has_dram_request()), (expected.0 + 1, false));
    }
}

#[test]
fn a_slice_that_passes_through_keeps_nothing() {
    let mut slice = slice_of("PassThrough", 64, 64);
    for start in [0, 20] {
        slice.arrive(Cycle(start), request(RequestKind::Load, 0, SECTOR));
        run(&mut slice, start, start + 5);
        assert_eq!(serve(&mut slice, start + 6), [(0, 64, false)]);
        run(&mut slice, start + 6, start + 15);
        assert_eq!(slice.take_reply(Cycle(start + 15)).unwrap().sectors.bytes(), SECTOR);
    }
    slice.arrive(Cycle(40), request(RequestKind::Store, 0, 0xff << 64));
    slice.arrive(Cycle(41), request(RequestKind::Atomic, 0, 0xf));
    run(&mut slice, 40, 50);
    assert_eq!(serve(&mut slice, 50), [(64, 64, true), (0, 64, false), (0, 64, true)]);
    run(&mut slice, 50, 60);
    assert_eq!(slice.take_reply(Cycle(60)).unwrap().kind, ReplyKind::Ack);
    assert_eq!(slice.take_reply(Cycle(60)).unwrap().kind, ReplyKind::Data);
    assert!(slice.is_idle());
    assert_eq!((slice.stats().read_misses, slice.stats().write_misses), (3, 1));
}

/// How a slice is driven.
#[derive(Clone, Copy, PartialEq)]
enum Driven {
    Plainly,
    /// A refused request looks again in every cycle.
    Again,
    /// A request that alone waits for its line is released with its data.
    AtOnce,
}

/// What a slice gives its requests to: every so many cycles one for the DRAM, which answers so many cycles later, and every so many
/// cycles a reply.
#[derive(Clone, Copy, Debug)]
struct Surroundings {
    per_dram_request: u64,
    dram_latency: u64,
    per_reply: u64,
}

/// Offers `requests` as fast as the slice takes them. Gives the slots of the replies in order.
fn drain(
    mut slice: Slice,
    requests: &[Request],
    around: Surroundings,
    driven: Driven,
) -> (Slice, Vec<u16>) {
    let mut offered = requests.iter();
    let mut next = offered.next();
    let mut dram: VecDeque<(u64, u16, u8)> = VecDeque::new();
    let mut seen = Vec::new();
    for now in 0.. {
        let cycle = Cycle(now);
        assert!(now < 100_000, "no end: {slice:?}");
        let mut has_released = false;
        slice.go_on_with_place(cycle);
        if dram.front().is_some_and(|&(due, ..)| due <= now) {
            let (_, slot, piece) = dram.pop_front().unwrap();
            match driven {
                Driven::AtOnce => {
                    has_released = slice.fill_and_release(cycle, cycle, slot, piece, cycle.into());
                }
                _ => slice.fill(cycle, cycle, slot, piece, cycle.into()),
            }
        }
        if driven == Driven::Again {
            slice.look_anew(cycle);
        }
        let (before, refusals_before, replies_before) = slice.state();
        slice.tick_plain(cycle, cycle, has_released);
        let (after, refusals, replies) = slice.state();
        // Besides the lookup, a tick releases a request whose line has arrived: it becomes a reply.
        if refusals > refusals_before && replies == replies_before {
            assert!(before == after, "a refusal changed state");
        }
        if now.is_multiple_of(around.per_dram_request)
            && let Some(request) = slice.take_dram_request(cycle)
            && !request.write
        {
            dram.push_back((now + around.dram_latency, request.slot, request.piece));
        }
        if now.is_multiple_of(around.per_reply)
            && let Some(reply) = slice.take_reply(cycle)
        {
            seen.push(reply.slot);
        }
        if let Some(request) = next
            && slice.has_room()
        {
            slice.arrive(cycle + 1, *request);
            next = offered.next();
        }
        if next.is_none() && slice.is_idle() && dram.is_empty() {
            return (slice, seen);
        }
    }
    unreachable!("the loop has no end")
}

proptest! {
    #[test]
    fn random_requests_are_answered_once_and_refusals_change_nothing(
        wanted in prop::collection::vec((0u64..8, 0u32..4, any::<u8>()), 1..120),
        lines in 3u64..9,
        (per_dram_request, dram_latency, per_reply) in (1u64..40, 1u64..40, 1u64..20),
        mode in prop::sample::select(vec!["Cache", "PassThrough"]),
        (mergers, data_latency, reply_queue) in (1u32..6, 1u32..6, 1u32..5),
        (sector, fetch) in
            prop::sample::select(vec![(128, 128), (128, 64), (64, 64), (64, 32), (32, 32)]),
    ) {
        let kinds =
            [RequestKind::Fetch, RequestKind::Load, RequestKind::Store, RequestKind::Atomic];
        let requests: Vec<Request> = wanted
            .iter()
            .enumerate()
            .map(|(number, &(local, kind, bytes))| {
                let bytes = u128::from(bytes.max(1)) << (local * 8);
                let request = request(kinds[kind as usize], local % lines, bytes);
                Request { slot: number as u16, ..request }
            })
            .collect();
        let around = Surroundings { per_dram_request, dram_latency, per_reply };
        let machine = machine((mode, sector, fetch), 2, "Unlimited", [mergers, data_latency, reply_queue]);
        let drained = |driven| drain(Slice::new(&machine, 0), &requests, around, driven);
        let (slice, mut seen) = drained(Driven::Plainly);
        for driven in [Driven::Again, Driven::AtOnce] {
            let (other, others) = drained(driven);
            prop_assert_eq!((other.stats(), &others), (slice.stats(), &seen));
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..requests.len() as u16).collect::<Vec<_>>());
        let stats = slice.stats();
        let stores = requests.iter().filter(|request| request.kind == RequestKind::Store).count();
        prop_assert_eq!(stats.write_hits + stats.write_misses, stores as u64);
        prop_assert_eq!(stats.reads(), (requests.len() - stores) as u64);
    }
}
