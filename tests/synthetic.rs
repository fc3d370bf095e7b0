//! Synthetic kernels on the model: what can be computed on paper, and what may not change a byte.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{gtx480, run};
use gsim::config::overrides::assignment;
use gsim::config::{Machine, SyntheticSpec, WorkloadSpec, load_run};
use gsim::frontend::synthetic::SyntheticSource;
use gsim::gpu::{KernelStatistics, Stepping, total};
use gsim::simulate::simulate;
use gsim::stats::LsuReason;
use gsim::workload::SyntheticLaunch;
use serde_json::json;

fn launch(text: &str) -> SyntheticLaunch {
    let spec: WorkloadSpec =
        gsim::config::parse::from_text(Path::new("test.ron"), &format!("Synthetic({text})"))
            .unwrap_or_else(|why| panic!("{why}"));
    let WorkloadSpec::Synthetic(spec) = spec else { unreachable!("it says Synthetic") };
    let spec: SyntheticSpec = (*spec).clone();
    SyntheticLaunch { spec: Arc::new(spec), seed: 1 }
}

/// Runs a kernel, with and without skip-ahead.
fn simulated(machine: &Machine, text: &str) -> KernelStatistics {
    let launch = launch(text);
    run(machine, || SyntheticSource::new(&launch))
}

/// One lane follows `accesses` nodes of `node` bytes in a footprint.
fn chase(
    machine: &Machine,
    order: &str,
    node: u64,
    footprint: u64,
    accesses: u32,
) -> KernelStatistics {
    simulated(
        machine,
        &format!(
            "ctas: 1, warps: 1, phases: [(accesses: {accesses}, mix: [(pattern: Chase(node: {node}, \
             order: {order}), footprint: {footprint}, width: 8, lanes: 1)])]"
        ),
    )
}

#[test]
fn a_chase_in_the_l1_costs_issue_plus_hit_latency_a_load() {
    let machine = gtx480(&[]);
    // 64 lines: two rounds have loaded all of them. A difference leaves out their misses.
    let (short, long) =
        (chase(&machine, "Shuffled", 128, 8192, 128), chase(&machine, "Shuffled", 128, 8192, 1128));
    assert_eq!(total(&long.components.l1).load_misses, 64);
    let hit = machine.lsu.issue_latency.cycles() + machine.l1.hit_latency.cycles();
    assert_eq!(long.cycles - short.cycles, 1000 * hit);
}

#[test]
fn a_chase_in_the_l2_costs_the_sum_of_the_latencies_on_the_way() {
    let machine = gtx480(&[]);
    // 1024 lines: eight times the L1, a sixth of the L2, and each in turn: the L1 never hits.
    let lines = 1024;
    let footprint = lines * 128;
    let (once, twice) = (
        chase(&machine, "Sequential", 128, footprint, lines as u32),
        chase(&machine, "Sequential", 128, footprint, 2 * lines as u32),
    );
    assert_eq!(total(&twice.components.l1).load_hits, 0);
    assert_eq!(total(&twice.components.l2).read_hits, lines);
    let noc = &machine.noc;
    let flits =
        |bytes: u64| (u64::from(noc.header_bytes.get()) + bytes).div_ceil(noc.flit_bytes.cycles());
    let network = |bytes| flits(bytes) + noc.latency.cycles();
    // Issue, L1 to network, request, network to slice, tags; data, reply, registers.
    let load = machine.lsu.issue_latency.cycles()
        + 1
        + network(0)
        + 1
        + machine.l2.tag_latency.cycles()
        + machine.l2.data_latency.cycles()
        + network(128)
        + machine.l1.fill_latency.cycles();
    assert_eq!(twice.cycles - once.cycles, lines * load);
}

#[test]
fn a_chase_takes_all_its_time_in_the_latencies_of_its_loads() {
    let machine = gtx480(&[]);
    let seen = chase(&machine, "Shuffled", 128, 0x400_0000, 500);
    assert_eq!(seen.latency_accesses, 500);
    // The CTA starts in a cycle, the first load issues in the next, and the exit ends the kernel.
    let overhead = seen.cycles - seen.ledgers.latency.total();
    assert!(overhead <= 3, "{overhead}");
}

#[test]
fn chains_in_flight_divide_the_time_as_little_says() {
    let machine = gtx480(&[("dram.timing.refi", json!(0))]);
    let cycles = |in_flight: u32| {
        let seen = simulated(
            &machine,
            &format!(
                "ctas: 1, warps: 1, phases: [(accesses: 2048, in_flight: {in_flight}, mix: [(pattern: \
                 Chase(node: 128, order: Shuffled), footprint: 0x400_0000, width: 8, lanes: 1)])]"
            ),
        );
        // Little's law: what is under way on average is throughput times latency.
        let under_way = seen.ledgers.latency.total() as f64 / seen.cycles as f64;
        assert!(under_way <= f64::from(in_flight));
        assert!(under_way > 0.9 * f64::from(in_flight), "{in_flight}: {under_way}");
        seen.cycles as f64
    };
    let alone = cycles(1);
    for in_flight in [2, 4, 8] {
        let speedup = alone / cycles(in_flight);
        let perfect = f64::from(in_flight);
        assert!((0.85 * perfect..1.05 * perfect).contains(&speedup), "{in_flight}: {speedup}");
    }
}

#[test]
fn independent_accesses_of_a_stream_hide_each_other() {
    let machine = gtx480(&[]);
    let cycles = |in_flight: u32| {
        let stream = "pattern: Stream, footprint: 0x400_0000, width: 4";
        let text = format!(
            "ctas: 15, warps: 2, phases: [(accesses: 64, in_flight: {in_flight}, arithmetic: 1, \
             mix: [({stream})])]"
        );
        simulated(&machine, &text).cycles as f64
    };
    let alone = cycles(1);
    let (two, four) = (cycles(2), cycles(4));
    // Far from the bandwidth of the machine, twice as many take half the time.
    assert!((1.7..2.1).contains(&(alone / two)), "{}", alone / two);
    assert!((3.0..4.1).contains(&(alone / four)), "{}", alone / four);
}

#[test]
fn a_stream_reaches_the_bandwidth_of_the_dram_and_never_exceeds_it() {
    let machine = gtx480(&[]);
    let dram = &machine.dram;
    let bytes_per_clock = dram.channels.get() * dram.bus_bytes.get() * dram.data_rate.get();
    let peak = f64::from(bytes_per_clock) * f64::from(machine.clocks.dram_khz.get());
    let stream = |ctas: u64| {
        let seen = simulated(
            &machine,
            &format!(
                "ctas: {ctas}, warps: 8, phases: [(accesses: 1, mix: [(pattern: Stream, footprint: \
                 0x1000_0000, width: 16)])]"
            ),
        );
        assert_eq!(total(&seen.components.dram).reads, ctas * 32);
        (ctas * 8 * 512, seen.cycles)
    };
    let (short, long) = (stream(200), stream(1200));
    let share = |bytes: u64, cycles: u64| {
        bytes as f64 * f64::from(machine.clocks.core_khz.get()) / cycles as f64 / peak
    };
    let steady = share(long.0 - short.0, long.1 - short.1);
    assert!((0.85..=1.0).contains(&steady), "{steady}");
    assert!(share(long.0, long.1) <= 1.0);
}

#[test]
fn a_broadcast_misses_once_a_line_and_hits_ever_after() {
    let machine = gtx480(&[]);
    let seen = simulated(
        &machine,
        "ctas: 1, warps: 4, phases: [(accesses: 64, mix: [(pattern: Broadcast(step: 4), footprint: 4096)])]",
    );
    let l1 = total(&seen.components.l1);
    // 64 steps of 4 bytes: two lines. One access an instruction.
    assert_eq!((l1.loads(), l1.load_misses), (256, 2));
}

#[test]
fn the_hit_rate_of_hot_lines_is_their_share() {
    let machine = gtx480(&[]);
    let seen = simulated(
        &machine,
        "ctas: 30, warps: 8, phases: [(accesses: 200, mix: [(pattern: Hot(fraction: 0.8, bytes: 512), \
         footprint: 0x1_0000_0000)])]",
    );
    let l1 = total(&seen.components.l1);
    assert_eq!(l1.loads(), 30 * 8 * 200);
    // 48,000 draws: a standard deviation is 0.002. Four lines stay where 192 accesses between two of
    // theirs are rare, and a cold line is in an L1 of 128 lines by accident once in a hundred thousand.
    let near = (l1.load_hits + l1.load_merged) as f64 / l1.loads() as f64;
    assert!((0.78..0.81).contains(&near), "{near}");
}

#[test]
fn stores_are_the_share_that_the_kernel_says() {
    let machine = gtx480(&[]);
    for (fraction, stores) in [("0", 0), ("0.25", 25), ("0.333333", 33), ("1", 100)] {
        let seen = simulated(
            &machine,
            &format!(
                "ctas: 3, warps: 2, phases: [(accesses: 100, mix: [(pattern: Random(run: 32), \
                 footprint: 0x10_0000, write_fraction: {fraction})])]"
            ),
        );
        let sm = total(&seen.components.sm);
        assert_eq!(sm.store_instructions, 6 * stores, "{fraction}");
        assert_eq!(sm.load_instructions, 6 * (100 - stores), "{fraction}");
    }
}

#[test]
fn a_stride_in_shared_memory_takes_a_pass_for_each_conflict() {
    let machine = gtx480(&[]);
    for (lane, passes) in [(4, 1), (8, 2), (16, 4), (128, 32), (0, 1)] {
        let seen = simulated(
            &machine,
            &format!(
                "ctas: 1, warps: 1, shared: 4096, phases: [(accesses: 10, mix: [(pattern: Stride(lane: \
                 {lane}), footprint: 4096, space: Shared)])]"
            ),
        );
        assert_eq!(total(&seen.components.sm).shared_passes, 10 * passes, "{lane}");
        let conflicts = seen.ledgers.lsu.part(LsuReason::BankConflict);
        assert_eq!(conflicts, 10 * (passes - 1), "{lane}");
    }
}

#[test]
fn random_lanes_make_an_access_each_and_runs_of_lanes_share_theirs() {
    let machine = gtx480(&[]);
    for (run, accesses) in [(1, 32), (8, 4), (32, 1)] {
        let seen = simulated(
            &machine,
            &format!(
                "ctas: 1, warps: 1, phases: [(accesses: 50, mix: [(pattern: Random(run: {run}), \
                 footprint: 0x100_0000_0000)])]"
            ),
        );
        // Of 2^33 lines no two are alike by accident.
        assert_eq!(total(&seen.components.sm).load_accesses, 50 * accesses);
    }
}

#[test]
fn atomics_on_one_line_are_slower_than_on_a_line_for_each_warp() {
    let machine = gtx480(&[]);
    let cycles = |sharing: &str| {
        let text = format!(
            "ctas: 15, warps: 4, phases: [(accesses: 16, in_flight: 4, mix: [(pattern: Broadcast(step: 0), \
             footprint: 128, sharing: {sharing}, atomic_fraction: 1)])]"
        );
        let seen = simulated(&machine, &text);
        assert_eq!(total(&seen.components.sm).atomic_instructions, 15 * 4 * 16);
        seen.cycles
    };
    // One slice takes at best one of the 960 a cycle; twelve slices share those of all lines.
    let one_line = cycles("Grid");
    assert!(one_line >= 960, "{one_line}");
    assert!(cycles("Warp") < one_line);
}

#[test]
fn a_kernel_has_the_traffic_of_its_pattern_and_one_store_a_warp_more() {
    for name in ["stream", "gather"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("configs/runs/{name}.ron"));
        let sets = [assignment("workload.ctas=30").expect("path=value")];
        let run = load_run(&file, &sets).unwrap_or_else(|why| panic!("{why}"));
        let simulated = |run| {
            simulate(run, Stepping::SkipAhead, &mut |_| ()).unwrap_or_else(|why| panic!("{why}"))
        };
        let (pattern, kernel) = (simulated(&run), simulated(&run.for_gpu()));
        let loads = |report: &gsim::report::Report| {
            let sm = total(&report.components.sm);
            (sm.load_instructions, sm.load_accesses, sm.atomic_instructions)
        };
        assert_eq!(loads(&kernel), loads(&pattern), "{name}");
        let stores =
            |report: &gsim::report::Report| total(&report.components.sm).store_instructions;
        assert_eq!(stores(&kernel), stores(&pattern) + 30 * 8, "{name}");
        assert!(kernel.verdict_line().starts_with("output equals"), "{}", kernel.verdict_line());
    }
}

/// `cargo test --release --test synthetic speed -- --ignored --nocapture`
#[test]
#[ignore = "measures the host"]
fn speed_of_the_generator() {
    use gsim::isa::{Cta, CtaSource};
    let patterns = [
        "Stream",
        "Stride(lane: 128)",
        "Random()",
        "Random(run: 32)",
        "Gather(locality: 0.8, window: 4096)",
        "Zipf(exponent: 0.9)",
        "Chase(node: 128, order: Shuffled)",
        "Chase(node: 128, order: Shuffled, chains: Lane)",
        "Stencil(radius: 1, row: 4096)",
    ];
    for pattern in patterns {
        for arithmetic in [0, 4] {
            let launch = launch(&format!(
                "ctas: 2000, warps: 8, phases: [(accesses: 64, in_flight: 4, arithmetic: {arithmetic}, \
                 mix: [(pattern: {pattern}, footprint: 0x1_0000_0000)])]"
            ));
            let mut source = SyntheticSource::new(&launch);
            let mut cta = Cta::default();
            let mut instructions = 0;
            let start = std::time::Instant::now();
            while source.next(&mut cta).expect("it cannot fail") {
                instructions += cta.warps.iter().map(|warp| warp.instructions()).sum::<u64>();
            }
            let rate = instructions as f64 / start.elapsed().as_secs_f64() / 1e6;
            println!("{pattern}, arithmetic {arithmetic}: {rate:.1} M warp instructions/s");
        }
    }
}
