//! Who came first.

use super::SLOTS;

/// The order in which warps came to an SM, as an age matrix: a row of bits for each warp slot.
#[derive(Clone, Debug)]
pub struct Ages {
    /// By warp slot: the slots whose warps came before its own.
    older: [u64; SLOTS],
}

impl Default for Ages {
    /// Slots with a higher number came later.
    fn default() -> Self {
        Ages { older: std::array::from_fn(|slot| (1 << slot) - 1) }
    }
}

impl Ages {
    /// A warp comes to `slot`: it is the youngest.
    pub fn come(&mut self, slot: usize) {
        let others = !(1u64 << slot);
        for older in &mut self.older {
            *older &= others;
        }
        self.older[slot] = others;
    }

    /// Which of these warps came first.
    #[inline]
    pub fn oldest(&self, warps: u64) -> Option<usize> {
        let mut rest = warps;
        let mut oldest = None;
        while rest != 0 {
            let warp = rest.trailing_zeros() as usize;
            oldest = Some(warp);
            rest &= self.older[warp];
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_that_comes_again_is_the_youngest() {
        let mut ages = Ages::default();
        for slot in [7, 3, 5, 7] {
            ages.come(slot);
        }
        let mut rest = 1 << 7 | 1 << 3 | 1 << 5;
        let order = std::iter::from_fn(|| {
            let oldest = ages.oldest(rest)?;
            rest &= !(1 << oldest);
            Some(oldest)
        });
        assert_eq!(order.collect::<Vec<_>>(), [3, 5, 7]);
    }
}
