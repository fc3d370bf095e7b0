//! What warps did, by buffer of the workload.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::statistics::{Ledgers, by_place};
use crate::sm::{BufferProfile, Region, SmStats};

/// What warps did with one buffer, or with what is none: local memory, what lies elsewhere, and instructions that went to several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BufferStatistics {
    /// The workload's name for it.
    pub name: String,
    /// Where it begins; none of what is no buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// Its size `[bytes]`; 0 of what is no buffer.
    pub size: u64,
    /// What they did with it.
    #[serde(flatten)]
    pub profile: BufferProfile,
}

impl BufferStatistics {
    fn new(region: Region, ranges: &[Range<u64>], profile: BufferProfile) -> Self {
        let (name, range) = match region {
            Region::Buffer(number) => (format!("buffer {}", number + 1), ranges.get(number)),
            Region::Local => ("local memory".to_owned(), None),
            Region::Elsewhere => ("elsewhere".to_owned(), None),
            Region::Several => ("several at once".to_owned(), None),
        };
        let address = range.map(|range| range.start);
        BufferStatistics {
            name,
            address,
            size: range.map_or(0, |range| range.end - range.start),
            profile,
        }
    }

    /// Says whether its ledger does not sum.
    pub fn check(&self) -> Result<(), String> {
        let latency = self.profile.latency.check();
        latency.map_err(|why| format!("{}: the latency ledger does not sum: {why}", self.name))
    }
}

/// The buffers that were accessed, in the order of their addresses, and then what is none.
pub fn by_buffer(
    ranges: &[Range<u64>],
    sms: impl Iterator<Item = Vec<BufferProfile>>,
) -> Vec<BufferStatistics> {
    let sums = by_place(sms, BufferProfile::merge);
    let regions = sums.into_iter().enumerate().map(|(place, sum)| (Region::at(place), sum));
    let mut used: Vec<_> =
        regions.filter(|(_, profile)| profile.counters.instructions > 0).collect();
    used.sort_by_key(|(region, _)| *region);
    let named = used.into_iter().map(|(region, sum)| BufferStatistics::new(region, ranges, sum));
    named.collect()
}

/// Says what buffers miss of what the SMs counted together.
pub fn check(
    buffers: &[BufferStatistics],
    ledgers: &Ledgers,
    accesses: u64,
    sms: &SmStats,
) -> Result<(), String> {
    let mut sum = BufferProfile::default();
    for buffer in buffers {
        buffer.check()?;
        sum.merge(&buffer.profile);
    }
    let all = &sum.counters;
    let found = all.l1_hits + all.l1_merged + all.l2_hits + all.l2_merged + all.dram;
    let pairs = [
        ("accesses of loads", all.load_accesses, sms.load_accesses),
        ("accesses of stores", all.store_accesses, sms.store_accesses),
        ("accesses of atomics", all.atomic_accesses, sms.atomic_accesses),
        ("accesses with data", all.loads, accesses),
        ("accesses that found their line", found, accesses),
        ("cycles of loads", sum.latency.total(), ledgers.latency.total()),
    ];
    match pairs.iter().find(|(_, buffers, all)| buffers != all) {
        None => Ok(()),
        Some((what, buffers, all)) => Err(format!("buffers have {buffers} {what} of {all}")),
    }
}
