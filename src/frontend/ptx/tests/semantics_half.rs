//! Half precision, one instruction at a time. Expected values are literals, or come from whole
//! numbers: a number of 16 bits is a whole multiple of a power of two.

use super::semantics_integer::{each, table};
use super::*;

const NAN: u64 = 0x7fff;

/// Bits of a decimal number; only of those that are exact.
fn h(value: f32) -> u64 {
    let half = half::f16::from_f32(value);
    assert_eq!(half.to_f32(), value);
    half.to_bits().into()
}

fn b(value: f32) -> u64 {
    assert_eq!(value.to_bits() & 0xffff, 0);
    u64::from(value.to_bits() >> 16)
}

/// Significand, exponent of its last place, of a finite number of `places` bits behind the point.
fn parts(bits: u64, places: u32, bias: i32) -> (i128, i32) {
    let (fraction, exponent) = (bits & ((1 << places) - 1), (bits & 0x7fff) >> places);
    let whole = if exponent == 0 { fraction } else { fraction | 1 << places };
    let sign = if bits >> 15 == 1 { -1 } else { 1 };
    (sign * i128::from(whole), (exponent.max(1) as i32) - bias - places as i32)
}

/// The nearest number of 16 bits to `value * 2^exponent`, ties to even, found by bisection.
fn nearest(value: i128, exponent: i32, places: u32, bias: i32) -> u64 {
    let infinity = ((1u64 << (15 - places)) - 1) << places;
    // Twice the distance decides; all numbers are brought to one exponent.
    let scale = |bits: u64| {
        let (whole, place) = parts(bits, places, bias);
        assert!(place >= exponent && place - exponent < 100);
        whole << (place - exponent)
    };
    let magnitude = value.abs();
    let (mut low, mut high) = (0, infinity);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if scale(middle) <= magnitude { low = middle } else { high = middle }
    }
    // Infinity stands for the number that would follow the greatest.
    let (below, above) =
        (scale(low), if high == infinity { 2 * scale(low) - scale(low - 1) } else { scale(high) });
    let up = match (magnitude - below).cmp(&(above - magnitude)) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => low % 2 == 1,
    };
    (if up { high } else { low }) | if value < 0 { 0x8000 } else { 0 }
}

const HALVES: [u64; 14] = [
    0x0001, 0x03ff, 0x0400, 0x8401, 0x1001, 0x2fff, 0x3555, 0x3bff, 0xbc01, 0x3c00, 0x4248, 0x6bff,
    0x7bff, 0xfbff,
];

#[test]
fn sums_products_and_fused_sums_are_rounded_once() {
    let exact = |bits| parts(bits, 10, 15);
    let to = |value: i128| nearest(value, -48, 10, 15);
    let (mut sums, mut products, mut fused) = (Vec::new(), Vec::new(), Vec::new());
    for a in HALVES {
        for b in HALVES {
            let ((x, i), (y, j)) = (exact(a), exact(b));
            sums.push(([a, b], to((x << (i + 48)) + (y << (j + 48)))));
            products.push(([a, b], to((x * y) << (i + j + 48))));
            for c in HALVES.into_iter().chain([0x8001, 0x0002]) {
                let (z, k) = exact(c);
                let sum = ((x * y) << (i + j + 48)) + (z << (k + 48));
                fused.push(([a, b, c], to(sum), sum == 0));
            }
        }
    }
    let run = |op: &str, cases: &[([u64; 2], u64)]| {
        let sources: Vec<&[u64]> = cases.iter().map(|(sources, _)| &sources[..]).collect();
        for ((sources, want), got) in cases.iter().zip(each(op, "hhh", &sources)) {
            let zero = got & 0x7fff == 0 && want & 0x7fff == 0;
            assert!(got == *want || zero, "{op} {sources:x?}: {got:x}, not {want:x}");
        }
    };
    run("add.f16", &sums);
    run("add.rn.f16", &sums);
    run("mul.rn.f16", &products);
    for cases in fused.chunks(500) {
        let sources: Vec<&[u64]> = cases.iter().map(|(sources, ..)| &sources[..]).collect();
        for ((sources, want, _), got) in cases.iter().zip(each("fma.rn.f16", "hhhh", &sources)) {
            let zero = got & 0x7fff == 0 && want & 0x7fff == 0;
            assert!(got == *want || zero, "fma {sources:x?}: {got:x}, not {want:x}");
        }
    }
}

#[test]
fn bf16_is_rounded_once() {
    let brains = [0x3f80, 0x3f81, 0xbf80, 0x3fff, 0x3eab, 0x4049, 0x3b01, 0xc37f, 0x3800];
    let exact = |bits| parts(bits, 7, 127);
    let mut cases = Vec::new();
    for a in brains {
        for b in brains {
            for c in brains {
                let ((x, i), (y, j), (z, k)) = (exact(a), exact(b), exact(c));
                let sum = ((x * y) << (i + j + 60)) + (z << (k + 60));
                cases.push(([a, b, c], sum));
            }
        }
    }
    let sources: Vec<&[u64]> = cases.iter().map(|(sources, _)| &sources[..]).collect();
    for ((sources, sum), got) in cases.iter().zip(each("fma.rn.bf16", "hhhh", &sources)) {
        // No other number of 16 bits is nearer.
        let distance = |bits: u64| {
            let (x, i) = exact(bits);
            let shift = i + 60;
            let value = if shift >= 0 { x << shift } else { return i128::MAX };
            (value - sum).abs()
        };
        let near = distance(got);
        if *sum == 0 {
            assert_eq!(got & 0x7fff, 0, "{sources:x?}");
            continue;
        }
        for other in [got - 1, got + 1] {
            let far = distance(other);
            assert!(
                near < far || near == far && got % 2 == 0,
                "{sources:x?}: {got:x}, not {other:x}"
            );
        }
    }
}

#[test]
fn edges_of_half_precision() {
    table(&[
        // The tie plus the least number: rounding twice would give 0x3c00.
        ("fma.rn.f16", "hhhh", &[0x1000, 0x3c00, 0x3c01], 0x3c02),
        ("fma.rn.f16", "hhhh", &[0x1000, 0x3c00, 0x3c00], 0x3c00),
        ("add.f16", "hhh", &[0x7bff, 0x7bff], 0x7c00),
        ("add.f16", "hhh", &[0x7c00, 0xfc00], NAN),
        ("sub.f16", "hhh", &[0x3c00, 0x3c00], 0),
        ("add.f16", "hhh", &[0x8000, 0x8000], 0x8000),
        ("mul.f16", "hhh", &[0x0001, 0x3800], 0),
        ("mul.f16", "hhh", &[0x0003, 0x3800], 2),
        ("add.ftz.f16", "hhh", &[0x0001, 0x0400], 0x0400),
        ("mul.ftz.f16", "hhh", &[0x8400, 0x3800], 0x8000),
        ("add.sat.f16", "hhh", &[0x3c00, 0x3c00], 0x3c00),
        ("sub.sat.f16", "hhh", &[0, 0x3c00], 0),
        ("mul.sat.f16", "hhh", &[NAN, 0x3c00], 0),
        ("fma.rn.sat.f16", "hhhh", &[0x4000, 0x4000, 0], 0x3c00),
        ("fma.rn.relu.f16", "hhhh", &[0x4000, 0xc000, 0], 0),
        ("fma.rn.relu.f16", "hhhh", &[0x4000, 0x4000, 0], 0x4400),
        ("fma.rn.relu.f16", "hhhh", &[NAN, 0x4000, 0], NAN),
        ("neg.f16", "hh", &[0x3c00], 0xbc00),
        ("neg.f16", "hh", &[0], 0x8000),
        ("abs.f16", "hh", &[0xfc00], 0x7c00),
        ("neg.bf16", "hh", &[0x3f80], 0xbf80),
        ("abs.bf16x2", "rr", &[0xbf80_3f80], 0x3f80_3f80),
        ("min.f16", "hhh", &[NAN, 0x3c00], 0x3c00),
        ("min.f16", "hhh", &[0, 0x8000], 0x8000),
        ("max.f16", "hhh", &[0x8000, 0], 0),
        ("max.NaN.f16", "hhh", &[0x3c00, NAN], NAN),
        ("min.NaN.bf16", "hhh", &[0x3f80, 0x4000], 0x3f80),
        ("max.xorsign.abs.f16", "hhh", &[0xbc00, 0x4000], 0xc000),
        ("add.f16x2", "rrr", &[0x3c00_4000, 0x3c00_bc00], 0x4000_3c00),
        ("fma.rn.f16x2", "rrrr", &[0x3c00_4000, 0x4000_4000, 0x3c00_bc00], 0x4200_4200),
        ("fma.rn.relu.bf16x2", "rrrr", &[0xbf80_3f80, 0x3f80_3f80, 0], 0x3f80),
        ("mul.bf16x2", "rrr", &[0x4000_4040, 0x4000_4000], 0x4080_40c0),
        ("add.bf16", "hhh", &[0x0001, 0x0001], 2),
        ("mul.bf16", "hhh", &[0x7f7f, 0x4000], 0x7f80),
        ("max.f16x2", "rrr", &[0x7fff_3c00, 0x3c00_4000], 0x3c00_4000),
        ("ex2.approx.f16", "hh", &[0xbc00], 0x3800),
        ("ex2.approx.f16x2", "rr", &[0x4200_0000], 0x4800_3c00),
        ("ex2.approx.ftz.bf16", "hh", &[0x4040], 0x4100),
        ("tanh.approx.f16", "hh", &[0x7c00], 0x3c00),
        ("tanh.approx.bf16", "hh", &[0x8000], 0x8000),
    ]);
    assert_eq!((h(1.5), b(-2.0)), (0x3e00, 0xc000));
}

#[test]
fn halves_are_converted_both_ways() {
    let s = |value: f32| u64::from(value.to_bits());
    table(&[
        ("cvt.rn.f16.f32", "hr", &[s(65519.99)], 0x7bff),
        ("cvt.rn.f16.f32", "hr", &[s(65520.0)], 0x7c00),
        ("cvt.rz.f16.f32", "hr", &[s(1e9)], 0x7bff),
        ("cvt.rm.f16.f32", "hr", &[s(-1e9)], 0xfc00),
        ("cvt.rp.f16.f32", "hr", &[s(-1e9)], 0xfbff),
        ("cvt.rn.f16.f32", "hr", &[s(1.0 + 2f32.powi(-11))], 0x3c00),
        ("cvt.rn.f16.f32", "hr", &[s(1.0 + 3.0 * 2f32.powi(-11))], 0x3c02),
        ("cvt.rp.f16.f32", "hr", &[s(1.0 + 2f32.powi(-23))], 0x3c01),
        ("cvt.rm.f16.f32", "hr", &[s(-1.0 - 2f32.powi(-23))], 0xbc01),
        ("cvt.rn.f16.f32", "hr", &[s(2f32.powi(-25))], 0),
        ("cvt.rn.f16.f32", "hr", &[s(-(2f32.powi(-25)) * 1.5)], 0x8001),
        ("cvt.rn.f16.f32", "hr", &[s(f32::NAN)], NAN),
        ("cvt.rn.sat.f16.f32", "hr", &[s(-2.0)], 0),
        ("cvt.rn.sat.f16.f32", "hr", &[s(2.0)], 0x3c00),
        ("cvt.rn.relu.f16.f32", "hr", &[s(-2.0)], 0),
        ("cvt.rn.satfinite.f16.f32", "hr", &[s(1e9)], 0x7bff),
        // A tie of single precision that the last bits of a double break.
        ("cvt.rn.f16.f64", "ha", &[(1.0 + 2f64.powi(-11)).to_bits() + 1], 0x3c01),
        ("cvt.rn.f16.f64", "ha", &[(1.0 + 2f64.powi(-11)).to_bits()], 0x3c00),
        ("cvt.f32.f16", "rh", &[0x0001], s(2f32.powi(-24))),
        ("cvt.f32.f16", "rh", &[0xfc00], s(f32::NEG_INFINITY)),
        ("cvt.f32.f16", "rh", &[0x7e00], 0x7fff_ffff),
        ("cvt.f64.f16", "ah", &[0x3555], (1365.0 / 4096.0f64).to_bits()),
        ("cvt.f32.bf16", "rh", &[0x0001], 0x1_0000),
        ("cvt.rn.bf16.f32", "hr", &[0x3f80_8000], 0x3f80),
        ("cvt.rn.bf16.f32", "hr", &[0x3f81_8000], 0x3f82),
        ("cvt.rn.bf16.f32", "hr", &[0x3f80_8001], 0x3f81),
        ("cvt.rz.bf16.f32", "hr", &[0x3f80_ffff], 0x3f80),
        ("cvt.rn.bf16.f32", "hr", &[0x7f7f_ffff], 0x7f80),
        ("cvt.rz.bf16.f32", "hr", &[0x7f7f_ffff], 0x7f7f),
        ("cvt.rn.bf16.f32", "hr", &[0x0000_8001], 1),
        ("cvt.rn.f16.s32", "hr", &[2049], 0x6800),
        ("cvt.rn.f16.s32", "hr", &[(-2051i32) as u32 as u64], 0xe802),
        ("cvt.rz.f16.u32", "hr", &[u64::from(u32::MAX)], 0x7bff),
        ("cvt.rn.f16.u64", "ha", &[u64::MAX], 0x7c00),
        ("cvt.rn.f16.s16", "hh", &[0xffff], 0xbc00),
        // 2^63 + 2^55 is a tie of bf16; one more is not.
        ("cvt.rn.bf16.u64", "ha", &[1 << 63 | 1 << 55], 0x5f00),
        ("cvt.rn.bf16.u64", "ha", &[1 << 63 | 1 << 55 | 1], 0x5f01),
        ("cvt.rzi.s32.f16", "rh", &[0xc100], (-2i32) as u32 as u64),
        ("cvt.rni.s32.f16", "rh", &[0x4100], 2),
        ("cvt.rpi.u16.f16", "hh", &[0x4080], 3),
        ("cvt.rzi.u32.f16", "rh", &[0xbc00], 0),
        ("cvt.rzi.s32.f16", "rh", &[0x7c00], 0x7fff_ffff),
        ("cvt.rzi.s32.f16", "rh", &[NAN], 0),
        ("cvt.rni.f16.f16", "hh", &[0x3e00], 0x4000),
        ("cvt.rmi.f16.f16", "hh", &[0xb400], 0xbc00),
        ("cvt.rn.f16x2.f32", "rrr", &[s(1.0), s(2.0)], 0x3c00_4000),
        ("cvt.rn.bf16x2.f32", "rrr", &[s(1.0), s(2.0)], 0x3f80_4000),
        ("cvt.rz.f16x2.f32", "rrr", &[s(1e9), s(-1e9)], 0x7bff_fbff),
        ("cvt.rn.relu.bf16x2.f32", "rrr", &[s(-1.0), s(2.0)], 0x4000),
    ]);
}

#[test]
fn halves_are_compared() {
    table(&[
        ("setp.lt.f16", "phh", &[0xbc00, 0x3c00], 1),
        ("setp.eq.f16", "phh", &[0, 0x8000], 1),
        ("setp.eq.f16", "phh", &[NAN, NAN], 0),
        ("setp.neu.f16", "phh", &[NAN, 0], 1),
        ("setp.gt.ftz.f16", "phh", &[1, 0], 0),
        ("setp.gt.f16", "phh", &[1, 0], 1),
        ("setp.num.bf16", "phh", &[0x3f80, 0x7f81], 0),
        ("setp.ge.bf16", "phh", &[0xbf80, 0xc000], 1),
        ("set.lt.f16.f16", "hhh", &[0, 0x3c00], 0x3c00),
        ("set.lt.bf16.bf16", "hhh", &[0, 0x3f80], 0x3f80),
        ("set.lt.u16.f16", "hhh", &[0, 0x3c00], 0xffff),
        ("set.lt.u32.f16", "rhh", &[0, 0x3c00], 0xffff_ffff),
        ("set.eq.f16x2.f16x2", "rrr", &[0x3c00_4000, 0x3c00_3c00], 0x3c00_0000),
        ("set.eq.u32.f16x2", "rrr", &[0x3c00_4000, 0x4000_4000], 0xffff),
        ("set.gtu.bf16x2.bf16x2", "rrr", &[0x7fff_3f80, 0x3f80_3f80], 0x3f80_0000),
        ("set.lt.and.f16x2.f16x2", "rrrp", &[0, 0x3c00_3c00, 0], 0),
    ]);
    let both = "mov.b32 %r1, 0x3c004000; mov.b32 %r2, 0x40003c00; setp.lt.f16x2 %p1|%p2, %r1, %r2;
        selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 1, 0, %p2; st.global.v2.u32 [%a1], {%r3, %r4};";
    assert_eq!(check(both, &[0]), [1 << 32]);
}
