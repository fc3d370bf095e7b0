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

/// Odd warps load from shared memory and even ones from global memory, by one instruction.
const CHOICE: &str = ".version 8.0\n.target sm_75\n.address_size 64
.visible .entry choice(.param .u64 in, .param .u64 out, .param .u32 n) {
    .reg .b32 %r<5>; .reg .b64 %a<6>; .reg .pred %p; .shared .align 4 .b8 s[512];
    mov.u32 %r0, %tid.x; mul.wide.u32 %a0, %r0, 4; mov.u64 %a1, s; add.u64 %a1, %a1, %a0;
    st.shared.u32 [%a1], %r0; cvta.shared.u64 %a2, %a1;
    ld.param.u64 %a3, [in]; cvta.to.global.u64 %a3, %a3; add.u64 %a3, %a3, %a0;
    shr.u32 %r1, %r0, 5; and.b32 %r1, %r1, 1; setp.eq.u32 %p, %r1, 1;
    selp.b64 %a4, %a2, %a3, %p; ld.u32 %r2, [%a4]; st.global.u32 [%a3], %r2; ret;
}";

/// A launch of two CTAs of 128 threads.
fn launch(entry: &str) -> PtxLaunch {
    let text = if entry == "choice" { CHOICE } else { TEXT };
    let ptx = Arc::new(PtxSource { path: "kernels.ptx".into(), text: text.into() });
    let mut memory = DeviceMemory::default();
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
    let statistics = run(&gtx480(&[]), || launch("choice"));
    // Eight warps store to shared memory; every second one then loads from there, the others from global
    // memory.
    assert_eq!(sum(&statistics, |sm| sm.shared_instructions), 8 + 4);
    assert_eq!(sum(&statistics, |sm| sm.load_instructions), 4);
}
