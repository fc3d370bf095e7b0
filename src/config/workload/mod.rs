//! The workload of a run: one file for each kind.

mod element;
pub mod kernel;
mod matmul;
mod stencil1d;
mod stereo;
pub mod synthetic;
mod trace;

use serde::{Deserialize, Serialize};

use super::bounded::Checked;

pub use element::ElementType;
pub use kernel::KernelSpec;
pub use matmul::MatmulSpec;
pub use stencil1d::Stencil1dSpec;
pub use stereo::{LabelLayout, StereoSpec};
pub use synthetic::SyntheticSpec;
pub use trace::TraceSpec;

/// What runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorkloadSpec {
    /// The 1D stencil of Lashgar and Baniasadi.
    Stencil1d(Checked<Stencil1dSpec>),
    /// A matrix product, a thread an element of the result.
    Matmul(Checked<MatmulSpec>),
    /// Stereo matching by belief propagation, a thread a row or a column.
    Stereo(Checked<StereoSpec>),
    /// A pattern of accesses, generated.
    Synthetic(Checked<SyntheticSpec>),
    /// A kernel of the user's.
    Kernel(Checked<KernelSpec>),
    /// Instruction streams from a file.
    Trace(Checked<TraceSpec>),
}
