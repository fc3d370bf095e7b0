//! Variables of the module that a kernel workload fills.

use serde::{Deserialize, Serialize};

use super::amount::Extent;
use super::buffer::{Fill, MAX_BYTES};
use super::expression::Scope;
use super::scalar::Scalar;

/// Bytes that a variable of a module may have to be filled, and all of those in global memory that a kernel names.
pub const MAX_SYMBOL_BYTES: u64 = 256 << 20;

/// What a variable of the module in constant or global memory holds before the first launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SymbolSpec {
    /// Type of an element.
    #[serde(rename = "type")]
    pub element: Scalar,
    /// How many elements, or how many along each dimension [elements, as many as the variable has].
    ///
    /// It may be left out: the PTX says how large a variable is.
    #[serde(default)]
    pub elements: Option<Extent>,
    /// What the variable holds before the first launch. A ring is none: the variable has no address yet.
    pub fill: Fill,
}

impl SymbolSpec {
    /// How many elements it has, where that is stated; more than there can be is the most.
    pub fn count(&self, scope: &Scope) -> Result<Option<u64>, String> {
        let Some(extent) = &self.elements else { return Ok(None) };
        let sizes =
            extent.sizes(scope, MAX_BYTES.into()).map_err(|why| format!("elements: {why}"))?;
        Ok(Some(sizes.iter().fold(1, |count: u64, size| count.saturating_mul(*size))))
    }

    /// Says what is wrong: the path of a field of this variable, and words.
    pub(super) fn check(&self, scope: &Scope) -> Result<(), String> {
        let count = self.count(scope)?;
        if let Fill::Ring { .. } = self.fill {
            let why =
                "fill: a ring is for a buffer: a variable has no address before it is launched";
            return Err(why.to_owned());
        }
        self.fill.check(self.element, count, scope).map_err(|why| format!("fill: {why}"))
    }
}
