//! What warps do by line: where they stand, and what the loads of a line take.

mod common;
#[path = "common/stencil.rs"]
mod stencil;

use common::{Script, Step, gtx480, row, run};
use gsim::gpu::{LineStatistics, Stepping};
use gsim::report::terminal::{Style, summary};
use gsim::simulate::simulate;
use gsim::sm::InstProfile;
use gsim::stats::WaitReason::{self, Arithmetic, Barrier, Issued, LsuTaken, Memory, Turn};

const BASE: u64 = 0x1000_0000;

/// What a line's warp cycles were for, but for reasons without any.
fn parts(line: &LineStatistics) -> Vec<(&'static str, u64)> {
    let parts = line.profile.waits.parts().filter(|part| part.2 > 0);
    parts.map(|(name, _, amount)| (name, amount)).collect()
}

fn part(line: &LineStatistics, reason: WaitReason) -> u64 {
    line.profile.waits.part(reason)
}

#[test]
fn a_warp_stands_at_the_first_instruction_that_reads_what_a_load_fills() {
    let machine = gtx480(&[]);
    let seen = run(&machine, || {
        Script::new(1, 32, |_, _| {
            vec![
                Step::Load { dst: 1, src: 0, addresses: row(BASE, 4, 32), bytes: 4 },
                Step::Add { dst: 2, src: 3 },
                Step::Add { dst: 4, src: 1 },
                Step::Add { dst: 5, src: 4 },
            ]
        })
    });
    let [load, beside, reader, next, exit] = &seen.lines[..] else { panic!("five lines") };
    assert_eq!(load.text, "Load, Global, 4 bytes a lane");
    assert_eq!((parts(load), parts(beside)), (vec![("issued", 1)], vec![("issued", 1)]));
    // It issues in the cycle in which the data comes; two cycles of the load's went by before.
    let latency = seen.ledgers.latency.total();
    assert_eq!(parts(reader), [("issued", 1), ("memory", latency - 2)]);
    let InstProfile { counters, latency, .. } = &load.profile;
    assert_eq!(*latency, seen.ledgers.latency);
    assert_eq!((counters.accesses, counters.loads, counters.l1_hits), (1, 1, 0));
    // A result of integers takes as long as their pipeline is.
    let add = machine.sm.arithmetic.int_add.latency.cycles();
    assert_eq!(parts(next), [("issued", 1), ("arithmetic", add - 1)]);
    assert_eq!((exit.text.as_str(), exit.line), ("Exit", 5));
}

#[test]
fn warps_that_are_ready_wait_for_their_turn_and_for_the_unit() {
    // Two warps of one scheduler, then loads of a line a lane, of which the unit takes one a cycle.
    let machine = gtx480(&[("sm.schedulers", 1.into()), ("lsu.queue", 1.into())]);
    let seen = run(&machine, || {
        Script::new(1, 96, |_, _| {
            vec![
                Step::Add { dst: 2, src: 3 },
                Step::Load { dst: 1, src: 0, addresses: row(BASE, 128, 32), bytes: 4 },
            ]
        })
    });
    let sum = |reason, step: usize| {
        // Every step of every warp is an instruction of its own, and an exit follows.
        seen.lines.iter().skip(step).step_by(3).map(|line| part(line, reason)).sum::<u64>()
    };
    assert_eq!([sum(Issued, 0), sum(Issued, 1), sum(Issued, 2)], [3; 3]);
    assert!(sum(Turn, 0) > 0);
    // The first load takes 32 cycles of the unit, and so does the second.
    assert!(sum(LsuTaken, 1) >= 32, "{}", sum(LsuTaken, 1));
    assert_eq!(sum(Memory, 1) + sum(Arithmetic, 1), 0);
}

#[test]
fn a_barrier_is_waited_for_at_the_instruction_behind_it() {
    let machine = gtx480(&[]);
    let seen = run(&machine, || {
        Script::new(1, 64, |_, warp| {
            let late = vec![Step::Add { dst: 1, src: 1 }; if warp == 0 { 0 } else { 20 }];
            [late, vec![Step::Barrier, Step::Add { dst: 2, src: 3 }]].concat()
        })
    });
    // The first warp has three instructions.
    let [barrier, behind, exit] = &seen.lines[..3] else { panic!("three lines") };
    assert_eq!(parts(barrier), [("issued", 1)]);
    let add = machine.sm.arithmetic.int_add.latency.cycles();
    let waited = part(behind, Barrier);
    assert!(waited > 19 * add && waited < 21 * add, "{waited}");
    assert_eq!(part(exit, Issued), 1);
    // The warp that comes last waits for nobody, but goes on as the others do.
    let last = &seen.lines[seen.lines.len() - 2];
    assert!(part(last, Barrier) <= 2 * add, "{:?}", parts(last));
}

#[test]
fn lines_say_what_stands_there() {
    let mut run = stencil::load("stencil-char", &["workload.elements=4096"]);
    run.by_line = true;
    let report = simulate(&run, Stepping::SkipAhead, &mut |_| ()).unwrap();
    let loads = report.lines.iter().filter(|line| line.text.starts_with("ld.global.s8"));
    let loads: Vec<&LineStatistics> = loads.collect();
    assert_eq!(loads.len(), 3);
    for load in &loads {
        // Each of 128 warps, four times, but for the ends of the data.
        let counters = &load.profile.counters;
        assert_eq!((load.kernel.as_str(), counters.issued), ("stencil1d_char", 4 * 128));
        assert!(counters.threads < 32 * counters.issued);
    }
    // The others copy what is at the ends.
    let all = report.lines.iter().filter(|line| line.text.starts_with("ld.global"));
    let latency = all.map(|line| line.profile.latency.total()).sum::<u64>();
    assert_eq!(latency, report.ledgers.latency.total());
    let table = String::from_utf8(report.lines_csv().unwrap()).unwrap();
    assert_eq!(table.lines().count(), 1 + report.lines.len());
    assert!(table.contains(",\"ld.global.s8 \t%r7, [%rd1+-1];\","), "{table}");
}

#[test]
fn the_readme_shows_what_is_printed() {
    let mut run = stencil::load("stencil-char", &[]);
    run.by_line = true;
    let report = simulate(&run, Stepping::SkipAhead, &mut |_| ()).unwrap();
    let mut printed = Vec::new();
    summary(&report, Style::Plain, &mut printed).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    let readme = include_str!("../README.md");
    for (first, end) in [("\nLines: ", "  ..\n"), ("\nBuffers: ", "```")] {
        let shown = &readme[readme.find(first).unwrap()..];
        let shown = &shown[..shown.find(end).unwrap()];
        assert!(shown.lines().count() > 3 && printed.contains(shown), "{printed}");
    }
}
