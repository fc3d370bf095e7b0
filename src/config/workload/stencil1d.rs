//! The 1D stencil.

use serde::{Deserialize, Serialize};

use super::ElementType;
use crate::config::bounded::{Bounded, Check};

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

impl Check for Stencil1dSpec {
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
