//! One behaviour a test, on caches small enough to see.

use proptest::prelude::*;

use super::*;
use crate::config::machine::L1Config;
use crate::parts::{
    Access, AccessKind, DataCache, Outcome, Refusal, Reply, ReplyKind, RequestKind, Waiter,
};
use crate::units::{Cycle, LineAddr};

fn cache(sets: u32, ways: u32, entries: u32, mergers: u32, miss_queue: u32) -> L1 {
    sectored(sets, ways, entries, mergers, miss_queue, (128, "Evict"))
}

/// Whether the next access waited for another one's fetch, and who is told, if one is released.
fn release(l1: &mut L1, now: u64) -> Option<(bool, Waiter)> {
    l1.release(Cycle(now)).map(|released| (released.merged, *released.waiter))
}

/// As `cache`, with the size of a sector and what stores do.
fn sectored(
    sets: u32,
    ways: u32,
    entries: u32,
    mergers: u32,
    miss_queue: u32,
    (sector, stores): (u32, &str),
) -> L1 {
    let text = format!(
        "(size: {}, sets: {sets}, ways: {ways}, line: 128, sector: {sector}, index: Linear, \
         replacement: Lru, global_loads: Cached, local_loads: Cached, stores: {stores}, local_stores: {stores}, past_loads: Drop, acquires: Empty, hints: Followed(last_ways: 1), mshr_entries: {entries}, mshr_mergers: {mergers}, \
         miss_queue: {miss_queue}, tag_latency: 0, hit_latency: 4, fill_latency: 1, \
         releases_per_cycle: 1)",
        sets * ways * 128
    );
    let config: L1Config = crate::config::parse::stated(&text);
    L1::new(&config, 0)
}

fn load(line: u64) -> Access {
    Access {
        line: LineAddr(line),
        bytes: !0,
        kind: AccessKind::Load,
        atomic_work: 0,
        waiter: Waiter { tracker: line as u32, ..Waiter::default() },
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
    let request = l1.take_request().unwrap();
    assert_eq!(request.reply().kind, ReplyKind::Fill);
    l1.fill(Cycle(now), &request.reply());
}

#[test]
fn a_line_that_arrived_hits_while_its_entry_still_releases() {
    let mut l1 = cache(4, 1, 1, 2, 8);
    offer(&mut l1, &[0, 0]);
    answer(&mut l1, 10);
    assert_eq!(release(&mut l1, 10), None);
    assert!(!release(&mut l1, 11).unwrap().0);
    assert_eq!(l1.access(Cycle(11), load(0)), Ok(Outcome::Hit));
    assert_eq!(l1.access(Cycle(11), load(1)), Err(Refusal::NoMshrLine));
    assert!(release(&mut l1, 12).unwrap().0);
    assert_eq!(l1.access(Cycle(12), load(1)), Ok(Outcome::Miss));
}

#[test]
fn a_store_drops_a_present_line_and_goes_on() {
    let mut l1 = cache(4, 1, 1, 2, 8);
    offer(&mut l1, &[0]);
    answer(&mut l1, 5);
    release(&mut l1, 6).unwrap();
    let store = Access { kind: AccessKind::Store, bytes: 0xff, ..load(0) };
    assert_eq!(l1.access(Cycle(7), store), Ok(Outcome::Sent));
    assert_eq!(l1.take_request().unwrap().data_bytes(1, 0), 8);
    assert_eq!(l1.access(Cycle(8), load(0)), Ok(Outcome::Miss));
    assert_eq!(l1.stats().store_evictions, 1);
}

#[test]
fn a_store_drops_sectors_that_are_here_at_once_and_others_as_they_arrive() {
    let mut l1 = sectored(4, 1, 4, 8, 8, (32, "Drop"));
    let sector = |number: u32| SECTOR << (32 * number);
    let offer = |l1: &mut L1, number, kind| l1.access(Cycle(0), access(0, sector(number), kind));
    let (load, store) = (AccessKind::Load, AccessKind::Store);
    offer(&mut l1, 0, load).unwrap();
    assert_eq!(answer_oldest(&mut l1, 0), sector(0));
    // The first sector is here, and two others are on their way.
    offer(&mut l1, 1, load).unwrap();
    offer(&mut l1, 2, load).unwrap();
    assert_eq!(offer(&mut l1, 0, load), Ok(Outcome::Hit));
    offer(&mut l1, 0, store).unwrap();
    offer(&mut l1, 1, store).unwrap();
    // A store counts when it is made, and once.
    assert_eq!(l1.stats().store_evictions, 2);
    assert_eq!(offer(&mut l1, 1, load), Ok(Outcome::Merged));
    assert_eq!(answer_oldest(&mut l1, 0), sector(1));
    assert_eq!(l1.stats().store_evictions, 2);
    assert_eq!(offer(&mut l1, 1, load), Ok(Outcome::Miss));
    assert_eq!(answer_oldest(&mut l1, 0), sector(2));
    assert_eq!(offer(&mut l1, 2, load), Ok(Outcome::Hit));
    assert_eq!(offer(&mut l1, 0, load), Ok(Outcome::Miss));
}

#[test]
fn a_line_whose_only_sector_is_stored_to_on_its_way_does_not_stay() {
    let mut l1 = sectored(4, 1, 4, 4, 8, (32, "Drop"));
    for kind in [AccessKind::Load, AccessKind::Store] {
        l1.access(Cycle(0), access(0, 1, kind)).unwrap();
    }
    answer_oldest(&mut l1, 0);
    assert_eq!(l1.access(Cycle(0), access(0, 1, AccessKind::Load)), Ok(Outcome::Miss));
    assert_eq!((l1.stats().store_evictions, l1.stats().sector_misses), (1, 0));
}

#[test]
fn a_load_past_the_tags_comes_back_to_its_waiter() {
    let mut l1 = cache(4, 1, 1, 2, 8);
    let access = Access { kind: AccessKind::BypassLoad, bytes: 0xf, ..load(3) };
    assert_eq!(l1.access(Cycle(1), access), Ok(Outcome::Sent));
    let reply: Reply = l1.take_request().unwrap().reply();
    assert_eq!((reply.kind, reply.data_bytes), (ReplyKind::Data, 32));
    assert_eq!(l1.bypass_arrived(&reply).tracker, 3);
    assert!(l1.is_idle());
}

#[test]
fn a_load_past_the_tags_that_finds_no_slot_waits_for_one() {
    let mut l1 = cache(4, 1, 1, 2, 8);
    let access = Access { kind: AccessKind::BypassLoad, bytes: 0xf, ..load(3) };
    let mut first = None;
    for now in 0..1 << 16 {
        assert_eq!(l1.access(Cycle(now), access), Ok(Outcome::Sent));
        first = first.or(l1.take_request());
        l1.take_request();
    }
    let standing = l1.changes(Refusal::MissQueue);
    assert_eq!(l1.access(Cycle(1 << 16), access), Err(Refusal::MissQueue));
    assert_eq!(l1.changes(Refusal::MissQueue), standing);
    l1.bypass_arrived(&first.unwrap().reply());
    assert!(l1.changes(Refusal::MissQueue) > standing);
    assert_eq!(l1.access(Cycle(1 << 16), access), Ok(Outcome::Sent));
    assert_eq!(l1.take_request().unwrap().slot, first.unwrap().slot);
}

/// Loads the same lines again and again; returns the most accesses that were outstanding at once.
fn most_outstanding(l1: &mut L1, lines: &[u64]) -> usize {
    for now in 0..4096 {
        let line = lines[now % lines.len()];
        let _ = l1.access(Cycle(now as u64), load(line));
        let _ = l1.take_request();
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

/// A sector of a line of four, as bytes.
const SECTOR: u128 = 0xffff_ffff;

fn access(line: u64, bytes: u128, kind: AccessKind) -> Access {
    Access { bytes, kind, ..load(line) }
}

/// Takes the oldest fetch, and the stores before it, and answers it.
fn answer_oldest(l1: &mut L1, now: u64) -> u128 {
    let mut requests = std::iter::from_fn(|| l1.take_request());
    let request = requests.find(|request| request.kind != RequestKind::Store).unwrap();
    l1.fill(Cycle(now), &request.reply());
    request.bytes
}

#[test]
fn a_sectored_miss_fetches_the_sectors_it_wants_and_a_later_one_the_others() {
    let mut l1 = sectored(4, 1, 4, 4, 8, (32, "Evict"));
    let both = SECTOR | SECTOR << 32;
    assert_eq!(l1.access(Cycle(0), access(0, 1, AccessKind::Load)), Ok(Outcome::Miss));
    assert_eq!(l1.access(Cycle(1), access(0, 2, AccessKind::Load)), Ok(Outcome::Merged));
    // The second sector is fetched beside the first, for the same entry.
    assert_eq!(l1.access(Cycle(2), access(0, both, AccessKind::Load)), Ok(Outcome::Miss));
    assert_eq!(l1.outstanding(), 3);
    assert_eq!(answer_oldest(&mut l1, 10), SECTOR);
    assert_eq!(l1.outstanding(), 1);
    let first = release(&mut l1, 11).unwrap();
    let second = release(&mut l1, 11).unwrap();
    assert_eq!((first.0, second.0), (false, true));
    assert!(release(&mut l1, 11).is_none());
    // The sector that is here hits while the other is on its way.
    assert_eq!(l1.access(Cycle(12), access(0, 4, AccessKind::Load)), Ok(Outcome::Hit));
    assert_eq!(answer_oldest(&mut l1, 20), SECTOR << 32);
    assert!(!release(&mut l1, 21).unwrap().0);
    assert!(l1.is_idle());
    assert_eq!(l1.access(Cycle(30), access(0, both, AccessKind::Load)), Ok(Outcome::Hit));
    let third = SECTOR << 64;
    assert_eq!(l1.access(Cycle(31), access(0, third | 1, AccessKind::Load)), Ok(Outcome::Miss));
    assert_eq!(answer_oldest(&mut l1, 40), third);
    assert_eq!(l1.stats().sector_misses, 2);
}

#[test]
fn a_store_evicts_updates_or_validates() {
    let outcome = |stores, first: AccessKind| {
        let mut l1 = sectored(4, 1, 4, 4, 8, (32, stores));
        if first == AccessKind::Load {
            l1.access(Cycle(0), access(0, 1, AccessKind::Load)).unwrap();
            answer_oldest(&mut l1, 1);
            release(&mut l1, 2).unwrap();
        }
        l1.access(Cycle(3), access(0, 0xf, AccessKind::Store)).unwrap();
        l1.access(Cycle(4), access(0, 0x6, AccessKind::Load)).unwrap()
    };
    assert_eq!(outcome("Evict", AccessKind::Load), Outcome::Miss);
    assert_eq!(outcome("Update", AccessKind::Load), Outcome::Hit);
    assert_eq!(outcome("Update", AccessKind::Store), Outcome::Miss);
    assert_eq!(outcome("Validate", AccessKind::Load), Outcome::Hit);
    assert_eq!(outcome("Validate", AccessKind::Store), Outcome::Hit);
}

#[test]
fn bytes_beside_validated_ones_are_fetched_with_their_sector() {
    let mut l1 = sectored(4, 1, 4, 4, 8, (32, "Validate"));
    l1.access(Cycle(0), access(0, 0xf, AccessKind::Store)).unwrap();
    assert_eq!(l1.take_request().unwrap().bytes, 0xf);
    assert_eq!(l1.access(Cycle(1), access(0, 0x1f, AccessKind::Load)), Ok(Outcome::Miss));
    assert_eq!(answer_oldest(&mut l1, 2), SECTOR);
}

#[test]
fn a_store_that_finds_every_way_reserved_goes_on_without_a_line() {
    let mut l1 = sectored(1, 1, 4, 4, 8, (32, "Validate"));
    l1.access(Cycle(0), access(0, 1, AccessKind::Load)).unwrap();
    assert_eq!(l1.access(Cycle(1), access(1, 1, AccessKind::Store)), Ok(Outcome::Sent));
    assert_eq!(l1.access(Cycle(2), access(1, 1, AccessKind::Load)), Err(Refusal::NoCacheLine));
}

#[test]
fn a_cache_takes_another_number_of_ways_between_kernels() {
    let mut l1 = cache(4, 1, 4, 2, 8);
    l1.set_ways(2);
    let seen = offer(&mut l1, &[0, 4, 8]);
    assert_eq!(seen, [Ok(Outcome::Miss), Ok(Outcome::Miss), Err(Refusal::NoCacheLine)]);
}

proptest! {
    /// Random traffic against a memory that answers after a while: every load is served exactly once,
    /// Every miss filled exactly once, refusals change nothing, the bounds hold, all drains.
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
            if release(&mut l1, now).is_some() {
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
            if now % 3 == 0 && let Some(request) = l1.take_request() {
                memory.push_back((now + delay, request.reply()));
            }
        }
        prop_assert_eq!(served, lines.len());
        prop_assert_eq!(fills, l1.stats().load_misses);
        prop_assert_eq!(l1.stats().loads(), lines.len() as u64);
    }

    /// As above with sectors, stores that do each of the three things, and replies in any order.
    #[test]
    fn random_traffic_of_sectors_and_stores_is_served_once_and_drains(
        sets in 0u32..3, ways in 1u32..4, entries in 1u32..6, mergers in 1u32..5, queue in 1u32..4,
        sector in prop_oneof![Just(32u32), Just(64), Just(128)],
        stores in prop_oneof![Just("Evict"), Just("Update"), Just("Validate")],
        accesses in prop::collection::vec((0u64..12, 1u8..16, 0u8..4, 0u32..28), 1..200),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 500),
    ) {
        let mut l1 = sectored(1 << sets, ways, entries, mergers, queue, (sector, stores));
        let (mut served, mut loads, mut next) = (0, 0, 0);
        let mut memory = Vec::new();
        let mut now = 0;
        while next < accesses.len() || !l1.is_idle() || !memory.is_empty() {
            now += 1;
            prop_assert!(now < 100_000, "traffic does not drain");
            if now % 4 == 0 && !memory.is_empty() {
                let pick = picks[now as usize % picks.len()].index(memory.len());
                let reply: Reply = memory.swap_remove(pick);
                l1.fill(Cycle(now), &reply);
            }
            if release(&mut l1, now).is_some() {
                served += 1;
            }
            if let Some(&(line, wanted, kind, offset)) = accesses.get(next) {
                let store = kind == 0;
                // Some bytes of some sectors.
                let bytes = (0..4u32)
                    .filter(|sector| wanted >> sector & 1 == 1)
                    .fold(0u128, |all, sector| all | 0xf << (sector * 32 + offset));
                let kind = if store { AccessKind::Store } else { AccessKind::Load };
                let before = l1.state();
                match l1.access(Cycle(now), access(line, bytes, kind)) {
                    Ok(outcome) => {
                        next += 1;
                        loads += usize::from(!store);
                        served += usize::from(outcome == Outcome::Hit);
                    }
                    Err(_) => prop_assert!(before == l1.state(), "a refusal changed state"),
                }
            }
            prop_assert!(l1.outstanding() as u32 <= mergers * entries.min((ways) << sets));
            if now % 3 == 0 && let Some(request) = l1.take_request()
                && request.kind == RequestKind::Fetch
            {
                prop_assert_eq!(request.bytes.count_ones() % sector, 0);
                memory.push(request.reply());
            }
        }
        prop_assert_eq!(served, loads);
        prop_assert_eq!(l1.stats().fills, l1.stats().load_misses);
    }
}

#[test]
fn an_acquire_drops_lines_that_are_here_at_once_and_others_as_they_arrive() {
    let mut l1 = sectored(4, 2, 4, 8, 8, (32, "Evict"));
    let sector = |number: u32| SECTOR << (32 * number);
    let load = |l1: &mut L1, line, number| {
        l1.access(Cycle(0), access(line, sector(number), AccessKind::Load))
    };
    // A line is here, and of another one a sector is and one is on its way.
    for (line, number) in [(0, 0), (1, 0)] {
        load(&mut l1, line, number).unwrap();
        answer_oldest(&mut l1, 0);
    }
    load(&mut l1, 1, 1).unwrap();
    l1.acquire();
    assert_eq!(load(&mut l1, 0, 0), Ok(Outcome::Miss));
    assert_eq!(load(&mut l1, 1, 1), Ok(Outcome::Merged));
    // Both sectors are asked for, the first one again.
    assert_eq!(load(&mut l1, 1, 0), Ok(Outcome::Miss));
    assert_eq!(answer_oldest(&mut l1, 0), sector(1));
    assert_eq!(load(&mut l1, 1, 1), Ok(Outcome::Miss));
    while l1.outstanding() > 0 {
        answer_oldest(&mut l1, 0);
        while release(&mut l1, 9).is_some() {}
    }
    // What was asked for behind the acquire stays.
    assert_eq!(
        [(0, 0), (1, 0), (1, 1)].map(|(line, number)| load(&mut l1, line, number)),
        [Ok(Outcome::Hit); 3]
    );
    assert_eq!((l1.stats().acquires, l1.stats().store_evictions), (1, 0));
    assert_eq!(l1.doomed_ways, 0);
    // With nothing new, there is nothing to drop; with something, there is.
    l1.acquire();
    l1.acquire();
    assert_eq!(load(&mut l1, 0, 0), Ok(Outcome::Miss));
}

#[test]
fn a_load_past_the_tags_drops_the_sectors_that_it_reads() {
    let mut l1 = sectored(4, 1, 4, 8, 8, (32, "Evict"));
    let both = SECTOR | SECTOR << 32;
    l1.access(Cycle(0), access(0, both, AccessKind::Load)).unwrap();
    answer_oldest(&mut l1, 0);
    l1.access(Cycle(0), access(0, 0xf, AccessKind::BypassLoad)).unwrap();
    l1.take_request();
    assert_eq!(l1.access(Cycle(0), access(0, SECTOR << 32, AccessKind::Load)), Ok(Outcome::Hit));
    assert_eq!(l1.access(Cycle(0), access(0, SECTOR, AccessKind::Load)), Ok(Outcome::Miss));
    assert_eq!((l1.stats().load_evictions, l1.stats().store_evictions), (1, 0));
}

#[test]
fn a_load_that_is_not_to_allocate_joins_what_is_on_its_way() {
    let mut l1 = sectored(4, 1, 4, 8, 8, (32, "Evict"));
    let once = |l1: &mut L1, bytes| l1.access(Cycle(0), access(0, bytes, AccessKind::LoadOnce));
    assert_eq!(once(&mut l1, SECTOR), Ok(Outcome::Sent));
    l1.access(Cycle(0), access(0, SECTOR, AccessKind::Load)).unwrap();
    assert_eq!(once(&mut l1, SECTOR), Ok(Outcome::Merged));
    // Of two sectors one is on its way: both go past the tags.
    assert_eq!(once(&mut l1, SECTOR | SECTOR << 32), Ok(Outcome::Sent));
    assert_eq!((l1.stats().load_bypasses, l1.stats().load_merged), (2, 1));
    // Where no merger field is free, it goes past the tags as well.
    for _ in 0..6 {
        assert_eq!(once(&mut l1, SECTOR), Ok(Outcome::Merged));
        l1.take_request();
    }
    assert_eq!(once(&mut l1, SECTOR), Ok(Outcome::Sent));
}

#[test]
fn an_acquire_finds_lines_that_came_since_the_cache_changed_its_size() {
    let mut l1 = cache(4, 2, 4, 8, 8);
    let read = |l1: &mut L1, line| {
        let outcome = l1.access(Cycle(0), load(line)).unwrap();
        if outcome == Outcome::Miss {
            answer_oldest(l1, 0);
            while release(l1, 1).is_some() {}
        }
        outcome
    };
    read(&mut l1, 0);
    l1.acquire();
    l1.set_ways(1);
    // As many lines and uses as before.
    assert_eq!(read(&mut l1, 0), Outcome::Miss);
    l1.acquire();
    assert_eq!(read(&mut l1, 0), Outcome::Miss);
}

#[test]
fn hints_decide_which_line_of_a_set_makes_room() {
    let mut l1 = cache(1, 2, 4, 4, 8);
    let seen = |l1: &mut L1, line, kind| {
        let outcome = l1.access(Cycle(0), access(line, 1, kind)).unwrap();
        if outcome == Outcome::Miss {
            answer_oldest(l1, 0);
            while release(l1, 1).is_some() {}
        }
        outcome
    };
    use AccessKind::{Load, LoadFirst, LoadLast};
    // What streams by leaves the other line alone.
    seen(&mut l1, 0, Load);
    (10..20).for_each(|line| assert_eq!(seen(&mut l1, line, LoadFirst), Outcome::Miss));
    assert_eq!(seen(&mut l1, 0, Load), Outcome::Hit);
    // A line that is to be last outlives those that are not; with another one like it, it is like others.
    seen(&mut l1, 1, LoadLast);
    (10..20).for_each(|line| assert_eq!(seen(&mut l1, line, Load), Outcome::Miss));
    assert_eq!(seen(&mut l1, 1, Load), Outcome::Hit);
    seen(&mut l1, 2, LoadLast);
    (10..20).for_each(|line| assert_eq!(seen(&mut l1, line, Load), Outcome::Miss));
    assert_eq!([2, 1].map(|line| seen(&mut l1, line, Load)), [Outcome::Hit, Outcome::Miss]);
}
