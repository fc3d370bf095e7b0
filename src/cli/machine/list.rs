//! `gsim machine list`.

use comfy_table::{Table, presets::NOTHING};

use super::gigabytes;
use crate::config::Machine;
use crate::config::machine::{Calibration, L2Mode, LoadsLook};
use crate::config::presets::PRESETS;
use crate::error::Result;
use crate::report::number;

/// The presets, one a line.
pub(super) fn list() -> Result<String> {
    let mut table = Table::new();
    let header = ["preset", "name", "CC", "SMs", "L1", "L2", "DRAM peak", "calibration"];
    table.load_preset(NOTHING).set_header(header);
    for preset in PRESETS {
        let machine = preset.machine()?;
        let (major, minor) = machine.compute_capability;
        let calibration = match &machine.calibration {
            Calibration::Calibrated(how) => format!("calibrated: {how}"),
            Calibration::Uncalibrated(why) => format!("uncalibrated: {why}"),
        };
        let sizes = Sizes::of(&machine);
        let absent = || "none".to_owned();
        let size = |bytes: u64| number::binary(bytes as f64, "B");
        table.add_row([
            preset.name.to_owned(),
            machine.name.clone(),
            format!("{major}.{minor}"),
            machine.sm.count.get().to_string(),
            sizes.l1.map_or_else(absent, size),
            sizes.l2.map_or_else(absent, size),
            gigabytes(machine.dram_peak()),
            calibration,
        ]);
    }
    Ok(format!("{}\n", table.trim_fmt()))
}

/// What the list says about a machine's memories.
struct Sizes {
    /// One SM's `[bytes]`; none where it serves constants only.
    l1: Option<u64>,
    /// All slices together `[bytes]`; none where they keep nothing.
    l2: Option<u64>,
}

impl Sizes {
    fn of(machine: &Machine) -> Sizes {
        let (l1, l2) = (&machine.l1, &machine.l2);
        let bypassed = [l1.global_loads, l1.local_loads] == [LoadsLook::Bypass; 2];
        let slices = u64::from(l2.slices.get()) * u64::from(l2.size.get());
        Sizes {
            l1: (!bypassed).then_some(u64::from(l1.size.get())),
            l2: (l2.mode == L2Mode::Cache).then_some(slices),
        }
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
        assert_eq!(gigabytes(machine.dram_peak()), "177.4 GB/s");
        let machine = crate::config::presets::find("gtx280").unwrap().machine().unwrap();
        let sizes = Sizes::of(&machine);
        assert_eq!((sizes.l1, sizes.l2), (None, None));
        assert_eq!(number::binary(f64::from(768 << 10), "B"), "768 KiB");
        assert_eq!(number::binary(f64::from(6 << 20), "B"), "6 MiB");
    }
}
