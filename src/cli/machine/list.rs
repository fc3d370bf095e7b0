//! `gsim machine list`.

use comfy_table::{Table, presets::NOTHING};
use serde_json::Value;

use crate::config::Machine;
use crate::config::machine::Calibration;
use crate::config::presets::PRESETS;
use crate::error::Result;

/// The presets, one a line.
pub(super) fn list() -> Result<String> {
    let mut table = Table::new();
    let header = ["preset", "name", "CC", "SMs", "L1", "L2", "DRAM peak", "calibration"];
    table.load_preset(NOTHING).set_header(header);
    for preset in PRESETS {
        let machine = preset.machine()?;
        let (major, minor) = machine.compute_capability;
        let calibration = match &machine.calibration {
            Calibration::Uncalibrated(why) => format!("uncalibrated: {why}"),
        };
        let sizes = Sizes::of(&machine);
        let absent = || "none".to_owned();
        table.add_row([
            preset.name.to_owned(),
            machine.name.clone(),
            format!("{major}.{minor}"),
            machine.sm.count.get().to_string(),
            sizes.l1.map_or_else(absent, binary),
            sizes.l2.map_or_else(absent, binary),
            sizes.peak.map_or_else(absent, |peak| format!("{:.1} GB/s", peak / 1e9)),
            calibration,
        ]);
    }
    Ok(format!("{}\n", table.trim_fmt()))
}

/// What the list says about a machine's memories. It reads the fields by name: a machine may lack a cache.
struct Sizes {
    /// One SM's `[bytes]`.
    l1: Option<u64>,
    /// All slices together `[bytes]`.
    l2: Option<u64>,
    /// All channels together [bytes/s].
    peak: Option<f64>,
}

impl Sizes {
    fn of(machine: &Machine) -> Sizes {
        let value = serde_json::to_value(machine).expect("a machine is plain data");
        let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64);
        let product = |pointers: &[&str]| {
            pointers.iter().try_fold(1, |all, pointer| Some(all * number(pointer)?))
        };
        let transfers =
            ["/dram/channels", "/dram/bus_bytes", "/dram/data_rate", "/clocks/dram_khz"];
        Sizes {
            l1: number("/l1/size"),
            l2: product(&["/l2/slices", "/l2/size"]),
            peak: product(&transfers).map(|bytes_per_ms| bytes_per_ms as f64 * 1e3),
        }
    }
}

/// Bytes in KiB or MiB, whichever is a handy number.
fn binary(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes as f64 / 1024.0),
        _ => format!("{} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_in_the_list() {
        let list = list().unwrap();
        for preset in PRESETS {
            assert!(list.lines().any(|line| line.trim_start().starts_with(preset.name)), "{list}");
        }
    }

    /// GeForce GTX 480: 16 KiB L1, 768 KiB L2, 177.4 GB/s. Source: NVIDIA, GF100 whitepaper.
    #[test]
    fn sizes_and_bandwidth_are_those_of_the_whole_chip() {
        let machine = crate::config::presets::find("gtx480").unwrap().machine().unwrap();
        let sizes = Sizes::of(&machine);
        assert_eq!((sizes.l1, sizes.l2), (Some(16 << 10), Some(768 << 10)));
        assert!((sizes.peak.unwrap() - 177.4e9).abs() < 0.1e9, "{:?}", sizes.peak);
        assert_eq!(binary(768 << 10), "768 KiB");
        assert_eq!(binary(6 << 20), "6 MiB");
    }
}
