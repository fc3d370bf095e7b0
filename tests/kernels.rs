//! Compiled kernels with calls and barriers of all kinds, on a machine: the timing model gets through what
//! the front end recorded, with and without skip-ahead.

mod common;

use std::sync::Arc;

use common::{gtx480, run};
use gsim::frontend::ptx::{Module, PtxLaunch};
use gsim::gpu::KernelStatistics;
use gsim::isa::{Cta, CtaSource};
use gsim::sm::SmStats;
use gsim::workload::{Arg, DeviceMemory, Launch, PtxSource};

const TEXT: &str = include_str!("../src/frontend/ptx/tests/features.ptx");

/// A launch of two CTAs of 128 threads. Its memory lives as long as the test.
fn launch(entry: &str) -> PtxLaunch<'static> {
    let ptx = Arc::new(PtxSource { path: "features.ptx".into(), text: TEXT.into() });
    let memory: &'static mut DeviceMemory = Box::leak(Box::default());
    let [from, to] = ["in", "out"].map(|name| memory.allocate(name, 4096));
    for (index, place) in memory.of_mut(from).chunks_exact_mut(4).enumerate() {
        place.copy_from_slice(&(index as u32 % 7).to_le_bytes());
    }
    let launch = Launch {
        ptx,
        entry: entry.into(),
        grid: [2, 1, 1],
        block: [128, 1, 1],
        dynamic_shared: 0,
        args: vec![Arg::Buffer(from), Arg::Buffer(to), Arg::I32(0)],
    };
    let module = Module::parse(&launch.ptx).expect("the module is valid");
    module.launch(&launch, memory).expect("the launch is valid")
}

fn executed(entry: &str) -> u64 {
    let mut launch = launch(entry);
    let mut cta = Cta::default();
    while launch.next(&mut cta).expect("the kernel runs") {}
    launch.executed()
}

fn sum(statistics: &KernelStatistics, of: impl Fn(&SmStats) -> u64) -> u64 {
    statistics.components.sm.iter().map(of).sum()
}

#[test]
fn every_recorded_instruction_issues() {
    for entry in ["recursion", "structs", "virtuals", "counts", "pipes", "copies", "generic"] {
        let statistics = run(&gtx480(&[]), || launch(entry));
        assert_eq!(sum(&statistics, |sm| sm.warp_instructions), executed(entry), "{entry}");
    }
}

#[test]
fn barriers_open_as_often_as_the_kernel_says() {
    let barriers = |entry| sum(&run(&gtx480(&[]), || launch(entry)), |sm| sm.barriers);
    // Three reductions in each of two CTAs, and one barrier between producers and consumers in each.
    assert_eq!(barriers("counts"), 6);
    assert_eq!(barriers("pipes"), 2);
    assert_eq!(barriers("structs"), 0);
}

#[test]
fn generic_accesses_to_shared_memory_go_there() {
    let statistics = run(&gtx480(&[]), || launch("generic"));
    // Every warp stores to shared memory and reads through a generic pointer of both spaces, whose first
    // lane decides: 8 stores, and loads by those warps whose lane 0 has an odd number.
    let odd = (0..8).filter(|warp| 32 * warp % 7 % 2 == 1).count() as u64;
    assert_eq!(sum(&statistics, |sm| sm.shared_instructions), 8 + odd);
}
