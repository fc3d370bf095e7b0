//! The generated kernel, executed, against the synthetic stream: warp by warp the same accesses.

use proptest::prelude::*;

use super::properties::pattern;
use super::*;
use crate::config::machine::InstructionSet;
use crate::frontend::ptx::Module;
use crate::isa::{CacheOp, CtaSource, Kernel, Space, WarpStream};
use crate::workload::Workload;
use crate::workload::synthetic::kernel;

/// What an instruction does to memory: operation, and addresses by lane.
type Access = (MemoryOp, Vec<(usize, u64)>);

/// The accesses of a warp, barriers as `None`.
fn accesses(kernel: &Kernel, stream: &WarpStream) -> Vec<Option<Access>> {
    let mut cursor = WarpCursor::default();
    let mut found = Vec::new();
    while let Some((pc, _)) = cursor.peek(stream) {
        match kernel.insts[pc as usize].op {
            Op::Memory(op) => {
                let at = cursor.addresses(stream);
                let places = lanes(at.mask).map(|lane| (lane, at.of(lane))).collect();
                // An atomic operation has no cache operator in PTX.
                let cache = match op.kind {
                    AccessKind::Atomic(_) => CacheOp::Default,
                    _ => op.cache,
                };
                if op.space != Space::Constant {
                    found.push(Some((MemoryOp { cache, ..op }, places)));
                }
            }
            Op::Barrier => {
                assert_eq!(cursor.barrier(stream), BarrierUse::ALL);
                found.push(None);
            }
            _ => {}
        }
        cursor.advance(stream);
    }
    found
}

/// Executes the kernel of a specification, and holds it against the stream.
fn compare(spec: &SyntheticSpec, seed: u64) -> Result<(), kernel::Refusal> {
    let launch = SyntheticLaunch { spec: Arc::new(spec.clone()), seed };
    let mut pattern = SyntheticSource::new(&launch);
    let Workload { mut memory, launches, check, .. } = kernel::build(spec, seed)?;
    let launch = launches.ptx().next().expect("a kernel");
    let text = &launch.ptx.text;
    let module = Module::parse(&launch.ptx).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let mut source = module
        .launch_for(launch, &mut memory, InstructionSet::Ptx)
        .unwrap_or_else(|why| panic!("{why}\n{text}"));
    for array in &pattern.kernel().buffers {
        assert!(source.kernel().buffers.contains(array), "{array:?}");
    }
    let (mut have, mut want) = (Cta::default(), Cta::default());
    // What fills shared memory comes first, and the results come last.
    let filled = text.contains("shared_image");
    let executed = |part: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix("//   ")?.strip_prefix(part));
        line.expect("a part").trim().parse().expect("a number")
    };
    let arithmetic: u64 = (spec.phases.iter())
        .map(|phase| u64::from(phase.accesses.get()) * u64::from(phase.arithmetic.get()))
        .sum();
    assert_eq!(executed("arithmetic"), arithmetic * u64::from(spec.repeats.get()));
    assert_eq!(executed("accesses"), spec.warp_accesses());
    let parts = text.lines().filter_map(|line| line.strip_prefix("//   ")?.rsplit(' ').next());
    let stated: u64 = parts.map(|number| number.parse::<u64>().expect("a number")).sum();
    while pattern.next(&mut want).unwrap() {
        assert!(source.next(&mut have).unwrap_or_else(|why| panic!("{why}\n{text}")));
        assert_eq!(have.warps.len(), want.warps.len());
        for (have, want) in have.warps.iter().zip(&want.warps) {
            // A permutation of a number that is no power of two is walked as often as it takes.
            let walks = text.contains("setp.ge.u64");
            let instructions = have.instructions();
            assert!(
                instructions == stated || walks && instructions > stated,
                "{instructions} {text}"
            );
            let have = accesses(source.kernel(), have);
            let want = accesses(pattern.kernel(), want);
            let first = have.len() - want.len() - 1;
            assert_eq!(first > 0, filled, "{text}");
            assert_eq!(have[first..have.len() - 1], want, "{text}");
            let (last, _) = have.last().unwrap().as_ref().expect("no barrier");
            assert_eq!((last.kind, last.bytes), (AccessKind::Store, 8));
        }
    }
    drop(source);
    check(&memory).unwrap_or_else(|why| panic!("{why}\n{text}"));
    Ok(())
}

fn same(ctas: u32, warps: u32, rest: &str) {
    compare(&spec(ctas, warps, rest), 1).unwrap_or_else(|why| panic!("{why:?}"));
}

/// A phase with one access, in loops and out of them.
fn same_alone(access: &str) {
    for (accesses, in_flight, repeats) in [(1, 1, 1), (5, 2, 3), (100, 3, 1), (70, 1, 2)] {
        same(
            2,
            3,
            &format!(
                "repeats: {repeats}, phases: [(accesses: {accesses}, in_flight: {in_flight}, mix: [({access})])]"
            ),
        );
    }
}

#[test]
fn a_kernel_has_the_accesses_of_every_pattern() {
    for pattern in [
        "Stream",
        "Blocks",
        "Stride(lane: 128, access: 4, warp: 4096)",
        "Stride(lane: 12284, access: 12280, warp: 8)",
        "Broadcast(step: 8)",
        "Random()",
        "Random(run: 8)",
        "Hot(fraction: 0.7, bytes: 256)",
        "Hot(fraction: 1, bytes: 256, run: 1)",
        "Hot(fraction: 0, bytes: 256, run: 4)",
        "Chase(node: 64, order: Sequential)",
        "Chase(node: 12, order: Shuffled)",
        "Chase(node: 64, order: Shuffled, chains: Lane)",
        "Stencil(radius: 1)",
        "Stencil(radius: 2, row: 64)",
        "Stencil(radius: 1, row: 16, plane: 256, shape: Box)",
        "Gather(locality: 0.8, window: 256)",
        "Gather(locality: 0, window: 256, run: 4)",
        "Gather(locality: 1, window: 256, run: 16)",
        "Zipf(exponent: 0.9)",
        "Zipf(exponent: 1.5, run: 4)",
    ] {
        for sharing in ["Grid", "Cta", "Warp"] {
            for (footprint, lanes) in [(12288, 32), (0x1_0000, 7)] {
                if footprint == 0x1_0000 && pattern.contains("node: 12") {
                    continue;
                }
                same_alone(&format!(
                    "pattern: {pattern}, footprint: {footprint}, sharing: {sharing}, lanes: {lanes}"
                ));
            }
        }
    }
}

#[test]
fn a_kernel_has_the_widths_spaces_kinds_and_cache_operators() {
    for width in [1, 2, 4, 8, 16] {
        for rest in [
            "lanes: 31",
            "write_fraction: 1",
            "write_fraction: 0.25, array: \"a\"",
            "cache: Global, write_fraction: 0.5",
            "cache: Streaming, write_fraction: 0.5",
            "cache: Volatile, write_fraction: 0.5",
            "cache: ReadOnly",
            "space: Shared",
            "space: Shared, sharing: Warp, write_fraction: 0.5",
        ] {
            let access = format!(
                "pattern: Stride(lane: 16, access: 512), footprint: 4096, width: {width}, {rest}"
            );
            same(
                2,
                2,
                &format!("shared: 8192, phases: [(accesses: 40, in_flight: 2, mix: [({access})])]"),
            );
            if (width == 4 || width == 8) && !rest.contains("write") && !rest.contains("ReadOnly") {
                let access = format!("{access}, atomic_fraction: 0.5");
                same(
                    2,
                    2,
                    &format!(
                        "shared: 8192, phases: [(accesses: 40, in_flight: 2, mix: [({access})])]"
                    ),
                );
            }
        }
        for (order, chains) in [("Sequential", "Warp"), ("Shuffled", "Lane")] {
            let chase = format!(
                "pattern: Chase(node: 16, order: {order}, chains: {chains}), width: {width}"
            );
            same_alone(&format!("{chase}, footprint: 4096"));
            let shared = format!("{chase}, footprint: 4096, space: Shared");
            same(
                2,
                2,
                &format!("shared: 4096, phases: [(accesses: 40, in_flight: 2, mix: [({shared})])]"),
            );
        }
    }
}

#[test]
fn a_kernel_has_the_mixtures_phases_and_arithmetic() {
    for class in [
        "IntAdd", "IntMul", "IntMad", "IntDiv", "FpAdd", "FpMul", "FpFma", "FpDiv", "DpAdd",
        "DpMul", "DpFma", "DpDiv", "Sfu",
    ] {
        for (arithmetic, dependent) in [(1, true), (3, false), (20, false), (150, true)] {
            same(
                2,
                2,
                &format!(
                    "repeats: 2, shared: 4096, phases: [\
                     (accesses: 50, in_flight: 4, arithmetic: {arithmetic}, class: {class}, dependent: {dependent}, \
                      barrier: true, mix: [\
                      (weight: 2, pattern: Stream, footprint: 8192, width: 8, array: \"a\", write_fraction: 0.5), \
                      (pattern: Chase(node: 64, order: Shuffled), footprint: 4096, width: 8, address_from: None), \
                      (pattern: Random(), footprint: 4096, address_from: 1, atomic_fraction: 0.5, lanes: 20), \
                      (pattern: Gather(locality: 0.5, window: 64), footprint: 4096, address_from: 0, width: 1)]), \
                     (accesses: 9, in_flight: 1, arithmetic: 2, mix: [\
                      (pattern: Stencil(radius: 1), footprint: 4096, space: Shared, address_from: 1), \
                      (weight: 3, pattern: Stride(lane: 4), footprint: 8192, width: 4, array: \"a\")])]"
                ),
            );
        }
    }
}

/// One access of a mixture, of any pattern, in a footprint that is a multiple of 4 KiB.
fn access() -> impl Strategy<Value = String> {
    let sharing = prop::sample::select(vec!["Grid", "Cta", "Warp"]);
    let share = prop::sample::select(vec![0.0, 0.25, 0.333, 1.0]);
    let width = prop::sample::select(vec![1, 2, 4]);
    (pattern(), 1u64..20, sharing, 1u32..=32, share, width, any::<bool>(), 1u32..4).prop_map(
        |(pattern, pages, sharing, lanes, share, width, shared, weight)| {
            let stores = if pattern.starts_with("Chase") { 0.0 } else { share };
            let space = match (shared, sharing) {
                (true, "Cta" | "Warp") => "Shared",
                _ => "Global",
            };
            format!(
                "weight: {weight}, pattern: {pattern}, footprint: {}, sharing: {sharing}, lanes: {lanes}, \
                 width: {width}, space: {space}, write_fraction: {stores}",
                pages * 4096
            )
        },
    )
}

fn phase() -> impl Strategy<Value = String> {
    let class = prop::sample::select(vec!["IntAdd", "IntDiv", "FpFma", "DpFma", "Sfu"]);
    let mix = prop::collection::vec((access(), any::<bool>()), 1..4);
    (1u32..80, 1u32..6, 0u32..3, class, any::<bool>(), mix).prop_map(
        |(accesses, in_flight, arithmetic, class, flag, mix)| {
            // The first one may give addresses to the others, if it loads.
            let loads = !mix[0].0.contains("write_fraction: 1");
            let mix: Vec<String> = mix
                .iter()
                .enumerate()
                .map(|(entry, (access, depends))| {
                    let depends = *depends && entry > 0 && loads && !access.contains("Chase");
                    let from = if depends { ", address_from: 0" } else { "" };
                    format!("({access}{from})")
                })
                .collect();
            format!(
                "(accesses: {accesses}, in_flight: {in_flight}, arithmetic: {arithmetic}, class: {class}, \
                 dependent: {flag}, barrier: {flag}, mix: [{}])",
                mix.join(", ")
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_kernel_has_the_accesses_of_its_stream(
        size in (1u32..3, 1u32..4, 1u32..4),
        phases in prop::collection::vec(phase(), 1..3),
        seed in any::<u64>(),
    ) {
        let (ctas, warps, repeats) = size;
        let text = format!("repeats: {repeats}, shared: 1048576, phases: [{}]", phases.join(", "));
        match compare(&spec(ctas, warps, &text), seed) {
            Ok(()) => {}
            // A node too narrow for a link, a text too long, or too many tables.
            Err(refusal) => {
                let known = ["cannot hold the number", "does not repeat", "tables of all"];
                prop_assert!(known.iter().any(|why| refusal.why.contains(why)), "{refusal:?}");
            }
        }
    }
}

/// What is wrong with a kernel of one phase with these accesses.
fn refused(accesses: u32, mix: &str) -> (String, String) {
    let text = format!("shared: 65536, phases: [(accesses: {accesses}, mix: [{mix}])]");
    let refusal = compare(&spec(1, 1, &text), 1).expect_err(&text);
    (refusal.path, refusal.why)
}

#[test]
fn what_no_kernel_can_do_is_refused_with_its_field() {
    let chase = "pattern: Chase(node: 8, order: Shuffled), footprint: 4096";
    let (path, why) = refused(4, &format!("({chase}, width: 1)"));
    assert_eq!(path, "phases.0.mix.0.width");
    assert_eq!(why, "a width of 1 cannot hold the number of one of 512 nodes");
    let store = "(pattern: Stream, footprint: 4096, array: \"a\", write_fraction: 0.5)";
    let (path, why) = refused(4, &format!("({chase}, width: 8, array: \"a\"), {store}"));
    assert_eq!(path, "phases.0.mix.1.write_fraction");
    assert!(why.contains("would cut its cycle"), "{why}");
    let other =
        "(pattern: Chase(node: 16, order: Shuffled), footprint: 4096, width: 8, array: \"a\")";
    let (path, why) = refused(4, &format!("({chase}, width: 8, array: \"a\"), {other}"));
    assert_eq!(path, "phases.0.mix.1.pattern");
    assert!(why.contains("a node can hold one link"), "{why}");
    let (path, why) = refused(4, "(pattern: Random(), footprint: 0x100_0000_0000)");
    assert_eq!(path, "phases.0.mix.0.footprint");
    assert!(why.ends_with("where 68719476736 are the most"), "{why}");
    let stores = "(pattern: Random(), footprint: 4096, write_fraction: 0.38197)";
    let (path, why) = refused(100_000, stores);
    assert_eq!(path, "phases.0.accesses");
    assert!(why.contains("does not repeat soon"), "{why}");
    let zipf = "(pattern: Zipf(exponent: 1), footprint: 0x100_0000_0000)";
    let (path, why) = refused(100, &[zipf; 8].join(", "));
    assert_eq!(path, "phases.0.mix.7.pattern");
    assert!(why.contains("tables of all"), "{why}");
}

#[test]
fn loads_of_an_array_that_is_chased_are_no_numbers() {
    same(
        2,
        2,
        "phases: [(accesses: 40, in_flight: 3, arithmetic: 2, class: IntDiv, mix: [\
         (pattern: Chase(node: 8, order: Shuffled), footprint: 4096, width: 8, array: \"a\"), \
         (pattern: Random(), footprint: 4096, width: 4, array: \"a\", lanes: 9), \
         (pattern: Random(), footprint: 4096, width: 8, array: \"a\", atomic_fraction: 1, address_from: 0)])]",
    );
}
