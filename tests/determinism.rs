//! The same inputs give the same bytes, and the numbers stay what they were.

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
    ("stencil-char", Int, &["workload.elements=524288"], [101885, 103598, 142149, 81933, 0, 192213, 65536, 131072, 124804, 100401261]),
    ("stencil-char", Short, &["workload.elements=524288"], [64641, 75797, 137446, 48901, 0, 0, 32768, 65536, 59374, 43749413]),
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
