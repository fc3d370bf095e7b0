//! Bulk copies: what they move, and what the machine is told of them.

use super::*;
use crate::isa::{BulkCopy, BulkUse, Mbarrier, MbarrierUse, Op};

/// 512 bytes of shared memory at `%r3`, an mbarrier for one arrival at `%r1`, and the buffers of the first thread in `%a3` and `%a4`.
fn with_tile(body: &str) -> String {
    format!(
        ".shared .align 128 .b8 tile[512]; .shared .align 8 .b64 bars[1]; mov.u32 %r1, bars; mov.u32 %r3, tile; \
         sub.s64 %a3, %a0, %a2; sub.s64 %a4, %a1, %a2; setp.ne.u32 %p0, %r0, 0; @%p0 bra BEGUN; \
         mbarrier.init.shared.b64 [%r1], 1; fence.mbarrier_init.release.cluster; BEGUN: bar.sync 0; {body}"
    )
}

/// What each warp did at mbarriers and copied, in order.
#[derive(Debug, PartialEq)]
enum Done {
    Mbarrier(Mbarrier, u32),
    Copied(BulkCopy, Vec<(u64, u32)>),
}

fn done(text: &str, streams: &[WarpStream]) -> Vec<Vec<Done>> {
    records(text, streams, |op, cursor, stream| match op {
        Op::Mbarrier(kind) => {
            let MbarrierUse { arrivals, .. } = cursor.mbarrier(stream);
            Some(Done::Mbarrier(kind, arrivals))
        }
        Op::Bulk(kind) => {
            let place = |copy: BulkUse| (copy.address - DeviceMemory::BASE, copy.bytes);
            Some(Done::Copied(kind, cursor.bulk(stream).map(place).collect()))
        }
        _ => None,
    })
}

const LOAD: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";
const STORE: &str = "cp.async.bulk.global.shared::cta.bulk_group";
const WAIT: &str = "WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0; @!%p1 bra WAIT;";

#[test]
fn a_copy_arrives_with_its_bytes_and_all_who_wait_see_them() {
    let body = with_tile(&format!(
        "@%p0 bra WAIT; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 512; {LOAD} [%r3], [%a3], 512, [%r1]; \
         {WAIT} xor.b32 %r5, %r0, 63; shl.b32 %r5, %r5, 3; add.u32 %r5, %r5, %r3; ld.shared.u64 %a5, [%r5]; st.global.u64 [%a1], %a5; ret;"
    ));
    let input: Vec<u64> = (0..64).map(|thread| thread * thread).collect();
    let (streams, values) = run(&body, 64, &input).unwrap();
    assert_eq!(values, input.iter().rev().copied().collect::<Vec<u64>>());
    // A copy is an arrival: who waits does for the thread's and for the copy's.
    let done = done(&body, &streams);
    let copy = Done::Copied(BulkCopy::ToShared, vec![(0, 512)]);
    let wait = || Done::Mbarrier(Mbarrier::Wait, 2);
    assert_eq!(done[0], [Done::Mbarrier(Mbarrier::Arrive, 1), copy, wait()]);
    assert_eq!(done[1], [wait()]);
}

#[test]
fn a_phase_does_not_end_before_all_of_its_copies() {
    // Two copies of what is expected, the second by a hint that decides nothing; generic addresses of shared memory.
    let body = with_tile(&format!(
        "@%p0 bra WAIT; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 512; cvt.u64.u32 %a5, %r3; cvta.shared.u64 %a5, %a5; \
         cvt.u64.u32 %a6, %r1; cvta.shared.u64 %a6, %a6; {LOAD} [%a5], [%a3+256], 256, [%a6]; \
         mbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0; selp.u32 %r7, 1, 0, %p2; createpolicy.fractional.L2::evict_first.b64 %a7, 1.0; \
         {LOAD}.L2::cache_hint [%a5+256], [%a3], 256, [%a6], %a7; \
         {WAIT} shl.b32 %r5, %r0, 3; add.u32 %r5, %r5, %r3; ld.shared.u64 %a5, [%r5]; cvt.u64.u32 %a6, %r7; mad.lo.u64 %a5, %a6, 1000, %a5; \
         st.global.u64 [%a1], %a5; ret;"
    ));
    let (streams, values) = run(&body, 64, &(0..64).collect::<Vec<u64>>()).unwrap();
    assert_eq!(values, (0..64).map(|thread| (thread + 32) % 64).collect::<Vec<u64>>());
    let copies = |done: &Done| matches!(done, Done::Copied(..));
    assert_eq!(done(&body, &streams)[0].iter().filter(|one| copies(one)).count(), 2);
}

#[test]
fn results_go_back_in_bulk_and_are_waited_for_by_groups() {
    let body = with_tile(&format!(
        "shl.b32 %r5, %r0, 3; add.u32 %r5, %r5, %r3; cvt.u64.u32 %a5, %r0; st.shared.u64 [%r5], %a5; \
         fence.proxy.async.shared::cta; bar.sync 0; @%p0 bra DONE; {STORE} [%a4+256], [%r3], 256; cp.async.bulk.commit_group; \
         cp.async.bulk.wait_group.read 0; {STORE} [%a4], [%r3+256], 256; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; DONE: ret;"
    ));
    let (streams, values) = run(&body, 64, &[0; 64]).unwrap();
    assert_eq!(values, (0..64).map(|thread| (thread + 32) % 64).collect::<Vec<u64>>());
    // Buffers have unmapped memory between them.
    let base = 768;
    let copy = |at| Done::Copied(BulkCopy::ToGlobal, vec![(at, 256)]);
    assert_eq!(done(&body, &streams)[0], [copy(base + 256), copy(base)]);
}

#[test]
fn lanes_copy_one_after_the_other_and_those_without_bytes_not_at_all() {
    // Each lane but the third one of four copies 16 bytes for each lane before it, and one for itself.
    let body = with_tile(&format!(
        "setp.gt.u32 %p1, %r0, 3; mad.lo.u32 %r5, %r0, 16, 16; setp.eq.u32 %p2, %r0, 2; @%p2 mov.u32 %r5, 0; \
         @%p0 bra GO; mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 112; GO: bar.sync 0; \
         shl.b32 %r6, %r0, 6; add.u32 %r6, %r6, %r3; sub.s64 %a5, %a0, %a2; @%p1 bra ALL; {LOAD} [%r6], [%a5], %r5, [%r1]; \
         ALL: cp.async.bulk.prefetch.L2.global [%a3], 128; {WAIT} st.global.u64 [%a1], 1; ret;"
    ));
    let (streams, values) = run(&body, 32, &[0; 64]).unwrap();
    assert_eq!(values[..32], [1; 32]);
    let copied: Vec<Done> = done(&body, &streams)
        .remove(0)
        .into_iter()
        .filter(|done| matches!(done, Done::Copied(..)))
        .collect();
    assert_eq!(copied[0], Done::Copied(BulkCopy::ToShared, vec![(0, 16), (0, 32), (0, 64)]));
    assert_eq!(copied[1], Done::Copied(BulkCopy::ToL2, vec![(0, 128); 32]));
}

#[test]
fn what_is_wrong_with_a_bulk_copy_is_said() {
    let says = |body: &str, what: &str| {
        let error = run(&with_tile(body), 1, &[0; 64]).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    let load = |operands: &str| format!("{LOAD} {operands}; ret;");
    let store = |operands: &str| format!("{STORE} {operands}; ret;");
    says(&load("[%r3], [%a3], 24, [%r1]"), "a bulk copy of 24 bytes, no multiple of 16");
    says(&load("[%r3], [%a3+8], 16, [%r1]"), "which is not aligned to 16 bytes");
    says(&load("[%r3+8], [%a3], 16, [%r1]"), "which is not aligned to 16 bytes");
    says(&load("[%r3], [%a3+512], 16, [%r1]"), "reads 16 bytes at address");
    says(&load("[%r3+512], [%a3], 512, [%r1]"), "outside the CTA's 528 bytes of shared memory");
    says(&load("[%r3], [%a3], 16, [%r3]"), "no mbarrier was initialised at address");
    says(&store("[%a4], [%r3], 16"), "shared memory, which nothing was written to");
    says(&store("[%a4+512], [%r3], 16"), "writes 16 bytes at address");
    says(&load("[%r3], [%a3], 16"), "needs more operands");
    let multicast = format!("{LOAD}.multicast::cluster [%r3], [%a3], 16, [%r1], %h0; ret;");
    says(&multicast, ".multicast::cluster` is not supported");
    let reduce = "cp.reduce.async.bulk.global.shared::cta.bulk_group";
    for numbers in ["add.f16", "add.s64", "min.f32", "inc.u64", "exch.b32", "add", "add.noftz.f32"]
    {
        let name = format!("{reduce}.{numbers}");
        says(&format!("{name} [%a1], [%r1], 16; ret;"), &format!("`{name}` is not supported"));
    }
    for words in [
        "commit_group",
        "tensor.2d.global.shared::cta.exch.tile.bulk_group",
        "global.shared::cta.bulk_group.add.u32.L2::cache_hint",
        "L2::cache_hint.global.shared::cta.bulk_group.add.u32",
    ] {
        let name = format!("cp.reduce.async.bulk.{words}");
        says(&format!("{name} [%a1], [%r1], 16, %a1; ret;"), &format!("`{name}` is not supported"));
    }
    let cluster =
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32";
    says(&format!("{cluster} [%r1], [%r1], 16, [%r1]; ret;"), "is not supported");
    says(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.im2col_no_offs.bulk_group [%a0, {%r1, %r1}], [%r1]; ret;",
        "is not supported",
    );
    says("cp.async.bulk.wait_group %r1; ret;", "expected a number of groups");
}
