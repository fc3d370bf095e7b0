//! Tables of what was counted apart: a row each, with counters and ledgers as columns.

use crate::error::{Error, Result};
use crate::stats::{Ledger, Reason};

/// A table with this head as CSV.
///
/// # Errors
/// None that is known.
pub(super) fn csv(
    head: impl Iterator<Item = String>,
    rows: impl Iterator<Item = Vec<String>>,
) -> Result<Vec<u8>> {
    let failed = |why: &dyn std::fmt::Display| Error::internal(format!("a table in memory: {why}"));
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(head).map_err(|why| failed(&why))?;
    for row in rows {
        table.write_record(row).map_err(|why| failed(&why))?;
    }
    table.into_inner().map_err(|why| failed(&why))
}

/// The columns of a ledger: its total, and its parts.
pub(super) fn ledger_head<R: Reason>(ledger: &str) -> impl Iterator<Item = String> {
    let parts = R::GLOSSARY.iter().map(|(name, _)| *name);
    std::iter::once("total").chain(parts).map(move |name| format!("{ledger}.{name}"))
}

/// What stands in them.
pub(super) fn ledger_cells<R: Reason, const N: usize>(
    ledger: &Ledger<R, N>,
) -> impl Iterator<Item = u64> {
    std::iter::once(ledger.total()).chain(ledger.parts().map(|part| part.2))
}

/// The names of counters.
pub(super) fn counter_head(glossary: &[(&str, &str)]) -> impl Iterator<Item = String> {
    glossary.iter().map(|(name, _)| (*name).to_owned())
}
