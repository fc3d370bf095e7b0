//! What L2 slices owe each other and the DRAM: turns, order, and no more than has to be written.

mod common;

use common::{Script, Step, preset, run};
use gsim::config::Machine;
use gsim::gpu::{KernelStatistics, total};
use gsim::stats::LatencyStage;
use serde_json::json;

const BASE: u64 = 0x1000_0000;

/// One warp with these steps.
fn alone(machine: &Machine, steps: fn() -> Vec<Step>) -> KernelStatistics {
    run(machine, || Script::new(1, 32, move |_, _| steps()))
}

fn load(addresses: Vec<u64>) -> Step {
    Step::LoadPastL1 { dst: 1, src: 1, addresses, bytes: 4 }
}

#[test]
fn slices_of_a_channel_take_turns_where_its_queue_is_full() {
    // A small L2, so that stores soon need room.
    let small = [("l2.sets", json!(8)), ("l2.ways", json!(8)), ("l2.size", json!(8192))];
    let machine = preset("gtx480", &small);
    let kernel = run(&machine, || {
        Script::new(30, 256, |cta, warp| {
            let store = |round: u64| {
                let first = (cta * 8 + warp as u64) * 40 + round;
                let line =
                    |lane: u64| (first * 32 + lane).wrapping_mul(0x9E37_79B9) >> 7 & 0x1_FFFF;
                let addresses = (0..32).map(|lane| BASE + line(lane) * 128).collect();
                Step::Store { addresses, bytes: 4 }
            };
            (0..40).map(store).collect()
        })
    });
    let refused = |first: usize| -> u64 {
        kernel.components.l2.iter().skip(first).step_by(2).map(|slice| slice.stall_dramqueue).sum()
    };
    let (even, odd) = (refused(0), refused(1));
    assert!(even > 10_000 && odd > 10_000, "{even} and {odd}: the queue is never full");
    let ratio = odd as f64 / even as f64;
    assert!((0.8..1.25).contains(&ratio), "slices were refused for {even} and {odd} cycles");
}

#[test]
fn a_read_of_the_other_partition_waits_for_what_came_before_it_and_no_longer() {
    let machine = preset("h200", &[("l2.slice_hash", json!("RoundRobin"))]);
    // SM 0 belongs to the partition of the slices with even numbers: the first line of an odd one is far from it.
    let hot = BASE / (94 * 256) * (94 * 256) + 256;
    let kernel = run(&machine, || {
        Script::new(132, 512, move |cta, warp| match cta {
            0 if warp > 0 => vec![],
            0 => (0..100)
                .map(|_| Step::Add { dst: 1, src: 1 })
                .chain([load(vec![hot + 128])])
                .collect(),
            _ => (0..8).map(|_| Step::Store { addresses: vec![hot], bytes: 4 }).collect(),
        })
    });
    assert_eq!(kernel.latency_accesses, 1);
    let latency = kernel.ledgers.latency.total();
    assert!(kernel.cycles > 15_000, "{}", kernel.cycles);
    assert!(latency < 4_000, "{latency} of {} cycles", kernel.cycles);
}

#[test]
fn the_dram_begins_with_a_line_of_sectors_when_it_begins_with_the_first() {
    for (name, changes) in [("v100", vec![("dram.timing.rcd", json!(40))]), ("h200", vec![])] {
        let machine = preset(name, &changes);
        let queued = |steps| {
            let kernel = alone(&machine, steps);
            kernel.ledgers.latency.part(LatencyStage::DramQueue)
        };
        let one = queued(|| vec![load(vec![BASE])]);
        let line = queued(|| vec![load((0..32).map(|lane| BASE + 4 * lane).collect())]);
        assert_eq!(line, one, "{name}");
    }
}

/// How many bursts are written, and in how many requests, where each store writes two words of a new line so far apart.
fn written(apart: u64) -> (u64, u64) {
    let small = [("l2.sets", json!(1)), ("l2.ways", json!(24)), ("l2.size", json!(3072))];
    let machine = preset("v100", &small);
    let kernel = run(&machine, || {
        Script::new(1, 32, move |_, _| {
            let store = |line: u64| {
                let first = BASE + 128 * line;
                Step::Store { addresses: vec![first, first + apart], bytes: 4 }
            };
            (0..10_000).map(store).collect()
        })
    });
    let dram = total(&kernel.components.dram);
    (dram.write_bursts, dram.writes)
}

#[test]
fn only_bursts_that_hold_written_bytes_go_back() {
    let (bursts, writes) = written(32);
    assert!(writes > 5_000);
    // What is under way at the end is not counted, or in part.
    assert!(bursts.abs_diff(2 * writes) < 50, "{bursts} and {writes}");
    let (apart_bursts, apart_writes) = written(96);
    assert!(apart_bursts.abs_diff(apart_writes) < 50, "{apart_bursts} and {apart_writes}");
    assert!(apart_bursts.abs_diff(bursts) < 500, "{apart_bursts} and {bursts}");
}

#[test]
fn the_line_that_came_first_goes_first_even_if_more_of_it_came_later() {
    let misses = |replacement: &str| {
        let machine = preset(
            "v100",
            &[
                ("l2.replacement", json!(replacement)),
                ("l2.slice_hash", json!("RoundRobin")),
                ("l2.sets", json!(1)),
                ("l2.ways", json!(2)),
                ("l2.size", json!(256)),
            ],
        );
        let slices = u64::from(machine.l2.slices.get()) * u64::from(machine.l2.interleave.get());
        let kernel = run(&machine, || {
            Script::new(1, 32, move |_, _| {
                let [a, b, c] = [0, 1, 2].map(|line| BASE / slices * slices + line * slices);
                [a, b, a + 32, c, b].map(|address| load(vec![address])).into()
            })
        });
        total(&kernel.components.l2).read_misses
    };
    assert_eq!([misses("Fifo"), misses("Lru")], [4, 5]);
}
