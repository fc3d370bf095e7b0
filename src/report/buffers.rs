//! What a report shows of the workload's buffers.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::gpu::BufferStatistics;
use crate::sm::{BufferCounters, BufferProfile};
use crate::stats::{LatencyStage, Stats};

use super::Report;
use super::rows;

/// All launches together, in the order of addresses, and what is no buffer behind them.
pub(super) fn merged<'a>(
    launches: impl Iterator<Item = &'a Vec<BufferStatistics>>,
) -> Vec<BufferStatistics> {
    let mut buffers: Vec<BufferStatistics> = Vec::new();
    for buffer in launches.flatten() {
        let is_same = |known: &&mut BufferStatistics| {
            (known.address, &known.name) == (buffer.address, &buffer.name)
        };
        match buffers.iter_mut().find(is_same) {
            Some(known) => known.profile.merge(&buffer.profile),
            None => buffers.push(buffer.clone()),
        }
    }
    buffers.sort_by_key(|buffer| buffer.address.unwrap_or(u64::MAX));
    buffers
}

impl Report {
    /// Gives buffers the names that the workload has for those at their addresses.
    pub fn name_buffers(&mut self, names: &BTreeMap<u64, String>) {
        for buffer in &mut self.buffers {
            if let Some(name) = buffer.address.and_then(|address| names.get(&address)) {
                buffer.name.clone_from(name);
            }
        }
    }

    /// The buffers as a table.
    ///
    /// # Errors
    /// None that is known.
    pub fn buffers_csv(&self) -> Result<Vec<u8>> {
        let own = ["buffer", "address", "size"].map(str::to_owned);
        let head = own.into_iter().chain(rows::counter_head(BufferCounters::GLOSSARY));
        let head = head.chain(rows::ledger_head::<LatencyStage>("latency"));
        let rows = self.buffers.iter().map(|buffer| {
            let BufferStatistics { name, address, size, profile } = buffer;
            let BufferProfile { counters, latency } = profile;
            let address = address.map_or_else(String::new, |address| format!("{address:#x}"));
            let amounts = counters.values().chain(rows::ledger_cells(latency));
            let amounts = amounts.map(|amount| amount.to_string());
            [name.clone(), address, size.to_string()].into_iter().chain(amounts).collect()
        });
        rows::csv(head, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn launches_are_taken_together_and_buffers_have_the_workloads_names() {
        let mut report = sample::report_with_lines();
        report.name_buffers(&BTreeMap::from([(0x1000_0000, "in".to_owned())]));
        let counted = |buffer: &BufferStatistics| {
            (buffer.name.clone(), buffer.size, buffer.profile.counters.loads)
        };
        let all: Vec<_> = report.buffers.iter().map(counted).collect();
        let [first, second, third] = &all[..] else { panic!("{all:?}") };
        assert_eq!(*first, ("in".to_owned(), 524_290, 3000));
        assert_eq!(*second, ("buffer 2".to_owned(), 524_288, 700));
        assert_eq!(*third, ("local memory".to_owned(), 0, 100));
        let table = String::from_utf8(report.buffers_csv().unwrap()).unwrap();
        let row = "in,0x10000000,524290,3000,96000,3000,0,0,3000,1500,900,300,150,150,483000,0,";
        assert!(table.lines().nth(1).unwrap().starts_with(row), "{table}");
    }
}
