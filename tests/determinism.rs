//! The same inputs give the same bytes, however time advances, and the numbers stay what they were.

#[path = "common/stencil.rs"]
mod stencil;

use gsim::config::ElementType::{self, Char, Int, Short};
use gsim::gpu::{Stepping, total};
use gsim::report::Report;
use stencil::{simulate_run, stencil};

/// A size at which every SM has several CTAs and every kind of stall still happens.
const SMALL: &str = "workload.elements=32768";

#[test]
fn a_run_gives_the_same_bytes_every_time() {
    for element in ElementType::ALL {
        let once = stencil(element, &[SMALL]).to_json();
        assert!(once == stencil(element, &[SMALL]).to_json(), "{element:?}");
    }
}

/// Neither skipping cycles in which nothing happens nor threads change a byte of the report.
#[track_caller]
fn check_skipping_of(run: &str, changes: &[&str]) {
    for element in ElementType::ALL {
        let ticked = simulate_run(run, element, changes, Stepping::EveryCycle);
        for stepping in [Stepping::SkipAhead, Stepping::threads(3)] {
            let report = simulate_run(run, element, changes, stepping);
            check_equal(&report, &ticked, &format!("{run} {element:?} {changes:?} {stepping:?}"));
        }
    }
}

#[track_caller]
fn check_equal(report: &Report, other: &Report, what: &str) {
    // Counters first: they say what differs.
    assert_eq!(report.totals, other.totals, "{what}");
    assert_eq!(report.ledgers, other.ledgers, "{what}");
    assert_eq!(report.components, other.components, "{what}");
    assert!(report.to_json() == other.to_json(), "{what}");
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let runs: [(&str, &[&str]); 4] = [
        ("stencil-char", &[SMALL]),
        ("stencil-char", &[SMALL, "machine=h200"]),
        ("matmul", &["workload.size=64"]),
        ("stereo", &["workload.width=13", "workload.height=9"]),
    ];
    for (run, changes) in runs {
        let alone = simulate_run(run, Char, changes, Stepping::threads(1));
        for threads in [2, 4, 8, 16] {
            let report = simulate_run(run, Char, changes, Stepping::threads(threads));
            check_equal(&report, &alone, &format!("{run} {changes:?}, {threads} threads"));
        }
    }
}

#[track_caller]
fn check_skipping(changes: &[&str]) {
    check_skipping_of("stencil-char", &[&[SMALL], changes].concat());
}

/// Sets that conflict, many lines a load, few warps: what the stencil does not have.
#[test]
fn skipping_is_exact_for_every_workload() {
    check_skipping_of("matmul", &["workload.size=45"]);
    check_skipping_of("matmul", &["workload.size=64", "l1.mshr_mergers=2", "l1.miss_queue=1"]);
    for layout in ["PixelMajor", "BoxMajor", "LabelMajor"] {
        let layout = format!("workload.layout={layout}");
        check_skipping_of("stereo", &["workload.width=13", "workload.height=9", &layout]);
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
    check_skipping(&["dram.writes=Batched(high: 8, low: 2, idle: 0)"]);
    let by_bank = ["dram.refresh=PerBank", "dram.timing.rfc=300"];
    check_skipping(&[&by_bank[..], &["dram.writes=Batched(high: 6, low: 2, idle: 90)"]].concat());
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

/// An access takes more core cycles than the watch for deadlocks would wait for on another GPU.
#[test]
fn a_clock_may_be_as_slow_as_can_be() {
    let changes = [SMALL, "clocks.l2_khz=1"];
    let alone = simulate_run("stencil-char", Char, &changes, Stepping::SkipAhead);
    let shared = simulate_run("stencil-char", Char, &changes, Stepping::threads(2));
    check_equal(&shared, &alone, "two threads");
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

/// Pinned, so that no change of the model goes unseen: run, element, changes, and what they come to. The
/// small stencil stays in the L2, the large one does not.
///
/// After a change on purpose, run `cargo test --release --test determinism pinned`, which prints the lines
/// to put here, and say in the commit why they moved.
#[rustfmt::skip]
const GOLDEN: [(&str, ElementType, &[&str], Golden); 12] = [
    ("stencil-char", Int, &["workload.elements=32768"], [5775, 6183, 9185, 5112, 0, 400, 1024, 2048, 0, 2507464]),
    ("stencil-char", Short, &["workload.elements=32768"], [5551, 4296, 9024, 3064, 0, 0, 512, 1024, 0, 1858036]),
    ("stencil-char", Char, &["workload.elements=32768"], [7383, 6943, 5359, 2034, 56055, 0, 256, 512, 0, 1397774]),
    ("stencil-char", Int, &["workload.elements=524288"], [99455, 104483, 140949, 82248, 0, 159502, 65536, 131072, 124808, 93359096]),
    ("stencil-char", Short, &["workload.elements=524288"], [64688, 75783, 137475, 48886, 0, 0, 32768, 65536, 59380, 43796230]),
    ("stencil-char", Char, &["workload.elements=524288"], [108065, 120700, 77298, 31378, 1249125, 0, 16384, 32768, 26624, 28501870]),
    ("matmul", Int, &["workload.size=100"], [31108, 88201, 19170, 8879, 202746, 1407, 626, 1252, 0, 8995522]),
    ("matmul", Short, &["workload.size=100"], [28045, 90955, 14242, 5453, 189187, 1753, 314, 628, 0, 7319597]),
    ("matmul", Char, &["workload.size=100"], [26778, 89854, 8322, 1890, 205098, 265, 158, 316, 0, 6102792]),
    ("stereo", Int, &["workload.width=48", "workload.height=36"], [2051452, 78, 0, 232018, 0, 301931, 4320, 8640, 0, 51552610]),
    ("stereo", Short, &["workload.width=48", "workload.height=36"], [1782594, 3232, 0, 173632, 0, 227196, 2160, 4320, 0, 34763947]),
    ("stereo", Char, &["workload.width=48", "workload.height=36"], [1398882, 11274, 0, 89814, 0, 0, 1080, 2160, 0, 15585016]),
];

#[test]
fn cycles_and_counters_are_the_pinned_ones() {
    let seen = GOLDEN.map(|(run, element, changes, _)| {
        let report = simulate_run(run, element, changes, Stepping::SkipAhead);
        (run, element, changes, golden(&report))
    });
    let lines = seen.map(|(run, element, changes, numbers)| {
        format!("    ({run:?}, {element:?}, &{changes:?}, {numbers:?}),")
    });
    assert!(seen == GOLDEN, "the numbers are now\n{}", lines.join("\n"));
}
