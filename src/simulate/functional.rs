//! The functional part of a run: what warps execute, without a machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::executing::Executing;
use super::replaying::Replaying;
use crate::config::machine::InstructionSet;
use crate::config::{ResolvedRun, WorkloadSpec};
use crate::error::Result;
use crate::isa::{Cta, Kernel, LaunchSource};
use crate::workload::{Outputs, PtxSource, Verdict};

/// The launches of a run, executed or read from a trace as they are asked for.
///
/// They depend on the run's workload and seed, and of its machine on the instruction set only, which decides what
/// the streams of executed kernels hold and no value.
pub enum Functional {
    /// Kernels are executed, patterns generated.
    Executing(Box<Executing>),
    /// A trace is read.
    Replaying(Box<Replaying>),
}

/// What a report says of the functional part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Compiler and digest of every file that took part.
    pub versions: BTreeMap<String, String>,
    /// What the check of the result found.
    pub verdict: Verdict,
    /// How often a warp called `printf`, which prints nothing here.
    pub prints: u64,
    /// What the instructions were.
    pub instructions: InstructionSet,
    /// The sources of kernels that were executed, by entry point.
    pub sources: BTreeMap<String, Arc<PtxSource>>,
    /// The workload's names for its buffers, by address.
    pub buffers: BTreeMap<u64, String>,
}

/// What the functional part leaves behind.
#[derive(Debug)]
pub struct Executed {
    /// For the report.
    pub facts: Facts,
    /// The buffers that the run asks for.
    pub outputs: Outputs,
    /// CTAs executed, of all launches.
    pub ctas: u64,
}

impl Functional {
    /// Builds the workload of `run`.
    ///
    /// # Errors
    /// Everything that can be known to be wrong before the first CTA.
    pub fn new(run: &ResolvedRun) -> Result<Self> {
        Ok(match &run.config.workload {
            WorkloadSpec::Trace(spec) => {
                Functional::Replaying(Box::new(Replaying::new(spec, &run.origin)?))
            }
            _ => Functional::Executing(Box::new(Executing::new(run)?)),
        })
    }

    /// Compiler and digest of every file that takes part.
    pub fn versions(&self) -> &BTreeMap<String, String> {
        match self {
            Functional::Executing(part) => part.versions(),
            Functional::Replaying(part) => part.versions(),
        }
    }

    /// What the instructions are: the machine's, or those of the trace.
    pub fn instructions(&self) -> InstructionSet {
        match self {
            Functional::Executing(part) => part.instructions(),
            Functional::Replaying(part) => part.instructions(),
        }
    }

    /// Launches that are to be simulated.
    pub fn launches(&self) -> usize {
        match self {
            Functional::Executing(part) => part.launches(),
            Functional::Replaying(part) => part.launches(),
        }
    }

    /// Executes or reads what has not been asked for, and checks the result.
    ///
    /// # Errors
    /// What a launch refuses, and a wrong result.
    pub fn finish(self) -> Result<Executed> {
        match self {
            Functional::Executing(part) => part.finish(),
            Functional::Replaying(part) => part.finish(),
        }
    }
}

impl LaunchSource for Functional {
    fn begin(&mut self) -> Result<Option<Arc<Kernel>>> {
        match self {
            Functional::Executing(part) => part.begin(),
            Functional::Replaying(part) => part.begin(),
        }
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        match self {
            Functional::Executing(part) => part.next(cta),
            Functional::Replaying(part) => part.next(cta),
        }
    }
}
