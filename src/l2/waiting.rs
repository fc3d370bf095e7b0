//! What waits in a slice: refused requests, requests for data, and data for its requests.

use crate::parts::{MshrId, Reply, SectorSet, Stamp, Way};

/// Why a request was refused this cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NoMerger,
    NoCacheLine,
    NoMshrLine,
    DramQueue,
    ReplyQueue,
}

/// A request that waits for bytes of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waiting {
    /// The answer to it.
    pub reply: Reply,
    /// What was fetched for it; nothing when it merely joined.
    pub fetched: SectorSet,
}

/// What an entry still waits for: the sectors of a line that are on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fetch {
    /// Where they go; none when nothing is kept.
    pub way: Option<Way>,
    /// Which they are.
    pub missing: SectorSet,
    pub sectors: [SectorFetch; 4],
}

impl Fetch {
    /// Of sectors that come in so many pieces each.
    #[inline]
    pub fn new(way: Option<Way>, missing: SectorSet, pieces: u32) -> Self {
        let sector = SectorFetch { left: pieces, started: Stamp::default() };
        Fetch { way, missing, sectors: [sector; 4] }
    }
}

/// The requests that fetch one sector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SectorFetch {
    /// Those whose data has not arrived; all of them while none is under way.
    pub left: u32,
    /// When the DRAM began with the first of them, once data of one has arrived.
    pub started: Stamp,
}

/// A sector that has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Data {
    pub sectors: SectorSet,
    pub dram_started: Stamp,
    pub filled: Stamp,
}

/// The same, and how many requests it gave their data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    pub entry: MshrId,
    pub requests: u32,
    pub data: Data,
}
