//! The order of the ways of a set.

/// By set, the numbers of its ways in an order that is kept as they are used, in four bits each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Orders {
    words: Box<[u64]>,
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

    /// Of `sets` sets with `ways` ways each, by their number.
    pub fn new(sets: usize, ways: usize) -> Self {
        debug_assert!(ways <= Self::MOST_WAYS);
        let mut orders = Orders { words: vec![0; sets].into(), last: 4 * (ways as u32 - 1) };
        orders.reset();
        orders
    }

    /// None is kept.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// All ways by their number.
    pub fn reset(&mut self) {
        let order = (0..=u64::from(self.last / 4)).map(|way| way << (4 * way)).sum();
        self.words.fill(order);
    }

    /// That of set `set`, if it is kept: the first way has the lowest bits.
    #[inline(always)]
    pub fn of(&self, set: usize) -> Option<u64> {
        self.words.get(set).copied()
    }

    /// Moves a way of set `set` to the end, where an order is kept.
    #[inline(always)]
    pub fn move_to_end(&mut self, set: usize, way: usize) {
        let Some(order) = self.words.get_mut(set) else { return };
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

    /// Moves a way of set `set` behind the first `before` others.
    pub fn move_behind(&mut self, set: usize, way: usize, before: usize) {
        self.move_to_end(set, way);
        let (order, at) = (&mut self.words[set], 4 * before);
        let others = *order & !(0xf << self.last);
        let first = others & ((1 << at) - 1);
        *order = first | (way as u64) << at | others >> at << at << 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ways of the second of two sets, in order.
    fn ways(orders: &Orders) -> Vec<u64> {
        let word = orders.of(1).unwrap();
        (0..=orders.last / 4).map(|place| word >> (4 * place) & 0xf).collect()
    }

    #[test]
    fn a_way_goes_to_the_end_or_to_a_place_and_the_others_stay_in_order() {
        for count in 1..=Orders::MOST_WAYS {
            let mut orders = Orders::new(2, count);
            let mut plain: Vec<u64> = (0..count as u64).collect();
            for step in 0..200 {
                let way = step * 7 % count;
                plain.retain(|&other| other != way as u64);
                if step % 3 == 0 {
                    let before = step % count;
                    plain.insert(before, way as u64);
                    orders.move_behind(1, way, before);
                } else {
                    plain.push(way as u64);
                    orders.move_to_end(1, way);
                }
                assert_eq!(ways(&orders), plain);
            }
            orders.reset();
            assert!(ways(&orders).is_sorted());
            assert_eq!(orders.of(0), orders.of(1));
        }
    }
}
