//! However time advances, no byte of a report changes: with cycles skipped or not, and with any number of threads.

#[path = "common/stencil.rs"]
mod stencil;

use std::num::NonZeroU32;
use std::path::Path;

use gsim::config::ElementType::{self, Char};
use gsim::config::ResolvedRun;
use gsim::gpu::{Stepping, total};
use gsim::report::Report;
use gsim::simulate::simulate;
use stencil::{load, simulate_run};

/// A size at which every SM has several CTAs and every kind of stall still happens.
const SMALL: &str = "workload.elements=32768";
/// With this L2 of 4 KiB a slice, the small stencil is read from the DRAM again, and written there.
const TINY_L2: [&str; 2] = ["l2.sets=4", "l2.size=4096"];

/// What a run must show, so that a comparison says something about it.
#[derive(Clone, Copy, Debug)]
enum Shows {
    /// Bursts written to the DRAM.
    Writes,
    /// Refreshes of the DRAM.
    Refreshes,
    /// Reads through the other partition of the L2.
    FarReads,
}
use Shows::{FarReads, Refreshes, Writes};

/// Every run of the repository, of a size that a test affords, also on machines on which other parts are at work.
const RUNS: &[(&str, &[&str], &[Shows])] = &[
    ("stencil-char", &[SMALL], &[Refreshes]),
    ("stencil-char", &[SMALL, "machine=h200"], &[FarReads]),
    ("matmul", &["workload.size=45"], &[]),
    ("matmul", &["workload.size=64", "l1.mshr_mergers=2", "l1.miss_queue=1"], &[]),
    // Replies that leave together, of which all but one are faster through the network than others.
    (
        "matmul",
        &["machine=h200", "workload.size=64", "noc.flit_bytes=32", "noc.header_bytes=64"],
        &[FarReads],
    ),
    // Refused accesses let others pass in a unit of two stages.
    (
        "gather",
        &[
            "machine=h200",
            "workload.ctas=8",
            "lsu.refusal_blocks=Instruction",
            "lsu.issue_latency=5",
            "l1.ways=2",
            "l1.size=8192",
        ],
        &[],
    ),
    ("stereo", &["workload.width=13", "workload.height=9"], &[Refreshes]),
    ("stream", &["workload.ctas=40"], &[Writes, Refreshes]),
    ("stream", &["workload.ctas=1", "workload.warps=1", "workload.launches=3"], &[]),
    (
        "stream",
        &["machine=h200", "l2.sets=8", "l2.size=20480", "workload.ctas=400"],
        &[Writes, Refreshes, FarReads],
    ),
    ("stream", &["machine=v100", "l2.sets=8", "l2.size=24576", "workload.ctas=160"], &[Writes]),
    // A single reply is owed mostly, of loads and of stores.
    ("chase", &["workload.phases.0.accesses=500"], &[Refreshes]),
    ("chase", &["machine=gtx280", "workload.phases.0.accesses=100"], &[]),
    ("chase", &["machine=v100", "workload.phases.0.accesses=60", "workload.launches=2"], &[]),
    ("chase", &["machine=h200", "workload.phases.0.accesses=40"], &[Refreshes]),
    ("chase", &["workload.ctas=2", "workload.phases.0.accesses=100"], &[Refreshes]),
    ("gather", &["workload.ctas=30"], &[Refreshes]),
    ("mixture", &["workload.ctas=30", "workload.repeats=2", "workload.launches=2"], &[Refreshes]),
    ("spmv", &[], &[]),
    ("concurrent", &[], &[]),
    // SMs with room for the second kernel only, with kernels that follow each other at a rate.
    (
        "concurrent",
        &[
            "machine=h200",
            "sm.count=4",
            "workload.parameters.compute_ctas=30",
            "workload.parameters.memory_ctas=40",
            "workload.parameters.block=192",
            "workload.launches.0.body.0.shared=150000",
        ],
        &[FarReads],
    ),
    ("convolution", &["workload.parameters.rows=45", "workload.parameters.columns=70"], &[]),
    ("convolution", &["machine=h200", "workload.parameters.rows=45"], &[FarReads]),
    (
        "tensor-matmul",
        &[
            "workload.parameters.rows=128",
            "workload.parameters.columns=192",
            "workload.parameters.depth=96",
        ],
        &[FarReads],
    ),
    (
        "warpgroup-matmul",
        &[
            "workload.parameters.rows=256",
            "workload.parameters.columns=384",
            "workload.parameters.depth=192",
        ],
        &[FarReads],
    ),
    // Boxes that other warps multiply meanwhile, where the miss queue is small, and boxes partly outside of their tensors.
    ("tensor-map-matmul", &[TILES, "l1.miss_queue=3"], &[FarReads]),
    ("fp8-matmul", &[SHORT_TILES, "l1.miss_queue=3"], &[FarReads]),
    ("../../tests/tensor_maps/boxes", &[], &[]),
    (
        "../micro/box-copies",
        &[
            "workload.launches.0.entry=stores",
            "workload.parameters={\"ctas\": 150, \"warps\": 4, \"times\": 6, \"copies\": 3, \"row\": 48, \"rows\": 17, \"x\": 4064, \"y\": 0, \"step\": \"rows\", \"advance\": 5, \"element_step\": 3, \"width\": 4096, \"height\": 65536}",
        ],
        &[],
    ),
    // Boxes that the slices combine with what they hold.
    ("../../tests/reductions/reductions", &[], &[FarReads]),
    (
        "../micro/box-sums",
        &[
            "workload.parameters={\"ctas\": 150, \"warps\": 4, \"times\": 6, \"copies\": 3, \"row\": 48, \"rows\": 17, \"x\": 4064, \"y\": 0, \"step\": \"rows\", \"advance\": 5, \"width\": 4096, \"height\": 65536}",
        ],
        &[],
    ),
    // Products whose factors go before what other warps load.
    (
        "../micro/warpgroup-products",
        &[
            "workload.launches.0.entry=beside_shared_64",
            "workload.parameters.threads=384",
            "workload.parameters.times=12",
        ],
        &[],
    ),
    ("pipeline", &["workload.parameters.tiles=150", "workload.parameters.ctas=12"], &[FarReads]),
    (
        "pipeline",
        &["machine=a100", "workload.parameters.tiles=40", "workload.parameters.ctas=9"],
        &[FarReads],
    ),
    (
        "pipeline",
        &[IN_BULK, "workload.parameters.tiles=150", "workload.parameters.ctas=12"],
        &[FarReads],
    ),
    // Bulk copies that find the miss queue full, of CTAs that share SMs, and warps that wait for those to global memory.
    (
        "../micro/bulks",
        &[IN_EIGHT_WARPS, "l1.miss_queue=2", "workload.parameters.bytes=4096"],
        &[FarReads],
    ),
    ("../micro/bulks", &[IN_EIGHT_WARPS, STORES, "workload.parameters.bytes=2048"], &[]),
    ("heat", &["workload.parameters.n=48", "workload.launches.0.args.2=F32(\"inf\")"], &[]),
    // Warps that go on behind a barrier, and operations across lanes that wait for each other.
    ("../micro/barriers", &["workload.launches.0.entry=popc", PAIRS], &[]),
    ("../micro/barriers", &["workload.launches.0.entry=in_turn", PAIRS], &[]),
    ("../micro/barriers", &["workload.launches.0.entry=behind_8", PAIRS], &[]),
    ("../micro/barriers", &["workload.launches.0.entry=loads", PAIRS], &[]),
    ("../micro/lanes-of-a-warp", &["workload.launches.0.entry=matches_and_shuffles", TIMES], &[]),
    ("../micro/lanes-of-a-warp", &["workload.launches.0.entry=shuffles_and_loads", TIMES], &[]),
];
const TILES: &str = "workload.parameters={\"rows\": 256, \"columns\": 384, \"depth\": 192}";
const SHORT_TILES: &str = "workload.parameters={\"rows\": 256, \"columns\": 384, \"depth\": 256}";
/// So many CTAs that some SMs have two, of six warps.
const PAIRS: &str = "workload.parameters={\"ctas\": 200, \"threads\": 192, \"times\": 64}";
const TIMES: &str = "workload.parameters.times=64";
const IN_BULK: &str = "workload.launches.0.entry=in_bulk";
const IN_EIGHT_WARPS: &str = "workload.parameters={\"ctas\": 140, \"warps\": 8, \"times\": 3, \"copies\": 3, \"bytes\": 4096, \
     \"advance\": 0, \"offset\": 16, \"n\": \"ctas * warps * 16384 + copies * bytes + 128\"}";
const STORES: &str = "workload.launches.0.entry=stores";

fn all_shared(threads: u32) -> Stepping {
    Stepping::AllShared(NonZeroU32::new(threads).expect("some threads"))
}

#[track_caller]
fn check_shows(report: &Report, shows: &[Shows], what: &str) {
    let (l2, dram) = (total(&report.components.l2), total(&report.components.dram));
    for show in shows {
        let count = match show {
            Writes => dram.write_bursts,
            Refreshes => dram.refreshes,
            FarReads => l2.far_read_sectors,
        };
        assert!(count > 0, "{what}: no {show:?}");
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

/// Compares a run with itself, stepped otherwise.
#[track_caller]
fn check(run: &str, changes: &[&str], shows: &[Shows], steppings: &[Stepping]) {
    let mut resolved = load(run, changes);
    resolved.by_line = true;
    let report = |resolved: &ResolvedRun, stepping| {
        simulate(resolved, stepping, &mut |_| ()).unwrap_or_else(|why| panic!("{run}: {why}"))
    };
    let what = format!("{run} {changes:?}");
    let mut skipped = report(&resolved, Stepping::SkipAhead);
    check_shows(&skipped, shows, &what);
    for &stepping in steppings {
        check_equal(&report(&resolved, stepping), &skipped, &format!("{what} {stepping:?}"));
    }
    // Nor does it matter whether what warps do is counted by line and by buffer.
    resolved.by_line = false;
    let uncounted = report(&resolved, Stepping::SkipAhead);
    assert!(!skipped.lines.is_empty() && uncounted.lines.is_empty(), "{what}");
    assert!(!skipped.buffers.is_empty() && uncounted.buffers.is_empty(), "{what}");
    (skipped.lines, skipped.buffers) = (Vec::new(), Vec::new());
    skipped.glossary = uncounted.glossary.clone();
    check_equal(&uncounted, &skipped, &format!("{what} without lines"));
}

#[test]
fn every_run_of_the_repository_is_compared() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/runs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ron") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(RUNS.iter().any(|(run, ..)| *run == name), "{name} is not in RUNS");
            count += 1;
        }
    }
    assert!(count >= 9, "only {count} runs are found");
}

#[test]
fn skipping_cycles_changes_no_byte_of_any_run() {
    for (run, changes, shows) in RUNS {
        check(run, changes, shows, &[Stepping::EveryCycle]);
    }
}

#[test]
fn any_number_of_threads_changes_no_byte_of_any_run() {
    let steppings = [2, 4, 8, 16].map(Stepping::threads);
    for (run, changes, shows) in RUNS {
        check(run, changes, shows, &steppings);
    }
}

#[test]
fn whatever_is_shared_between_threads_changes_no_byte_of_any_run() {
    let steppings = [2, 3, 8].map(all_shared);
    for (run, changes, shows) in RUNS {
        check(run, changes, shows, &steppings);
    }
}

/// Of sizes at which many SMs and partitions are at work in one step.
#[test]
fn what_is_shared_in_larger_runs_changes_no_byte() {
    let steppings = [Stepping::threads(2), all_shared(2), all_shared(4)];
    check("stereo", &["workload.width=96", "workload.height=30"], &[], &steppings);
    check("matmul", &["workload.size=128"], &[], &steppings);
    check("mixture", &["machine=h200", "workload.ctas=300"], &[Refreshes, FarReads], &steppings);
}

/// The stencil, of every element type and on a machine that is changed.
#[track_caller]
fn check_stencil(changes: &[&str]) -> [Report; 3] {
    let changes = [&[SMALL], changes].concat();
    ElementType::ALL.map(|element| {
        let ticked = simulate_run("stencil-char", element, &changes, Stepping::EveryCycle);
        for stepping in [Stepping::SkipAhead, all_shared(3)] {
            let report = simulate_run("stencil-char", element, &changes, stepping);
            check_equal(&report, &ticked, &format!("{element:?} {changes:?} {stepping:?}"));
        }
        ticked
    })
}

/// The same, where every element type writes to the DRAM.
#[track_caller]
fn check_stencil_with_writes(changes: &[&str]) {
    for report in check_stencil(&[&TINY_L2, changes].concat()) {
        check_shows(&report, &[Writes], &format!("{changes:?}"));
    }
}

/// Sets that conflict, many lines a load, few warps: what the stencil does not have.
#[test]
fn every_element_type_and_layout_is_exact() {
    let steppings = [Stepping::EveryCycle, all_shared(3)];
    for element in ElementType::ALL {
        let element = format!("workload.element={element:?}");
        check("matmul", &["workload.size=45", &element], &[], &steppings);
        for layout in ["PixelMajor", "BoxMajor", "LabelMajor"] {
            let layout = format!("workload.layout={layout}");
            let changes = ["workload.width=13", "workload.height=9", &layout, &element];
            check("stereo", &changes, &[], &steppings);
        }
    }
}

#[test]
fn every_scheduler_is_exact() {
    for policy in ["Lrr", "Gto", "Glrr(within: 4)", "Oldest", "TwoLevel(active: 8)"] {
        check_stencil(&[&format!("sm.policy={policy}")]);
    }
}

#[test]
fn every_way_to_refuse_an_access_is_exact() {
    for tag_latency in ["l1.tag_latency=0", "l1.tag_latency=35"] {
        for blocks in ["lsu.refusal_blocks=Unit", "lsu.refusal_blocks=Instruction"] {
            check_stencil(&[tag_latency, blocks, "l1.mshr_mergers=2", "l1.miss_queue=1"]);
        }
    }
}

#[test]
fn loads_past_the_l1_and_segments_by_element_are_exact() {
    check_stencil(&["l1.global_loads=Bypass"]);
    check_stencil(&["lsu.segment=ByElement", "sm.cta_release=AfterLoads", "l2.fetch=32"]);
}

#[test]
fn every_order_of_writes_and_closed_rows_are_exact() {
    check_stencil_with_writes(&[]);
    check_stencil_with_writes(&["dram.writes=Batched(high: 8, low: 2, idle: 0)"]);
    let by_bank = ["dram.refresh=PerBank", "dram.timing.rfc=300"];
    let batched = ["dram.writes=Batched(high: 6, low: 2, idle: 90)"];
    check_stencil_with_writes(&[&by_bank[..], &batched].concat());
    check_stencil_with_writes(&["dram.row_policy=Closed", "dram.scheduler=Fcfs", "dram.queue=4"]);
}

#[test]
fn whatever_the_l2_holds_at_a_start_is_exact() {
    for l2 in ["launch.l2=Flushed", "launch.l2=Warm"] {
        for machine in ["machine=gtx480", "machine=h200"] {
            check_stencil(&[machine, l2]);
        }
    }
}

#[test]
fn clocks_of_any_frequency_are_exact() {
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
    check_stencil(&core_fastest);
    check_stencil(&core_slowest);
}

/// An access takes more core cycles than the watch for deadlocks would wait for on another GPU.
#[test]
fn a_clock_may_be_as_slow_as_can_be() {
    let slow = ["l2.tag_latency=1023", "l2.data_latency=1023"];
    let changes = [&[SMALL, "clocks.core_khz=10000000", "clocks.l2_khz=10000"], &slow[..]].concat();
    let alone = simulate_run("stencil-char", Char, &changes, Stepping::SkipAhead);
    let shared = simulate_run("stencil-char", Char, &changes, Stepping::threads(2));
    check_equal(&shared, &alone, "two threads");
}

#[test]
fn every_preset_is_exact() {
    for preset in gsim::config::presets::PRESETS {
        check_stencil(&[&format!("machine={}", preset.name)]);
    }
}
