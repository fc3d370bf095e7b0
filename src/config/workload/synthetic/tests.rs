//! What is refused, and in which words.

use std::path::Path;

use crate::config::WorkloadSpec;
use crate::config::parse::from_text;

/// The error of a kernel of 4 CTAs of 2 warps with these other fields.
fn refusal(fields: &str) -> String {
    let text = format!("Synthetic(ctas: 4, warps: 2, {fields})");
    let read = from_text::<WorkloadSpec>(Path::new("a.ron"), &text);
    read.expect_err(&text).to_string()
}

/// Checks the refusal of one access in one phase of two accesses; `what` begins at its field.
#[track_caller]
fn check_access(access: &str, what: &str) {
    let error = refusal(&format!("phases: [(accesses: 2, mix: [({access})])]"));
    let said = error.split_once("phases.0.mix.0: ").map_or(error.as_str(), |(_, said)| said);
    assert_eq!(said, what);
}

#[test]
fn numbers_that_do_not_fit_together_are_refused() {
    let cases = [
        ("pattern: Stream, footprint: 12, width: 3", "width (3) is none of 1, 2, 4, 8, 16"),
        ("pattern: Stream, footprint: 10", "footprint (10) is not a multiple of width (4)"),
        (
            "pattern: Stride(lane: 6), footprint: 64",
            "pattern.lane (6) is not a multiple of width (4)",
        ),
        (
            "pattern: Stride(lane: 8, access: 2), footprint: 64",
            "pattern.access (2) is not a multiple of width (4)",
        ),
        (
            "pattern: Stride(lane: 8, warp: 1), footprint: 64",
            "pattern.warp (1) is not a multiple of width (4)",
        ),
        (
            "pattern: Broadcast(step: 2), footprint: 64",
            "pattern.step (2) is not a multiple of width (4)",
        ),
        ("pattern: Random(run: 3), footprint: 64", "pattern.run (3) is none of 1, 2, 4, 8, 16, 32"),
        (
            "pattern: Random(run: 32), footprint: 64",
            "footprint (64) is not a multiple of pattern.run (32) x width (4)",
        ),
        (
            "pattern: Hot(fraction: 0.5, bytes: 64), footprint: 128",
            "pattern.bytes (64) is not a multiple of pattern.run x width (128)",
        ),
        (
            "pattern: Hot(fraction: 0.5, bytes: 128), footprint: 128",
            "pattern.bytes (128) leaves nothing cold of footprint (128)",
        ),
        (
            "pattern: Gather(locality: 0.5, window: 256), footprint: 128",
            "pattern.window (256) exceeds footprint (128)",
        ),
        (
            "pattern: Chase(node: 96, order: Sequential), footprint: 128",
            "footprint (128) is not a multiple of pattern.node (96)",
        ),
        (
            "pattern: Chase(node: 6, order: Sequential), footprint: 128",
            "pattern.node (6) is not a multiple of width (4)",
        ),
        (
            "pattern: Stencil(radius: 1, plane: 5), footprint: 128",
            "pattern.plane needs pattern.row",
        ),
        (
            "pattern: Stencil(radius: 50, row: 8, plane: 64, shape: Box), footprint: 4096",
            "pattern.radius: 1030301 neighbours, and 65536 are the most",
        ),
    ];
    for (access, what) in cases {
        check_access(access, what);
    }
}

#[test]
fn contradictions_are_refused() {
    let chase = "pattern: Chase(node: 8, order: Shuffled), footprint: 64";
    check_access(&format!("{chase}, write_fraction: 0.1"), "write_fraction: a Chase only loads");
    check_access(&format!("{chase}, atomic_fraction: 1"), "atomic_fraction: a Chase only loads");
    check_access(
        &format!("{chase}, address_from: 1"),
        "address_from: a Chase has its address from its own load",
    );
    let stream = "pattern: Stream, footprint: 64";
    check_access(
        &format!("{stream}, write_fraction: 0.7, atomic_fraction: 0.4"),
        "write_fraction (0.7) and atomic_fraction (0.4) exceed 1 together",
    );
    check_access(
        &format!("{stream}, write_fraction: 0.5, cache: ReadOnly"),
        "cache: what is ReadOnly is neither written nor changed",
    );
    check_access(
        &format!("{stream}, atomic_fraction: 0.5, width: 16"),
        "width (16) of an atomic operation is 4 or 8",
    );
    check_access(
        &format!("{stream}, space: Shared, sharing: Grid"),
        "sharing: shared memory belongs to a CTA; Grid needs space Global",
    );
    check_access(
        &format!("{stream}, space: Shared, cache: Global"),
        "cache: shared memory is not cached; leave Default",
    );
}

#[test]
fn an_address_comes_from_another_access_that_loads() {
    let phase = |first: &str, from: u32| {
        refusal(&format!(
            "phases: [(accesses: 2, mix: [(pattern: Stream, footprint: 64{first}), (pattern: Random(), \
             footprint: 64, address_from: {from})])]"
        ))
    };
    let ends = |error: String, what: &str| assert!(error.ends_with(what), "{error}");
    ends(phase("", 1), "mix.1.address_from: an access cannot wait for itself");
    ends(phase("", 2), "mix.1.address_from: the mix has 2 accesses, counted from 0");
    ends(phase(", write_fraction: 1", 0), "mix.1.address_from: access 0 of the mix never loads");
}

#[test]
fn what_exceeds_the_whole_kernel_is_refused_where_it_stands() {
    let stream = "(pattern: Stream, footprint: 64)";
    assert_eq!(refusal("phases: []"), "a.ron:1:38: phases: 0 of them, where 1 to 64 can be");
    assert_eq!(
        refusal("phases: [(accesses: 2, mix: [])]"),
        "a.ron:1:58: phases.0: mix: 0 of them, where 1 to 8 can be"
    );
    assert_eq!(
        refusal(&format!("repeats: 1000, phases: [(accesses: 1000, mix: [{stream}])]")),
        "a.ron:1:39: repeats (1000) x accesses of all phases x warps (2) make 2000000 memory \
         instructions a CTA, and 1048576 are the most; use more ctas"
    );
    assert_eq!(
        refusal(
            "phases: [(accesses: 1, in_flight: 9, mix: [(pattern: Stream, footprint: 64, width: 16)])]"
        ),
        "a.ron:1:64: registers (32) cannot hold the data of phases.0.in_flight (9) accesses: 36 \
         registers"
    );
    assert_eq!(
        refusal(
            "shared: 300, phases: [(accesses: 1, mix: [(pattern: Stream, footprint: 512, space: \
                 Shared)])]"
        ),
        "a.ron:1:38: shared (300) is less than the 512 bytes that the arrays in shared memory take"
    );
    let error = refusal(
        "phases: [(accesses: 1, mix: [(pattern: Stream, footprint: 0x1000_0000_0000, sharing: Warp)])]",
    );
    assert!(error.starts_with("a.ron:1:17: ctas (4): all arrays together"), "{error}");
    let error = refusal(
        "phases: [(accesses: 1, mix: [(pattern: Stream, footprint: 64, array: \"a\"), (pattern: \
         Stream, footprint: 64, array: \"a\", sharing: Cta)])]",
    );
    assert!(error.contains("phases.0.mix.1.array: the accesses of one array"), "{error}");
}

#[test]
fn a_range_or_a_word_is_refused_at_its_place() {
    let access = |access: &str| refusal(&format!("phases: [(accesses: 2, mix: [({access})])]"));
    let share = access("pattern: Stream, footprint: 64, write_fraction: 1.5");
    assert_eq!(share, "a.ron:1:108: phases.0.mix.0.write_fraction: 1.5 is outside 0..=1");
    let footprint = access("pattern: Stream, footprint: 0");
    assert_eq!(footprint, "a.ron:1:88: phases.0.mix.0.footprint: 0 is outside 1..=17592186044416");
    let pattern = access("pattern: Steam, footprint: 64");
    assert!(pattern.contains("no variant Steam (hint: did you mean Stream?)"), "{pattern}");
}

#[test]
fn a_specification_is_written_as_it_is_read() {
    let text = "Synthetic(ctas: 4, warps: 2, phases: [(accesses: 3, mix: [(pattern: Zipf(exponent: \
                0.9), footprint: 64, write_fraction: 0.333333, sharing: Cta, array: \"a\")])])";
    let spec: WorkloadSpec = from_text(Path::new("a.ron"), text).unwrap();
    let again = crate::config::parse::to_text(&spec);
    assert_eq!(from_text::<WorkloadSpec>(Path::new("b.ron"), &again).unwrap(), spec);
    let json = crate::serial::to_json(&spec);
    assert!(json.contains("\"write_fraction\": 0.333333"), "{json}");
    assert_eq!(serde_json::from_str::<WorkloadSpec>(&json).unwrap(), spec);
}
