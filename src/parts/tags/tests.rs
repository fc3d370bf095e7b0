//! Tag arrays: what a set does, by hand, and against a search of its ranks.

use super::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn two_ways(replacement: Replacement) -> TagArray {
    TagArray::new(4, 2, SetIndex::Linear, replacement)
}

fn insert(tags: &mut TagArray, line: u64) -> Way {
    let way = tags.victim(LineAddr(line)).unwrap();
    tags.insert(way, LineAddr(line));
    way
}

#[test]
fn lru_replaces_the_line_used_longest_ago_and_fifo_the_one_filled_first() {
    for (replacement, gone) in [(Replacement::Lru, 4), (Replacement::Fifo, 0)] {
        let mut tags = two_ways(replacement);
        let first = insert(&mut tags, 0);
        insert(&mut tags, 4);
        tags.touch(first);
        insert(&mut tags, 8);
        assert_eq!(tags.lookup(LineAddr(gone)), Lookup::Absent);
    }
}

#[test]
fn clean_first_spares_a_dirty_line_that_is_older() {
    let mut tags = two_ways(Replacement::LruCleanFirst);
    let first = insert(&mut tags, 0);
    tags.set_dirty(first, true);
    let second = insert(&mut tags, 4);
    assert_eq!(tags.victim(LineAddr(8)), Some(second));
}

#[test]
fn nru_spares_what_was_used_since_every_line_was() {
    let mut tags = TagArray::<()>::new(1, 4, SetIndex::Linear, Replacement::Nru);
    let ways: Vec<_> = (0..4).map(|line| insert(&mut tags, line)).collect();
    // With the fourth every line was used, which began a round; the second is used in it, too.
    tags.touch(ways[1]);
    let first = insert(&mut tags, 4);
    let spared = [ways[1], ways[3], first];
    assert!([ways[0], ways[2]].contains(&first));
    // One is left, whatever its age; when it is used, the others make room again.
    let last = insert(&mut tags, 5);
    assert!(!spared.contains(&last));
    assert_ne!(tags.victim(LineAddr(6)), Some(last));
    tags.invalidate(last);
    assert_eq!(tags.victim(LineAddr(6)), Some(last));
}

#[test]
fn rounds_beyond_the_largest_number_are_counted_anew() {
    let of = |number: u64| {
        let mut tags = TagArray::<()>::new(2, 4, SetIndex::Linear, Replacement::Nru);
        let ways: Vec<_> = (0..8).map(|line| insert(&mut tags, line)).collect();
        let rise = number - tags.rounds[0].number;
        for way in [0, 2, 4, 6] {
            tags.ranks[ways[way].index()] += rise << ROUND << tags.age_bits;
        }
        tags.rounds[0].number = number;
        tags.evict_first(ways[4]);
        // Every round spares the last one of that before.
        let victims: Vec<_> = (4..40)
            .map(|line| {
                let way = insert(&mut tags, 2 * line);
                tags.set_dirty(way, line % 3 == 0);
                way
            })
            .collect();
        assert!(tags.rounds[0].number <= tags.last_round());
        assert!(tags.ranks.iter().all(|rank| rank & (RESERVED | SPARED) == 0));
        victims
    };
    let last = TagArray::<()>::new(2, 4, SetIndex::Linear, Replacement::Nru).last_round();
    assert_eq!(of(last - 3), of(2));
}

#[test]
fn a_line_to_be_evicted_first_makes_room_before_others_until_it_is_used() {
    for replacement in [Replacement::Lru, Replacement::Fifo, Replacement::Nru] {
        let mut tags = TagArray::<()>::new(1, 4, SetIndex::Linear, replacement);
        let ways: Vec<_> = (0..4).map(|line| insert(&mut tags, line)).collect();
        tags.evict_first(ways[2]);
        assert_eq!(tags.victim(LineAddr(9)), Some(ways[2]), "{replacement:?}");
        // Lines that stream by take that way again and again.
        for line in 4..40 {
            let way = insert(&mut tags, line);
            assert_eq!(way, ways[2]);
            tags.evict_first(way);
        }
        // Of two, that of the lower number.
        tags.evict_first(ways[1]);
        assert_eq!(tags.victim(LineAddr(99)), Some(ways[1]));
        if replacement != Replacement::Fifo {
            tags.touch(ways[1]);
            assert_eq!(tags.victim(LineAddr(99)), Some(ways[2]));
        }
        tags.invalidate(ways[2]);
        assert_eq!(tags.victim(LineAddr(99)), Some(ways[2]));
    }
}

#[test]
fn lines_to_be_evicted_last_are_spared_as_far_as_they_may_be() {
    for replacement in [Replacement::Lru, Replacement::Fifo, Replacement::Nru] {
        let mut tags = TagArray::<()>::new(1, 8, SetIndex::Linear, replacement);
        for line in 0..8 {
            let way = insert(&mut tags, line);
            if line < 3 {
                tags.evict_last(way, 3);
            }
        }
        for line in 8..80 {
            insert(&mut tags, line);
        }
        let is_here = |tags: &TagArray, line| tags.lookup(LineAddr(line)) != Lookup::Absent;
        assert!((0..3).all(|line| is_here(&tags, line)), "{replacement:?}");
        // A fourth takes the place of the oldest among them.
        let way = insert(&mut tags, 100);
        tags.evict_last(way, 3);
        for line in 200..300 {
            insert(&mut tags, line);
        }
        assert_eq!((0..3).filter(|line| is_here(&tags, *line)).count(), 2);
        assert!(is_here(&tags, 100));
        // Where all are spared, the oldest makes room.
        let mut tags = TagArray::<()>::new(1, 2, SetIndex::Linear, replacement);
        for line in 0..2 {
            let way = insert(&mut tags, line);
            tags.evict_last(way, 2);
        }
        assert!(tags.victim(LineAddr(9)).is_some());
    }
}

#[test]
fn nru_misses_less_than_lru_where_a_loop_does_not_fit() {
    let misses = |replacement, lines: u64| {
        let mut tags = TagArray::<()>::new(1, 64, SetIndex::Linear, replacement);
        let mut misses = 0;
        for _ in 0..100 {
            for line in 0..lines {
                match tags.lookup(LineAddr(line)) {
                    Lookup::Present(way) => tags.touch(way),
                    _ => {
                        insert(&mut tags, line);
                        misses += 1;
                    }
                }
            }
        }
        misses as f64 / (100 * lines) as f64
    };
    assert_eq!(misses(Replacement::Lru, 76), 1.0);
    assert!((0.4..0.6).contains(&misses(Replacement::Nru, 76)));
    assert!((0.05..0.25).contains(&misses(Replacement::Nru, 66)));
    assert_eq!(misses(Replacement::Nru, 160), 1.0);
    assert_eq!(misses(Replacement::Nru, 64), 0.01);
}

#[test]
fn the_order_that_is_kept_is_that_of_the_ranks() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for (ways, replacement) in [1, 2, 3, 8, 16, 17, 24, 31, 32].into_iter().flat_map(|ways| {
        [Replacement::Lru, Replacement::Fifo, Replacement::LruCleanFirst]
            .map(|replacement| (ways, replacement))
    }) {
        // What the one keeps in the ranks of its ways, the other keeps beside their order.
        let plain = TagArray::<()>::new(2, ways, SetIndex::Linear, replacement);
        let mut both = [plain.clone(), plain.ordered()];
        assert_eq!(both[1].marks.is_ordered(), ways <= Marks::MOST_ORDERED);
        for _ in 0..3000 {
            let line = LineAddr(rng.random_range(0..3 * ways as u64));
            let sorts = rng.random_range(0..20);
            let place = both[0].find(line);
            for tags in &mut both {
                assert_eq!(tags.find(line), place, "{replacement:?}");
                match place {
                    Place::Present(way) => match sorts {
                        0..6 => tags.touch(way),
                        6..9 => tags.invalidate(way),
                        9..12 => tags.reserve(way, line),
                        _ => tags.set_dirty(way, sorts % 2 == 0),
                    },
                    Place::Reserved(way) => match sorts {
                        0..4 => tags.touch(way),
                        4 => tags.set_dirty(way, true),
                        5 => tags.reserve(way, line),
                        _ => tags.fill(way),
                    },
                    Place::Absent(way) if sorts < 10 => tags.replace(way, line),
                    Place::Absent(way) => tags.insert(way, line),
                    Place::NoRoom => {}
                }
            }
            let [plain, ordered] = &both;
            for line in (0..2).map(LineAddr) {
                assert_eq!(ordered.victim(line), plain.victim(line), "{replacement:?}");
                assert_eq!(ordered.has_room(line), plain.has_room(line));
                assert_eq!(ordered.can_spare(line), plain.can_spare(line));
                assert_eq!(ordered.to_clean(line, 1), plain.to_clean(line, 1));
            }
            for way in (0..2 * ways as u32).map(Way) {
                assert_eq!(ordered.is_dirty(way), plain.is_dirty(way));
                assert_eq!(ordered.occupant(way), plain.occupant(way));
            }
        }
    }
}

#[test]
fn one_look_tells_what_two_do() {
    let mut tags = two_ways(Replacement::Lru);
    assert_eq!(tags.find(LineAddr(4)), Place::Absent(tags.victim(LineAddr(4)).unwrap()));
    let first = insert(&mut tags, 0);
    assert_eq!(tags.find(LineAddr(0)), Place::Present(first));
    let second = tags.victim(LineAddr(4)).unwrap();
    tags.reserve(second, LineAddr(4));
    assert_eq!(tags.find(LineAddr(4)), Place::Reserved(second));
    assert_eq!((tags.find(LineAddr(8)), tags.has_room(LineAddr(8))), (Place::Absent(first), true));
    tags.reserve(first, LineAddr(8));
    assert_eq!((tags.find(LineAddr(12)), tags.has_room(LineAddr(12))), (Place::NoRoom, false));
}

#[test]
fn reserved_ways_never_make_room() {
    let mut tags = two_ways(Replacement::Lru);
    for line in [0, 4] {
        let way = tags.victim(LineAddr(line)).unwrap();
        tags.reserve(way, LineAddr(line));
    }
    assert_eq!(tags.victim(LineAddr(8)), None);
    assert!(tags.victim(LineAddr(9)).is_some());
    let Lookup::Reserved(way) = tags.lookup(LineAddr(4)) else { panic!("reserved above") };
    tags.fill(way);
    assert_eq!(tags.lookup(LineAddr(4)), Lookup::Present(way));
    assert_eq!(tags.victim(LineAddr(8)), Some(way));
}

#[test]
fn the_xor_index_spreads_a_power_of_two_stride() {
    let sets_used = |index| {
        let tags = TagArray::<()>::new(32, 1, index, Replacement::Lru);
        let sets: std::collections::BTreeSet<_> =
            (0..32).map(|i| tags.set_of(LineAddr(i * 32))).collect();
        sets.len()
    };
    assert_eq!(sets_used(SetIndex::Linear), 1);
    assert_eq!(sets_used(SetIndex::Xor), 32);
}
