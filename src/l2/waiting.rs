//! What a slice keeps of lines, and what waits in it: refused requests, requests for data, and data for its requests.

use crate::parts::{
    ByteSet, MshrId, Reply, ReplyKind, Request, RequestStamps, SectorSet, Stamp, Stamps, Way,
};

/// Why a request was refused this cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NoMerger,
    NoCacheLine,
    NoMshrLine,
    DramQueue,
    ReplyQueue,
}

/// A request that waits for bytes of a line: what its answer is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waiting {
    stamps: RequestStamps,
    kind: ReplyKind,
    sm: u16,
    slot: u16,
    held: u16,
    data_bytes: u8,
    /// The sectors that it wants.
    pub sectors: SectorSet,
    /// What was fetched for it; nothing when it merely joined.
    pub fetched: SectorSet,
}

impl Waiting {
    /// Of a request that wants bytes of these sectors.
    #[inline(always)]
    pub fn new(request: &Request, wanted: SectorSet, fetched: SectorSet) -> Self {
        // The answer to a reduction brings none of them.
        let Reply { kind, sm, slot, held, data_bytes, stamps, .. } = request.reply_with(wanted);
        let (stamps, sectors) = (stamps.request, wanted);
        Waiting { stamps, kind, sm, slot, held, data_bytes, sectors, fetched }
    }

    /// The answer, whose last data is this.
    #[inline(always)]
    pub fn reply(&self, data: Data) -> Reply {
        let Waiting { stamps: request, kind, sm, slot, held, data_bytes, sectors, fetched } = *self;
        let merged_at_l2 = !fetched.meets(data.sectors);
        let dram_started = if merged_at_l2 { request.looked_up } else { data.dram_started };
        let (filled, replied) = (data.filled, Stamp::default());
        let stamps = Stamps { request, dram_started, filled, replied, merged_at_l2 };
        Reply { kind, sm, slot, held, sectors, data_bytes, stamps }
    }
}

/// What a slice keeps of the line in a way of its cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// The bytes that hold data, or will once the line's entry has it, as [`Fetch::is_promised`] says.
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
    /// What is kept of the line counts them as valid already: when they come, nobody needs to look at it.
    pub is_promised: bool,
    /// The line has changed at home since they were asked for: it does not stay.
    pub is_stale: bool,
}

impl Fetch {
    /// Sectors of a line that are asked for now.
    #[inline]
    pub fn new(way: Option<Way>, missing: SectorSet) -> Self {
        Fetch { way, missing, is_promised: false, is_stale: false }
    }
}

/// How far the sectors of an entry have come, where a line does not come in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(32))]
pub(super) struct Pieces {
    /// Those of each sector that have not arrived; all while none has.
    left: [u8; 4],
    /// When the DRAM began with the first of them, once one has arrived.
    started: [Stamp; 4],
}

impl Pieces {
    /// Of sectors that come in so many each, of which none has arrived.
    pub fn new(pieces: u8) -> Self {
        Pieces { left: [pieces; 4], started: [Stamp::default(); 4] }
    }

    /// One of the `pieces` of sector `number` has arrived, with which the DRAM began at `started`. If it is the last one, gives
    /// true, and waits for all of them again.
    pub fn take(&mut self, number: usize, pieces: u8, started: Stamp) -> bool {
        let (left, first) = (&mut self.left[number], &mut self.started[number]);
        *first = if *left < pieces { first.earlier(started) } else { started };
        *left -= 1;
        let is_last = *left == 0;
        if is_last {
            *left = pieces;
        }
        is_last
    }

    /// When the DRAM began with the first of these sectors, which have arrived.
    pub fn started(&self, numbers: impl Iterator<Item = usize>) -> Option<Stamp> {
        numbers.map(|number| self.started[number]).reduce(Stamp::earlier)
    }
}

/// A sector that has arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Data {
    pub sectors: SectorSet,
    /// When the DRAM began with it.
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
