//! The order of the ways of a set.

/// Orders of the ways of a set, which are kept as the ways are used: their numbers in four bits each, the first one in the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orders {
    /// Where the last one's four bits begin.
    last: u32,
}

/// One in each four bits of a word.
const ONES: u64 = 0x1111_1111_1111_1111;

/// Where the lowest four bits of a word begin that are zero.
#[inline]
fn lowest_zero(word: u64) -> u32 {
    // A bit above the lowest one that is set here may be any.
    (word.wrapping_sub(ONES) & !word & ONES << 3).trailing_zeros() & !3
}

impl Orders {
    /// Ways of a set, at most.
    pub const MOST_WAYS: usize = 16;

    /// Of so many ways.
    pub fn new(ways: usize) -> Self {
        debug_assert!(ways <= Self::MOST_WAYS);
        Orders { last: 4 * (ways as u32 - 1) }
    }

    /// All ways by their number.
    pub fn first(self) -> u64 {
        (0..=u64::from(self.last / 4)).map(|way| way << (4 * way)).sum()
    }

    /// Moves a way to the end.
    #[inline(always)]
    pub fn move_to_end(self, order: &mut u64, way: usize) {
        let way = way as u64;
        let (before, behind) = if *order & 0xf == way {
            (0, *order >> 4)
        } else {
            // Its own four bits are the lowest that become zero.
            let at = lowest_zero(*order ^ (way * ONES));
            (*order & ((1 << at) - 1), *order >> at >> 4 << at)
        };
        *order = before | behind | way << self.last;
    }

    /// Moves a way behind the first `before` others.
    pub fn move_behind(self, order: &mut u64, way: usize, before: usize) {
        self.move_to_end(order, way);
        let at = 4 * before;
        let others = *order & !(0xf << self.last);
        let first = others & ((1 << at) - 1);
        *order = first | (way as u64) << at | others >> at << at << 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_goes_to_the_end_or_to_a_place_and_the_others_stay_in_order() {
        for count in 1..=Orders::MOST_WAYS {
            let orders = Orders::new(count);
            let mut order = orders.first();
            let mut plain: Vec<u64> = (0..count as u64).collect();
            let ways = |order: u64| (0..count).map(move |place| order >> (4 * place) & 0xf);
            assert!(ways(order).eq(plain.iter().copied()));
            for step in 0..200 {
                let way = step * 7 % count;
                plain.retain(|&other| other != way as u64);
                if step % 3 == 0 {
                    let before = step % count;
                    plain.insert(before, way as u64);
                    orders.move_behind(&mut order, way, before);
                } else {
                    plain.push(way as u64);
                    orders.move_to_end(&mut order, way);
                }
                assert!(ways(order).eq(plain.iter().copied()));
            }
        }
    }
}
