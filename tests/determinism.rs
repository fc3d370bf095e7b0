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
    ("stencil-char", Int, &["workload.elements=32768"], [5786, 6084, 9284, 5112, 0, 384, 1024, 2048, 0, 2504833]),
    ("stencil-char", Short, &["workload.elements=32768"], [5540, 4290, 9030, 3064, 0, 0, 512, 1024, 0, 1859477]),
    ("stencil-char", Char, &["workload.elements=32768"], [8502, 6494, 5806, 2036, 73746, 0, 256, 512, 0, 1504823]),
    ("stencil-char", Int, &["workload.elements=524288"], [101686, 104051, 141590, 82039, 0, 181213, 65536, 131072, 124805, 101187169]),
    ("stencil-char", Short, &["workload.elements=524288"], [64714, 75615, 137599, 48930, 0, 0, 32768, 65536, 59380, 43807038]),
    ("stencil-char", Char, &["workload.elements=524288"], [115235, 120380, 77498, 31498, 1357936, 0, 16384, 32768, 26624, 28692319]),
    ("matmul", Int, &["workload.size=100"], [31192, 88090, 19165, 8995, 205584, 1335, 626, 1252, 0, 9003556]),
    ("matmul", Short, &["workload.size=100"], [28358, 90802, 14509, 5339, 188157, 1660, 314, 628, 0, 7304977]),
    ("matmul", Char, &["workload.size=100"], [26996, 89857, 8319, 1890, 207113, 338, 158, 316, 0, 6094253]),
    ("stereo", Int, &["workload.width=48", "workload.height=36"], [2051640, 78, 0, 232018, 0, 301958, 4320, 8640, 0, 51553194]),
    ("stereo", Short, &["workload.width=48", "workload.height=36"], [1781080, 3232, 0, 173632, 0, 227202, 2160, 4320, 0, 34762913]),
    ("stereo", Char, &["workload.width=48", "workload.height=36"], [1398767, 11274, 0, 89814, 0, 0, 1080, 2160, 0, 15585161]),
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
