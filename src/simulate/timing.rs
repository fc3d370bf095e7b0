//! The timing part of a run: a machine that takes the launches in their order.

use std::collections::BTreeMap;

use super::Facts;
use crate::config::ResolvedRun;
use crate::error::Result;
use crate::gpu::{Gpu, Progress, RunStatistics, Stepping};
use crate::isa::LaunchSource;
use crate::report::{Inputs, Report, number};

/// The machine of a run, and what it has measured so far.
pub struct Timing<'r> {
    run: &'r ResolvedRun,
    gpu: Gpu,
    ran: RunStatistics,
}

impl<'r> Timing<'r> {
    /// The machine of `run`, idle.
    pub fn new(run: &'r ResolvedRun, stepping: Stepping) -> Self {
        let mut gpu = Gpu::new(&run.machine, stepping);
        if run.by_line {
            gpu.count_by_line();
        }
        Timing { run, gpu, ran: RunStatistics::default() }
    }

    /// Runs launches. `observe` is called now and then.
    ///
    /// # Errors
    /// As [`Gpu::run_each`].
    pub fn run(
        &mut self,
        launches: &mut dyn LaunchSource,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let Timing { gpu, ran, .. } = self;
        gpu.run_each(launches, observe, &mut |kernel| ran.add(kernel))
    }

    /// The report on the launches so far.
    ///
    /// # Errors
    /// A ledger that does not sum.
    pub fn report(self, facts: &Facts) -> Result<Report> {
        let inputs = inputs(self.run, facts.versions.clone());
        let name = &self.run.config.name;
        let mut report = Report::new(name, inputs, self.ran, facts.verdict.clone())?;
        report.notes = notes(self.run, facts);
        for (kernel, source) in &facts.sources {
            report.quote(kernel, &source.text);
        }
        report.name_buffers(&facts.buffers);
        Ok(report)
    }
}

/// What a reader of the report should know of the functional part.
fn notes(run: &ResolvedRun, facts: &Facts) -> Vec<String> {
    let mut notes = Vec::new();
    if facts.prints > 0 {
        let calls = number::counted(facts.prints, "call", "calls");
        notes.push(format!("{calls} of printf by warps; gsim prints nothing of it"));
    }
    let (found, wanted) = (facts.instructions, run.machine.sm.instructions);
    if found != wanted {
        notes.push(format!(
            "the trace has {found:?} instructions, and the machine's times are those of {wanted:?} ones (sm.instructions)"
        ));
    }
    notes
}

/// What a report on a run states about it, with the versions of what takes part in its workload.
pub fn inputs(run: &ResolvedRun, versions: BTreeMap<String, String>) -> Inputs {
    let config = &run.config;
    let set = config.set.iter().map(|(path, value)| (path.clone(), value.text().into()));
    Inputs {
        machine: run.machine.clone(),
        workload: config.workload.clone(),
        seed: config.seed,
        set: set.collect(),
        versions,
    }
}
