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
    ("stencil-char", Int, &["workload.elements=32768"], [5787, 6141, 9231, 5108, 0, 338, 1024, 2048, 0, 2505463]),
    ("stencil-char", Short, &["workload.elements=32768"], [5560, 4286, 9036, 3062, 0, 0, 512, 1024, 0, 1856288]),
    ("stencil-char", Char, &["workload.elements=32768"], [7483, 6860, 5440, 2036, 59172, 0, 256, 512, 0, 1422246]),
    ("stencil-char", Int, &["workload.elements=524288"], [101560, 103515, 142198, 81967, 0, 182318, 65536, 131072, 124816, 100323782]),
    ("stencil-char", Short, &["workload.elements=524288"], [64744, 75596, 137644, 48904, 0, 0, 32768, 65536, 59370, 43759078]),
    ("stencil-char", Char, &["workload.elements=524288"], [105272, 120096, 78170, 31110, 1202670, 0, 16384, 32768, 26624, 28564729]),
    ("matmul", Int, &["workload.size=100"], [30523, 88326, 18820, 9104, 208003, 1347, 626, 1252, 0, 8993011]),
    ("matmul", Short, &["workload.size=100"], [27747, 90989, 14250, 5411, 186081, 1949, 314, 628, 0, 7284223]),
    ("matmul", Char, &["workload.size=100"], [26808, 89838, 8326, 1902, 203572, 271, 158, 316, 0, 6082273]),
    ("stereo", Int, &["workload.width=48", "workload.height=36"], [2051645, 78, 0, 232018, 0, 301958, 4320, 8640, 0, 51553128]),
    ("stereo", Short, &["workload.width=48", "workload.height=36"], [1781094, 3232, 0, 173632, 0, 227202, 2160, 4320, 0, 34762921]),
    ("stereo", Char, &["workload.width=48", "workload.height=36"], [1398767, 11274, 0, 89814, 0, 0, 1080, 2160, 0, 15585137]),
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
