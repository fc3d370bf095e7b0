//! The limits of machines: by hand, against what the simulator reaches, and against what their sources say.

mod common;

use std::path::Path;
use std::sync::Arc;

use common::preset;
use gsim::config::presets::PRESETS;
use gsim::config::{Checked, Machine, SyntheticSpec};
use gsim::frontend::synthetic::SyntheticSource;
use gsim::gpu::{Gpu, Stepping};
use gsim::limits::{Latencies, Limits, Place, Rates, UnderWay, Unit};
use gsim::workload::SyntheticLaunch;
use serde_json::json;

/// Units in a core cycle, and the fields that set them.
fn per_cycle(machine: &Machine, name: &str) -> (f64, String) {
    let rates = Rates::of(machine);
    let rate = rates.all.iter().find(|rate| rate.name == name);
    let rate = rate.unwrap_or_else(|| panic!("no rate {name}"));
    (rate.per_cycle(machine), rate.set_by.clone())
}

#[test]
fn the_rates_of_a_gtx_480_are_those_of_its_parts() {
    let machine = preset("gtx480", &[]);
    let want = [
        // 15 SMs of two schedulers.
        ("issue", Unit::Instructions, 15 * 2),
        // Two groups of 16 lanes at twice the clock; a quarter of one for special functions and double precision.
        ("single-precision multiply-adds", Unit::Operations, 15 * 2 * 32),
        ("integer additions", Unit::Operations, 15 * 2 * 32),
        ("integer multiply-adds", Unit::Operations, 15 * 2 * 32),
        ("special functions", Unit::Operations, 15 * 32 / 4),
        ("double-precision multiply-adds", Unit::Operations, 15 * 32 / 4),
        // 32 banks of four bytes, and a line.
        ("shared memory", Unit::Bytes, 15 * 32 * 4),
        ("L1 hits", Unit::Bytes, 15 * 128),
        ("L1 lookups", Unit::Bytes, 15 * 128),
        // Twelve slices take a request of one flit each.
        ("request network, reads", Unit::Requests, 12),
        // A header of 8 bytes and a line of 128 are four flits of 40.
        ("request network, stores", Unit::Bytes, 12 * 128 / 4),
        ("L2 reads", Unit::Bytes, 12 * 128),
        ("L2 writes", Unit::Bytes, 12 * 128),
        ("reply network", Unit::Bytes, 12 * 128 / 4),
        ("L2 fetches", Unit::Bytes, 12 * 128),
    ];
    let rates = Rates::of(&machine);
    let (dram, others) = rates.all.split_last().unwrap();
    for (rate, want) in others.iter().zip(want) {
        let have = (rate.name.as_str(), rate.unit, rate.per_cycle(&machine));
        assert_eq!(have, (want.0, want.1, f64::from(want.2)));
        assert_eq!(rate.per_second, f64::from(want.2) * 700e6, "{}", rate.name);
    }
    assert_eq!(others.len(), want.len());
    // 384 bits, four times in a cycle of 924 MHz.
    assert_eq!((dram.name.as_str(), dram.per_second), ("DRAM", 48.0 * 4.0 * 924e6));
    let narrowest = |level: &gsim::limits::Narrowest| (level.name.clone(), level.bytes_per_second);
    assert_eq!(narrowest(&rates.from_dram), ("DRAM".to_owned(), dram.per_second));
    let from_l2 = rates.from_l2.as_ref().map(narrowest);
    assert_eq!(from_l2, Some(("reply network".to_owned(), 384.0 * 700e6)));
}

#[test]
fn the_port_of_a_gpc_sets_what_replies_bring() {
    // 129 bytes of a reply are two flits of 65. Of each of six groups of slices a GPC takes 112 bytes in a cycle.
    let h200 = preset("h200", &[]);
    let replies = |machine: &Machine| {
        let (bytes, set_by) = per_cycle(machine, "reply network");
        ((bytes * 1000.0).round() / 1000.0, set_by)
    };
    let of_port = |bytes: f64| (8.0 * 6.0 * bytes / 130.0 * 128.0 * 1000.0).round() / 1000.0;
    assert_eq!(replies(&h200), (of_port(112.0), "noc.gpc_port".to_owned()));
    let wide = json!({"BySlices": {"groups": 6, "bytes": 224}});
    let h200 = preset("h200", &[("noc.gpc_port", wide)]);
    assert_eq!(replies(&h200), (94.0 / 2.0 * 128.0, "noc.flit_bytes".to_owned()));
    // A sector in a cycle of the L2's clock.
    let (bytes, set_by) = per_cycle(&h200, "L2 writes");
    let clocks = f64::from(h200.clocks.l2_khz.get()) / f64::from(h200.clocks.core_khz.get());
    assert!((bytes - 94.0 * 32.0 * clocks).abs() < 1e-6, "{bytes}");
    assert_eq!(set_by, "l2.slices, data_port");
}

#[test]
fn a_level_without_work_is_left_out() {
    let names = |name: &str| {
        Rates::of(&preset(name, &[])).all.into_iter().map(|rate| rate.name).collect::<Vec<_>>()
    };
    let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
    let oldest = names("9800gt");
    assert!(!has(&oldest, "L1 hits") && !has(&oldest, "double-precision multiply-adds"));
    assert!(has(&oldest, "L2 slices, which keep nothing") && !has(&oldest, "L2 reads"));
    assert!(has(&names("gtx280"), "double-precision multiply-adds"));
    assert!(has(&names("gtx680"), "L1 hits, of local memory"));
    // Its tags see four lines a cycle.
    let newest = names("h200");
    assert!(has(&newest, "L1 hits") && !has(&newest, "L1 lookups"));
}

#[test]
fn what_a_gtx_480_may_have_under_way_is_that_of_its_parts() {
    let machine = preset("gtx480", &[]);
    let found = UnderWay::of(&machine);
    let all: Vec<_> = found.all.iter().map(|one| (one.name, one.place, one.each)).collect();
    let want = [
        ("warps", Place::Sm, 48),
        ("threads", Place::Sm, 1536),
        ("CTAs", Place::Sm, 8),
        ("registers", Place::Sm, 32768),
        ("shared memory, bytes", Place::Sm, 49152),
        ("L1 lines outstanding", Place::Sm, 32),
        ("loads of these, merged", Place::Sm, 32 * 8),
        ("L1 miss queue, packets", Place::Sm, 8),
        ("L2 MSHR entries", Place::Slice, 32),
        ("requests of these, merged", Place::Slice, 32 * 4),
        ("L2 miss queue, requests", Place::Slice, 8),
        ("DRAM queue, requests", Place::Channel, 16),
    ];
    assert_eq!(all, want);
    for one in &found.all {
        let places = match one.place {
            Place::Sm => 15,
            Place::Slice => 12,
            Place::Channel => 6,
        };
        assert_eq!(one.chip, places * one.each, "{}", one.name);
    }
    // CUDA Occupancy Calculator, compute capability 2.0: 48 warps with 20 registers a thread and no more.
    assert_eq!((found.registers_of_thread, found.shared_of_cta), (20, 6144));
    // Of 9.0: 32 registers; 228 KB for 32 CTAs, of which the system takes 1 KB each.
    let h200 = UnderWay::of(&preset("h200", &[]));
    assert_eq!((h200.registers_of_thread, h200.shared_of_cta), (32, 7296 - 1024));
}

#[test]
fn few_entries_keep_the_dram_from_its_peak() {
    // The rest of the chip could give more.
    let hertz = 700e6;
    for entries in [2, 4, 8, 16, 32] {
        let machine = preset("gtx480", &[("l1.mshr_entries", json!(entries))]);
        let Limits { filling, latencies, .. } = Limits::of(&machine).unwrap();
        let equal =
            |have: f64, want: f64| assert!((have / want - 1.0).abs() < 1e-9, "{have} {want}");
        equal(filling.bytes, 177.408e9 * latencies.dram_in_order / hertz);
        equal(filling.lines_of_sm, filling.bytes / 128.0 / 15.0);
        // 15 SMs of so many lines. Between issue and L1 lie two cycles.
        let allowed = 15.0 * f64::from(entries) * 128.0 * hertz / (latencies.dram_in_order - 2.0);
        let bound = filling.bound.bytes_per_second;
        equal(bound, allowed.min(177.408e9));
        assert_eq!(filling.bound.name, if allowed < 177.408e9 { "L1 lines" } else { "DRAM" });
        let mix = |_| "pattern: Stream, footprint: 0x4000_0000".to_owned();
        let reached = reached(&machine, 4, [40, 120], &mix) * hertz;
        println!("{entries}: {:.1} of {:.1} GB/s", reached / 1e9, bound / 1e9);
        assert!(reached <= 1.01 * bound && reached >= 0.7 * bound, "{entries}: {reached} {bound}");
    }
    // More entries than lines are of no use.
    let small = [("l1.size", json!(1024)), ("l1.sets", json!(2)), ("l1.ways", json!(4))];
    let few = UnderWay::of(&preset("gtx480", &small));
    let lines = few.all.iter().find(|one| one.name == "L1 lines outstanding").unwrap();
    assert_eq!((lines.each, lines.set_by), (8, "l1.size"));
}

#[test]
fn lone_loads_take_what_closed_forms_and_sources_say() {
    // Issue, and the L1's latency; request, slice and reply, as in closed_forms.rs.
    let gtx480 = Latencies::of(&preset("gtx480", &[])).unwrap();
    assert_eq!((gtx480.l1, gtx480.l2), (Ok(2.0 + 35.0), Ok(2.0 + 1.0 + 5.0 + 1.0 + 120.0 + 6.0)));
    // Those of closed_forms.rs, from publications and measurements. 0: none.
    for (name, l1, l2) in [
        ("gtx680", 0.0, 188.0),
        ("v100", 28.0, 193.0),
        ("a100", 33.0, 208.0),
        ("h100", 32.0, 276.0),
        ("h200", 32.0, 276.0),
    ] {
        let found = Latencies::of(&preset(name, &[])).unwrap();
        let near = |have: Result<f64, _>, want: f64| (have.unwrap_or(0.0) - want).abs() <= 4.0;
        assert!(near(found.l1, l1) && near(found.l2, l2), "{name}: {found:?}");
    }
    // The way that a level is not there.
    let gtx280 = Latencies::of(&preset("gtx280", &[])).unwrap();
    let absent = (Err("loads pass it"), Err("the slices keep nothing"));
    assert_eq!((gtx280.l1, gtx280.l2), absent);
    let gtx680 = Latencies::of(&preset("gtx680", &[])).unwrap();
    assert_eq!(gtx680.l1, Err("global loads pass it"));
}

#[test]
fn latencies_do_not_depend_on_what_the_l2_holds_at_a_start() {
    let of = |l2: &str| Latencies::of(&preset("gtx480", &[("launch.l2", json!(l2))])).unwrap();
    assert_eq!(of("Cold"), of("Flushed"));
    assert_eq!(of("Cold"), of("Warm"));
}

#[test]
fn a_machine_on_which_no_warp_fits_is_refused_in_one_line() {
    let machine = preset("gtx480", &[("shared_memory.per_cta", json!(4096))]);
    let changes = [("shared_memory.per_cta", json!(4096)), ("shared_memory.size", json!(1024))];
    assert!(Limits::of(&machine).is_ok());
    let error = Limits::of(&preset("gtx480", &changes)).unwrap_err().to_string();
    assert!(error.contains("bytes of shared memory") && !error.contains('\n'), "{error}");
}

#[test]
fn the_smallest_caches_have_limits() {
    let small = [
        ("l1.size", json!(128)),
        ("l1.sets", json!(1)),
        ("l1.ways", json!(1)),
        ("l2.size", json!(128)),
        ("l2.sets", json!(1)),
        ("l2.ways", json!(1)),
    ];
    let limits = Limits::of(&preset("gtx480", &small)).unwrap();
    assert_eq!(limits.latencies.l1, Ok(37.0));
    // Slices of a line each.
    assert_eq!(limits.latencies.l2, Err("what was loaded does not stay there"));
}

/// Bytes that loads bring in a core cycle: of two lengths, without what both have in common. `mix` gives a pattern for the
/// bytes that a warp loads at once.
fn reached(machine: &Machine, width: u32, lengths: [u32; 2], mix: &dyn Fn(u32) -> String) -> f64 {
    const LANES: u32 = 32;
    const WARPS: u32 = 8;
    let ctas = 2 * machine.sm.count.get();
    let cycles = lengths.map(|accesses| {
        let text = format!(
            "(ctas: {ctas}, warps: {WARPS}, shared: 4096, registers: 16, phases: [(accesses: {accesses}, in_flight: 4, \
             address_ops: 0, mix: [({}, width: {width})])])",
            mix(LANES * width)
        );
        let spec: Checked<SyntheticSpec> =
            gsim::config::parse::from_text(Path::new("test.ron"), &text).unwrap();
        let launch = SyntheticLaunch { spec: Arc::new((*spec).clone()), seed: 1 };
        let mut gpu = Gpu::new(machine, Stepping::SkipAhead);
        gpu.run(&mut SyntheticSource::new(&launch), &mut |_| ()).unwrap().cycles
    });
    let loads = u64::from(ctas * WARPS) * u64::from(lengths[1] - lengths[0]);
    (loads * u64::from(LANES * width)) as f64 / (cycles[1] - cycles[0]) as f64
}

/// No width brings more than the rate, and the best one brings most of it.
#[track_caller]
fn check_reached(
    (name, level): (&str, &str),
    (machine, peak): (&Machine, f64),
    least: f64,
    mix: &dyn Fn(u32) -> String,
) {
    let shares = [4, 8, 16].map(|width| reached(machine, width, [40, 120], mix) / peak);
    println!("{name}: {level}: {shares:.3?} of {peak:.1} bytes a cycle");
    let best = shares.into_iter().fold(0.0, f64::max);
    assert!((least..1.002).contains(&best), "{name}: {level}: {shares:?}");
}

#[test]
fn no_kernel_exceeds_a_rate_and_some_come_near_it() {
    for name in ["gtx280", "gtx480", "v100", "h200"] {
        let machine = preset(name, &[("launch.l2", json!("Warm"))]);
        let row = |bytes: u32| format!("pattern: Stride(lane: {}), footprint: {bytes}", bytes / 32);
        let shared = |bytes| format!("{}, space: Shared", row(bytes));
        let of = |rate: &str| (&machine, per_cycle(&machine, rate).0);
        check_reached((name, "shared memory"), of("shared memory"), 0.95, &shared);
        let rates = Rates::of(&machine);
        if rates.all.iter().any(|rate| rate.name == "L1 hits") {
            check_reached((name, "L1 hits"), of("L1 hits"), 0.95, &row);
        }
        if let Some(narrowest) = rates.from_l2 {
            let peak = narrowest.bytes_per_second / f64::from(machine.clocks.core_khz.get()) / 1e3;
            let l2 = machine.l2.slices.get() * machine.l2.size.get();
            let footprint = l2 / 8 / 512 * 512;
            let mix =
                |_| format!("pattern: Random(run: 32), footprint: {footprint}, cache: Global");
            check_reached((name, "L2 hits"), (&machine, peak), 0.7, &mix);
        }
    }
}

#[test]
fn every_preset_has_limits() {
    for each in PRESETS {
        let machine = each.machine().unwrap();
        let limits = Limits::of(&machine).unwrap();
        let name = each.name;
        let all = limits.rates.all.iter();
        assert!(all.clone().all(|rate| rate.per_second.is_finite() && rate.per_second > 0.0));
        // A known gap of the model: replies of a GTX 280 take five flits for four flits of data, so that its interconnect gives
        // 123.3 of the 141.7 GB/s of its DRAM.
        let narrowest = if name == "gtx280" { "reply network" } else { "DRAM" };
        assert_eq!(limits.rates.from_dram.name, narrowest, "{name}");
        let latencies = limits.latencies;
        let levels = [latencies.l1, latencies.l2, Ok(latencies.dram_in_order)];
        assert!(levels.into_iter().flatten().is_sorted(), "{name}: {latencies:?}");
        // Where rows are closed at once the order does not matter, but for which loads meet a refresh.
        let more = latencies.dram_at_random / latencies.dram_in_order;
        assert!((0.98..1.2).contains(&more), "{name}: {latencies:?}");
        assert!(latencies.behind_l2 < latencies.behind_lsu, "{name}: {latencies:?}");
        assert!(latencies.behind_lsu < latencies.dram_in_order, "{name}: {latencies:?}");
    }
}
