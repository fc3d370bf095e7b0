//! A run file: one workload on one machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bounded::{Bounded, Check, Checked};

/// One simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Run")]
pub struct RunConfig {
    /// What the result folder is called: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// A preset's name, or the path of a machine file, relative to this file.
    pub machine: String,
    /// What runs.
    pub workload: WorkloadSpec,
    /// Fields of the machine or the workload that this run changes, by path: `"l1.mshr_mergers": 16`.
    #[serde(default)]
    pub set: BTreeMap<String, serde_json::Value>,
    /// Seed of everything random.
    #[serde(default = "default_seed")]
    pub seed: u64,
}

fn default_seed() -> u64 {
    1
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
