//! Why warps wait: the profiler's stall reasons beside the simulator's issue ledger.
//!
//! The profiler counts every warp that waits; the ledger gives each scheduler's cycle without an instruction one reason.
//! Both are compared as shares of all waiting.

use std::fmt::Write;

use serde_json::Value;

use super::pair::Pair;
use crate::native::counters::CounterReport;

/// A reason, by the profiler's names and by the ledger's.
struct Wait {
    name: &'static str,
    stalls: &'static [&'static str],
    parts: &'static [&'static str],
}

const REASONS: [Wait; 3] = [
    Wait {
        name: "memory",
        stalls: &["long_scoreboard", "lg_throttle"],
        parts: &[
            "lsu_nomerger",
            "lsu_nomshrline",
            "lsu_nocacheline",
            "lsu_coalescing",
            "lsu_missqueue",
            "lsu_serving",
            "memory_lsu",
            "memory_l1",
            "memory_merged",
            "memory_noc",
            "memory_l2",
            "memory_dram",
        ],
    },
    Wait {
        name: "arithmetic and shared memory",
        stalls: &["wait", "math_pipe_throttle", "short_scoreboard"],
        parts: &["arithmetic", "unit_busy", "memory_shared", "lsu_bankconflict"],
    },
    Wait { name: "barrier", stalls: &["barrier"], parts: &["barrier"] },
];

/// A share for each reason; none where nothing waits.
type Shares = Option<[f64; REASONS.len()]>;

fn shares(waits: [f64; REASONS.len()]) -> Shares {
    let all: f64 = waits.iter().sum();
    (all > 0.0).then(|| waits.map(|wait| wait / all))
}

/// The profiler's counter of a stall: the warps that wait so, in the mean, when an instruction is issued.
fn counter(stall: &str) -> String {
    format!("smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio")
}

/// What the profiler says, each launch by its instructions.
fn measured(counters: &CounterReport) -> Shares {
    shares(REASONS.map(|reason| {
        let of_launch = |launch: &crate::native::counters::LaunchCounters| {
            let value = |name: &str| launch.values.get(name).copied().unwrap_or_default();
            let stall = |stall: &&str| value(&counter(stall));
            value("smsp__inst_executed.sum") * reason.stalls.iter().map(stall).sum::<f64>()
        };
        counters.launches.iter().map(of_launch).sum()
    }))
}

/// What the ledger says.
fn simulated(report: &Value) -> Shares {
    let part = |part: &&str| {
        let path = format!("/ledgers/issue/parts/{part}");
        report.pointer(&path).and_then(Value::as_f64).unwrap_or_default()
    };
    shares(REASONS.map(|reason| reason.parts.iter().map(part).sum()))
}

/// The table of all runs that were profiled, with the mean differences; nothing where there is none.
pub fn table(pairs: &[Pair]) -> String {
    let rows: Vec<(&str, [f64; REASONS.len()], [f64; REASONS.len()])> = pairs
        .iter()
        .filter_map(|pair| {
            let measured = measured(pair.counters.as_ref()?)?;
            Some((pair.name.as_str(), measured, simulated(&pair.report)?))
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = "\n## Why warps wait\n\nShares of all waiting. The profiler counts each warp that waits; gsim's issue \
                    ledger gives each scheduler's cycle without an instruction one reason.\n\n"
        .to_owned();
    let heads = REASONS.map(|reason| format!("{}: GPU | gsim", reason.name));
    let _ = writeln!(text, "| run | {} |", heads.join(" | "));
    let _ = writeln!(text, "| --- |{}", " --- | --- |".repeat(REASONS.len()));
    for (name, measured, simulated) in &rows {
        let cell =
            |(gpu, gsim): (&f64, &f64)| format!("{:.0} % | {:.0} %", 100.0 * gpu, 100.0 * gsim);
        let cells: Vec<String> = measured.iter().zip(simulated).map(cell).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    let _ = writeln!(text);
    for (number, reason) in REASONS.iter().enumerate() {
        let apart = rows.iter().map(|(_, gpu, gsim)| (gpu[number] - gsim[number]).abs());
        let mean = 100.0 * apart.sum::<f64>() / rows.len() as f64;
        let stalls = reason.stalls.join("`, `");
        let _ = writeln!(text, "- {}: `{stalls}`; {mean:.1} points apart in the mean", reason.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::native::counters::{LaunchCounters, METRICS};
    use crate::stats::{IssueReason, Reason};

    fn launch(instructions: f64, long: f64, wait: f64) -> LaunchCounters {
        let values = [
            ("smsp__inst_executed.sum".to_owned(), instructions),
            (counter("long_scoreboard"), long),
            (counter("wait"), wait),
        ];
        LaunchCounters { entry: "kernel".to_owned(), values: values.into() }
    }

    #[test]
    fn launches_count_by_their_instructions() {
        let launches = vec![launch(100.0, 3.0, 1.0), launch(300.0, 0.0, 1.0)];
        let report =
            CounterReport { schema: 1, gsim: String::new(), name: String::new(), launches };
        assert_eq!(measured(&report), Some([300.0 / 700.0, 400.0 / 700.0, 0.0]));
    }

    #[test]
    fn the_ledger_is_cut_into_the_same_reasons_and_issue_is_no_wait() {
        let parts = json!({"issued": 50, "memory_dram": 6, "lsu_missqueue": 2, "unit_busy": 1, "barrier": 1});
        let report = json!({"ledgers": {"issue": {"parts": parts}}});
        assert_eq!(simulated(&report), Some([0.8, 0.1, 0.1]));
        assert_eq!(simulated(&json!({})), None);
    }

    #[test]
    fn every_stall_is_one_that_the_profiler_is_asked_for() {
        for stall in REASONS.iter().flat_map(|reason| reason.stalls) {
            assert!(METRICS.iter().any(|metric| metric.counter == counter(stall)), "{stall}");
        }
    }

    #[test]
    fn every_reason_of_the_ledger_has_its_place() {
        let known: Vec<&str> = REASONS.iter().flat_map(|reason| reason.parts).copied().collect();
        for (name, _) in <IssueReason as Reason>::GLOSSARY {
            // What the profiler says of instructions that are not there was not recorded.
            let is_no_wait = ["issued", "launch", "no_warp", "fetch", "fence"].contains(name);
            assert_eq!(known.contains(name), !is_no_wait, "{name}");
        }
    }
}
