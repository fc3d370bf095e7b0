//! Sets of ports.

/// Bits of a word.
const WORD: usize = u64::BITS as usize;
/// Ports of which more can be said at once, and how often a word has so many.
pub(super) const SIXTEEN: usize = 16;
pub(super) const SIXTEENS: usize = WORD / SIXTEEN;
/// Words of the largest set.
pub const MOST_WORDS: usize = 4;

/// A set of ports, of which each word holds 64. Most machines have no more on any side: with one word a set is a number,
/// while the processor copies and compares several words at once, for which it has to wait when one of them was written a
/// moment ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports<const WORDS: usize = MOST_WORDS>([u64; WORDS]);

impl<const WORDS: usize> Default for Ports<WORDS> {
    /// Empty.
    #[inline]
    fn default() -> Self {
        Ports([0; WORDS])
    }
}

impl<const WORDS: usize> Ports<WORDS> {
    /// Ports that there can be.
    pub const MOST: usize = WORDS * WORD;

    /// The first `count` ports.
    pub fn first(count: usize) -> Self {
        let mut ports = Self::default();
        (0..count).for_each(|port| ports.set(port, true));
        ports
    }

    /// The word and the bit of a port.
    #[inline]
    fn place(port: usize) -> (usize, u64) {
        debug_assert!(port < Self::MOST, "port {port} has no place");
        (port / WORD % WORDS, 1 << (port % WORD))
    }

    /// Makes `port` a member, or not.
    #[inline]
    pub fn set(&mut self, port: usize, member: bool) {
        let (word, bit) = Self::place(port);
        if member { self.0[word] |= bit } else { self.0[word] &= !bit }
    }

    /// Makes `port` a member, if `is_member`.
    #[inline]
    pub fn add(&mut self, port: usize, is_member: bool) {
        let (word, _) = Self::place(port);
        self.0[word] |= u64::from(is_member) << (port % WORD);
    }

    /// Takes `port` out, if `is_gone`.
    #[inline]
    pub fn remove(&mut self, port: usize, is_gone: bool) {
        let (word, _) = Self::place(port);
        self.0[word] &= !(u64::from(is_gone) << (port % WORD));
    }

    /// Adds members among sixteen ports of a word, a bit each.
    #[inline]
    pub(super) fn add_sixteen(&mut self, (word, sixteen): (usize, usize), members: u16) {
        self.0[word] |= u64::from(members) << (sixteen * SIXTEEN);
    }

    /// The words and sixteens there of which any is a member.
    #[inline]
    pub(super) fn sixteens(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0.into_iter().enumerate().flat_map(|(word, mut rest)| {
            std::iter::from_fn(move || {
                let sixteen = (rest != 0).then(|| rest.trailing_zeros() as usize / SIXTEEN)?;
                rest &= !(0xffff << (sixteen * SIXTEEN));
                Some((word, sixteen))
            })
        })
    }

    /// True when `port` is the only member, if it is one.
    #[inline]
    pub fn only_has(&self, port: usize) -> bool {
        let mut rest = *self;
        rest.set(port, false);
        rest.is_empty()
    }

    /// True when it has no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// True when `port` is a member.
    #[inline]
    pub fn contains(&self, port: usize) -> bool {
        let (word, bit) = Self::place(port);
        self.0[word] & bit != 0
    }

    /// The lowest member from `from` on.
    #[inline]
    fn next_from(&self, from: usize) -> Option<usize> {
        let mut word = from / WORD;
        let mut bits = *self.0.get(word)? & (!0 << (from % WORD));
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        Some(word * WORD + bits.trailing_zeros() as usize)
    }

    /// The members from `from` on, lowest first, and then those before it.
    #[inline]
    pub fn round(&self, from: usize) -> Round<WORDS> {
        let mut rest = *self;
        if WORDS == 1 {
            rest.0[0] = rest.0[0].rotate_right((from % WORD) as u32);
        }
        Round { rest, from }
    }

    /// The members, lowest first, as they are now.
    #[inline]
    pub fn iter(&self) -> Members<WORDS> {
        Members { rest: self.0, word: 0 }
    }

    /// The member, if there is exactly one.
    #[inline]
    pub fn only(&self) -> Option<usize> {
        let mut members = self.iter();
        let first = members.next()?;
        members.next().is_none().then_some(first)
    }

    /// The members that are not in `other`.
    #[inline]
    pub fn without(&self, other: &Self) -> Self {
        Ports(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// The members of either.
    #[inline]
    pub fn with(&self, other: &Self) -> Self {
        Ports(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

/// The members of a set, lowest first.
#[derive(Clone, Debug)]
pub struct Members<const WORDS: usize> {
    /// Those that are still to come.
    rest: [u64; WORDS],
    /// The words before this one have none.
    word: usize,
}

impl<const WORDS: usize> Iterator for Members<WORDS> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if WORDS == 1 {
            let bits = &mut self.rest[0];
            if *bits == 0 {
                return None;
            }
            let port = bits.trailing_zeros() as usize;
            *bits &= *bits - 1;
            return Some(port);
        }
        loop {
            let bits = self.rest.get_mut(self.word)?;
            if *bits != 0 {
                let port = self.word * WORD + bits.trailing_zeros() as usize;
                *bits &= *bits - 1;
                return Some(port);
            }
            self.word += 1;
        }
    }
}

/// The members of a set from one on, and then those before it.
#[derive(Clone, Debug)]
pub struct Round<const WORDS: usize> {
    /// Those that are still to come. A single word is turned so that it begins with the first one.
    rest: Ports<WORDS>,
    from: usize,
}

impl<const WORDS: usize> Iterator for Round<WORDS> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if WORDS == 1 {
            let bits = &mut self.rest.0[0];
            if *bits == 0 {
                return None;
            }
            let offset = bits.trailing_zeros() as usize;
            *bits &= *bits - 1;
            return Some((self.from + offset) % WORD);
        }
        let port = self.rest.next_from(self.from).or_else(|| self.rest.next_from(0))?;
        self.rest.set(port, false);
        Some(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_gone_through_in_order() {
        let members = [0, 5, 63, 64, 130, 255];
        let mut ports = Ports::<MOST_WORDS>::default();
        members.iter().for_each(|&port| ports.set(port, true));
        assert_eq!(ports.iter().collect::<Vec<_>>(), members);
        assert_eq!(ports.next_from(65), Some(130));
        assert_eq!(ports.round(65).collect::<Vec<_>>(), [130, 255, 0, 5, 63, 64]);
        assert_eq!(ports.round(256).next(), Some(0));
        let mut below = Ports::default();
        [0, 5, 63].iter().for_each(|&port| below.set(port, true));
        assert_eq!((below.round(6).next(), below.round(64).next()), (Some(63), Some(0)));
        assert_eq!(ports.without(&below).iter().collect::<Vec<_>>(), [64, 130, 255]);
        assert_eq!(ports.without(&below).with(&below), ports);
        assert_eq!(Ports::<MOST_WORDS>::default().round(3).next(), None);
        assert!(ports.contains(255) && !ports.contains(254));
    }

    #[test]
    fn a_set_of_one_word_is_gone_through_as_well() {
        let mut ports = Ports::<1>::default();
        assert_eq!((ports.round(0).next(), ports.iter().next()), (None, None));
        [0, 5, 63].iter().for_each(|&port| ports.set(port, true));
        assert_eq!(ports.iter().collect::<Vec<_>>(), [0, 5, 63]);
        assert_eq!([6, 1, 64].map(|from| ports.round(from).next()), [Some(63), Some(5), Some(0)]);
        assert_eq!(ports.round(5).collect::<Vec<_>>(), [5, 63, 0]);
        ports.set(5, false);
        assert!(!ports.contains(5) && ports.contains(63) && !ports.is_empty());
    }
}
