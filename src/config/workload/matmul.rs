//! The matrix product.

use serde::{Deserialize, Serialize};

use super::ElementType;
use crate::config::bounded::{Bounded, Check};

/// `c = a b` for square matrices stored row by row, all in global memory; a thread makes an element of `c`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatmulSpec {
    /// Type of an element.
    pub element: ElementType,
    /// Rows, and columns, of each matrix [rows, 1..=16384].
    #[serde(default = "default_size")]
    pub size: Bounded<1, 16384>,
    /// Threads of a CTA along a row of `c` [threads, 1..=1024].
    #[serde(default = "default_block")]
    pub block_x: Bounded<1, 1024>,
    /// Threads of a CTA along a column of `c` [threads, 1..=1024].
    #[serde(default = "default_block")]
    pub block_y: Bounded<1, 1024>,
}

const fn default_size() -> Bounded<1, 16384> {
    Bounded::new(512).expect("in range")
}

const fn default_block() -> Bounded<1, 1024> {
    Bounded::new(16).expect("in range")
}

impl Check for MatmulSpec {
    fn check(&self) -> Result<(), String> {
        let (x, y) = (self.block_x.get(), self.block_y.get());
        if x * y > 1024 {
            return Err(format!(
                "block_x ({x}) x block_y ({y}) = {} threads, more than 1024",
                x * y
            ));
        }
        Ok(())
    }
}
