//! Traces of runs.

use std::path::Path;

use super::Functional;
use crate::config::ResolvedRun;
use crate::error::Result;
use crate::frontend::trace::{End, Header, Origin, TraceFile};
use crate::isa::{Cta, LaunchSource};

/// What was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Launches.
    pub launches: u32,
    /// What the trace says at its end.
    pub end: End,
    /// Size of the file `[bytes]`.
    pub bytes: u64,
}

/// Executes `run` without a machine and writes its trace to `path`, which is there when it is whole. `observe` is called
/// with the number of launches and CTAs so far.
///
/// # Errors
/// What the run refuses, a wrong result, and a file that cannot be written.
pub fn capture(
    run: &ResolvedRun,
    path: &Path,
    level: i32,
    observe: &mut dyn FnMut(u32, u64),
) -> Result<Captured> {
    let mut functional = Functional::new(run)?;
    let header = Header {
        gsim: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: functional.instructions(),
        launches: functional.launches() as u32,
        origin: Origin::Run {
            name: run.config.name.clone(),
            workload: run.config.workload.clone(),
            seed: run.config.seed,
            versions: functional.versions().clone(),
        },
    };
    let mut file = TraceFile::create(path, &header, level)?;
    let mut cta = Cta::default();
    let (mut launches, mut ctas) = (0, 0);
    while let Some(kernel) = functional.begin()? {
        launches += 1;
        file.begin(&kernel)?;
        while functional.next(&mut cta)? {
            file.add(&cta)?;
            ctas += 1;
            observe(launches, ctas);
        }
    }
    functional.finish()?;
    let (end, bytes) = file.finish()?;
    Ok(Captured { launches, end, bytes })
}
