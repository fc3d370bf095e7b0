//! Memory in use is bounded by the buffers of the workload, whatever the grid's size.
//!
//! Measured on Linux only, where the kernel tells a process's peak; elsewhere the tests pass unseen and say so.

use std::process::{Command, Stdio};

#[path = "common/peak.rs"]
mod peak;

const MIB: u64 = 1 << 20;

/// The peak resident memory of `gsim run` for a stencil, one iteration [bytes]; none where the system does not tell.
fn peak_of_run(elements: u64, changes: [&str; 2]) -> Option<u64> {
    if !cfg!(target_os = "linux") {
        println!("skipped: the peak of a process is read from /proc, which only Linux has");
        return None;
    }
    let out = tempfile::tempdir().unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("gsim"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["run", "configs/runs/stencil-char.ron", "--quiet", "--no-plots"])
        .args(["--set", &format!("workload.elements={elements}")])
        .args(changes.iter().flat_map(|change| ["--set", change]))
        .args(["--set", "workload.iterations=1", "--out"])
        .arg(out.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let peak = peak::peak_of(&mut child);
    assert!(peak > 0, "/proc tells no peak");
    Some(peak)
}

#[test]
fn a_grid_four_times_as_large_takes_no_more_than_its_buffers() {
    let (small, large) = (4 * MIB, 16 * MIB);
    for (changes, element) in [
        (["workload.element=Char", "machine=gtx480"], 1),
        (["workload.element=Int", "machine=gtx480"], 4),
        (["workload.element=Char", "machine=h200"], 1),
    ] {
        let few = peak_of_run(small, changes);
        let (Some(few), Some(many)) = (few, peak_of_run(large, changes)) else { return };
        let beyond = (many - few) as i64 - (2 * element * (large - small)) as i64;
        println!(
            "{changes:?}: {} and {} MiB, {beyond} bytes more than the buffers",
            few / MIB,
            many / MIB
        );
        assert!(beyond < 4 * MIB as i64, "{changes:?}: {beyond}");
    }
}

/// Takes a minute, so it runs on demand:
/// `cargo test --release --test memory -- --ignored --nocapture`.
#[test]
#[ignore = "takes a minute"]
fn a_stencil_of_any_size_takes_less_than_100_mb_beside_its_buffers() {
    for machine in ["machine=gtx480", "machine=h200"] {
        for elements in [64 * MIB, 256 * MIB] {
            let peak = peak_of_run(elements, ["workload.element=Char", machine]);
            let Some(peak) = peak else { return };
            let beside = peak - 2 * elements;
            println!(
                "{machine}, {} Mi elements: peak {peak} bytes, {beside} beside the two buffers",
                elements / MIB
            );
            assert!(beside < 100_000_000, "{beside}");
        }
    }
}
