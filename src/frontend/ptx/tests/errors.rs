//! What wrong input is told.

use super::*;
use crate::config::machine::InstructionSet;

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
    says(&message("  add.cc.u16 %h1, %h1, 1; ret;"), &[&at(3), "`add.cc.u16` is not supported"]);
    for fence in ["fence", "membar", "fence.acq_rel", "fence.bogus", "membar.gl.x"] {
        let text = message(&format!("{fence}; ret;"));
        says(&text, &[&at(1), &format!("`{fence}` is not supported")]);
    }
    says(&message("call foo; ret;"), &[&at(1), "`foo` has no body", "hint: compile the whole"]);
    says(&message("call malloc; ret;"), &["`malloc`", "hint: there is no heap in a kernel"]);
    says(
        &message("add.u32 %r1, %clock, 1; ret;"),
        &["`%clock`", "hint: read the clock with `mov`"],
    );
}

#[test]
fn logic_of_predicates_takes_no_negation() {
    says(
        &message("  and.pred %p1, %p1, !%p1; ret;"),
        &[&at(22), "`and.pred` takes no `!`", "hint: `not.pred` comes before it"],
    );
    says(&message("mov.pred %p1, !%p1; ret;"), &[&at(15), "`mov.pred` takes no `!`"]);
    run("vote.sync.all.pred %p1, !%p1, -1; ret;", 32, &[]).unwrap();
}

#[test]
fn clusters_of_more_than_a_cta_are_refused() {
    let entry = |directive: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {directive} {{ ret; }}"
        );
        Module::parse(&source(text)).unwrap().program_for("k", InstructionSet::Ptx).map(drop)
    };
    assert!(entry(".reqnctapercluster 1").is_ok());
    let refused = entry(".explicitcluster .reqnctapercluster 2, 2").unwrap_err().to_string();
    says(
        &refused,
        &["t.ptx:4:8: `k` asks for clusters of 4 CTAs", "hint: clusters are not modelled"],
    );
}

#[test]
fn what_is_not_supported_may_have_operands_that_nothing_else_has() {
    let textures = " (hint: textures and surfaces are not modelled: read a buffer)";
    for (instruction, hint) in [
        ("tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [t, {%r1, %r2}];", textures),
        ("tex.2d.v4.f32.s32 {%f0, %f1, %f2, %f3}|%p1, [%a0, s, {%r1, %r2}], {1, 2};", textures),
        ("suld.b.1d.b32.trap {%r1}, [s, {%r1}];", textures),
        (
            "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes \
             [%r1], [%a1, {%r2, %r3, %r4}], [%r3], {%h1};",
            "",
        ),
        ("foo.bar [{%r1, [%a0, 4]}, {{%r3}}], -1, [[1]];", ""),
    ] {
        let (name, _) = instruction.split_once(' ').unwrap();
        let want = format!("{}`{name}` is not supported{hint}", at(3));
        assert_eq!(message(&format!("  {instruction} ret;")), want);
    }
    let told = |body: &str, what: &str| assert_eq!(message(body), what);
    told(
        "cp.async.bulk.prefetch.tensor.2d.L2.global [%a0, {%r1}]; ret;",
        &format!("{}1 coordinates, where the instruction has 2", at(44)),
    );
    told(
        "cp.async.bulk.prefetch.tensor.2d.L2.global [%a0]; ret;",
        &format!("{}expected a tensor map and coordinates, such as `[%rd1, {{%r1, %r2}}]`", at(44)),
    );
    told(
        "ld.global.u32 %r1, [%a0, 4]; ret;",
        &format!("{}expected an address such as `[%rd1+4]`", at(20)),
    );
    told("mov.u32 {{%r1}}, 1; ret;", &format!("{}expected a register", at(9)));
    told("foo.bar [{%r1}; ret;", &format!("{}expected `]`, found `;`", at(15)));
    told("foo.bar [%a0, {4]; ret;", &format!("{}expected `,`, found `]`", at(17)));
    told("foo.bar [%a0, {}]; ret;", &format!("{}expected an operand, found `}}`", at(16)));
}

#[test]
fn an_entry_runs_beside_one_that_cannot() {
    let text = kernel("tex.2d.v4.f32.s32 {%f0}, [t, {%r1, %r2}]; ret;");
    // A handle of a texture may be declared.
    let text = format!("{text}.global .texref t;\n.visible .entry q() {{ ret; }}\n");
    let module = Module::parse(&source(text)).unwrap();
    assert!(module.parameters("k").is_err());
    assert_eq!(module.parameters("q").unwrap(), 0);
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
    says(
        &message("LOOP: bra LOOP; ret;"),
        &[
            "more warp instructions than its limit of 1",
            "(hint: raise instruction_limit of the workload",
        ],
    );
    says(&message("trap; ret;"), &["executed `trap`"]);
}

#[test]
fn two_bodies_with_one_name_are_refused() {
    let function = ".version 8.0\n.target sm_52\n.address_size 64\n.func f\n{ ret; }\n".to_owned();
    for (one, column, what) in
        [(kernel("ret;"), 17, "entry is named `k`"), (function, 7, "function is named `f`")]
    {
        let second = one.lines().count() + 4;
        let error = Module::parse(&source(one.repeat(2))).unwrap_err().to_string();
        let place =
            format!("t.ptx:{second}:{column}: a second {what} (hint: the first is in line 4)");
        assert_eq!(error, place);
    }
}

#[test]
fn a_launch_must_fit_the_entry() {
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 256);
    let launch = one_cta(kernel("ret;").replace(") {", ") .maxntid 64, 1, 1 {"), 32, &[buffer; 2]);
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

#[test]
fn a_kernel_that_never_ends_says_where_it_loops() {
    let error =
        message("mov.u32 %r1, 0;\nLOOP: add.u32 %r1, %r1, 1;\nbra MORE;\nMORE:\nbra LOOP; ret;");
    says(&error, &["warp 0 loops in lines 10 to 13", "more warp instructions than its limit"]);
    says(&message("LOOP: bra LOOP; ret;"), &["warp 0 loops in line 9 (hint: "]);
}

#[test]
fn shared_memory_must_be_written_before_it_is_read() {
    let error = message(".shared .align 4 .b8 s[256]; ld.shared.u32 %r1, [s+8]; ret;");
    says(
        &error,
        &["thread (0,0,0): reads 4 bytes at address 0x8 of shared memory, which nothing was"],
    );
    let error = message(
        ".shared .align 4 .b8 s[256]; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r2, %r2, %r1;
         setp.lt.u32 %p1, %r0, 9; @%p1 st.shared.u32 [%r2], 1; ld.shared.u32 %r3, [%r2]; ret;",
    );
    says(&error, &["t.ptx:10:1", "thread (9,0,0)", "address 0x24"]);
    // One byte of a value is enough, so that structures with gaps can be copied.
    let body = ".shared .align 8 .b8 s[256]; st.shared.u8 [s], 1; ld.shared.u64 %a3, [s]; ret;";
    assert!(run(body, 32, &[]).is_ok());
    says(&message(&body.replace("u64 %a3", "v2.u32 {%r1, %r2}")), &["address 0x0 of shared"]);
}

#[test]
fn division_by_zero_is_an_error_that_can_be_switched_off() {
    let body = "rem.s32 %r1, %r0, %r0; ret;";
    says(&message(body), &[&at(1), "thread (0,0,0): divides a whole number by zero"]);
    says(&message("mov.u16 %h1, 0; div.u16 %h2, %h1, %h1; ret;"), &["by zero"]);
    says(&message("mov.u64 %a3, 0; div.s64 %a3, %a0, %a3; ret;"), &["by zero"]);
    assert!(run("setp.ne.u32 %p1, %r0, 0; @%p1 div.u32 %r1, 7, %r0; ret;", 32, &[]).is_ok());
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 256);
    let launch = one_cta(
        kernel(".shared .align 4 .b8 s[64]; ld.shared.u32 %r1, [s]; div.u32 %r1, 1, %r1; ret;"),
        32,
        &[buffer; 2],
    );
    let module = Module::parse(&launch.ptx).unwrap();
    let mut running = module.launch(&launch, &mut memory).unwrap();
    running.check(crate::frontend::ptx::Checks { uninitialised_shared: false, division: false });
    assert!(drain(&mut running).is_ok());
}

#[test]
fn a_failed_assertion_says_what_failed() {
    let text = kernel(
        "setp.ne.u32 %p1, %r0, 5; @%p1 bra END; mov.u64 %a3, text; mov.u64 %a4, file;
         { .param .b64 p0; st.param.b64 [p0], %a3; .param .b64 p1; st.param.b64 [p1], %a4;
           .param .b32 p2; st.param.b32 [p2], 12; .param .b64 p3; st.param.b64 [p3], %a4;
           .param .b64 p4; st.param.b64 [p4], 1; call.uni __assertfail, (p0, p1, p2, p3, p4); }
         END: ret;",
    );
    let text = text.replace(
        ".visible",
        ".global .align 1 .b8 text[5] = {97, 60, 98, 0};\n.global .align 1 .b8 file[4] = {102, 46, 99};
         .visible",
    );
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 256);
    let launch = one_cta(text, 32, &[buffer; 2]);
    let module = Module::parse(&launch.ptx).unwrap();
    let error = drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap_err().to_string();
    says(&error, &["thread (5,0,0): assertion `a<b` failed in f.c:12, function `f.c`"]);
}

#[test]
fn what_is_not_modelled_is_named_with_a_hint() {
    says(&message("tex.2d.v4.f32.f32 {%f0}, [%a0]; ret;"), &["`tex.2d.v4.f32.f32`", "textures"]);
    says(&message("wmma.load.a.sync {%r1}, [%a0]; ret;"), &["multiply with `mma.sync`"]);
    says(&message("barrier.cluster.arrive; ret;"), &["clusters are not modelled"]);
    says(&message("st.const.u32 [%a0], 1; ret;"), &["constant memory cannot be written"]);
    says(&message("cp.async.ca.shared.global [%r1], [%a0], 5; ret;"), &["4, 8 or 16 bytes"]);
}
