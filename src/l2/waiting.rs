//! What a slice keeps of lines, and what waits in it: refused requests, requests for data, and data for its requests.

use crate::parts::{ByteSet, MshrId, Reply, SectorSet, Stamp, Stamps, Way};

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

impl Waiting {
    /// Stamps its reply, whose last data is this.
    #[inline]
    pub fn stamp(&self, stamps: &mut Stamps, data: Data) {
        let merged = !self.fetched.meets(data.sectors);
        let looked_up = self.reply.stamps.request.looked_up;
        stamps.dram_started = if merged { looked_up } else { data.dram_started };
        stamps.filled = data.filled;
        stamps.merged_at_l2 = merged;
    }
}

/// What a slice keeps of the line in a way of its cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// The bytes that hold data.
    pub valid: ByteSet,
    /// The bytes that memory lacks.
    pub dirty: ByteSet,
    /// The entry of a line that is outstanding.
    pub entry: MshrId,
}

/// What an entry still waits for: the sectors of a line that are on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fetch {
    /// Where they go; none when nothing is kept.
    pub way: Option<Way>,
    /// Which they are.
    pub missing: SectorSet,
    /// Requests for each of which the data has not arrived; all of a sector's while none is under way.
    pub left: [u8; 4],
    /// When the DRAM began with the first of them, once data of one has arrived.
    pub started: [Stamp; 4],
}

impl Fetch {
    /// Of sectors that come in so many pieces each.
    #[inline]
    pub fn new(way: Option<Way>, missing: SectorSet, pieces: u8) -> Self {
        Fetch { way, missing, left: [pieces; 4], started: [Stamp::default(); 4] }
    }
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
