//! Memory in use is bounded by the buffers of the workload, whatever the grid's size.
//!
//! Measured on Linux only, where the kernel tells a process's peak; elsewhere the tests pass unseen and say so.

use std::process::{Command, Stdio};

#[path = "common/peak.rs"]
mod peak;

const MIB: u64 = 1 << 20;

/// The peak resident memory of `gsim run` for the char stencil, one iteration [bytes]; none where the
/// system does not tell.
fn peak_of_run(elements: u64) -> Option<u64> {
    if !cfg!(target_os = "linux") {
        println!("skipped: the peak of a process is read from /proc, which only Linux has");
        return None;
    }
    let out = tempfile::tempdir().unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("gsim"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["run", "configs/runs/stencil-char.ron", "--quiet", "--no-plots"])
        .args(["--set", &format!("workload.elements={elements}")])
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
fn a_grid_four_times_as_large_takes_no_more_than_its_data() {
    let (small, large) = (4 * MIB, 16 * MIB);
    let (Some(few), Some(many)) = (peak_of_run(small), peak_of_run(large)) else { return };
    // Two device buffers, and the host's reference while it is compared: a byte an element each.
    let data = 3 * (large - small);
    let beyond = (many - few) as i64 - data as i64;
    println!("peak {} and {} MiB, {beyond} bytes beyond the data", few / MIB, many / MIB);
    assert!(beyond < 4 * MIB as i64, "{beyond}");
}

/// Takes half a minute, so it runs on demand:
/// `cargo test --release --test memory -- --ignored --nocapture`.
#[test]
#[ignore = "takes half a minute"]
fn sixty_four_mebi_elements_take_less_than_200_mb_beside_their_buffers() {
    let Some(peak) = peak_of_run(64 * MIB) else { return };
    let beside = peak - 2 * 64 * MIB;
    println!("peak {peak} bytes, {beside} beside the two buffers");
    assert!(beside < 200_000_000, "{beside}");
}
