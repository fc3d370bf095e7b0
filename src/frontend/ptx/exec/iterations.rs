//! Iterations of a loop that is unrolled, until it is known how many there are.

use super::super::lowering::{Issued, MOST_ITERATIONS, NO_ORDER};
use crate::isa::{LaneMask, Spare, WarpStream};

/// Iterations that a warp has executed one after the other with the same lanes, and that are not in its stream yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Iterations {
    count: usize,
    /// The loop: a place in [`Issued::loops`].
    at: u32,
    /// Its blocks.
    start: u32,
    end: u32,
    mask: LaneMask,
    /// Where their records begin.
    words: usize,
}

impl Iterations {
    /// Whether there are none.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Whether what comes next, a block of some lanes, is no further iteration of the same, or one too many.
    #[inline]
    pub fn end_before(&self, block: u32, mask: LaneMask) -> bool {
        let again = || block != self.start || mask == self.mask && self.count < MOST_ITERATIONS;
        !self.is_none() && !((self.start..self.end).contains(&block) && again())
    }

    /// Begins an iteration of the loop at a place of [`Issued::loops`], which starts with `block`.
    pub fn add(
        &mut self,
        at: u32,
        block: u32,
        issued: &Issued,
        mask: LaneMask,
        stream: &WarpStream,
    ) {
        if self.is_none() {
            let end = issued.loops[at as usize].end;
            *self = Iterations { count: 0, at, start: block, end, mask, words: stream.words() };
        }
        self.count += 1;
    }

    /// Puts them into the stream, and their records in order.
    pub fn issue(&mut self, issued: &Issued, stream: &mut WarpStream, spare: &mut Spare) {
        let unrolled = &issued.loops[self.at as usize];
        for (start, len) in unrolled.pieces(self.count) {
            stream.push_run(start, len, self.mask);
        }
        let order = unrolled.orders[self.count - 1];
        if order != NO_ORDER {
            stream.reorder(self.words, &issued.orders[order as usize], spare);
        }
        self.count = 0;
    }
}
