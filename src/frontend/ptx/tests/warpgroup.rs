//! Products of warpgroups (`warpgroup.cu`), against what an H200 made of the same PTX, and what is wrong with them.
//!
//! `warpgroup.device.bin` is a recording of `tensor.device.cpp`: what each kernel writes, one after the other.

use super::*;
use crate::config::machine::InstructionSet;
use crate::isa::{ArithClass, GroupProduct, Warpgroup};

const KERNELS: [&str; 15] = [
    "half_shared",
    "half_registers",
    "half_registers_turned",
    "half_sums",
    "brain",
    "tf32_shared",
    "tf32_registers",
    "bytes_held",
    "bytes_registers",
    "half_wide",
    "short_shared",
    "short_registers",
    "short_any",
    "short_sums",
    "short_sums_any",
];
/// Two warpgroups.
const THREADS: u32 = 256;

#[test]
fn the_device_gives_the_same_bits() {
    let words = |bytes: &[u8]| -> Vec<u32> {
        bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    };
    let recorded = words(include_bytes!("warpgroup.device.bin"));
    assert_eq!(recorded.len(), KERNELS.len() * THREADS as usize);
    for (entry, want) in KERNELS.iter().zip(recorded.chunks(THREADS as usize)) {
        let mut memory = DeviceMemory::default();
        let out = memory.allocate("out", u64::from(4 * THREADS));
        let one = one_cta(include_str!("warpgroup.ptx"), THREADS, &[out]);
        let launch = Launch { entry: (*entry).into(), ..one };
        let module = Module::parse(&launch.ptx).unwrap();
        drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
        assert!(words(memory.of(out)) == want, "{entry}");
    }
}

/// A product of eight columns: the first factor from byte 0 of shared memory on, the second one from byte 2048 on, whose 256 bytes begin
/// as ones. `%a5` and `%a6` have the descriptors; sums are whole numbers in `%r4` to `%r7`.
fn with_matrices(body: &str) -> String {
    format!(
        ".shared .align 1024 .b8 tile[4096]; mov.u32 %r1, tile; and.b32 %r2, %r0, 127; shl.b32 %r2, %r2, 4; add.u32 %r2, %r2, %r1; mov.u32 %r3, 0x01010101; \
         st.shared.v4.u32 [%r2], {{%r3,%r3,%r3,%r3}}; st.shared.v4.u32 [%r2+2048], {{%r3,%r3,%r3,%r3}}; \
         mov.b64 %a5, 0x1000080000; add.s64 %a6, %a5, 128; mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0; \
         bar.sync 0; wgmma.fence.sync.aligned; {body}"
    )
}
const PRODUCT: &str =
    "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 {%r4,%r5,%r6,%r7}, %a5, %a6, 1;";
const END: &str = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; cvt.u64.u32 %a7, %r7; st.global.u64 [%a1], %a7; ret;";

/// The message of the error that a body ends with.
fn error(body: &str, threads: u32) -> String {
    run(body, threads, &[]).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_warp_that_has_waited_may_overwrite_what_the_others_read() {
    // Whoever comes first: the first warp, and the last one.
    for warp in [0, 3] {
        let body = with_matrices(&format!(
            "{PRODUCT} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; shr.u32 %r8, %r0, 5; \
             setp.ne.u32 %p1, %r8, {warp}; @%p1 bra OTHERS; and.b32 %r9, %r0, 31; shl.b32 %r9, %r9, 3; add.u32 %r9, %r9, %r1; \
             mov.b64 %a4, 0; st.shared.u64 [%r9+2048], %a4; OTHERS: cvt.u64.u32 %a7, %r7; st.global.u64 [%a1], %a7; ret;"
        ));
        let (_, values) = run(&body, 128, &[]).unwrap();
        assert_eq!(values, [32; 128], "{warp}");
    }
}

#[test]
fn a_warp_waits_for_the_others_of_its_group_alone() {
    let both = with_matrices(&format!("{PRODUCT} {END}"));
    assert_eq!(run(&both, 256, &[]).unwrap().1, [32; 256]);
    // The second warpgroup makes no product.
    let one = with_matrices(&format!("setp.gt.u32 %p1, %r0, 127; @%p1 ret; {PRODUCT} {END}"));
    let values = run(&one, 256, &[]).unwrap().1;
    assert_eq!(values, [[32; 128], [0; 128]].concat());
    // One warp of four does not.
    let some = with_matrices(&format!("setp.gt.u32 %p1, %r0, 95; @%p1 ret; {PRODUCT} {END}"));
    let message = error(&some, 128);
    assert!(
        message.contains("waits for ever: warps 0, 1, 2 in line 9 at the end of products of warpgroup 0, where 3 of 4 warps arrived"),
        "{message}"
    );
}

#[test]
fn warps_of_a_group_make_as_many_products() {
    let message = |body: &str| error(&with_matrices(body), 128);
    let all = "the warps of warpgroup 0 make their products together, and have made";
    // One of four makes another one; one makes none, and nobody waits.
    let one =
        message(&format!("{PRODUCT} setp.lt.u32 %p1, %r0, 96; @%p1 bra END; {PRODUCT} END: {END}"));
    assert!(
        one.contains("thread (96,0,0)") && one.contains(&format!("{all} 1, 1, 1, 2 of them")),
        "{one}"
    );
    let none = message(&format!("setp.lt.u32 %p1, %r0, 32; @%p1 ret; {PRODUCT} ret;"));
    assert!(none.contains(&format!("{all} 0, 1, 1, 1 of them")), "{none}");
}

#[test]
fn a_predicate_tells_whether_sums_are_added_to() {
    let product = |adds: &str| {
        with_matrices(&format!(
            "setp.ne.u32 %p1, %r0, %r0; mov.u32 %r7, 1000; {} {END}",
            PRODUCT.replace(", 1;", &format!(", {adds};"))
        ))
    };
    for (adds, sum) in [("0", 32), ("1", 1032), ("%p1", 32), ("!%p1", 1032)] {
        assert_eq!(run(&product(adds), 128, &[]).unwrap().1, [sum; 128], "{adds}");
    }
}

#[test]
fn what_is_wrong_with_matrices_is_said() {
    let product = |before: &str| with_matrices(&format!("{before} {PRODUCT} {END}"));
    assert!(run(&product(""), 128, &[]).is_ok());
    let far = error(&product("add.s64 %a6, %a6, 120;"), 128);
    assert!(
        far.contains(
            "the second factor: reads 16 bytes at address 0x1000, outside the CTA's 4096 bytes"
        ),
        "{far}"
    );
    let unlike = error(&product("cvt.u64.u32 %a4, %r0; add.s64 %a5, %a5, %a4;"), 128);
    assert!(unlike.contains("thread (1,0,0)"), "{unlike}");
    assert!(unlike.contains("lanes have different descriptors of a matrix"), "{unlike}");
    let empty = format!(
        ".shared .align 1024 .b8 tile[4096]; mov.b64 %a5, 0x1000080000; add.s64 %a6, %a5, 128; {PRODUCT} {END}"
    );
    let empty = error(&empty, 128);
    assert!(
        empty.contains("the first factor: reads 4 bytes at address 0x0 of shared memory, which nothing was written to"),
        "{empty}"
    );
    let partly = error(&product("setp.gt.u32 %p1, %r0, 7; @%p1 ret;"), 128);
    assert!(
        partly.contains("all 32 lanes of the warp must execute this together, and 8 do"),
        "{partly}"
    );
    let predicate = PRODUCT.replace(", 1;", ", %p1;");
    let mixed = error(&with_matrices(&format!("setp.gt.u32 %p1, %r0, 4; {predicate} {END}")), 128);
    assert!(mixed.contains("thread (5,0,0)"), "{mixed}");
    assert!(mixed.contains("lanes have different predicates for the sums before"), "{mixed}");
    let few = error(&product(""), 96);
    assert!(few.contains("96 threads in a CTA, which are no whole warpgroups of 128"), "{few}");
}

#[test]
fn products_that_no_machine_has_are_refused() {
    for shape in [
        "m64n8k16.f32.f16.bf16",
        "m64n8k8.f32.f16.f16",
        "m64n264k16.f32.f16.f16",
        "m64n12k16.f32.f16.f16",
        "m64n40k32.s32.s8.s8",
        "m64n08k16.f32.f16.f16",
        "m64n8k16.f32.e4m3.e4m3",
        "m64n8k32.f32.e4m3.s8",
        "m64n12k32.f16.e4m3.e5m2",
        "m64n8k16.f32.f16.f16.satfinite",
    ] {
        let message =
            error(&format!("wgmma.mma_async.sync.aligned.{shape} {{%f0}}, %a5, %a6, 1; ret;"), 128);
        assert!(
            message.contains(&format!("`wgmma.mma_async.sync.aligned.{shape}` is not supported")),
            "{message}"
        );
        assert!(message.contains("known are m64 with k16 of f16 and bf16"), "{message}");
    }
    let half = |operands: &str| {
        error(&format!("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {operands}; ret;"), 128)
    };
    let sums = "{%f0,%f1,%f2,%f3}";
    assert!(half(&format!("{sums}, %a5, %a6, 1, 1, 1, 0")).contains("needs more operands"));
    assert!(half(&format!("{sums}, %a5, %a6, 1, 1, 2, 0, 0")).contains("expected 1 or -1"));
    assert!(half(&format!("{sums}, %a5, %a6, 1, 1, 1, 0, 2")).contains("expected 0 or 1"));
    assert!(half("{%f0,%f1}, %a5, %a6, 1, 1, 1, 0, 0").contains("expected 4 registers, found 2"));
    assert!(
        half(&format!("{sums}, {{%r1,%r2}}, %a6, 1, 1, 1, 0"))
            .contains("expected 4 registers, found 2")
    );
    let guarded = error(&format!("setp.eq.u32 %p1, %r0, 0; @%p1 {PRODUCT} ret;"), 128);
    assert!(guarded.contains("under a guard"), "{guarded}");
}

/// What the machine sees of a body.
fn issued(body: &str) -> Vec<Op> {
    let module = Module::parse(&source(kernel(body))).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    program.issued.insts.iter().map(|inst| inst.op).collect()
}

#[test]
fn the_last_product_of_a_group_tells_that_it_is() {
    let groups = |ops: &[Op]| -> Vec<Warpgroup> {
        ops.iter()
            .filter_map(|op| match op {
                Op::Warpgroup(what) => Some(*what),
                _ => None,
            })
            .collect()
    };
    let product =
        |commits| Warpgroup::Multiply(GroupProduct { columns: 8, from_registers: false, commits });
    let two = issued(&with_matrices(&format!("{PRODUCT} {PRODUCT} {END}")));
    let want = [Warpgroup::Arrive, product(false), product(true), Warpgroup::Wait(0)];
    assert_eq!(groups(&two), want);
    // Where control comes from elsewhere, too, the commit is an instruction.
    let met =
        with_matrices(&format!("setp.eq.u32 %p1, %r4, 9; @%p1 bra MET; {PRODUCT} MET: {END}"));
    let want = [Warpgroup::Arrive, product(false), Warpgroup::Commit, Warpgroup::Wait(0)];
    assert_eq!(groups(&issued(&met)), want);
}

/// What is issued between a product and the wait for it, of a kernel whose first factor is in `%r8` to `%r11`, with `behind` the wait.
fn before_the_wait(behind: &str) -> usize {
    let product = PRODUCT.replace("%a5", "{%r8,%r9,%r10,%r11}");
    let body = with_matrices(&format!(
        "mov.u32 %r8, 1; mov.u32 %r12, 5; {product} wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; {behind} \
         add.u32 %r7, %r7, %r12; add.u32 %r7, %r7, %r8; cvt.u64.u32 %a7, %r7; st.global.u64 [%a1], %a7; ret;"
    ));
    let ops = issued(&body);
    let place = |wanted: fn(&Warpgroup) -> bool| {
        ops.iter().position(|op| matches!(op, Op::Warpgroup(what) if wanted(what))).unwrap()
    };
    let wait = place(|what| matches!(what, Warpgroup::Wait(_)));
    wait - place(|what| matches!(what, Warpgroup::Multiply(_))) - 1
}

#[test]
fn arithmetic_that_needs_no_product_does_not_wait_for_it() {
    assert_eq!(before_the_wait("xor.b32 %r12, %r12, %r1;"), 1);
    // What a product writes, and what it may still read.
    assert_eq!(before_the_wait("xor.b32 %r12, %r7, %r1;"), 0);
    assert_eq!(before_the_wait("xor.b32 %r8, %r12, %r1;"), 0);
    // A commit behind a wait is one of its own.
    let late = issued(&with_matrices(&format!("{PRODUCT} wgmma.wait_group.sync.aligned 0; {END}")));
    assert!(late.contains(&Op::Warpgroup(Warpgroup::Commit)));
}

#[test]
fn descriptors_become_values_of_the_warp() {
    let halves = |before: &str| {
        let ops = issued(&with_matrices(&format!("{before} {PRODUCT} {END}")));
        ops.iter().filter(|op| **op == Op::Arith(ArithClass::ToUniform)).count()
    };
    assert_eq!(halves(""), 0);
    assert_eq!(halves("shr.u32 %r8, %r0, 9; cvt.u64.u32 %a4, %r8; add.s64 %a6, %a6, %a4;"), 2);
}
