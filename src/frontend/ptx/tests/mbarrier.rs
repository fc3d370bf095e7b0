//! Mbarriers: who waits, for what, and what the machine is told.

use super::*;
use crate::isa::{Mbarrier, MbarrierUse, Op};

/// Two mbarriers and two words for each of 64 threads in shared memory; the first thread begins the mbarriers, for so many arrivals
/// each, and `%r1` and `%r2` are their addresses, `%r3` that of the thread's words.
fn with_two(counts: [u32; 2], body: &str) -> String {
    let [one, other] = counts;
    format!(
        ".shared .align 8 .b64 bars[2]; .shared .align 8 .b8 words[512]; \
         mov.u32 %r1, bars; add.u32 %r2, %r1, 8; mov.u32 %r3, words; shl.b32 %r4, %r0, 3; add.u32 %r3, %r3, %r4; \
         setp.ne.u32 %p0, %r0, 0; @%p0 bra BEGUN; \
         mbarrier.init.shared.b64 [%r1], {one}; mbarrier.init.shared::cta.b64 [%r2], {other}; BEGUN: bar.sync 0; {body}"
    )
}

/// How each warp uses mbarriers.
fn uses(text: &str, streams: &[WarpStream]) -> Vec<Vec<(Mbarrier, u16, u32)>> {
    records(text, streams, |op, cursor, stream| {
        let Op::Mbarrier(kind) = op else { return None };
        let MbarrierUse { id, arrivals } = cursor.mbarrier(stream);
        Some((kind, id, arrivals))
    })
}

fn error_of(body: &str, threads: u32) -> String {
    run(body, threads, &vec![0; threads as usize]).unwrap_err().to_string()
}

#[test]
fn all_threads_meet_and_the_last_warp_need_not_wait() {
    let body = with_two(
        [64, 1],
        "st.shared.u64 [%r3], %a2; mbarrier.arrive.shared.b64 %a4, [%r1]; \
         WAIT: mbarrier.try_wait.shared.b64 %p1, [%r1], %a4; @!%p1 bra WAIT; \
         xor.b32 %r5, %r0, 63; shl.b32 %r5, %r5, 3; mov.u32 %r6, words; add.u32 %r6, %r6, %r5; \
         ld.shared.u64 %a5, [%r6]; st.global.u64 [%a1], %a5; ret;",
    );
    let (streams, values) = run(&body, 64, &[0; 64]).unwrap();
    assert_eq!(values, (0..64).rev().map(|thread| 8 * thread).collect::<Vec<u64>>());
    let used = [(Mbarrier::Arrive, 0, 1), (Mbarrier::Wait, 0, 2)];
    assert_eq!(uses(&body, &streams), [used; 2]);
}

#[test]
fn a_producer_and_a_consumer_take_turns() {
    // The first warp fills the words in each of eight turns, the second one adds them up.
    let body = with_two(
        [32, 32],
        "mov.u32 %r5, 0; mov.u64 %a6, 0; and.b32 %r6, %r0, 31; shl.b32 %r6, %r6, 3; mov.u32 %r7, words; add.u32 %r6, %r6, %r7; \
         setp.ge.u32 %p1, %r0, 32; @%p1 bra CONSUMER; \
         PRODUCER: and.b32 %r8, %r5, 1; xor.b32 %r9, %r8, 1; \
         FREE: mbarrier.test_wait.parity.shared.b64 %p2, [%r2], %r9; @!%p2 bra FREE; \
         cvt.u64.u32 %a5, %r5; st.shared.u64 [%r6], %a5; mbarrier.arrive.release.cta.shared.b64 _, [%r1]; \
         add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 8; @%p3 bra PRODUCER; bra DONE; \
         CONSUMER: and.b32 %r8, %r5, 1; \
         FULL: mbarrier.try_wait.parity.acquire.cta.shared.b64 %p2, [%r1], %r8, 1000; @!%p2 bra FULL; \
         ld.shared.u64 %a5, [%r6]; add.u64 %a6, %a6, %a5; mbarrier.arrive.shared.b64 _, [%r2]; \
         add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 8; @%p3 bra CONSUMER; \
         DONE: st.global.u64 [%a1], %a6; ret;",
    );
    let (streams, values) = run(&body, 64, &[0; 64]).unwrap();
    assert_eq!(values[..32], [0; 32]);
    assert_eq!(values[32..], [28; 32]);
    let uses = uses(&body, &streams);
    // The producer waits for the words to be free, which they are at first; the consumer for so many arrivals.
    let waits = |warp: usize| {
        let waits = uses[warp].iter().filter(|(kind, ..)| *kind == Mbarrier::Wait);
        waits.map(|(_, _, arrivals)| *arrivals).collect::<Vec<u32>>()
    };
    assert_eq!(waits(0), (0..8).collect::<Vec<u32>>());
    assert_eq!(waits(1), (1..9).collect::<Vec<u32>>());
}

#[test]
fn lanes_of_a_warp_wait_for_others_of_it() {
    // Only the upper half waits at first; a lane of the lower half arrives for it behind the branch.
    let body = with_two(
        [1, 1],
        "setp.lt.u32 %p1, %r0, 16; @%p1 bra LOWER; \
         WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra WAIT; bra JOIN; \
         LOWER: setp.ne.u32 %p3, %r0, 3; @%p3 bra JOIN; st.shared.u64 [%r3], 7; mbarrier.arrive.shared.b64 _, [%r1]; \
         JOIN: st.global.u64 [%a1], 1; ret;",
    );
    let (streams, values) = run(&body, 32, &[0; 32]).unwrap();
    assert_eq!(values, [1; 32]);
    // Whoever waits in the stream before the arrival would wait for ever.
    let uses = uses(&body, &streams);
    let place = |kind| uses[0].iter().position(|(other, ..)| *other == kind).unwrap();
    if place(Mbarrier::Wait) < place(Mbarrier::Arrive) {
        assert_eq!(uses[0][place(Mbarrier::Wait)], (Mbarrier::Wait, 0, 0));
    }
}

#[test]
fn parts_of_a_warp_wait_at_mbarriers_of_their_own() {
    // The upper half waits at the first one, the lower half at the second one; the other warp arrives five times at one and once at the
    // other.
    let body = with_two(
        [1, 5],
        "setp.ge.u32 %p1, %r0, 32; @%p1 bra OTHER; setp.lt.u32 %p1, %r0, 16; @%p1 bra LOWER; \
         UP: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra UP; bra JOIN; \
         LOWER: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra LOWER; bra JOIN; \
         OTHER: setp.ne.u32 %p3, %r0, 32; @%p3 bra JOIN; mbarrier.arrive.shared.b64 _, [%r1]; \
         mbarrier.arrive.shared.b64 _, [%r2]; mbarrier.arrive.shared.b64 _, [%r2]; mbarrier.arrive.shared.b64 _, [%r2]; \
         mbarrier.arrive.shared.b64 _, [%r2]; mbarrier.arrive.shared.b64 _, [%r2]; JOIN: st.global.u64 [%a1], 1; ret;",
    );
    let (streams, values) = run(&body, 64, &[0; 64]).unwrap();
    assert_eq!(values, [1; 64]);
    let uses = uses(&body, &streams);
    let arrivals = |id: u16| {
        uses[1]
            .iter()
            .filter(|one| matches!(one, (Mbarrier::Arrive, other, 1) if *other == id))
            .count()
    };
    for (_, id, awaited) in uses[0].iter().filter(|(kind, ..)| *kind == Mbarrier::Wait) {
        assert!(*awaited as usize <= arrivals(*id), "{id}: {awaited}");
    }
}

#[test]
fn who_waits_goes_on_though_others_have_gone_through_a_further_phase() {
    let body = with_two(
        [1, 1],
        "setp.ge.u32 %p1, %r0, 32; @%p1 bra OTHER; \
         WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra WAIT; bra DONE; \
         OTHER: setp.ne.u32 %p3, %r0, 32; @%p3 bra DONE; \
         mbarrier.arrive.shared.b64 _, [%r1]; mbarrier.arrive.shared.b64 _, [%r1]; DONE: st.global.u64 [%a1], 1; ret;",
    );
    assert_eq!(run(&body, 64, &[0; 64]).unwrap().1, [1; 64]);
}

#[test]
fn lanes_that_are_held_up_to_meet_those_that_wait_arrive_for_them() {
    let body = with_two(
        [1, 1],
        "setp.eq.u32 %p1, %r0, 0; @%p1 bra JOIN; \
         WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra WAIT; \
         JOIN: setp.ne.u32 %p3, %r0, 0; @%p3 bra DONE; mbarrier.arrive.shared.b64 _, [%r1]; \
         DONE: st.global.u64 [%a1], 1; ret;",
    );
    assert_eq!(run(&body, 32, &[0; 32]).unwrap().1, [1; 32]);
}

#[test]
fn a_program_may_ask_again_and_again_as_long_as_it_arrives() {
    let body = with_two(
        [2, 1],
        "mov.u32 %r5, 0; AGAIN: mbarrier.arrive.shared.b64 %a4, [%r1]; \
         mbarrier.test_wait.shared.b64 %p1, [%r1], %a4; mbarrier.arrive.shared.b64 %a5, [%r1]; \
         add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 5000; @%p2 bra AGAIN; \
         cvt.u64.u32 %a5, %r5; st.global.u64 [%a1], %a5; ret;",
    );
    assert_eq!(run(&body, 1, &[0; 1]).unwrap().1, [5000]);
}

#[test]
fn a_question_is_answered_with_no_where_nobody_else_can_go_on() {
    let body = with_two(
        [2, 1],
        "mov.u32 %r5, 0; mbarrier.arrive.shared.b64 %a4, [%r1]; \
         ASK: mbarrier.test_wait.shared.b64 %p1, [%r1], %a4; add.u32 %r5, %r5, 1; \
         setp.ge.u32 %p2, %r5, 5; @%p2 bra ENOUGH; @!%p1 bra ASK; \
         ENOUGH: selp.u32 %r6, 100, 0, %p1; add.u32 %r5, %r5, %r6; cvt.u64.u32 %a5, %r5; st.global.u64 [%a1], %a5; ret;",
    );
    let (_, values) = run(&body, 1, &[0; 1]).unwrap();
    assert_eq!(values, [5]);
}

#[test]
fn copies_arrive_by_themselves() {
    let body = with_two(
        [64, 1],
        "cp.async.ca.shared.global [%r3], [%a0], 8; cp.async.mbarrier.arrive.noinc.shared.b64 [%r1]; \
         WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra WAIT; \
         xor.b32 %r5, %r4, 504; mov.u32 %r6, words; add.u32 %r6, %r6, %r5; ld.shared.u64 %a5, [%r6]; st.global.u64 [%a1], %a5; ret;",
    );
    let input: Vec<u64> = (0..64).map(|thread| thread * thread).collect();
    let (streams, values) = run(&body, 64, &input).unwrap();
    assert_eq!(values, input.iter().rev().copied().collect::<Vec<u64>>());
    let used = [(Mbarrier::ArriveAfterCopies, 0, 1), (Mbarrier::Wait, 0, 2)];
    assert_eq!(uses(&body, &streams), [used; 2]);
}

#[test]
fn a_phase_is_for_arrivals_and_for_bytes() {
    // Of three arrivals one drops out; the second phase is for two, and for 16 bytes.
    let body = with_two(
        [3, 1],
        "mbarrier.arrive.shared.b64 %a4, [%r1], 2; mbarrier.pending_count.b64 %r5, %a4; \
         mbarrier.arrive_drop.shared.b64 _, [%r1]; mbarrier.test_wait.shared.b64 %p1, [%r1], %a4; \
         mbarrier.arrive.expect_tx.shared.b64 %a5, [%r1], 16; mbarrier.pending_count.b64 %r6, %a5; \
         mbarrier.arrive.noComplete.shared.b64 _, [%r1], 1; mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 1; \
         mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 12; mbarrier.complete_tx.shared.b64 [%r1], 4; \
         mbarrier.test_wait.parity.shared.b64 %p3, [%r1], 1; mbarrier.inval.shared.b64 [%r1]; \
         selp.u32 %r7, 1, 0, %p1; selp.u32 %r8, 2, 0, %p2; selp.u32 %r9, 4, 0, %p3; add.u32 %r7, %r7, %r8; add.u32 %r7, %r7, %r9; \
         mad.lo.u32 %r7, %r5, 10, %r7; mad.lo.u32 %r7, %r6, 100, %r7; cvt.u64.u32 %a6, %r7; st.global.u64 [%a1], %a6; ret;",
    );
    assert_eq!(run(&body, 1, &[0; 1]).unwrap().1, [235]);
}

#[test]
fn what_is_wrong_at_an_mbarrier_is_said() {
    let says = |body: &str, threads: u32, what: &str| {
        let error = error_of(&with_two([32, 1], body), threads);
        assert!(error.contains(what), "{error}");
    };
    says(
        "mbarrier.arrive.shared.b64 _, [%r3]; ret;",
        1,
        "no mbarrier was initialised at address 0x10 of shared memory",
    );
    says("mbarrier.arrive.shared.b64 _, [%r1+4]; ret;", 32, "not aligned to 8 bytes");
    says(
        "mbarrier.arrive.shared.b64 _, [%r1+4096]; ret;",
        32,
        "outside the CTA's 528 bytes of shared memory",
    );
    says(
        "mbarrier.arrive.shared.b64 _, [%r1], 33; ret;",
        1,
        "arrives 33 times at an mbarrier where 32 are missing",
    );
    says("mbarrier.init.shared.b64 [%r3], 0; ret;", 1, "1 to 1048575 arrivals, and not 0");
    says(
        "mbarrier.expect_tx.shared.b64 [%r1], 1048576; ret;",
        1,
        "counts 1048575 bytes at most, and not 1048576",
    );
    says(
        "and.b32 %r5, %r0, 1; shl.b32 %r5, %r5, 3; add.u32 %r1, %r1, %r5; mbarrier.arrive.shared.b64 _, [%r1]; ret;",
        32,
        "lanes that run together name different mbarriers",
    );
    says(
        "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0; @!%p2 bra WAIT; ret;",
        64,
        "warps 0, 1 in line 9 at an mbarrier whose phase does not end",
    );
    says(
        "mbarrier.arrive.global.b64 _, [%r1]; ret;",
        32,
        "`mbarrier.arrive.global.b64` is not supported",
    );
    says("mbarrier.init.shared.b64 [%r1]; ret;", 32, "needs more operands");
}
