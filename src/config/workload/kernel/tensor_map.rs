//! Tensor maps: arguments that say which tensor lies in a buffer, and which boxes of it bulk copies move.
//!
//! Source: CUDA driver API 13.0, `cuTensorMapEncodeTiled`.

use serde::{Deserialize, Serialize};

use super::amount::{Amount, Extent};
use super::expression::Scope;
use super::scalar::Scalar;

/// Dimensions that a tensor has at most.
pub const TENSOR_RANK: usize = 5;
/// What places of rows in memory, and their bytes in a box, are multiples of `[bytes]`.
pub const TENSOR_PIECE: u64 = 16;
/// Bytes of a box in shared memory, at most: as many as shared memory may ever have.
pub const TENSOR_BOX_BYTES: u64 = 1 << 24;
/// Elements of a box along a dimension, at most.
const MOST_OF_BOX: i128 = 256;
/// From one element to the next one that is copied, at most `[elements]`.
const MOST_STEP: i128 = 8;
/// From one row to the next one, less than `[bytes]`.
const STRIDES: i128 = 1 << 40;
/// Elements of a tensor along a dimension, at most.
const MOST_OF_TENSOR: i128 = 1 << 32;

/// A tensor in a buffer, and the boxes that `cp.async.bulk.tensor` copies of it. All lists begin with the innermost dimension, whose
/// elements follow each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TensorMapSpec {
    /// The buffer.
    pub buffer: String,
    /// The tensor's first element in the buffer, whose address must be a multiple of 16 `[elements]`.
    #[serde(default = "zero")]
    pub first: Amount,
    /// Sizes along one to five dimensions [elements, 1..=4294967296].
    pub dims: Extent,
    /// From one row to the next one along each dimension but the first [bytes, multiples of 16 below 2^40]. Without them, nothing lies
    /// between.
    #[serde(default)]
    pub strides: Option<Extent>,
    /// Sizes of a box [elements, 1..=256], the first a multiple of 16 bytes.
    pub box_dims: Extent,
    /// Along each dimension, from one element of the box to the next one that is copied [elements, 1..=8, the first 1].
    #[serde(default)]
    pub element_strides: Option<Extent>,
    /// In which order the pieces of rows lie in shared memory.
    #[serde(default)]
    pub swizzle: Swizzle,
    /// What elements outside of the tensor count as.
    #[serde(default)]
    pub oob_fill: OobFill,
}

/// In which order pieces of 16 bytes lie in shared memory: the pieces of so many bytes change places by where in shared memory they lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Swizzle {
    /// In that of the row.
    #[default]
    None,
    /// Those of 32 bytes change places.
    B32,
    /// Those of 64 bytes.
    B64,
    /// Those of 128 bytes.
    B128,
}

impl Swizzle {
    /// The bytes whose pieces change places; each row of a box has as many. `None` where rows follow each other.
    pub fn span(self) -> Option<u64> {
        match self {
            Swizzle::None => None,
            Swizzle::B32 => Some(32),
            Swizzle::B64 => Some(64),
            Swizzle::B128 => Some(128),
        }
    }

    /// Where a byte lies that would lie at `place` of shared memory.
    pub fn place(self, place: u64) -> u64 {
        let pieces = self.span().map_or(1, |span| span / TENSOR_PIECE);
        place ^ ((place >> 7) & (pieces - 1)) << 4
    }
}

/// What elements outside of a tensor count as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OobFill {
    /// Zeros.
    #[default]
    Zero,
    /// Numbers that are none, of a floating-point type: 0x7ff7 in each two bytes.
    Nan,
}

/// A dimension of a tensor, and of its boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorAxis {
    /// Of the tensor `[elements]`.
    pub size: u64,
    /// From one element to the next one `[bytes]`.
    pub stride: u64,
    /// Of a box `[elements]`.
    pub window: u16,
    /// From one element of a box to the next one that is copied.
    pub step: u8,
}

impl TensorAxis {
    /// A dimension that there is none of.
    pub const NONE: TensorAxis = TensorAxis { size: 1, stride: 0, window: 1, step: 1 };

    /// Elements that are copied of a box.
    pub fn copied(&self) -> u16 {
        self.window.div_ceil(self.step.into())
    }
}

impl TensorMapSpec {
    /// The dimensions of a tensor of such elements, and how many there are.
    ///
    /// # Errors
    /// A field of this specification, and what is wrong with it.
    pub fn axes(
        &self,
        scope: &Scope,
        element: Scalar,
    ) -> Result<([TensorAxis; TENSOR_RANK], usize), String> {
        let rank = self.dims.0.len();
        if !(1..=TENSOR_RANK).contains(&rank) {
            return Err(format!("dims: {rank} dimensions, where 1 to {TENSOR_RANK} may be"));
        }
        let list = |name: &str, extent: &Extent, count: usize, least: i128, most: i128| {
            let all = extent.0.iter().map(|amount| amount.within(scope, least, most));
            let all = all.collect::<Result<Vec<i128>, _>>();
            match all.map_err(|why| format!("{name}: {why}"))? {
                all if all.len() == count => Ok(all),
                all => Err(format!(
                    "{name}: {} in the list, where {count} go with the {rank} of `dims`",
                    all.len()
                )),
            }
        };
        let sizes = list("dims", &self.dims, rank, 1, MOST_OF_TENSOR)?;
        let windows = list("box_dims", &self.box_dims, rank, 1, MOST_OF_BOX)?;
        let steps = match &self.element_strides {
            Some(steps) => list("element_strides", steps, rank, 1, MOST_STEP)?,
            None => vec![1; rank],
        };
        let strides = match &self.strides {
            Some(strides) => list("strides", strides, rank - 1, 0, STRIDES - 1)?,
            None => {
                let mut row = i128::from(element.bytes());
                let rows = sizes[..rank - 1].iter().map(|size| {
                    row = row.saturating_mul(*size);
                    row
                });
                rows.collect()
            }
        };
        let mut axes = [TensorAxis::NONE; TENSOR_RANK];
        for (place, axis) in axes[..rank].iter_mut().enumerate() {
            let stride = place.checked_sub(1).map_or(element.bytes(), |at| strides[at] as u64);
            let (size, window, step) =
                (sizes[place] as u64, windows[place] as u16, steps[place] as u8);
            *axis = TensorAxis { size, stride, window, step };
        }
        check_axes(&axes, element, self.swizzle, self.oob_fill).map_err(|why| {
            // What was not stated follows from the sizes.
            match why.strip_prefix("strides: ").filter(|_| self.strides.is_none()) {
                Some(why) => format!("dims: without `strides`, rows lie {why}"),
                None => why,
            }
        })?;
        Ok((axes, rank))
    }
}

/// Says what no tensor of such elements can be, whose numbers are in their ranges.
///
/// # Errors
/// A field of [`TensorMapSpec`], and what is wrong with it.
pub fn check_axes(
    axes: &[TensorAxis; TENSOR_RANK],
    element: Scalar,
    swizzle: Swizzle,
    oob_fill: OobFill,
) -> Result<(), String> {
    let (row, outer) = axes.split_first().expect("there are five");
    let in_range = |axis: &TensorAxis| {
        (1..=MOST_OF_TENSOR).contains(&axis.size.into())
            && (1..=MOST_OF_BOX).contains(&axis.window.into())
            && (1..=MOST_STEP).contains(&axis.step.into())
    };
    if !axes.iter().all(in_range) || row.stride != element.bytes() {
        return Err("dims: a number is out of its range".to_owned());
    }
    let is_stride = |stride: u64| stride.is_multiple_of(TENSOR_PIECE) && stride < STRIDES as u64;
    if let Some(TensorAxis { stride, .. }) = outer.iter().find(|axis| !is_stride(axis.stride)) {
        return Err(format!(
            "strides: {stride} bytes apart, where a multiple of {TENSOR_PIECE} below 2^40 may be"
        ));
    }
    let bytes = u64::from(row.window) * element.bytes();
    if !bytes.is_multiple_of(TENSOR_PIECE) {
        return Err(format!(
            "box_dims: a row has {bytes} bytes, where a multiple of {TENSOR_PIECE} may be"
        ));
    }
    if let Some(span) = swizzle.span().filter(|span| bytes > *span) {
        return Err(format!(
            "swizzle: a row of the box has {bytes} bytes, where {span} are the most"
        ));
    }
    let rows = outer.iter().map(|axis| u64::from(axis.copied())).product::<u64>();
    let in_shared = rows * swizzle.span().unwrap_or(bytes);
    if in_shared > TENSOR_BOX_BYTES {
        return Err(format!(
            "box_dims: a box has {in_shared} bytes, where {TENSOR_BOX_BYTES} are the most"
        ));
    }
    if row.step != 1 {
        let why = "the first is 1, as elements of a row are copied one by one";
        return Err(format!("element_strides: {why}"));
    }
    match oob_fill {
        OobFill::Nan if !element.is_float() => Err(format!("oob_fill: {element} has no NaN")),
        OobFill::Nan if element.bytes() == 1 => Err(format!(
            "oob_fill: elements of {element} are bytes to a tensor map, which have no NaN"
        )),
        _ => Ok(()),
    }
}

fn zero() -> Amount {
    Amount::Whole(0)
}
