//! The functional part of a run that executes kernels or generates patterns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::functional::{Executed, Facts};
use super::{arguments, symbols};
use crate::config::ResolvedRun;
use crate::config::files::sha256;
use crate::config::machine::InstructionSet;
use crate::error::Result;
use crate::frontend::ptx::{Module, PtxLaunch};
use crate::frontend::synthetic::SyntheticSource;
use crate::isa::{Cta, CtaSource, Kernel, LaunchSource};
use crate::workload::{Launch, Outputs, Symbol, Work, Workload, ptx_header, registry};

/// A workload that is ready to be executed: its buffers are filled and its kernels understood. It hands out its launches as
/// they are executed.
pub struct Executing {
    workload: Workload,
    modules: Modules,
    instructions: InstructionSet,
    versions: BTreeMap<String, String>,
    /// The launch under way. A kernel has the workload's memory as long.
    source: Option<Source>,
    /// Launches that have begun.
    begun: usize,
    prints: u64,
    ctas: u64,
}

/// A launch under way.
enum Source {
    Ptx(Box<PtxLaunch>),
    Synthetic(SyntheticSource),
}

impl Source {
    fn get(&mut self) -> &mut dyn CtaSource {
        match self {
            Source::Ptx(launch) => &mut **launch,
            Source::Synthetic(source) => source,
        }
    }
}

impl Executing {
    /// Builds the workload of `run`.
    ///
    /// # Errors
    /// Everything that can be known to be wrong before the first CTA.
    pub fn new(run: &ResolvedRun) -> Result<Self> {
        let mut workload = registry::build(run)?;
        let symbols = std::mem::take(&mut workload.own.symbols);
        let mut modules = Modules { known: Vec::new(), symbols };
        let mut checked = BTreeSet::new();
        let launches = workload.launches.distinct().iter().filter_map(Work::ptx);
        for (launch, place) in launches.zip(&workload.own.places) {
            // The rounds of a loop differ in values only.
            if checked.insert(place) {
                arguments::check(modules.of(launch)?, launch, place, &run.origin)?;
            }
        }
        Ok(Executing {
            versions: versions(&workload),
            workload,
            modules,
            instructions: run.machine.sm.instructions,
            source: None,
            begun: 0,
            prints: 0,
            ctas: 0,
        })
    }

    /// Compiler and digest of every file that takes part.
    pub fn versions(&self) -> &BTreeMap<String, String> {
        &self.versions
    }

    /// The instruction set of the streams: PTX or SASS.
    pub fn instructions(&self) -> InstructionSet {
        self.instructions
    }

    /// Launches that are to be simulated.
    pub fn launches(&self) -> usize {
        self.workload.launches.timed()
    }

    /// Executes what has not been asked for, and checks the result.
    ///
    /// # Errors
    /// What a launch refuses, and a wrong result.
    pub fn finish(mut self) -> Result<Executed> {
        let mut cta = Cta::default();
        while self.next(&mut cta)? || self.begin()?.is_some() {}
        let launches = self.workload.launches.distinct().iter().filter_map(Work::ptx);
        let sources = launches.map(|launch| (launch.entry.clone(), launch.ptx.clone())).collect();
        let buffers = self.workload.buffer_names();
        let verdict = (self.workload.check)(&self.workload.memory)?;
        let outputs = Outputs { memory: self.workload.memory, files: self.workload.own.outputs };
        let facts = Facts {
            versions: self.versions,
            verdict,
            prints: self.prints,
            instructions: self.instructions,
            sources,
            buffers,
        };
        Ok(Executed { facts, outputs, ctas: self.ctas })
    }

    /// Begins the next launch, whether or not it is to be simulated; none behind the last one.
    fn begin_any(&mut self) -> Result<Option<&Kernel>> {
        self.end_launch();
        let Some(work) = self.workload.launches.get(self.begun) else { return Ok(None) };
        let source = match work {
            Work::Ptx(launch) => {
                let module = self.modules.of(launch)?;
                let memory = std::mem::take(&mut self.workload.memory);
                let mut launch = module.launch_for(launch, memory, self.instructions)?;
                launch.limit = self.workload.own.limit.unwrap_or(launch.limit);
                launch.check(self.workload.own.checks);
                Source::Ptx(Box::new(launch))
            }
            Work::Synthetic(launch) => Source::Synthetic(SyntheticSource::new(launch)),
        };
        self.begun += 1;
        Ok(Some(self.source.insert(source).get().kernel()))
    }

    /// Counts the launch under way, and takes its memory back.
    fn end_launch(&mut self) {
        let Some(mut source) = self.source.take() else { return };
        self.ctas += source.get().kernel().ctas;
        if let Source::Ptx(launch) = source {
            self.prints += launch.prints();
            self.workload.memory = launch.into_memory();
        }
    }
}

impl LaunchSource for Executing {
    fn begin(&mut self) -> Result<Option<Arc<Kernel>>> {
        while let Some(kernel) = self.begin_any()?.cloned() {
            let place = self.begun - 1;
            if self.workload.launches.is_timed(place) {
                let overlaps_next = self.workload.launches.overlaps_next(place);
                return Ok(Some(Arc::new(Kernel { overlaps_next, ..kernel })));
            }
            let mut nobodys = Cta::default();
            while self.next(&mut nobodys)? {}
        }
        Ok(None)
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        match &mut self.source {
            Some(source) => source.get().next(cta),
            None => Ok(false),
        }
    }
}

/// The modules of a workload, each parsed once.
struct Modules {
    known: Vec<(PathBuf, Module)>,
    /// Variables that they begin with.
    symbols: Vec<Symbol>,
}

impl Modules {
    fn of(&mut self, launch: &Launch) -> Result<&Module> {
        let path = &launch.ptx.path;
        let place = match self.known.iter().position(|(known, _)| known == path) {
            Some(place) => place,
            None => {
                let mut module = Module::parse(&launch.ptx)?;
                symbols::fill(&mut module, &self.symbols)?;
                self.known.push((path.clone(), module));
                self.known.len() - 1
            }
        };
        Ok(&self.known[place].1)
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
        versions.insert(format!("{name}: sha256"), sha256(&launch.ptx.text));
    }
    versions
}
