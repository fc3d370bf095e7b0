//! Matrix products and matrices in shared memory (`tensor.cu`), against what an H200 made of the same PTX.
//!
//! `tensor.device.bin` is a recording of `tensor.device.cpp`: what each kernel writes, one after the other.

use super::*;

/// A kernel: its name, blocks, bytes that a lane writes.
const KERNELS: [(&str, u32, usize); 27] = [
    ("half_16", 7, 16),
    ("half_8", 7, 16),
    ("half_sums_16", 7, 16),
    ("half_sums_8", 7, 16),
    ("brain_16", 7, 16),
    ("brain_8", 7, 16),
    ("tf32_8", 7, 16),
    ("tf32_4", 7, 16),
    ("short_32", 5, 16),
    ("short_16", 5, 16),
    ("short_sums_32", 5, 16),
    ("short_sums_16", 5, 16),
    ("bytes_32", 2, 16),
    ("bytes_16", 2, 16),
    ("bytes_small", 2, 16),
    ("bits_256", 1, 16),
    ("bits_128", 1, 16),
    ("bits_small", 1, 16),
    ("double_small", 1, 32),
    ("double_4", 1, 32),
    ("double_8", 1, 32),
    ("double_16", 1, 32),
    ("matrices", 1, 96),
    ("wmma_global", 8, 32),
    ("wmma_shared", 8, 32),
    ("wmma_half", 8, 16),
    ("wmma_brain", 2, 32),
];

/// What a kernel writes.
fn written(entry: &str, blocks: u32, bytes: usize) -> Vec<u8> {
    let mut memory = DeviceMemory::default();
    let out = memory.allocate("out", u64::from(blocks) * (32 * bytes) as u64);
    let one = one_cta(include_str!("tensor.ptx"), 32, &[out]);
    let launch = Launch { entry: entry.into(), grid: [blocks, 1, 1], ..one };
    let module = Module::parse(&launch.ptx).unwrap();
    drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
    memory.of(out).to_vec()
}

#[test]
fn the_device_gives_the_same_bits() {
    let mut recorded = &include_bytes!("tensor.device.bin")[..];
    for (entry, blocks, bytes) in KERNELS {
        let have = written(entry, blocks, bytes);
        let (want, rest) = recorded.split_at(have.len());
        recorded = rest;
        let differ = have.chunks(4).zip(want.chunks(4)).position(|(have, want)| have != want);
        if let Some(word) = differ {
            let [have, want] = [&have, want]
                .map(|all| u32::from_le_bytes(all[4 * word..][..4].try_into().unwrap()));
            let (lane, place) = (word / (bytes / 4), word % (bytes / 4));
            panic!("{entry}, lane {lane}, word {place}: {have:#010x}, not {want:#010x}");
        }
    }
    assert!(recorded.is_empty());
}

/// The message of the error that a body ends with.
fn error(body: &str, threads: u32) -> String {
    run(body, threads, &[]).map(|_| ()).unwrap_err().to_string()
}

const PRODUCT: &str = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 \
    {%f0,%f1,%f2,%f3}, {%r1,%r2}, {%r3}, {%f0,%f1,%f2,%f3}; ret;";

#[test]
fn all_lanes_of_a_warp_multiply_together() {
    assert!(run(PRODUCT, 32, &[]).is_ok());
    let partly = error(PRODUCT, 48);
    assert!(partly.contains("thread (32,0,0)"), "{partly}");
    assert!(partly.contains("all 32 lanes of the warp must execute this together, and 16 do"));
    let guarded = format!("setp.lt.u32 %p1, %r0, 8; @%p1 {PRODUCT}");
    assert!(error(&guarded, 32).contains("and 8 do"));
    let nobody = format!("setp.gt.u32 %p1, %r0, 99; @%p1 {PRODUCT}");
    assert!(run(&nobody, 32, &[]).is_ok());
}

#[test]
fn sums_of_short_floats_may_be_written_to_those_before_them() {
    // Factors of zero: the sums change places.
    let body = "mov.f32 %f0, 0f3F800000; mov.f32 %f1, 0f40000000; mov.u32 %r1, 0; mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32 \
                {%f1,%f0,%f2,%f3}, {%r1,%r1}, {%r1}, {%f0,%f1,%f1,%f0}; mul.f32 %f0, %f0, 0f42C80000; add.f32 %f0, %f0, %f1; \
                cvt.rzi.u32.f32 %r2, %f0; cvt.u64.u32 %a7, %r2; st.global.u64 [%a1], %a7; ret;";
    assert_eq!(run(body, 32, &[]).unwrap().1, [201; 32]);
}

#[test]
fn registers_of_a_spelled_out_product_are_nobody_elses() {
    // Factors of zero, and sums in registers that are called as gsim might call its own.
    let body = ".reg .f32 %mma_sum<4>; .reg .b32 %mma_half<4>; mov.f32 %mma_sum0, 0f42C80000; mov.u32 %mma_half0, 0; \
                mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32 {%mma_sum0,%mma_sum1,%mma_sum2,%mma_sum3}, {%mma_half0,%mma_half0}, \
                {%mma_half0}, {%mma_sum0,%mma_sum0,%mma_sum0,%mma_sum0}; cvt.rzi.u32.f32 %r2, %mma_sum0; cvt.u64.u32 %a7, %r2; \
                st.global.u64 [%a1], %a7; ret;";
    assert_eq!(run(body, 32, &[]).unwrap().1, [100; 32]);
}

#[test]
fn rows_of_matrices_are_checked() {
    let load = |row: &str| {
        format!(
            ".shared .align 16 .b8 tile[512]; mov.u32 %r1, tile; mul.lo.u32 %r2, %r0, {row}; add.u32 %r1, %r1, %r2; \
             st.shared.b16 [%r1], %h1; bar.sync 0; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r3,%r4,%r5,%r6}}, [%r1]; ret;"
        )
    };
    let unwritten = error(&load("16"), 32);
    assert!(unwritten.contains("reads 16 bytes at address 0x0 of shared memory, which nothing"));
    assert!(error(&load("12"), 32).contains("address 0xc, which is not aligned to 16 bytes"));
    let far = "mov.u32 %r1, 4096; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r1]; ret;";
    assert!(error(far, 32).contains("outside the CTA's 0 bytes of shared memory"));
    let global = "ldmatrix.sync.aligned.m8n8.x1.b16 {%r3}, [%a0]; ret;";
    assert!(error(global, 32).contains("the rows of a matrix are not in shared memory"));
}

#[test]
fn products_that_no_machine_has_are_refused() {
    let shapes = [
        "m16n8k32.row.col.f32.f16.f16.f32",
        "m16n8k16.col.row.f32.f16.f16.f32",
        "m16n8k16.row.col.f16.bf16.bf16.f16",
        "m16n8k16.row.col.f32.f16.f16.f16",
        "m16n8k16.row.col.satfinite.f32.f16.f16.f32",
        "m8n8k4.row.col.f32.f16.f16.f32",
        "m16n8k64.row.col.f32.e4m3.e4m3.f32",
        "m16n8k32.row.col.f16.e4m3.e4m3.f32",
        "m16n8k32.row.col.f32.e4m3.s8.f32",
    ];
    for shape in shapes {
        let text = format!("mma.sync.aligned.{shape} {{%f0}}, {{%r1}}, {{%r2}}, {{%f0}}; ret;");
        let message = error(&text, 32);
        assert!(
            message.contains(&format!("`mma.sync.aligned.{shape}` is not supported")),
            "{message}"
        );
        assert!(message.contains("known are m16n8 with k8 and k16 of f16"));
    }
    let few = PRODUCT.replace("{%r1,%r2}", "{%r1}");
    assert!(error(&few, 32).contains("expected 2 registers, found 1"));
    let four = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3}, [%r1]; ret;";
    assert!(error(four, 32).contains("expected 4 registers, found 1"));
}

#[test]
fn fragments_are_spelled_out_where_they_are_known() {
    let load = |modifiers: &str, registers: &str| {
        error(&format!("wmma.load.{modifiers} {{{registers}}}, [%a0], 16; ret;"), 32)
    };
    let four = "%r1,%r2,%r3,%r4";
    for (modifiers, registers) in [
        ("a.sync.aligned.row.m32n8k16.f16", four),
        ("a.sync.aligned.row.m16n16k16.u8", four),
        ("c.sync.aligned.row.m16n16k16.f32", four),
        ("d.sync.aligned.row.m16n16k16.f32", four),
        ("a.sync.aligned.diagonal.m16n16k16.f16", four),
    ] {
        let message = load(modifiers, registers);
        assert!(
            message.contains(&format!("`wmma.load.{modifiers}` is not supported")),
            "{message}"
        );
        assert!(message.contains("known are m16n16k16 of f16 and bf16"), "{message}");
    }
    // What is wrong in the text is said of the instruction in the text.
    let unknown = load("a.sync.aligned.row.m16n16k16.f16", "%q1,%r2,%r3,%r4");
    assert!(unknown.contains("t.ptx:9:1: `%q1` is not declared as a register"), "{unknown}");
    // The halves of a product must not mix.
    let sums = "%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7";
    let mixed = "%f4,%f1,%f2,%f3,%f0,%f5,%f6,%f7";
    let factors = format!("{four},{four}");
    let product = |d: &str| {
        let product = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32";
        format!("{product} {{{d}}}, {{{factors}}}, {{{factors}}}, {{{sums}}}; ret;")
    };
    assert!(run(&product(sums), 32, &[]).is_ok());
    assert!(error(&product(mixed), 32).contains("is not supported"));
}
