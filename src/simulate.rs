//! One simulation from a resolved run to its report: the only place that knows every part.
//!
//! A simulation has two halves, which meet in [`crate::isa::LaunchSource`] only. [`Functional`] executes the workload, or reads its trace, and
//! knows no machine; [`Timing`] is the machine and sees no value. Simulations of one workload on several
//! machines can so share one functional half, as those of a study do.

mod arguments;
mod capture;
mod executing;
mod functional;
mod replaying;
mod timing;

pub use capture::{Captured, capture};
pub use functional::{Executed, Facts, Functional};
pub use timing::{Timing, inputs};

use crate::config::ResolvedRun;
use crate::error::Result;
use crate::gpu::{Progress, Stepping};
use crate::report::Report;

/// How far a simulation has come.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Launches that are to be simulated.
    pub launches: usize,
    /// The launch that runs, and how far it has come.
    pub progress: Progress,
}

/// What a simulation gives.
#[derive(Debug)]
pub struct Outcome {
    /// The report.
    pub report: Report,
    /// What the functional part leaves behind.
    pub executed: Executed,
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
    // Everything that can be known to be wrong is said before the first cycle.
    let mut functional = Functional::new(run)?;
    let launches = functional.launches();
    let mut timing = Timing::new(run, stepping);
    timing.run(&mut functional, &mut |progress| observe(Step { launches, progress }))?;
    let executed = functional.finish()?;
    let report = timing.report(&executed.facts)?;
    Ok(Outcome { report, executed })
}
