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
mod symbols;
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Bounded, Checked, load_run};
    use crate::error::ErrorKind;

    #[test]
    fn a_run_that_stands_still_ends_with_what_it_waits_for() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/runs/stencil-char.ron");
        let mut run = load_run(&file, &[]).unwrap();
        // So much of the time is refreshes that no row stays open until data is read from it.
        let mut machine = (*run.machine).clone();
        let mut dram = (*machine.dram).clone();
        dram.timing.rfc = Bounded::new(3600).unwrap();
        machine.dram = Checked::unchecked(dram);
        run.machine = Checked::unchecked(machine);
        for threads in [1, 2] {
            let error = simulate(&run, Stepping::threads(threads), &mut |_| ()).unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("deadlock in kernel stencil1d_char at core cycle "), "{text}");
            assert!(text.contains(": nothing retired for 1048576 cycles; SM 0: "), "{text}");
            assert!(text.contains(" requests in the DRAM controllers"), "{text}");
            assert_eq!((error.kind, text.lines().count()), (ErrorKind::Run, 1));
        }
    }
}
