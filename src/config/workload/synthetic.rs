//! Synthetic kernels: patterns of accesses, without a kernel's text.

use serde::{Deserialize, Serialize};

use crate::config::bounded::{Bounded, Check};

/// A kernel that is generated, access by access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Synthetic")]
pub struct SyntheticSpec {
    /// CTAs of a launch [CTAs, 1..=2147483647].
    pub ctas: Bounded<1, 0x7fff_ffff>,
    /// Warps of a CTA [warps, 1..=32].
    pub warps: Bounded<1, 32>,
}

impl Check for SyntheticSpec {
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
