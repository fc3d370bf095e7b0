//! A run file: one workload on one machine.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::bounded::{Bounded, Check, Checked};
use super::overrides::Settings;

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
    #[serde(default = "default_seed")]
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

/// What runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkloadSpec {
    /// The 1D stencil of Lashgar and Baniasadi.
    Stencil1d(Checked<Stencil1dSpec>),
}

/// `out[i] = (in[i-1] + in[i] + in[i+1]) / 3`, borders copied, arrays swapped after each iteration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stencil1dSpec {
    /// Type of an element.
    pub element: ElementType,
    /// Elements of each of the two arrays [elements, 1..=1073741824].
    #[serde(default = "default_elements")]
    pub elements: Bounded<1, 0x4000_0000>,
    /// Threads of a CTA [threads, 1..=1024].
    #[serde(default = "default_block")]
    pub block: Bounded<1, 1024>,
    /// Launches [count, 1..=1000000].
    #[serde(default = "default_iterations")]
    pub iterations: Bounded<1, 1_000_000>,
}

const fn default_elements() -> Bounded<1, 0x4000_0000> {
    Bounded::new(524_288).expect("in range")
}

const fn default_block() -> Bounded<1, 1024> {
    Bounded::new(256).expect("in range")
}

const fn default_iterations() -> Bounded<1, 1_000_000> {
    Bounded::new(4).expect("in range")
}

/// Type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElementType {
    /// 4 bytes.
    Int,
    /// 2 bytes.
    Short,
    /// 1 byte, signed.
    Char,
}

impl ElementType {
    /// Every type, largest first.
    pub const ALL: [ElementType; 3] = [ElementType::Int, ElementType::Short, ElementType::Char];

    /// Its name in C.
    pub fn name(self) -> &'static str {
        match self {
            ElementType::Int => "int",
            ElementType::Short => "short",
            ElementType::Char => "char",
        }
    }

    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            ElementType::Int => 4,
            ElementType::Short => 2,
            ElementType::Char => 1,
        }
    }
}

impl Check for Stencil1dSpec {
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
