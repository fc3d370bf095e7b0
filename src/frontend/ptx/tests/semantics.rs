//! What instructions compute, at the edges.

use super::*;

/// One 32-bit operation on the two halves of the input.
fn binary(op: &str, pairs: &[(u32, u32)]) -> Vec<u32> {
    let inputs: Vec<u64> = pairs.iter().map(|(a, b)| u64::from(*a) | u64::from(*b) << 32).collect();
    let body = format!(
        "ld.global.v2.u32 {{%r1, %r2}}, [%a0]; {op} %r3, %r1, %r2; st.global.u32 [%a1], %r3;"
    );
    check(&body, &inputs).iter().map(|value| *value as u32).collect()
}

fn unary(op: &str, values: &[u32]) -> Vec<u32> {
    let inputs: Vec<u64> = values.iter().map(|value| u64::from(*value)).collect();
    let body = format!("ld.global.u32 %r1, [%a0]; {op} %r3, %r1; st.global.u32 [%a1], %r3;");
    check(&body, &inputs).iter().map(|value| *value as u32).collect()
}

fn floats(op: &str, pairs: &[(f32, f32)]) -> Vec<u32> {
    let pairs: Vec<_> = pairs.iter().map(|(a, b)| (a.to_bits(), b.to_bits())).collect();
    binary(op, &pairs)
}

const MIN: u32 = i32::MIN as u32;

#[test]
fn an_approximate_quotient_is_a_product_with_an_inverse() {
    let huge = 2f32.powi(126);
    for op in ["div.approx.f32", "div.approx.ftz.f32"] {
        let quotients = floats(
            op,
            &[
                (6.0, 2.0),
                (huge, huge),
                (huge, 1.5 * huge),
                (huge, -1.5 * huge),
                (f32::INFINITY, 1.5 * huge),
                (1.0, f32::INFINITY),
            ],
        );
        let quotients: Vec<f32> = quotients.into_iter().map(f32::from_bits).collect();
        assert_eq!(quotients[..4], [3.0, 1.0, 0.0, 0.0]);
        assert!(quotients[3].is_sign_negative() && quotients[4].is_nan() && quotients[5] == 0.0);
    }
    assert_eq!(floats("div.full.f32", &[(huge, 1.5 * huge)]), [(1f32 / 1.5).to_bits()]);
}

#[test]
fn integer_arithmetic_wraps() {
    assert_eq!(binary("add.s32", &[(!0, 1), (i32::MAX as u32, 1)]), [0, MIN]);
    assert_eq!(binary("add.sat.s32", &[(i32::MAX as u32, 1)]), [i32::MAX as u32]);
    assert_eq!(binary("sub.u32", &[(0, 1)]), [!0]);
    assert_eq!(binary("mul.lo.s32", &[(0x1_0001, 0x1_0001)]), [0x2_0001]);
    assert_eq!(binary("mul.hi.s32", &[(!0, !0), (MIN, MIN)]), [0, 0x4000_0000]);
    assert_eq!(binary("mul.hi.u32", &[(!0, !0)]), [!1]);
    assert_eq!(unary("abs.s32", &[!4, MIN]), [5, MIN]);
    assert_eq!(unary("neg.s32", &[1, MIN]), [!0, MIN]);
    assert_eq!(binary("min.s32", &[(!0, 1)]), [!0]);
    assert_eq!(binary("min.u32", &[(!0, 1)]), [1]);
    assert_eq!(binary("max.s32", &[(!0, 1)]), [1]);
}

#[test]
fn division_wraps() {
    // The other lanes of the warp must not divide by zero.
    let divide = |op: &str, pairs: &[(u32, u32)]| -> Vec<u32> {
        let all: Vec<_> = pairs.iter().copied().cycle().take(32).collect();
        binary(op, &all)[..pairs.len()].to_vec()
    };
    assert_eq!(divide("div.s32", &[(MIN, !0), (!6, 2)]), [MIN, !2]);
    assert_eq!(divide("rem.s32", &[(MIN, !0), (!6, 2)]), [0, !0]);
    assert_eq!(divide("div.u32", &[(!0, 2)]), [i32::MAX as u32]);
    assert_eq!(divide("rem.u32", &[(!0, 10)]), [5]);
}

#[test]
fn shifts_by_the_width_or_more_clear_or_keep_the_sign() {
    assert_eq!(binary("shl.b32", &[(1, 31), (1, 32), (1, !0)]), [MIN, 0, 0]);
    assert_eq!(binary("shr.u32", &[(!0, 31), (!0, 32), (!0, 77)]), [1, 0, 0]);
    assert_eq!(binary("shr.s32", &[(MIN, 31), (MIN, 32), (4, 99)]), [!0, !0, 0]);
    assert_eq!(
        check(
            "ld.global.s64 %a3, [%a0]; shr.s64 %a3, %a3, 64; st.global.u64 [%a1], %a3;",
            &[1 << 63]
        ),
        [!0]
    );
}

#[test]
fn bits_are_counted_and_moved() {
    assert_eq!(unary("popc.b32", &[0, !0, 0x10_1000]), [0, 32, 2]);
    assert_eq!(unary("clz.b32", &[0, 1, !0]), [32, 31, 0]);
    assert_eq!(unary("brev.b32", &[1, 0xf000_0000]), [MIN, 15]);
    assert_eq!(unary("bfind.u32", &[0, 1, 0x8000]), [!0, 0, 15]);
    assert_eq!(unary("bfind.s32", &[!0, !1]), [!0, 0]);
    assert_eq!(unary("not.b32", &[5]), [!5]);
    assert_eq!(unary("cnot.b32", &[5, 0]), [0, 1]);
    let field = |op: &str, value: u64| {
        check(&format!("ld.global.u32 %r1, [%a0]; {op}; st.global.u32 [%a1], %r2;"), &[value])[0]
            as u32
    };
    assert_eq!(field("bfe.u32 %r2, %r1, 4, 8", 0xabcd), 0xbc);
    assert_eq!(field("bfe.s32 %r2, %r1, 4, 8", 0xabcd), 0xffff_ffbc);
    assert_eq!(field("bfe.s32 %r2, %r1, 28, 8", 0x8000_0000), 0xffff_fff8);
    assert_eq!(field("bfe.u32 %r2, %r1, 28, 8", 0x8000_0000), 8);
    assert_eq!(field("bfe.u32 %r2, %r1, 4, 0", 0xabcd), 0);
    assert_eq!(field("bfi.b32 %r2, %r1, 0, 8, 8", 0xabcd), 0xcd00);
    assert_eq!(field("bfi.b32 %r2, %r1, -1, 28, 8", 0), 0x0fff_ffff);
    assert_eq!(field("lop3.b32 %r2, %r1, 0xff00, 0xf0f0, 0x96", 0xaaaa), 0xaaaa ^ 0xff00 ^ 0xf0f0);
    assert_eq!(field("prmt.b32 %r2, %r1, 0x77665544, 0x7480", 0x1122_33f4), 0x7744_fff4);
    assert_eq!(field("shf.l.wrap.b32 %r2, %r1, 1, 36", 0xf000_0000), 0x1f);
    assert_eq!(field("shf.r.clamp.b32 %r2, %r1, 0xab, 40", 1), 0xab);
}

#[test]
fn products_widen() {
    let wide = |op: &str, a: u32, b: u32| {
        let body = format!(
            "ld.global.v2.u32 {{%r1, %r2}}, [%a0]; {op} %a3, %r1, %r2; st.global.u64 [%a1], %a3;"
        );
        check(&body, &[u64::from(a) | u64::from(b) << 32])[0] as i64
    };
    assert_eq!(wide("mul.wide.s32", !0, 4), -4);
    assert_eq!(wide("mul.wide.u32", !0, 4), 0x3_ffff_fffc);
}

#[test]
fn narrow_loads_extend_and_narrow_stores_cut() {
    let through =
        |load: &str, store: &str, value| check(&format!("{load}, [%a0]; {store};"), &[value])[0];
    let word = "st.global.u32 [%a1], %r1";
    assert_eq!(through("ld.global.s8 %r1", word, 0x80), 0xffff_ff80);
    assert_eq!(through("ld.global.u8 %r1", word, 0xff80), 0x80);
    assert_eq!(through("ld.global.s16 %r1", word, 0x8000), 0xffff_8000);
    assert_eq!(
        through("ld.global.s32 %a3", "st.global.u64 [%a1], %a3", 1 << 31),
        0xffff_ffff_8000_0000
    );
    assert_eq!(through("ld.global.u32 %r1", "st.global.u8 [%a1], %r1", 0x1234), 0x34);
    assert_eq!(through("ld.global.u64 %a3", "st.global.u16 [%a1+6], %a3", 0x1234), 0x1234 << 48);
    assert_eq!(through("ld.global.u16 %h1", "st.global.u16 [%a1], %h1", 0xabcd_ef01), 0xef01);
}

#[test]
fn sixteen_bit_arithmetic_wraps_at_sixteen_bits() {
    let body = "ld.global.u16 %h1, [%a0]; add.s16 %h2, %h1, 1; setp.lt.s16 %p1, %h2, 0;
        selp.u32 %r1, 1, 0, %p1; cvt.s32.s16 %r2, %h2; st.global.v2.u32 [%a1], {%r1, %r2};";
    assert_eq!(check(body, &[0x7fff, 0xffff]), [0xffff_8000_0000_0001, 0]);
}

#[test]
fn integer_conversions_extend_cut_and_saturate() {
    let convert = |op: &str, value: u64| {
        check(
            &format!(
                "ld.global.u64 %a3, [%a0]; cvt.u32.u64 %r1, %a3; {op}; st.global.u64 [%a1], %a4;"
            ),
            &[value],
        )[0]
    };
    assert_eq!(convert("cvt.s64.s32 %a4, %r1", 0x8000_0000), 0xffff_ffff_8000_0000);
    assert_eq!(convert("cvt.u64.u32 %a4, %r1", 0x8000_0000), 0x8000_0000);
    assert_eq!(convert("cvt.s64.s8 %a4, %r1", 0x80), !0x7f);
    assert_eq!(convert("cvt.s64.s16 %a4, %a3", 0x18000), !0x7fff);
    assert_eq!(convert("cvt.sat.s8.s64 %r2, %a3; cvt.s64.s32 %a4, %r2", 300), 127);
    assert_eq!(convert("cvt.sat.u8.s32 %r2, %r1; cvt.s64.s32 %a4, %r2", 0xffff_fff0), 0);
}

#[test]
fn conversions_between_integers_and_floats_round_as_told() {
    let to_int = |op: &str, value: f32| {
        let body = format!("ld.global.f32 %f1, [%a0]; {op} %r1, %f1; st.global.u32 [%a1], %r1;");
        check(&body, &[u64::from(value.to_bits())])[0] as i32
    };
    assert_eq!(to_int("cvt.rzi.s32.f32", -1.9), -1);
    assert_eq!(to_int("cvt.rmi.s32.f32", -1.1), -2);
    assert_eq!(to_int("cvt.rpi.s32.f32", 1.1), 2);
    assert_eq!(to_int("cvt.rni.s32.f32", 2.5), 2);
    assert_eq!(to_int("cvt.rzi.s32.f32", 3e9), i32::MAX);
    assert_eq!(to_int("cvt.rzi.u32.f32", -3.0), 0);
    assert_eq!(to_int("cvt.rzi.s32.f32", f32::NAN), 0);
    assert_eq!(to_int("cvt.rni.s32.f32", f32::NEG_INFINITY), i32::MIN);
    let to_float = |op: &str, value: u32| {
        let body = format!("ld.global.u32 %r1, [%a0]; {op} %f1, %r1; st.global.f32 [%a1], %f1;");
        f32::from_bits(check(&body, &[u64::from(value)])[0] as u32)
    };
    assert_eq!(to_float("cvt.rn.f32.s32", !0), -1.0);
    assert_eq!(to_float("cvt.rn.f32.u32", !0), 4294967296.0);
    assert_eq!(to_float("cvt.rz.f32.u32", !0), 4294967040.0);
    assert_eq!(to_float("cvt.rp.f32.s32", 16777217), 16777218.0);
    assert_eq!(to_float("cvt.rm.f32.s32", 16777217), 16777216.0);
}

#[test]
fn conversions_between_floats_round_as_told() {
    let narrow = |op: &str, value: f64| {
        let body = format!("ld.global.f64 %d1, [%a0]; {op} %f1, %d1; st.global.f32 [%a1], %f1;");
        f32::from_bits(check(&body, &[value.to_bits()])[0] as u32)
    };
    assert_eq!(narrow("cvt.rn.f32.f64", 0.1), 0.1);
    assert_eq!(narrow("cvt.rz.f32.f64", 0.1), 0.1f32.next_down());
    assert_eq!(narrow("cvt.rp.f32.f64", -1e300), f32::MIN);
    assert_eq!(narrow("cvt.sat.f32.f64", 1.5), 1.0);
    assert_eq!(unary("cvt.rni.f32.f32", &[2.5f32.to_bits()]), [2f32.to_bits()]);
}

#[test]
fn single_precision_follows_ieee_and_ptx() {
    let nan = 0x7fff_ffff;
    assert_eq!(
        floats("add.f32", &[(1.0, 2.0), (f32::INFINITY, f32::NEG_INFINITY)]),
        [3f32.to_bits(), nan]
    );
    assert_eq!(floats("min.f32", &[(f32::NAN, 1.0), (0.0, -0.0)]), [1f32.to_bits(), MIN]);
    assert_eq!(floats("max.f32", &[(1.0, f32::NAN), (-0.0, 0.0)]), [1f32.to_bits(), 0]);
    assert_eq!(
        floats("div.rn.f32", &[(1.0, 3.0), (1.0, 0.0)]),
        [(1f32 / 3.0).to_bits(), f32::INFINITY.to_bits()]
    );
    let tiny = f32::MIN_POSITIVE / 2.0;
    assert_eq!(floats("add.f32", &[(tiny, 0.0)]), [tiny.to_bits()]);
    assert_eq!(floats("add.ftz.f32", &[(tiny, 0.0), (-tiny, -0.0)]), [0, MIN]);
    assert_eq!(floats("add.sat.f32", &[(2.0, 2.0)]), [1f32.to_bits()]);
    assert_eq!(unary("sqrt.approx.f32", &[4f32.to_bits()]), [2f32.to_bits()]);
    assert_eq!(unary("ex2.approx.ftz.f32", &[3f32.to_bits()]), [8f32.to_bits()]);
    assert_eq!(unary("neg.f32", &[1f32.to_bits()]), [(-1f32).to_bits()]);
}

#[test]
fn directions_of_rounding_are_kept() {
    let (one, tiny) = (1f32, 1e-20f32);
    let below = one.next_down();
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let pairs = [(one, tiny), (one, -tiny), (-one, tiny)];
    assert_eq!(floats("add.rz.f32", &pairs), bits(&[one, below, -below]));
    assert_eq!(floats("add.rm.f32", &pairs), bits(&[one, below, -one]));
    assert_eq!(floats("add.rp.f32", &pairs), bits(&[one.next_up(), one, -below]));
    assert_eq!(floats("sub.rp.f32", &[(one, tiny)]), bits(&[one]));
    assert_eq!(floats("mul.rz.f32", &[(1e30, 1e30)]), bits(&[f32::MAX]));
    assert_eq!(floats("mul.rm.f32", &[(0.1, -0.1)]), bits(&[-0.010000001]));
}

#[test]
fn double_precision_fuses() {
    let body = "ld.global.f64 %d1, [%a0]; fma.rn.f64 %d2, %d1, %d1, 0dBFF0000000000000;
        st.global.f64 [%a1], %d2;";
    let value = 1.0 + f64::EPSILON;
    assert_eq!(check(body, &[value.to_bits()]), [value.mul_add(value, -1.0).to_bits()]);
}

#[test]
fn comparisons_know_signs_and_nan() {
    let holds = |op: &str, a: u32, b: u32| {
        let body = format!(
            "ld.global.v2.u32 {{%r1, %r2}}, [%a0]; {op} %p1, %r1, %r2; selp.u32 %r3, 1, 0, %p1;
             st.global.u32 [%a1], %r3;"
        );
        check(&body, &[u64::from(a) | u64::from(b) << 32])[0] == 1
    };
    assert!(
        holds("setp.lt.s32", !0, 0) && !holds("setp.lt.u32", !0, 0) && holds("setp.hi.u32", !0, 0)
    );
    let (one, nan) = (1f32.to_bits(), f32::NAN.to_bits());
    for (op, expected) in [
        ("eq", false),
        ("ne", false),
        ("lt", false),
        ("equ", true),
        ("neu", true),
        ("ltu", true),
        ("geu", true),
        ("num", false),
        ("nan", true),
    ] {
        assert_eq!(holds(&format!("setp.{op}.f32"), one, nan), expected, "{op}");
    }
    assert!(holds("setp.ne.f32", one, 0) && holds("setp.neu.f32", one, 0));
}

#[test]
fn setp_combines_and_writes_both_predicates() {
    let body = "ld.global.u32 %r1, [%a0]; setp.gt.u32 %p1, %r1, 4;
        setp.lt.and.u32 %p2|%p3, %r1, 8, !%p1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 2, 0, %p3;
        or.b32 %r2, %r2, %r3; xor.pred %p4, %p1, %p2; selp.u32 %r3, 4, 0, %p4; not.pred %p4, %p4;
        selp.u32 %r4, 8, 0, %p4; or.b32 %r2, %r2, %r3; or.b32 %r2, %r2, %r4;
        set.lt.u32.u32 %r5, %r1, 8; and.b32 %r5, %r5, 16; or.b32 %r2, %r2, %r5;
        st.global.u32 [%a1], %r2;";
    assert_eq!(check(body, &[3, 5, 9]), [1 | 4 | 16, 4 | 16, 4]);
}

#[test]
fn vectors_are_packed_and_unpacked() {
    let body = "ld.global.u64 %a3, [%a0]; mov.b64 {%r1, %r2}, %a3; mov.b32 {%h1, _}, %r1;
        mov.b32 %r3, {%h1, %h1}; mov.b64 %a4, {%r2, %r3}; st.global.u64 [%a1], %a4;";
    assert_eq!(check(body, &[0x1111_2222_3333_4444]), [0x4444_4444_1111_2222]);
    let body = "ld.global.nc.v2.u32 {%r1, %r2}, [%a0]; st.global.cs.v2.b32 [%a1], {%r2, %r1};";
    assert_eq!(check(body, &[0x1_0000_0002]), [0x2_0000_0001]);
}

#[test]
fn special_registers_tell_thread_and_lane() {
    let body = "mov.u32 %r1, %laneid; mov.u32 %r2, %lanemask_lt; add.s32 %r1, %r1, %warpid;
        mov.u32 %r3, %ntid.x; add.s32 %r1, %r1, %r3; st.global.v2.u32 [%a1], {%r1, %r2}; ret;";
    let (_, values) = run(body, 64, &[]).unwrap();
    assert_eq!(values[33], 7u64.wrapping_sub(6) << 32 | (1 + 1 + 64));
    assert_eq!(values[31], 0x7fff_ffff << 32 | (31 + 64));
}

#[test]
fn constants_are_read_at_fixed_and_at_computed_places() {
    let text = format!(
        ".const .align 4 .u32 table[4] = {{10, 20, 0x1e, -1}};\n{}",
        kernel(
            "ld.const.u32 %r1, [table+4]; and.b32 %r2, %r0, 3; mul.wide.u32 %a3, %r2, 4;
             mov.u64 %a4, table; add.s64 %a4, %a4, %a3; ld.const.u32 %r3, [%a4];
             st.global.v2.u32 [%a1], {%r1, %r3}; ret;"
        )
    );
    let mut memory = DeviceMemory::default();
    let output = memory.allocate("out", 256);
    let launch = one_cta(text, 32, &[output; 2]);
    let module = Module::parse(&launch.ptx).unwrap();
    drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
    let pair = |lane: usize| u64::from_le_bytes(memory.of(output).as_chunks::<8>().0[lane]);
    assert_eq!(pair(0), 10 << 32 | 20);
    assert_eq!(pair(7), 0xffff_ffff << 32 | 20);
}

#[test]
fn local_memory_is_each_threads_own() {
    let body = ".local .align 8 .b8 depot[16]; .reg .b64 %SP, %SPL; mov.u64 %SPL, depot;
        cvta.local.u64 %SP, %SPL; st.local.u32 [%SPL+4], %r0; st.u32 [%SP+8], 7;
        ld.u32 %r1, [%SP+4]; ld.local.u32 %r2, [depot+8]; st.global.v2.u32 [%a1], {%r1, %r2};";
    assert_eq!(check(body, &[0, 0, 0]), [7 << 32, 7 << 32 | 1, 7 << 32 | 2]);
}

#[test]
fn atomics_go_lane_after_lane() {
    let body = "ld.param.u64 %a3, [out]; atom.global.add.u32 %r1, [%a3+248], 2;
        red.global.max.s32 [%a3+252], %r0; st.global.u32 [%a1], %r1; ret;";
    let (_, values) = run(body, 31, &[0; 32]).unwrap();
    assert_eq!(values[..3], [0, 2, 4]);
    assert_eq!(values[31], 30 << 32 | 62);
    let body = ".shared .align 4 .u32 cell; st.shared.u32 [cell], 0; atom.shared.cas.b32 %r1, [cell], 0, 5;
        atom.shared.exch.b32 %r2, [cell], %r0; st.global.v2.u32 [%a1], {%r1, %r2};";
    assert_eq!(check(body, &[0, 0, 0]), [5 << 32, 5, 1 << 32 | 5]);
}

#[test]
fn sums_of_atomics_flush_subnormal_numbers_in_global_memory_alone() {
    // Half the smallest normal number, twice from each lane: all to one word of shared memory, and to a word each of global memory,
    // which gets the smallest normal number between.
    let body = ".shared .align 4 .b8 cell[8]; mov.f32 %f1, 0f00400000; st.shared.u32 [cell], 0;
        st.global.u32 [%a1], 0; atom.shared.add.f32 %f2, [cell], %f1; red.global.add.f32 [%a1], %f1;
        red.shared.add.f32 [cell], %f1; ld.shared.u32 %r1, [cell]; mov.f32 %f3, 0f00800000;
        atom.global.add.f32 %f4, [%a1], %f3; atom.add.f32 %f4, [%a1], %f1; ld.global.u32 %r2, [%a1];
        st.global.v2.u32 [%a1], {%r1, %r2};";
    assert_eq!(check(body, &[0]), [0x80_0000 << 32 | 0x300_0000]);
}

#[test]
fn atomics_work_on_numbers_of_16_bits() {
    // 1.5 of each of 32 lanes onto 2 and 8, in both formats; the largest number overflows.
    let add = |instruction: &str, start: u32, by: u32| {
        let body = format!(
            ".shared .align 4 .b8 cell[4]; st.shared.u32 [cell], {start}; mov.u32 %r1, {by}; mov.b32 {{%h1, %h2}}, %r1;
            {instruction}; ld.shared.u32 %r2, [cell]; st.global.u32 [%a1], %r2;"
        );
        check(&body, &[0, 0, 0])[2] as u32
    };
    assert_eq!(
        add("atom.shared.add.noftz.f16x2 %r3, [cell], %r1", 0x4800_4000, 0x3e00_3e00),
        0x5300_5240
    );
    assert_eq!(
        add("red.shared.add.noftz.bf16x2 [cell], %r1", 0x4100_4000, 0x3fc0_3fc0),
        0x4260_4248
    );
    assert_eq!(add("atom.shared.add.noftz.f16 %h3, [cell], %h1", 0x4800_4000, 0x3e00), 0x4800_5240);
    assert_eq!(
        add("atom.shared.add.noftz.bf16 %h3, [cell], %h1", 0x4100_4000, 0x3fc0),
        0x4100_4248
    );
    assert_eq!(add("atom.shared.add.noftz.f16 %h3, [cell], %h1", 0x7bff, 0x7bff), 0x7c00);
    // 2048 and a little more than 1, of one lane: just above the middle between two numbers.
    let body = ".shared .align 4 .b8 cell[4]; st.shared.u32 [cell], 0x6800; mov.b32 {%h1, %h2}, 0x3c01; setp.eq.u32 %p1, %r0, 0;
        @%p1 atom.shared.add.noftz.f16 %h3, [cell], %h1; ld.shared.u32 %r2, [cell]; st.global.u32 [%a1], %r2;";
    assert_eq!(check(body, &[0])[0], 0x6801);
    // The first lane alone finds what it compares with.
    assert_eq!(
        add("atom.shared.cas.b16 %h3, [cell], %h1, %h2", 0x1234_0005, 0x9abc_0005),
        0x1234_9abc
    );
}

#[test]
fn cache_policies_are_made_and_used() {
    let body = "createpolicy.fractional.L2::evict_first.b64 %a3, 1.0; st.global.u32 [%a1], 0;
        ld.global.L2::cache_hint.u32 %r1, [%a0], %a3; st.global.L2::cache_hint.u32 [%a1], %r1, %a3;";
    assert_eq!(check(body, &[7]), [7]);
}

#[test]
fn lanes_shuffle_and_vote() {
    let body = "shfl.sync.down.b32 %r1|%p1, %r0, 1, 31, -1; selp.u32 %r2, 1, 0, %p1;
        st.global.v2.u32 [%a1], {%r1, %r2};";
    let values = check(body, &[0; 32]);
    assert_eq!((values[0], values[30], values[31]), (1 << 32 | 1, 1 << 32 | 31, 31));
    let body = "shfl.sync.bfly.b32 %r1, %r0, 16, 31, -1; setp.lt.u32 %p1, %r0, 3;
        vote.sync.ballot.b32 %r2, %p1, -1; st.global.v2.u32 [%a1], {%r1, %r2};";
    assert_eq!(check(body, &[0; 2]), [7 << 32 | 16, 7 << 32 | 17]);
    let body = "shfl.sync.up.b32 %r1|%p1, %r0, 2, 0, -1; setp.lt.u32 %p2, %r0, 32;
        vote.sync.all.pred %p3, %p2, -1; selp.u32 %r2, %r1, 99, %p3; st.global.u32 [%a1], %r2;";
    assert_eq!(check(body, &[0; 4]), [0, 1, 0, 1]);
}

#[test]
fn generic_addresses_reach_shared_memory() {
    let body = ".shared .align 8 .b8 tile[256]; mov.u32 %r1, tile; cvt.u64.u32 %a3, %r1;
        cvta.shared.u64 %a4, %a3; mul.wide.u32 %a5, %r0, 8; add.s64 %a4, %a4, %a5;
        st.u64 [%a4], %a5; atom.add.u64 %a6, [%a4], 3; cvta.to.shared.u64 %a4, %a4;
        ld.shared.u64 %a7, [%a4]; st.u64 [%a1], %a7;";
    assert_eq!(check(body, &[0; 3]), [3, 11, 19]);
}

#[test]
fn one_instruction_may_reach_several_buffers() {
    // Odd lanes read `in`, even ones `out`.
    let body = "and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; selp.b64 %a3, %a0, %a1, %p1;
        st.global.u64 [%a1], 7; ld.global.u64 %a4, [%a3]; st.global.u64 [%a1], %a4;";
    assert_eq!(check(body, &[1, 2, 3, 4]), [7, 2, 7, 4]);
}

#[test]
fn partly_masked_accesses_leave_the_other_lanes_alone() {
    let body = "mov.u64 %a3, 99; setp.gt.u32 %p1, %r0, 1; @%p1 ld.global.u64 %a3, [%a0];
        xor.b64 %a4, %a2, 8; ld.param.u64 %a5, [out]; add.s64 %a5, %a5, %a4;
        setp.ne.u32 %p2, %r0, 3; @%p2 st.global.u64 [%a5], %a3;";
    assert_eq!(check(body, &[1, 2, 3, 4]), [99, 99, 0, 3]);
}
