//! The same kernels on a GPU: run, held against the simulator's functional execution, timed.
//!
//! The CUDA driver is loaded at run time, so that gsim builds and runs where there is none.

mod approximate;
pub mod counters;
mod device;
mod micro;
mod prepare;
mod report;
mod run;
mod tensor_map;
mod timing;
mod verify;

pub use device::{Device, DeviceFacts};
pub use micro::{Answer, MicroReport, micro};
pub use report::{Clock, LaunchTimes, NATIVE_FILE, NativeReport, Times};
pub use run::{Options, launch, run};
pub use verify::{Agreement, BufferAgreement};
