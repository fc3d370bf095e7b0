//! What holds for every kernel.

use proptest::prelude::*;

use super::*;
use crate::isa::CtaSource;

#[test]
fn a_shuffled_chase_visits_every_node_once_and_comes_back() {
    for nodes in [1u64, 2, 3, 100, 128, 1000] {
        let footprint = nodes * 32;
        let access = format!(
            "pattern: Chase(node: 32, order: Shuffled), footprint: {footprint}, width: 8, lanes: 1"
        );
        let visited = offsets(&mut one(1, 1, nodes as u32 + 1, &access), 0, 0).concat();
        let mut once = visited[..nodes as usize].to_vec();
        once.sort_unstable();
        assert_eq!(once, (0..nodes).map(|node| node * 32).collect::<Vec<_>>());
        assert_eq!(visited[0], visited[nodes as usize]);
        if nodes >= 100 {
            assert!(!visited.is_sorted());
        }
    }
}

#[test]
fn the_chains_of_a_chase_share_its_cycle_without_meeting() {
    // 2 CTAs x 2 warps x 2 chains x 4 lanes on 512 nodes: 16 nodes each, in 32 accesses of a warp.
    let mut source = source(
        2,
        2,
        "phases: [(accesses: 32, in_flight: 2, mix: [(pattern: Chase(node: 64, order: Shuffled, \
         chains: Lane), footprint: 32768, width: 4, lanes: 4)])]",
    );
    let mut visited: Vec<u64> = [(0, 0), (0, 1), (1, 0), (1, 1)]
        .into_iter()
        .flat_map(|(cta, warp)| offsets(&mut source, cta, warp).concat())
        .collect();
    visited.sort_unstable();
    assert_eq!(visited, (0..512).map(|node| node * 64).collect::<Vec<_>>());
}

#[test]
fn a_chase_goes_on_along_its_cycle_in_the_next_pass() {
    let chase = |repeats: u32, accesses: u32| {
        let mut source = source(
            1,
            1,
            &format!(
                "repeats: {repeats}, phases: [(accesses: {accesses}, in_flight: 2, mix: [(pattern: \
                 Chase(node: 64, order: Shuffled), footprint: 4096, lanes: 1)])]"
            ),
        );
        offsets(&mut source, 0, 0).concat()
    };
    assert_eq!(chase(3, 4), chase(1, 12));
}

/// Patterns for elements of 4 bytes in a footprint that is a multiple of 4 KiB.
pub(super) fn pattern() -> impl Strategy<Value = String> {
    let run = || prop::sample::select(vec![1, 2, 4, 8, 16, 32]);
    let share = || (0u32..=1_000_000).prop_map(|millionths| f64::from(millionths) / 1e6);
    prop_oneof![
        Just("Stream".to_owned()),
        Just("Blocks".to_owned()),
        (0u64..5000, 0u64..5000, 0u64..5000).prop_map(|(lane, access, warp)| {
            format!("Stride(lane: {}, access: {}, warp: {})", lane * 4, access * 4, warp * 4)
        }),
        (0u64..5000).prop_map(|step| format!("Broadcast(step: {})", step * 4)),
        run().prop_map(|run| format!("Random(run: {run})")),
        (share(), run()).prop_map(|(share, run)| {
            format!("Hot(fraction: {share}, bytes: {}, run: {run})", run * 8)
        }),
        (any::<bool>(), any::<bool>(), prop::sample::select(vec![4, 64, 128])).prop_map(
            |(shuffled, lane, node)| {
                let order = if shuffled { "Shuffled" } else { "Sequential" };
                let chains = if lane { "Lane" } else { "Warp" };
                format!("Chase(node: {node}, order: {order}, chains: {chains})")
            }
        ),
        (1u32..40, 1u32..3000, any::<bool>()).prop_map(|(radius, row, square)| {
            let shape = if square { "Box" } else { "Star" };
            format!("Stencil(radius: {radius}, row: {row}, shape: {shape})")
        }),
        (share(), 1u32..8, run()).prop_map(|(share, windows, run)| {
            format!("Gather(locality: {share}, window: {}, run: {run})", windows * run * 4)
        }),
        (0u32..=4_000_000, run()).prop_map(|(exponent, run)| {
            format!("Zipf(exponent: {}, run: {run})", f64::from(exponent) / 1e6)
        }),
    ]
}

#[derive(Clone, Debug)]
struct Case {
    ctas: u32,
    warps: u32,
    text: String,
    footprint: u64,
    sharing: &'static str,
    lanes: u32,
}

fn case() -> impl Strategy<Value = Case> {
    let sharing = prop::sample::select(vec!["Grid", "Cta", "Warp"]);
    let phase = (1u32..40, 1u32..5, 0u32..3);
    (1u32..4, 1u32..4, pattern(), 1u64..200, sharing, 1u32..=32, phase, 1u32..3).prop_map(
        |(ctas, warps, pattern, pages, sharing, lanes, phase, repeats)| {
            let (accesses, in_flight, arithmetic) = phase;
            let footprint = pages * 4096;
            let text = format!(
                "repeats: {repeats}, phases: [(accesses: {accesses}, in_flight: {in_flight}, \
                 arithmetic: {arithmetic}, mix: [(pattern: {pattern}, footprint: {footprint}, \
                 lanes: {lanes}, sharing: {sharing})])]"
            );
            Case { ctas, warps, text, footprint, sharing, lanes }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn addresses_are_aligned_and_in_the_copy_of_their_warp(case in case()) {
        let mut source = source(case.ctas, case.warps, &case.text);
        for cta in 0..u64::from(case.ctas) {
            for warp in 0..u64::from(case.warps) {
                let copy = match case.sharing {
                    "Grid" => 0,
                    "Cta" => cta,
                    _ => cta * u64::from(case.warps) + warp,
                };
                let place = copy * case.footprint..(copy + 1) * case.footprint;
                for lanes in offsets(&mut source, cta, warp as usize) {
                    prop_assert_eq!(lanes.len(), case.lanes as usize);
                    for offset in lanes {
                        prop_assert!(place.contains(&offset) && offset % 4 == 0, "{offset}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_cta_is_the_same_in_whatever_order_it_is_asked_for(
        case in case(),
        order in prop::collection::vec(0u64..4, 1..8),
    ) {
        let mut in_order = Vec::new();
        let mut source = source(case.ctas, case.warps, &case.text);
        let mut fresh = source.clone();
        let mut cta = Cta::default();
        while source.next(&mut cta).unwrap() {
            in_order.push(cta.clone());
        }
        prop_assert_eq!(in_order.len(), case.ctas as usize);
        for number in order.into_iter().map(|number| number % u64::from(case.ctas)) {
            fresh.fill(number, &mut cta);
            prop_assert!(cta == in_order[number as usize], "CTA {number}");
        }
    }

    #[test]
    fn instructions_and_registers_are_those_of_the_kernel(case in case()) {
        let mut source = source(case.ctas, case.warps, &case.text);
        let executed = execute(&mut source, 0, 0);
        let kernel = source.kernel();
        prop_assert!(executed.iter().all(|step| step.pc < kernel.insts.len()));
        for inst in &kernel.insts {
            let regs = inst.srcs.as_slice().iter().chain(inst.dsts.as_slice());
            prop_assert!(regs.into_iter().all(|&reg| reg < kernel.regs));
        }
    }
}
