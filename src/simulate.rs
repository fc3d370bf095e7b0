//! One simulation from a resolved run to its report: the only place that knows every part.

mod arguments;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::config::ResolvedRun;
use crate::config::kernel::ChecksSpec;
use crate::error::Result;
use crate::frontend::ptx::{Checks, Module};
use crate::frontend::synthetic::SyntheticSource;
use crate::gpu::{Gpu, Progress, Stepping};
use crate::report::{Inputs, Report};
use crate::workload::{Launch, Outputs, Work, Workload, ptx_header, registry};

/// How far a simulation has come.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The launch that runs, from 0.
    pub launch: usize,
    /// Launches in all.
    pub launches: usize,
    /// How far that launch has come.
    pub progress: Progress,
}

/// What a simulation gives.
#[derive(Debug)]
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// The buffers that the run asks for.
    pub outputs: Outputs,
    /// How often a warp called `printf`, which prints nothing here.
    pub prints: u64,
}

/// Simulates `run` and checks the result. `observe` is called now and then.
///
/// # Errors
/// Bad input (a kernel that is not understood, a buffer that is too small, a CTA that does not fit), a
/// wrong result, a deadlock, or a ledger that does not sum.
pub fn simulate(
    run: &ResolvedRun,
    stepping: Stepping,
    observe: &mut dyn FnMut(Step),
) -> Result<Report> {
    simulate_with_outputs(run, stepping, observe).map(|outcome| outcome.report)
}

/// As [`simulate`]; gives the outputs, too, which take the memory of the workload's buffers.
pub fn simulate_with_outputs(
    run: &ResolvedRun,
    stepping: Stepping,
    observe: &mut dyn FnMut(Step),
) -> Result<Outcome> {
    let mut workload = registry::build(run)?;
    let mut modules = Modules::default();
    // Everything that can be known to be wrong is said before the first cycle.
    let mut checked = BTreeSet::new();
    let launches = workload.launches.distinct().iter().filter_map(Work::ptx);
    for (launch, place) in launches.zip(&workload.own.places) {
        // The rounds of a loop differ in values only.
        if checked.insert(place) {
            arguments::check(modules.of(launch)?, launch, place, &run.origin)?;
        }
    }
    let versions = versions(&workload);
    let mut gpu = Gpu::new(&run.machine, stepping);
    let launches = workload.launches.len();
    let mut kernels = Vec::with_capacity(launches);
    let mut prints = 0;
    for (number, work) in workload.launches.iter().enumerate() {
        let mut report = |progress| observe(Step { launch: number, launches, progress });
        kernels.push(match work {
            Work::Ptx(launch) => {
                let module = modules.of(launch)?;
                let mut source = module.launch(launch, &mut workload.memory)?;
                source.limit = workload.own.limit.unwrap_or(source.limit);
                let ChecksSpec { uninitialised_shared, division } = workload.own.checks;
                source.check(Checks { uninitialised_shared, division });
                let kernel = gpu.run(&mut source, &mut report)?;
                prints += source.prints();
                kernel
            }
            Work::Synthetic(launch) => gpu.run(&mut SyntheticSource::new(launch), &mut report)?,
        });
    }
    let verdict = (workload.check)(&workload.memory)?;
    let inputs = Inputs {
        machine: run.machine.clone(),
        workload: run.config.workload.clone(),
        seed: run.config.seed,
        set: run
            .config
            .set
            .iter()
            .map(|(path, value)| (path.clone(), value.text().into()))
            .collect(),
        versions,
    };
    let report = Report::new(&run.config.name, inputs, kernels, verdict)?;
    let outputs = Outputs { memory: workload.memory, files: workload.own.outputs };
    Ok(Outcome { report, outputs, prints })
}

/// The modules of a workload, each parsed once.
#[derive(Default)]
struct Modules(Vec<(PathBuf, Module)>);

impl Modules {
    fn of(&mut self, launch: &Launch) -> Result<&Module> {
        let path = &launch.ptx.path;
        let place = match self.0.iter().position(|(known, _)| known == path) {
            Some(place) => place,
            None => {
                self.0.push((path.clone(), Module::parse(&launch.ptx)?));
                self.0.len() - 1
            }
        };
        Ok(&self.0[place].1)
    }
}

/// Compiler and digest of every file of a workload.
fn versions(workload: &Workload) -> BTreeMap<String, String> {
    if !workload.own.digests.is_empty() {
        return workload.own.digests.clone();
    }
    let mut versions = BTreeMap::new();
    for launch in workload.launches.distinct().iter().filter_map(Work::ptx) {
        let name = launch.ptx.path.display();
        if let Some(compiler) = ptx_header::compiler(&launch.ptx.text) {
            versions.insert(format!("{name}: compiler"), compiler.to_owned());
        }
        versions.insert(format!("{name}: sha256"), ptx_header::sha256(&launch.ptx.text));
    }
    versions
}
