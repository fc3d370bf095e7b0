//! Integer instructions one by one: the text, its operands, and what PTX says they give.

use super::*;

/// Executes `op` once for each case and gives the results. Registers are named by their letters in
/// `shape`, destination first: `h` has 16 bits, `r` 32, `a` 64, and `p` is a predicate.
pub fn each(op: &str, shape: &str, cases: &[&[u64]]) -> Vec<u64> {
    let register = |place: usize, letter: char| {
        // `%a1` is the place of the output.
        let family = if letter == 'a' { 'w' } else { letter };
        format!("%{family}{}", [5, 1, 2, 3, 4][place])
    };
    let names: Vec<String> =
        shape.chars().enumerate().map(|(place, letter)| register(place, letter)).collect();
    let mut body = String::from(".reg .b64 %w<6>;\n");
    for (number, case) in cases.iter().enumerate() {
        for ((name, letter), value) in names.iter().zip(shape.chars()).skip(1).zip(*case) {
            body += &match letter {
                'h' => format!("mov.b16 {name}, {value:#x};\n"),
                'r' => format!("mov.b32 {name}, {value:#x};\n"),
                'p' => format!("setp.ne.u32 {name}, {value}, 0;\n"),
                _ => format!("mov.b64 {name}, {value:#x};\n"),
            };
        }
        assert_eq!(case.len() + 1, names.len(), "{op}");
        let to_word = match shape.as_bytes()[0] {
            b'h' => "cvt.u64.u16 %a7, %h5;",
            b'r' => "cvt.u64.u32 %a7, %r5;",
            b'p' => "selp.b64 %a7, 1, 0, %p5;",
            _ => "mov.b64 %a7, %w5;",
        };
        body += &format!(
            "{op} {};\n{to_word} st.global.u64 [%a1+{}], %a7;\n",
            names.join(", "),
            8 * number
        );
    }
    let (_, values) = run(&format!("{body}ret;"), 1, &vec![0; cases.len()])
        .unwrap_or_else(|error| panic!("{op}: {error}"));
    values[..cases.len()].to_vec()
}

/// Checks a table of instructions with their shape, operands and result.
#[track_caller]
pub fn table(rows: &[(&str, &str, &[u64], u64)]) {
    for (op, shape, sources, want) in rows {
        let got = each(op, shape, &[sources])[0];
        assert!(got == *want, "{op} {sources:#x?}: {got:#x}, not {want:#x}");
    }
}

const MIN: u64 = 1 << 31;
const ONES: u64 = 0xffff_ffff;
const LONG: u64 = u64::MAX;

/// Runs lines that work on 128-bit numbers: `%a2:%a1` and `%a4:%a3` in, `%a6:%a5` out.
fn long(lines: &str, a: u128, b: u128) -> u128 {
    let [a1, a2, a3, a4] = [a, a >> 64, b, b >> 64].map(|word| word as u64);
    let body = format!(
        ".reg .b64 %w<16>; mov.b64 %w1, {a1:#x}; mov.b64 %w2, {a2:#x}; mov.b64 %w3, {a3:#x};
         mov.b64 %w4, {a4:#x}; {lines} st.global.u64 [%a1], %w5; st.global.u64 [%a1+8], %w6; ret;"
    );
    let (_, values) = run(&body, 1, &[0; 2]).unwrap();
    u128::from(values[1]) << 64 | u128::from(values[0])
}

const LONGS: [u128; 9] = [
    0,
    1,
    u64::MAX as u128,
    1 << 64,
    u128::MAX,
    1 << 127,
    0x0123_4567_89ab_cdef_fedc_ba98_7654_3210,
    0xffff_ffff_0000_0000_ffff_ffff_ffff_ffff,
    0x8000_0000_8000_0000_8000_0000_8000_0000,
];

#[test]
fn carries_join_words() {
    let mul = "mul.lo.u64 %w5, %w1, %w3; mul.hi.u64 %w6, %w1, %w3; mad.lo.u64 %w6, %w1, %w4, %w6;
        mad.lo.u64 %w6, %w2, %w3, %w6;";
    // Through words of 32 bits: the carries pass through four of them.
    let split = "mov.b64 {%r1, %r2}, %w1; mov.b64 {%r3, %r4}, %w2; mov.b64 {%r5, %r6}, %w3;
        mov.b64 {%r7, %r8}, %w4;";
    let join = "mov.b64 %w5, {%r1, %r2}; mov.b64 %w6, {%r3, %r4};";
    let narrow = |op: &str, carry: &str| {
        format!(
            "{split} {op}.cc.u32 %r1, %r1, %r5; {carry}.cc.u32 %r2, %r2, %r6;
             {carry}.cc.u32 %r3, %r3, %r7; {carry}.u32 %r4, %r4, %r8; {join}"
        )
    };
    for a in LONGS {
        for b in LONGS {
            let wide = "add.cc.u64 %w5, %w1, %w3; addc.u64 %w6, %w2, %w4;";
            assert_eq!(long(wide, a, b), a.wrapping_add(b), "{a:x} + {b:x}");
            let signed = "add.cc.s64 %w5, %w1, %w3; addc.cc.s64 %w6, %w2, %w4;";
            assert_eq!(long(signed, a, b), a.wrapping_add(b), "{a:x} + {b:x}");
            let wide = "sub.cc.u64 %w5, %w1, %w3; subc.u64 %w6, %w2, %w4;";
            assert_eq!(long(wide, a, b), a.wrapping_sub(b), "{a:x} - {b:x}");
            assert_eq!(long(&narrow("add", "addc"), a, b), a.wrapping_add(b), "{a:x} + {b:x}");
            assert_eq!(long(&narrow("sub", "subc"), a, b), a.wrapping_sub(b), "{a:x} - {b:x}");
            assert_eq!(long(mul, a, b), a.wrapping_mul(b), "{a:x} * {b:x}");
            // The lower word of a times the whole of b, plus b: carries of both halves.
            let mad = "mad.lo.cc.u64 %w5, %w1, %w3, %w3; madc.hi.u64 %w6, %w1, %w3, %w4;
                mad.lo.u64 %w6, %w1, %w4, %w6;";
            let want = u128::from(a as u64).wrapping_mul(b).wrapping_add(b);
            assert_eq!(long(mad, a, b), want, "{a:x} * {b:x} + b");
        }
    }
}

#[test]
fn a_carry_out_of_each_form_is_seen() {
    // One instruction, then the carry that it leaves.
    let carry = |op: &str, a: u64, b: u64, c: u64| {
        let third = if op.starts_with("mad") { format!(", {c}") } else { String::new() };
        let (ty, register) = if op.ends_with("64") { ("b64", "%a3") } else { ("b32", "%r3") };
        let body = format!(
            ".reg .{ty} %x<4>; mov.{ty} %x1, {a}; mov.{ty} %x2, {b}; {op} %x3, %x1, %x2{third};
             addc.u32 %r1, 0, 0; mov.{ty} {register}, %x3; st.global.u32 [%a1], %r1; ret;"
        );
        run(&body, 1, &[0]).unwrap().1[0]
    };
    for (op, a, b, c, want) in [
        ("add.cc.u32", ONES, 1, 0, 1),
        ("add.cc.s32", ONES, 1, 0, 1),
        ("add.cc.u32", ONES, 0, 0, 0),
        ("add.cc.u64", LONG, 1, 0, 1),
        ("add.cc.u64", ONES, 1, 0, 0),
        // A carry after a subtraction says that nothing was borrowed.
        ("sub.cc.u32", 0, 1, 0, 0),
        ("sub.cc.u32", 1, 1, 0, 1),
        ("sub.cc.s32", MIN, 1, 0, 1),
        ("sub.cc.u64", 1, 2, 0, 0),
        ("mad.lo.cc.u32", 3, 0x5555_5555, 1, 1),
        ("mad.lo.cc.u32", 3, 0x5555_5555, 0, 0),
        ("mad.lo.cc.u32", ONES, ONES, 0, 0),
        ("mad.hi.cc.u32", ONES, ONES, 1, 0),
        ("mad.hi.cc.u32", ONES, ONES, 2, 1),
        // (-1) * 1 has an upper half of ones.
        ("mad.hi.cc.s32", ONES, 1, 1, 1),
        ("mad.hi.cc.u32", ONES, 1, 1, 0),
        ("mad.hi.cc.s64", LONG, 1, 1, 1),
        ("mad.hi.cc.u64", LONG, 1, 1, 0),
    ] {
        assert_eq!(carry(op, a, b, c), want, "{op} {a:#x}, {b:#x}, {c:#x}");
    }
}

#[test]
fn carries_are_each_lanes_own_and_guards_keep_them() {
    // Odd lanes carry; the guarded instruction must not touch the carry of the others.
    let body = "and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; add.cc.u32 %r2, 0, 0;
        @%p1 add.cc.u32 %r2, -1, 1; addc.u32 %r3, 0, 0; st.global.u32 [%a1], %r3;";
    assert_eq!(check(body, &[0; 4]), [0, 1, 0, 1]);
}

#[test]
fn the_carry_is_a_register_between_its_instructions() {
    let text =
        kernel("add.cc.u32 %r1, %r0, %r0; addc.u32 %r2, 0, 0; st.global.u32 [%a1], %r2; ret;");
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 256);
    let launch = one_cta(text, 32, &[buffer; 2]);
    let module = Module::parse(&launch.ptx).unwrap();
    let running = module.launch(&launch, &mut memory).unwrap();
    let body: Vec<_> =
        running.kernel().insts.iter().filter(|inst| inst.line >= BODY_LINE).collect();
    let carry = body[0].dsts.as_slice().last().unwrap();
    assert_eq!(body[0].dsts.as_slice().len(), 2);
    assert!(body[1].srcs.as_slice().contains(carry));
    assert_eq!(body[1].dsts.as_slice().len(), 1);
}

#[test]
fn dot_products_take_each_sign() {
    table(&[
        ("dp4a.u32.u32", "rrrr", &[0xff02_0304, 0xff01_0101, 10], 65025 + 9 + 10),
        ("dp4a.s32.s32", "rrrr", &[0xff02_0304, 0xff01_0101, 10], 1 + 9 + 10),
        ("dp4a.u32.s32", "rrrr", &[0xff00_0000, 0xff00_0000, 0], (-255i32) as u32 as u64),
        ("dp4a.s32.u32", "rrrr", &[0x8000_0000, 0xff00_0000, 0], (-32640i32) as u32 as u64),
        ("dp4a.s32.s32", "rrrr", &[0x8080_8080, 0x8080_8080, 0x7fff_ffff], 0x7fff_ffff + 65536),
        ("dp2a.lo.u32.u32", "rrrr", &[0xffff_0002, 0x0908_ff03, 1], 65535 * 255 + 6 + 1),
        ("dp2a.hi.u32.u32", "rrrr", &[0xffff_0002, 0x0908_ff03, 1], 65535 * 9 + 16 + 1),
        ("dp2a.lo.s32.s32", "rrrr", &[0xffff_0002, 0x0908_ff03, 1], 1 + 6 + 1),
        ("dp2a.lo.s32.u32", "rrrr", &[0xffff_0002, 0x0908_ff03, 1], (-255i32 + 7) as u32 as u64),
        (
            "dp2a.hi.u32.s32",
            "rrrr",
            &[0xffff_0002, 0x80ff_0000, 0],
            (-65535 * 128 - 2i32) as u32 as u64,
        ),
    ]);
}

#[test]
fn bytes_are_permuted_in_every_mode() {
    let (a, b) = (0xb3b2_b1b0, 0xb7b6_b5b4);
    // The bytes that section "prmt" lists for each mode and selector, b3 first.
    let modes: [(&str, [u64; 4]); 6] = [
        ("f4e", [0xb3b2_b1b0, 0xb4b3_b2b1, 0xb5b4_b3b2, 0xb6b5_b4b3]),
        ("b4e", [0xb5b6_b7b0, 0xb6b7_b0b1, 0xb7b0_b1b2, 0xb0b1_b2b3]),
        ("rc8", [0xb0b0_b0b0, 0xb1b1_b1b1, 0xb2b2_b2b2, 0xb3b3_b3b3]),
        ("ecl", [0xb3b2_b1b0, 0xb3b2_b1b1, 0xb3b2_b2b2, 0xb3b3_b3b3]),
        ("ecr", [0xb0b0_b0b0, 0xb1b1_b1b0, 0xb2b2_b1b0, 0xb3b2_b1b0]),
        ("rc16", [0xb1b0_b1b0, 0xb3b2_b3b2, 0xb1b0_b1b0, 0xb3b2_b3b2]),
    ];
    for (mode, wants) in modes {
        for (selector, want) in wants.iter().enumerate() {
            // Only the two low bits count.
            let c = selector as u64 | 0xffff_fff4;
            let got = each(&format!("prmt.b32.{mode}"), "rrrr", &[&[a, b, c]])[0];
            assert_eq!(got, *want, "{mode} {selector}: {got:#x}");
        }
    }
    table(&[
        ("prmt.b32", "rrrr", &[a, b, 0x7531], 0xb7b5_b3b1),
        ("prmt.b32", "rrrr", &[0x7f80_0000, 0x00ff_0000, 0xfeba], 0x00ff_00ff),
    ]);
}

#[test]
fn masks_and_extensions_know_clamp_and_wrap() {
    table(&[
        ("bmsk.clamp.b32", "rrr", &[4, 8], 0xff0),
        ("bmsk.clamp.b32", "rrr", &[28, 8], 0xf000_0000),
        ("bmsk.clamp.b32", "rrr", &[0, 32], ONES),
        ("bmsk.clamp.b32", "rrr", &[32, 8], 0),
        ("bmsk.clamp.b32", "rrr", &[3, 0], 0),
        ("bmsk.clamp.b32", "rrr", &[256, 1], 0),
        ("bmsk.clamp.b32", "rrr", &[1, ONES], ONES - 1),
        ("bmsk.wrap.b32", "rrr", &[36, 40], 0xff0),
        ("bmsk.wrap.b32", "rrr", &[0, 32], 0),
        ("bmsk.wrap.b32", "rrr", &[31, 31], MIN),
        ("szext.clamp.s32", "rrr", &[0xff, 8], ONES),
        ("szext.clamp.s32", "rrr", &[0x17f, 8], 0x7f),
        ("szext.clamp.s32", "rrr", &[0x8000_0001, 32], 0x8000_0001),
        ("szext.clamp.s32", "rrr", &[ONES, 0], 0),
        ("szext.clamp.u32", "rrr", &[ONES, 8], 0xff),
        ("szext.clamp.u32", "rrr", &[ONES, 99], ONES),
        ("szext.wrap.u32", "rrr", &[ONES, 32], 0),
        ("szext.wrap.u32", "rrr", &[ONES, 40], 0xff),
        ("szext.wrap.s32", "rrr", &[0x80, 40], 0xffff_ff80),
        ("szext.wrap.s32", "rrr", &[ONES, 32], 0),
        ("fns.b32", "rrrr", &[0b1011_0000, 0, 1], 4),
        ("fns.b32", "rrrr", &[0b1011_0000, 0, 3], 7),
        ("fns.b32", "rrrr", &[0b1011_0000, 5, 2], 7),
        ("fns.b32", "rrrr", &[0b1011_0000, 0, 4], ONES),
        ("fns.b32", "rrrr", &[0b1011_0000, 31, ONES], 7),
        ("fns.b32", "rrrr", &[0b1011_0000, 6, ONES - 1], 4),
        ("fns.b32", "rrrr", &[0b1011_0000, 4, 0], 4),
        ("fns.b32", "rrrr", &[0b1011_0000, 6, 0], ONES),
        ("fns.b32", "rrrr", &[ONES, 0, 0x8000_0000], ONES),
        ("bfind.shiftamt.u32", "rr", &[0x0001_0000], 15),
        ("bfind.shiftamt.u32", "rr", &[0], ONES),
        ("bfind.shiftamt.s32", "rr", &[0xffff_fff0], 28),
        ("bfind.shiftamt.s32", "rr", &[ONES], ONES),
        ("bfind.u64", "ra", &[1 << 40], 40),
        ("bfind.s64", "ra", &[!(1 << 40)], 40),
        ("bfind.shiftamt.u64", "ra", &[1 << 40], 23),
        ("popc.b64", "ra", &[LONG], 64),
        ("clz.b64", "ra", &[0], 64),
        ("brev.b64", "aa", &[1], 1 << 63),
    ]);
}

#[test]
fn lop3_tells_a_predicate() {
    let logic = |op: &str, a: u64, q: u32| {
        let body = format!(
            "setp.ne.u32 %p2, {q}, 0; lop3.{op}.b32 %r1|%p1, {a}, 0xff00, 0xf0f0, 0x80, %p2;
             selp.u32 %r2, 1, 0, %p1; st.global.v2.u32 [%a1], {{%r1, %r2}};"
        );
        check(&body, &[0])[0]
    };
    assert_eq!(logic("or", 0xffff, 0), 1 << 32 | 0xf000);
    assert_eq!(logic("or", 0, 0), 0);
    assert_eq!(logic("or", 0, 1), 1 << 32);
    assert_eq!(logic("and", 0xffff, 0), 0xf000);
    assert_eq!(logic("and", 0xffff, 1), 1 << 32 | 0xf000);
    assert_eq!(logic("and", 0, 1), 0);
    let sink = "setp.ne.u32 %p2, 0, 0; lop3.or.b32 _|%p1, 1, 1, 1, 0x80, %p2;
        selp.u32 %r2, 1, 0, %p1; st.global.u32 [%a1], %r2;";
    assert_eq!(check(sink, &[0]), [1]);
    for code in 0..256u64 {
        // Each bit of the operands is one row of the truth table.
        assert_eq!(each("lop3.b32", "rrrrr", &[&[0xf0, 0xcc, 0xaa, code]])[0] & 0xff, code);
    }
}

#[test]
fn products_of_24_bits_and_saturating_sums() {
    table(&[
        ("mul24.lo.u32", "rrr", &[0xff00_ffff, 0xab01_0001], 0xffff_ffff & (0xffff * 0x1_0001)),
        ("mul24.lo.s32", "rrr", &[0x00ff_ffff, 3], ONES - 2),
        ("mul24.hi.u32", "rrr", &[0xff_ffff, 0xff_ffff], 0xffff_fe00_0001 >> 16),
        ("mul24.hi.s32", "rrr", &[0xff_ffff, 1], ONES),
        ("mul24.hi.s32", "rrr", &[0x80_0000, 0x80_0000], 0x4000_0000),
        ("mad24.lo.u32", "rrrr", &[0xff_ffff, 2, 5], 0x1ff_fffe + 5),
        ("mad24.lo.s32", "rrrr", &[0xff_ffff, 2, 5], 3),
        ("mad24.hi.u32", "rrrr", &[0xff_ffff, 0xff_ffff, 1], 0xffff_fe01),
        ("mad24.hi.s32", "rrrr", &[0xff_ffff, 1, 1], 0),
        ("mad24.hi.sat.s32", "rrrr", &[0x80_0000, 0x80_0000, 0x7000_0000], 0x7fff_ffff),
        ("mad24.hi.sat.s32", "rrrr", &[0x80_0000, 0x7f_ffff, MIN], MIN),
        ("mad.hi.sat.s32", "rrrr", &[0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff], 0x7fff_ffff),
        ("mad.hi.s32", "rrrr", &[0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff], 0xbfff_fffe),
        ("mad.hi.sat.s32", "rrrr", &[MIN, 0x7fff_ffff, MIN], MIN),
        ("add.sat.s32", "rrr", &[MIN, ONES], MIN),
        ("sub.sat.s32", "rrr", &[0x7fff_ffff, ONES], 0x7fff_ffff),
        ("min.relu.s32", "rrr", &[ONES, 5], 0),
        ("max.relu.s32", "rrr", &[ONES, MIN], 0),
        ("max.relu.s32", "rrr", &[3, 5], 5),
        ("sad.s32", "rrrr", &[MIN, 0x7fff_ffff, 1], 0),
        ("sad.u32", "rrrr", &[1, 5, 7], 11),
        ("sad.s16", "hhhh", &[0xffff, 1, 1], 3),
        ("sad.u64", "aaaa", &[1, LONG, 1], LONG),
        ("mul.wide.s16", "rhh", &[0xffff, 0xffff], 1),
        ("mad.wide.u32", "arra", &[ONES, ONES, LONG], (ONES * ONES).wrapping_sub(1)),
        ("mul.hi.s64", "aaa", &[LONG, LONG], 0),
        ("mul.hi.u64", "aaa", &[LONG, LONG], LONG - 1),
        ("mul.hi.u16", "hhh", &[0xffff, 0xffff], 0xfffe),
        ("div.s64", "aaa", &[1 << 63, LONG], 1 << 63),
        ("rem.s64", "aaa", &[1 << 63, LONG], 0),
        ("div.s16", "hhh", &[0x8000, 0xffff], 0x8000),
        ("rem.s16", "hhh", &[0xfff9, 2], 0xffff),
        ("abs.s64", "aa", &[1 << 63], 1 << 63),
        ("neg.s16", "hh", &[0x8000], 0x8000),
    ]);
}

#[test]
fn funnel_shifts_wrap_and_clamp() {
    let (low, high) = (0x89ab_cdef, 0x0123_4567);
    for n in [0, 1, 4, 31, 32, 33, 63, 64, ONES] {
        let both = u128::from(high) << 32 | u128::from(low);
        let (wrap, clamp) = (n & 31, n.min(32));
        let left = |n: u64| ((both << n) >> 32) as u64 & ONES;
        let right = |n: u64| (both >> n) as u64 & ONES;
        table(&[
            ("shf.l.wrap.b32", "rrrr", &[low, high, n], left(wrap)),
            ("shf.l.clamp.b32", "rrrr", &[low, high, n], left(clamp)),
            ("shf.r.wrap.b32", "rrrr", &[low, high, n], right(wrap)),
            ("shf.r.clamp.b32", "rrrr", &[low, high, n], right(clamp)),
        ]);
    }
}
