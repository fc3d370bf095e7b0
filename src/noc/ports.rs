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

    /// Members among the first sixteen ports, a bit each.
    #[inline]
    pub(super) fn sixteen(members: u16) -> Self {
        let mut ports = Self::default();
        ports.0[0] = members.into();
        ports
    }

    /// What `members` gives for each sixteen ports of a word of which any is a member, a bit each.
    #[inline(always)]
    pub(super) fn by_sixteens(&self, mut members: impl FnMut(usize, usize) -> u16) -> Self {
        let mut ports = Self::default();
        for (word, all) in ports.0.iter_mut().enumerate() {
            let mut rest = self.0[word];
            while rest != 0 {
                let sixteen = rest.trailing_zeros() as usize / SIXTEEN;
                rest &= !(0xffff << (sixteen * SIXTEEN));
                *all |= u64::from(members(word, sixteen)) << (sixteen * SIXTEEN);
            }
        }
        ports
    }

    /// True when `port` is the only member, if it is one.
    #[inline]
    pub fn only_has(&self, port: usize) -> bool {
        let (word, bit) = Self::place(port);
        let other = |of: usize| self.0[of] & !if of == word { bit } else { 0 };
        (0..WORDS).fold(0, |all, of| all | other(of)) == 0
    }

    /// True when it has no member. The words are read one by one, as they are written.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    /// True when `port` is a member.
    #[inline]
    pub fn contains(&self, port: usize) -> bool {
        let (word, bit) = Self::place(port);
        self.0[word] & bit != 0
    }

    /// The lowest member from `from` on, and where there is none, the lowest of all.
    #[inline]
    pub fn first_from(&self, from: usize) -> Option<usize> {
        if WORDS == 1 {
            let turned = self.0[0].rotate_right((from % WORD) as u32);
            let offset = turned.trailing_zeros() as usize;
            return (turned != 0).then_some((from + offset) % WORD);
        }
        self.next_from(from).or_else(|| self.next_from(0))
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
        let from = [65, 131, 256, 0, 1, 64].map(|from| ports.first_from(from).unwrap());
        assert_eq!(from, [130, 255, 0, 0, 5, 64]);
        let mut below = Ports::default();
        [0, 5, 63].iter().for_each(|&port| below.set(port, true));
        assert_eq!((below.first_from(6), below.first_from(64)), (Some(63), Some(0)));
        assert_eq!(ports.without(&below).iter().collect::<Vec<_>>(), [64, 130, 255]);
        assert_eq!(ports.without(&below).with(&below), ports);
        assert_eq!(Ports::<MOST_WORDS>::default().first_from(3), None);
        assert!(ports.contains(255) && !ports.contains(254));
        assert!(!ports.only_has(5) && !ports.is_empty());
        members[1..].iter().for_each(|&port| ports.set(port, false));
        assert!(ports.only_has(0) && !ports.only_has(64) && ports.contains(0));
        ports.set(0, false);
        assert!(ports.only_has(0) && ports.is_empty());
    }

    #[test]
    fn a_set_of_one_word_is_gone_through_as_well() {
        let mut ports = Ports::<1>::default();
        assert_eq!((ports.first_from(0), ports.iter().next()), (None, None));
        [0, 5, 63].iter().for_each(|&port| ports.set(port, true));
        assert_eq!(ports.iter().collect::<Vec<_>>(), [0, 5, 63]);
        assert_eq!([6, 1, 64, 5].map(|from| ports.first_from(from)), [63, 5, 0, 5].map(Some));
        ports.set(5, false);
        assert!(!ports.contains(5) && ports.contains(63) && !ports.is_empty());
    }
}
