//! What a simulation leaves behind.

mod colour;
mod glossary;
mod model;
mod number;
pub mod plot;
#[cfg(test)]
mod sample;
pub mod terminal;
mod totals;
mod write;

pub use colour::Colour;
pub use glossary::Glossary;
pub use model::{Inputs, KernelReport, Report, SCHEMA};
pub use totals::Totals;
pub use write::write_folder;

/// The report's file in a result folder.
pub const REPORT_FILE: &str = "report.json";
