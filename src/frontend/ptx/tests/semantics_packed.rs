//! Several numbers in one register, and formats that only `cvt` knows, one instruction at a time.

use super::semantics_integer::{each, table};
use super::*;

const fn s(value: f32) -> u64 {
    value.to_bits() as u64
}

#[test]
fn pairs_of_integers_do_not_touch_each_other() {
    table(&[
        ("add.u16x2", "rrr", &[0x0001_ffff, 0x0002_0001], 0x0003_0000),
        ("add.s16x2", "rrr", &[0x7fff_8000, 0x0001_ffff], 0x8000_7fff),
        ("min.u16x2", "rrr", &[0x0001_ffff, 0xffff_7fff], 0x0001_7fff),
        ("min.s16x2", "rrr", &[0x0001_ffff, 0xffff_7fff], 0xffff_ffff),
        ("max.u16x2", "rrr", &[0x0001_ffff, 0xffff_7fff], 0xffff_ffff),
        ("max.s16x2", "rrr", &[0x0001_ffff, 0xffff_7fff], 0x0001_7fff),
        ("min.s16x2.relu", "rrr", &[0x0005_ffff, 0x0003_7fff], 0x0003_0000),
        ("max.s16x2.relu", "rrr", &[0x8000_0002, 0xffff_7fff], 0x0000_7fff),
        ("max.relu.s16x2", "rrr", &[0x8000_0002, 0xffff_7fff], 0x0000_7fff),
    ]);
}

#[test]
fn video_instructions_work_on_each_part() {
    // 255 - 1, 0 - 128, 127 - 128, 5 - 3; the fourth operand is read for sums only.
    let (a, b) = (0xff00_7f05, 0x0180_8003);
    table(&[
        ("vabsdiff4.u32.u32.u32", "rrrr", &[a, b, 9], 0xfe80_0102),
        ("vabsdiff4.u32.u32.u32.add", "rrrr", &[a, b, 9], 254 + 128 + 1 + 2 + 9),
        // -1 - 1, 0 - -128, 127 - -128, 5 - 3.
        ("vabsdiff4.u32.s32.s32", "rrrr", &[a, b, 9], 0x0280_ff02),
        ("vabsdiff4.s32.s32.s32.sat", "rrrr", &[a, b, 9], 0x027f_7f02),
        ("vabsdiff4.s32.s32.s32.add", "rrrr", &[a, b, 9], 2 + 128 + 255 + 2 + 9),
        ("vabsdiff2.u32.u32.u32", "rrrr", &[0xffff_0001, 0x0001_0003, 0], 0xfffe_0002),
        ("vabsdiff2.u32.u32.u32.add", "rrrr", &[0xffff_0001, 0x0001_0003, 7], 0x1_0007),
        ("vadd4.u32.u32.u32", "rrrr", &[a, b, 0], 0x0080_ff08),
        ("vadd4.u32.u32.u32.sat", "rrrr", &[a, b, 0], 0xff80_ff08),
        ("vadd4.s32.s32.s32.sat", "rrrr", &[0x7f80_0105, 0x01ff_fe03, 0], 0x7f80_ff08),
        ("vsub4.u32.u32.u32.sat", "rrrr", &[a, b, 0], 0xfe00_0002),
        ("vsub2.s32.s32.s32.add", "rrrr", &[0x0001_0001, 0x0002_0003, 10], 7),
        // Halves: (255 + 0) / 2, -3 / 2, 3 / 2, -1 / 2.
        ("vavrg4.u32.u32.u32", "rrrr", &[0xff00_0000, 0, 0], 0x8000_0000),
        ("vavrg4.s32.s32.s32", "rrrr", &[0x00fd_03ff, 0, 0], 0x00fe_02ff),
        ("vmin4.s32.s32.s32", "rrrr", &[a, b, 0], 0xff80_8003),
        ("vmin2.u32.u32.u32", "rrrr", &[0xffff_0001, 0x0001_8000, 0], 0x0001_0001),
        ("vmax4.u32.u32.u32", "rrrr", &[a, b, 0], 0xff80_8005),
        ("vmax4.s32.s32.s32", "rrrr", &[a, b, 0], 0x0100_7f05),
    ]);
    for refused in
        ["vset4.u32.u32.eq", "vadd.u32.u32.u32", "vabsdiff4.u32.u32.u32.min", "vadd8.u32.u32.u32"]
    {
        let error = run(&format!("{refused} %r1, %r2, %r3, %r4; ret;"), 1, &[0]).unwrap_err();
        assert!(error.to_string().contains(&format!("`{refused}` is not supported")), "{error}");
    }
}

#[test]
fn registers_of_16_bits_split_into_bytes() {
    let body = "ld.global.u16 %h1, [%a0]; .reg .b8 %b<3>; mov.b16 {%b1, %b2}, %h1;
        mov.b16 %h2, {%b2, %b1}; mov.b16 %h3, {%b2, 0}; st.global.u16 [%a1], %h2; st.global.u16 [%a1+2], %h3;";
    assert_eq!(check(body, &[0x12fe]), [0x0012_fe12]);
}

#[test]
fn tf32_keeps_ten_places() {
    // One place is 2^-10; 0x1000 is half of it.
    let one = s(1.0);
    let most = 0x7f7f_ffff;
    for (op, wants) in [
        ("cvt.rna.tf32.f32", [0x2000, 0, 0x2000, 0x4000]),
        ("cvt.rn.tf32.f32", [0, 0, 0x2000, 0x4000]),
        ("cvt.rz.tf32.f32", [0, 0, 0, 0x2000]),
    ] {
        for (low, want) in [0x1000, 0x0fff, 0x1001, 0x3000].into_iter().zip(wants) {
            let cases: [&[u64]; 2] = [&[one + low], &[(one + low) | 1 << 31]];
            assert_eq!(
                each(op, "rr", &cases),
                [one + want, (one + want) | 1 << 31],
                "{op} {low:x}"
            );
        }
    }
    table(&[
        ("cvt.rna.tf32.f32", "rr", &[most], 0x7f80_0000),
        ("cvt.rna.satfinite.tf32.f32", "rr", &[most], 0x7f7f_e000),
        ("cvt.rna.satfinite.tf32.f32", "rr", &[s(f32::NEG_INFINITY)], 0xff7f_e000),
        ("cvt.rn.tf32.f32", "rr", &[most], 0x7f80_0000),
        ("cvt.rz.tf32.f32", "rr", &[most], 0x7f7f_e000),
        ("cvt.rn.satfinite.tf32.f32", "rr", &[most], 0x7f7f_e000),
        ("cvt.rn.relu.tf32.f32", "rr", &[s(-2.0)], 0),
        ("cvt.rz.relu.tf32.f32", "rr", &[s(2.0)], s(2.0)),
        ("cvt.rn.relu.tf32.f32", "rr", &[0xffc0_0000], 0x7fff_e000),
        ("cvt.rz.tf32.f32", "rr", &[0x7fc0_0000], 0x7fff_e000),
    ]);
}

/// The value of a number of 8 bits.
fn byte(bits: u64, places: i32, bias: i32) -> f32 {
    let (fraction, exponent) = (bits & ((1 << places) - 1), (bits & 0x7f) >> places);
    let whole = if exponent == 0 { fraction } else { fraction | 1 << places };
    let power = (exponent.max(1) as i32) - bias - places;
    let magnitude = whole as f32 * 2f32.powi(power);
    if bits & 0x80 != 0 { -magnitude } else { magnitude }
}

#[test]
fn every_byte_survives_both_ways_and_neighbours_round_to_the_nearer() {
    for (format, places, bias, most) in [("e4m3x2", 3, 7, 0x7e), ("e5m2x2", 2, 15, 0x7b)] {
        let finite: Vec<u64> = (0..=most).chain(0x80..=0x80 | most).collect();
        let narrow = format!("cvt.rn.satfinite.{format}.f32");
        let pairs: Vec<[u64; 2]> =
            finite.iter().map(|bits| [s(byte(*bits, places, bias)), s(1.0)]).collect();
        let one = (bias as u64) << places;
        let cases: Vec<&[u64]> = pairs.iter().map(|pair| &pair[..]).collect();
        let wants: Vec<u64> = finite.iter().map(|bits| bits << 8 | one).collect();
        assert_eq!(each(&narrow, "hrr", &cases), wants, "{format}");
        // Halfway between neighbours: to the even one.
        let middle = |low: u64| (byte(low, places, bias) + byte(low + 1, places, bias)) / 2.0;
        let pairs: Vec<[u64; 2]> =
            (0..most).map(|low| [s(middle(low)), s(-middle(low).next_up())]).collect();
        let cases: Vec<&[u64]> = pairs.iter().map(|pair| &pair[..]).collect();
        let wants: Vec<u64> =
            (0..most).map(|low| (low + low % 2) << 8 | 0x80 | (low + 1)).collect();
        assert_eq!(each(&narrow, "hrr", &cases), wants, "{format}");
        // A byte is also a number of 16 bits.
        let cases: Vec<&[u64]> = finite.iter().map(std::slice::from_ref).collect();
        let wants: Vec<u64> = finite
            .iter()
            .map(|bits| half::f16::from_f32(byte(*bits, places, bias)).to_bits().into())
            .collect();
        assert_eq!(each(&format!("cvt.rn.f16x2.{format}"), "rh", &cases), wants, "{format}");
    }
    let (inf, nan) = (s(f32::INFINITY), s(f32::NAN));
    table(&[
        ("cvt.rn.satfinite.e4m3x2.f32", "hrr", &[inf, s(-1e9)], 0x7efe),
        ("cvt.rn.satfinite.e4m3x2.f32", "hrr", &[nan, nan | 1 << 31], 0x7f7f),
        ("cvt.rn.satfinite.e5m2x2.f32", "hrr", &[inf, s(-1e9)], 0x7bfb),
        ("cvt.rn.satfinite.e5m2x2.f32", "hrr", &[nan, s(0.0)], 0x7f00),
        ("cvt.rn.satfinite.relu.e4m3x2.f32", "hrr", &[s(-1.0), s(1.0)], 0x0038),
        ("cvt.rn.satfinite.relu.e5m2x2.f16x2", "hr", &[0xbc00_3c00], 0x003c),
        ("cvt.rn.satfinite.e4m3x2.f16x2", "hr", &[0x7c00_bc00], 0x7eb8),
        ("cvt.rn.f16x2.e4m3x2", "rh", &[0x7fff], 0x7fff_7fff),
        ("cvt.rn.f16x2.e5m2x2", "rh", &[0x7cfc], 0x7c00_fc00),
        ("cvt.rn.f16x2.e5m2x2", "rh", &[0x7d7f], 0x7fff_7fff),
        ("cvt.rn.relu.f16x2.e4m3x2", "rh", &[0xb838], 0x0000_3c00),
    ]);
}

#[test]
fn nan_keeps_what_chips_keep_of_it() {
    let made = 0xfff8_0000_0000_0000;
    let (first, second) = (0x7ff8_0000_0000_0001, 0xfff8_0000_0000_0002);
    let (infinity, one) = (f64::INFINITY.to_bits(), 1f64.to_bits());
    for mode in ["rn", "rz", "rm", "rp"] {
        for op in ["add", "sub", "mul", "div"] {
            let op = &format!("{op}.{mode}.f64");
            table(&[
                (op, "aaa", &[first, second], first),
                (op, "aaa", &[second, first], second),
                (op, "aaa", &[one, second], second),
                // A signalling one is quieted.
                (op, "aaa", &[one, 0x7ff0_0000_0000_0003], 0x7ff8_0000_0000_0003),
            ]);
        }
        table(&[
            (&format!("sub.{mode}.f64"), "aaa", &[infinity, infinity], made),
            (&format!("mul.{mode}.f64"), "aaa", &[infinity, 0], made),
            (&format!("div.{mode}.f64"), "aaa", &[0, 0], made),
            (&format!("sqrt.{mode}.f64"), "aa", &[one | 1 << 63], made),
            (&format!("fma.{mode}.f64"), "aaaa", &[infinity, 0, second], second),
            (&format!("fma.{mode}.f64"), "aaaa", &[infinity, 0, one], made),
            (&format!("cvt.{mode}.f32.f64"), "ra", &[0xffff_0000_1234_5678], 0xfff8_0000),
            (&format!("cvt.{mode}.f16.f64"), "ha", &[0xffff_0000_1234_5678], 0xffc0),
        ]);
    }
    table(&[
        ("neg.f64", "aa", &[first], first),
        ("abs.f64", "aa", &[second], second),
        ("copysign.f32", "rrr", &[1 << 31, 0x7fc0_1234], 0xffc0_1234),
        ("cvt.f32.bf16", "rh", &[0xffa3], 0xffa3_0000),
        ("cvt.f64.bf16", "ah", &[0xffa3], 0xfffc_6000_0000_0000),
        ("cvt.f64.f16", "ah", &[0x7c01], 0x7ff8_0400_0000_0000),
        ("cvt.ftz.f64.f32", "ar", &[0xffc0_0001], 0x7fff_ffff_e000_0000),
    ]);
}
