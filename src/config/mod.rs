//! Machine, run and study files.

mod bounded;
mod document;
pub mod figure;
pub mod files;
pub mod load;
pub mod machine;
pub mod micro;
pub mod names;
pub mod overrides;
pub mod parse;
pub mod presets;
pub mod run;
pub mod study;
pub mod unreadable;
mod workload;
pub mod written;

pub use bounded::{Bounded, Check, Checked, Millionths, Share, Wide};
pub use load::{Origin, ResolvedRun, RunFile, load_run};
pub use machine::Machine;
pub use micro::MicroFile;
pub use overrides::{Setting, Settings};
pub use run::RunConfig;
pub use study::{StudyConfig, StudyFile};
pub use workload::{
    ElementType, KernelSpec, LabelLayout, MatmulSpec, Stencil1dSpec, StereoSpec, SyntheticSpec,
    TraceSpec, WorkloadSpec, kernel, synthetic,
};
