//! Sets of ports.

/// Bits of a word.
const WORD: usize = u64::BITS as usize;
/// Words of the largest set.
pub const MOST_WORDS: usize = 4;

/// A set of ports, of which each word holds 64. Most machines have no more on any side: with one word a set is a number,
/// while the processor copies and compares several words at once, for which it has to wait when one of them was written a
/// moment ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports<const WORDS: usize = MOST_WORDS>([u64; WORDS]);

impl<const WORDS: usize> Default for Ports<WORDS> {
    /// Empty.
    fn default() -> Self {
        Ports([0; WORDS])
    }
}

impl<const WORDS: usize> Ports<WORDS> {
    /// Ports that there can be.
    pub const MOST: usize = WORDS * WORD;

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

    /// The lowest member from `from` on, or else the lowest of all.
    #[inline]
    pub fn next_round(&self, from: usize) -> Option<usize> {
        if WORDS == 1 {
            // It cannot be foretold which of the two it is.
            let all = self.0[0];
            let later = if from < WORD { all & (!0 << from) } else { 0 };
            let word = if later != 0 { later } else { all };
            return (word != 0).then_some(word.trailing_zeros() as usize);
        }
        self.next_from(from).or_else(|| self.next_from(0))
    }

    /// The members, lowest first, as they are now.
    #[inline]
    pub fn iter(&self) -> Members<WORDS> {
        Members { rest: self.0, word: 0 }
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
        assert_eq!((ports.next_round(65), ports.next_round(256)), (Some(130), Some(0)));
        let mut below = Ports::default();
        [0, 5, 63].iter().for_each(|&port| below.set(port, true));
        assert_eq!((below.next_round(6), below.next_round(64)), (Some(63), Some(0)));
        assert_eq!(ports.without(&below).iter().collect::<Vec<_>>(), [64, 130, 255]);
        assert_eq!(ports.without(&below).with(&below), ports);
        assert_eq!(Ports::<MOST_WORDS>::default().next_round(3), None);
        assert!(ports.contains(255) && !ports.contains(254));
    }

    #[test]
    fn a_set_of_one_word_is_gone_through_as_well() {
        let mut ports = Ports::<1>::default();
        assert_eq!((ports.next_round(0), ports.iter().next()), (None, None));
        [0, 5, 63].iter().for_each(|&port| ports.set(port, true));
        assert_eq!(ports.iter().collect::<Vec<_>>(), [0, 5, 63]);
        assert_eq!([6, 1, 64].map(|from| ports.next_round(from)), [Some(63), Some(5), Some(0)]);
        ports.set(5, false);
        assert!(!ports.contains(5) && ports.contains(63) && !ports.is_empty());
    }
}
