//! A run file: one workload on one machine.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::bounded::whole;
use super::overrides::Settings;
use super::workload::WorkloadSpec;

/// One simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Run")]
pub struct RunConfig {
    /// What the result folder is called: letters, digits, `-`, `_` and `.`, which does not come first.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// A preset's name, or the path of a machine file (`.ron`), relative to this file.
    pub machine: String,
    /// What runs.
    pub workload: WorkloadSpec,
    /// Fields of the machine or the workload that this run changes, by path:
    /// `{"l1.mshr_mergers": 16, "sm.policy": TwoLevel(active: 8), "workload.element": Short}`.
    #[serde(default)]
    pub set: Settings,
    /// Seed of everything random.
    #[serde(default = "default_seed", deserialize_with = "whole")]
    pub seed: u64,
}

fn default_seed() -> u64 {
    1
}

/// Says what is wrong with a run's or a study's name: it becomes the name of a folder.
pub fn check_name(name: &str) -> Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match name.chars().find(|&c| !allowed(c)) {
        _ if name.is_empty() => Err("the name is empty".to_owned()),
        _ if name.starts_with('.') => Err(format!("the name {name:?} starts with a dot")),
        _ if name.len() > 200 => Err("the name has more than 200 letters".to_owned()),
        Some(stray) => Err(format!(
            "the name {name:?} has {stray:?}; it may hold letters, digits, '-', '_' and '.'"
        )),
        None => Ok(()),
    }
}

/// Reads a name that `check_name` accepts.
pub(super) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    check_name(&name).map_err(D::Error::custom)?;
    Ok(name)
}
