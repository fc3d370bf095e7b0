//! One simulation from a resolved run to its report: the only place that knows every part.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::config::ResolvedRun;
use crate::error::Result;
use crate::frontend::ptx::Module;
use crate::frontend::synthetic::SyntheticSource;
use crate::gpu::{Gpu, Progress, Stepping};
use crate::report::{Inputs, Report};
use crate::workload::{Launch, Work, Workload, ptx_header, registry};

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
    let mut workload = registry::build(&run.config.workload, run.config.seed)?;
    let versions = versions(&workload);
    let mut gpu = Gpu::new(&run.machine, stepping);
    let mut modules = Modules::default();
    let launches = workload.launches.len();
    let mut kernels = Vec::with_capacity(launches);
    for (number, work) in workload.launches.iter().enumerate() {
        let mut report = |progress| observe(Step { launch: number, launches, progress });
        kernels.push(match work {
            Work::Ptx(launch) => {
                let module = modules.of(launch)?;
                gpu.run(&mut module.launch(launch, &mut workload.memory)?, &mut report)?
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
    Report::new(&run.config.name, inputs, kernels, verdict)
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

/// Compiler and source digest of every PTX file of a workload.
fn versions(workload: &Workload) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    for launch in workload.launches.iter().filter_map(Work::ptx) {
        let name = launch.ptx.path.display();
        if let Some(compiler) = ptx_header::compiler(&launch.ptx.text) {
            versions.insert(format!("{name}: compiler"), compiler.to_owned());
        }
        versions.insert(format!("{name}: sha256"), ptx_header::sha256(&launch.ptx.text));
    }
    versions
}
