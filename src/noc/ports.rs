//! Sets of ports.

/// Inputs and outputs each: enough for a bit set.
pub const MAX_PORTS: usize = 256;
const WORDS: usize = MAX_PORTS / 64;

/// A set of ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ports([u64; WORDS]);

impl Ports {
    /// Makes `port` a member, or not.
    #[inline]
    pub fn set(&mut self, port: usize, member: bool) {
        let (word, bit) = (port / 64, 1u64 << (port % 64));
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
        self.0[port / 64] >> (port % 64) & 1 == 1
    }

    /// The lowest member from `from` on.
    #[inline]
    fn next_from(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = *self.0.get(word)? & (!0 << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// The lowest member from `from` on, or else the lowest of all.
    #[inline]
    pub fn next_round(&self, from: usize) -> Option<usize> {
        let Ports([first, others @ ..]) = *self;
        if others == [0; WORDS - 1] {
            // Most machines have no more ports than one word has bits.
            let later = if from < 64 { first & (!0 << from) } else { 0 };
            let word = if later != 0 { later } else { first };
            return (word != 0).then_some(word.trailing_zeros() as usize);
        }
        self.next_from(from).or_else(|| self.next_from(0))
    }

    /// The members, lowest first, as they are now.
    #[inline]
    pub fn iter(&self) -> Members {
        let Ports([first, others @ ..]) = *self;
        Members { bits: first, base: 0, others }
    }

    /// The members that are not in `other`.
    #[inline]
    pub fn without(&self, other: &Ports) -> Ports {
        Ports(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// The members of either.
    #[inline]
    pub fn with(&self, other: &Ports) -> Ports {
        Ports(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

/// The members of a set, lowest first.
#[derive(Clone, Debug)]
pub struct Members {
    /// Those of one word that are still to come, and the number of its first port.
    bits: u64,
    base: usize,
    /// The words behind it.
    others: [u64; WORDS - 1],
}

impl Members {
    /// Goes to the next word that has a member. Most machines have no more ports than the first one has bits.
    #[inline(never)]
    fn next_word(&mut self) -> Option<()> {
        while self.bits == 0 {
            if self.others == [0; WORDS - 1] {
                return None;
            }
            let [next, others @ ..] = self.others;
            self.bits = next;
            self.base += 64;
            self.others = [others[0], others[1], 0];
        }
        Some(())
    }
}

impl Iterator for Members {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.bits == 0 {
            self.next_word()?;
        }
        let port = self.base + self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_gone_through_in_order() {
        let members = [0, 5, 63, 64, 130, 255];
        let mut ports = Ports::default();
        members.iter().for_each(|&port| ports.set(port, true));
        assert_eq!(ports.iter().collect::<Vec<_>>(), members);
        assert_eq!(ports.next_from(65), Some(130));
        assert_eq!((ports.next_round(65), ports.next_round(256)), (Some(130), Some(0)));
        let mut below = Ports::default();
        [0, 5, 63].iter().for_each(|&port| below.set(port, true));
        assert_eq!((below.next_round(6), below.next_round(64)), (Some(63), Some(0)));
        assert_eq!(ports.without(&below).iter().collect::<Vec<_>>(), [64, 130, 255]);
        assert_eq!(ports.without(&below).with(&below), ports);
        assert_eq!(Ports::default().next_round(3), None);
        assert!(ports.contains(255) && !ports.contains(254));
    }
}
