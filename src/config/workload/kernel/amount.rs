//! Numbers of a kernel workload: literal, or an expression over the workload's parameters.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::SerializeTuple as _;
use serde::{Serialize, Serializer};

use super::expression::{self, Scope};
use super::named::Named;

/// A number as a run file has it: `16`, `-1.5`, `"n * n"`, `"inf"`.
///
/// A text is an expression in whole numbers over the workload's `parameters`, with `+ - * / %`,
/// parentheses, `min(a, b)`, `max(a, b)` and `ceil_div(a, b)`; `/` rounds towards zero. Where a
/// floating-point number is wanted, a text may be `inf`, `-inf` or `NaN` as well.
#[derive(Clone, Debug, PartialEq)]
pub enum Amount {
    /// A whole number, of 64 bits with or without a sign.
    Whole(i128),
    /// A finite number that is not written as a whole one.
    Real(f64),
    /// An expression.
    Text(String),
}

/// Whole numbers up to here are exact in floating point.
const EXACT: f64 = (1u64 << 53) as f64;

impl Amount {
    /// The whole number that it stands for.
    ///
    /// # Errors
    /// A fraction, or an expression that is wrong, in words without a place.
    pub fn whole(&self, scope: &Scope) -> Result<i128, String> {
        match self {
            Amount::Whole(value) => Ok(*value),
            // As in `1e6`.
            Amount::Real(value) if value.fract() == 0.0 && value.abs() <= EXACT => {
                Ok(*value as i128)
            }
            Amount::Real(value) => Err(format!("expected a whole number, found {value}")),
            Amount::Text(text) => expression::evaluate(text, scope),
        }
    }

    /// The whole number that it stands for, if it lies between `least` and `most`.
    pub fn within(&self, scope: &Scope, least: i128, most: i128) -> Result<i128, String> {
        let value = self.whole(scope)?;
        match (least..=most).contains(&value) {
            true => Ok(value),
            false => Err(format!("{value} is outside {least}..={most}")),
        }
    }

    /// The floating-point number that it stands for.
    pub fn real(&self, scope: &Scope) -> Result<f64, String> {
        match self {
            Amount::Whole(value) => Ok(*value as f64),
            Amount::Real(value) => Ok(*value),
            Amount::Text(text) => match text.trim() {
                "inf" => Ok(f64::INFINITY),
                "-inf" => Ok(f64::NEG_INFINITY),
                "NaN" => Ok(f64::NAN),
                text => Ok(expression::evaluate(text, scope)? as f64),
            },
        }
    }
}

impl From<i128> for Amount {
    fn from(value: i128) -> Self {
        Amount::Whole(value)
    }
}

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or an expression in quotes")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Amount, E> {
        Ok(Amount::Whole(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Amount, E> {
        Ok(Amount::Whole(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Amount, E> {
        match value {
            value if value.is_finite() => Ok(Amount::Real(value)),
            value if value.is_nan() => Ok(Amount::Text("NaN".to_owned())),
            value => Ok(Amount::Text(value.to_string())),
        }
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Amount, E> {
        Ok(Amount::Text(value.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Amount::Whole(value) => match i64::try_from(*value) {
                Ok(value) => serializer.serialize_i64(value),
                Err(_) => serializer.serialize_u64(*value as u64),
            },
            Amount::Real(value) => serializer.serialize_f64(*value),
            Amount::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// One number, or several in parentheses: `1024`, `(64, 64)`, `("ceil_div(n, 16)", 4, 1)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent(pub Vec<Amount>);

impl Extent {
    /// The sizes, each in `1..=most`.
    pub fn sizes(&self, scope: &Scope, most: i128) -> Result<Vec<u64>, String> {
        self.0.iter().map(|size| Ok(size.within(scope, 1, most)? as u64)).collect()
    }

    /// The sizes in x, y and z; those not stated are 1.
    pub fn axes(&self, scope: &Scope) -> Result<[u32; 3], String> {
        if self.0.len() > 3 {
            return Err(format!("has {} sizes, where x, y and z are the most", self.0.len()));
        }
        let mut axes = [1; 3];
        for (axis, size) in axes.iter_mut().zip(self.sizes(scope, u32::MAX.into())?) {
            *axis = size as u32;
        }
        Ok(axes)
    }
}

struct ExtentVisitor;

impl<'de> Visitor<'de> for ExtentVisitor {
    type Value = Extent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or several in parentheses")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Extent, E> {
        AmountVisitor.visit_i64(value).map(|size| Extent(vec![size]))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Extent, E> {
        AmountVisitor.visit_u64(value).map(|size| Extent(vec![size]))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Extent, E> {
        AmountVisitor.visit_f64(value).map(|size| Extent(vec![size]))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Extent, E> {
        AmountVisitor.visit_str(value).map(|size| Extent(vec![size]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Extent, A::Error> {
        /// As many as a `.npy` file of NumPy 2 may have.
        const MOST: usize = 64;
        let mut sizes = Vec::new();
        while let Some(size) = seq.next_element()? {
            if sizes.len() == MOST {
                return Err(de::Error::custom(format_args!("has more than {MOST} sizes")));
            }
            sizes.push(size);
        }
        match sizes.is_empty() {
            true => Err(de::Error::custom("has no sizes")),
            false => Ok(Extent(sizes)),
        }
    }
}

impl<'de> Deserialize<'de> for Extent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExtentVisitor)
    }
}

impl Serialize for Extent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let [only] = self.0.as_slice() {
            return only.serialize(serializer);
        }
        let mut tuple = serializer.serialize_tuple(self.0.len())?;
        for size in &self.0 {
            tuple.serialize_element(size)?;
        }
        tuple.end()
    }
}

/// The values of parameters, each of which may use those before it.
pub fn scope_of(parameters: &Named<Amount>) -> Result<Scope, String> {
    let mut scope = Scope::new();
    for (name, amount) in parameters.iter() {
        let value = amount
            .within(&scope, i64::MIN.into(), u64::MAX.into())
            .map_err(|why| format!("parameters.{name}: {why}"))?;
        scope.push((name.to_owned(), value));
    }
    Ok(scope)
}
