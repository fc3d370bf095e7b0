//! What wrong input is told.

use super::*;

fn message(body: &str) -> String {
    run(body, 32, &[]).unwrap_err().to_string()
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

fn at(column: u32) -> String {
    format!("t.ptx:{BODY_LINE}:{column}: ")
}

#[test]
fn an_unknown_opcode_is_named_with_its_place() {
    says(
        &message("add.s32 %r1, %r1, 1; tex.1d.v4.f32 {%r1}, [%a0]; ret;"),
        &[&at(22), "`tex.1d.v4.f32`"],
    );
    says(&message("  add.cc.u32 %r1, %r1, 1; ret;"), &[&at(3), "`add.cc.u32` is not supported"]);
    says(&message("call foo; ret;"), &[&at(1), "`foo` has no body", "hint: compile the whole"]);
    says(&message("call malloc; ret;"), &["`malloc`", "hint: there is no heap in a kernel"]);
    says(
        &message("add.u32 %r1, %clock, 1; ret;"),
        &["`%clock`", "hint: read the clock with `mov`"],
    );
}

#[test]
fn wrong_operands_are_told_with_their_column() {
    says(&message("add.s32 %r1, %r1, %nope; ret;"), &[&at(19), "`%nope`"]);
    says(&message("add.s32 %r1, %a1, 1; ret;"), &[&at(14), "32-bit"]);
    says(&message("add.s32 %r1, %r16, 1; ret;"), &[&at(14), "`%r16`"]);
    says(&message("add.s32 %r1, %r2; ret;"), &["needs more operands"]);
    says(&message("add.s32 %r1, %r2, 1, 2; ret;"), &[&at(22), "too many"]);
    says(&message("bra NOWHERE; ret;"), &["label `NOWHERE`"]);
    says(&message("@%r1 ret; ret;"), &["no predicate"]);
    says(&message("ld.param.u32 %r1, [out+8]; ret;"), &["past the end of `out`"]);
    says(&message("ld.global.u64 %r1, [%a0]; ret;"), &["64-bit register"]);
    says(&message("mov.u32 %r1, 1;"), &["past the end of the entry", "hint"]);
    says(&message("ret"), &["expected an operand, found `}`"]);
}

#[test]
fn an_access_out_of_bounds_names_thread_and_address() {
    let error = message("ld.global.u32 %r1, [%a1+16]; st.global.u32 [%a1], %r1; ret;");
    let address = DeviceMemory::BASE + 512 + 256;
    says(
        &error,
        &[
            &at(1),
            "kernel `k`, CTA (0,0,0), thread (30,0,0): reads 4 bytes at address",
            &format!("{address:#x}"),
            "256 bytes past the start of `out`, which has 256",
        ],
    );
    says(&message("\nst.global.u32 [8], 1; ret;"), &["t.ptx:10:1: ", "thread (0,0,0): writes 4"]);
    says(&message("st.shared.u32 [0], 1; ret;"), &["0 bytes of shared memory"]);
}

#[test]
fn a_misaligned_access_names_the_alignment() {
    says(
        &message("ld.global.u32 %r1, [%a0+2]; ret;"),
        &["not aligned to 4 bytes", "thread (0,0,0)"],
    );
    says(&message("ld.global.v2.u32 {%r1, %r2}, [%a0+4]; ret;"), &["not aligned to 8 bytes"]);
}

#[test]
fn a_kernel_that_never_ends_meets_its_limit() {
    says(&message("LOOP: bra LOOP; ret;"), &["more warp instructions than its limit"]);
    says(&message("trap; ret;"), &["executed `trap`"]);
}

#[test]
fn a_launch_must_fit_the_entry() {
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 256);
    let launch = Launch {
        ptx: source(kernel("ret;").replace(") {", ") .maxntid 64, 1, 1 {")),
        entry: "k".into(),
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_shared: 0,
        args: vec![Arg::Buffer(buffer); 2],
    };
    let module = Module::parse(&launch.ptx).unwrap();
    let mut told = |change: &dyn Fn(&mut Launch)| {
        let mut launch = launch.clone();
        change(&mut launch);
        module.launch(&launch, &mut memory).map(|_| ()).unwrap_err().to_string()
    };
    says(&told(&|launch| launch.entry = "q".into()), &["no entry `q`", "the module has: k"]);
    says(&told(&|launch| launch.args.truncate(1)), &["launch of `k`", "1 arguments for 2"]);
    says(&told(&|launch| launch.args[1] = Arg::I32(3)), &["argument 1 has 4 bytes", "`out` has 8"]);
    says(&told(&|launch| launch.grid[1] = 0), &["must not be zero"]);
    says(&told(&|launch| launch.block[2] = 0), &["must not be zero"]);
    says(&told(&|launch| launch.block = [u32::MAX; 3]), &["1024"]);
    says(&told(&|launch| launch.block = [65, 1, 1]), &[".maxntid"]);
}
