//! Machine, run and study files.

mod bounded;
pub mod machine;
pub mod run;

pub use bounded::{Bounded, Check, Checked};
pub use machine::Machine;
pub use run::{ElementType, RunConfig, Stencil1dSpec, WorkloadSpec};
