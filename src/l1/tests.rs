//! One behaviour a test, on caches small enough to see.

use proptest::prelude::*;

use super::*;
use crate::config::machine::L1Config;
use crate::parts::{Access, AccessKind, DataCache, Outcome, Refusal, Reply, ReplyKind, Waiter};
use crate::units::{Cycle, LineAddr};

fn cache(sets: u32, ways: u32, entries: u32, mergers: u32, miss_queue: u32) -> L1 {
    let text = format!(
        "(size: {}, sets: {sets}, ways: {ways}, line: 128, index: Linear, replacement: Lru, \
         global_loads: Cached, mshr_entries: {entries}, mshr_mergers: {mergers}, \
         miss_queue: {miss_queue}, tag_latency: 0, hit_latency: 4, fill_latency: 1, \
         releases_per_cycle: 1)",
        sets * ways * 128
    );
    let config: L1Config = ron::from_str(&text).unwrap();
    L1::new(&config, 0)
}

fn load(line: u64) -> Access {
    Access {
        line: LineAddr(line),
        bytes: !0,
        kind: AccessKind::Load,
        waiter: Waiter { tracker: line as u16, ..Waiter::default() },
    }
}

/// Offers loads of `lines`, one a cycle; checks that refusals change nothing.
fn offer(l1: &mut L1, lines: &[u64]) -> Vec<Result<Outcome, Refusal>> {
    let offer_one = |(now, &line): (usize, &u64)| {
        let before = l1.state();
        let outcome = l1.access(Cycle(now as u64), load(line));
        if outcome.is_err() {
            assert!(before == l1.state(), "a refusal changed state");
        }
        outcome
    };
    lines.iter().enumerate().map(offer_one).collect()
}

#[test]
fn a_full_mshr_entry_refuses_a_merge() {
    let mut l1 = cache(4, 1, 4, 2, 8);
    let seen = offer(&mut l1, &[0, 0, 0]);
    assert_eq!(seen, [Ok(Outcome::Miss), Ok(Outcome::Merged), Err(Refusal::NoMerger)]);
}

#[test]
fn a_full_mshr_file_refuses_a_miss() {
    let mut l1 = cache(4, 1, 1, 2, 8);
    assert_eq!(offer(&mut l1, &[0, 1]), [Ok(Outcome::Miss), Err(Refusal::NoMshrLine)]);
}

#[test]
fn a_set_whose_ways_are_all_reserved_refuses_a_miss() {
    let mut l1 = cache(4, 2, 4, 2, 8);
    let seen = offer(&mut l1, &[0, 4, 8, 1]);
    let expected =
        [Ok(Outcome::Miss), Ok(Outcome::Miss), Err(Refusal::NoCacheLine), Ok(Outcome::Miss)];
    assert_eq!(seen, expected);
}

#[test]
fn a_missing_line_is_reported_before_a_missing_mshr_entry_and_that_before_a_full_queue() {
    let mut l1 = cache(4, 1, 1, 2, 1);
    assert_eq!(offer(&mut l1, &[0, 4])[1], Err(Refusal::NoCacheLine));
    let mut l1 = cache(4, 1, 1, 2, 1);
    assert_eq!(offer(&mut l1, &[0, 1])[1], Err(Refusal::NoMshrLine));
    let mut l1 = cache(4, 1, 2, 2, 1);
    assert_eq!(offer(&mut l1, &[0, 1])[1], Err(Refusal::MissQueue));
}

#[test]
fn a_merge_needs_no_room_in_the_miss_queue() {
    let mut l1 = cache(4, 1, 2, 2, 1);
    assert_eq!(offer(&mut l1, &[0, 0])[1], Ok(Outcome::Merged));
}

fn answer(l1: &mut L1, now: u64) {
    let request = l1.take_request(Cycle(now)).unwrap();
    assert_eq!(request.reply(128).kind, ReplyKind::Fill);
    l1.fill(Cycle(now), &request.reply(128));
}

#[test]
fn a_line_that_arrived_hits_while_its_entry_still_releases() {
    let mut l1 = cache(4, 1, 1, 2, 8);
    offer(&mut l1, &[0, 0]);
    answer(&mut l1, 10);
    assert_eq!(l1.release(Cycle(10)), None);
    assert!(!l1.release(Cycle(11)).unwrap().merged);
    assert_eq!(l1.access(Cycle(11), load(0)), Ok(Outcome::Hit));
    assert_eq!(l1.access(Cycle(11), load(1)), Err(Refusal::NoMshrLine));
    assert!(l1.release(Cycle(12)).unwrap().merged);
    assert_eq!(l1.access(Cycle(12), load(1)), Ok(Outcome::Miss));
}

#[test]
fn a_store_drops_a_present_line_and_goes_on() {
    let mut l1 = cache(4, 1, 1, 2, 8);
    offer(&mut l1, &[0]);
    answer(&mut l1, 5);
    l1.release(Cycle(6)).unwrap();
    let store = Access { kind: AccessKind::Store, bytes: 0xff, ..load(0) };
    assert_eq!(l1.access(Cycle(7), store), Ok(Outcome::Sent));
    assert_eq!(l1.take_request(Cycle(7)).unwrap().data_bytes(), 8);
    assert_eq!(l1.access(Cycle(8), load(0)), Ok(Outcome::Miss));
    assert_eq!(l1.stats().store_evictions, 1);
}

#[test]
fn a_load_past_the_tags_comes_back_to_its_waiter() {
    let mut l1 = cache(4, 1, 1, 2, 8);
    let access = Access { kind: AccessKind::BypassLoad, bytes: 0xf, ..load(3) };
    assert_eq!(l1.access(Cycle(1), access), Ok(Outcome::Sent));
    let reply: Reply = l1.take_request(Cycle(1)).unwrap().reply(128);
    assert_eq!((reply.kind, reply.data_bytes), (ReplyKind::Data, 4));
    assert_eq!(l1.bypass_arrived(&reply).tracker, 3);
    assert!(l1.is_idle());
}

/// Loads the same lines again and again; returns the most accesses that were outstanding at once.
fn most_outstanding(l1: &mut L1, lines: &[u64]) -> usize {
    for now in 0..4096 {
        let line = lines[now % lines.len()];
        let _ = l1.access(Cycle(now as u64), load(line));
        let _ = l1.take_request(Cycle(now as u64));
    }
    l1.outstanding()
}

#[test]
fn the_three_bounds_on_outstanding_accesses_are_reached_and_never_passed() {
    // Section IV of the paper: (sets, ways, entries, mergers).
    for (sets, ways, entries, mergers) in
        [(32, 4, 32, 8), (4, 2, 32, 8), (32, 4, 2, 3), (8, 4, 3, 1), (1, 1, 1, 1)]
    {
        let new = || cache(sets, ways, entries, mergers, 64);
        let all: Vec<u64> = (0..4096).collect();
        let lines = sets * ways;
        // A line must be asked for `mergers` times before the next one comes.
        let each: Vec<u64> = all.iter().flat_map(|&line| vec![line; mergers as usize]).collect();
        assert_eq!(most_outstanding(&mut new(), &each), (mergers * lines.min(entries)) as usize);
        let one_set: Vec<u64> = each.iter().map(|line| line * u64::from(sets)).collect();
        assert_eq!(most_outstanding(&mut new(), &one_set), (mergers * ways.min(entries)) as usize);
        assert_eq!(most_outstanding(&mut new(), &[7]), mergers as usize);
    }
}

proptest! {
    /// Random traffic against a memory that answers after a while: every load is served exactly once,
    /// every miss filled exactly once, refusals change nothing, the bounds hold, all drains.
    #[test]
    fn random_traffic_is_served_once_and_drains(
        sets in 0u32..4, ways in 1u32..4, entries in 1u32..6, mergers in 1u32..5, queue in 1u32..4,
        lines in prop::collection::vec(0u64..24, 1..200), delay in 1u64..40,
    ) {
        let sets = 1 << sets;
        let mut l1 = cache(sets, ways, entries, mergers, queue);
        let (mut served, mut fills, mut next) = (0, 0, 0);
        let mut memory = std::collections::VecDeque::new();
        let mut now = 0;
        while next < lines.len() || !l1.is_idle() || !memory.is_empty() {
            now += 1;
            prop_assert!(now < 100_000, "traffic does not drain");
            if memory.front().is_some_and(|(due, _)| *due <= now) {
                let (_, reply): (u64, Reply) = memory.pop_front().unwrap();
                l1.fill(Cycle(now), &reply);
                fills += 1;
            }
            if l1.release(Cycle(now)).is_some() {
                served += 1;
            }
            if next < lines.len() {
                let before = l1.state();
                match l1.access(Cycle(now), load(lines[next])) {
                    Ok(Outcome::Hit) => (served, next) = (served + 1, next + 1),
                    Ok(_) => next += 1,
                    Err(_) => prop_assert!(before == l1.state(), "a refusal changed state"),
                }
            }
            prop_assert!(l1.outstanding() as u32 <= mergers * entries.min(sets * ways));
            if now % 3 == 0 && let Some(request) = l1.take_request(Cycle(now)) {
                memory.push_back((now + delay, request.reply(128)));
            }
        }
        prop_assert_eq!(served, lines.len());
        prop_assert_eq!(fills, l1.stats().load_misses);
        prop_assert_eq!(l1.stats().loads(), lines.len() as u64);
    }
}
