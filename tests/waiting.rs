//! What a warp waits for beside its registers: copies to shared memory, fences. And where its local memory lies.

mod common;

use common::{FENCE, Script, Step, gtx480, row, run};
use gsim::gpu::{KernelStatistics, total};
use gsim::isa::{CacheOp, Copies, Fence, Observer, local_address};
use gsim::l1::L1Stats;
use gsim::stats::{IssueLedger, IssueReason};
use serde_json::{Value, json};

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
    let fenced = |before: Step| warp(&[before, FENCE, AFTER[0].clone()]).ledgers.issue;
    let store = fenced(Step::Store { addresses: row(0, 4, 32), bytes: 4 });
    assert!(store.part(IssueReason::Fence) > 100);
    assert_eq!(on_memory(&store) + store.part(IssueReason::Barrier), 0);
    let load = fenced(Step::Load { dst: 5, src: 5, addresses: row(0, 4, 32), bytes: 4 });
    assert!(on_memory(&load) > 100);
    assert_eq!(load.part(IssueReason::Fence) + load.part(IssueReason::Barrier), 0);
}

#[test]
fn a_fence_takes_its_time_once_the_accesses_are_done() {
    let times =
        |gpu: u32, system: u32| gtx480(&[("sm.fences", json!({"gpu": gpu, "system": system}))]);
    let (none, some) = (times(0, 0), times(100, 300));
    let store = Step::Store { addresses: row(0, 4, 32), bytes: 4 };
    let load = Step::Load { dst: 5, src: 5, addresses: row(0, 4, 32), bytes: 4 };
    for before in [vec![], vec![store.clone()], vec![load], vec![store.clone(), store]] {
        for (observer, time) in
            [(None, 0), (Some(Observer::Gpu), 100), (Some(Observer::System), 300)]
        {
            let fence = Step::Fence(Fence { release: observer, acquire: true });
            let steps = [&before[..], &[fence], &AFTER[..]].concat();
            let [none, some] = [&none, &some]
                .map(|machine| run(machine, || Script::new(1, 32, |_, _| steps.clone())));
            // One that waits for nothing takes a cycle in any case, which is one of these.
            let more = if before.is_empty() { u64::max(time, 1) - 1 } else { time };
            assert_eq!(some.cycles - none.cycles, more);
            let waited = |ran: &KernelStatistics| ran.ledgers.issue.part(IssueReason::Fence);
            // A cycle of it is that of the next instruction where it has nothing to wait for.
            let of_fence = waited(&some) - waited(&none);
            assert!(more - of_fence <= 1, "{of_fence} of {more}");
        }
    }
}

#[test]
fn an_acquire_waits_for_loads_and_not_for_stores() {
    let acquired = |before: Step| {
        let acquire = Step::Fence(Fence { release: None, acquire: true });
        warp(&[before, acquire, AFTER[0].clone()]).ledgers.issue
    };
    let store = acquired(Step::Store { addresses: row(0, 4, 32), bytes: 4 });
    assert_eq!(on_memory(&store) + store.part(IssueReason::Fence), 0);
    let load = acquired(Step::Load { dst: 5, src: 5, addresses: row(0, 4, 32), bytes: 4 });
    assert!(on_memory(&load) > 100);
}

/// What the L1 counted of one warp that does these steps, each behind the one before.
fn l1(changes: &[(&str, Value)], steps: &[Step]) -> L1Stats {
    let ran = run(&gtx480(changes), || {
        let one = |step: &Step| [step.clone(), Step::Add { dst: 1, src: 1 }];
        Script::new(1, 32, move |_, _| steps.iter().flat_map(one).collect())
    });
    total(&ran.components.l1)
}

/// Loads, which wait for each other, of a line with these cache operators.
fn loads(of: &[CacheOp]) -> Vec<Step> {
    let load = |&cache| Step::LoadWith { dst: 1, cache, addresses: row(0x1000, 4, 32) };
    of.iter().map(load).collect()
}

#[test]
fn an_acquire_leaves_no_line_where_the_machine_says_so() {
    let between = |fence: Fence| {
        let [first, other] = [0, 1].map(|_| loads(&[CacheOp::Default]));
        [first, vec![Step::Fence(fence)], other].concat()
    };
    let acquire = between(Fence { release: None, acquire: true });
    let release = between(Fence { release: Some(Observer::Gpu), acquire: false });
    let hits = |acquires: &str, steps: &[Step]| {
        let stats = l1(&[("l1.acquires", json!(acquires))], steps);
        (stats.load_hits, stats.load_misses, stats.acquires)
    };
    assert_eq!(hits("Keep", &acquire), (1, 1, 0));
    assert_eq!(hits("Empty", &release), (1, 1, 0));
    assert_eq!(hits("Empty", &acquire), (0, 2, 1));
}

#[test]
fn a_load_past_the_l1_drops_the_line_where_the_machine_says_so() {
    use CacheOp::{Default, Global, Volatile};
    for past in [Global, Volatile] {
        let hits = |past_loads: &str| {
            let stats =
                l1(&[("l1.past_loads", json!(past_loads))], &loads(&[Default, past, Default]));
            (stats.load_hits, stats.load_bypasses, stats.load_evictions)
        };
        // By segments of 32 bytes.
        assert_eq!(hits("Keep"), (1, 4, 0));
        assert_eq!(hits("Drop"), (0, 4, 1));
    }
}

#[test]
fn a_load_that_is_not_to_allocate_takes_what_is_here_and_else_goes_past_the_l1() {
    use CacheOp::{Default, LastUse};
    let hits = |hints: Value, of: &[CacheOp]| {
        let stats = l1(&[("l1.hints", hints)], &loads(of));
        (stats.load_hits, stats.load_misses, stats.load_bypasses)
    };
    let followed = json!({"Followed": {"last_ways": 2}});
    assert_eq!(hits(followed.clone(), &[LastUse, LastUse, Default]), (0, 1, 2));
    assert_eq!(hits(followed, &[Default, LastUse, Default]), (2, 1, 0));
    assert_eq!(hits(json!("Ignored"), &[LastUse, LastUse, Default]), (2, 1, 0));
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
                vec![Step::StoreLocal { addresses, bytes: 4 }, FENCE]
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
