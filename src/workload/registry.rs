//! How the workload of a run is built, whichever it is.

use super::{Workload, kernel, matmul, stencil1d, stereo, synthetic};
use crate::config::{ResolvedRun, WorkloadSpec};
use crate::error::{Error, Result};

/// Builds the workload of a run: fills its buffers and lists its launches.
///
/// The same run and the same files give the same bytes on every host.
///
/// # Errors
/// What the workload refuses; a trace is none that can be built.
pub fn build(run: &ResolvedRun) -> Result<Workload> {
    let seed = run.config.seed;
    match &run.config.workload {
        WorkloadSpec::Stencil1d(stencil) => Ok(stencil1d::build(stencil, seed)),
        WorkloadSpec::Matmul(product) => Ok(matmul::build(product, seed)),
        WorkloadSpec::Stereo(stereo) => Ok(stereo::build(stereo, seed)),
        WorkloadSpec::Synthetic(spec) => synthetic::build(spec, seed, &run.origin),
        WorkloadSpec::Kernel(spec) => {
            let (origin, nvrtc) = (&run.origin, run.nvrtc.as_deref());
            kernel::build(spec, &kernel::Surroundings { origin, nvrtc, seed })
        }
        // What the kernel computed is not in it.
        WorkloadSpec::Trace(_) => Err(run.origin.point(
            "workload",
            Error::input("a trace has instructions and no kernel")
                .hint("`gsim run` simulates it; what is executed needs PTX or CUDA C++"),
        )),
    }
}
