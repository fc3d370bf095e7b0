//! Hardware counters: NVIDIA's profiler as a child process, and what its counters are in the simulator.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::config::written::said;
use crate::error::{Error, Result};
use crate::report::{stored, write_file, write_folder};
use crate::serial;

/// Name of the file that a run's counters are in.
pub const COUNTERS_FILE: &str = "counters.json";

/// A hardware counter and the same quantity in a gsim report.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// What both count.
    pub name: &'static str,
    /// The profiler's name.
    pub counter: &'static str,
    /// The path in `report.json`, as in a study; none where the simulator has nothing like it.
    pub path: Option<&'static str>,
    /// What to know when they are compared.
    pub note: &'static str,
}

macro_rules! metrics {
    ($(($name:literal, $counter:literal, $path:expr, $note:literal),)*) => {
        /// Every counter that is asked for. Names: Nsight Compute, "Metrics Reference".
        pub const METRICS: &[Metric] =
            &[$(Metric { name: $name, counter: $counter, path: $path, note: $note }),*];
    };
}

metrics![
    (
        "cycles",
        "sm__cycles_elapsed.max",
        Some("totals.cycles"),
        "the profiler's include the launch; times are compared by events, not by this"
    ),
    (
        "warp instructions",
        "smsp__inst_executed.sum",
        Some("totals.warp_instructions"),
        "machine instructions against lowered PTX"
    ),
    (
        "load requests",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        Some("components.sm.*.load_instructions"),
        "global loads; gsim's include local and constant ones"
    ),
    (
        "load sectors",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        Some("components.l1.*.load_sectors"),
        "sectors of 32 bytes looked up in the L1 for global loads"
    ),
    (
        "L1 hits",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
        Some("components.l1.*.load_sector_hits"),
        "sectors; one that is on its way counts as a hit in both"
    ),
    (
        "store requests",
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        Some("components.sm.*.store_instructions"),
        "global stores; gsim's include local ones"
    ),
    (
        "store sectors",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        Some("components.l1.*.store_sectors"),
        "sectors that stores touch"
    ),
    (
        "L2 reads from L1",
        "lts__t_sectors_srcunit_tex_op_read.sum",
        Some("components.l2.*.read_sectors"),
        "sectors that L1s ask for"
    ),
    (
        "L2 hits from L1",
        "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
        Some("components.l2.*.read_sector_hits"),
        "of these, those that are there or on their way"
    ),
    (
        "L2 writes from L1",
        "lts__t_sectors_srcunit_tex_op_write.sum",
        Some("components.l2.*.write_sectors"),
        "sectors that L1s write"
    ),
    (
        "L2 reads",
        "lts__t_sectors_op_read.sum",
        Some("components.l2.*.read_sectors + components.l2.*.far_read_sectors"),
        "of every source: a sector of the far partition counts in both"
    ),
    (
        "L2 reads from the other partition",
        "lts__t_sectors_srcunit_ltcfabric_op_read.sum",
        Some("components.l2.*.far_read_sectors"),
        "sectors that one partition asks the other for"
    ),
    (
        "L2 writes",
        "lts__t_sectors_op_write.sum",
        None,
        "of every source: what comes from DRAM or the far partition counts, too"
    ),
    ("DRAM reads", "dram__bytes_read.sum", Some("totals.dram_bytes_read"), "bytes"),
    (
        "DRAM writes",
        "dram__bytes_write.sum",
        Some("totals.dram_bytes_written"),
        "bytes; what stays in the L2 at the end is written in neither"
    ),
    (
        "stall: long scoreboard",
        "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
        None,
        "warps that wait for global memory, for each instruction issued"
    ),
    (
        "stall: short scoreboard",
        "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
        None,
        "warps that wait for shared memory or special functions"
    ),
    (
        "stall: LSU queue",
        "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
        None,
        "warps that wait for a place in the LSU's queue"
    ),
    (
        "stall: arithmetic",
        "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
        None,
        "warps that wait for a fixed latency"
    ),
    (
        "stall: pipeline",
        "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
        None,
        "warps that wait for an arithmetic pipeline"
    ),
    (
        "stall: barrier",
        "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
        None,
        "warps that wait at a barrier"
    ),
];

/// Kernels with this in front of their names are gsim's own, for measuring.
const OWN: &str = "gsim_";

/// The counters of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterReport {
    /// Version of this layout.
    pub schema: u32,
    /// Version of gsim.
    pub gsim: String,
    /// Name of the run.
    pub name: String,
    /// Every launch, in order.
    pub launches: Vec<LaunchCounters>,
}

/// The counters of one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchCounters {
    /// The kernel.
    pub entry: String,
    /// By the profiler's names, in its base units.
    pub values: BTreeMap<String, f64>,
}

const SCHEMA: u32 = 1;

/// Profiles a child process, `gsim native launch` with these arguments, and reads what the profiler says.
///
/// The clock is left as it is and the caches are gsim's own business: every pass of the profiler is a process that
/// empties the caches and launches all kernels in order.
///
/// # Errors
/// A profiler that is not there or not allowed to read counters, with what it says.
pub fn profile(name: &str, gsim: &Path, arguments: &[String]) -> Result<CounterReport> {
    let counters: Vec<&str> = METRICS.iter().map(|metric| metric.counter).collect();
    let output = Command::new("ncu")
        .args([
            "--csv",
            "--print-units",
            "base",
            "--clock-control",
            "none",
            "--cache-control",
            "none",
        ])
        .args(["--replay-mode", "application", "--metrics", &counters.join(",")])
        .arg(gsim)
        .args(["native", "launch"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|cause| {
            Error::run(format!("ncu, NVIDIA's profiler, does not start: {}", said(&cause)))
                .hint("it is part of the CUDA toolkit, as Nsight Compute")
        })?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let all = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
        let said = all.lines().find(|line| line.contains("ERROR") || line.contains("error:"));
        let said = said.or(all.lines().last()).unwrap_or("it says nothing");
        return Err(Error::run(format!("ncu fails: {}", said.trim())));
    }
    Ok(CounterReport {
        schema: SCHEMA,
        gsim: env!("CARGO_PKG_VERSION").to_owned(),
        name: name.to_owned(),
        launches: parse(&text)?,
    })
}

/// Reads the profiler's table: a line for each counter of each launch, behind lines that begin with `==`.
///
/// # Errors
/// A table that is not as expected, or none.
pub fn parse(text: &str) -> Result<Vec<LaunchCounters>> {
    let bad = |why: &str| Error::run(format!("ncu's table is not understood: {why}"));
    let start = text.find("\"ID\"").ok_or_else(|| bad("there is none"))?;
    let mut table = csv::Reader::from_reader(&text.as_bytes()[start..]);
    let columns = table.headers().map_err(|why| bad(&why.to_string()))?.clone();
    let column = |name: &str| {
        columns
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| bad(&format!("no column {name:?}")))
    };
    let (id, kernel) = (column("ID")?, column("Kernel Name")?);
    let (metric, value) = (column("Metric Name")?, column("Metric Value")?);
    let mut launches: Vec<(u64, LaunchCounters)> = Vec::new();
    for record in table.records() {
        let record = record.map_err(|why| bad(&why.to_string()))?;
        let id = record[id].parse().map_err(|_| bad("an ID that is no number"))?;
        if record[kernel].starts_with(OWN) {
            continue;
        }
        if launches.last().is_none_or(|(last, _)| *last != id) {
            // The profiler shows a C++ kernel with its parameters.
            let entry = record[kernel].split('(').next().unwrap_or_default().to_owned();
            launches.push((id, LaunchCounters { entry, values: BTreeMap::new() }));
        }
        // Thousands are separated by commas; what a GPU does not count is `n/a`.
        if let Ok(number) = record[value].replace(',', "").parse() {
            let (_, launch) = launches.last_mut().expect("pushed above");
            launch.values.insert(record[metric].to_owned(), number);
        }
    }
    Ok(launches.into_iter().map(|(_, launch)| launch).collect())
}

impl CounterReport {
    /// The sum of a counter over all launches; none where a launch lacks it.
    pub fn sum(&self, counter: &str) -> Option<f64> {
        self.launches.iter().map(|launch| launch.values.get(counter)).sum()
    }

    /// Writes `ROOT/NAME/counters.json`, beside what is there; gives the folder.
    pub fn save(&self, root: &Path) -> Result<PathBuf> {
        let text = serial::to_json(self);
        let folder = root.join(&self.name);
        if folder.join(super::NATIVE_FILE).is_file() {
            write_file(&folder.join(COUNTERS_FILE), text.as_bytes())?;
            return Ok(folder);
        }
        write_folder(root, &self.name, COUNTERS_FILE, |folder| {
            write_file(&folder.join(COUNTERS_FILE), text.as_bytes())
        })
    }

    /// Reads a stored one: the file itself, or the folder that holds it.
    pub fn read(path: &Path) -> Result<Self> {
        stored::read(&stored::file_in(path, COUNTERS_FILE), "counters", SCHEMA, "launches")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The profiler's own output on an H200: a stencil of four launches, and gsim's flush before them.
    const SAMPLE: &str = include_str!("ncu_sample.csv");

    #[test]
    fn a_recorded_table_is_understood() {
        let launches = parse(SAMPLE).unwrap();
        assert_eq!(launches.len(), 4);
        assert!(launches.iter().all(|launch| launch.entry == "stencil1d_char"));
        assert_eq!(launches[3].values["smsp__inst_executed.sum"], 425_994.0);
        assert_eq!(launches[3].values["dram__bytes_read.sum"], 512.0);
        assert_eq!(launches[3].values["sm__cycles_active.avg"], 3237.06);
        assert!(parse("==PROF== nothing").is_err());
    }

    #[test]
    fn counters_are_summed_over_launches_where_all_have_them() {
        let launch = |values: &[(&str, f64)]| LaunchCounters {
            entry: "k".to_owned(),
            values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        };
        let launches = vec![launch(&[("a", 1.0), ("b", 2.0)]), launch(&[("a", 3.0)])];
        let report =
            CounterReport { schema: 1, gsim: String::new(), name: "r".to_owned(), launches };
        assert_eq!((report.sum("a"), report.sum("b")), (Some(4.0), None));
    }
}
