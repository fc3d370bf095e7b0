//! How kernels start and end: what can be computed on paper.

mod common;

use common::{Script, Scripts, Step, gtx480, row};
use gsim::config::Machine;
use gsim::gpu::{Gpu, Stepping};
use gsim::isa::{ArithClass, Inst, Op, Operands};
use serde_json::{Value, json};

/// CTAs of so many threads, all of which execute `steps`.
fn script(
    ctas: u64,
    threads: u32,
    steps: Vec<Step>,
) -> Script<impl Fn(u64, usize) -> Vec<Step> + Send> {
    Script::new(ctas, threads, move |_, _| steps.clone())
}

/// Cycles of each of `launches` launches, with and without skip-ahead, which must agree.
fn launches(
    machine: &Machine,
    launches: usize,
    (ctas, threads): (u64, u32),
    steps: &[Step],
) -> Vec<u64> {
    let go = |stepping| -> Vec<u64> {
        let all = (0..launches).map(|_| script(ctas, threads, steps.to_vec())).collect();
        let ran = Gpu::new(machine, stepping).run_all(&mut Scripts::new(all), &mut |_| ());
        ran.expect("the kernels run").iter().map(|kernel| kernel.cycles).collect()
    };
    let fast = go(Stepping::SkipAhead);
    assert_eq!(fast, go(Stepping::EveryCycle));
    assert_eq!(fast, go(Stepping::threads(2)));
    fast
}

/// Cycles of one launch.
fn cycles(changes: &[(&str, Value)], shape: (u64, u32), steps: &[Step]) -> u64 {
    launches(&gtx480(changes), 1, shape, steps)[0]
}

/// Additions, one after the other.
fn adds(count: usize) -> Vec<Step> {
    vec![Step::Add { dst: 0, src: 0 }; count]
}

#[test]
fn a_kernel_ends_after_its_completion_or_its_last_acknowledgement() {
    let with = |completion: u64, steps: &[Step]| {
        cycles(&[("launch.completion", json!(completion))], (1, 32), steps)
    };
    let bare = with(0, &adds(10));
    assert_eq!(with(500, &adds(10)), bare + 500);
    let stores = [adds(9), vec![Step::Store { addresses: row(1 << 20, 4, 32), bytes: 4 }]].concat();
    let (acknowledged, executed) = (with(0, &stores), with(2000, &stores) - 2000);
    let wait = acknowledged - executed;
    assert!(wait > 100 && executed < bare, "{acknowledged} {executed} {bare}");
    for (completion, more) in [(1, 0), (100, 0), (wait, 0), (wait + 1, 1), (wait + 90, 90)] {
        assert_eq!(with(completion, &stores), acknowledged + more, "{completion}");
    }
}

#[test]
fn ctas_that_end_are_noted_one_after_the_other() {
    let sms = ("sm.count", json!(4));
    let retirement = |ctas: u32, cycles: u32| {
        ("launch.retirement", json!({"Limited": {"ctas": ctas, "cycles": cycles}}))
    };
    // All have room at once, and end within less time than it takes to note one.
    let unlimited = |ctas| cycles(std::slice::from_ref(&sms), (ctas, 32), &adds(10));
    let (alone, unlimited) = (unlimited(1), unlimited(32));
    assert!(unlimited < alone + 40, "{unlimited} {alone}");
    let noted = cycles(&[sms.clone(), retirement(1, 40)], (32, 32), &adds(10));
    assert_eq!(noted, alone + 31 * 40);
    let noted = cycles(&[sms, retirement(2, 75)], (32, 32), &adds(10));
    assert_eq!(noted, alone + 31 * 75_u64.div_ceil(2) - 15);
}

#[test]
fn a_cta_takes_a_place_when_the_one_before_is_noted() {
    let one_at_a_time = [("sm.count", json!(1)), ("sm.max_ctas", json!(1))];
    let alone = cycles(&one_at_a_time, (1, 32), &adds(10));
    let limited = ("launch.retirement", json!({"Limited": {"ctas": 1, "cycles": 1000}}));
    let with = [&one_at_a_time[..], &[limited]].concat();
    // The first is noted at once, each further one 1000 cycles behind it.
    assert_eq!(cycles(&with, (1, 32), &adds(10)), alone);
    assert_eq!(cycles(&with, (2, 32), &adds(10)), alone + 1000);
    assert_eq!(cycles(&with, (5, 32), &adds(10)), alone + 4000);
}

#[test]
fn ctas_start_on_an_sm_as_their_warps_take() {
    let with = |ctas: u64, warps: u32| {
        let intervals = [
            ("sm.count", json!(1)),
            ("sm.cta_launch_interval", json!(300)),
            ("sm.warp_launch_interval", json!(7)),
        ];
        cycles(&intervals, (ctas, 32 * warps), &adds(10))
    };
    assert_eq!(with(4, 1), with(1, 1) + 3 * 300);
    assert_eq!(with(4, 5), with(1, 5) + 3 * (300 + 4 * 7));
}

/// Reads of the constant bank, each of which needs the one before.
fn reads(places: &[Option<u32>]) -> Vec<Step> {
    let read = |place: &Option<u32>| {
        let (dsts, srcs) = (Operands::new(&[0]), Operands::new(&[0]));
        let inst = Inst::new(Op::Arith(ArithClass::Move), dsts, srcs, 0);
        Step::Arith(Inst { constant: *place, ..inst })
    };
    places.iter().map(read).chain(adds(1)).collect()
}

#[test]
fn a_line_of_constants_comes_to_an_sm_once_in_a_launch() {
    let one_at_a_time = [("sm.count", json!(1)), ("sm.max_ctas", json!(1))];
    let cached = json!({"Cached": {"line": 64, "latency": 40, "miss": 200}});
    let with = [&one_at_a_time[..], &[("sm.constants", cached)]].concat();
    let of = |places: &[Option<u32>]| cycles(&with, (1, 32), &reads(places));
    let none = of(&[]);
    let as_move = of(&[None]) - none;
    assert_eq!(of(&[Some(0x210)]), none + 240);
    assert_eq!(of(&[Some(0x210), Some(0x23c)]), none + 240 + 40);
    assert_eq!(of(&[Some(0x210), Some(0x240), Some(0x210)]), none + 240 + 240 + 40);
    assert_eq!(of(&[Some(0x210), None]), none + 240 + as_move);
    // Another CTA finds what the first one has read; another launch does not.
    let places = [Some(0x210), Some(0x240)];
    let ctas = |ctas| launches(&gtx480(&with), 3, (ctas, 32), &reads(&places));
    let one = none + 2 * 240;
    assert_eq!(ctas(1), [one; 3]);
    let two = ctas(2);
    let follows = cycles(&with, (2, 32), &reads(&[])) - none;
    assert_eq!(two, [one + follows + 2 * 40; 3]);
    // Elsewhere such reads are moves.
    let moves = cycles(&one_at_a_time, (1, 32), &reads(&places));
    assert_eq!(moves, none + 2 * as_move);
}

#[test]
fn what_ends_while_there_is_other_room_is_noted_meanwhile() {
    let with = |ctas: u64| {
        let changes = [
            ("sm.count", json!(2)),
            ("sm.max_ctas", json!(8)),
            ("sm.cta_launch_interval", json!(100)),
            ("sm.cta_turnaround", json!(0)),
            ("launch.retirement", json!({"Limited": {"ctas": 1, "cycles": 60}})),
        ];
        cycles(&changes, (ctas, 32), &adds(2))
    };
    // Two CTAs start in 100 cycles, at first where none had been, and one is noted in 60: always one waits for that.
    assert_eq!(with(16), with(1) + 15 * 60);
    assert_eq!(with(200), with(1) + 199 * 60);
}
