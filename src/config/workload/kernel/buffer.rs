//! Buffers of a kernel workload.

use serde::{Deserialize, Serialize};

use super::amount::{Amount, Extent};
use super::expression::Scope;
use super::scalar::Scalar;

/// Bytes that all buffers together may have.
pub const MAX_BYTES: u64 = 1 << 36;

/// A buffer in device memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferSpec {
    /// Type of an element.
    #[serde(rename = "type")]
    pub element: Scalar,
    /// How many elements, or how many along each dimension, the last of which is contiguous
    /// [elements, 1..=68719476736 bytes in all buffers together].
    ///
    /// A buffer that is filled from a file or with values may leave it out.
    #[serde(default)]
    pub elements: Option<Extent>,
    /// What it holds before the first launch.
    #[serde(default)]
    pub fill: Fill,
    /// A file, `*.npy`, in the folder `outputs` of the result, that gets what the buffer of this name
    /// holds after the last launch.
    #[serde(default)]
    pub output: Option<String>,
    /// What the buffer of this name must hold after the last launch.
    #[serde(default)]
    pub expect: Option<Expect>,
}

/// What a buffer holds before the first launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Fill {
    /// Zero.
    #[default]
    Zero,
    /// One number everywhere.
    Constant(Amount),
    /// `start + index * step`.
    Iota {
        /// The first element.
        #[serde(default = "zero")]
        start: Amount,
        /// The difference of neighbours.
        #[serde(default = "one")]
        step: Amount,
    },
    /// Independent random numbers, each value of the range as likely as any other.
    ///
    /// Whole numbers lie in `low..=high`. Floating-point numbers are `low + u (high - low)`, where `u` is a
    /// multiple of 2^-53 in 0..1, rounded to the type.
    Uniform {
        /// The least number.
        low: Amount,
        /// The greatest number; where it is a floating-point number, one that only rounding can give.
        high: Amount,
    },
    /// The whole numbers from `start` on, as many as there are elements, in a random order.
    Permutation {
        /// The least number.
        #[serde(default = "zero")]
        start: Amount,
    },
    /// Addresses within the buffer itself: every `step`-th element holds the address of another such element, and
    /// following them visits all of them in a circle. The others are zero. For 64-bit whole numbers.
    Ring {
        /// From one element of the circle to the next in memory [elements, 1..].
        #[serde(default = "one")]
        step: Amount,
        /// Whether the order is random, and not that of memory.
        #[serde(default)]
        shuffled: bool,
    },
    /// These numbers.
    Values(Vec<Amount>),
    /// A NumPy file, relative to the run file, with elements of this type.
    Npy(String),
    /// A file of plain little-endian elements, relative to the run file.
    Raw(String),
}

fn zero() -> Amount {
    Amount::Whole(0)
}

fn one() -> Amount {
    Amount::Whole(1)
}

/// What a buffer must hold after the last launch.
///
/// An element `x` is right when it equals the element `y` of the file, when both are NaN, or when
/// `|x - y| <= absolute + relative * |y|`. A NaN on one side alone, or an infinity, is always wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// A NumPy file, relative to the run file, with elements of the buffer's type.
    pub file: String,
    /// What may be wrong in any element [same unit as the elements, 0..].
    #[serde(default = "zero")]
    pub absolute: Amount,
    /// What may be wrong in proportion to the expected element [ratio, 0..].
    #[serde(default = "zero")]
    pub relative: Amount,
}

/// Checks one number that is to be an element.
pub fn check_element(element: Scalar, amount: &Amount, scope: &Scope) -> Result<(), String> {
    match element.range() {
        Some((least, most)) => {
            amount.whole(scope)?;
            let within = amount.within(scope, least, most).map(|_| ());
            within.map_err(|why| format!("{why}, the range of {element}"))
        }
        None => amount.real(scope).map(|_| ()),
    }
}

impl BufferSpec {
    /// The sizes along each dimension, where they are stated.
    pub fn shape(&self, scope: &Scope) -> Result<Option<Vec<u64>>, String> {
        let sizes = self.elements.as_ref().map(|extent| extent.sizes(scope, MAX_BYTES.into()));
        sizes.transpose().map_err(|why| format!("elements: {why}"))
    }

    /// Says what is wrong: the path of a field of this buffer, and words.
    pub(super) fn check(&self, scope: &Scope) -> Result<(), String> {
        let count = match self.shape(scope)? {
            Some(shape) => Some(
                shape
                    .iter()
                    .try_fold(1u64, |count, size| count.checked_mul(*size))
                    .filter(|count| *count <= MAX_BYTES / self.element.bytes())
                    .ok_or_else(|| {
                        format!("elements: more than {MAX_BYTES} bytes, which all buffers may have")
                    })?,
            ),
            None => None,
        };
        let says_itself = matches!(self.fill, Fill::Npy(_) | Fill::Raw(_) | Fill::Values(_));
        if count.is_none() && !says_itself {
            return Err("elements is missing, which only a file or values say themselves".into());
        }
        self.fill.check(self.element, count, scope).map_err(|why| format!("fill: {why}"))?;
        if let Some(name) = &self.output {
            check_output(name).map_err(|why| format!("output: {why}"))?;
        }
        if let Some(expect) = &self.expect {
            for (field, amount) in [("absolute", &expect.absolute), ("relative", &expect.relative)]
            {
                let wrong = |why| format!("expect.{field}: {why}");
                let value = amount.real(scope).map_err(wrong)?;
                if !(0.0..f64::INFINITY).contains(&value) {
                    return Err(wrong(format!("{value} is no tolerance: 0 or more")));
                }
            }
        }
        Ok(())
    }
}

impl Fill {
    /// Says what is wrong with it for so many elements, at least one; where that is not known, for the first.
    pub fn check(&self, element: Scalar, count: Option<u64>, scope: &Scope) -> Result<(), String> {
        match self {
            Fill::Npy(_) | Fill::Raw(_) => return Ok(()),
            Fill::Values(values) => {
                if values.is_empty() {
                    return Err("has no values".to_owned());
                }
                if let Some(count) = count
                    && count != values.len() as u64
                {
                    return Err(format!("{} values for {count} elements", values.len()));
                }
                return values.iter().enumerate().try_for_each(|(index, value)| {
                    check_element(element, value, scope)
                        .map_err(|why| format!("value {index}: {why}"))
                });
            }
            _ => {}
        }
        let count = count.unwrap_or(1);
        // The last element of a sequence.
        let last = |start: &Amount, step: i128| -> Result<Amount, String> {
            let end = i128::from(count - 1).checked_mul(step).ok_or("out of all measure")?;
            Ok(Amount::Whole(start.whole(scope)?.saturating_add(end)))
        };
        match self {
            Fill::Zero | Fill::Values(_) | Fill::Npy(_) | Fill::Raw(_) => Ok(()),
            Fill::Ring { .. } if !matches!(element, Scalar::U64 | Scalar::I64) => {
                Err("a ring of addresses needs elements of type U64".to_owned())
            }
            Fill::Ring { step, .. } => step
                .within(scope, 1, count.into())
                .map(|_| ())
                .map_err(|why| format!("step: {why}")),
            Fill::Constant(value) => check_element(element, value, scope),
            Fill::Iota { start, step } if element.is_float() => {
                start.real(scope).and(step.real(scope)).map(|_| ())
            }
            Fill::Iota { start, step } => {
                check_element(element, start, scope).map_err(|why| format!("start: {why}"))?;
                let step = step.whole(scope).map_err(|why| format!("step: {why}"))?;
                let last = last(start, step)?;
                check_element(element, &last, scope)
                    .map_err(|why| format!("the last element: {why}"))
            }
            Fill::Permutation { .. } if element.is_float() => {
                Err("a permutation needs a type of whole numbers".to_owned())
            }
            Fill::Permutation { start } => {
                check_element(element, start, scope).map_err(|why| format!("start: {why}"))?;
                let last = last(start, 1)?;
                check_element(element, &last, scope)
                    .map_err(|why| format!("the greatest element: {why}"))
            }
            Fill::Uniform { low, high } if element.is_float() => {
                let (low, high) = (low.real(scope)?, high.real(scope)?);
                match low <= high && (high - low).is_finite() {
                    true => Ok(()),
                    false => Err(format!("low ({low}) to high ({high}) is no finite range")),
                }
            }
            Fill::Uniform { low, high } => {
                check_element(element, low, scope).map_err(|why| format!("low: {why}"))?;
                check_element(element, high, scope).map_err(|why| format!("high: {why}"))?;
                let (low, high) = (low.whole(scope)?, high.whole(scope)?);
                match low <= high {
                    true => Ok(()),
                    false => Err(format!("low ({low}) is above high ({high})")),
                }
            }
        }
    }
}

/// Says what is wrong with the name of an output file.
fn check_output(name: &str) -> Result<(), String> {
    crate::config::run::check_name(name)?;
    match name.strip_suffix(".npy") {
        Some(_) => Ok(()),
        None => Err(format!("the name {name:?} does not end in .npy")),
    }
}
