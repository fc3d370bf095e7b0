//! Random kernels on random small machines: everything drains, and the books balance.
//!
//! `GSIM_CASES=20000 cargo test --release --test properties` looks further.

mod common;

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use common::{Script, Scripts, Step, gtx480};
use gsim::config::Machine;
use gsim::config::machine::{L2Partitions, LsuStages, PartialLines};
use gsim::gpu::{Gpu, KernelStatistics, Stepping, total};
use gsim::isa::{CacheOp, Copies, Fence, Observer, Turns};
use gsim::limits::Limits;
use gsim::stats::{IssueReason, LsuReason, WaitReason};
use proptest::prelude::*;
use serde_json::{Value, json};

const BASE: u64 = 0x1000_0000;
/// Accesses stay within this, so that lines are shared, evicted and fetched again [bytes].
const WINDOW: u64 = 24 * 128;
const SHARED_BYTES: u32 = 1024;

/// The steps of every warp, by CTA and warp.
type Ctas = Vec<Vec<Vec<Step>>>;

/// An address for each of up to 32 lanes, aligned to `bytes`, in the window.
fn addresses(bytes: u64) -> impl Strategy<Value = Vec<u64>> {
    let places = WINDOW / bytes;
    let at = move |place: u64| BASE + place % places * bytes;
    prop_oneof![
        // Consecutive, from anywhere; a coalesced access or one that straddles lines.
        (0..places, 1usize..=32)
            .prop_map(move |(first, lanes)| (0..lanes as u64).map(|i| at(first + i)).collect()),
        // Strided: up to a line a lane.
        (0..places, 1u64..=128)
            .prop_map(move |(first, stride)| (0..32).map(|i| at(first + i * stride)).collect()),
        // Anywhere.
        prop::collection::vec((0..places).prop_map(at), 1..=32),
    ]
}

fn memory_step() -> impl Strategy<Value = Step> {
    let register = || 0u16..6;
    let cache = prop_oneof![
        Just(CacheOp::Streaming),
        Just(CacheOp::LastUse),
        Just(CacheOp::Keep),
        Just(CacheOp::Volatile),
    ];
    (0u32..5).prop_flat_map(move |log| {
        let bytes = 1u8 << log;
        let addresses = || addresses(u64::from(bytes));
        prop_oneof![
            4 => (register(), register(), addresses())
                .prop_map(move |(dst, src, addresses)| Step::Load { dst, src, addresses, bytes }),
            1 => (register(), register(), addresses()).prop_map(move |(dst, src, addresses)| {
                Step::LoadPastL1 { dst, src, addresses, bytes }
            }),
            1 => (register(), cache.clone(), self::addresses(4))
                .prop_map(|(dst, cache, addresses)| Step::LoadWith { dst, cache, addresses }),
            2 => addresses().prop_map(move |addresses| Step::Store { addresses, bytes }),
            1 => (register(), register(), addresses()).prop_map(move |(dst, src, addresses)| {
                Step::LoadLocal { dst, src, addresses, bytes }
            }),
            1 => addresses().prop_map(move |addresses| Step::StoreLocal { addresses, bytes }),
        ]
    })
}

fn step() -> impl Strategy<Value = Step> {
    let words = || {
        let word = (0..u64::from(SHARED_BYTES) / 4).prop_map(|word| word * 4);
        prop::collection::vec(word, 1..=32)
    };
    let copies = prop_oneof![
        2 => Just(Copies::Commit),
        2 => (0u8..3).prop_map(Copies::WaitGroups),
        1 => Just(Copies::WaitAll),
    ];
    let turns = prop_oneof![Just(Turns::Lanes), Just(Turns::LanesTwice), Just(Turns::Words)];
    prop_oneof![
        8 => memory_step(),
        1 => (0u16..6, 0u16..6, addresses(4))
            .prop_map(|(dst, src, addresses)| Step::Atomic { dst, src, addresses, bytes: 4 }),
        1 => addresses(4).prop_map(|addresses| Step::Reduction { addresses, bytes: 4 }),
        3 => (0u16..6, 0u16..6).prop_map(|(dst, src)| Step::Add { dst, src }),
        1 => Just(Step::Barrier),
        1 => (0u8..3, any::<bool>()).prop_map(|(release, acquire)| {
            let release = [None, Some(Observer::Gpu), Some(Observer::System)][usize::from(release)];
            Step::Fence(Fence { release, acquire })
        }),
        1 => addresses(4).prop_map(|addresses| Step::Copy { addresses }),
        1 => copies.prop_map(Step::Copies),
        1 => (0u16..6, words()).prop_map(|(dst, addresses)| Step::Shared { dst, addresses }),
        1 => (0u16..6, addresses(4))
            .prop_map(|(dst, addresses)| Step::Constants { dst, addresses }),
        1 => (words(), 0u32..5).prop_map(|(mut addresses, log)| {
            let bytes = 1u8 << log;
            addresses.iter_mut().for_each(|address| *address -= *address % u64::from(bytes));
            Step::StoreShared { addresses, bytes }
        }),
        1 => (0u16..6, words(), turns)
            .prop_map(|(dst, addresses, turns)| Step::SharedAtomic { dst, addresses, turns }),
    ]
}

fn kernel() -> impl Strategy<Value = Ctas> {
    (1usize..=4).prop_flat_map(|warps| {
        let warp = prop::collection::vec(step(), 0..12);
        prop::collection::vec(prop::collection::vec(warp, warps), 1..8)
    })
}

type Changes = Vec<(&'static str, Value)>;

fn sm() -> impl Strategy<Value = Changes> {
    let policy = prop_oneof![
        Just(json!("Lrr")),
        Just(json!("Gto")),
        (1u32..8).prop_map(|within| json!({"Glrr": {"within": within}})),
        Just(json!("Oldest")),
        (1u32..4).prop_map(|active| json!({"TwoLevel": {"active": active}})),
    ];
    let release = prop_oneof![Just("AfterLoads"), Just("AfterStores")];
    let segment = prop_oneof![
        2 => Just("Line"),
        1 => Just("ByElement"),
        1 => Just("HalfWarp"),
        1 => Just("HalfWarpInOrder"),
    ];
    let bypass = prop_oneof![Just(32u32), Just(64), Just(128)];
    let blocks = prop_oneof![Just("Unit"), Just("Instruction")];
    let pipelines = prop_oneof![Just("PerSm"), Just("PerScheduler")];
    // Some are longer than a turn of the wheel that wakes warps.
    let latency = prop_oneof![3 => 1u32..=6, 1 => 60u32..=200];
    let units = (pipelines, 1u32..=2, 0u32..=1, 0u32..=1, 1u32..=2, latency);
    let lsu = (1u32..=3, segment, bypass, blocks);
    (1u32..=4, 1u32..=2, policy, 1u32..=3, release, lsu, units, fetch()).prop_map(
        |(count, schedulers, policy, ctas, release, lsu, units, fetch)| {
            let (queue, segment, bypass, blocks) = lsu;
            let (pipelines, sp, int, dp, width, latency) = units;
            let sharing = match segment {
                "HalfWarp" => json!("HalfWarps"),
                _ => json!({"Warps": {"quarter_extra": width - 1}}),
            };
            vec![
                ("shared_memory.sharing", sharing),
                ("sm.fetch", fetch),
                ("sm.issue_width", json!(width)),
                ("sm.arithmetic.pipelines", json!(pipelines)),
                ("sm.arithmetic.sp_units", json!(sp)),
                ("sm.arithmetic.int_units", json!(int)),
                ("sm.arithmetic.dp_units", json!(dp)),
                ("sm.arithmetic.int_add.latency", json!(latency)),
                ("sm.arithmetic.fp_fma.latency", json!(latency)),
                ("lsu.bypass_segment", json!(bypass)),
                ("sm.count", json!(count)),
                ("sm.schedulers", json!(schedulers)),
                ("sm.policy", policy),
                ("sm.max_ctas", json!(ctas)),
                ("sm.cta_release", json!(release)),
                // Longer than a turn of the wheel that wakes warps.
                ("sm.fences", json!({"gpu": 5 * (queue - 1), "system": 97})),
                ("sm.cta_turnaround", json!(7 * (queue - 1))),
                ("sm.warp_start_interval", json!(width)),
                ("lsu.queue", json!(queue)),
                ("lsu.segment", json!(segment)),
                ("lsu.refusal_blocks", json!(blocks)),
            ]
        },
    )
}

/// Instruction caches that hold less than a kernel, or less than its loop.
fn fetch() -> impl Strategy<Value = Value> {
    let cache = |sets: u32, ways: u32, group: u32, latency: u32| json!({"size": 32 * sets * ways, "ways": ways, "group": group, "latency": latency});
    let sizes = (prop_oneof![Just(2u32), Just(4)], 2u32..=4, 1u32..=3, 1u32..=70);
    let caches = (sizes.clone(), sizes, 0u32..=2).prop_map(move |(near, far, per_line)| {
        let [near, far] =
            [near, far].map(|(sets, ways, group, latency)| cache(sets, ways, group, latency));
        json!({"Caches": {"instruction": 32 >> per_line, "line": 32, "sub_core": near, "sm": far}})
    });
    prop_oneof![1 => Just(json!("Ideal")), 1 => caches]
}

fn l1() -> impl Strategy<Value = Changes> {
    let sets = prop_oneof![Just(1u32), Just(2), Just(4)];
    let index = prop_oneof![Just("Linear"), Just("Xor")];
    let replacement = prop_oneof![Just("Lru"), Just("Fifo"), Just("Nru")];
    let loads = prop_oneof![4 => Just("Cached"), 1 => Just("Bypass")];
    let sector = prop_oneof![Just(32u32), Just(64), Just(128)];
    let stores = || prop_oneof![Just("Evict"), Just("Drop"), Just("Update"), Just("Validate")];
    let tag_latency = prop_oneof![Just(0u32), 1u32..=12];
    let limits = (1u32..=3, 1u32..=4, 1u32..=3, tag_latency, 1u32..=2);
    let hints = prop_oneof![
        1 => Just(json!("Ignored")),
        3 => (1u32..=3).prop_map(|ways| json!({"Followed": {"last_ways": ways}})),
    ];
    let drops = (prop_oneof![Just("Keep"), Just("Drop")], prop_oneof![Just("Keep"), Just("Empty")]);
    let lines = (sector, stores(), stores(), drops, hints);
    (sets, 1u32..=3, index, replacement, loads, limits, lines).prop_map(
        |(sets, ways, index, replacement, loads, limits, lines)| {
            let (sector, stores, local_stores, (past_loads, acquires), hints) = lines;
            let (miss_queue, entries, mergers, tag_latency, releases) = limits;
            vec![
                ("l1.sets", json!(sets)),
                ("l1.ways", json!(ways)),
                ("l1.size", json!(sets * ways * 128)),
                ("l1.sector", json!(sector)),
                ("l1.stores", json!(stores)),
                ("l1.local_stores", json!(local_stores)),
                ("l1.past_loads", json!(past_loads)),
                ("l1.acquires", json!(acquires)),
                ("l1.hints", hints),
                ("l1.index", json!(index)),
                ("l1.replacement", json!(replacement)),
                ("l1.global_loads", json!(loads)),
                ("l1.miss_queue", json!(miss_queue)),
                ("l1.mshr_entries", json!(entries)),
                ("l1.mshr_mergers", json!(mergers)),
                ("l1.tag_latency", json!(tag_latency)),
                ("l1.releases_per_cycle", json!(releases)),
                ("l1.hit_latency", json!(3)),
            ]
        },
    )
}

fn l2() -> impl Strategy<Value = Changes> {
    let slices = prop_oneof![Just((1u32, 1u32)), Just((2, 1)), Just((2, 2)), Just((4, 2))];
    // Sectors, and the requests that fetch one.
    let fetch = (0u32..=2, 0u32..=2).prop_map(|(a, b)| (32u32 << a.max(b), 32u32 << a.min(b)));
    let mode = prop_oneof![3 => Just("Cache"), 1 => Just("PassThrough")];
    let pairs = json!({"Pairs": {"rounds": 2}});
    let hash = prop_oneof![Just(json!("RoundRobin")), Just(json!("Hashed")), Just(pairs)];
    let sizes = (0u32..=2, 1u32..=2, 1u32..=3, 1u32..=2);
    let queues = (1u32..=2, 0u32..=5, 1u32..=2, 1u32..=4);
    let partitions = prop_oneof![
        1 => Just(json!("One")),
        2 => (1u32..=9, 1u32..=3).prop_map(|(latency, queue)| {
            json!({"Two": {"upper": [1], "latency": latency, "queue": queue}})
        }),
    ];
    let coalescer = prop_oneof![
        1 => Just(json!("None")),
        1 => (2u32..=3, 1u32..=4, 0u32..=5).prop_map(|(requests, entries, latency)| {
            json!({"PerGpc": {"requests": requests, "entries": entries, "latency": latency}})
        }),
    ];
    let port = prop_oneof![
        1 => Just(json!("Unlimited")),
        1 => (5u32..=8).prop_map(|bits| {
            let rates = json!({"read": 1 << (bits - 2), "sector": 4, "part": bits - 1, "masks": bits % 4});
            json!({ "Limited": rates })
        }),
    ];
    let few = (1u32..=3, 0u32..=2)
        .prop_map(|(most, least)| json!({"Limited": {"most": most, "least": least.min(most - 1)}}));
    let partial = prop_oneof![Just(json!("Unlimited")), few];
    let kind = (mode, hash, partitions, coalescer, (1u32..=2, port, partial));
    (slices, fetch, sizes, queues, kind).prop_map(|(slices, fetch, sizes, queues, kind)| {
        let ((slices, channels), (sector, fetch)) = (slices, fetch);
        let (mode, hash, partitions, mut coalescer, (tpc_sms, port, partial)) = kind;
        let (set_bits, mut ways, mut entries, mergers) = sizes;
        let (input, tag_latency, reply, data_latency) = queues;
        // They need pairs of channels with one slice each, a cache, and something to spare.
        let can_be_two = slices % 2 == 0 && mode == "Cache" && partitions != json!("One");
        let (partitions, channels) =
            if can_be_two { (partitions, slices) } else { (json!("One"), channels) };
        if can_be_two {
            (ways, entries) = (ways.max(2), entries.max(2));
        }
        if let Some(latency) = coalescer.pointer_mut("/PerGpc/latency") {
            *latency = json!(tag_latency.min(latency.as_u64().unwrap() as u32));
        }
        let corners = json!({"Corners": {"across": 3, "along": 1, "copies": 2}});
        let distances = [json!("Alike"), corners];
        vec![
            ("l2.mode", json!(mode)),
            ("l2.slice_hash", hash),
            ("sm.gpcs", json!([0, 1])),
            ("sm.tpc_sms", json!(tpc_sms)),
            ("l2.partitions", partitions),
            ("l2.coalescer", coalescer),
            ("l2.data_port", port),
            ("l2.sector", json!(sector)),
            ("l2.slices", json!(slices)),
            ("dram.channels", json!(channels)),
            ("l2.fetch", json!(fetch)),
            ("l2.sets", json!(1 << set_bits)),
            ("l2.ways", json!(ways)),
            ("l2.size", json!((ways << set_bits) * 128)),
            ("l2.dirty_ways", json!(if ways > 1 { ways - 1 } else { 512 })),
            ("l2.mshr_entries", json!(entries)),
            ("l2.mshr_mergers", json!(mergers)),
            ("l2.input_queue", json!(input)),
            ("l2.tag_latency", json!(tag_latency)),
            ("l2.distance", distances[tag_latency as usize % 2].clone()),
            ("l2.data_latency", json!(data_latency)),
            ("l2.sector_latency", json!(tag_latency % 3)),
            ("l2.reply_queue", json!(reply)),
            ("l2.miss_queue", json!(if partial == "Unlimited" { 6 } else { 16 })),
            ("l2.partial_lines", partial),
        ]
    })
}

fn memory() -> impl Strategy<Value = Changes> {
    let scheduler = prop_oneof![Just(json!("Fcfs")), Just(json!({"FrFcfs": {"cap": 2}}))];
    let batched = |idle| json!({"Batched": {"high": 2, "low": 1, "idle": idle}});
    let writes = prop_oneof![Just(json!("Mixed")), Just(batched(0)), Just(batched(70))];
    // Seldom, or so often that they meet most accesses; up to all but the clocks in which a row is opened, read and closed.
    let interval = prop_oneof![1 => Just(3604u32), 2 => 150u32..400];
    let length = (interval, 0u32..=100)
        .prop_map(|(interval, share)| (interval, (interval - 66) * share / 100));
    let refresh = (prop_oneof![Just("AllBanks"), Just("PerBank")], length);
    let rows = prop_oneof![Just("Open"), Just("Closed")];
    let khz = || prop_oneof![2 => Just(700_000u32), 1 => 200_000u32..2_000_000];
    let width = || prop_oneof![Just(8u32), Just(40)];
    let noc = (1u32..=3, 1u32..=2, (width(), width(), width(), width()));
    (scheduler, (writes, refresh), rows, 2u32..=6, noc, (khz(), khz(), khz())).prop_map(
        |(scheduler, (writes, refresh), rows, queue, (latency, input, widths), (noc, l2, dram))| {
            let (flit, slice_in, sm_port, sm_out) = widths;
            let (refresh, (refi, rfc)) = refresh;
            vec![
                ("dram.scheduler", scheduler),
                ("dram.writes", writes),
                ("dram.refresh", json!(refresh)),
                ("dram.timing.refi", json!(refi)),
                ("dram.timing.rfc", json!(rfc)),
                ("dram.row_policy", json!(rows)),
                ("dram.queue", json!(queue)),
                ("dram.interface_latency", json!(6)),
                // Up to more flits at one port than at the other.
                ("noc.header_bytes", json!(8 << input)),
                ("noc.latency", json!(latency)),
                ("noc.input_queue", json!(input)),
                ("noc.flit_bytes", json!(flit)),
                ("noc.slice_in_bytes", json!(slice_in)),
                ("noc.sm_port_bytes", json!(sm_port)),
                ("noc.sm_out_bytes", json!(sm_out)),
                ("noc.store_piece", json!(if flit == 8 { 1 } else { 32 })),
                (
                    "noc.gpc_port",
                    match (sm_port, input) {
                        (8, _) => json!("Unlimited"),
                        (_, 1) => json!({"BySlices": {"groups": 2, "bytes": 40}}),
                        _ => json!({"Limited": {"bytes": 50}}),
                    },
                ),
                ("noc.mask_bytes", json!(if sm_out == 8 { 0 } else { 32 })),
                ("clocks.noc_khz", json!(noc)),
                ("clocks.l2_khz", json!(l2)),
                ("clocks.dram_khz", json!(dram)),
            ]
        },
    )
}

fn launch() -> impl Strategy<Value = Changes> {
    let rate = prop_oneof![
        1 => Just(json!("Unlimited")),
        2 => (1u32..=5, 1u32..=40).prop_map(|(ctas, cycles)| json!({"Limited": {"ctas": ctas, "cycles": cycles}})),
    ];
    let l2 = prop_oneof![2 => Just("Cold"), 1 => Just("Flushed"), 1 => Just("Warm")];
    let intervals = prop_oneof![1 => Just((1, 0)), 1 => (1u32..=30, 0u32..=3)];
    (0u32..=30, 0u32..=60, rate, l2, intervals).prop_map(
        |(latency, completion, rate, l2, intervals)| {
            vec![
                ("launch.latency", json!(latency)),
                ("launch.completion", json!(completion)),
                ("launch.retirement", rate),
                ("launch.l2", json!(l2)),
                ("sm.cta_launch_interval", json!(intervals.0)),
                ("sm.warp_launch_interval", json!(intervals.1)),
            ]
        },
    )
}

/// The changes that make a small machine; printed when a case fails.
fn small_machine() -> impl Strategy<Value = Changes> {
    let stages = prop_oneof![
        2 => Just(json!("One")),
        1 => (1u32..=4, 1u32..=3, 1u32..=5, 1u32..=12).prop_map(|(lines, interval, every, replay)| {
            let constants = json!({"replay": replay, "interval": interval});
            json!({"TagsThenBanks": {
                "scheduler_interval": every,
                "lines": lines,
                "pass_interval": interval,
                "constants": constants,
            }})
        }),
    ];
    let parts = (sm(), l1(), l2(), memory(), launch(), stages);
    parts.prop_map(|(sm, l1, l2, memory, launch, stages)| {
        let mut changes = [sm, l1, l2, memory, launch].concat();
        if stages != json!("One") {
            changes.extend([("lsu.stages", stages), ("l1.tag_latency", json!(0))]);
        }
        // What leaves a slice at once waits at one input of the reply network.
        let requests = changes.iter().find_map(|(field, value)| {
            (*field == "l2.coalescer").then(|| value.pointer("/PerGpc/requests")?.as_u64())?
        });
        for (field, value) in &mut changes {
            if *field == "noc.input_queue" {
                *value = json!(value.as_u64().max(requests));
            }
        }
        changes
    })
}

fn script(ctas: &Ctas) -> Script<impl Fn(u64, usize) -> Vec<Step>> {
    let threads = 32 * ctas[0].len() as u32;
    Script::new(ctas.len() as u64, threads, |cta, warp| ctas[cta as usize][warp].clone())
        .shared_bytes(SHARED_BYTES)
        .buffer(BASE..BASE + WINDOW)
}

/// Runs the kernel twice on one GPU, so that the second starts with what the first left behind.
fn run_twice(machine: &Machine, ctas: &Ctas, stepping: Stepping) -> [KernelStatistics; 2] {
    let mut gpu = Gpu::new(machine, stepping);
    gpu.count_by_line();
    [(); 2].map(|()| {
        gpu.run(&mut script(ctas), &mut |_| ()).unwrap_or_else(|why| panic!("{stepping:?}: {why}"))
    })
}

/// `ctas` are those of all kernels that ran.
fn check_books<'a>(
    machine: &Machine,
    ctas: impl IntoIterator<Item = &'a Vec<Vec<Step>>>,
    seen: &KernelStatistics,
) -> Result<(), TestCaseError> {
    let ctas: Vec<_> = ctas.into_iter().collect();
    let (sm, l1) = (total(&seen.components.sm), total(&seen.components.l1));
    let (l2, dram) = (total(&seen.components.l2), total(&seen.components.dram));
    let (issue, lsu) = (&seen.ledgers.issue, &seen.ledgers.lsu);

    // Everything that was to happen did.
    let warps = ctas.iter().copied().flatten();
    let instructions: u64 = warps.map(|steps| steps.len() as u64 + 1).sum();
    prop_assert_eq!(sm.warp_instructions, instructions);
    prop_assert_eq!(sm.ctas, ctas.len() as u64);

    // The ledgers explain every cycle of every scheduler and load/store unit.
    prop_assert_eq!(seen.ledgers.check(), Ok(()));
    let sms = u64::from(machine.sm.count.get());
    prop_assert_eq!(lsu.total(), seen.cycles * sms);
    prop_assert_eq!(issue.total(), lsu.total() * u64::from(machine.sm.schedulers.get()));
    prop_assert_eq!(issue.part(IssueReason::Issued) + sm.pairs, instructions);
    prop_assert!(machine.sm.issue_width.get() == 2 || sm.pairs == 0);
    // Lines have all that warps did. That no cycle is missing was seen when they were summed.
    let lines = || seen.lines.iter();
    prop_assert_eq!(lines().map(|line| line.profile.counters.issued).sum::<u64>(), instructions);
    let issued = lines().map(|line| line.profile.waits.part(WaitReason::Issued)).sum::<u64>();
    prop_assert_eq!(issued, instructions - sm.pairs);
    let accesses = lines().map(|line| line.profile.counters.accesses).sum::<u64>();
    prop_assert_eq!(accesses, sm.load_accesses + sm.store_accesses + sm.atomic_accesses);
    let loads = lines().map(|line| line.profile.counters.loads).sum::<u64>();
    prop_assert_eq!(loads, seen.latency_accesses);
    let passes = lines().map(|line| line.profile.counters.shared_passes).sum::<u64>();
    prop_assert_eq!(passes, sm.shared_passes);
    let refusals = [
        (LsuReason::NoMerger, l1.stall_nomerger),
        (LsuReason::NoMshrLine, l1.stall_nomshrline),
        (LsuReason::NoCacheLine, l1.stall_nocacheline),
        (LsuReason::MissQueue, l1.stall_missqueue),
    ];
    for (reason, cycles) in refusals {
        prop_assert_eq!(lsu.part(reason), cycles, "{:?}", reason);
    }

    // Every access was served once, and every line that was asked for came once.
    prop_assert_eq!(l1.loads() + l1.load_bypasses, sm.load_accesses);
    prop_assert_eq!(l1.stores, sm.store_accesses);
    prop_assert_eq!(l1.atomics, sm.atomic_accesses);
    prop_assert_eq!(l1.fills, l1.load_misses);
    // Nobody waits for the accesses of a reduction, one for each line.
    let steps = ctas.iter().copied().flatten().flatten();
    let lines_of = |step: &Step| match step {
        Step::Reduction { addresses, .. } => {
            let line = |address: &u64| address / u64::from(machine.l1.line.get());
            addresses.iter().map(line).collect::<BTreeSet<u64>>().len() as u64
        }
        _ => 0,
    };
    let reductions: u64 = steps.map(lines_of).sum();
    let answered = sm.load_accesses + sm.atomic_accesses - reductions;
    prop_assert_eq!(seen.latency_accesses, answered);
    if machine.l1.tag_latency.get() == 0 && machine.lsu.stages == LsuStages::One {
        let served = [LsuReason::Serving, LsuReason::Coalescing, LsuReason::BankConflict];
        let served: u64 = served.into_iter().map(|reason| lsu.part(reason)).sum();
        let accesses = sm.load_accesses + sm.store_accesses + sm.atomic_accesses;
        prop_assert_eq!(served, accesses + sm.shared_passes);
    }

    // What leaves one level arrives at the next, and every request is answered.
    let reads = l1.load_misses + l1.load_bypasses + l1.atomics;
    let is_one = machine.l2.partitions == L2Partitions::One;
    let answered = l2.reads() + l2.coalesced;
    let balances = if is_one { answered == reads } else { answered >= reads };
    prop_assert!(balances, "{answered} reads of {reads}");
    prop_assert_eq!(l2.atomics, l1.atomics);
    prop_assert_eq!(l2.write_hits + l2.write_misses, l1.stores);
    prop_assert_eq!(seen.components.request_network.packets, reads + l1.stores);
    prop_assert_eq!(seen.components.reply_network.packets, reads + l1.stores);
    // What a slice fetches from the other partition's, that one has already or fetches itself.
    // Nobody waits for what completes a line: some of it may be read when all is done, and counts for the next launch.
    let left = match machine.l2.partial_lines {
        PartialLines::Unlimited => 0,
        PartialLines::Limited { .. } => {
            let of_slice = machine.l2.miss_queue.get() + machine.dram.queue.get();
            u64::from(machine.l2.slices.get() * of_slice)
        }
    };
    let most = l2.fetches + l2.completions + left;
    let least = if is_one { l2.fetches } else { 0 };
    prop_assert!((least..=most).contains(&dram.reads), "{} of {least} to {most}", dram.reads);
    let most = l2.read_misses * u64::from(machine.l2.line.get() / machine.l2.fetch.get());
    let least = l2.read_misses * u64::from(machine.l2.sector.get() / machine.l2.fetch.get());
    prop_assert!((least..=most).contains(&l2.fetches), "{} fetches", l2.fetches);
    prop_assert!(dram.data_clocks <= dram.clocks);
    Ok(())
}

/// A launch among others.
#[derive(Clone, Debug)]
struct Beside {
    ctas: Ctas,
    shared_bytes: u32,
    registers: u32,
    overlaps_next: bool,
}

fn beside() -> impl Strategy<Value = Beside> {
    let shared = prop_oneof![Just(SHARED_BYTES), Just(3000), Just(8000)];
    let registers = prop_oneof![Just(16u32), Just(63)];
    (kernel(), shared, registers, prop::bool::weighted(0.7)).prop_map(
        |(ctas, shared_bytes, registers, overlaps_next)| Beside {
            ctas,
            shared_bytes,
            registers,
            overlaps_next,
        },
    )
}

/// SMs with little of everything, so that kernels stand in each other's way.
fn small_sm() -> impl Strategy<Value = Changes> {
    let carve_out = prop_oneof![
        Just(json!("Fixed")),
        Just(json!({"Unified": {"total": 8192 + 512, "options": [2048, 4096, 8192]}})),
    ];
    let registers = prop_oneof![Just(32768u32), Just(16384)];
    (1u32..=4, carve_out, registers, 3u32..=8).prop_map(|(kernels, carve_out, registers, ctas)| {
        vec![
            ("launch.concurrent_kernels", json!(kernels)),
            ("shared_memory.size", json!(8192)),
            ("shared_memory.carve_out", carve_out),
            ("sm.registers", json!(registers)),
            ("sm.max_ctas", json!(ctas)),
            ("sm.max_warps", json!(12)),
        ]
    })
}

fn run_beside(machine: &Machine, launches: &[Beside], stepping: Stepping) -> Vec<KernelStatistics> {
    let scripts = launches.iter().map(|launch| {
        let Beside { ctas, shared_bytes, registers, overlaps_next } = launch;
        let threads = 32 * ctas[0].len() as u32;
        let script = |cta: u64, warp: usize| ctas[cta as usize][warp].clone();
        Script::new(ctas.len() as u64, threads, script)
            .shared_bytes(*shared_bytes)
            .registers(*registers)
            .overlaps_next(*overlaps_next)
            .buffer(BASE..BASE + WINDOW)
    });
    let mut scripts = Scripts::new(scripts.collect());
    let mut gpu = Gpu::new(machine, stepping);
    gpu.count_by_line();
    gpu.run_all(&mut scripts, &mut |_| ()).unwrap_or_else(|why| panic!("{stepping:?}: {why}"))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("GSIM_CASES").map_or(256, |cases| cases.parse().unwrap()),
        // A case that failed once becomes a test with a name.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_kernels_drain_and_the_books_balance(changes in small_machine(), ctas in kernel()) {
        let machine = gtx480(&changes);
        let seen = run_twice(&machine, &ctas, Stepping::SkipAhead);
        for kernel in &seen {
            check_books(&machine, &ctas, kernel)?;
        }
        prop_assert_eq!(&seen, &run_twice(&machine, &ctas, Stepping::EveryCycle));
        let threads = NonZeroU32::new(2 + ctas.len() as u32 % 3).expect("at least two");
        prop_assert_eq!(&seen, &run_twice(&machine, &ctas, Stepping::AllShared(threads)));
    }

    #[test]
    fn kernels_at_the_same_time_drain_and_the_books_balance(
        changes in small_machine(),
        more in small_sm(),
        launches in prop::collection::vec(beside(), 2..5),
    ) {
        let machine = gtx480(&[changes, more].concat());
        let most = machine.launch.concurrent_kernels.size();
        let seen = run_beside(&machine, &launches, Stepping::SkipAhead);
        let mut left = &launches[..];
        for group in &seen {
            let more = left.iter().position(|launch| !launch.overlaps_next);
            let count = more.map_or(left.len(), |last| last + 1).min(most);
            let (here, others) = left.split_at(count);
            left = others;
            check_books(&machine, here.iter().flat_map(|launch| &launch.ctas), group)?;
            prop_assert_eq!(group.concurrent.len(), if count > 1 { count } else { 0 });
            for (kernel, launch) in group.concurrent.iter().zip(here) {
                let instructions = launch.ctas.iter().flatten().map(|warp| warp.len() as u64 + 1);
                prop_assert_eq!(kernel.warp_instructions, instructions.sum::<u64>());
                prop_assert!(kernel.first_cta < kernel.end && kernel.end <= group.cycles);
            }
            let starts = group.concurrent.iter().map(|kernel| kernel.first_cta);
            prop_assert!(starts.is_sorted());
        }
        prop_assert!(left.is_empty());
        prop_assert_eq!(&seen, &run_beside(&machine, &launches, Stepping::EveryCycle));
        let threads = NonZeroU32::new(2 + launches.len() as u32 % 3).expect("at least two");
        prop_assert_eq!(&seen, &run_beside(&machine, &launches, Stepping::AllShared(threads)));
    }

    #[test]
    fn any_machine_has_limits(changes in small_machine(), more in small_sm()) {
        let machine = gtx480(&[changes, more].concat());
        let limits = Limits::of(&machine).map_err(|why| TestCaseError::fail(why.to_string()))?;
        for rate in &limits.rates.all {
            prop_assert!(rate.per_second.is_finite() && rate.per_second > 0.0, "{:?}", rate);
        }
        let latencies = limits.latencies;
        let hits = [latencies.l1, latencies.l2].into_iter().flatten();
        prop_assert!(hits.into_iter().all(|cycles| cycles >= 1.0), "{:?}", latencies);
        prop_assert!(latencies.behind_l2 < latencies.behind_lsu, "{:?}", latencies);
        let bound = limits.filling.bound.bytes_per_second;
        prop_assert!(bound > 0.0 && bound <= machine.dram_peak(), "{:?}", limits.filling);
    }
}
