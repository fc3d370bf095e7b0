//! Calls, indirect branches and barriers, written by hand.

use super::*;
use crate::isa::{BarrierKind, BarrierUse, Op};

/// Runs a module with one entry `k(in, out)` and functions before it.
fn run_with(functions: &str, body: &str, threads: u32) -> Result<(Vec<WarpStream>, Vec<u64>)> {
    let text = kernel(body).replace(".visible .entry", &format!("{functions}\n.visible .entry"));
    run_text(&text, threads)
}

fn run_text(text: &str, threads: u32) -> Result<(Vec<WarpStream>, Vec<u64>)> {
    let mut memory = DeviceMemory::default();
    let [input, output] = ["in", "out"].map(|name| memory.allocate(name, 8 * u64::from(threads)));
    let launch = one_cta(text, threads, &[input, output]);
    let mut cta = Cta::default();
    let module = Module::parse(&launch.ptx)?;
    let mut running = module.launch(&launch, &mut memory)?;
    running.limit = 200_000;
    running.next(&mut cta)?;
    let values = memory.of(output).as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    Ok((cta.warps, values.collect()))
}

fn error_of(functions: &str, body: &str, threads: u32) -> String {
    run_with(functions, body, threads).unwrap_err().to_string()
}

/// How each execution of a barrier uses it.
fn barriers(body: &str, stream: &WarpStream) -> Vec<BarrierUse> {
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 1 << 16);
    let launch = one_cta(kernel(body), 32, &[buffer; 2]);
    let module = Module::parse(&launch.ptx).unwrap();
    let running = module.launch(&launch, &mut memory).unwrap();
    let mut cursor = WarpCursor::default();
    let mut uses = Vec::new();
    while let Some((pc, _)) = cursor.peek(stream) {
        match running.kernel().insts[pc as usize].op {
            Op::Barrier => uses.push(cursor.barrier(stream)),
            Op::Memory(_) => drop(cursor.addresses(stream)),
            _ => {}
        }
        cursor.advance(stream);
    }
    uses
}

const SUM: &str = ".func (.param .b32 r) sum(.param .b32 n) {
    .reg .b32 %a<5>; .reg .pred %q; .local .align 4 .b8 keep[4]; .reg .b64 %l;
    ld.param.u32 %a1, [n]; mov.u64 %l, keep; st.local.u32 [%l], %a1; mov.u32 %a2, 0;
    setp.eq.u32 %q, %a1, 0; @%q bra DONE; sub.u32 %a3, %a1, 1;
    { .param .b32 p0; st.param.b32 [p0+0], %a3; .param .b32 v0;
      call.uni (v0), sum, (p0); ld.param.b32 %a2, [v0+0]; }
    ld.local.u32 %a4, [%l]; add.u32 %a2, %a2, %a4;
    DONE: st.param.b32 [r+0], %a2; ret; }";

const CALL_SUM: &str = "{ .param .b32 p0; st.param.b32 [p0], %r1; .param .b32 v0;
    call.uni (v0), sum, (p0); ld.param.b32 %r2, [v0]; } st.global.u32 [%a1], %r2; ret;";

#[test]
fn every_activation_has_registers_and_memory_of_its_own() {
    let (streams, values) = run_with(SUM, &format!("and.b32 %r1, %r0, 7; {CALL_SUM}"), 40).unwrap();
    for (thread, value) in values.iter().enumerate() {
        let n = thread as u64 & 7;
        assert_eq!(*value, n * (n + 1) / 2, "thread {thread}");
    }
    assert_eq!(steps(&streams[0]).last().unwrap().1, !0, "the lanes meet behind the call");
}

#[test]
fn a_recursion_that_is_too_deep_says_so() {
    let error = error_of(SUM, &format!("mov.u32 %r1, 100000; {CALL_SUM}"), 32);
    assert!(error.contains("thread (0,0,0): calls `sum` at a depth of 512 calls"), "{error}");
    let large = SUM.replace("keep[4]", "keep[400]");
    let error = error_of(&large, &format!("mov.u32 %r1, 100000; {CALL_SUM}"), 32);
    assert!(error.contains("where its stack of 32784 bytes is full"), "{error}");
}

#[test]
fn threads_that_exit_in_a_function_do_not_return() {
    let leave = ".func leave(.param .b32 n) { .reg .b32 %a; .reg .pred %q; ld.param.u32 %a, [n];
        setp.lt.u32 %q, %a, 4; @%q exit; setp.lt.u32 %q, %a, 8; @%q ret; bar.sync 0; ret; }";
    let body = "st.global.u32 [%a1], 1; setp.eq.u32 %p1, %r0, 31; @%p1 bra SKIP;
        { .param .b32 p; st.param.b32 [p], %r0; call.uni leave, (p); }
        SKIP: @%p1 bar.sync 0; st.global.u32 [%a1], 2; ret;";
    let (_, values) = run_with(leave, body, 64).unwrap();
    let expected: Vec<u64> = (0..64).map(|thread| if thread < 4 { 1 } else { 2 }).collect();
    assert_eq!(values, expected);
}

#[test]
fn functions_are_called_through_registers() {
    let functions = ".func (.param .b32 r) one(.param .b32 n) { .reg .b32 %a; ld.param.u32 %a, [n];
        add.u32 %a, %a, 100; st.param.b32 [r], %a; ret; }
        .func (.param .b32 r) two(.param .b32 n) { .reg .b32 %a; ld.param.u32 %a, [n];
        add.u32 %a, %a, 200; st.param.b32 [r], %a; ret; }
        .global .u64 table[2] = {one, two};";
    let body = "and.b32 %r1, %r0, 1; mul.wide.u32 %a3, %r1, 8; mov.u64 %a4, table;
        add.u64 %a4, %a4, %a3; ld.global.u64 %a4, [%a4]; setp.lt.u32 %p1, %r0, 30; mov.u32 %r2, 7;
        { .param .b32 p; st.param.b32 [p], %r0; .param .b32 v; st.param.b32 [v], %r2;
          proto: .callprototype (.param .b32 _) _ (.param .b32 _);
          @%p1 call (v), %a4, (p), proto; ld.param.b32 %r2, [v]; }
        st.global.u32 [%a1], %r2; ret;";
    let (_, values) = run_with(functions, body, 32).unwrap();
    for (thread, value) in values.iter().enumerate() {
        let called = thread as u64 + 100 + 100 * (thread as u64 & 1);
        assert_eq!(*value, if thread < 30 { called } else { 7 });
    }
    let error = error_of(functions, &body.replace("@%p1 call (v), %a4", "call (v), %a0"), 32);
    assert!(error.contains("calls address 0x10000000, where no function is"), "{error}");
    let error = error_of(functions, &body.replace("(p), proto", "(p, p), proto"), 32);
    assert!(error.contains("calls `one` with a wrong number of arguments"), "{error}");
}

#[test]
fn an_indirect_branch_takes_the_way_of_each_lane() {
    let body = "and.b32 %r1, %r0, 3; setp.lt.u32 %p1, %r0, 28; mov.u32 %r2, 9;
        ways: .branchtargets A, B, A, C; @%p1 brx.idx %r1, ways; bra END;
        A: mov.u32 %r2, 1; bra END; B: mov.u32 %r2, 2; bra END; C: mov.u32 %r2, 3;
        END: st.global.u32 [%a1], %r2; ret;";
    let (streams, values) = run(body, 32, &[]).unwrap();
    for (thread, value) in values.iter().enumerate() {
        assert_eq!(*value, if thread < 28 { [1, 2, 1, 3][thread & 3] } else { 9 });
    }
    assert_eq!(steps(&streams[0]).last().unwrap().1, !0);
    let error = run(&body.replace("3; setp", "7; setp"), 32, &[]).unwrap_err().to_string();
    assert!(error.contains("thread (4,0,0): branches to place 4 of a table of 4"), "{error}");
    let error = run("brx.idx %r1, nowhere; ret;", 32, &[]).unwrap_err().to_string();
    assert!(error.contains("no `.branchtargets` named `nowhere`"), "{error}");
}

#[test]
fn tables_of_two_blocks_may_have_one_name() {
    let body = "and.b32 %r1, %r0, 1;
        { ts: .branchtargets A, B; brx.idx %r1, ts; A: mov.u32 %r2, 1; bra J; B: mov.u32 %r2, 2; J: }
        { ts: .branchtargets A, B; { brx.idx %r1, ts; } A: mov.u32 %r3, 3; bra J; B: mov.u32 %r3, 4; J: }
        mad.lo.u32 %r2, %r2, 10, %r3; st.global.u32 [%a1], %r2; ret;";
    assert_eq!(run(body, 2, &[]).unwrap().1, [13, 24]);
    let error = run("A: t: .branchtargets A; t: .branchtargets A; ret;", 1, &[]).unwrap_err();
    assert_eq!(error.to_string(), "t.ptx:9:25: table `t` stands here again");
    // A block's table is not known outside of it.
    let error = run("A: { t: .branchtargets A; } brx.idx 0, t; ret;", 1, &[]).unwrap_err();
    assert_eq!(error.to_string(), "t.ptx:9:40: there is no `.branchtargets` named `t`");
}

#[test]
fn lanes_of_a_warp_arrive_at_a_barrier_one_after_the_other() {
    let body = "setp.lt.u32 %p1, %r0, 10; setp.lt.u32 %p2, %r0, 3; @%p1 bra A; bar.sync 0; bra END;
        A: @%p2 exit; bar.sync 0; END: ret;";
    let (streams, _) = run(body, 64, &[]).unwrap();
    let pass = BarrierUse { kind: BarrierKind::Pass, ..BarrierUse::ALL };
    assert_eq!(barriers(body, &streams[0]), [pass, BarrierUse::ALL]);
    assert_eq!(barriers(body, &streams[1]), [BarrierUse::ALL]);
    // The last lanes of the warp exit: those that wait have arrived for all of it.
    let body = "setp.lt.u32 %p1, %r0, 10; @!%p1 bra A; exit; A: bar.sync 0; ret;";
    let (streams, _) = run(body, 64, &[]).unwrap();
    assert_eq!(barriers(body, &streams[0]), [BarrierUse::ALL]);
}

#[test]
fn barriers_have_numbers_and_counts() {
    let body = "shr.u32 %r1, %r0, 6; add.u32 %r1, %r1, 1; bar.sync %r1, 64; bar.arrive 5, 128;
        @!%p1 bar.red.popc.u32 %r2, %r1, 64, !%p1; st.global.u32 [%a1], %r2; bar.sync 0; ret;";
    let (streams, values) = run(body, 128, &[]).unwrap();
    let at = |id, warps, kind| BarrierUse { id, warps, kind };
    for (warp, stream) in streams.iter().enumerate() {
        let id = warp as u8 / 2 + 1;
        let (wait, arrive) = (BarrierKind::Wait, BarrierKind::Arrive);
        let expected = [at(id, 2, wait), at(5, 4, arrive), at(id, 2, wait), at(0, 0, wait)];
        assert_eq!(barriers(body, stream), expected);
    }
    assert_eq!(values, [64; 128]);
}

#[test]
fn a_barrier_that_cannot_open_says_who_waits_where() {
    let says = |body: &str, parts: &[&str]| {
        let error = run(body, 96, &[]).unwrap_err().to_string();
        parts.iter().for_each(|part| assert!(error.contains(part), "{error:?} lacks {part:?}"));
    };
    says(
        "setp.lt.u32 %p1, %r0, 64; @%p1 bra A;\nbar.sync 2, 64; ret;\nA: bar.sync 1, 96; ret;",
        &[
            "t.ptx:11:1: kernel `k`, CTA (0,0,0), thread (0,0,0): waits for ever: ",
            "warps 0, 1 in line 11 at barrier 1, where 2 of 3 warps arrived",
            "warp 2 in line 10 at barrier 2, where 1 of 2 warps arrived",
        ],
    );
    says(
        "setp.lt.u32 %p1, %r0, 7; @%p1 bra A;\nbar.sync 0; ret;\nA: bar.sync 1; ret;",
        &["lanes of its warp wait in line 10 and others in line 11, at different barriers"],
    );
    says("bar.sync 16; ret;", &["there is no barrier 16"]);
    says("bar.sync 1, 40; ret;", &["40 threads, which are no whole warps"]);
    says("bar.sync %r0; ret;", &["thread (1,0,0)", "name different barriers"]);
    says(
        "setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1, 64; A: bar.sync 1, 96; ret;",
        &["arrives at barrier 1 for 2 warps, where others arrived for 3"],
    );
}

#[test]
fn barriers_in_nested_loops_keep_step() {
    let body =
        ".shared .align 4 .b8 cell[4]; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [cell], 0;
        mov.u32 %r1, 0; bar.sync 0;
        OUTER: mov.u32 %r2, 0;
        INNER: bar.sync 0; ld.shared.u32 %r3, [cell]; bar.sync 0;
        @%p1 bra ADD; bra NEXT; ADD: add.u32 %r4, %r3, 1; st.shared.u32 [cell], %r4;
        NEXT: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 3; @%p2 bra INNER;
        add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 4; @%p2 bra OUTER;
        st.global.u32 [%a1], %r3; ret;";
    assert_eq!(run(body, 96, &[]).unwrap().1, [11; 96]);
}

#[test]
fn lanes_of_both_ways_meet_at_a_warp_barrier() {
    let body = ".shared .align 4 .b8 cell[128]; shl.b32 %r1, %r0, 2; mov.u32 %r2, cell;
        add.u32 %r2, %r2, %r1; xor.b32 %r3, %r2, 64; setp.lt.u32 %p1, %r0, 16; @%p1 bra A;
        st.shared.u32 [%r2], %r0; bar.warp.sync -1; ld.shared.u32 %r4, [%r3]; bra END;
        A: add.u32 %r5, %r0, 100; st.shared.u32 [%r2], %r5; bar.warp.sync -1; ld.shared.u32 %r4, [%r3];
        END: st.global.u32 [%a1], %r4; ret;";
    let (_, values) = run(body, 32, &[]).unwrap();
    let expected: Vec<u64> =
        (0..32).map(|lane| if lane < 16 { lane + 16 } else { lane + 84 }).collect();
    assert_eq!(values, expected);
}

/// Lanes below 16 come to `X` behind an `if`, unless `leaves` holds for them, and the others at once.
fn apart(leaves: &str, x: &str) -> String {
    format!(
        "setp.lt.u32 %p1, %r0, 16; @!%p1 bra X; setp.lt.u32 %p2, %r0, {leaves}; @%p2 bra OUT;
        add.u32 %r9, %r0, 1; X: {x} OUT: ret;"
    )
}

#[test]
fn instructions_across_lanes_wait_for_members_that_come_later() {
    let body = apart(
        "0",
        "shfl.sync.bfly.b32 %r1, %r0, 16, 31, -1; vote.sync.ballot.b32 %r2, %p1, -1; activemask.b32 %r3;
        popc.b32 %r3, %r3; mad.lo.u32 %r2, %r3, 65536, %r2; st.global.v2.u32 [%a1], {%r1, %r2};",
    );
    // From there on they go together.
    let expected: Vec<u64> = (0..32).map(|lane| (32 << 16 | 0xffff) << 32 | lane ^ 16).collect();
    assert_eq!(run(&body, 32, &[]).unwrap().1, expected);
}

#[test]
fn members_that_have_exited_are_not_waited_for() {
    let body = apart("4", "vote.sync.ballot.b32 %r2, %p1, -1; st.global.u32 [%a1], %r2;");
    let expected: Vec<u64> = (0..32).map(|lane| if lane < 4 { 0 } else { 0xfff0 }).collect();
    assert_eq!(run(&body, 32, &[]).unwrap().1, expected);
}

#[test]
fn only_lanes_for_which_the_guard_holds_meet() {
    let x =
        "setp.eq.u32 %p3, %r4, 1; mov.u32 %r2, 7; @%p3 vote.sync.ballot.b32 %r2, %p1, 0x55555555;
        st.global.u32 [%a1], %r2;";
    let body = format!("and.b32 %r4, %r0, 1; xor.b32 %r4, %r4, 1; {}", apart("0", x));
    let expected: Vec<u64> = (0..32).map(|lane| if lane % 2 == 0 { 0x5555 } else { 7 }).collect();
    assert_eq!(run(&body, 32, &[]).unwrap().1, expected);
}

#[test]
fn members_that_wait_for_others_keep_those_who_wait_for_them() {
    // Lane 0 waits for lane 1, that for lane 2, and lane 2, in the same instruction, for lane 3, which waits for lane 0 elsewhere.
    let body =
        "setp.lt.u32 %p1, %r0, 2; selp.u32 %r5, 3, 12, %p1; setp.eq.u32 %p2, %r0, 0; @%p2 bra X;
        setp.eq.u32 %p3, %r0, 99; @%p3 bra OUT; setp.eq.u32 %p3, %r0, 3; @%p3 bra W; bra X;
        W: bar.warp.sync 9; X: redux.sync.add.u32 %r1, %r0, %r5; @%p2 bar.warp.sync 9;
        st.global.u32 [%a1], %r1; OUT: ret;";
    let error = run(body, 4, &[]).unwrap_err().to_string();
    assert!(error.contains("for members that do not come"), "{error}");
}

#[test]
fn members_may_call_a_function_one_after_the_other() {
    let ballot = ".func (.param .b32 r) ballot(.param .b32 n) {
        .reg .b32 %a<3>; .reg .pred %q; ld.param.u32 %a1, [n]; setp.ne.u32 %q, %a1, 3;
        vote.sync.ballot.b32 %a2, %q, -1; st.param.b32 [r+0], %a2; ret; }";
    let call =
        "{ .param .b32 p0; st.param.b32 [p0], %r0; .param .b32 v0; call.uni (v0), ballot, (p0);
        ld.param.b32 %r2, [v0]; } st.global.u32 [%a1], %r2;";
    let (_, values) = run_with(ballot, &apart("0", call), 32).unwrap();
    assert_eq!(values, [0xffff_fff7; 32]);
}

#[test]
fn lanes_in_a_function_do_not_run_with_lanes_that_have_yet_to_call_it() {
    // Lanes below 8 wait in `f` in two frames while the others wait before it is called; all go on at once.
    let wait = ".func f(.param .b32 n) { .reg .b32 %a<3>; .reg .pred %q<3>; ld.param.u32 %a1, [n];
        setp.ge.u32 %q1, %a1, 8; @%q1 ret; setp.lt.u32 %q2, %a1, 4; @%q2 bra L;
        bar.warp.sync 0xff; ret; L: bar.warp.sync 0xff; ret; }";
    let body = "mov.u32 %r3, 0; setp.lt.u32 %p1, %r0, 8; selp.u32 %r5, 0xff, 0xffffff00, %p1; @%p1 bra X;
        setp.eq.u32 %p2, %r0, 99; @%p2 bra OUT; setp.lt.u32 %p3, %r0, 16; @%p3 bra X; add.u32 %r6, %r6, 1;
        X: vote.sync.ballot.b32 %r2, %p1, %r5; add.u32 %r3, %r3, 1;
        { .param .b32 p0; st.param.b32 [p0], %r0; call.uni f, (p0); }
        add.u32 %r3, %r3, 16; st.global.u32 [%a1], %r3; OUT: ret;";
    let (_, values) = run_with(wait, body, 32).unwrap();
    assert_eq!(values, [17; 32]);
}

#[test]
fn lanes_look_across_those_that_name_the_same_members() {
    let body =
        "setp.lt.u32 %p1, %r0, 16; selp.u32 %r1, 0xffff, 0xffff0000, %p1; setp.ne.u32 %p2, %r0, 3;
        vote.sync.all.pred %p3, %p2, %r1; selp.u32 %r2, 1, 0, %p3; redux.sync.add.u32 %r3, %r0, %r1;
        st.global.v2.u32 [%a1], {%r2, %r3};";
    let (_, values) = run(&format!("{body} ret;"), 32, &[]).unwrap();
    let halves = [120 << 32, 376 << 32 | 1];
    let expected: Vec<u64> = (0..32).map(|lane| halves[lane / 16]).collect();
    assert_eq!(values, expected);
}

#[test]
fn lanes_that_name_other_members_have_not_come() {
    // Lanes 0 to 15 come to X in two groups and name each other; then all name all.
    let body = "mov.u32 %r2, 0; mov.u32 %r5, -1; setp.ge.u32 %p0, %r0, 0; setp.ge.u32 %p1, %r0, 16; @%p1 bra X;
        mov.u32 %r5, 0xffff; setp.lt.u32 %p2, %r0, 8; @%p2 bra X; setp.eq.u32 %p3, %r0, 99; @%p3 bra OUT;
        X: vote.sync.ballot.b32 %r3, %p0, %r5; setp.eq.u32 %p4, %r5, -1; @%p4 bra END;
        mov.u32 %r2, %r3; mov.u32 %r5, -1; bra X;
        END: st.global.v2.u32 [%a1], {%r2, %r3}; OUT: ret;";
    let (_, values) = run_with("", body, 32).unwrap();
    let all = 0xffff_ffff << 32;
    assert_eq!(values[..16], [all | 0xffff; 16]);
    assert_eq!(values[16..], [all; 16]);
}

/// Of each of 32 lanes: a word of shared memory where its neighbour, 16 lanes away, has stored 1 and, of the second half, later 2.
fn read_of_neighbour(functions: &str, body: &str) -> Vec<u64> {
    let body = format!(
        ".shared .align 4 .b8 tile[128]; mov.u32 %r2, tile; shl.b32 %r3, %r0, 2; add.u32 %r2, %r2, %r3; xor.b32 %r3, %r2, 64;
        st.shared.u32 [%r2], 1; setp.lt.u32 %p1, %r0, 16; mov.u32 %r4, 0; mov.u32 %r5, 0; barrier.sync 0;
        {body} st.global.v2.u32 [%a1], {{%r4, %r5}}; exit;"
    );
    run_with(functions, &body, 32).unwrap().1
}

#[test]
fn lanes_whose_guard_is_false_do_not_arrive_at_a_barrier() {
    let body = "@%p1 barrier.sync 0; @%p1 ld.shared.u32 %r4, [%r3]; @!%p1 st.shared.u32 [%r2], 2; @!%p1 barrier.sync 0;
        @%p1 barrier.red.popc.u32 %r5, 1, %p1; @!%p1 barrier.red.popc.u32 %r5, 1, !%p1;";
    let values = read_of_neighbour("", body);
    assert_eq!(values[..16], [32 << 32 | 2; 16]);
    assert_eq!(values[16..], [32 << 32; 16]);
}

#[test]
fn lanes_meet_at_guarded_barriers_of_the_warp() {
    let body = "@%p1 st.shared.u32 [%r2], 3; @!%p1 st.shared.u32 [%r2], 4; @%p1 bar.warp.sync -1; @!%p1 bar.warp.sync -1;
        ld.shared.u32 %r4, [%r3];";
    let values = read_of_neighbour("", body);
    assert_eq!([&values[..16], &values[16..]], [[4; 16], [3; 16]]);
}

#[test]
fn lanes_that_went_ahead_are_waited_for_from_then_on() {
    // One lane waits at the first barrier and the others at the second; what follows needs all of them.
    let body = "setp.eq.u32 %p2, %r0, 3; @%p2 barrier.sync 0; @!%p2 barrier.sync 0; setp.ne.u32 %p3, %r0, 6;
        vote.sync.ballot.b32 %r4, %p3, -1; shfl.sync.idx.b32 %r5, %r0, 9, 31, -1;";
    assert_eq!(read_of_neighbour("", body), [9 << 32 | 0xffff_ffbf; 32]);
}

#[test]
fn lanes_whose_guard_is_false_are_not_held_up_by_a_call() {
    let reads = ".func (.param .b32 r) reads(.param .b32 at) { .reg .b32 %b<3>; ld.param.b32 %b1, [at]; barrier.sync 0;
        ld.shared.b32 %b2, [%b1]; st.param.b32 [r], %b2; ret; }";
    let body = "{ .param .b32 x; .param .b32 v; st.param.b32 [x], %r3; @%p1 call (v), reads, (x); @%p1 ld.param.b32 %r4, [v]; }
        @!%p1 st.shared.u32 [%r2], 2; @!%p1 barrier.sync 0;";
    let values = read_of_neighbour(reads, body);
    assert_eq!([values[0], values[31]], [2, 0]);
    // Nor where the function asks for all of them, and the others call it elsewhere.
    let votes = ".func (.param .b32 r) votes(.param .b32 at) { .reg .b32 %b<3>; .reg .pred %q; ld.param.b32 %b1, [at];
        setp.eq.u32 %q, 0, 0; vote.sync.ballot.b32 %b2, %q, %b1; st.param.b32 [r], %b2; ret; }";
    let call = |guard: &str| {
        format!(
            "{{ .param .b32 x; .param .b32 v; st.param.b32 [x], -1; {guard} call (v), votes, (x); {guard} ld.param.b32 %r4, [v]; }}"
        )
    };
    let values = read_of_neighbour(votes, &[call("@%p1"), call("@!%p1")].concat());
    assert_eq!(values, [0xffff_ffff; 32]);
}

#[test]
fn lanes_that_wait_for_others_where_control_flow_meets_go_ahead_when_these_wait_for_them() {
    // Lane n leaves the loop after n turns; in each turn those that are left sum up all lanes that have not exited.
    let body = "mov.u32 %r6, 0;
        L: setp.ge.u32 %p2, %r6, %r0; @%p2 bra DONE; add.u32 %r6, %r6, 1; setp.eq.u32 %p3, %r6, 40; @%p3 bra DONE;
        redux.sync.add.u32 %r4, 1, -1; bra L; DONE:";
    let values = read_of_neighbour("", body);
    let sums: Vec<u64> = (0..32).map(|lane| if lane == 0 { 0 } else { 32 - lane }).collect();
    assert_eq!(values, sums);
}

#[test]
fn modifiers_of_instructions_across_lanes_stand_in_any_order() {
    let body = "setp.lt.u32 %p1, %r0, 4; vote.ballot.sync.b32 %r4, %p1, -1; shfl.idx.sync.b32 %r5, %r0, 7, 31, -1;";
    assert_eq!(read_of_neighbour("", body), [7 << 32 | 0xf; 32]);
    let body = "match.sync.any.b32 %r4, %r1, -1; redux.max.sync.u32 %r5, %r0, -1;";
    assert_eq!(
        read_of_neighbour("", &format!("mov.u32 %r1, 3; {body}")),
        [31 << 32 | 0xffff_ffff; 32]
    );
}

#[test]
fn addresses_of_32_bits_wrap() {
    // As compilers write it: the register lies below the first byte of shared memory.
    let body = "shl.b32 %r6, %r0, 2; sub.u32 %r6, %r6, 128; sub.u32 %r6, %r2, %r6; mad.lo.u32 %r6, %r0, 4, -128;
        mov.u32 %r1, tile; add.u32 %r6, %r6, %r1; st.shared.u32 [%r6+128], %r0; atom.shared.add.u32 %r5, [%r6+128], 5;
        ld.shared.u32 %r4, [%r6+128];";
    let expected: Vec<u64> = (0..32).map(|lane| lane << 32 | (lane + 5)).collect();
    assert_eq!(read_of_neighbour("", body), expected);
}

#[test]
fn lanes_that_wait_for_members_at_a_barrier_are_an_error() {
    let x = "@!%p1 bra B; vote.sync.ballot.b32 %r2, %p1, -1; B: bar.sync 0;";
    let error = run(&apart("0", x), 32, &[]).unwrap_err().to_string();
    assert!(error.contains("for members that do not come"), "{error}");
}

#[test]
fn clocks_count_instructions() {
    let body = "mov.u64 %a3, %clock64; mov.u32 %r1, %clock; mov.u64 %a4, %globaltimer;
        sub.u64 %a4, %a4, %a3; mov.u32 %r2, %smid; mov.u32 %r3, %nsmid; add.u32 %r2, %r2, %r3;
        cvt.u32.u64 %r4, %a4; mul.lo.u32 %r4, %r4, %r2; st.global.u32 [%a1], %r4; ret;";
    assert_eq!(run(body, 2, &[]).unwrap().1, [2, 2]);
}

#[test]
fn generic_addresses_of_one_access_may_lie_in_several_spaces() {
    let body = ".shared .align 4 .b8 s[128]; .local .align 4 .b8 l[4]; mov.u64 %a3, s;
        shl.b32 %r1, %r0, 2; cvt.u64.u32 %a4, %r1; add.u64 %a3, %a3, %a4; st.shared.u32 [%a3], %r0;
        cvta.shared.u64 %a3, %a3; mov.u64 %a5, l; st.local.u32 [%a5], 1000; cvta.local.u64 %a5, %a5;
        st.global.u32 [%a0], 500; and.b32 %r2, %r0, 3; setp.eq.u32 %p1, %r2, 0;
        selp.b64 %a6, %a3, %a0, %p1; setp.eq.u32 %p1, %r2, 1; selp.b64 %a6, %a5, %a6, %p1;
        ld.u32 %r3, [%a6]; st.u32 [%a6], 7; ld.u32 %r4, [%a6]; add.u32 %r3, %r3, %r4;
        isspacep.shared %p2, %a6; isspacep.local %p3, %a6; isspacep.global %p4, %a6;
        selp.u32 %r5, 10000, 0, %p2; selp.u32 %r6, 20000, 0, %p3; selp.u32 %r7, 40000, 0, %p4;
        add.u32 %r3, %r3, %r5; add.u32 %r3, %r3, %r6; add.u32 %r3, %r3, %r7;
        st.global.u32 [%a1], %r3; ret;";
    let (_, values) = run(body, 32, &[]).unwrap();
    for (lane, value) in (0..32).zip(values) {
        let expected = [lane + 10000, 21000, 40500, 40500][lane as usize & 3] + 7;
        assert_eq!(value, expected, "lane {lane}");
    }
}
