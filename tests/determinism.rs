//! The same inputs give the same bytes, however time advances, and the numbers stay what they were.

#[path = "common/stencil.rs"]
mod stencil;

use gsim::config::ElementType::{self, Char, Int, Short};
use gsim::gpu::{Stepping, total};
use gsim::report::Report;
use stencil::{stencil, stencil_stepping};

/// A size at which every SM has several CTAs and every kind of stall still happens.
const SMALL: &str = "workload.elements=32768";

#[test]
fn a_run_gives_the_same_bytes_every_time() {
    for element in ElementType::ALL {
        let once = stencil(element, &[SMALL]).to_json();
        assert!(once == stencil(element, &[SMALL]).to_json(), "{element:?}");
    }
}

/// Skipping cycles in which nothing happens changes no byte of the report.
#[track_caller]
fn check_skipping(changes: &[&str]) {
    for element in ElementType::ALL {
        let changes = [&[SMALL], changes].concat();
        let skipped = stencil_stepping(element, &changes, Stepping::SkipAhead);
        let ticked = stencil_stepping(element, &changes, Stepping::EveryCycle);
        // Counters first: they say what differs.
        assert_eq!(skipped.totals, ticked.totals, "{element:?} {changes:?}");
        assert_eq!(skipped.ledgers, ticked.ledgers, "{element:?} {changes:?}");
        assert_eq!(skipped.components, ticked.components, "{element:?} {changes:?}");
        assert!(skipped.to_json() == ticked.to_json(), "{element:?} {changes:?}");
    }
}

#[test]
fn skipping_is_exact_under_every_scheduler() {
    for policy in ["Lrr", "Gto", "Oldest", "TwoLevel(active: 8)"] {
        check_skipping(&[&format!("sm.policy={policy}")]);
    }
}

#[test]
fn skipping_is_exact_under_every_way_to_refuse_an_access() {
    for tag_latency in ["l1.tag_latency=0", "l1.tag_latency=35"] {
        for blocks in ["lsu.refusal_blocks=Unit", "lsu.refusal_blocks=Instruction"] {
            check_skipping(&[tag_latency, blocks, "l1.mshr_mergers=2", "l1.miss_queue=1"]);
        }
    }
}

#[test]
fn skipping_is_exact_past_the_l1_and_with_segments_by_element() {
    check_skipping(&["l1.global_loads=Bypass"]);
    check_skipping(&["lsu.segment=ByElement", "sm.cta_release=AfterLoads", "l2.fetch=32"]);
}

#[test]
fn skipping_is_exact_with_batched_writes_and_closed_rows() {
    check_skipping(&["dram.writes=Batched(high: 8, low: 2)"]);
    check_skipping(&["dram.row_policy=Closed", "dram.scheduler=Fcfs", "dram.queue=4"]);
}

#[test]
fn skipping_is_exact_when_every_clock_has_its_own_frequency() {
    let core_fastest = [
        "clocks.core_khz=1401000",
        "clocks.noc_khz=650000",
        "clocks.l2_khz=700000",
        "clocks.dram_khz=924000",
    ];
    let core_slowest = [
        "clocks.core_khz=575000",
        "clocks.noc_khz=1301000",
        "clocks.l2_khz=650000",
        "clocks.dram_khz=1848000",
    ];
    check_skipping(&core_fastest);
    check_skipping(&core_slowest);
}

#[test]
fn skipping_is_exact_on_every_preset() {
    for preset in gsim::config::presets::PRESETS {
        check_skipping(&[&format!("machine={}", preset.name)]);
    }
}

/// What a run came to: cycles, L1 load hits, merged and misses, cycles without a merger field and without
/// an MSHR entry, L2 read misses, DRAM bursts read and written, and the load latency summed over all
/// accesses.
type Golden = [u64; 10];

fn golden(report: &Report) -> Golden {
    let (l1, l2) = (total(&report.components.l1), total(&report.components.l2));
    let dram = total(&report.components.dram);
    [
        report.totals.cycles,
        l1.load_hits,
        l1.load_merged,
        l1.load_misses,
        l1.stall_nomerger,
        l1.stall_nomshrline,
        l2.read_misses,
        dram.read_bursts,
        dram.write_bursts,
        report.ledgers.latency.total(),
    ]
}

/// Pinned, so that no change of the model goes unseen: element, elements, and what they come to. The small
/// size stays in the L2, the large one does not.
///
/// After a change on purpose, run `cargo test --release --test determinism pinned`, which prints the lines
/// to put here, and say in the commit why they moved.
#[rustfmt::skip]
const GOLDEN: [(ElementType, u64, Golden); 6] = [
    (Int, 32768, [5775, 6183, 9185, 5112, 0, 400, 1024, 2048, 0, 2507464]),
    (Short, 32768, [5551, 4296, 9024, 3064, 0, 0, 512, 1024, 0, 1858036]),
    (Char, 32768, [7383, 6943, 5359, 2034, 56055, 0, 256, 512, 0, 1397774]),
    (Int, 524288, [99455, 104483, 140949, 82248, 0, 159502, 65536, 131072, 124808, 93359096]),
    (Short, 524288, [64688, 75783, 137475, 48886, 0, 0, 32768, 65536, 59380, 43796230]),
    (Char, 524288, [108065, 120700, 77298, 31378, 1249125, 0, 16384, 32768, 26624, 28501870]),
];

#[test]
fn cycles_and_counters_are_the_pinned_ones() {
    let seen = GOLDEN.map(|(element, elements, _)| {
        let size = format!("workload.elements={elements}");
        (element, elements, golden(&stencil(element, &[&size])))
    });
    let lines = seen.map(|line| format!("    {line:?},")).join("\n");
    assert!(seen == GOLDEN, "the numbers are now\n{lines}");
}
