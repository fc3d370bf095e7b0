//! A reader that is one record ahead.

use super::{BarrierUse, BulkUse, LaneAddresses, LaneMask, MbarrierUse, Run};
use super::{Packed, WarpCursor, WarpStream};

/// Reads a [`WarpStream`] as a [`WarpCursor`] does, and has what comes next at hand: of many streams that are read in turn, the
/// next record has mostly left the processor's caches, and nothing waits for it if it is loaded long before it is asked for.
/// All calls are to be made with the same stream, which does not change.
#[derive(Clone, Copy, Debug, Default)]
pub struct WarpReader {
    cursor: WarpCursor,
    /// Where the cursor stands, with length 0 at the end of the runs.
    run: Packed,
    /// The first two words there; of no meaning where there is only one left, or none.
    words: u64,
}

impl WarpReader {
    /// At the beginning of `stream`.
    pub fn new(stream: &WarpStream) -> Self {
        let cursor = WarpCursor::default();
        WarpReader { cursor, run: run_at(stream, 0), words: words_at(stream, 0) }
    }

    /// As [`WarpCursor::take_run`].
    #[inline]
    pub fn take_run(&mut self, stream: &WarpStream) -> Option<Run> {
        let Packed { pc, len } = self.run;
        let mut run = Run { pc, len, mask: LaneMask::MAX };
        if len > 0 {
            self.cursor.run += 1;
        } else {
            // Some lanes, or the end.
            run = self.cursor.take_run(stream)?;
        }
        self.run = run_at(stream, self.cursor.run);
        Some(run)
    }

    /// As [`WarpCursor::barrier`].
    pub fn barrier(&mut self, stream: &WarpStream) -> BarrierUse {
        let barrier = self.cursor.barrier(stream);
        self.words = words_at(stream, self.cursor.word);
        barrier
    }

    /// As [`WarpCursor::mbarrier`].
    pub fn mbarrier(&mut self, stream: &WarpStream) -> MbarrierUse {
        let mbarrier = self.cursor.mbarrier(stream);
        self.words = words_at(stream, self.cursor.word);
        mbarrier
    }

    /// As [`WarpCursor::bulk`].
    pub fn bulk<'a>(
        &mut self,
        stream: &'a WarpStream,
    ) -> impl ExactSizeIterator<Item = BulkUse> + use<'a> {
        let copies = self.cursor.bulk(stream);
        self.words = words_at(stream, self.cursor.word);
        copies
    }

    /// As [`WarpCursor::addresses`].
    #[inline(always)]
    pub fn addresses(&mut self, stream: &WarpStream) -> LaneAddresses {
        let addresses = self.cursor.addresses_from(self.words, stream);
        self.words = words_at(stream, self.cursor.word);
        addresses
    }
}

#[inline(always)]
fn run_at(stream: &WarpStream, place: u32) -> Packed {
    stream.runs.get(place as usize).copied().unwrap_or_default()
}

#[inline(always)]
fn words_at(stream: &WarpStream, place: u32) -> u64 {
    let words = stream.words.get(place as usize..).and_then(|words| words.first_chunk());
    words.map_or(0, |&[low, high]| u64::from(low) | u64::from(high) << 32)
}
