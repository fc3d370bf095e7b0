//! Iterations of a loop that is unrolled, until it is known how they are issued.
//!
//! The machine executes four iterations as one as long as a lane has so many left, and lanes with fewer wait meanwhile; then
//! two as one for those lanes that have two or three left, and one. The text is executed one iteration at a time, so that lanes
//! leave the loop sooner here. What they did in iterations that are no round of four is kept until the loop ends.

use super::super::lowering::{Issued, IssuedLoop, MOST_ITERATIONS, NO_ORDER};
use crate::isa::{LaneAddresses, LaneMask, Spare, WARP, WarpStream, lanes};

/// The iterations of a warp that are not in its stream yet.
#[derive(Clone, Debug, Default)]
pub struct Iterations {
    /// Iterations of the present round; none where the warp is in no such loop.
    count: usize,
    /// The lanes that execute each; they only become fewer.
    masks: [LaneMask; MOST_ITERATIONS],
    /// The loop: a place in [`Issued::loops`].
    at: u32,
    /// Its blocks.
    start: u32,
    end: u32,
    /// Where the records of the round begin, or those of the region that is no such loop.
    words: usize,
    rest: Rest,
    records: Vec<LaneAddresses>,
    spare: Spare,
}

/// What lanes did in iterations that are no round of four: three at most.
#[derive(Clone, Debug, Default)]
struct Rest {
    /// Iterations by lane.
    counts: [u8; WARP],
    /// Lanes that have any.
    mask: LaneMask,
    /// By iteration and memory instruction: who accesses memory, and where.
    masks: Vec<LaneMask>,
    places: Vec<[u64; WARP]>,
}

impl Iterations {
    /// Forgets what there was.
    pub fn clear(&mut self) {
        self.count = 0;
        self.rest.mask = 0;
    }

    /// Begins a region that is no such loop.
    #[inline]
    pub fn begin_region(&mut self, stream: &WarpStream) {
        self.words = stream.words();
    }

    /// Puts the records of a region in order, of which the last block has that `order`; those of iterations wait.
    #[inline]
    pub fn end_region(&mut self, order: u32, issued: &Issued, stream: &mut WarpStream) {
        if order != NO_ORDER && self.is_none() {
            self.reorder(order, issued, stream);
        }
    }

    /// Whether there are none.
    #[inline]
    fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Whether what comes next, a block of some lanes, is no further iteration.
    #[inline]
    pub fn end_before(&self, block: u32, mask: LaneMask) -> bool {
        let goes_on = || {
            let again = block == self.start;
            (self.start..self.end).contains(&block)
                && !(again && mask & !self.masks[self.count - 1] != 0)
        };
        !self.is_none() && !goes_on()
    }

    /// Begins an iteration of the loop at a place of [`Issued::loops`], which starts with `block`.
    pub fn add(
        &mut self,
        at: u32,
        block: u32,
        issued: &Issued,
        mask: LaneMask,
        stream: &mut WarpStream,
    ) {
        if self.is_none() {
            (self.at, self.start) = (at, block);
            self.end = issued.loops[at as usize].end;
        }
        if self.count == MOST_ITERATIONS {
            self.round(issued, stream);
        }
        if self.is_none() {
            self.words = stream.words();
        }
        self.masks[self.count] = mask;
        self.count += 1;
    }

    /// Puts all into the stream, and their records in order, as the loop has ended.
    pub fn finish(&mut self, issued: &Issued, stream: &mut WarpStream) {
        let unrolled = &issued.loops[self.at as usize];
        let count = self.count;
        if count == MOST_ITERATIONS {
            self.round(issued, stream);
        } else if self.rest.mask == 0 && self.masks[0] == self.masks[count - 1] {
            // All lanes alike.
            for (start, len) in unrolled.pieces(count) {
                stream.push_run(start, len, self.masks[0]);
            }
            self.reorder(unrolled.orders[count - 1], issued, stream);
        } else {
            stream.take_records(self.words, &mut self.records);
            self.keep(self.masks[0]);
        }
        if self.rest.mask != 0 {
            self.rest.issue(unrolled, issued, stream);
        }
        self.clear();
    }

    /// Issues four iterations as one.
    fn round(&mut self, issued: &Issued, stream: &mut WarpStream) {
        let unrolled = &issued.loops[self.at as usize];
        let order = unrolled.orders[MOST_ITERATIONS - 1];
        let (all, mask) = (self.masks[0], self.masks[MOST_ITERATIONS - 1]);
        for (start, len) in unrolled.pieces(MOST_ITERATIONS) {
            stream.push_run(start, len, mask);
        }
        if mask == all {
            self.reorder(order, issued, stream);
        } else {
            stream.take_records(self.words, &mut self.records);
            self.keep(all & !mask);
            for place in 0..self.records.len() {
                let LaneAddresses { mask: accessing, .. } =
                    self.records[in_order(order, issued, place)];
                let addresses = self.records[in_order(order, issued, place)].all();
                stream.push_addresses(accessing & mask, &addresses);
            }
        }
        self.count = 0;
    }

    fn reorder(&mut self, order: u32, issued: &Issued, stream: &mut WarpStream) {
        if order != NO_ORDER {
            stream.reorder(self.words, &issued.orders[order as usize], &mut self.spare);
        }
    }

    /// Keeps what the lanes of `leaving` did in this round, by the records of its iterations.
    fn keep(&mut self, leaving: LaneMask) {
        let each = self.records.len() / self.count;
        self.rest.reserve(each);
        for lane in lanes(leaving) {
            let did = self.masks[..self.count].iter().filter(|mask| *mask >> lane & 1 == 1).count();
            self.rest.counts[lane] = did as u8;
        }
        for (place, record) in self.records.iter().enumerate() {
            let lanes = record.mask & leaving;
            if lanes != 0 {
                self.rest.add(place, lanes, &record.all());
            }
        }
        self.rest.mask |= leaving;
    }
}

/// Which record is at a place of an order.
fn in_order(order: u32, issued: &Issued, place: usize) -> usize {
    issued.orders.get(order as usize).map_or(place, |order| order[place] as usize)
}

impl Rest {
    /// Makes room for three iterations of so many memory instructions, of which nobody has any if this is the first time.
    fn reserve(&mut self, each: usize) {
        let room = (MOST_ITERATIONS - 1) * each;
        if self.mask == 0 {
            self.masks.clear();
        }
        self.masks.resize(room, 0);
        self.places.resize(room, [0; WARP]);
    }

    fn add(&mut self, place: usize, mask: LaneMask, addresses: &[u64; WARP]) {
        self.masks[place] |= mask;
        for lane in lanes(mask) {
            self.places[place][lane] = addresses[lane];
        }
    }

    /// Issues two iterations as one for those lanes that have so many, and one for those that have it left.
    fn issue(&self, unrolled: &IssuedLoop, issued: &Issued, stream: &mut WarpStream) {
        let each = self.masks.len() / (MOST_ITERATIONS - 1);
        let with = |wanted: fn(u8) -> bool| {
            lanes(self.mask)
                .filter(|lane| wanted(self.counts[*lane]))
                .fold(0, |all, lane| all | 1 << lane)
        };
        let two: LaneMask = with(|count| count >= 2);
        if two != 0 {
            for (start, len) in unrolled.pieces(2) {
                stream.push_run(start, len, two);
            }
            for place in 0..2 * each {
                let place = in_order(unrolled.orders[1], issued, place);
                stream.push_addresses(self.masks[place] & two, &self.places[place]);
            }
        }
        let one: LaneMask = with(|count| count % 2 == 1);
        if one != 0 {
            for (start, len) in unrolled.pieces(1) {
                stream.push_run(start, len, one);
            }
            for place in 0..each {
                let place = in_order(unrolled.orders[0], issued, place);
                // The last iteration of each lane.
                let (mut mask, mut addresses) = (0, [0; WARP]);
                for lane in lanes(one) {
                    let last = (usize::from(self.counts[lane]) - 1) * each + place;
                    mask |= self.masks[last] & 1 << lane;
                    addresses[lane] = self.places[last][lane];
                }
                stream.push_addresses(mask, &addresses);
            }
        }
    }
}
