//! What a native run leaves behind: `native.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::device::DeviceFacts;
use super::verify::Agreement;
use crate::config::WorkloadSpec;
use crate::error::Result;
use crate::report::{stored, write_file, write_folder};
use crate::serial;
use crate::stats::quantile;
use crate::workload::Verdict;

/// Name of the file.
pub const NATIVE_FILE: &str = "native.json";

/// Version of the file's layout.
const SCHEMA: u32 = 1;

/// A native run: what ran, whether it was right, how long it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeReport {
    /// Version of this layout.
    pub schema: u32,
    /// Version of gsim.
    pub gsim: String,
    /// Name of the run.
    pub name: String,
    /// The GPU.
    pub device: DeviceFacts,
    /// The clock of its SMs around the measurement.
    pub clock: Clock,
    /// The workload.
    pub workload: WorkloadSpec,
    /// Seed of everything random.
    pub seed: u64,
    /// What the run file changed, by path.
    pub set: BTreeMap<String, Value>,
    /// Versions and digests of what else took part, by name.
    pub versions: BTreeMap<String, String>,
    /// The GPU's result against the host reference.
    pub check: Verdict,
    /// The GPU's result against gsim's functional execution, bit by bit.
    pub agreement: Agreement,
    /// From one event to the next with a single launch of an empty kernel of one warp between them `[us]`.
    pub empty: Times,
    /// Every launch, in order.
    pub launches: Vec<LaunchTimes>,
}

/// The measured clock of the SMs `[MHz]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Before the first timed launch.
    pub before_mhz: f64,
    /// After the last one.
    pub after_mhz: f64,
}

impl Clock {
    /// The mean of both `[MHz]`, which is cycles a microsecond.
    pub fn mhz(&self) -> f64 {
        f64::midpoint(self.before_mhz, self.after_mhz)
    }
}

/// Times of one launch, or of several at the same time, in many passes, from the event before to the one behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchTimes {
    /// The kernel; of several, all of them: `a x 2 + b`.
    pub entry: String,
    /// Launches at the same time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub together: u32,
    /// CTAs in x, y, z, of the first of them.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z, of the first of them.
    pub block: [u32; 3],
    /// Registers of a thread, as the driver's compiler allotted them; of several, the most.
    pub registers: u32,
    /// Local memory of a thread, of several the most `[bytes]`.
    pub local_bytes: u32,
    /// With nothing in the caches before the first launch of the pass `[us]`.
    pub cold: Times,
    /// Right after the buffers were copied to their place, which leaves them in the L2 as far as they fit `[us]`.
    pub warm: Times,
    /// The same with an empty kernel of one warp in its place, and in that of each of the others `[us]`; none for a single launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<Times>,
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// A measured time `[us]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The median.
    pub median: f64,
    /// The first quartile.
    pub quarter: f64,
    /// The third quartile.
    pub three_quarters: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
    /// How many were measured.
    pub samples: u32,
}

impl Times {
    /// Sums up samples.
    ///
    /// # Panics
    /// When there are none.
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share| quantile(&sorted, share);
        Times {
            median: at(0.5),
            quarter: at(0.25),
            three_quarters: at(0.75),
            least: at(0.0),
            greatest: at(1.0),
            samples: sorted.len() as u32,
        }
    }
}

impl NativeReport {
    pub(super) const SCHEMA: u32 = SCHEMA;

    /// Writes `ROOT/NAME/native.json`; gives the folder.
    pub fn save(&self, root: &Path) -> Result<PathBuf> {
        write_folder(root, &self.name, NATIVE_FILE, |folder| {
            let text = serial::to_json(self);
            write_file(&folder.join(NATIVE_FILE), text.as_bytes())
        })
    }

    /// Reads a stored report: the file itself, or the folder that holds it.
    pub fn read(path: &Path) -> Result<Self> {
        stored::read(&stored::file_in(path, NATIVE_FILE), "a native run", SCHEMA, "launches")
    }

    /// Microseconds of all launches, the median of each, caches cold, without what empty launches in their places cost.
    pub fn cold_us(&self) -> f64 {
        self.beyond_empty(|launch| &launch.cold)
    }

    /// As [`NativeReport::cold_us`], caches warm.
    pub fn warm_us(&self) -> f64 {
        self.beyond_empty(|launch| &launch.warm)
    }

    fn beyond_empty(&self, times: impl Fn(&LaunchTimes) -> &Times) -> f64 {
        let empty = |launch: &LaunchTimes| launch.empty.unwrap_or(self.empty).median;
        self.launches.iter().map(|launch| times(launch).median - empty(launch)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_samples() {
        let times = Times::of(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!((times.least, times.greatest, times.samples), (1.0, 4.0, 4));
        assert_eq!((times.quarter, times.median, times.three_quarters), (1.75, 2.5, 3.25));
        assert_eq!(Times::of(&[7.0]).median, 7.0);
    }
}
