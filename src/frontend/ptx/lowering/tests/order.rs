//! The order in which instructions are issued, and the records of what they did.

use std::path::Path;

use super::super::super::Module;
use super::super::super::tests::{BODY_LINE, kernel, source};
use crate::config::machine::InstructionSet;
use crate::config::{load_run, overrides};
use crate::isa::{Cta, CtaSource, Inst, LaneAddresses, LaneMask, Op, WarpCursor, WarpStream};
use crate::workload::{Arg, DeviceMemory, Launch, Work, registry};

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
    assert_eq!(issued(body)[1..6], [4, 5, 2, 3, 6]);
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
    let mut memory = DeviceMemory::default();
    let [input, output] = ["in", "out"].map(|name| memory.allocate(name, 96 * 64));
    let launch = Launch {
        ptx: source(kernel(body)),
        entry: "k".into(),
        grid: [1; 3],
        block: [96, 1, 1],
        dynamic_shared: 8192,
        args: vec![Arg::Buffer(input), Arg::Buffer(output)],
    };
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

/// In the order of the text, less those without a lane.
fn by_line(mut records: Vec<Access>) -> Vec<Access> {
    records.retain(|(_, access)| access.mask != 0);
    records.sort_by_key(|(line, _)| *line);
    records
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
    for (text, machine) in text.into_iter().zip(machine) {
        assert_eq!(by_line(text), by_line(machine));
    }
}

/// What a run leaves in memory, and the accesses of all of its warps.
fn execution(run: &str, sets: &[&str]) -> (Vec<Vec<u8>>, Vec<Vec<Access>>) {
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
            let of = |stream| by_line(records(stream, &source.kernel().insts));
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
