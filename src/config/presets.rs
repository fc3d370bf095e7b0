//! The machines that come with gsim.

use std::path::Path;

use super::machine::Machine;
use super::names::suggest;
use super::parse;
use crate::error::{Error, Result};

/// A machine file that is part of the binary.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name that run files use: the file's name without `.ron`.
    pub name: &'static str,
    /// The file, from the root of the repository; messages name it.
    pub file: &'static str,
    /// The text of the file, with its comments.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        /// Every preset, oldest chip first.
        pub const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            file: concat!("configs/gpus/", $name, ".ron"),
            text: include_str!(concat!("../../configs/gpus/", $name, ".ron")),
        }),*];
    };
}

presets![
    "9800gt", "gtx280", "gtx480", "c2050", "gtx580", "gtx680", "gtx640", "v100", "a100", "h100",
    "h200"
];

impl Preset {
    /// The machine.
    pub fn machine(&self) -> Result<Machine> {
        parse::from_text(Path::new(self.file), self.text)
    }
}

/// The preset called `name`. Case, spaces, `-` and `_` do not count: `GTX 480` is `gtx480`.
pub fn find(name: &str) -> Result<&'static Preset> {
    let plain = |name: &str| {
        name.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
    };
    let wanted = plain(name);
    PRESETS.iter().find(|preset| preset.name == wanted).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let all = format!("presets are {}; a file's name ends in .ron", names.join(", "));
        let hint = match suggest(&wanted, &names) {
            meant if meant.starts_with("did") => format!("{meant} {all}"),
            _ => all,
        };
        Error::input(format!("no preset is called {name:?}")).hint(hint)
    })
}

/// The machine that `reference` means: a path if it ends in `.ron` or has a `/`, else a preset.
///
/// Paths are relative to `folder`.
pub fn machine(reference: &str, folder: &Path) -> Result<Machine> {
    if reference.ends_with(".ron") || reference.contains('/') {
        parse::read(&folder.join(reference))
    } else {
        find(reference)?.machine()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::machine::Pipelining;

    #[test]
    fn every_machine_file_is_a_preset_that_loads() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/gpus");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        files.sort();
        let mut names: Vec<String> = PRESETS.iter().map(|preset| preset.name.to_owned()).collect();
        names.sort();
        assert_eq!(names, files);
        for preset in PRESETS {
            let machine = preset.machine().unwrap();
            let again: Machine =
                parse::from_text(Path::new("again"), &parse::to_text(&machine)).unwrap();
            assert_eq!(again, machine);
        }
    }

    #[test]
    fn every_value_of_a_preset_names_its_source() {
        for preset in PRESETS {
            let mut stated_above = false;
            for (number, line) in preset.text.lines().enumerate() {
                let (code, comment) = line.split_once("//").unwrap_or((line, ""));
                let names_source = comment.trim_start().starts_with('[');
                let code = code.trim();
                let is_value = code.ends_with(',') && code.contains(": ");
                // The name is not a fact about the chip, and the calibration is prose itself.
                let exempt = code.starts_with("name:") || code.starts_with("calibration:");
                assert!(
                    !is_value || exempt || names_source || stated_above,
                    "{}:{}: no source: {line}",
                    preset.file,
                    number + 1
                );
                // A long source stands above its value, over one or more lines.
                stated_above = code.is_empty() && (names_source || stated_above);
            }
        }
    }

    #[test]
    fn a_preset_is_found_however_it_is_written() {
        assert_eq!(find("GTX 480").unwrap().name, "gtx480");
        assert_eq!(find("gtx-480").unwrap().name, "gtx480");
        let error = find("gtx470").unwrap_err().to_string();
        let start = "no preset is called \"gtx470\" (hint: did you mean gtx480? presets are ";
        assert!(error.starts_with(start), "{error}");
        assert!(error.ends_with("; a file's name ends in .ron)"), "{error}");
    }

    /// What data sheets say of the cards: GFLOP/s in single and in double precision by multiply-adds, 0 where there are none, and
    /// GB/s of the memory.
    #[test]
    fn the_peaks_are_those_of_the_data_sheets() {
        let published = [
            ("9800gt", [339.0, 0.0, 57.6]),
            ("gtx280", [622.0, 78.0, 141.7]),
            ("gtx480", [1345.0, 168.0, 177.4]),
            ("c2050", [1030.0, 515.0, 144.0]),
            ("gtx580", [1581.0, 198.0, 192.4]),
            ("gtx680", [3090.0, 129.0, 192.3]),
            ("gtx640", [693.0, 29.0, 28.5]),
            ("v100", [15_700.0, 7_800.0, 900.0]),
            ("a100", [19_500.0, 9_700.0, 1_555.0]),
            ("h100", [66_900.0, 33_500.0, 3_350.0]),
            ("h200", [66_900.0, 33_500.0, 4_800.0]),
        ];
        assert_eq!(
            published.map(|row| row.0),
            PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>()[..]
        );
        for (name, published) in published {
            let machine = find(name).unwrap().machine().unwrap();
            let arithmetic = &machine.sm.arithmetic;
            let sets = match arithmetic.pipelines {
                Pipelining::PerSm => 1,
                Pipelining::PerScheduler => machine.sm.schedulers.get(),
            };
            let gflops = |units: u32, interval: u32| {
                let lanes = machine.sm.count.get() * sets * units * 32;
                2.0 * f64::from(lanes) / f64::from(interval)
                    * f64::from(machine.clocks.core_khz.get())
                    / 1e6
            };
            // Special-function pipes take double precision where it has none of its own; the 9800 GT has no such thing.
            let dp_units = match (name, arithmetic.dp_units.get()) {
                ("9800gt", _) => 0,
                (_, 0) => arithmetic.sfu_units.get(),
                (_, units) => units,
            };
            let have = [
                gflops(arithmetic.sp_units.get(), arithmetic.fp_fma.interval.get()),
                gflops(dp_units, arithmetic.dp_fma.interval.get()),
                machine.dram_peak() / 1e9,
            ];
            for (have, published) in have.into_iter().zip(published) {
                assert!(
                    (have - published).abs() <= 0.01 * published,
                    "{name}: {have}, not {published}"
                );
            }
        }
    }

    /// Tables I and II of Lashgar and Baniasadi, "A Case Against Small Data Types in GPGPUs".
    #[test]
    fn the_gtx_480_is_the_machine_of_the_paper() {
        let machine = find("gtx480").unwrap().machine().unwrap();
        let (sm, l1, l2, dram) = (&machine.sm, &machine.l1, &machine.l2, &machine.dram);
        // A scheduler issues a warp of 32 over two shader cycles on 16 lanes: a group of 16 lanes is
        // one of `sp_units`, and the core clock is half of the shader clock.
        let shader_khz = 2 * machine.clocks.core_khz.get();
        // The data bus makes two transfers in a cycle of the clock that the table gives.
        let memory_khz =
            u64::from(machine.clocks.dram_khz.get()) * u64::from(dram.data_rate.get()) / 2;
        let table = [
            ("SMs", sm.count.get(), 15),
            ("CUDA cores per SM", 16 * sm.arithmetic.sp_units.get(), 32),
            ("core clock [10 MHz]", shader_khz / 10_000, 140),
            ("memory clock [100 MHz]", (memory_khz / 100_000) as u32, 18),
            ("memory bus [bits]", 8 * dram.bus_bytes.get() * dram.channels.get(), 384),
            ("warp size", 32, 32),
            ("max threads per block", sm.max_cta_threads.get(), 1024),
            ("memory controllers", dram.channels.get(), 6),
            ("L2 sub-partitions per controller", l2.slices.get() / dram.channels.get(), 2),
            ("L1 size [bytes]", l1.size.get(), 16 * 1024),
            ("L1 sets", l1.sets.get(), 32),
            ("L1 ways", l1.ways.get(), 4),
            ("L1 line [bytes]", l1.line.get(), 128),
            ("L1 MSHR entries", l1.mshr_entries.get(), 32),
            ("L1 merger fields per MSHR entry", l1.mshr_mergers.get(), 8),
            ("L2 size per sub-partition [bytes]", l2.size.get(), 64 * 1024),
            ("L2 sets", l2.sets.get(), 64),
            ("L2 ways", l2.ways.get(), 8),
            ("L2 line [bytes]", l2.line.get(), 128),
            ("L2 MSHR entries", l2.mshr_entries.get(), 32),
            ("L2 merger fields per MSHR entry", l2.mshr_mergers.get(), 4),
        ];
        for (what, have, want) in table {
            assert_eq!(have, want, "{what}");
        }
        assert_eq!(machine.compute_capability, (2, 0));
    }
}
