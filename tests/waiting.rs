//! What a warp waits for beside its registers: copies to shared memory, fences. And where its local memory lies.

mod common;

use common::{Script, Step, gtx480, row, run};
use gsim::gpu::{KernelStatistics, total};
use gsim::isa::{Copies, local_address};
use gsim::stats::{IssueLedger, IssueReason};

/// One warp that executes `steps`, with every way of stepping.
fn warp(steps: &[Step]) -> KernelStatistics {
    run(&gtx480(&[]), || Script::new(1, 32, |_, _| steps.to_vec()))
}

fn copy(line: u64) -> Step {
    Step::Copy { addresses: row(line << 12, 4, 32) }
}

/// Cycles in which the scheduler waited for an access beyond the SM.
fn on_memory(issue: &IssueLedger) -> u64 {
    let far = [IssueReason::MemoryNoc, IssueReason::MemoryL2, IssueReason::MemoryDram];
    far.map(|reason| issue.part(reason)).iter().sum()
}

/// What follows on a copy when it is waited for.
const AFTER: [Step; 1] = [Step::Add { dst: 1, src: 0 }];

#[test]
fn a_copy_is_waited_for_as_long_as_a_load() {
    let load = Step::LoadPastL1 { dst: 0, src: 0, addresses: row(0, 4, 32), bytes: 4 };
    let load = warp(&[&[load][..], &AFTER].concat());
    for wait in [Copies::WaitAll, Copies::WaitGroups(0)] {
        let group = [copy(0), Step::Copies(Copies::Commit), Step::Copies(wait)];
        assert_eq!(warp(&[&group[..], &AFTER].concat()).cycles, load.cycles, "{wait:?}");
    }
    // The ledger says where the copy was.
    let waited = warp(&[&[copy(0), Step::Copies(Copies::WaitAll)][..], &AFTER].concat());
    for reason in [IssueReason::MemoryDram, IssueReason::MemoryL2, IssueReason::MemoryNoc] {
        assert_eq!(waited.ledgers.issue.part(reason), load.ledgers.issue.part(reason));
    }
    assert_eq!(waited.ledgers.issue.part(IssueReason::Barrier), 0);
}

#[test]
fn the_youngest_groups_may_be_under_way() {
    // Rounds of a copy each, of which one or two are under way.
    let rounds = |left: u8| {
        let round = |line: u64| {
            [copy(line), Step::Copies(Copies::Commit), Step::Copies(Copies::WaitGroups(left))]
        };
        let steps: Vec<Step> = (0..20).flat_map(round).chain(AFTER).collect();
        warp(&steps).cycles as f64
    };
    let [one, two, four] = [0, 1, 3].map(rounds);
    assert!((one / two - 2.0).abs() < 0.1, "{one} {two}");
    assert!((one / four - 4.0).abs() < 0.3, "{one} {four}");
}

#[test]
fn a_copy_that_is_in_no_group_is_not_waited_for_with_the_groups() {
    let waits = |wait: Copies| {
        let steps = [&[copy(0), Step::Copies(wait)][..], &AFTER].concat();
        on_memory(&warp(&steps).ledgers.issue)
    };
    assert_eq!(waits(Copies::WaitGroups(0)), 0);
    assert!(waits(Copies::WaitAll) > 100);
}

#[test]
fn a_fence_waits_for_stores_or_for_loads_and_the_ledger_says_which() {
    let fenced = |before: Step| warp(&[before, Step::Fence, AFTER[0].clone()]).ledgers.issue;
    let store = fenced(Step::Store { addresses: row(0, 4, 32), bytes: 4 });
    assert!(store.part(IssueReason::Fence) > 100);
    assert_eq!(on_memory(&store) + store.part(IssueReason::Barrier), 0);
    let load = fenced(Step::Load { dst: 5, src: 5, addresses: row(0, 4, 32), bytes: 4 });
    assert!(on_memory(&load) > 100);
    assert_eq!(load.part(IssueReason::Fence) + load.part(IssueReason::Barrier), 0);
}

#[test]
fn warps_that_run_in_one_slot_have_the_same_local_memory() {
    // CTAs that fill an SM each come one after another, and each stores to its local memory.
    const BYTES: u32 = 4;
    let machine = gtx480(&[]);
    let lines = |ctas: u64, bytes: u32| {
        let ran = run(&machine, || {
            let script = Script::new(ctas, 32 * 32, move |cta, warp| {
                let place = |lane| local_address(32 * cta + warp as u64, BYTES.into(), lane, 0);
                let addresses = (0..32).map(place).collect();
                vec![Step::StoreLocal { addresses, bytes: 4 }, Step::Fence]
            });
            script.local_bytes(bytes)
        });
        let l2 = total(&ran.components.l2);
        (l2.write_hits, l2.write_misses)
    };
    // Where nobody said how much there is, each warp of the launch has lines of its own.
    assert_eq!(lines(60, 0), (0, 60 * 32));
    assert_eq!(lines(60, BYTES), (45 * 32, 15 * 32));
}
