//! What every name in a report means, from the declarations themselves.

use std::collections::BTreeMap;

use crate::dram::DramStats;
use crate::l1::L1Stats;
use crate::l2::L2Stats;
use crate::noc::NocStats;
use crate::sm::{BufferCounters, InstCounters, SmStats};
use crate::stats::{DramReason, IssueReason, LatencyStage, LsuReason, Reason, Stats, WaitReason};

use super::totals::Totals;

/// By group (`totals`, the ledgers, the components), then by name: the meaning.
pub type Glossary = BTreeMap<String, BTreeMap<String, String>>;

/// The meaning of every total, ledger reason and counter, and of what is counted by line and by buffer if there is any.
pub fn glossary(has_lines: bool) -> Glossary {
    let groups = [
        ("totals", Totals::GLOSSARY),
        ("ledgers.issue", IssueReason::GLOSSARY),
        ("ledgers.lsu", LsuReason::GLOSSARY),
        ("ledgers.latency", LatencyStage::GLOSSARY),
        ("ledgers.dram", DramReason::GLOSSARY),
        ("components.sm", SmStats::GLOSSARY),
        ("components.l1", L1Stats::GLOSSARY),
        ("components.request_network", NocStats::GLOSSARY),
        ("components.reply_network", NocStats::GLOSSARY),
        ("components.l2", L2Stats::GLOSSARY),
        ("components.dram", DramStats::GLOSSARY),
    ];
    let lines = [
        ("lines.counters", InstCounters::GLOSSARY),
        ("lines.waits", WaitReason::GLOSSARY),
        ("buffers.counters", BufferCounters::GLOSSARY),
    ];
    let groups = groups.into_iter().chain(lines.into_iter().filter(|_| has_lines));
    groups.map(|(group, entries)| (group.to_owned(), meanings(entries))).collect()
}

fn meanings(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    // A doc comment's text starts with the space that follows the slashes.
    entries.iter().map(|&(name, doc)| (name.to_owned(), doc.trim().to_owned())).collect()
}
