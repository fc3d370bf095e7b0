//! The exact addresses of every pattern.

use super::*;

/// `count` offsets from `first`, `step` apart.
fn row(first: u64, step: u64, count: usize) -> Vec<u64> {
    (0..count as u64).map(|i| first + i * step).collect()
}

/// SplitMix64's output for a state, written out again: `workloads/PATTERNS.md`, "Random numbers".
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(13_787_848_793_156_543_929);
    let z = (z ^ (z >> 27)).wrapping_mul(10_723_151_780_598_845_931);
    z ^ (z >> 31)
}

const G: u64 = 11_400_714_819_323_198_485;

/// The key of phase 0 and place 0 under seed 1.
fn key() -> u64 {
    mix(mix(mix(1u64.wrapping_add(G))))
}

fn draw(counter: u64) -> u64 {
    mix(key().wrapping_add(counter.wrapping_mul(G)))
}

fn below(h: u64, count: u64) -> u64 {
    ((u128::from(h) * u128::from(count)) >> 64) as u64
}

#[test]
fn a_stream_goes_through_the_elements_in_the_order_of_threads() {
    // 2 CTAs of 2 warps: four warps side by side, and then the next four rows of 32 elements.
    let mut source = one(2, 2, 3, "pattern: Stream, footprint: 4096, width: 4");
    assert_eq!(offsets(&mut source, 0, 0), [row(0, 4, 32), row(512, 4, 32), row(1024, 4, 32)]);
    assert_eq!(offsets(&mut source, 1, 1), [row(384, 4, 32), row(896, 4, 32), row(1408, 4, 32)]);
}

#[test]
fn a_stream_starts_again_at_the_end_of_its_footprint() {
    let mut source = one(1, 1, 3, "pattern: Stream, footprint: 192, width: 4");
    let wrapped = [row(128, 4, 16), row(0, 4, 16)].concat();
    assert_eq!(offsets(&mut source, 0, 0), [row(0, 4, 32), wrapped, row(64, 4, 32)]);
}

#[test]
fn blocks_give_each_warp_a_part_of_its_own() {
    let mut source = one(2, 2, 3, "pattern: Blocks, footprint: 65536, width: 8");
    assert_eq!(offsets(&mut source, 0, 0), [row(0, 8, 32), row(256, 8, 32), row(512, 8, 32)]);
    assert_eq!(offsets(&mut source, 1, 0)[0], row(2 * 3 * 256, 8, 32));
}

#[test]
fn a_stride_keeps_its_distances_between_lanes_accesses_and_warps() {
    let access = "pattern: Stride(lane: 128, access: 16, warp: 4), footprint: 5120, width: 4";
    let mut source = one(1, 3, 2, access);
    let at = |warp: u64, number: u64| -> Vec<u64> {
        (0..32).map(|lane| (warp * 4 + number * 16 + lane * 128) % 5120).collect()
    };
    for warp in 0..3 {
        let want = [at(warp, 0), at(warp, 1)];
        assert_eq!(offsets(&mut source, 0, warp as usize), want);
    }
}

#[test]
fn a_broadcast_gives_all_lanes_of_all_warps_one_address() {
    let access = "pattern: Broadcast(step: 64), footprint: 128, width: 4, lanes: 5";
    let mut source = one(2, 2, 3, access);
    for (cta, warp) in [(0, 0), (1, 1)] {
        assert_eq!(offsets(&mut source, cta, warp), [vec![0; 5], vec![64; 5], vec![0; 5]]);
    }
}

#[test]
fn a_random_element_is_the_high_half_of_draw_times_elements() {
    let mut source = one(3, 2, 4, "pattern: Random(run: 4), footprint: 0x10_0000, width: 2");
    let runs = 0x10_0000 / 8;
    // CTA 2, warp 1, access 3: warp 5 of the grid, 4 accesses a warp, 32 draws an access.
    let counter = (5 * 4 + 3) * 32;
    let want: Vec<u64> =
        (0..32).map(|lane| below(draw(counter + lane / 4), runs) * 8 + lane % 4 * 2).collect();
    assert_eq!(offsets(&mut source, 2, 1)[3], want);
}

#[test]
fn a_hot_draw_takes_the_start_and_a_cold_one_the_rest() {
    let access = "pattern: Hot(fraction: 0.25, bytes: 256, run: 32), footprint: 65536, width: 4";
    let mut source = one(1, 1, 200, access);
    let want = (0..200).map(|number| {
        let h = draw(number * 32);
        let second = mix(h.wrapping_add(G));
        // 0.25 x 2^32
        let place = match h >> 32 < 0x4000_0000 {
            true => below(second, 2),
            false => 2 + below(second, 512 - 2),
        };
        row(place * 128, 4, 32)
    });
    assert_eq!(offsets(&mut source, 0, 0), want.collect::<Vec<_>>());
}

#[test]
fn a_gather_stays_in_its_window_or_takes_a_new_one() {
    let access = "pattern: Gather(locality: 0.5, window: 64, run: 1), footprint: 4096, width: 4";
    let mut source = one(1, 1, 50, access);
    let mut anchors = [0; 32];
    let want = (0..50).map(|number| {
        (0..32)
            .map(|lane| {
                let first = draw(number * 32 + lane);
                let second = mix(first.wrapping_add(G));
                if number == 0 || first >> 32 >= 0x8000_0000 {
                    anchors[lane as usize] = below(second, 1024 - 16 + 1);
                }
                (anchors[lane as usize] + below(mix(second.wrapping_add(G)), 16)) * 4
            })
            .collect::<Vec<u64>>()
    });
    let want: Vec<Vec<u64>> = want.collect();
    assert_eq!(offsets(&mut source, 0, 0), want);
}

#[test]
fn a_sequential_chase_goes_from_node_to_node() {
    let access = "pattern: Chase(node: 64, order: Sequential), footprint: 256, width: 8, lanes: 1";
    let mut source = one(1, 1, 6, access);
    let want: Vec<Vec<u64>> = [0, 64, 128, 192, 0, 64].map(|offset| vec![offset]).into();
    assert_eq!(offsets(&mut source, 0, 0), want);
}

#[test]
fn a_stencil_takes_one_neighbour_an_access_and_then_goes_on() {
    // Two warps: after the five neighbours the next 64 elements.
    let mut source = one(1, 2, 6, "pattern: Stencil(radius: 2), footprint: 4096, width: 4");
    let first = |element: i64| -> Vec<u64> {
        (0..32).map(|lane| (element + lane).rem_euclid(1024) as u64 * 4).collect()
    };
    let want: Vec<Vec<u64>> = [-2, -1, 0, 1, 2, 64 - 2].map(first).into();
    assert_eq!(offsets(&mut source, 0, 0), want);
}

#[test]
fn stencils_of_two_and_three_dimensions_reach_rows_and_planes() {
    let taps = |pattern: &str, count: usize| -> Vec<i64> {
        let access = format!("pattern: {pattern}, footprint: 0x10_0000, width: 1, lanes: 1");
        let mut source = one(1, 1, count as u32, &access);
        offsets(&mut source, 0, 0)
            .iter()
            .map(|lanes| lanes[0] as i64)
            .map(|offset| if offset > 0x8_0000 { offset - 0x10_0000 } else { offset })
            .collect()
    };
    let square = taps("Stencil(radius: 1, row: 100, shape: Box)", 9);
    assert_eq!(square, [-101, -100, -99, -1, 0, 1, 99, 100, 101]);
    let cross = taps("Stencil(radius: 2, row: 100)", 9);
    assert_eq!(cross, [-200, -100, -2, -1, 0, 1, 2, 100, 200]);
    let star = taps("Stencil(radius: 1, row: 100, plane: 5000)", 7);
    assert_eq!(star, [-5000, -100, -1, 0, 1, 100, 5000]);
    let cube = taps("Stencil(radius: 1, row: 100, plane: 5000, shape: Box)", 27);
    assert_eq!((cube[0], cube[13], cube[26]), (-5101, 0, 5101));
    assert!(cube.is_sorted());
}

#[test]
fn copies_of_an_array_lie_side_by_side() {
    let first = |sharing: &str, cta, warp| {
        let access = format!("pattern: Stream, footprint: 300, width: 4, sharing: {sharing}");
        offsets(&mut one(2, 2, 1, &access), cta, warp)[0][0]
    };
    // 300 bytes take 512.
    assert_eq!(first("Cta", 1, 0), 512);
    assert_eq!(first("Cta", 1, 1), 512 + 128);
    assert_eq!(first("Warp", 0, 1), 512);
    assert_eq!(first("Warp", 1, 1), 3 * 512);
}

#[test]
fn arrays_follow_each_other_and_those_of_one_name_are_one() {
    let mut source = source(
        2,
        1,
        "phases: [
            (accesses: 3, mix: [
                (pattern: Stream, footprint: 300, array: \"a\"),
                (pattern: Stream, footprint: 256, sharing: Cta),
                (pattern: Stream, footprint: 0x10_0000_0000),
            ]),
            (accesses: 2, mix: [
                (pattern: Stream, footprint: 64, array: \"a\"),
                (pattern: Stream, footprint: 64),
            ]),
        ]",
    );
    let firsts: Vec<u64> = offsets(&mut source, 0, 0).iter().map(|lanes| lanes[0]).collect();
    // A gap of 256 after each; the second array has two copies; the third has 64 GiB.
    let third = 512 + 256 + 2 * 256 + 256;
    assert_eq!(firsts, [0, 768, third, 0, third + 0x10_0000_0000 + 256]);
}

#[test]
fn shared_memory_counts_from_the_start_of_every_cta() {
    let access = "pattern: Stride(lane: 8), footprint: 256, space: Shared, sharing: Warp";
    let mut source =
        source(2, 2, &format!("shared: 512, phases: [(accesses: 1, mix: [({access})])]"));
    for cta in 0..2 {
        let lanes = execute(&mut source, cta, 1)[1].lanes();
        assert_eq!(lanes, (0..32).map(|lane| 256 + lane * 8 % 256).collect::<Vec<u64>>());
    }
}

#[test]
fn repeats_go_on_where_the_last_pass_ended() {
    let phases = "phases: [(accesses: 2, mix: [(pattern: Stream, footprint: 4096)])]";
    let mut source = source(1, 1, &format!("repeats: 2, {phases}"));
    let firsts: Vec<u64> = offsets(&mut source, 0, 0).iter().map(|lanes| lanes[0]).collect();
    assert_eq!(firsts, [0, 128, 256, 384]);
}
