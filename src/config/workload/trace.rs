//! A trace.

use serde::{Deserialize, Serialize};

use crate::config::bounded::Check;

/// Instruction streams that were written to a file. Nothing is executed: there are addresses and no values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// The trace (`.gtrace`), relative to the run file.
    pub file: String,
    /// The launches to simulate, by number from 0, in order; all where there are none.
    #[serde(default)]
    pub launches: Vec<u32>,
}

impl Check for TraceSpec {
    fn check(&self) -> Result<(), String> {
        match self.launches.is_sorted_by(|before, after| before < after) {
            true => Ok(()),
            false => Err("launches: their numbers must rise".to_owned()),
        }
    }
}
