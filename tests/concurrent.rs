//! Kernels at the same time: what can be computed on paper.

mod common;

use common::{Script, Scripts, Step, gtx480, preset, row};
use gsim::config::Machine;
use gsim::gpu::{ConcurrentKernel, Gpu, KernelStatistics, Stepping};
use serde_json::json;

/// A kernel: CTAs of so many warps, each of which adds so often, one add after the other.
#[derive(Clone, Copy)]
struct Adds {
    name: &'static str,
    ctas: u64,
    warps: u32,
    adds: usize,
    shared_bytes: u32,
    registers: u32,
}

/// A CTA a kernel, of one warp.
const ADDS: Adds = Adds { name: "a", ctas: 1, warps: 1, adds: 10, shared_bytes: 0, registers: 16 };

/// Runs kernels at the same time, with and without skip-ahead, which must agree.
fn run(machine: &Machine, kernels: &[Adds]) -> Vec<KernelStatistics> {
    let go = |stepping| {
        let scripts = kernels.iter().enumerate().map(|(number, kernel)| {
            let adds = kernel.adds;
            let script = move |_, _| vec![Step::Add { dst: 0, src: 0 }; adds];
            Script::new(kernel.ctas, 32 * kernel.warps, script)
                .named(kernel.name)
                .shared_bytes(kernel.shared_bytes)
                .registers(kernel.registers)
                .overlaps_next(number + 1 < kernels.len())
        });
        Gpu::new(machine, stepping)
            .run_all(&mut Scripts::new(scripts.collect()), &mut |_| ())
            .expect("the kernels run")
    };
    let fast = go(Stepping::SkipAhead);
    assert_eq!(fast, go(Stepping::EveryCycle), "skip-ahead changed the result");
    fast
}

/// The same, where all of them run at the same time.
fn together(machine: &Machine, kernels: &[Adds]) -> KernelStatistics {
    let [one] = <[_; 1]>::try_from(run(machine, kernels)).expect("all at the same time");
    one
}

/// From the start of a CTA of one warp to its end: adds wait for each other, the exit for none.
fn time(machine: &Machine, adds: usize) -> u64 {
    adds as u64 * u64::from(machine.sm.arithmetic.int_add.latency.get())
}

fn starts_and_ends(statistics: &KernelStatistics) -> Vec<(u64, u64)> {
    let times = |kernel: &ConcurrentKernel| (kernel.first_cta, kernel.end);
    statistics.concurrent.iter().map(times).collect()
}

#[test]
fn kernels_that_leave_sms_free_take_as_long_as_the_longest() {
    let machine = gtx480(&[]);
    let [short, long] = [10, 25].map(|adds| Adds { ctas: 7, adds, ..ADDS });
    let alone = |kernel| run(&machine, &[kernel])[0].cycles;
    let both = together(&machine, &[short, Adds { name: "b", ..long }]);
    assert_eq!(both.cycles, alone(long));
    assert_eq!(starts_and_ends(&both), [(0, alone(short)), (0, alone(long))]);
    assert_eq!((both.name.as_str(), both.ctas, both.cta_threads), ("a + b", 14, 32));
    assert!(alone(long) - alone(short) == time(&machine, 15));

    // Of machines that run one at a time, they take as long as both.
    let serial = gtx480(&[("launch.concurrent_kernels", json!(1))]);
    let cycles = run(&serial, &[short, long]).iter().map(|kernel| kernel.cycles).sum::<u64>();
    assert_eq!(cycles, alone(short) + alone(long));
}

#[test]
fn no_more_kernels_run_at_the_same_time_than_the_machine_can() {
    let machine = gtx480(&[("launch.concurrent_kernels", json!(2))]);
    let seen = run(&machine, &[ADDS; 5]);
    let names: Vec<_> = seen.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["a x 2", "a x 2", "a"]);
}

#[test]
fn a_kernel_that_needs_what_others_have_waits_for_it() {
    // Each SM of two has room for one CTA of the first kernel, which takes all shared memory, and for none of the second beside
    // it; three CTAs keep one SM to the end.
    let machine = gtx480(&[("sm.count", json!(2))]);
    let size = machine.shared_memory.size.get();
    let first = Adds { ctas: 3, shared_bytes: size, adds: 20, ..ADDS };
    let second = Adds { name: "b", ctas: 2, shared_bytes: size / 2, ..ADDS };
    let alone = run(&machine, &[Adds { ctas: 1, ..first }])[0].cycles;
    let both = together(&machine, &[first, second]);
    let times = starts_and_ends(&both);
    // The first two CTAs end at the same time. One SM goes on with the third, the other one with both CTAs of the second kernel.
    assert_eq!(times[1].0 + 1, alone);
    assert!(times[1].1 < times[0].1);
    assert_eq!(times[0].1, both.cycles);
}

#[test]
fn ctas_of_two_kernels_share_an_sm() {
    let machine = gtx480(&[("sm.count", json!(1)), ("sm.policy", json!("Lrr"))]);
    // 48 warps are 6 CTAs of 8, of which the first kernel has two.
    let first = Adds { ctas: 2, warps: 8, adds: 100, ..ADDS };
    let second = Adds { name: "b", ctas: 5, warps: 8, adds: 10, ..ADDS };
    let both = together(&machine, &[first, second]);
    let [(0, end), (b_start, b_end)] = starts_and_ends(&both)[..] else { panic!("{both:?}") };
    // A CTA a cycle: two of the first, and then the second's.
    assert_eq!(b_start, 2);
    // Its fifth CTA waits for a place, and then runs beside the first kernel.
    assert!(b_end > 2 * time(&machine, 10) && b_end < end, "{both:?}");
    assert_eq!(both.cycles, end);
}

#[test]
fn registers_and_warps_of_both_count() {
    let machine = gtx480(&[("sm.count", json!(1))]);
    // 63 registers a thread: 16 warps fill the file.
    let first = Adds { warps: 16, registers: 63, adds: 30, ..ADDS };
    let second = Adds { name: "b", registers: 16, ..ADDS };
    let both = together(&machine, &[first, second]);
    let times = starts_and_ends(&both);
    assert_eq!(times[1].0 + 1, times[0].1, "it waits for the end of the first");
    let both = together(&machine, &[Adds { warps: 15, ..first }, second]);
    assert_eq!(starts_and_ends(&both)[1].0, 1, "it starts beside the first");
}

#[test]
fn an_array_is_divided_anew_when_the_sm_is_idle() {
    let machine = preset("v100", &[("sm.count", json!(1))]);
    // The first one leaves the L1 all but 8 KiB, which are not enough for the second.
    let first = Adds { shared_bytes: 4096, warps: 32, adds: 40, ..ADDS };
    let second = Adds { name: "b", shared_bytes: 60 << 10, ..ADDS };
    let both = together(&machine, &[first, second]);
    let times = starts_and_ends(&both);
    assert_eq!(times[1].0 + 1, times[0].1, "it waits for the end of the first");
    // In the other order there is room.
    let both = together(&machine, &[second, first]);
    assert_eq!(starts_and_ends(&both)[1].0, 1, "it starts beside the first");
}

#[test]
fn the_time_of_a_launch_is_paid_once() {
    let machine = preset("h200", &[]);
    let alone = run(&machine, &[ADDS])[0].cycles;
    let both = together(&machine, &[ADDS, ADDS]);
    let first_ctas = [0, 1].map(|kernel| both.concurrent[kernel].first_cta);
    assert_eq!(first_ctas, [5050, 5050], "there is room for both");
    // 21 CTAs that have ended are noted in 25 cycles.
    assert_eq!(both.cycles, alone + 2);
}

#[test]
fn the_same_kernel_twice_is_decoded_once_and_reads_what_it_did() {
    // 40 loads of its own lines by each CTA: hits of one kernel would show as fewer requests.
    let go = |launches: usize| {
        let script = |cta: u64, _| {
            vec![Step::Load {
                dst: 0,
                src: 0,
                addresses: row(0x1000_0000 + cta * 4096, 128, 32),
                bytes: 4,
            }]
        };
        let scripts = (0..launches)
            .map(|number| Script::new(4, 32, script).overlaps_next(number + 1 < launches));
        Gpu::new(&gtx480(&[]), Stepping::SkipAhead)
            .run_all(&mut Scripts::new(scripts.collect()), &mut |_| ())
            .expect("the kernels run")
    };
    let (one, two) = (&go(1)[0], &go(2)[0]);
    assert_eq!(two.name, "script x 2");
    assert_eq!(two.concurrent[0].warp_instructions, two.concurrent[1].warp_instructions);
    let misses = |kernel: &KernelStatistics| -> u64 {
        kernel.components.l2.iter().map(|slice| slice.read_misses).sum()
    };
    assert_eq!(misses(one), misses(two), "both read the same lines, which the L2 merges or has");
}
