//! The peak of a child process, as Linux tells it.

use std::path::Path;
use std::process::Child;
use std::time::Duration;

/// Waits for a child, which must succeed; gives its peak resident memory [bytes], 0 where the system does not tell. It is
/// asked until the process ends: what comes after the last question is the exit.
pub fn peak_of(child: &mut Child) -> u64 {
    let mut peak = 0;
    let status = loop {
        peak = peak.max(high_water_mark(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(status.success());
    peak
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
