//! The numbers that a summary begins with.

use super::Report;
use super::number::{percent, short, si, thousands};

/// One of these numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    /// What it is called.
    pub label: &'static str,
    /// None where the report has nothing of it: the hit rate of a cache that looked nothing up.
    pub value: Option<f64>,
    /// How it is written.
    pub measure: Measure,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A whole number.
    Count,
    /// About three digits.
    Number,
    /// The same of core cycles.
    Cycles,
    /// A share of one, in percent.
    Share,
    /// With a decimal prefix and this unit.
    Quantity(&'static str),
}

impl Measure {
    /// `value` in words; `none` where there is none.
    pub fn show_if_any(self, value: Option<f64>) -> String {
        value.map_or_else(|| "none".to_owned(), |value| self.show(value))
    }

    /// `value` in words.
    pub fn show(self, value: f64) -> String {
        match self {
            Measure::Count => thousands(value as u64),
            Measure::Number => short(value),
            Measure::Cycles => format!("{} cycles", short(value)),
            Measure::Share => percent(value),
            Measure::Quantity(unit) => si(value, unit),
        }
    }
}

impl Headline {
    /// The number in words; `none` where there is none.
    pub fn shown(&self) -> String {
        self.measure.show_if_any(self.value)
    }
}

/// Those of `report`, in the order of a summary.
pub fn headlines(report: &Report) -> [Headline; 15] {
    use Measure::{Count, Cycles, Number, Quantity, Share};
    let totals = &report.totals;
    let count = |value: u64| value as f64;
    let always = |label, value, measure| Headline { label, value: Some(value), measure };
    let sometimes = |label, name, value, measure| {
        let value = report.has(name).then_some(value);
        Headline { label, value, measure }
    };
    [
        always("core cycles", count(totals.cycles), Count),
        always("simulated time", totals.seconds_simulated, Quantity("s")),
        always("warp instructions", count(totals.warp_instructions), Count),
        always("instructions per cycle", totals.ipc, Number),
        always("load accesses", count(totals.load_accesses), Count),
        sometimes("mean load latency", "mean_latency", totals.mean_latency, Cycles),
        sometimes("L1 hit rate", "l1_hit_rate", totals.l1_hit_rate, Share),
        sometimes("L1 miss rate", "l1_miss_rate", totals.l1_miss_rate, Share),
        // The three add up.
        sometimes("L1 merged", "l1_miss_rate", report.l1_merged_rate(), Share),
        always("L1 to L2 packets", count(totals.memory_requests), Count),
        sometimes("L2 read miss rate", "l2_read_miss_rate", totals.l2_read_miss_rate, Share),
        always("DRAM utilisation", totals.dram_utilisation, Share),
        always("DRAM read", count(totals.dram_bytes_read), Quantity("B")),
        always("DRAM written", count(totals.dram_bytes_written), Quantity("B")),
        always("DRAM bandwidth", totals.dram_bandwidth(), Quantity("B/s")),
    ]
}
