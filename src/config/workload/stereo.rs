//! Stereo matching.

use serde::{Deserialize, Serialize};

use super::ElementType;
use crate::config::bounded::{Bounded, Check};

/// Disparity of a synthetic stereo pair by min-sum belief propagation with 16 labels.
///
/// An iteration is four sweeps over the image: right, left, up, down. A thread takes a row or a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StereoSpec {
    /// Type of a message's value.
    pub element: ElementType,
    /// Columns of the image [pixels, 1..=4096].
    #[serde(default = "default_width")]
    pub width: Bounded<1, 4096>,
    /// Rows of the image [pixels, 1..=4096].
    #[serde(default = "default_height")]
    pub height: Bounded<1, 4096>,
    /// Times that messages go right, left, up and down [count, 1..=10000].
    #[serde(default = "default_iterations")]
    pub iterations: Bounded<1, 10_000>,
    /// Threads of a CTA [threads, 1..=1024].
    #[serde(default = "default_block")]
    pub block: Bounded<1, 1024>,
    /// How the values lie in memory.
    #[serde(default)]
    pub layout: LabelLayout,
}

/// Order of the values in memory. A pixel has five boxes, its data costs and a message from each side,
/// of 16 values each, one a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelLayout {
    /// `[pixel][box][label]`: an array of structures, all values of a pixel together.
    PixelMajor,
    /// `[box][pixel][label]`: five arrays, in each of which a pixel's labels lie together.
    BoxMajor,
    /// `[box][label][pixel]`: an image for every box and label, as on GPUs usual: neighbouring threads of a
    /// sweep over columns access neighbouring elements.
    #[default]
    LabelMajor,
}

const fn default_width() -> Bounded<1, 4096> {
    Bounded::new(384).expect("in range")
}

const fn default_height() -> Bounded<1, 4096> {
    Bounded::new(288).expect("in range")
}

const fn default_iterations() -> Bounded<1, 10_000> {
    Bounded::new(1).expect("in range")
}

const fn default_block() -> Bounded<1, 1024> {
    Bounded::new(32).expect("in range")
}

impl Check for StereoSpec {
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}
