//! One component at a time, on the GTX 480 preset: time a call.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use gsim::config::machine::{Machine, Policy};
use gsim::config::{Bounded, presets};
use gsim::dram::{Completion, Controller, Request};
use gsim::isa::{LaneAddresses, Shape, WARP};
use gsim::l1::L1;
use gsim::noc::Crossbar;
use gsim::parts::{Access, AccessKind, DataCache, MshrFile, Outcome, Waiter};
use gsim::sm::{AccessList, Ages, Candidates, SLOTS, Scheduler};
use gsim::units::{Cycle, LineAddr};

fn machine() -> Machine {
    presets::machine("gtx480", Path::new("")).expect("a preset")
}

fn coalescer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("coalescer");
    let dense = Shape::Affine { base: 0x1000_00fc, stride: 4 };
    let strided = Shape::Affine { base: 0x1000_0000, stride: 128 };
    let scattered = Shape::Scattered(std::array::from_fn::<u64, WARP, _>(|lane| {
        0x1000_0000 + (lane as u64 * 1_103_515_245 % 4096) * 4
    }));
    for (name, shape) in [("shifted row", dense), ("stride 128", strided), ("scattered", scattered)]
    {
        let addresses = LaneAddresses { mask: !0, shape };
        let mut list = AccessList::default();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                list.group(black_box(&addresses), 4, 7, 7);
                list.len()
            });
        });
    }
    group.finish();
}

fn load(line: u64) -> Access {
    let waiter = Waiter::default();
    Access { line: LineAddr(line), bytes: !0, kind: AccessKind::Load, atomic_work: 0, waiter }
}

fn l1(criterion: &mut Criterion) {
    let machine = machine();
    let config = &machine.l1;
    let mut group = criterion.benchmark_group("l1");
    let mut warm = L1::new(config, 0);
    for line in 0..8 {
        warm.access(Cycle(0), load(line)).expect("room for a miss");
        let reply = warm.take_request().expect("a fetch").reply();
        warm.fill(Cycle(0), &reply);
        while warm.release(Cycle(10)).is_some() {}
    }
    let mut line = 0;
    group.bench_function("hit", |bencher| {
        bencher.iter(|| {
            line = (line + 1) % 8;
            assert_eq!(warm.access(Cycle(20), load(line)), Ok(Outcome::Hit));
        });
    });
    let (mut cold, mut line) = (L1::new(config, 0), 0);
    group.bench_function("miss, merge, fill and two releases", |bencher| {
        bencher.iter(|| {
            line += 1;
            let now = Cycle(line * 10);
            assert_eq!(cold.access(now, load(line)), Ok(Outcome::Miss));
            assert_eq!(cold.access(now, load(line)), Ok(Outcome::Merged));
            let reply = cold.take_request().expect("a fetch").reply();
            cold.fill(now, &reply);
            while cold.release(now + 5).is_some() {}
        });
    });
    group.finish();
}

fn mshr(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("mshr");
    let mut file = MshrFile::new(32, 8);
    group.throughput(Throughput::Elements(8));
    group.bench_function("an entry's eight accesses, recorded and released", |bencher| {
        bencher.iter(|| {
            let entry = file.allocate(Waiter::default(), ()).expect("a free entry");
            for _ in 1..8 {
                file.merge(entry, Waiter::default()).expect("a free merger");
            }
            let _ = file.arrive(entry, |_| true);
            while !file.release(entry).1 {}
        });
    });
    group.finish();
}

fn scheduler(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scheduler pick");
    let mut ages = Ages::default();
    (0..SLOTS).for_each(|number| ages.come(number * 45 % SLOTS));
    let two_level = Policy::TwoLevel { active: Bounded::new(8).expect("in range") };
    for policy in [Policy::Lrr, Policy::Gto, Policy::Oldest, two_level] {
        let mut scheduler = Scheduler::new(policy);
        let mut eligible = 0xaaaa_5555_f0f0_3c3cu64;
        let now = Cycle(0);
        group.bench_function(format!("{policy:?}"), |bencher| {
            bencher.iter(|| {
                // Another set of eligible warps every time, so that greedy policies have to choose.
                eligible = eligible.rotate_left(7);
                scheduler.pick(Candidates { eligible, waiting: !eligible, ages: &ages, now })
            });
        });
    }
    group.finish();
}

/// Keeps a channel's queue full for a thousand command clocks.
fn dram(criterion: &mut Criterion) {
    const CLOCKS: u64 = 1000;
    let machine = machine();
    let config = &machine.dram;
    let mut group = criterion.benchmark_group("dram");
    group.throughput(Throughput::Elements(CLOCKS));
    for (name, step) in [("tick, a stream", 128u64), ("tick, another row each time", 128 * 1021)] {
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || Controller::new(config),
                |controller| {
                    let mut address = 0;
                    for clock in (0..CLOCKS).map(Cycle) {
                        let request = Request { address, bursts: 2, write: false, tag: 0 };
                        if controller.try_push(clock, request).is_ok() {
                            address = (address + step) & 0x0fff_ff80;
                        }
                        controller.tick(clock, &mut |read: Completion| {
                            std::hint::black_box(read);
                        });
                    }
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

/// Every SM sends a line to the slices in turn, as fast as it can, for a thousand cycles.
fn crossbar(criterion: &mut Criterion) {
    const CYCLES: u64 = 1000;
    let machine = machine();
    let (sms, slices) = (machine.sm.count.size(), machine.l2.slices.size());
    let mut group = criterion.benchmark_group("crossbar");
    group.throughput(Throughput::Elements(CYCLES));
    group.bench_function("tick, all ports busy", |bencher| {
        bencher.iter_batched_ref(
            || Crossbar::<u32>::to_slices(&machine.noc, sms, slices),
            |noc| {
                let mut sent = 0;
                for now in (0..CYCLES).map(Cycle) {
                    for sm in 0..sms {
                        if noc.has_room(sm) {
                            noc.push(
                                now,
                                (sm, (sent as usize * 7 + sm) % slices),
                                128,
                                false,
                                &sent,
                            );
                            sent += 1;
                        }
                    }
                    noc.tick(now);
                    for slice in 0..slices {
                        black_box(noc.pop(now, slice));
                    }
                }
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = coalescer, l1, mshr, scheduler, dram, crossbar
}
criterion_main!(benches);
