//! What a simulation leaves behind: the report, its pictures, and the summary on the terminal.
//!
//! [`Report`] is the one model; everything else is a way to show it. It is made of statistics alone and
//! never looks into a component, so a stored report ([`Report::read`]) can be shown again at any time:
//!
//! - [`Report::save`] writes a result folder, whole or not at all: `report.json`, the stall
//!   breakdown as `stalls.svg` and `stalls.png`, `ledgers.csv`, `lines.csv` and `buffers.csv` where they were counted, and all of it as `report.html`;
//! - [`terminal::summary`] prints the totals and the ledgers;
//! - [`compare::Comparison`] holds reports against the first of them, as text, table and picture;
//! - [`plot`] draws: the stall breakdown of one report, and any [`plot::Chart`] that a study describes.
//!
//! Invariants: a report whose ledgers do not sum is neither made nor read. The same inputs give the same
//! bytes in every file: no time of day, nothing about the host, no font but the embedded one. A reason
//! has the same colour everywhere, and the colours of a ledger can be told apart with every kind of
//! colour vision.

mod buffers;
mod colour;
pub mod compare;
mod glossary;
mod headline;
mod lines;
mod model;
pub mod number;
mod page;
pub mod plot;
mod rows;
#[cfg(test)]
mod sample;
pub mod stored;
pub mod terminal;
mod totals;
mod write;

pub use colour::Colour;
pub use glossary::Glossary;
pub use model::{Inputs, KernelReport, KernelSum, Report, SCHEMA};
pub use totals::Totals;
pub use write::{Pictures, check_file, check_folder, write_file, write_folder};

/// The report's file in a result folder.
pub const REPORT_FILE: &str = "report.json";

/// The folder of buffers that a run asks for, in its result folder.
pub const OUTPUTS: &str = "outputs";
