//! Values to RON and JSON, and from JSON, and where they differ.
//!
//! Serde makes a copy of a whole serializer for every type and format. Where it is not often, a type is written through a trait
//! object here: one copy for each type and one for each format, so that gsim builds faster.

mod differences;
mod json;

pub use differences::{Difference, differences};
pub use json::to_json;

use ron::ser::PrettyConfig;
use serde::de::DeserializeOwned;

/// A value as RON text.
///
/// # Errors
/// When the value has something that RON does not.
pub fn to_ron(
    options: &ron::Options,
    style: PrettyConfig,
    value: &dyn erased_serde::Serialize,
) -> ron::Result<String> {
    options.to_string_pretty(value, style)
}

/// Plain data as a JSON value.
///
/// # Panics
/// When the value has a map whose keys are no texts.
pub fn to_json_value(value: &dyn erased_serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).expect("plain data")
}

/// A value from a JSON value.
///
/// # Errors
/// When it is that of another type.
pub fn from_json_value<T: DeserializeOwned>(value: serde_json::Value) -> serde_json::Result<T> {
    // As text, for which every type that a report has can be read already.
    serde_json::from_str(&value.to_string())
}
