//! The functional part of a run: what is executed, without a machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::arguments;
use crate::config::ResolvedRun;
use crate::config::machine::InstructionSet;
use crate::error::Result;
use crate::frontend::ptx::Module;
use crate::frontend::synthetic::SyntheticSource;
use crate::isa::CtaSource;
use crate::workload::{Launch, Outputs, Verdict, Work, Workload, ptx_header, registry};

/// A workload that is ready to be executed: its buffers are filled and its kernels understood.
///
/// It depends on the run's workload and seed, and of its machine on the instruction set only, which decides what
/// the streams hold and no value.
pub struct Functional {
    workload: Workload,
    modules: Modules,
    instructions: InstructionSet,
}

/// What a report says of the functional part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Compiler and digest of every file that took part.
    pub versions: BTreeMap<String, String>,
    /// What the check of the result found.
    pub verdict: Verdict,
}

/// What the functional part leaves behind.
#[derive(Debug)]
pub struct Executed {
    /// For the report.
    pub facts: Facts,
    /// The buffers that the run asks for.
    pub outputs: Outputs,
    /// How often a warp called `printf`, which prints nothing here.
    pub prints: u64,
    /// CTAs executed, of all launches.
    pub ctas: u64,
}

impl Functional {
    /// Builds the workload of `run`.
    ///
    /// # Errors
    /// Everything that can be known to be wrong before the first CTA.
    pub fn new(run: &ResolvedRun) -> Result<Self> {
        let workload = registry::build(run)?;
        let mut modules = Modules::default();
        let mut checked = BTreeSet::new();
        let launches = workload.launches.distinct().iter().filter_map(Work::ptx);
        for (launch, place) in launches.zip(&workload.own.places) {
            // The rounds of a loop differ in values only.
            if checked.insert(place) {
                arguments::check(modules.of(launch)?, launch, place, &run.origin)?;
            }
        }
        Ok(Functional { workload, modules, instructions: run.machine.sm.instructions })
    }

    /// Launches in all.
    pub fn launches(&self) -> usize {
        self.workload.launches.len()
    }

    /// Gives each launch in order to `take`, which must ask for all of its CTAs, and checks the result.
    ///
    /// # Errors
    /// What a launch or `take` refuses, and a wrong result.
    pub fn execute(
        mut self,
        take: &mut dyn FnMut(&mut dyn CtaSource) -> Result<()>,
    ) -> Result<Executed> {
        let versions = versions(&self.workload);
        let (mut prints, mut ctas) = (0, 0);
        for work in self.workload.launches.iter() {
            match work {
                Work::Ptx(launch) => {
                    let module = self.modules.of(launch)?;
                    let memory = &mut self.workload.memory;
                    let mut source = module.launch_for(launch, memory, self.instructions)?;
                    source.limit = self.workload.own.limit.unwrap_or(source.limit);
                    source.check(self.workload.own.checks);
                    take(&mut source)?;
                    prints += source.prints();
                    ctas += source.kernel().ctas;
                }
                Work::Synthetic(launch) => {
                    let mut source = SyntheticSource::new(launch);
                    take(&mut source)?;
                    ctas += source.kernel().ctas;
                }
            }
        }
        let verdict = (self.workload.check)(&self.workload.memory)?;
        let outputs = Outputs { memory: self.workload.memory, files: self.workload.own.outputs };
        Ok(Executed { facts: Facts { versions, verdict }, outputs, prints, ctas })
    }
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
