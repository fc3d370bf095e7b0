//! A run on a GPU and in the simulator.

use serde_json::Value;

use crate::error::Result;
use crate::native::NativeReport;
use crate::native::counters::{CounterReport, Metric};
use crate::study::metric;

/// A run, what a GPU was measured to do with it, and what the simulator says.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Name of the run.
    pub name: String,
    /// What the GPU did.
    pub native: NativeReport,
    /// The L2 held the buffers at the start, on the GPU and in the simulator.
    pub is_warm: bool,
    /// The GPU's counters, where they were read.
    pub counters: Option<CounterReport>,
    /// The simulator's report.
    pub report: Value,
}

impl Pair {
    /// Microseconds on the GPU, without what an empty launch costs.
    pub fn measured_us(&self) -> f64 {
        if self.is_warm { self.native.warm_us() } else { self.native.cold_us() }
    }

    /// The interquartile range of these, summed over the launches [us].
    pub fn spread_us(&self) -> f64 {
        let times = self.native.launches.iter();
        let times = times.map(|one| if self.is_warm { &one.warm } else { &one.cold });
        times.map(|times| times.three_quarters - times.quarter).sum()
    }

    /// Core cycles on the GPU in that time.
    pub fn measured_cycles(&self) -> f64 {
        self.measured_us() * self.native.clock.mhz()
    }

    /// Core cycles in the simulator, without what empty launches take.
    pub fn simulated_cycles(&self) -> Result<f64> {
        let of_launch = |field| metric(&self.report, &format!("inputs.machine.launch.{field}"));
        let empty = of_launch("latency")? + of_launch("completion")?;
        // Kernels that run at the same time pay it once; how many do is the machine's affair.
        let launches = self.report["kernels"].as_array().map_or(0, Vec::len);
        Ok(metric(&self.report, "totals.cycles")? - empty * launches as f64)
    }

    /// The simulator's and the GPU's value of a metric; none where one has none.
    pub fn values(&self, which: &Metric) -> Result<Option<(f64, f64)>> {
        let measured = self.counters.as_ref().and_then(|counters| counters.sum(which.counter));
        match (which.path, measured) {
            (Some(path), Some(measured)) => Ok(Some((metric(&self.report, path)?, measured))),
            _ => Ok(None),
        }
    }
}
