//! What was measured on an H200 about loads, stores and atomics, held against the model by exact cycles.

mod common;

use common::{Script, Step, preset, row, run};
use gsim::config::Machine;
use gsim::config::machine::L2Partitions;
use gsim::stats::LsuReason;
use serde_json::{Value, json};

const BASE: u64 = 0x1000_0000;

/// The H200 with one clock, so that a cycle is a cycle, and with these changes.
fn one_clock(changes: &[(&str, Value)]) -> Machine {
    let khz = json!(1_000_000);
    let clocks = ["clocks.core_khz", "clocks.noc_khz", "clocks.l2_khz"].map(|at| (at, khz.clone()));
    preset("h200", &[&clocks[..], changes].concat())
}

/// Cycles of one more round of each warp's steps, in a row of rounds.
fn each_round(
    machine: &Machine,
    warps: u32,
    round: impl Fn(usize) -> Vec<Step> + Copy + Send,
) -> u64 {
    let cycles = |rounds: usize| {
        run(machine, || {
            Script::new(1, 32 * warps, move |_, warp| {
                (0..rounds).flat_map(|_| round(warp)).collect()
            })
        })
        .cycles
    };
    (cycles(30) - cycles(10)) / 20
}

/// A load whose lanes want words of so many lines, of one bank or of unlike ones; it depends on itself.
fn load(warp: usize, lines: u64, spread: bool, register: u16) -> Step {
    let of = |lane: u64| {
        let word = if spread { lane } else { lane / lines };
        BASE + warp as u64 * 4096 + lane % lines * 128 + word * 4
    };
    Step::Load { dst: register, src: register, addresses: (0..32).map(of).collect(), bytes: 4 }
}

#[test]
fn four_lines_a_cycle_are_looked_up_and_each_pass_over_the_banks_takes_two() {
    let machine = preset("h200", &[]);
    let each = |lines, spread| each_round(&machine, 1, move |_| vec![load(0, lines, spread, 1)]);
    let one = machine.lsu.issue_latency.cycles() + machine.l1.hit_latency.cycles();
    assert_eq!(each(1, true), one);
    // Measured: 41.1, 41.1, 42.1, 44.1 and 48.1 cycles, nine of which are the sum that makes the next address.
    assert_eq!([4, 8, 16, 32].map(|lines| each(lines, true) - one), [0, 1, 3, 7]);
    // Measured: 43.1, 47.1, 56.1, 74.1 and 110.1.
    assert_eq!([2, 4, 8, 16, 32].map(|lines| each(lines, false) - one), [2, 6, 15, 33, 69]);
}

#[test]
fn loads_of_two_warps_go_over_the_banks_in_turn_and_those_of_one_behind_each_other() {
    // All lines are as near, so that the warps' loads begin alike.
    let near = [("l2.distance", json!("Alike")), ("l2.partitions", json!("One"))];
    let machine = preset("h200", &near);
    let alone = each_round(&machine, 1, |_| vec![load(0, 32, false, 1)]);
    let two = each_round(&machine, 2, |warp| vec![load(warp, 32, false, 1)]);
    assert_eq!(two, alone);
    // Four warps need every cycle. Measured: 128.
    assert_eq!(each_round(&machine, 4, |warp| vec![load(warp, 32, false, 1)]), 4 * 32);
    // Measured: 65 to 69 cycles a load.
    let many = |_| (1..9).map(|register| load(0, 32, false, register)).collect();
    assert_eq!(each_round(&machine, 1, many), 8 * 64);
}

#[test]
fn lanes_of_eight_bytes_take_a_pass_for_each_half_of_the_warp() {
    let machine = preset("h200", &[]);
    let each = |bytes: u8, stride: u64| {
        let addresses = row(BASE, stride, 32);
        let step =
            move |_| vec![Step::Load { dst: 1, src: 1, addresses: addresses.clone(), bytes }];
        // A reference is `Copy`; the closure with its addresses is not.
        each_round(&machine, 1, &step)
    };
    let one = each(4, 4);
    assert_eq!(each(8, 8), one + 2);
    assert_eq!(each(16, 16), one + 6);
    // One word for all.
    assert_eq!(each(8, 0), one + 2);
    // One lane: a pass for each of its registers.
    let of_a_lane = |bytes: u8| {
        each_round(&machine, 1, |_| {
            vec![Step::Load { dst: 1, src: 1, addresses: vec![BASE], bytes }]
        })
    };
    assert_eq!([4, 8, 16].map(of_a_lane), [one, one + 2, one + 6]);
}

#[test]
fn the_ledger_of_the_unit_tells_further_lines_from_further_passes() {
    let machine = preset("h200", &[]);
    let seen = |loads: usize| {
        run(&machine, || Script::new(1, 32, move |_, _| vec![load(0, 32, false, 1); loads]))
    };
    // The first load misses.
    let (few, many) = (seen(1), seen(11));
    assert_eq!(many.ledgers.lsu.check(), Ok(()));
    let more = |reason| many.ledgers.lsu.part(reason) - few.ledgers.lsu.part(reason);
    // Eight cycles of lines, with the last of which the first of 32 passes goes.
    assert_eq!(more(LsuReason::Coalescing), 10 * 7);
    assert_eq!(more(LsuReason::BankConflict), 10 * 61);
    assert_eq!(more(LsuReason::Serving), 10 + 10);
    assert_eq!(many.latency_accesses, 11 * 32);
}

/// Cycles of one more instruction of a single warp, of many whose lanes are `words` words apart and whose lines are all
/// their own. `step` makes one, by its number, of the lanes' addresses.
fn each_apart(machine: &Machine, words: u64, step: fn(u64, Vec<u64>) -> Step) -> u64 {
    let cycles = |count: u64| {
        run(machine, || {
            Script::new(1, 32, move |_, _| {
                let lanes = |at: u64| row(BASE + at * 32 * 4 * words, 4 * words, 32);
                (0..count).map(|at| step(at, lanes(at))).collect()
            })
        })
        .cycles
    };
    (cycles(440) - cycles(40) + 200) / 400
}

#[test]
fn a_store_takes_a_cycle_a_sector_and_one_for_masks_unless_it_is_whole() {
    let machine = preset("h200", &[]);
    let each =
        |words| each_apart(&machine, words, |_, addresses| Step::Store { addresses, bytes: 4 });
    // Measured: 4.3, 40.3, 48 and 64 cycles.
    assert_eq!([1, 8, 16, 32].map(each), [4, 8 * 5, 16 * 3, 32 * 2]);
}

#[test]
fn an_atomic_moves_its_masks_always_but_for_a_single_operand() {
    // Without refresh: the last of them may have to wait for one.
    let machine = preset("h200", &[("dram.timing.refi", json!(0))]);
    let atomic = |at: u64, addresses| Step::Atomic {
        dst: (at % 255) as u16 + 1,
        src: 0,
        addresses,
        bytes: 4,
    };
    let each = |words| each_apart(&machine, words, atomic);
    // Measured: 5 cycles, 40.3, and 32 to 33.3.
    assert_eq!([1, 8, 32].map(each), [5, 8 * 5, 32]);
}

#[test]
fn lanes_of_one_counter_keep_a_slice_for_a_cycle_and_a_quarter_each() {
    let machine = one_clock(&[]);
    let each = |addresses: Vec<u64>| {
        let cycles = |count: usize| {
            let addresses = &addresses;
            run(&machine, || {
                Script::new(8, 128, move |_, _| {
                    // Results in registers of their own: none waits for another.
                    let atomic = |dst: usize| Step::Atomic {
                        dst: dst as u16,
                        src: 0,
                        addresses: addresses.clone(),
                        bytes: 4,
                    };
                    (1..=count).map(atomic).collect()
                })
            })
            .cycles
        };
        (cycles(30) - cycles(10)) as f64 / (20.0 * 32.0)
    };
    // Measured in cycles of the L2: 1.25 a lane, and 1 a whole sector.
    for (addresses, expected) in
        [(vec![BASE; 32], 32.0 * 1.25), (row(BASE, 4, 32), 4.0), (row(BASE, 4, 4), 1.25)]
    {
        let cycles = each(addresses);
        assert!((cycles / expected - 1.0).abs() < 0.005, "{cycles} for {expected}");
    }
}

/// The H200 with one clock, slices in turn, and these distances between SMs and slices.
fn with_distances(corners: Value) -> Machine {
    one_clock(&[
        ("l2.slice_hash", json!("RoundRobin")),
        ("l2.distance", json!({"Corners": corners})),
    ])
}

/// How long a step takes by itself that wants the first address of this slice's in a round over all of them.
fn latency(machine: &Machine, slice: u64, step: fn(Vec<u64>) -> Step) -> u64 {
    let address = BASE / (94 * 256) * (94 * 256) + slice * 256;
    each_round(machine, 1, move |_| vec![step(vec![address])])
}

#[test]
fn a_load_costs_as_much_more_as_its_slice_lies_farther_away() {
    let machine = with_distances(json!({"across": 14, "along": 10, "copies": 20}));
    // SM 0 belongs to the partition of the slices with even numbers, and lies in their first corner.
    let load = |addresses| Step::LoadPastL1 { dst: 1, src: 1, addresses, bytes: 4 };
    let latency = |slice| latency(&machine, slice, load);
    for pair in [0, 1, 7, 8, 15, 47 - 8, 46] {
        let way = 14 * (pair % 8) / 7 + 10 * (pair / 8 % 6) / 5;
        let [near, far] = [2 * pair, 2 * pair + 1].map(|slice| latency(slice) - latency(0));
        assert_eq!([near, far], [way, way + 20], "pair {pair}");
    }
}

#[test]
fn an_atomic_to_the_other_partition_goes_there_and_back_through_the_slice_that_keeps_copies() {
    let machine = with_distances(json!({"across": 0, "along": 0, "copies": 20}));
    let atomic = |addresses| Step::Atomic { dst: 1, src: 1, addresses, bytes: 4 };
    let latency = |slice| latency(&machine, slice, atomic);
    let L2Partitions::Two { latency: across, .. } = &machine.l2.partitions else { panic!("two") };
    // The result takes its cycle on the way out of either slice. Measured: 210 core cycles more.
    assert_eq!(
        latency(1) - latency(0),
        20 + 2 * across.cycles() + machine.l2.data_latency.cycles()
    );
}

#[test]
fn data_from_the_l2_passes_to_a_warp_every_second_cycle_and_to_an_sm_in_every_one() {
    let near = [("l2.distance", json!("Alike")), ("l2.partitions", json!("One"))];
    let machine = one_clock(&near);
    let each = |warps: u32, lines: u64| {
        each_round(&machine, warps, move |warp| {
            let of = |lane: u64| BASE + warp as u64 * 65536 + lane % lines * 128;
            let addresses = (0..32).map(of).collect();
            vec![Step::LoadPastL1 { dst: 1, src: 1, addresses, bytes: 4 }]
        })
    };
    // Measured: 287 cycles with a line, 298, 309, 330 and 362 with 4, 8, 16 and 32 of them.
    let one = each(1, 1);
    let more = [4, 8, 16, 32].map(|lines| each(1, lines) - one);
    assert_eq!(more, [4, 8, 16, 32].map(|lines| 2 * (lines - 1)));
    // Measured: four cycles longer.
    assert_eq!(each(8, 32) - each(1, 32), 0);
}

#[test]
fn a_cta_follows_another_after_the_turnaround_or_when_its_stores_are_acknowledged() {
    let turnaround = 285;
    // The first line is at home in the other partition, one 4 KiB behind it in the SM's own.
    let cycles = |machine: fn(&[(&str, Value)]) -> Machine, more_latency: u64, stores: &[u64]| {
        let one_at_a_time = [("sm.count", json!(1)), ("sm.max_ctas", json!(1))];
        let far = [("l2.tag_latency", json!(131 + more_latency))];
        let machine = machine(&[&one_at_a_time[..], &far].concat());
        let store = |at: &u64| Step::Store { addresses: row(BASE + at, 4, 32), bytes: 4 };
        let of = |ctas: u64| {
            run(&machine, || Script::new(ctas, 32, |_, _| stores.iter().map(store).collect()))
                .cycles
        };
        (of(30) - of(10)) / 20
    };
    let clocks_as_they_are: fn(&[(&str, Value)]) -> Machine = |changes| preset("h200", changes);
    assert_eq!(cycles(clocks_as_they_are, 0, &[]), turnaround);
    // Measured: 350 cycles, 45 of which are the instructions in front of the store. The store itself takes a cycle.
    let either = [0, 4096].map(|line| cycles(clocks_as_they_are, 0, &[line]));
    assert_eq!(either, [374, 286]);
    // With one clock nothing is rounded.
    assert_eq!(cycles(one_clock, 600, &[0]), cycles(one_clock, 300, &[0]) + 300);
}
