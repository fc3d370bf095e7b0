//! The order of the ways of a set that has too many for a word.

/// The ways of a set in their order, each with the ones before and behind it: in one line of the processor's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct Links {
    /// By way, the next one; behind the last one comes [`ENDS`], and behind that the first one.
    next: [u8; PLACES],
    before: [u8; PLACES],
}

const PLACES: usize = 32;
/// In place of a way's number: before the first and behind the last one.
const ENDS: usize = PLACES - 1;

const _: () = assert!(size_of::<Links>() == 64);

impl Links {
    /// Ways of a set, at most.
    pub const MOST_WAYS: usize = ENDS;

    /// So many ways by their number.
    pub fn new(ways: usize) -> Self {
        debug_assert!(ways <= Self::MOST_WAYS);
        let mut links = Links { next: [ENDS as u8; PLACES], before: [ENDS as u8; PLACES] };
        (0..ways).for_each(|way| links.put(way, links.last()));
        links
    }

    /// The first one.
    #[inline(always)]
    pub fn first(&self) -> usize {
        self.next[ENDS].into()
    }

    fn last(&self) -> usize {
        self.before[ENDS].into()
    }

    /// The way behind `way`: [`ENDS`] behind the last one, and none behind that.
    #[inline(always)]
    pub fn behind(&self, way: usize) -> Option<usize> {
        (way != ENDS).then(|| self.next[way % PLACES].into())
    }

    /// Moves a way to the end.
    #[inline(always)]
    pub fn move_to_end(&mut self, way: usize) {
        self.take(way);
        self.put(way, self.last());
    }

    /// Moves a way behind the first `before` others.
    pub fn move_behind(&mut self, way: usize, before: usize) {
        self.take(way);
        let at = (0..before).fold(ENDS, |at, _| self.next[at].into());
        self.put(way, at);
    }

    #[inline(always)]
    fn take(&mut self, way: usize) {
        let (next, before) = (self.next[way % PLACES], self.before[way % PLACES]);
        self.next[usize::from(before) % PLACES] = next;
        self.before[usize::from(next) % PLACES] = before;
    }

    /// Puts a way that is not there behind the one at `at`.
    #[inline(always)]
    fn put(&mut self, way: usize, at: usize) {
        let next = std::mem::replace(&mut self.next[at % PLACES], way as u8);
        self.before[usize::from(next) % PLACES] = way as u8;
        (self.next[way % PLACES], self.before[way % PLACES]) = (next, at as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(links: &Links) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(links.first()), |way| links.behind(*way))
            .take_while(|way| *way != ENDS)
    }

    #[test]
    fn a_way_goes_to_the_end_or_to_a_place_and_the_others_stay_in_order() {
        for count in 1..=Links::MOST_WAYS {
            let mut links = Links::new(count);
            let mut plain: Vec<usize> = (0..count).collect();
            assert!(all(&links).eq(plain.iter().copied()));
            for step in 0..200 {
                let way = step * 7 % count;
                plain.retain(|&other| other != way);
                if step % 3 == 0 {
                    let before = step % count;
                    plain.insert(before, way);
                    links.move_behind(way, before);
                } else {
                    plain.push(way);
                    links.move_to_end(way);
                }
                assert!(all(&links).eq(plain.iter().copied()));
                assert_eq!(links.first(), plain[0]);
            }
        }
    }
}
