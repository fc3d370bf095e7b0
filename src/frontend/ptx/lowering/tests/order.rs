//! The order in which instructions are issued, and the records of what they did.

use std::collections::BTreeMap;
use std::path::Path;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::super::super::Module;
use super::super::super::tests::{BODY_LINE, kernel, one_cta, source};
use crate::config::machine::InstructionSet;
use crate::config::{load_run, overrides};
use crate::isa::{
    Cta, CtaSource, Inst, LaneAddresses, LaneMask, Op, WarpCursor, WarpStream, lanes,
};
use crate::workload::{DeviceMemory, Launch, Work, registry};

/// The lines of a body in the order in which their instructions are issued, counted from 0.
fn issued(body: &str) -> Vec<u32> {
    let module = Module::parse(&source(kernel(body))).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    let lines = program.issued.insts.iter().map(|inst| inst.line).filter(|line| *line >= BODY_LINE);
    lines.map(|line| line - BODY_LINE).collect()
}

#[test]
fn what_decides_a_branch_goes_first() {
    let body = "ld.global.f32 %f1, [%a0];\nL:\nadd.f32 %f1, %f1, %f1;\nmul.f32 %f1, %f1, %f1;\n\
                add.s32 %r0, %r0, -1;\nsetp.ne.s32 %p1, %r0, 0;\n@%p1 bra L;\n\
                st.global.f32 [%a1], %f1;\nret;";
    // The comparison waits for the sum, and others need not wait for it.
    assert_eq!(issued(body)[1..6], [4, 2, 5, 3, 6]);
}

#[test]
fn loads_go_before_what_does_not_lead_to_them() {
    let body = "ld.global.f32 %f1, [%a0];\nadd.f32 %f2, %f1, %f1;\nld.global.f32 %f3, [%a0+4];\n\
                add.f32 %f4, %f2, %f3;\nst.global.f32 [%a1], %f4;\nret;";
    assert_eq!(issued(body), [0, 2, 1, 3, 4, 5]);
}

#[test]
fn loads_that_need_no_other_one_go_first() {
    // Two indices, and what they lead to.
    let body = "ld.global.u64 %a2, [%a0];\nld.global.u32 %r1, [%a2];\nld.global.u64 %a3, [%a0+8];\n\
                ld.global.u32 %r2, [%a3];\nadd.s32 %r3, %r1, %r2;\nst.global.u32 [%a1], %r3;\nret;";
    assert_eq!(issued(body), [0, 2, 1, 3, 4, 5, 6]);
}

#[test]
fn independent_chains_go_side_by_side() {
    let chain = |from: &str, to: &str| {
        format!(
            "mul.f32 {to}, {from}, {from};\nmul.f32 {to}, {to}, {to};\nmul.f32 {to}, {to}, {to};\n"
        )
    };
    let loads = "ld.global.f32 %f1, [%a0];\nld.global.f32 %f3, [%a0+4];\nbar.sync 0;\n";
    let (first, second) = (chain("%f1", "%f2"), chain("%f3", "%f4"));
    let end = "add.f32 %f5, %f2, %f4;\nst.global.f32 [%a1], %f5;\nret;";
    let order = issued(&format!("{loads}{first}{second}{end}"));
    assert_eq!(order, [0, 1, 2, 3, 6, 4, 7, 5, 8, 9, 10, 11]);
}

/// The registers that the instruction of a line names.
fn named(body: &str, line: u32) -> Vec<u16> {
    let module = Module::parse(&source(kernel(body))).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    let inst = program.issued.insts.iter().find(|inst| inst.line == BODY_LINE + line);
    inst.unwrap().srcs.as_slice().to_vec()
}

#[test]
fn loads_beyond_four_scoreboards_are_waited_for_together() {
    let (mut loads, mut uses) = (String::new(), String::new());
    for at in 0..6 {
        loads += &format!("ld.global.f32 %f{at}, [%a0+{}];\n", 4 * at);
        uses += &format!("st.global.f32 [%a1+{}], %f{at};\n", 4 * at);
    }
    let body = format!("{loads}{uses}ret;");
    // An address and a value; the fourth scoreboard has three loads.
    assert_eq!([6, 7, 8, 9, 10, 11].map(|line| named(&body, line).len()), [2, 2, 2, 4, 2, 2]);
    // What is read together is waited for together.
    let body = "ld.global.f32 %f0, [%a0];\nld.global.f32 %f1, [%a0+4];\nld.global.f32 %f2, [%a0+8];\n\
                add.f32 %f3, %f0, %f1;\nst.global.f32 [%a1], %f3;\nst.global.f32 [%a1+4], %f2;\nret;";
    assert_eq!([3, 4, 5].map(|line| named(body, line).len()), [2, 2, 2]);
}

/// As `ptxas` 13.0 orders a load and a store, another load and another store.
#[test]
fn loads_pass_what_cannot_change_them() {
    let order = |load: &str, store: &str, to: &str, beyond: &str| {
        issued(&format!(
            "{load} %r1, [%a0];\n{store} [{to}], %r1;\n{load} %r2, [%a0+64];\n{store} [{beyond}], %r2;\nret;"
        ))
    };
    let (kept, passed) = ([0, 1, 2, 3, 4], [0, 2, 1, 3, 4]);
    let global = "ld.global.u32";
    assert_eq!(order(global, "st.global.u32", "%a1", "%a1+4"), kept);
    assert_eq!(order("ld.global.nc.u32", "st.global.u32", "%a1", "%a1+4"), passed);
    assert_eq!(order("ld.global.nc.u32", "red.global.add.u32", "%a1", "%a1+4"), passed);
    for store in ["st.shared.u32", "st.volatile.shared.u32", "red.shared.add.u32"] {
        assert_eq!(order(global, store, "%a1", "%a1+4"), passed, "{store}");
        assert_eq!(order("ld.volatile.global.u32", store, "%a1", "%a1+4"), passed, "{store}");
    }
    // A generic address may be one of shared memory.
    assert_eq!(order(global, "st.u32", "%a1", "%a1+4"), kept);
    assert_eq!(order("ld.u32", "st.shared.u32", "%a1", "%a1+4"), kept);
    // From the address that is loaded from: beside it, and upon a part of it.
    assert_eq!(order(global, "st.global.u32", "%a0+4", "%a0+8"), passed);
    assert_eq!(order(global, "st.global.u32", "%a0+68", "%a0+8"), passed);
    assert_eq!(order(global, "st.global.u32", "%a0+64", "%a0+8"), kept);
    let body = "ld.global.u32 %r1, [%a0];\nst.global.v2.u32 [%a0+56], {%r1, %r1};\nld.global.u32 %r2, [%a0+60];\n\
                st.global.u32 [%a0+8], %r2;\nret;";
    assert_eq!(issued(body), kept);
}

#[test]
fn a_register_that_has_changed_is_another_address() {
    let body = "ld.shared.u64 %a2, [%a0];\nst.shared.u32 [%a2], %r0;\nld.shared.u64 %a2, [%a0+8];\n\
                st.shared.u32 [%a2+4], %r0;\nld.shared.u32 %r1, [%a2];\nst.global.u32 [%a1], %r1;\nret;";
    // The last load passes the store beside it, not the one before the change.
    let order = issued(body);
    let place = |line: u32| order.iter().position(|other| *other == line).unwrap();
    assert!(place(1) < place(2) && place(1) < place(4) && place(4) < place(3), "{order:?}");
}

#[test]
fn clocks_stay_where_they_are() {
    let body = "mov.u32 %r1, %clock;\nld.global.u32 %r2, [%a0];\nadd.s32 %r3, %r2, %r2;\nmov.u32 %r4, %clock;\n\
                ld.global.u32 %r5, [%a0+8];\nsub.s32 %r6, %r4, %r1;\nadd.s32 %r6, %r6, %r3;\nadd.s32 %r6, %r6, %r5;\n\
                st.global.u32 [%a1], %r6;\nret;";
    let order = issued(body);
    let place = |line: u32| order.iter().position(|other| *other == line).unwrap();
    assert!(place(0) < place(1) && place(1) < place(3) && place(3) < place(4), "{order:?}");
}

#[test]
fn memory_instructions_beyond_what_is_compared_keep_their_order() {
    let line = "ld.global.u32 %r1, [%a0];\nst.shared.u32 [%a2], %r1;\n";
    let order = |pairs: usize| issued(&format!("{}ret;", line.repeat(pairs)));
    // Few: the loads that the register allows first. Many: as in the text, behind those that were compared.
    let many = order(1200);
    assert!(many[2100..2400].is_sorted(), "{:?}", &many[2100..2400]);
    assert_eq!(many.len(), 2401);
}

#[test]
fn a_call_is_no_part_of_a_region() {
    let text = ".version 8.0\n.target sm_75\n.address_size 64\n.func f() { ret; }\n.func g() { ret; }\n\
        .visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %a<8>;\n\
        ld.param.u64 %a0, [in]; mov.u32 %r0, %tid.x; setp.lt.u32 %p1, %r0, 8; mov.u64 %a1, f; mov.u64 %a2, g;\n\
        setp.lt.u32 %p2, %r0, 16; selp.b64 %a3, %a1, %a2, %p2; mul.wide.u32 %a4, %r0, 8; add.s64 %a5, %a0, %a4;\n\
        st.shared.u32 [%a4], %r0;\n@%p1 bra L;\nld.global.u32 %r1, [%a5];\nst.shared.u32 [%a4+4], %r1;\nL:\n\
        P: .callprototype _ ();\ncall %a3, P;\nld.shared.u32 %r2, [%a4];\nst.global.u32 [%a5], %r2;\nret;\n}\n";
    let [machine, text] =
        [InstructionSet::Sass, InstructionSet::Ptx].map(|set| accesses_of(text, set).0);
    for (text, machine) in text.iter().zip(&machine) {
        assert_eq!(by_lane(text), by_lane(machine));
    }
}

/// A tile that is filled, a pixel a lane, where there is one.
fn tile() -> String {
    let mut body = String::new();
    for (at, bound) in [80, 0, 40].iter().enumerate() {
        body.push_str(&format!(
            "setp.lt.u32 %p{at}, %r0, {bound};\n@%p{at} bra L{at};\nld.global.u32 %r{}, [%a0+{}];\n\
             st.shared.u32 [%a2+{}], %r{};\nL{at}:\n",
            at + 1,
            at * 512,
            at * 8,
            at + 1,
        ));
    }
    format!(
        "mul.wide.u32 %a2, %r0, 32;\n{body}mul.wide.u32 %a3, %r0, 32;\nld.shared.u32 %r4, [%a3+8];\nst.global.u32 [%a1], %r4;\nret;"
    )
}

#[test]
fn predicated_blocks_and_what_lies_between_are_one() {
    let module = Module::parse(&source(kernel(&tile()))).unwrap();
    let program = module.program_for("k", InstructionSet::Sass).unwrap();
    let filled: Vec<_> = program.issued.blocks.iter().filter(|block| block.len > 0).collect();
    assert_eq!((filled.len(), program.issued.blocks.len()), (1, 7));
    // Loads, then stores.
    let memory = program.issued.insts.iter().filter(|inst| matches!(inst.op, Op::Memory(_)));
    let lines: Vec<u32> = memory.map(|inst| inst.line - BODY_LINE).collect();
    assert_eq!(lines, [3, 8, 13, 4, 9, 14, 17, 18]);
    let guarded = program.issued.insts.iter().filter(|inst| inst.guard.is_some());
    assert_eq!(guarded.count(), 6);
}

/// What the warps of a CTA of 96 threads access, each in the order of issue.
fn accesses(body: &str, set: InstructionSet) -> (Vec<Vec<Access>>, Vec<u64>) {
    accesses_of(&kernel(body), set)
}

/// The same, of a whole module.
fn accesses_of(text: &str, set: InstructionSet) -> (Vec<Vec<Access>>, Vec<u64>) {
    let mut memory = DeviceMemory::default();
    let [input, output] = ["in", "out"].map(|name| memory.allocate(name, 96 * 64));
    let launch = Launch { dynamic_shared: 8192, ..one_cta(text, 96, &[input, output]) };
    let module = Module::parse(&launch.ptx).unwrap();
    let mut running = module.launch_for(&launch, &mut memory, set).unwrap();
    let mut cta = Cta::default();
    assert!(running.next(&mut cta).unwrap());
    let of = |stream| records(stream, &running.kernel().insts);
    (cta.warps.iter().map(of).collect(), cta.warps.iter().map(WarpStream::instructions).collect())
}

/// The line of a memory instruction, and what it did.
type Access = (u32, LaneAddresses);

/// What a warp accesses, in the order of issue.
fn records(stream: &WarpStream, insts: &[Inst]) -> Vec<Access> {
    let mut cursor = WarpCursor::default();
    let mut records = Vec::new();
    while let Some((pc, _)) = cursor.peek(stream) {
        let inst = &insts[pc as usize];
        if let Op::Memory(_) = inst.op {
            records.push((inst.line, cursor.addresses(stream)));
        }
        cursor.advance(stream);
    }
    records
}

/// By lane and line: the addresses, in turn.
type ByLane = BTreeMap<(usize, u32), Vec<u64>>;

/// What each lane accesses in each line.
fn by_lane(records: &[Access]) -> ByLane {
    let mut all = ByLane::new();
    for (line, access) in records {
        for lane in lanes(access.mask) {
            all.entry((lane, *line)).or_default().push(access.of(lane));
        }
    }
    all
}

#[test]
fn a_predicated_block_is_issued_by_warps_that_jump_over_it() {
    let body = "mov.u32 %r1, 0;\nsetp.lt.u32 %p1, %r0, 64;\n@%p1 bra L;\nld.global.u32 %r1, [%a0];\nL:\n\
                st.global.u32 [%a1], %r1;\nret;";
    let (records, instructions) = accesses(body, InstructionSet::Sass);
    let masks = |warp: usize| -> Vec<LaneMask> {
        records[warp].iter().map(|(_, access)| access.mask).collect()
    };
    assert_eq!([masks(0), masks(2)], [[0, !0], [!0, !0]]);
    assert_eq!(instructions[0], instructions[2]);
}

#[test]
fn records_change_places_with_their_instructions() {
    let ([text, machine], [_, instructions]) = {
        let [(text, few), (machine, all)] =
            [InstructionSet::Ptx, InstructionSet::Sass].map(|set| accesses(&tile(), set));
        ([text, machine], [few, all])
    };
    // Of the first warp no lane fills the first pixel, of the second eight lanes do not fill the third.
    let masks = |warp: usize| -> Vec<LaneMask> {
        machine[warp].iter().map(|(_, access)| access.mask).collect()
    };
    assert_eq!(masks(0), [0, !0, 0, 0, !0, 0, !0, !0]);
    assert_eq!(masks(1), [0, !0, !0xff, 0, !0, !0xff, !0, !0]);
    assert_eq!(masks(2), [!0 << 16, !0, !0, !0 << 16, !0, !0, !0, !0]);
    assert!(instructions.iter().all(|count| *count == instructions[0]));
    for (text, machine) in text.iter().zip(&machine) {
        assert_eq!(by_lane(text), by_lane(machine));
    }
}

#[test]
fn lanes_that_wait_for_members_in_a_block_that_could_be_predicated_leave_their_records_in_order() {
    // Lanes of both halves come to X one after the other; of each the even ones wait in the block behind.
    let body = "mov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, 31;\nand.b32 %r2, %r1, 1;\nsetp.lt.u32 %p1, %r1, 16;\nsetp.eq.u32 %p2, %r2, 0;\n\
                setp.lt.u32 %p3, %r1, 0;\n@!%p1 bra X;\n@%p3 bra OUT;\nadd.u32 %r3, %r1, 1;\nX:\n@!%p2 bra Z;\n\
                shfl.sync.bfly.b32 %r1, %r1, 16, 31, 0x55555555;\nZ:\nst.global.u32 [%a1], %r1;\nOUT:\nret;";
    let [text, machine] =
        [InstructionSet::Ptx, InstructionSet::Sass].map(|set| accesses(body, set).0);
    for (text, machine) in text.iter().zip(&machine) {
        assert_eq!(by_lane(text).len(), 32);
        assert_eq!(by_lane(text), by_lane(machine));
    }
}

/// A loop that a thread goes through so many times, where `%r1` is its number in the CTA; a word each time, and one more
/// where the counter is odd.
fn walk(times: &str) -> String {
    format!(
        "mov.u32 %r1, %tid.x;\n{times}\nmul.wide.u32 %a3, %r1, 4;\nadd.s64 %a3, %a0, %a3;\nL:\n\
         ld.global.u32 %r4, [%a3];\nadd.s32 %r5, %r5, %r4;\nand.b32 %r6, %r3, 1;\nsetp.eq.u32 %p2, %r6, 0;\n\
         @%p2 bra M;\nld.global.u32 %r7, [%a3+8];\nadd.s32 %r5, %r5, %r7;\nM:\nadd.s64 %a3, %a3, 128;\n\
         add.s32 %r3, %r3, -1;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra L;\nst.global.u32 [%a1], %r5;\nret;"
    )
}

#[test]
fn four_iterations_of_a_loop_are_one_then_two_then_one() {
    // Words that a warp loads in the loop's first line, by lanes, in turn.
    let masks = |body: &str| {
        let [text, machine] =
            [InstructionSet::Ptx, InstructionSet::Sass].map(|set| accesses(body, set).0);
        for (text, machine) in text.iter().zip(&machine) {
            assert_eq!(by_lane(text), by_lane(machine), "{body}");
        }
        let first = machine[1].iter().filter(|(line, _)| line - BODY_LINE == 5);
        first.map(|(_, access)| access.mask).collect::<Vec<_>>()
    };
    // Lanes that stay together.
    for times in 1..12 {
        assert_eq!(masks(&walk(&format!("mov.u32 %r3, {times};"))), vec![!0; times]);
    }
    // One to eight times, as the lane's number says.
    let by_eight = |keep: fn(u32) -> bool| -> LaneMask {
        (0..32).filter(|lane| keep(lane % 8 + 1)).fold(0, |all, lane| all | 1 << lane)
    };
    let (four, eight) = (by_eight(|times| times >= 4), by_eight(|times| times == 8));
    let (two, one) = (by_eight(|times| times % 4 >= 2), by_eight(|times| times % 2 == 1));
    let expected = [four, four, four, four, eight, eight, eight, eight, two, two, one];
    assert_eq!(masks(&walk("and.b32 %r3, %r1, 7; add.s32 %r3, %r3, 1;")), expected);
}

/// A loop around a loop, each lane with trip counts of its own, whose body has loads, stores and predicated code at random.
fn loops(random: &mut ChaCha8Rng) -> String {
    let mut body = String::new();
    let mut labels = 0;
    for _ in 0..random.random_range(1..8) {
        let offset = 8 * random.random_range(0..4);
        let access = match random.random_range(0..5) {
            0 => format!("ld.global.u32 %r4, [%a3+{offset}];\nadd.s32 %r5, %r5, %r4;\n"),
            1 => format!("ld.global.u32 %r7, [%a4+{offset}];\nadd.s32 %r5, %r5, %r7;\n"),
            2 => format!("st.global.u32 [%a4+{offset}], %r5;\n"),
            3 => format!("st.shared.u32 [%a6+{offset}], %r5;\n"),
            _ => format!("ld.shared.u32 %r8, [%a6+{offset}];\nadd.s32 %r5, %r5, %r8;\n"),
        };
        if random.random_bool(0.3) {
            labels += 1;
            let bit = 1 << random.random_range(0..3);
            body.push_str(&format!(
                "and.b32 %r6, %r3, {bit};\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra M{labels};\n{access}M{labels}:\n"
            ));
        } else {
            body.push_str(&access);
        }
    }
    let [first, second] = [0, 0].map(|_| random.random_range(1..12));
    format!(
        "mov.u32 %r1, %tid.x;\nmov.u32 %r5, 0;\nmul.wide.u32 %a3, %r1, 4;\nadd.s64 %a4, %a1, %a3;\nadd.s64 %a3, %a0, %a3;\n\
         mul.wide.u32 %a6, %r1, 40;\nst.shared.u32 [%a6], %r1;\nst.shared.u32 [%a6+8], %r1;\nst.shared.u32 [%a6+16], %r1;\n\
         st.shared.u32 [%a6+24], %r1;\nrem.u32 %r2, %r1, 3;\nadd.s32 %r2, %r2, 1;\nN:\nadd.s32 %r3, %r1, %r2;\n\
         rem.u32 %r3, %r3, {first};\nadd.s32 %r3, %r3, {second};\nL:\n{body}add.s64 %a3, %a3, 4;\n\
         add.s32 %r3, %r3, -1;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra L;\nadd.s32 %r2, %r2, -1;\n\
         setp.ne.u32 %p3, %r2, 0;\n@%p3 bra N;\nst.global.u32 [%a4], %r5;\nret;"
    )
}

#[test]
fn lanes_do_in_unrolled_loops_what_they_do_in_the_text() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..300 {
        let body = loops(&mut random);
        let [text, machine] =
            [InstructionSet::Ptx, InstructionSet::Sass].map(|set| accesses(&body, set).0);
        for (text, machine) in text.iter().zip(&machine) {
            assert_eq!(by_lane(text), by_lane(machine), "{body}");
        }
    }
}

#[test]
fn a_loop_that_is_unrolled_counts_once_for_four_iterations() {
    let instructions = |times: u32, pragma: &str| {
        let body =
            walk(&format!("mov.u32 %r3, {times};")).replace("L:\n", &format!("L:\n{pragma}\n"));
        accesses(&body, InstructionSet::Sass).1[0]
    };
    let (one, four, eight) = (instructions(1, ""), instructions(4, ""), instructions(8, ""));
    assert_eq!(eight - four, instructions(12, "") - eight);
    let rolled =
        instructions(8, ".pragma \"nounroll\";") - instructions(4, ".pragma \"nounroll\";");
    assert_eq!(instructions(1, ".pragma \"nounroll\";"), one);
    // A pointer of 64 bits is copied each time, and advances once, as the comparison and the branch; the counter is wanted.
    assert_eq!(rolled - (eight - four), 4 * 2 + 3 * (2 + 1 + 1));
}

#[test]
fn loops_are_unrolled_that_count_and_are_short() {
    let unrolled = |tail: &str, additions: usize| {
        let body = format!(
            "L:\nld.global.f32 %f1, [%a0];\n{}add.s64 %a0, %a0, 4;\n{tail}\n@%p1 bra L;\n\
             st.global.f32 [%a1], %f2;\nret;",
            "fma.rn.f32 %f2, %f1, %f1, %f2;\n".repeat(additions)
        );
        let module = Module::parse(&source(kernel(&body))).unwrap();
        let program = module.program_for("k", InstructionSet::Sass).unwrap();
        program.issued.loops.len() == 1
    };
    let down = "add.s32 %r0, %r0, -1;\nsetp.ne.s32 %p1, %r0, 0;";
    // Measured: 44 and 45 additions of products beside one load.
    assert!(unrolled(down, 44) && !unrolled(down, 45));
    assert!(unrolled("add.s32 %r1, %r1, 4;\nsetp.lt.s32 %p1, %r1, %r0;", 8));
    assert!(unrolled("setp.lt.u64 %p1, %a0, %a1;", 8));
    // Steps that are not known beforehand, and conditions that depend on data.
    assert!(!unrolled("add.s32 %r1, %r1, %r0;\nsetp.lt.s32 %p1, %r1, %r0;", 8));
    assert!(!unrolled("setp.gt.f32 %p1, %f1, 0f3F800000;", 8));
}

/// What a run leaves in memory, and the accesses of all of its warps.
fn execution(run: &str, sets: &[&str]) -> (Vec<Vec<u8>>, Vec<ByLane>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/runs").join(run);
    let sets: Vec<_> = sets.iter().map(|set| overrides::assignment(set).unwrap()).collect();
    let run = load_run(&file, &sets).unwrap();
    let mut workload = registry::build(&run).unwrap();
    let mut accesses = Vec::new();
    let mut cta = Cta::default();
    for launch in workload.launches.iter().filter_map(Work::ptx) {
        let module = Module::parse(&launch.ptx).unwrap();
        let (memory, issued) = (&mut workload.memory, run.machine.sm.instructions);
        let mut source = module.launch_for(launch, memory, issued).unwrap();
        while source.next(&mut cta).unwrap() {
            let of = |stream| by_lane(&records(stream, &source.kernel().insts));
            accesses.extend(cta.warps.iter().map(of));
        }
    }
    let memory = &workload.memory;
    (memory.buffers().iter().map(|(_, buffer)| memory.of(*buffer).to_vec()).collect(), accesses)
}

#[test]
fn values_and_accesses_are_those_of_the_text() {
    let small = ["workload.parameters.side=256", "workload.parameters.tasks=1"];
    let runs = [("heat.ron", &[][..]), ("spmv.ron", &[]), ("parameter-sweep/filter.ron", &small)];
    for (run, sets) in runs {
        let [(text, accesses), (machine, others)] = ["Ptx", "Sass"]
            .map(|set| execution(run, &[sets, &[&format!("sm.instructions={set}")]].concat()));
        assert!(text == machine && !accesses.is_empty() && accesses == others, "{run}");
    }
}
