//! Divergence, barriers and exits.

use super::*;
use crate::isa::{Fence, Inst, LOCAL_MEMORY, Observer, Op, SHARED_WINDOW};

#[test]
fn lanes_leave_a_loop_when_they_are_done() {
    let body = "mov.u32 %r1, 0; mov.u32 %r2, 0;
        LOOP: setp.gt.u32 %p1, %r2, %r0; @%p1 bra DONE; add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1;
        bra LOOP; DONE: st.global.u32 [%a1], %r1; ret;";
    let (streams, values) = run(body, 32, &[]).unwrap();
    for (lane, value) in values.iter().enumerate() {
        assert_eq!(*value as usize, lane * (lane + 1) / 2);
    }
    let steps = steps(&streams[0]);
    assert_eq!(steps[steps.len() - 2].1, !0, "the store is executed together");
    assert_eq!(steps.len(), 6 + 2 + 32 * 5 + 2 + 2);
}

#[test]
fn nested_ifs_meet_in_order() {
    let body = "and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; and.b32 %r1, %r0, 2;
        setp.eq.u32 %p2, %r1, 0; mov.u32 %r2, 0;
        @!%p1 bra ODD; @!%p2 bra TWO; mov.u32 %r2, 10; bra EVEN; TWO: mov.u32 %r2, 12;
        EVEN: add.u32 %r2, %r2, 100; bra END; ODD: mov.u32 %r2, 1; END: add.u32 %r2, %r2, 1000;
        st.global.u32 [%a1], %r2; ret;";
    let (streams, values) = run(body, 32, &[]).unwrap();
    assert_eq!(values[..4], [1110, 1001, 1112, 1001]);
    let steps = steps(&streams[0]);
    let masks = |pc: u32| -> Vec<u32> {
        steps.iter().filter(|(at, _)| *at == pc).map(|(_, mask)| *mask).collect()
    };
    let first = 6;
    assert_eq!(masks(first + 7), [0x1111_1111]);
    assert_eq!(masks(first + 10), [0x5555_5555], "both inner ways add 100 together");
    assert_eq!(masks(first + 13), [!0]);
}

#[test]
fn lanes_that_exit_early_leave_the_others_alone() {
    let body = "setp.gt.u32 %p1, %r0, 3; st.global.u32 [%a1], 1; @%p1 ret;
        setp.eq.u32 %p2, %r0, 0; @%p2 bra A; bra B; A: exit; B: st.global.u32 [%a1], 2; ret;";
    let (streams, values) = run(body, 32, &[]).unwrap();
    assert_eq!(values[..6], [1, 2, 2, 2, 1, 1]);
    let steps = steps(&streams[0]);
    assert_eq!(steps[8], (8, !0), "a guarded return issues for all lanes");
    assert_eq!(steps.last().unwrap().1, 0b1110);
}

#[test]
fn a_guarded_access_issues_with_the_lanes_it_has() {
    let body = "setp.lt.u32 %p1, %r0, 2; @%p1 st.global.u32 [%a1], 5; setp.gt.u32 %p1, %r0, 99;
        @%p1 ld.global.u32 %r1, [0]; ret;";
    let (streams, values) = run(body, 32, &[]).unwrap();
    assert_eq!(values[..3], [5, 5, 0]);
    assert!(steps(&streams[0]).iter().all(|(_, mask)| *mask == !0));
    let mut cursor = WarpCursor::default();
    assert_eq!(cursor.addresses(&streams[0]).mask, 3);
    assert_eq!(cursor.addresses(&streams[0]).mask, 0);
}

/// Words of local memory of the lanes of a warp lie side by side, also where other lanes access something else.
#[test]
fn local_memory_lies_where_streams_have_it() {
    let body = ".local .align 8 .b8 own[32]; .reg .u64 %d<3>;
        mov.u64 %d0, own; cvta.local.u64 %d0, %d0; st.u32 [%d0+4], 7; and.b32 %r1, %r0, 1;
        setp.eq.u32 %p1, %r1, 0; add.u64 %d0, %d0, 8; selp.b64 %d1, %d0, %a1, %p1;
        st.v2.u32 [%d1], {%r0, %r0}; ret;";
    let (streams, _) = run(body, 64, &[]).unwrap();
    for (warp, stream) in streams.iter().enumerate() {
        let start = LOCAL_MEMORY + warp as u64 * 32 * 32;
        let mut cursor = WarpCursor::default();
        let own = cursor.addresses(stream).all();
        assert_eq!(own, std::array::from_fn(|lane| start + 128 + 4 * lane as u64));
        let mixed = cursor.addresses(stream).all();
        for (lane, address) in mixed.into_iter().enumerate() {
            if lane % 2 == 0 {
                assert_eq!(address, start + 2 * 128 + 4 * lane as u64);
            } else {
                assert!(address < SHARED_WINDOW, "{address:#x}");
            }
        }
    }
}

#[test]
fn a_cta_sums_in_shared_memory() {
    let body = ".shared .align 4 .b8 tile[512]; .reg .b32 %s<4>;
        mov.u32 %s0, tile; shl.b32 %s1, %r0, 2; add.u32 %s1, %s0, %s1; ld.global.u32 %r1, [%a0];
        st.shared.u32 [%s1], %r1; bar.sync 0; mov.u32 %r2, 64;
        LOOP: setp.ge.u32 %p1, %r0, %r2; @%p1 bra SKIP; shl.b32 %s2, %r2, 2; add.u32 %s2, %s1, %s2;
        ld.shared.u32 %r3, [%s2]; ld.shared.u32 %r4, [%s1]; add.u32 %r3, %r3, %r4;
        st.shared.u32 [%s1], %r3;
        SKIP: barrier.sync.aligned 0; shr.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra LOOP;
        ld.shared.u32 %r5, [tile]; st.global.u32 [%a1], %r5; ret;";
    let inputs: Vec<u64> = (0..128).map(|value| value * value).collect();
    let (streams, values) = run(body, 128, &inputs).unwrap();
    let sum: u64 = inputs.iter().sum();
    assert!(values.iter().all(|value| *value == sum));
    assert_eq!(streams.len(), 4);
}

#[test]
fn a_barrier_that_some_never_reach_holds_nobody_up() {
    let body = "setp.lt.u32 %p1, %r0, 40; @%p1 bra OUT; bar.sync 0; bar.sync 0;
        OUT: st.global.u32 [%a1], 1; ret;";
    let (_, values) = run(body, 96, &[]).unwrap();
    assert!(values.iter().all(|value| *value == 1));
}

#[test]
fn dynamic_shared_memory_starts_behind_the_static() {
    let text = kernel(
        ".shared .align 4 .b8 fixed[20]; .extern .shared .align 8 .b8 more[];
         mov.u32 %r1, more; st.shared.u32 [more+4], 9; ld.shared.u32 %r2, [%r1+4];
         st.global.v2.u32 [%a1], {%r1, %r2}; ret;",
    );
    let mut memory = DeviceMemory::default();
    let output = memory.allocate("out", 256);
    let mut launch = Launch { dynamic_shared: 8, ..one_cta(text, 32, &[output; 2]) };
    let module = Module::parse(&launch.ptx).unwrap();
    let mut running = module.launch(&launch, &mut memory).unwrap();
    assert_eq!(running.kernel().shared_bytes, 40);
    drain(&mut running).unwrap();
    assert_eq!(memory.of(output)[..8], [32, 0, 0, 0, 9, 0, 0, 0]);
    launch.dynamic_shared = 4;
    let error = drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap_err();
    assert!(error.message.contains("outside the CTA's 36 bytes of shared memory"), "{error}");
}

#[test]
fn nested_blocks_have_names_of_their_own() {
    let body =
        "mov.u32 %r1, 1; { .reg .b32 %r1; mov.u32 %r1, 5; bra L; L: st.global.u32 [%a1], %r1; }
        { .reg .b32 %r1; bra L; L: mov.u32 %r1, 6; } st.global.u32 [%a1+4], %r1;";
    assert_eq!(check(body, &[0]), [1 << 32 | 5]);
}

#[test]
fn ctas_come_in_launch_order_x_first() {
    let text = kernel(
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x;
         mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %a3, %r4, 8; add.s64 %a1, %a1, %a3;
         st.global.v2.u32 [%a1], {%r1, %r2}; ret;",
    );
    let mut memory = DeviceMemory::default();
    let output = memory.allocate("out", 8 * 6);
    let launch = Launch { grid: [3, 2, 1], ..one_cta(text, 1, &[output; 2]) };
    let module = Module::parse(&launch.ptx).unwrap();
    let mut running = module.launch(&launch, &mut memory).unwrap();
    let mut cta = Cta::default();
    for count in 1..=6usize {
        assert!(running.next(&mut cta).unwrap());
        let word = &running.memory().of(output)[8 * (count - 1)..][..8];
        assert_eq!((word[0], word[4]), ((count as u8 - 1) % 3, (count as u8 - 1) / 3));
    }
    assert!(!running.next(&mut cta).unwrap());
}

#[test]
fn fences_and_barriers_keep_their_kind() {
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("both", 256);
    let launch = one_cta(
        kernel("membar.gl; bar.sync 0; bar.warp.sync -1; fence.acq_rel.gpu; ret;"),
        32,
        &[buffer; 2],
    );
    let module = Module::parse(&launch.ptx).unwrap();
    let running = module.launch(&launch, &mut memory).unwrap();
    let ops: Vec<Op> = running.kernel().insts[6..].iter().map(|inst| inst.op).collect();
    let fence = Op::Fence(Fence { release: Some(Observer::Gpu), acquire: true });
    assert_eq!([ops[0], ops[1], ops[3], ops[4]], [fence, Op::Barrier, fence, Op::Exit]);
}

#[test]
fn orders_of_accesses_are_fences_around_them() {
    let of = |text: &str| {
        let mut memory = DeviceMemory::default();
        let buffer = memory.allocate("both", 256);
        let text = format!("{text} ret;");
        let launch = one_cta(kernel(&text), 32, &[buffer; 2]);
        let module = Module::parse(&launch.ptx).unwrap();
        let running = module.launch(&launch, &mut memory).unwrap();
        let name = |inst: &Inst| match inst.op {
            Op::Fence(Fence { release, acquire: true }) => format!("{release:?}+"),
            Op::Fence(Fence { release, acquire: false }) => format!("{release:?}"),
            Op::Memory(op) => format!("{:?}", op.cache),
            _ => "-".to_owned(),
        };
        let insts = &running.kernel().insts[6..];
        insts[..insts.len() - 1].iter().map(name).collect::<Vec<_>>().join(" ")
    };
    for (text, ops) in [
        ("ld.acquire.gpu.global.u32 %r1, [%a0];", "Global None+"),
        ("ld.acquire.sys.u32 %r1, [%a0];", "Global None+"),
        ("ld.acquire.cta.global.u32 %r1, [%a0];", "Default"),
        ("ld.relaxed.gpu.global.u32 %r1, [%a0];", "Global"),
        ("st.release.gpu.global.u32 [%a0], %r1;", "Some(Gpu) Global"),
        ("st.release.sys.global.u32 [%a0], %r1;", "Some(System) Global"),
        ("atom.add.global.u32 %r1, [%a0], 1;", "Default"),
        ("atom.acquire.gpu.global.add.u32 %r1, [%a0], 1;", "Global None+"),
        ("atom.acq_rel.gpu.global.add.u32 %r1, [%a0], 1;", "Some(Gpu) Global None+"),
        ("atom.acq_rel.global.add.u32 %r1, [%a0], 1;", "Some(Gpu) Default None+"),
        ("red.release.gpu.global.add.u32 [%a0], 1;", "Some(Gpu) Global"),
        ("fence.acq_rel.gpu; fence.sc.sys;", "Some(Gpu)+ Some(System)+"),
        ("fence.release.gpu; fence.acquire.gpu; membar.sys;", "Some(Gpu) None+ Some(System)+"),
        ("fence.acq_rel.cta; membar.cta; fence.proxy.async.shared::cta;", "- - -"),
        ("fence.proxy.async.global; fence.mbarrier_init.release.cluster;", "- -"),
        ("fence.proxy.async;", "Some(Gpu)"),
        ("ld.global.L1::no_allocate.u32 %r1, [%a0];", "LastUse"),
        ("ld.relaxed.gpu.global.L1::no_allocate.u32 %r1, [%a0];", "Global"),
        ("ld.acquire.sys.global.L1::evict_last.u32 %r1, [%a0];", "Global None+"),
        ("ld.global.lu.u32 %r1, [%a0];", "LastUse"),
        ("ld.global.nc.L1::evict_last.L2::128B.u32 %r1, [%a0];", "Keep"),
        ("ld.global.cs.u32 %r1, [%a0];", "Streaming"),
        ("ld.global.L1::evict_first.u32 %r1, [%a0];", "Streaming"),
    ] {
        assert_eq!(of(text), ops, "{text}");
    }
}

#[test]
fn a_launch_can_go_to_another_thread() {
    fn sent<T: Send>() {}
    sent::<PtxLaunch>();
    sent::<Module>();
}
