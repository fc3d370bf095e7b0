//! Rules on small kernels.

mod order;

use super::super::Module;
use super::super::tests::{BODY_LINE, kernel, source};
use super::measure::kind;
use crate::config::machine::InstructionSet;
use crate::isa::{AccessKind, ArithClass, Inst, MemoryOp, Op, Turns};

/// What each line of a body becomes: a letter an instruction. `m`ove, `i`nteger, `f`loat, `d`ouble, `s`pecial, `M`emory,
/// `c`ontrol.
fn lowered(body: &str) -> Vec<String> {
    lowered_with("", body)
}

/// The same, of a module with a variable.
fn lowered_with(variable: &str, body: &str) -> Vec<String> {
    let text = kernel(body).replace(".visible", &format!("{variable} .visible"));
    let module = Module::parse(&source(text)).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    let mut lines = vec![String::new(); body.lines().count()];
    for inst in program.issued.insts.iter().filter(|inst| inst.line >= BODY_LINE) {
        let letter = match kind(inst) {
            "memory" => "M",
            kind => &kind[..1],
        };
        lines[(inst.line - BODY_LINE) as usize].push_str(letter);
    }
    lines
}

#[test]
fn copies_and_numbers_are_free() {
    let body = "mov.u32 %r1, 5;\nmov.u32 %r2, %r0;\nadd.s32 %r3, %r2, %r1;\nst.global.u32 [%a1], %r3;\nret;";
    assert_eq!(lowered(body), ["", "", "i", "M", "c"]);
    // A number that is stored needs a register, zero has one.
    let body = "mov.u32 %r1, 5;\nst.global.u32 [%a1], %r1;\nmov.u32 %r2, 0;\nst.global.u32 [%a1], %r2;\nret;";
    assert_eq!(lowered(body), ["m", "M", "", "M", "c"]);
}

#[test]
fn a_barrier_of_a_warp_is_free_and_a_hint_is_an_instruction() {
    let body = "bar.warp.sync -1;\nprefetch.global.L2 [%a0];\nst.global.u32 [%a1], %r0;\nret;";
    assert_eq!(lowered(body), ["", "i", "M", "c"]);
}

#[test]
fn what_nobody_reads_is_not_issued() {
    let body = "add.s32 %r1, %r0, 1;\nmul.lo.s32 %r2, %r1, %r1;\nret;";
    assert_eq!(lowered(body), ["", "", "c"]);
    // What is gone still reads: the sum becomes part of the product's reader.
    let body = "ld.global.u64 %a3, [%a0];\ncvt.u32.u64 %r1, %a3;\nst.global.u32 [%a1], %r1;\nret;";
    assert_eq!(lowered(body), ["M", "", "M", "c"]);
}

#[test]
fn additions_of_one_to_shared_memory_are_counted_where_nobody_reads_the_result() {
    let turns = |line: &str| {
        let module =
            Module::parse(&source(kernel(&format!("{line}\nst.global.u32 [%a1], %r1;\nret;"))));
        let program = module.unwrap().program_for("k", InstructionSet::Sass).unwrap();
        let atomic = program.issued.insts.iter().find_map(|inst| match inst.op {
            Op::Memory(MemoryOp { kind: AccessKind::Atomic(turns), .. }) => Some((turns, inst)),
            _ => None,
        });
        let (turns, inst) = atomic.unwrap();
        (turns, inst.dsts.as_slice().len())
    };
    assert_eq!(turns("red.shared.add.u32 [%a0], 1;"), (Turns::Words, 0));
    assert_eq!(turns("atom.shared.add.s32 %r2, [%a0], 1;"), (Turns::Words, 0));
    assert_eq!(turns("atom.shared.add.u32 %r1, [%a0], 1;"), (Turns::Lanes, 1));
    assert_eq!(turns("red.shared.add.u32 [%a0], 2;"), (Turns::Lanes, 0));
    // Around a loop, each waits for the one before.
    assert_eq!(turns("L: atom.shared.exch.b32 %r2, [%a0], %r2;\n@%p0 bra L;"), (Turns::Lanes, 1));
    assert_eq!(turns("red.shared.max.u32 [%a0], 1;"), (Turns::Lanes, 0));
    assert_eq!(turns("atom.shared.cas.b32 %r2, [%a0], 1, 1;"), (Turns::LanesTwice, 0));
}

#[test]
fn a_signed_index_is_one_instruction_for_each_base() {
    let body = "mul.wide.s32 %a3, %r0, 4;\nadd.s64 %a4, %a0, %a3;\nadd.s64 %a5, %a1, %a3;\n\
                ld.global.u32 %r1, [%a4];\nst.global.u32 [%a5], %r1;\nret;";
    assert_eq!(lowered(body), ["", "i", "i", "M", "M", "c"]);
    // IMAD.SHL, IMAD.HI and two sums of two.
    let body = body.replace("s32", "u32");
    assert_eq!(lowered(&body), ["ii", "ii", "ii", "M", "M", "c"]);
}

#[test]
fn constants_that_are_added_to_addresses_are_offsets() {
    let body = "mul.wide.s32 %a3, %r0, 4;\nadd.s64 %a4, %a1, %a3;\nadd.s64 %a5, %a4, 1024;\n\
                st.global.u32 [%a5+4], %r0;\nret;";
    assert_eq!(lowered(body), ["", "i", "", "M", "c"]);
}

#[test]
fn shared_addresses_have_32_bits() {
    let body = ".shared .align 4 .b8 tile[4096];\nmul.wide.s32 %a3, %r0, 4;\nmov.u64 %a4, tile;\n\
                add.s64 %a5, %a4, %a3;\nst.shared.u32 [%a5], %r0;\nret;";
    assert_eq!(lowered(body), ["", "", "", "i", "M", "c"]);
}

#[test]
fn the_place_of_a_variable_of_constant_memory_is_part_of_its_load() {
    let table = ".const .align 4 .b8 table[256];";
    let body = "cvt.u64.u32 %a3, %r0;\nand.b64 %a4, %a3, 252;\nmov.u64 %a5, table;\nadd.s64 %a6, %a5, %a4;\n\
                ld.const.u32 %r1, [%a6];\nst.global.u32 [%a1], %r1;\nret;";
    assert_eq!(lowered_with(table, body), ["", "i", "", "", "M", "M", "c"]);
    // Whoever wants its address has it in registers.
    let body = body.replace("%r1;\nret", "%r1;\nst.global.u64 [%a1], %a6;\nret");
    let lines = lowered_with(table, &body);
    assert_eq!([&lines[1], &lines[3]], ["ii", "ii"]);
}

/// As `ptxas` for `sm_90` writes a step of xorshift: `IMAD.SHL`, `LOP3`, `SHF.R`, `LOP3`, `IMAD.SHL`, `LOP3`.
#[test]
fn shifts_to_the_left_go_where_there_is_less_to_do() {
    let step = "shl.b32 %r2, %r1, 13;\nxor.b32 %r1, %r2, %r1;\nshr.u32 %r2, %r1, 17;\n\
                xor.b32 %r1, %r2, %r1;\nshl.b32 %r2, %r1, 5;\nxor.b32 %r1, %r2, %r1;\n";
    let classes = |body: &str| {
        let text = format!("ld.global.u32 %r1, [%a0];\n{body}st.global.u32 [%a1], %r1;\nret;");
        let module = Module::parse(&source(kernel(&text))).unwrap();
        let program = module.program_for("k", InstructionSet::Sass).unwrap();
        let body = program.issued.insts.iter().filter(|inst| inst.line >= BODY_LINE);
        let arithmetic = body.filter_map(|inst| match inst.op {
            Op::Arith(class @ (ArithClass::IntAdd | ArithClass::IntMad)) => Some(class),
            _ => None,
        });
        arithmetic.collect::<Vec<_>>()
    };
    use ArithClass::{IntAdd, IntMad};
    assert_eq!(classes(step), [IntMad, IntAdd, IntAdd, IntAdd, IntMad, IntAdd]);
    // A number of bits that is not known takes a shift.
    let unknown = step.replace(", 13", ", %r0").replace(", 5", ", %r0");
    assert_eq!(classes(&unknown), [IntAdd; 6]);
    // Products leave nothing to even out.
    let products = "mul.lo.s32 %r1, %r1, %r1;\n".repeat(12);
    let [.., shift, _] = classes(&format!("{products}{}", &step[..step.find("shr").unwrap()]))[..]
    else {
        panic!("a shift and a logical operation")
    };
    assert_eq!(shift, IntAdd);
}

#[test]
fn pairs_are_fused() {
    let line = |body: &str| {
        let text = format!(
            "ld.global.v2.u32 {{%r1, %r2}}, [%a0];\n{body}\nst.global.u32 [%a1], %r4;\nret;"
        );
        let lines = lowered(&text);
        lines[1..lines.len() - 2].join(" ")
    };
    // IADD3, LEA, LEA.HI, IMAD, LOP3, VIADDMNMX.
    assert_eq!(line("add.s32 %r3, %r1, %r2;\nadd.s32 %r4, %r3, %r0;"), " i");
    assert_eq!(line("shl.b32 %r3, %r1, 8;\nadd.s32 %r4, %r3, %r0;"), " i");
    assert_eq!(line("shr.u32 %r3, %r1, 31;\nadd.s32 %r4, %r3, %r1;"), " i");
    assert_eq!(line("mul.lo.s32 %r3, %r1, %r2;\nadd.s32 %r4, %r3, %r0;"), " i");
    assert_eq!(line("and.b32 %r3, %r1, 7;\nxor.b32 %r4, %r3, %r2;"), " i");
    assert_eq!(line("add.s32 %r3, %r1, 1;\nmax.s32 %r4, %r3, %r2;"), " i");
    // Four inputs do not fit.
    let four = "add.s32 %r3, %r1, %r2;\nadd.s32 %r5, %r3, %r0;\nadd.s32 %r4, %r5, %r1;";
    assert_eq!(line(four), " i i");
    // A sum that is read twice stays.
    assert_eq!(
        line("add.s32 %r3, %r1, %r2;\nadd.s32 %r5, %r3, %r0;\nmul.lo.s32 %r4, %r5, %r3;"),
        "i i i"
    );
}

/// As `ptxas` 13.0 for `sm_90` writes each of them.
#[test]
fn a_high_half_of_a_product_is_as_long_as_its_operands_ask_for() {
    let product = |factor: &str, use_of: &str| {
        let text = format!(
            "ld.global.u64 %a3, [%a0];\nld.global.u64 %a4, [%a0+8];\nmul.hi.u64 %a5, %a3, {factor};\n{use_of}\nret;"
        );
        lowered(&text)[2].len()
    };
    let whole = "st.global.u64 [%a1], %a5;";
    let low = "cvt.u32.u64 %r1, %a5;\nst.global.u32 [%a1], %r1;";
    assert_eq!([product("%a4", whole), product("1000003", whole)], [7, 7]);
    assert_eq!([product("4194304", whole), product("4194304", low)], [6, 4]);
    // It is read as a whole, too.
    assert_eq!(product("4194304", &format!("{low}\n{whole}")), 6);
}

#[test]
fn comparisons_take_a_predicate() {
    let body = "setp.lt.s32 %p1, %r0, 7;\nsetp.gt.s32 %p2, %r0, 2;\nand.pred %p3, %p1, %p2;\n\
                selp.u32 %r1, 1, 2, %p3;\nst.global.u32 [%a1], %r1;\nret;";
    assert_eq!(lowered(body).concat(), "iiiMc");
}

#[test]
fn a_branch_takes_two_predicates_where_it_jumps_if_both_are_true() {
    let lines = |joins: &str, guard: &str, more: &str| {
        let body = format!(
            "L:\nadd.s32 %r1, %r1, 1;\nfma.rn.f32 %f1, %f1, %f1, %f2;\nsetp.lt.s32 %p1, %r1, 7;\n\
             setp.lt.f32 %p2, %f1, 0f40800000;\n{joins}.pred %p3, %p1, %p2;\n{more}\n@{guard}%p3 bra L;\n\
             st.global.u32 [%a1], %r1;\nret;"
        );
        lowered(&body)[3..8].join(",")
    };
    assert_eq!(lines("and", "", ""), "i,f,,,c");
    // Else one comparison takes the other's result.
    for (joins, guard) in [("and", "!"), ("or", ""), ("or", "!"), ("xor", "")] {
        assert_eq!(lines(joins, guard, ""), ",f,i,,c", "{guard}{joins}");
    }
    assert_eq!(lines("and", "", "selp.s32 %r1, %r1, 2, %p3;"), ",f,i,i,c");
    // What is predicated has one guard.
    let short = "setp.lt.s32 %p1, %r0, 7;\nsetp.gt.s32 %p2, %r0, 2;\nand.pred %p3, %p1, %p2;\n\
                 @%p3 bra E;\nst.global.u32 [%a1], %r0;\nE:\nst.global.u32 [%a1+4], %r0;\nret;";
    assert_eq!(lowered(short).concat(), "iiMMc");
}

#[test]
fn what_reads_an_old_value_goes_before_what_writes_the_new_one() {
    let issued = |reader: &str| {
        let body = format!(
            "mov.f32 %f1, 0f3F800000;\nL:\nmul.f32 %f3, %f1, %f2;\n{reader}\nmov.f32 %f1, %f3;\nsetp.lt.f32 %p1, %f4, %f2;\n\
             @%p1 bra L;\nst.global.f32 [%a1], %f4;\nret;"
        );
        let module = Module::parse(&source(kernel(&body))).unwrap();
        let program = module.program_for("k", InstructionSet::Sass).unwrap();
        let lines = program.issued.insts.iter().map(|inst| inst.line);
        let lines = lines.filter(|line| (BODY_LINE + 2..BODY_LINE + 5).contains(line));
        lines.map(|line| line - BODY_LINE - 1).collect::<Vec<u32>>()
    };
    assert_eq!(issued("add.f32 %f4, %f1, %f1;"), [2, 1]);
    // Where it needs the new value as well, both stay, and the copy is one.
    assert_eq!(issued("sub.f32 %f4, %f1, %f3;"), [1, 2, 3]);
}

#[test]
fn an_operand_is_read_once() {
    let reads = |body: &str| {
        let body = format!(
            "ld.global.f32 %f1, [%a0];\nld.global.f32 %f2, [%a0+4];\nld.global.f32 %f3, [%a0+8];\n{body}\n\
             st.global.f32 [%a1], %f4;\nret;"
        );
        let module = Module::parse(&source(kernel(&body))).unwrap();
        let program = module.program_for("k", InstructionSet::Sass).unwrap();
        program.issued.insts.iter().find(|inst| inst.line == BODY_LINE + 3).unwrap().reads
    };
    for (text, expected) in [
        ("fma.rn.f32 %f4, %f1, %f2, %f3;", 3),
        ("fma.rn.f32 %f4, %f1, %f1, %f3;", 2),
        ("fma.rn.f32 %f4, %f1, %f1, %f1;", 1),
        ("mul.f32 %f4, %f1, %f1;", 1),
    ] {
        assert_eq!(reads(text), expected, "{text}");
    }
}

#[test]
fn signs_are_operands() {
    let body = "ld.global.f32 %f1, [%a0];\nneg.f32 %f2, %f1;\nfma.rn.f32 %f3, %f1, %f2, %f1;\n\
                abs.f32 %f4, %f3;\nadd.f32 %f5, %f4, %f1;\nst.global.f32 [%a1], %f5;\nret;";
    assert_eq!(lowered(body), ["M", "", "f", "", "f", "M", "c"]);
}

#[test]
fn wide_integers_and_functions_are_sequences() {
    let count = |body: &str, ty: &str, reg: &str| {
        let text = format!(
            "ld.global.{ty} %{reg}3, [%a0];\nld.global.{ty} %{reg}4, [%a0+8];\n{body}\n\
             st.global.{ty} [%a1], %{reg}5;\nret;"
        );
        lowered(&text)[2].len()
    };
    for (body, expected) in [
        ("add.s64 %a5, %a3, %a4;", 2),
        ("mul.lo.s64 %a5, %a3, %a4;", 4),
        ("min.s64 %a5, %a3, %a4;", 4),
        ("div.s64 %a5, %a3, %a4;", 70),
    ] {
        assert_eq!(count(body, "u64", "a"), expected, "{body}");
    }
    for (body, expected) in [
        ("div.rn.f32 %f5, %f3, %f4;", 10),
        ("div.full.f32 %f5, %f3, %f4;", 8),
        ("sqrt.approx.ftz.f32 %f5, %f3;", 1),
        ("ex2.approx.f32 %f5, %f3;", 4),
    ] {
        assert_eq!(count(body, "f32", "f"), expected, "{body}");
    }
    assert_eq!(count("div.s32 %r5, %r3, %r4;", "u32", "r"), 24);
    assert_eq!(count("fma.rn.f64 %d5, %d3, %d4, %d4;", "f64", "d"), 1);
}

/// The classes of the arithmetic that a body becomes.
fn classes(body: &str) -> Vec<ArithClass> {
    let module = Module::parse(&source(kernel(body))).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    let of_body = program.issued.insts.iter().filter(|inst| inst.line >= BODY_LINE);
    let class = |inst: &Inst| match inst.op {
        Op::Arith(class) => Some(class),
        _ => None,
    };
    of_body.filter_map(class).collect()
}

#[test]
fn a_product_of_short_floats_is_made_of_conversions_and_products_of_halves() {
    // As `ptxas` has it: halves of registers are operands of conversions, and sums are added at the end.
    let counts = |body: &str, product, sum| {
        let classes = classes(body);
        [ArithClass::FpCompare, product, sum, ArithClass::Move]
            .map(|class| classes.iter().filter(|one| **one == class).count())
    };
    let loads = "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%a1]; ld.global.v2.u32 {%r5,%r6}, [%a1+16];";
    let singles = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, \
                   {%f0,%f1,%f2,%f3}; st.global.v4.f32 [%a1], {%f0,%f1,%f2,%f3}; ret;";
    let singles = counts(&format!("{loads} {singles}"), ArithClass::Mma, ArithClass::FpAdd);
    assert_eq!(singles, [12, 2, 4, 0]);
    let halves = "mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e5m2.f16 {%r8,%r9}, {%r1,%r2}, {%r5}, {%r8,%r9}; \
                  st.global.v2.u32 [%a1], {%r8,%r9}; ret;";
    let halves = counts(&format!("{loads} {halves}"), ArithClass::MmaHalf, ArithClass::Half);
    assert_eq!(halves, [6, 2, 2, 0]);
}

#[test]
fn every_other_pair_of_half_precision_goes_to_the_tensor_cores() {
    use ArithClass::{FpCompare, Half, HalfTensor, Sfu};
    // As `ptxas` 13.0 has them.
    let of = |body: &str| {
        let load =
            "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%a1]; ld.global.v2.u16 {%h1,%h2}, [%a1+16];";
        let store =
            "st.global.v4.u32 [%a1], {%r1,%r2,%r3,%r4}; st.global.v2.u16 [%a1+16], {%h1,%h2}; ret;";
        classes(&format!("{load} {body} {store}"))
    };
    let sums =
        "add.f16x2 %r1, %r1, %r4; mul.bf16x2 %r2, %r2, %r4; fma.rn.f16x2 %r3, %r3, %r3, %r4;";
    assert_eq!(
        of(&format!("{sums} add.f16x2 %r1, %r1, %r2;")),
        [HalfTensor, Half, HalfTensor, Half]
    );
    assert_eq!(of("fma.rn.f16 %h1, %h1, %h2, %h2; add.f16 %h2, %h1, %h2;"), [Half, Half]);
    assert_eq!(of("set.lt.f16x2.f16x2 %r1, %r1, %r2;"), [FpCompare]);
    assert_eq!(of("min.f16x2 %r5, %r1, %r2; min.f16x2 %r1, %r5, %r3;"), [FpCompare]);
    let four = "min.f16x2 %r5, %r1, %r2; min.f16x2 %r6, %r5, %r3; min.f16x2 %r1, %r6, %r4;";
    assert_eq!(of(four), [FpCompare; 2]);
    assert_eq!(of("min.f16x2 %r5, %r1, %r2; max.f16x2 %r1, %r5, %r3;"), [FpCompare; 2]);
    assert_eq!(of("min.f16x2 %r5, %r1, %r2; min.NaN.f16x2 %r1, %r5, %r3;"), [FpCompare; 2]);
    assert_eq!(of("ex2.approx.f16x2 %r1, %r1;"), [Sfu; 2]);
    assert_eq!(of("ex2.approx.f16 %h1, %h1;"), [Sfu]);
}

#[test]
fn conversions_run_where_integers_are_added_or_multiplied() {
    let one = |text: &str| {
        let all =
            classes(&format!("{text} st.global.u32 [%a1], %r1; st.global.f32 [%a1], %f1; ret;"));
        all[0]
    };
    assert_eq!(one("cvt.rn.f16x2.f32 %r1, %f0, %f2;"), ArithClass::FpCompare);
    assert_eq!(one("cvt.rn.f16x2.e4m3x2 %r1, %h0;"), ArithClass::FpCompare);
    assert_eq!(one("cvt.f32.f16 %f1, %h0;"), ArithClass::IntMad);
}

#[test]
fn halves_of_a_register_are_operands_of_conversions() {
    let unpacked = |between: &str, from: &str| {
        let body = format!(
            "ld.global.u32 %r2, [%a1]; mov.b32 {{%h1,%h2}}, %r2; {between} cvt.f32.{from} %f1, %h1; cvt.f32.{from} %f2, %h2; \
             st.global.f32 [%a1], %f1; st.global.f32 [%a1], %f2; ret;"
        );
        classes(&body).iter().filter(|class| **class == ArithClass::Move).count()
    };
    assert_eq!(unpacked("", "f16"), 0);
    // The half of one is no operand of a shift, and what is written again must be read before.
    assert_eq!(unpacked("", "bf16"), 1);
    assert_eq!(unpacked("ld.global.u32 %r2, [%a1+4];", "f16"), 1);
}

#[test]
fn exits_are_copied_to_the_branches_that_lead_there() {
    let body = "setp.gt.s32 %p1, %r0, 7;\n@%p1 bra END;\nst.global.u32 [%a1], %r0;\nEND:\nret;";
    // The store's block ends with the exit of its lanes.
    let lines = lowered(body);
    assert_eq!(lines.concat().matches('c').count(), 2);
    let module = Module::parse(&source(kernel(body))).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    assert_eq!(program.issued.blocks.last().unwrap().len, 0);
    let exits = program.issued.insts.iter().filter(|inst| inst.op == Op::Exit);
    assert_eq!(exits.count(), 2);
}

#[test]
fn short_blocks_are_predicated_and_long_ones_converge() {
    let body = |adds: usize| {
        format!(
            "ld.global.f32 %f1, [%a0];\nsetp.gt.s32 %p1, %r0, 7;\n@%p1 bra L;\n{}\nL:\n\
             st.global.f32 [%a1], %f1;\nret;",
            "fma.rn.f32 %f1, %f1, %f1, %f1;".repeat(adds)
        )
    };
    let predicated = |adds| {
        let module = Module::parse(&source(kernel(&body(adds)))).unwrap();
        let program = module.program_for("k", InstructionSet::Sass).unwrap();
        program.issued.blocks[0].predicated == 1
    };
    assert!(predicated(8) && !predicated(9));
    assert_eq!(lowered(&body(8))[2], "");
    // BRA and BSYNC; BSSY has the line of its block's start, before the body.
    assert_eq!(lowered(&body(9))[2..], ["c", "fffffffff", "", "cM", "c"].map(str::to_owned));
}

#[test]
fn a_predicate_that_goes_through_a_register_stays_one() {
    let body = |end: &str| {
        format!(
            "ld.global.u32 %r1, [%a0];\nsetp.gt.u32 %p1, %r1, 7;\nselp.u32 %r2, 1, 0, %p1;\nsetp.eq.s32 %p2, %r2, 0;\n\
             @%p2 bra L;\nst.global.u32 [%a1], 1;\nL:\n{end}ret;"
        )
    };
    let alone = lowered(&body(""));
    assert_eq!(alone[2..4], ["", ""]);
    // Whoever else reads the register needs the selection, also behind a conversion that costs nothing.
    let read = "cvt.u64.u32 %a3, %r2;\nst.global.u64 [%a1+8], %a3;\n";
    let both = lowered(&body(read));
    assert_ne!(both[2], "");
    assert_eq!(both[3], "");
}

#[test]
fn an_instruction_reads_its_guard() {
    // Traces hold to that. A predicated operation of 64 bits is two instructions, and so are guarded ones of bit fields.
    let body = "setp.gt.u32 %p1, %r0, 5;\n@%p1 bfe.u32 %r1, %r0, 1, 3;\n@%p1 shr.u64 %a4, %a0, 3;\n@%p1 popc.b64 %r2, %a4;\n\
                @%p1 ex2.approx.f32 %f1, %f0;\n\
                ld.global.u64 %a3, [%a0];\nsetp.gt.u32 %p1, %r0, 7;\n@%p1 bra L;\nxor.b64 %a4, %a3, 5;\n\
                add.u64 %a4, %a4, %a3;\nst.global.u64 [%a1], %a4;\nL:\nst.global.u64 [%a1+8], %a3;\nret;";
    let module = Module::parse(&source(kernel(body))).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    let guarded = program.issued.insts.iter().filter_map(|inst| Some((inst, inst.guard?)));
    let reads: Vec<bool> =
        guarded.map(|(inst, guard)| inst.srcs.as_slice().contains(&guard)).collect();
    assert!(!reads.is_empty() && reads.iter().all(|reads| *reads));
}

#[test]
fn readers_depend_on_what_is_gone_reads() {
    let body = "ld.global.s32 %r1, [%a0];\nmul.wide.s32 %a3, %r1, 4;\nadd.s64 %a4, %a1, %a3;\n\
                st.global.u32 [%a4], %r0;\nret;";
    let module = Module::parse(&source(kernel(body))).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    let of = |line: u32| {
        let at = |inst: &&Inst| inst.line == BODY_LINE + line;
        program.issued.insts.iter().find(at).unwrap()
    };
    let loaded = of(0).dsts.as_slice()[0];
    assert!(of(2).srcs.as_slice().contains(&loaded));
}

#[test]
fn halves_of_a_sum_depend_on_halves() {
    let body = "ld.global.u64 %a3, [%a0];\nld.global.u64 %a4, [%a0+8];\nadd.s64 %a5, %a3, %a4;\n\
                xor.b64 %a6, %a5, %a3;\nst.global.u64 [%a1], %a6;\nret;";
    let module = Module::parse(&source(kernel(body))).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    let of = |line: u32| -> Vec<&Inst> {
        program.issued.insts.iter().filter(|inst| inst.line == BODY_LINE + line).collect()
    };
    let (sum, xor) = (of(2), of(3));
    let [low, high] = [sum[0].dsts.as_slice()[0], sum[1].dsts.as_slice()[0]];
    assert_ne!(low, high);
    // The carry.
    assert!(sum[1].srcs.as_slice().contains(&low));
    assert!(xor[0].srcs.as_slice().contains(&low) && !xor[0].srcs.as_slice().contains(&high));
    assert!(xor[1].srcs.as_slice().contains(&high));
    // What is stored has the name of the whole.
    assert!(of(4)[0].srcs.as_slice().contains(&xor[1].dsts.as_slice()[0]));
    assert!(program.issued.insts.iter().all(|inst| {
        let mut regs = inst.dsts.as_slice().iter().chain(inst.srcs.as_slice());
        regs.all(|reg| *reg < program.issued.regs)
    }));
}

#[test]
fn what_all_lanes_share_needs_no_convergence() {
    let classes = |operand: &str| -> Vec<ArithClass> {
        let body = format!(
            "ld.global.f32 %f1, [%a0];\nmov.f32 %f3, 0f3F000000;\nsqrt.rn.f32 %f2, {operand};\n\
             st.global.f32 [%a1], %f2;\nret;"
        );
        let module = Module::parse(&source(kernel(&body))).unwrap();
        let program = module.program_for("k", InstructionSet::Sass).unwrap();
        let insts = program.issued.insts.iter().filter(|inst| inst.line == BODY_LINE + 2);
        insts
            .filter_map(|inst| match inst.op {
                Op::Arith(class) => Some(class),
                _ => None,
            })
            .collect()
    };
    let varying = classes("%f1");
    assert_eq!(varying.len(), 10);
    assert_eq!(varying.last(), Some(&ArithClass::Converge));
    let shared = classes("%f3");
    assert_eq!(shared, varying[1..9]);
}

#[test]
fn steps_of_a_division_depend_as_those_of_the_machine_code() {
    let body = "ld.global.f32 %f1, [%a0];\nld.global.f32 %f2, [%a0+4];\ndiv.rn.f32 %f3, %f1, %f2;\n\
                st.global.f32 [%a1], %f3;\nret;";
    let module = Module::parse(&source(kernel(body))).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    let steps: Vec<&Inst> =
        program.issued.insts.iter().filter(|inst| inst.line == BODY_LINE + 2).collect();
    let reads = |step: usize, maker: usize| {
        steps[step].srcs.as_slice().contains(&steps[maker].dsts.as_slice()[0])
    };
    // BSSY, MUFU.RCP, FCHK, five FFMA, BRA, BSYNC: the check and the reciprocal are beside each other.
    assert!(!reads(2, 1) && reads(3, 1) && !reads(3, 2) && reads(8, 2) && !reads(8, 7));
    let result = steps[7].dsts.as_slice()[0];
    let store = program.issued.insts.iter().find(|inst| inst.line == BODY_LINE + 3).unwrap();
    assert!(store.srcs.as_slice().contains(&result));
}
