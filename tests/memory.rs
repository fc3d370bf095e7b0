//! Memory in use is bounded by the buffers of the workload, whatever the grid's size.
//!
//! Measured on Linux only, where the kernel tells a process's peak; elsewhere the tests pass unseen and say so.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// The peak resident memory of `gsim run` for the char stencil, one iteration [bytes]; none where the
/// system does not tell. It is asked until the process ends: what comes after the last question is the
/// exit.
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
    let mut peak = 0;
    let status = loop {
        peak = peak.max(high_water_mark(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success());
    assert!(peak > 0, "/proc tells no peak");
    Some(peak)
}

/// `VmHWM` of a process [bytes]; none when it has ended.
fn high_water_mark(process: u32) -> Option<u64> {
    let status =
        std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"));
    let text = status.ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
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
