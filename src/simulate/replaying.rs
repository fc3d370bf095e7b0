//! The functional part of a run whose instructions are in a trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::functional::{Executed, Facts};
use crate::config::files::sha256_of;
use crate::config::machine::InstructionSet;
use crate::config::{Origin, TraceSpec};
use crate::error::{Error, Result};
use crate::frontend::trace::TraceReader;
use crate::isa::{Cta, Kernel, LaunchSource};
use crate::workload::{DeviceMemory, Outputs, Verdict};

/// The launches of a trace, or some of them.
pub struct Replaying {
    reader: TraceReader,
    versions: BTreeMap<String, String>,
    /// The launches that are asked for, by number; all where there are none.
    chosen: Vec<u32>,
    /// How many of them have begun.
    begun: usize,
    /// The number of the reader's next launch.
    next: u32,
}

impl Replaying {
    /// Opens the trace of a run.
    ///
    /// # Errors
    /// When there is none that can be read, or it has fewer launches than are asked for.
    pub fn new(spec: &TraceSpec, origin: &Origin) -> Result<Self> {
        let path = origin.folder().join(&spec.file);
        let point = |error: Error| origin.point("workload.file", error);
        let reader = TraceReader::open(&path).map_err(point)?;
        let launches = reader.header().launches;
        let chosen = spec.launches.clone();
        if let Some(last) = chosen.last().filter(|last| **last >= launches) {
            let error = Error::input(format!("there is no launch {last}"))
                .hint(format!("{} has {launches}, from 0 on", path.display()));
            return Err(origin.point("workload.launches", error));
        }
        let digest = sha256_of(&path).map_err(point)?;
        let versions = BTreeMap::from([(format!("{}: sha256", spec.file), digest)]);
        Ok(Replaying { reader, versions, chosen, begun: 0, next: 0 })
    }

    /// The digest of the trace.
    pub fn versions(&self) -> &BTreeMap<String, String> {
        &self.versions
    }

    /// What the trace's instructions are.
    pub fn instructions(&self) -> InstructionSet {
        self.reader.header().instructions
    }

    /// Launches in all.
    pub fn launches(&self) -> usize {
        match self.chosen.len() {
            0 => self.reader.header().launches as usize,
            some => some,
        }
    }

    /// Reads what has not been asked for.
    ///
    /// # Errors
    /// When the trace is damaged.
    pub fn finish(mut self) -> Result<Executed> {
        self.reader.finish()?;
        let instructions = self.instructions();
        let facts = Facts {
            versions: self.versions,
            verdict: Verdict::NOTHING_TO_CHECK,
            prints: 0,
            instructions,
            sources: BTreeMap::new(),
            buffers: BTreeMap::new(),
        };
        let outputs = Outputs { memory: DeviceMemory::default(), files: Vec::new() };
        Ok(Executed { facts, outputs, ctas: self.reader.read().ctas })
    }
}

impl LaunchSource for Replaying {
    fn begin(&mut self) -> Result<Option<Arc<Kernel>>> {
        if self.chosen.is_empty() {
            return self.reader.begin();
        }
        let Some(wanted) = self.chosen.get(self.begun) else { return Ok(None) };
        loop {
            let kernel = self.reader.begin()?;
            self.next += 1;
            if self.next > *wanted || kernel.is_none() {
                self.begun += 1;
                // Launches between this one and the next that is chosen might have been waited for.
                let goes_on = self.chosen.get(self.begun) == Some(&self.next);
                return Ok(kernel.map(|mut kernel| {
                    Arc::make_mut(&mut kernel).overlaps_next &= goes_on;
                    kernel
                }));
            }
        }
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        self.reader.next(cta)
    }
}
