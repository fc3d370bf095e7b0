//! Lines with sectors that were written in part, and lack the rest.
//!
//! A slice has places for few of them. Where it has too many, it completes the oldest: it reads what they lack from DRAM, writes them
//! back, and goes on so with every store until it has few again.

use super::slice::Slice;
use crate::config::machine::PartialLines as Config;
use crate::parts::{FOR_NOBODY, SectorSet, Way};
use crate::units::{Cycle, LineAddr};

/// Lines that a store completes, at most.
const AT_ONCE: usize = 2;

/// Which of a slice's lines have such sectors, in the order in which they began to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartialLines {
    /// The slice completes lines from so many on, and until so many are left; none where their number is not limited.
    limits: Option<(usize, usize)>,
    ways: usize,
    /// By way, and last the end of the list. Who is in no list is its own neighbour. None before there is such a line: most kernels
    /// write whole sectors.
    links: Box<[Link]>,
    count: usize,
    is_completing: bool,
}

/// Neighbours in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    older: u32,
    younger: u32,
}

impl PartialLines {
    /// None among so many ways.
    pub fn new(config: &Config, ways: usize) -> Self {
        let limits = match config {
            Config::Unlimited => None,
            Config::Limited { most, least } => Some((most.size(), least.size())),
        };
        PartialLines { limits, ways, links: Box::default(), count: 0, is_completing: false }
    }

    /// There is none any more.
    pub fn clear(&mut self) {
        if self.count == 0 {
            return;
        }
        (self.links, self.count, self.is_completing) = (Box::default(), 0, false);
    }

    /// Whether there may be too many.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.limits.is_some()
    }

    /// True when there is no place for another one.
    #[inline]
    fn is_full(&self) -> bool {
        self.limits.is_some_and(|(most, _)| self.count >= most)
    }

    fn has(&self, way: Way) -> bool {
        self.links.get(way.index()).is_some_and(|link| link.older != way.index() as u32)
    }

    /// The line in `way` has such sectors, or has none.
    fn note(&mut self, way: Way, is_partial: bool) {
        if !is_partial {
            return self.remove(way);
        }
        if self.has(way) {
            return;
        }
        if self.links.is_empty() {
            let apart = |way| Link { older: way, younger: way };
            self.links = (0..=self.ways as u32).map(apart).collect();
        }
        let (end, own) = (self.ways, way.index() as u32);
        let youngest = std::mem::replace(&mut self.links[end].older, own);
        self.links[youngest as usize].younger = own;
        self.links[way.index()] = Link { older: youngest, younger: end as u32 };
        self.count += 1;
        self.is_completing |= self.is_full();
    }

    /// The line in `way` has none any more.
    pub fn remove(&mut self, way: Way) {
        if !self.is_limited() || !self.has(way) {
            return;
        }
        let own = way.index() as u32;
        let Link { older, younger } =
            std::mem::replace(&mut self.links[way.index()], Link { older: own, younger: own });
        self.links[older as usize].younger = younger;
        self.links[younger as usize].older = older;
        self.count -= 1;
        self.is_completing &= self.limits.is_some_and(|(_, least)| self.count > least);
    }

    /// The oldest, where there are too many.
    fn to_complete(&self) -> Option<Way> {
        let oldest = || self.links[self.ways].younger;
        self.is_completing.then(|| Way::new(oldest()))
    }
}

impl Slice {
    /// The sectors of the line in `way` that were written in part. What is on its way will be there.
    pub(super) fn partial_sectors(&self, way: Way) -> SectorSet {
        let kept = &self.tags[way];
        let mut valid = self.bytes.of(kept.valid);
        if self.tags.is_reserved(way) {
            valid |= self.mshrs[kept.entry].missing.bytes();
        }
        SectorSet::of(valid).within(SectorSet::of(!valid & self.sectors.whole()))
    }

    /// Requests that read what the line in `way` lacks of such sectors.
    pub(super) fn reads_of(&self, way: Way) -> usize {
        if !self.partial.is_limited() {
            return 0;
        }
        (self.sectors.around_parts(self.partial_sectors(way)).count() >> self.part_bits) as usize
    }

    /// Requests to the DRAM for which a store finds room before it is served that may leave another line in part.
    pub(super) fn room_to_complete(&self) -> usize {
        // What is read of a line, and what is written.
        let most = 4 + 2;
        if self.partial.is_full() { most } else { 0 }
    }

    /// A store has changed the line in `way`: other ones may have to be completed.
    #[inline(never)]
    pub(super) fn note_store(&mut self, now: Cycle, way: Way) {
        let sectors = self.partial_sectors(way);
        self.partial.note(way, !sectors.is_empty());
        for _ in 0..AT_ONCE {
            let Some(oldest) = self.partial.to_complete() else { return };
            // One that a read has completed meanwhile stays as it is.
            if self.partial_sectors(oldest).is_empty() {
                self.partial.remove(oldest);
                continue;
            }
            if self.to_dram.free() < self.writes_of(oldest) {
                return;
            }
            self.write_back(now, oldest);
            self.tags.set_dirty(oldest, false);
        }
    }

    /// Before the line in `way` is written back, what its sectors lack is read: nobody waits for that, but the DRAM writes what it has
    /// read before. They count as whole from now on.
    pub(super) fn complete(&mut self, now: Cycle, line: LineAddr, way: Way) {
        let sectors = self.partial_sectors(way);
        self.partial.remove(way);
        if sectors.is_empty() {
            return;
        }
        let first = self.first_byte(line);
        for read in self.pieces(first, self.sectors.around_parts(sectors), FOR_NOBODY) {
            self.to_dram.push(now, read);
            self.stats.completions += 1;
        }
        self.bytes.add_sectors(&mut self.tags[way].valid, sectors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_completed_from_the_most_to_the_least() {
        let config = crate::config::parse::stated("Limited(most: 4, least: 2)");
        let mut lines = PartialLines::new(&config, 8);
        let way = |number: u32| Way::new(number);
        for number in [5, 1, 7] {
            lines.note(way(number), true);
        }
        // Another store to the oldest one changes nothing, and one that makes a line whole takes it out.
        lines.note(way(5), true);
        lines.note(way(1), false);
        lines.note(way(1), false);
        assert_eq!((lines.count, lines.to_complete()), (2, None));
        lines.note(way(0), true);
        assert_eq!((lines.is_full(), lines.to_complete()), (false, None));
        lines.note(way(3), true);
        assert_eq!((lines.is_full(), lines.to_complete()), (true, Some(way(5))));
        lines.remove(way(5));
        assert_eq!((lines.is_full(), lines.to_complete()), (false, Some(way(7))));
        lines.remove(way(7));
        assert_eq!((lines.count, lines.to_complete()), (2, None));
        lines.remove(way(7));
        assert!(!lines.has(way(7)) && lines.has(way(0)) && lines.has(way(3)));
    }
}
