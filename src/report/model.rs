//! What a result file holds.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::machine::{Calibration, L2Mode};
use crate::config::presets::{self, Preset};
use crate::config::run::check_name;
use crate::config::{Machine, WorkloadSpec};
use crate::dram::DramStats;
use crate::error::{Error, Result};
use crate::gpu::{
    BufferStatistics, Components, ConcurrentKernel, KernelStatistics, Ledgers, LineStatistics,
    RunStatistics, total,
};
use crate::l1::L1Stats;
use crate::l2::L2Stats;
use crate::serial;
use crate::sm::SmStats;
use crate::stats::ratio;
use crate::workload::Verdict;

use super::buffers;
use super::glossary::{Glossary, glossary};
use super::lines;
use super::number::{counted, thousands};
use super::stored;
use super::totals::Totals;

/// Raised whenever the meaning or the place of a field of [`Report`] changes.
pub const SCHEMA: u32 = 2;

/// Everything about one simulation: what came out, and all that is needed to run it again.
///
/// It holds no wall-clock time and nothing about the host: the same inputs give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of this layout.
    pub schema: u32,
    /// Version of the gsim that made it.
    pub gsim: String,
    /// The run's name.
    pub name: String,
    /// The first numbers to look at, all kernels together.
    pub totals: Totals,
    /// What the comparison with the host reference found.
    pub check: Verdict,
    /// What else a reader should know, a clause each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The four ledgers, all kernels together.
    pub ledgers: Ledgers,
    /// By kernel, in the order of launch.
    pub kernels: Vec<KernelReport>,
    /// Every counter of every component instance, all kernels together.
    pub components: Components,
    /// What warps did by line of the kernels' sources, all launches of a kernel together; empty where that was not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineStatistics>,
    /// What warps did by buffer, all launches together; empty where that was not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<BufferStatistics>,
    /// What to run to get this again.
    pub inputs: Inputs,
    /// The meaning of every name: by group, then by name.
    pub glossary: Glossary,
}

/// All launches of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelSum<'a> {
    /// Its name.
    pub name: &'a str,
    /// How often it was launched.
    pub launches: u64,
    /// What the launches took together [core cycles].
    pub cycles: u64,
    /// What they issued together [warp instructions].
    pub warp_instructions: u64,
}

/// One kernel launch, or several at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Entry point; of several, all of them: `a x 2 + b`.
    pub name: String,
    /// CTAs of the launch; of several, of all together.
    pub ctas: u64,
    /// Threads of a CTA; of several, the most.
    pub cta_threads: u32,
    /// Warps of an SM that residency allows at once; of several, the most.
    pub resident_warps: u32,
    /// The kernels, where several ran at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concurrent: Vec<ConcurrentKernel>,
    /// The first numbers to look at.
    pub totals: Totals,
    /// The four ledgers.
    pub ledgers: Ledgers,
    /// Every counter, of all instances of a component together: a GPU has hundreds, and a run may have thousands of launches.
    pub components: Components,
}

/// All that decides the outcome of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inputs {
    /// The whole machine, changes applied.
    pub machine: Machine,
    /// The whole workload, changes applied.
    pub workload: WorkloadSpec,
    /// Seed of everything random.
    pub seed: u64,
    /// What the run file changed in the machine or the workload, by path.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// Versions and digests of what else took part, by name: the kernel's PTX, its compiler.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
}

impl Report {
    /// Sums up what the kernels did.
    ///
    /// Fails when a ledger does not sum: such a report must not exist.
    pub fn new(
        name: &str,
        inputs: Inputs,
        ran: impl Into<RunStatistics>,
        check: Verdict,
    ) -> Result<Self> {
        let RunStatistics { kernels, components } = ran.into();
        let mut ledgers = Ledgers::default();
        let (mut cycles, mut load_accesses) = (0, 0);
        for kernel in &kernels {
            kernel
                .ledgers
                .check()
                .map_err(|why| Error::internal(format!("kernel {}: {why}", kernel.name)))?;
            ledgers.merge(&kernel.ledgers);
            cycles += kernel.cycles;
            load_accesses += kernel.latency_accesses;
        }
        let lines = lines::merged(kernels.iter().map(|kernel| &kernel.lines));
        let buffers = buffers::merged(kernels.iter().map(|kernel| &kernel.buffers));
        let machine = &inputs.machine;
        let totals = Totals::new(machine, cycles, load_accesses, &ledgers, &components);
        let kernels =
            kernels.into_iter().map(|kernel| KernelReport::new(machine, kernel)).collect();
        Ok(Report {
            schema: SCHEMA,
            gsim: env!("CARGO_PKG_VERSION").to_owned(),
            name: name.to_owned(),
            totals,
            check,
            notes: Vec::new(),
            ledgers,
            kernels,
            components,
            inputs,
            glossary: glossary(!lines.is_empty()),
            lines,
            buffers,
        })
    }

    /// A report of nothing: it has every field that a report on these inputs has, and one entry in every list.
    pub fn shape(name: &str, inputs: Inputs) -> Self {
        let components = Components {
            sm: vec![SmStats::default()],
            l1: vec![L1Stats::default()],
            l2: vec![L2Stats::default()],
            dram: vec![DramStats::default()],
            ..Components::default()
        };
        let kernel = KernelStatistics {
            name: name.to_owned(),
            ctas: 0,
            cta_threads: 0,
            resident_warps: 0,
            cycles: 0,
            concurrent: Vec::new(),
            ledgers: Ledgers::default(),
            latency_accesses: 0,
            components,
            lines: Vec::new(),
            buffers: Vec::new(),
        };
        Report::new(name, inputs, vec![kernel], Verdict::NOTHING_TO_CHECK)
            .expect("empty ledgers sum")
    }

    /// Reads a stored report: the file itself, or the result folder that holds a `report.json`.
    ///
    /// Fails on another schema version, on a name that is none and on a ledger that does not sum.
    pub fn read(path: &Path) -> Result<Self> {
        let file = stored::file_in(path, super::REPORT_FILE);
        let report: Report = stored::read(&file, "a report", SCHEMA, "components")?;
        check_name(&report.name).map_err(|why| Error::input(why).in_file(&file))?;
        let cycles = report.kernels.iter().map(|kernel| u128::from(kernel.totals.cycles)).sum();
        if u128::from(report.totals.cycles) != cycles {
            let why = format!("totals.cycles: {} of {cycles} of its kernels", report.totals.cycles);
            return Err(Error::input(why).in_file(&file));
        }
        let kernels = report.kernels.iter().map(|kernel| &kernel.ledgers);
        for ledgers in std::iter::once(&report.ledgers).chain(kernels) {
            ledgers.check().map_err(|why| Error::input(why).in_file(&file))?;
        }
        for line in &report.lines {
            line.check().map_err(|why| Error::input(why).in_file(&file))?;
        }
        for buffer in &report.buffers {
            buffer.check().map_err(|why| Error::input(why).in_file(&file))?;
        }
        Ok(report)
    }

    /// The report as text: JSON, indented, with a newline at the end.
    pub fn to_json(&self) -> String {
        serial::to_json(self)
    }

    /// The machine's name and what the run changed, for titles.
    pub fn machine_line(&self) -> String {
        let name = &self.inputs.machine.name;
        if self.inputs.set.is_empty() {
            return name.clone();
        }
        let changes =
            self.inputs.set.iter().map(|(path, value)| format!("{path} = {}", in_words(value)));
        format!("{name} with {}", changes.collect::<Vec<_>>().join(", "))
    }

    /// The kernels, all launches of one name together, in the order of their first ones.
    pub fn by_kernel(&self) -> Vec<KernelSum<'_>> {
        let mut sums: Vec<KernelSum<'_>> = Vec::new();
        let mut places = HashMap::new();
        for kernel in &self.kernels {
            let place = *places.entry(&kernel.name).or_insert_with(|| {
                sums.push(KernelSum { name: &kernel.name, ..KernelSum::default() });
                sums.len() - 1
            });
            let sum = &mut sums[place];
            sum.launches += 1;
            sum.cycles += kernel.totals.cycles;
            sum.warp_instructions += kernel.totals.warp_instructions;
        }
        sums
    }

    /// The loads looked up in the L1 that merged into an outstanding miss, as a share: what neither hit nor missed.
    pub fn l1_merged_rate(&self) -> f64 {
        let l1 = total(&self.components.l1);
        ratio(l1.load_merged, l1.loads())
    }

    /// The totals that say nothing in some reports.
    pub const MAY_LACK: [&'static str; 4] =
        ["l1_hit_rate", "l1_miss_rate", "l2_read_miss_rate", "mean_latency"];

    /// Whether a total of this name says anything: the rate of a cache that looked nothing up does not, nor does a mean
    /// of no loads.
    pub fn has(&self, name: &str) -> bool {
        let looked_up = || match self.inputs.machine.l2.mode {
            L2Mode::Cache => total(&self.components.l2).reads() > 0,
            L2Mode::PassThrough => false,
        };
        match name {
            "l1_hit_rate" | "l1_miss_rate" => total(&self.components.l1).loads() > 0,
            "l2_read_miss_rate" => looked_up(),
            "mean_latency" => self.totals.load_accesses > 0,
            _ => true,
        }
    }

    /// A total of this name as `show` writes it; `none` where it says nothing.
    pub(super) fn shown(&self, name: &str, show: impl FnOnce() -> String) -> String {
        if self.has(name) { show() } else { "none".to_owned() }
    }

    /// Whether the machine, as it was simulated, was held against hardware.
    pub fn calibration_line(&self) -> &'static str {
        let machine = &self.inputs.machine;
        // What was measured is the machine that comes with gsim, without changes, whether by `--set` or in a file.
        let is_preset = || {
            let preset = presets::find(&machine.name).and_then(Preset::machine);
            preset.is_ok_and(|preset| preset == *machine)
        };
        match &machine.calibration {
            Calibration::Uncalibrated(_) => "machine not calibrated",
            Calibration::Calibrated(_) if is_preset() => "calibrated machine",
            Calibration::Calibrated(_) => "calibrated machine, but changed",
        }
    }

    /// What else a reader should know: the notes, and what of the totals is easily misread. A clause each.
    pub fn remarks(&self) -> Vec<String> {
        let sm = total(&self.components.sm);
        let atomics = self.totals.load_accesses.saturating_sub(sm.load_accesses);
        let mut remarks = self.notes.clone();
        if atomics > 0 {
            let loads = thousands(self.totals.load_accesses);
            let atomics = thousands(atomics);
            remarks.push(format!("{atomics} of {loads} load accesses are atomics that return"));
        }
        let keeps_stores = self.inputs.machine.l2.mode == L2Mode::Cache;
        if keeps_stores && sm.store_accesses > 0 && self.totals.dram_bytes_written == 0 {
            remarks.push("all that was stored is in the L2 at the end, and not in DRAM".to_owned());
        }
        remarks
    }

    /// Where all launches are of one kernel: `histogram, 64 CTAs of 256 threads`; without the CTAs, where they differ. Empty otherwise.
    fn kernel_in_words(&self) -> String {
        let mut shapes: Vec<_> =
            self.kernels.iter().map(|one| (&one.name, one.ctas, one.cta_threads)).collect();
        shapes.dedup();
        let is_one = self.by_kernel().len() == 1;
        match shapes.as_slice() {
            [(name, ctas, threads)] if self.kernels[0].concurrent.is_empty() => {
                let ctas = counted(*ctas, "CTA", "CTAs");
                format!("{name}, {ctas} of {}", counted((*threads).into(), "thread", "threads"))
            }
            [(name, ..), ..] if is_one => (*name).clone(),
            _ => String::new(),
        }
    }

    /// What the comparison with the host reference found, as a clause.
    pub fn verdict_line(&self) -> String {
        let elements = counted(self.check.elements, "element", "elements");
        match (&self.inputs.workload, self.check.elements) {
            (WorkloadSpec::Kernel(_), 0) => "output was not compared with anything".to_owned(),
            (_, 0) => "no result to check".to_owned(),
            (WorkloadSpec::Kernel(_), _) => format!("output is as expected ({elements})"),
            _ => format!("output equals the host reference ({elements})"),
        }
    }

    /// The workload and its parameters in one line, for titles.
    pub fn workload_line(&self) -> String {
        if let WorkloadSpec::Kernel(kernel) = &self.inputs.workload {
            // Buffers and launches have no end.
            let parameters = serial::to_json_value(&kernel.parameters);
            let parts = [kernel.source.clone(), self.kernel_in_words(), in_words(&parameters)];
            let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            return parts.join(": ");
        }
        // All of its fields would fill a page.
        if let WorkloadSpec::Synthetic(spec) = &self.inputs.workload {
            return format!("Synthetic: {}", spec.summary());
        }
        let json = serial::to_json_value(&self.inputs.workload);
        let Value::Object(variants) = json else { return in_words(&json) };
        let lines = variants.iter().map(|(name, spec)| match in_words(spec) {
            parameters if parameters.is_empty() => name.clone(),
            parameters => format!("{name}: {parameters}"),
        });
        lines.collect::<Vec<_>>().join("; ")
    }
}

/// A value as a reader wants it: no quotes, no braces, separated thousands, nothing for what is null or empty.
fn in_words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), thousands),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(items) => items.iter().map(in_words).collect::<Vec<_>>().join(" "),
        Value::Object(fields) => {
            let words = fields.iter().map(|(name, value)| (name, in_words(value)));
            let said = words.filter(|(_, words)| !words.is_empty());
            said.map(|(name, words)| format!("{name} {words}")).collect::<Vec<_>>().join(", ")
        }
    }
}

impl KernelReport {
    fn new(machine: &Machine, kernel: KernelStatistics) -> Self {
        let totals = Totals::new(
            machine,
            kernel.cycles,
            kernel.latency_accesses,
            &kernel.ledgers,
            &kernel.components,
        );
        KernelReport {
            name: kernel.name,
            ctas: kernel.ctas,
            cta_threads: kernel.cta_threads,
            resident_warps: kernel.resident_warps,
            concurrent: kernel.concurrent,
            totals,
            ledgers: kernel.ledgers,
            components: kernel.components,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::{Setting, overrides};
    use crate::report::sample;
    use crate::stats::LsuReason;

    #[test]
    fn a_report_has_this_shape() {
        let json: Value = serde_json::from_str(&sample::report().to_json()).unwrap();
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            keys(&json),
            [
                "schema",
                "gsim",
                "name",
                "totals",
                "check",
                "ledgers",
                "kernels",
                "components",
                "inputs",
                "glossary"
            ]
        );
        assert_eq!(
            keys(&json["totals"]),
            [
                "cycles",
                "warp_instructions",
                "thread_instructions",
                "ipc",
                "l1_hit_rate",
                "l1_miss_rate",
                "l2_read_miss_rate",
                "dram_utilisation",
                "dram_bytes_read",
                "dram_bytes_written",
                "load_accesses",
                "mean_latency",
                "memory_accesses",
                "memory_requests",
                "seconds_simulated"
            ]
        );
        assert_eq!(
            keys(&json["kernels"][0]),
            ["name", "ctas", "cta_threads", "resident_warps", "totals", "ledgers", "components"]
        );
        assert_eq!(keys(&json["ledgers"]), ["issue", "lsu", "latency", "dram"]);
        assert_eq!(keys(&json["inputs"]), ["machine", "workload", "seed", "set", "versions"]);
        assert_eq!(json["check"]["elements"], 524_288);
        assert_eq!(json["inputs"]["machine"]["l1"]["mshr_mergers"], 8);
        assert_eq!(
            json["glossary"]["ledgers.lsu"]["missqueue"],
            "Stalled: the queue to the interconnect is full."
        );
    }

    #[test]
    fn the_totals_are_those_of_the_kernels_together() {
        let report = sample::report();
        let cycles: u64 = report.kernels.iter().map(|kernel| kernel.totals.cycles).sum();
        assert_eq!(report.totals.cycles, cycles);
        assert_eq!(report.totals.ipc, report.totals.warp_instructions as f64 / cycles as f64);
        assert_eq!(report.totals.seconds_simulated, cycles as f64 / 700e6);
        assert_eq!(
            report.totals.mean_latency,
            report.ledgers.latency.total() as f64 / report.totals.load_accesses as f64
        );
    }

    #[test]
    fn a_report_is_read_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let report = sample::report();
        fs::write(folder.path().join("report.json"), report.to_json()).unwrap();
        assert_eq!(Report::read(folder.path()).unwrap(), report);
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = sample::report();
        report.ledgers.lsu.charge(LsuReason::Idle, 1);
        let file = folder.path().join("report.json");
        fs::write(&file, report.to_json()).unwrap();
        let error = Report::read(folder.path()).unwrap_err();
        assert!(error.message.contains("the lsu ledger does not sum"), "{error}");
        assert_eq!((error.exit_code(), error.location.unwrap().file), (2, file));
    }

    #[test]
    fn a_ledger_that_does_not_sum_makes_no_report() {
        let (inputs, mut kernels, check) = sample::parts();
        kernels[1].ledgers.lsu.charge(LsuReason::Idle, 1);
        let error = Report::new("broken", inputs, kernels, check).unwrap_err();
        assert_eq!(error.kind, crate::error::ErrorKind::Internal);
        assert!(error.message.contains("the lsu ledger does not sum"), "{error}");
    }

    #[test]
    fn what_a_run_changed_is_told_with_the_machine() {
        let mut report = sample::report();
        assert_eq!(report.machine_line(), "GeForce GTX 480");
        report.inputs.set.insert("l1.mshr_mergers".to_owned(), 16.into());
        report.inputs.set.insert("l1.index".to_owned(), "Xor".into());
        let line = "GeForce GTX 480 with l1.index = Xor, l1.mshr_mergers = 16";
        assert_eq!(report.machine_line(), line);
    }

    #[test]
    fn a_rate_of_nothing_is_none() {
        let mut report = sample::report();
        let shown = |report: &Report| {
            ["l1_hit_rate", "l1_miss_rate", "l2_read_miss_rate", "mean_latency", "ipc"]
                .map(|name| report.shown(name, || "some".to_owned()))
        };
        assert_eq!(shown(&report), ["some"; 5]);
        let rates = report.totals.l1_hit_rate + report.totals.l1_miss_rate;
        assert!((rates + report.l1_merged_rate() - 1.0).abs() < 1e-12);
        // Its L1 serves constants only, and its L2 keeps nothing.
        report.inputs.machine = presets::find("gtx280").unwrap().machine().unwrap();
        report.components.l1.fill(L1Stats::default());
        report.totals.load_accesses = 0;
        assert_eq!(shown(&report), ["none", "none", "none", "none", "some"]);
    }

    #[test]
    fn a_changed_machine_is_not_called_calibrated() {
        let mut report = sample::report();
        assert_eq!(report.calibration_line(), "machine not calibrated");
        report.inputs.machine = presets::find("h200").unwrap().machine().unwrap();
        report.inputs.set.insert("workload.element".to_owned(), "Int".into());
        assert_eq!(report.calibration_line(), "calibrated machine");
        let settings = [("l1.mshr_mergers".to_owned(), Setting::new("16"))].into();
        let machine = &mut report.inputs.machine;
        *machine = overrides::apply_to_machine(machine, &settings).unwrap();
        assert_eq!(report.calibration_line(), "calibrated machine, but changed");
    }

    #[test]
    fn a_workload_without_a_result_is_not_said_to_be_right() {
        let mut report = sample::report();
        let line = "output equals the host reference (524,288 elements)";
        assert_eq!(report.verdict_line(), line);
        report.check = Verdict::NOTHING_TO_CHECK;
        assert_eq!(report.verdict_line(), "no result to check");
    }

    #[test]
    fn the_workload_is_told_in_one_line() {
        assert_eq!(
            sample::report().workload_line(),
            "Stencil1d: element Char, elements 524,288, block 256, iterations 4"
        );
    }
}
