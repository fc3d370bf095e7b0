//! Floating-point instructions one by one: the text, its operands, and what PTX says they give.

use super::run;
use super::semantics_integer::{each, table};

const fn s(value: f32) -> u64 {
    value.to_bits() as u64
}

const fn d(value: f64) -> u64 {
    value.to_bits()
}

const NAN: u64 = 0x7fff_ffff;
const INF: u64 = 0x7f80_0000;
const MINUS: u64 = 0x8000_0000;
/// The least subnormal number and the greatest number.
const LEAST: u64 = 1;
const MOST: u64 = 0x7f7f_ffff;
const LONG_MINUS: u64 = 1 << 63;
const LONG_MOST: u64 = 0x7fef_ffff_ffff_ffff;
const LONG_INF: u64 = 0x7ff0_0000_0000_0000;

/// Checks an operation in the four directions of rounding: nearest, zero, down, up.
#[track_caller]
fn directions(op: &str, shape: &str, sources: &[u64], wants: [u64; 4]) {
    for (mode, want) in ["rn", "rz", "rm", "rp"].into_iter().zip(wants) {
        table(&[(&op.replace("RND", mode), shape, sources, want)]);
    }
}

#[test]
fn single_precision_rounds_in_each_direction() {
    let (one, next, below) = (s(1.0), s(1.0) + 1, s(1.0) - 1);
    let half_last = s(2f32.powi(-24));
    directions("add.RND.f32", "rrr", &[one, half_last], [one, one, one, next]);
    directions("add.RND.f32", "rrr", &[next, half_last], [next + 1, next, next, next + 1]);
    directions("sub.RND.f32", "rrr", &[one, LEAST], [one, below, below, one]);
    directions("add.RND.f32", "rrr", &[MOST, MOST], [INF, MOST, MOST, INF]);
    let low = MOST | MINUS;
    directions("add.RND.f32", "rrr", &[low, low], [INF | MINUS, low, INF | MINUS, low]);
    // An exact zero is negative only when rounding down, unless both have the same sign.
    directions("add.RND.f32", "rrr", &[one, one | MINUS], [0, 0, MINUS, 0]);
    directions("sub.RND.f32", "rrr", &[one, one], [0, 0, MINUS, 0]);
    directions("add.RND.f32", "rrr", &[0, 0], [0; 4]);
    directions("add.RND.f32", "rrr", &[MINUS, MINUS], [MINUS; 4]);
    directions("add.RND.f32", "rrr", &[0, MINUS], [0, 0, MINUS, 0]);
    directions("add.RND.f32", "rrr", &[INF, INF | MINUS], [NAN; 4]);
    directions("mul.RND.f32", "rrr", &[LEAST, s(0.5)], [0, 0, 0, LEAST]);
    directions("mul.RND.f32", "rrr", &[LEAST, s(-0.75)], [LEAST, 0, LEAST, 0].map(|x| x | MINUS));
    directions("mul.RND.f32", "rrr", &[MOST, s(2.0)], [INF, MOST, MOST, INF]);
    directions("mul.RND.f32", "rrr", &[0, INF], [NAN; 4]);
    let twice = s(2f32.powi(-22));
    directions("fma.RND.f32", "rrrr", &[next, next, s(-1.0)], [twice, twice, twice, twice + 1]);
    directions("fma.RND.f32", "rrrr", &[one, one, s(-1.0)], [0, 0, MINUS, 0]);
    directions("fma.RND.f32", "rrrr", &[s(-1.0), LEAST, one], [one, below, below, one]);
    let third = s(1.0 / 3.0);
    directions("div.RND.f32", "rrr", &[one, s(3.0)], [third, third - 1, third - 1, third]);
    directions("rcp.RND.f32", "rr", &[s(3.0)], [third, third - 1, third - 1, third]);
    directions("div.RND.f32", "rrr", &[one, 0], [INF; 4]);
    directions("div.RND.f32", "rrr", &[0, 0], [NAN; 4]);
    directions("div.RND.f32", "rrr", &[LEAST, s(2.0)], [0, 0, 0, LEAST]);
    directions("div.RND.f32", "rrr", &[MOST, s(-0.5)], [INF | MINUS, low, INF | MINUS, low]);
    directions("rcp.RND.f32", "rr", &[s(-4.0)], [s(-0.25); 4]);
    directions("rcp.RND.f32", "rr", &[LEAST], [INF, MOST, MOST, INF]);
    // sqrt(2) = 1.41421356237..., between ..3f3 and ..3f4 in units of 2^-23.
    let root = 0x3fb5_04f3;
    directions("sqrt.RND.f32", "rr", &[s(2.0)], [root, root, root, root + 1]);
    directions("sqrt.RND.f32", "rr", &[s(4.0)], [s(2.0); 4]);
    directions("sqrt.RND.f32", "rr", &[MINUS], [MINUS; 4]);
    directions("sqrt.RND.f32", "rr", &[s(-1.0)], [NAN; 4]);
    directions("sqrt.RND.f32", "rr", &[INF], [INF; 4]);
    // sqrt(2^-149) = 2^-75 * sqrt(2).
    let tiny = s(2f32.powi(-75)) + (root - one);
    directions("sqrt.RND.f32", "rr", &[LEAST], [tiny, tiny, tiny, tiny + 1]);
    directions("add.RND.ftz.f32", "rrr", &[LEAST, one], [one; 4]);
    directions("add.RND.sat.f32", "rrr", &[one, one], [one; 4]);
    directions("mul.RND.sat.f32", "rrr", &[one, s(-1.0)], [0; 4]);
}

#[test]
fn decimal_numbers_have_the_precision_of_their_instruction() {
    let body = "mov.f32 %f1, 0.1; add.f32 %f1, %f1, 2.5e1; selp.f32 %f2, -1.5, 7.0, %p1; sub.f32 %f1, %f1, %f2; \
        mov.f64 %d1, 0.1; cvt.f64.f32 %d2, %f1; add.f64 %d1, %d1, %d2; st.global.f64 [%a1], %d1; ret;";
    let single = (0.1f32 + 25.0) - 7.0;
    assert_eq!(run(body, 1, &[0]).unwrap().1, [d(0.1 + f64::from(single))]);
}

#[test]
fn double_precision_rounds_in_each_direction() {
    let (one, next, below) = (d(1.0), d(1.0) + 1, d(1.0) - 1);
    directions("add.RND.f64", "aaa", &[one, 1], [one, one, one, next]);
    directions("sub.RND.f64", "aaa", &[one, 1], [one, below, below, one]);
    directions("add.RND.f64", "aaa", &[one, d(-1.0)], [0, 0, LONG_MINUS, 0]);
    directions(
        "mul.RND.f64",
        "aaa",
        &[LONG_MOST, d(2.0)],
        [LONG_INF, LONG_MOST, LONG_MOST, LONG_INF],
    );
    directions("mul.RND.f64", "aaa", &[1, d(0.5)], [0, 0, 0, 1]);
    directions("mul.RND.f64", "aaa", &[next, next], [one + 2, one + 2, one + 2, one + 3]);
    directions("fma.RND.f64", "aaaa", &[one, one, 1], [one, one, one, next]);
    directions(
        "fma.RND.f64",
        "aaaa",
        &[1, 1, d(-1.0)],
        [d(-1.0), below | LONG_MINUS, d(-1.0), below | LONG_MINUS],
    );
    let third = d(1.0 / 3.0);
    directions("div.RND.f64", "aaa", &[one, d(3.0)], [third, third, third, third + 1]);
    directions(
        "rcp.RND.f64",
        "aa",
        &[d(-3.0)],
        [third, third, third + 1, third].map(|x| x | LONG_MINUS),
    );
    // sqrt(2) lies just below ..bcd.
    let root = 0x3ff6_a09e_667f_3bcd;
    directions("sqrt.RND.f64", "aa", &[d(2.0)], [root, root - 1, root - 1, root]);
    directions("sqrt.RND.f64", "aa", &[d(9.0)], [d(3.0); 4]);
    // sqrt(2^-1073) = 2^-537 * sqrt(2).
    let tiny = d(2f64.powi(-537)) + (root - one);
    directions("sqrt.RND.f64", "aa", &[2], [tiny, tiny - 1, tiny - 1, tiny]);
}

#[test]
fn conversions_round_in_each_direction() {
    let third = s(1.0 / 3.0);
    directions("cvt.RND.f32.f64", "ra", &[d(1.0 / 3.0)], [third, third - 1, third - 1, third]);
    directions("cvt.RND.f32.f64", "ra", &[d(1e300)], [INF, MOST, MOST, INF]);
    directions("cvt.RND.f32.f64", "ra", &[d(-1e-300)], [MINUS, MINUS, MINUS | 1, MINUS]);
    directions("cvt.RND.f32.f64", "ra", &[LONG_MINUS], [MINUS; 4]);
    directions(
        "cvt.RND.f32.u32",
        "rr",
        &[0x0100_0001],
        [s(16777216.0), s(16777216.0), s(16777216.0), s(16777218.0)],
    );
    directions(
        "cvt.RND.f32.s64",
        "ra",
        &[i64::MIN as u64 + 1],
        [s(-9.223372e18), s(-9.223372e18) - 1, s(-9.223372e18), s(-9.223372e18) - 1],
    );
    directions(
        "cvt.RND.f64.u64",
        "aa",
        &[u64::MAX],
        [
            d(18446744073709551616.0),
            d(18446744073709551616.0) - 1,
            d(18446744073709551616.0) - 1,
            d(18446744073709551616.0),
        ],
    );
    directions("cvt.RND.f64.s32", "ar", &[0xffff_ffff], [d(-1.0); 4]);
    for (value, wants) in [
        (2.5, [2.0, 2.0, 2.0, 3.0]),
        (-2.5, [-2.0, -2.0, -3.0, -2.0]),
        (-0.25, [-0.0, -0.0, -1.0, -0.0]),
        (8388609.0, [8388609.0; 4]),
    ] {
        directions("cvt.RNDi.f32.f32", "rr", &[s(value as f32)], wants.map(|x| s(x as f32)));
        directions("cvt.RNDi.f64.f64", "aa", &[d(value)], wants.map(d));
        directions("cvt.RNDi.s32.f64", "ra", &[d(value)], wants.map(|x| x as i32 as u32 as u64));
        directions("cvt.RNDi.s64.f32", "ar", &[s(value as f32)], wants.map(|x| x as i64 as u64));
        directions("cvt.RNDi.u32.f32", "rr", &[s(value as f32)], wants.map(|x| x as u32 as u64));
    }
    // Section "cvt": NaN gives 0, but the top bit alone from or to 64 bits; what is out of range clamps.
    table(&[
        ("cvt.rzi.s32.f32", "rr", &[NAN], 0),
        ("cvt.rzi.u32.f32", "rr", &[NAN], 0),
        ("cvt.rzi.s64.f32", "ar", &[NAN], LONG_MINUS),
        ("cvt.rzi.u64.f32", "ar", &[NAN], LONG_MINUS),
        ("cvt.rzi.s32.f64", "ra", &[d(f64::NAN)], MINUS),
        ("cvt.rzi.u32.f64", "ra", &[d(f64::NAN)], MINUS),
        ("cvt.rzi.s64.f64", "aa", &[d(f64::NAN)], LONG_MINUS),
        ("cvt.rzi.s64.f64", "aa", &[LONG_INF], i64::MAX as u64),
        ("cvt.rzi.u64.f64", "aa", &[LONG_INF], u64::MAX),
        ("cvt.rzi.u64.f64", "aa", &[d(-1.5)], 0),
        ("cvt.rmi.u32.f64", "ra", &[d(4294967295.9)], 0xffff_ffff),
        ("cvt.rpi.u32.f64", "ra", &[d(4294967295.1)], 0xffff_ffff),
        ("cvt.rzi.s32.f64", "ra", &[d(-2147483649.0)], MINUS),
        ("cvt.rzi.ftz.s32.f32", "rr", &[s(-7.9)], (-7i32) as u32 as u64),
        ("cvt.rpi.ftz.s32.f32", "rr", &[LEAST], 0),
        ("cvt.rpi.s32.f32", "rr", &[LEAST], 1),
        ("cvt.sat.f32.f32", "rr", &[NAN], 0),
        ("cvt.sat.f32.f32", "rr", &[s(-3.0)], 0),
        ("cvt.sat.f32.f32", "rr", &[s(0.25)], s(0.25)),
        ("cvt.f64.f32", "ar", &[LEAST], d(2f64.powi(-149))),
        ("cvt.ftz.f64.f32", "ar", &[LEAST | MINUS], LONG_MINUS),
        ("cvt.pack.sat.u16.s32", "rrr", &[0xffff_ffff, 70000], 0xffff),
        ("cvt.pack.sat.s16.s32", "rrr", &[0xffff_ffff, 70000], 0xffff_7fff),
        ("cvt.pack.sat.u8.s32.b32", "rrrr", &[300, 7, 0x1234_5678], 0x5678_ff07),
        ("cvt.pack.sat.s8.s32.b32", "rrrr", &[300, 0xffff_ff00, 0xabcd], 0xabcd_7f80),
    ]);
}

#[test]
fn minima_and_maxima_know_nan_signs_and_zeros() {
    let (nan, zero) = (0x7fc0_0001, 0);
    table(&[
        ("min.f32", "rrr", &[nan, s(1.0)], s(1.0)),
        ("min.f32", "rrr", &[nan, nan], NAN),
        ("max.f32", "rrr", &[zero, MINUS], zero),
        ("min.f32", "rrr", &[zero, MINUS], MINUS),
        ("min.NaN.f32", "rrr", &[nan, s(1.0)], NAN),
        ("max.NaN.f32", "rrr", &[s(1.0), nan], NAN),
        ("max.NaN.f32", "rrr", &[s(1.0), s(2.0)], s(2.0)),
        ("min.xorsign.abs.f32", "rrr", &[s(-1.0), s(2.0)], s(-1.0)),
        ("min.xorsign.abs.f32", "rrr", &[s(3.0), s(-2.0)], s(-2.0)),
        ("max.xorsign.abs.f32", "rrr", &[s(-1.0), s(-2.0)], s(2.0)),
        ("max.xorsign.abs.f32", "rrr", &[nan, s(-2.0)], s(-2.0)),
        ("max.NaN.xorsign.abs.f32", "rrr", &[nan, s(-2.0)], NAN),
        ("min.NaN.xorsign.abs.f32", "rrr", &[s(1.0), s(-2.0)], s(-1.0)),
        ("min.ftz.f32", "rrr", &[LEAST, s(1.0)], 0),
        ("max.f64", "aaa", &[d(f64::NAN), d(-1.0)], d(-1.0)),
        ("min.f64", "aaa", &[0, LONG_MINUS], LONG_MINUS),
        ("copysign.f32", "rrr", &[s(-1.0), s(2.0)], s(-2.0)),
        ("copysign.f64", "aaa", &[d(1.0), d(-2.0)], d(2.0)),
    ]);
}

#[test]
fn numbers_are_tested_for_their_kind() {
    let values = [s(1.0), INF, NAN, LEAST, 0, MINUS, INF | MINUS, 0x0080_0000 | MINUS, 0x007f_ffff];
    let long = [
        d(1.0),
        LONG_INF,
        LONG_INF | 1,
        1,
        0,
        LONG_MINUS,
        LONG_INF | LONG_MINUS,
        LONG_MINUS | 1 << 52,
        (1 << 52) - 1,
    ];
    for (test, wants) in [
        ("finite", [1, 0, 0, 1, 1, 1, 0, 1, 1]),
        ("infinite", [0, 1, 0, 0, 0, 0, 1, 0, 0]),
        ("number", [1, 1, 0, 1, 1, 1, 1, 1, 1]),
        ("notanumber", [0, 0, 1, 0, 0, 0, 0, 0, 0]),
        ("normal", [1, 0, 0, 0, 1, 1, 0, 1, 0]),
        ("subnormal", [0, 0, 0, 1, 0, 0, 0, 0, 1]),
    ] {
        let cases: Vec<&[u64]> = values.iter().map(std::slice::from_ref).collect();
        assert_eq!(each(&format!("testp.{test}.f32"), "pr", &cases), wants, "{test}");
        let cases: Vec<&[u64]> = long.iter().map(std::slice::from_ref).collect();
        assert_eq!(each(&format!("testp.{test}.f64"), "pa", &cases), wants, "{test}");
    }
}

#[test]
fn comparisons_become_numbers() {
    table(&[
        ("set.lt.f32.f32", "rrr", &[s(1.0), s(2.0)], s(1.0)),
        ("set.gt.f32.f32", "rrr", &[s(1.0), s(2.0)], 0),
        ("set.equ.u32.f32", "rrr", &[NAN, s(2.0)], 0xffff_ffff),
        ("set.eq.s32.f64", "raa", &[0, LONG_MINUS], 0xffff_ffff),
        ("set.eq.f32.s32", "rrr", &[4, 4], s(1.0)),
        ("set.lt.and.u32.s32", "rrrp", &[1, 2, 0], 0),
        ("set.lt.and.u32.s32", "rrrp", &[1, 2, 1], 0xffff_ffff),
        ("set.lt.or.f32.s32", "rrrp", &[2, 1, 1], s(1.0)),
        ("set.lt.xor.u32.s32", "rrrp", &[1, 2, 1], 0),
        ("slct.u32.s32", "rrrr", &[1, 2, 0], 1),
        ("slct.u32.s32", "rrrr", &[1, 2, MINUS], 2),
        ("slct.f32.f32", "rrrr", &[1, 2, MINUS], 1),
        ("slct.f32.f32", "rrrr", &[1, 2, NAN], 2),
        ("slct.ftz.f32.f32", "rrrr", &[1, 2, MINUS | 1], 1),
        ("slct.f32.f32", "rrrr", &[1, 2, MINUS | 1], 2),
        ("slct.u64.s32", "aaar", &[1, 2, MINUS], 2),
    ]);
}

#[test]
fn special_functions_keep_to_their_bounds_and_edges() {
    table(&[
        ("rcp.approx.ftz.f32", "rr", &[LEAST], INF),
        ("rcp.approx.ftz.f32", "rr", &[MINUS], INF | MINUS),
        ("rcp.approx.f32", "rr", &[INF], 0),
        ("sqrt.approx.f32", "rr", &[s(-1.0)], NAN),
        ("sqrt.approx.ftz.f32", "rr", &[MINUS | 1], MINUS),
        ("rsqrt.approx.f32", "rr", &[0], INF),
        ("rsqrt.approx.f32", "rr", &[MINUS], INF | MINUS),
        ("rsqrt.approx.f32", "rr", &[s(0.25)], s(2.0)),
        ("rsqrt.approx.f32", "rr", &[INF], 0),
        ("sin.approx.f32", "rr", &[INF], NAN),
        ("sin.approx.f32", "rr", &[MINUS], MINUS),
        ("cos.approx.ftz.f32", "rr", &[LEAST], s(1.0)),
        ("cos.approx.f32", "rr", &[INF], NAN),
        ("ex2.approx.f32", "rr", &[INF | MINUS], 0),
        ("ex2.approx.f32", "rr", &[s(-149.0)], LEAST),
        ("ex2.approx.ftz.f32", "rr", &[s(-149.0)], 0),
        ("ex2.approx.f32", "rr", &[s(128.0)], INF),
        ("lg2.approx.f32", "rr", &[0], INF | MINUS),
        ("lg2.approx.f32", "rr", &[LEAST], s(-149.0)),
        ("lg2.approx.ftz.f32", "rr", &[LEAST], INF | MINUS),
        ("lg2.approx.f32", "rr", &[s(-1.0)], NAN),
        ("tanh.approx.f32", "rr", &[INF | MINUS], s(-1.0)),
        ("tanh.approx.f32", "rr", &[NAN], NAN),
        ("rcp.approx.ftz.f64", "aa", &[d(2.0) | 0xffff_ffff], d(0.5)),
        ("rcp.approx.ftz.f64", "aa", &[1], LONG_INF),
        ("rcp.approx.ftz.f64", "aa", &[LONG_INF | LONG_MINUS], LONG_MINUS),
        ("rsqrt.approx.ftz.f64", "aa", &[d(4.0)], d(0.5)),
        ("rsqrt.approx.ftz.f64", "aa", &[LONG_MINUS], LONG_INF | LONG_MINUS),
        ("rsqrt.approx.f64", "aa", &[d(16.0)], d(0.25)),
    ]);
    let third = each("rcp.approx.ftz.f64", "aa", &[&[d(3.0)]])[0];
    assert_eq!(third & 0xffff_ffff, 0);
    assert!((f64::from_bits(third) * 3.0 - 1.0).abs() < 2f64.powi(-19));
    // The greatest errors that the ISA gives: 2 ulp are more than 2^-22.
    for step in 1..60 {
        let x = step as f32 * 0.05;
        let (precise, ulp) = (f64::from(x), 2f64.powi(-22));
        for (op, want) in [
            ("sin", precise.sin()),
            ("cos", precise.cos()),
            ("ex2", precise.exp2()),
            ("lg2", precise.log2()),
            ("rsqrt", precise.sqrt().recip()),
            ("tanh", precise.tanh()),
        ] {
            let got = f32::from_bits(each(&format!("{op}.approx.f32"), "rr", &[&[s(x)]])[0] as u32);
            let error = (f64::from(got) - want).abs();
            assert!(error <= ulp * want.abs().max(1e-3), "{op} {x}: {got}, not {want}");
        }
    }
}
