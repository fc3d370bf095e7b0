//! Which bytes of each line a cache holds.

use super::sectors::SectorSet;
use super::tags::Way;

/// A set of bytes for each way of a cache. Most are whole sectors, or nothing, and those are numbers that lie close together;
/// the others lie in a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteSets {
    /// By way: sectors, or [`POOLED`] and above, the place in the pool.
    heads: Box<[u32]>,
    pool: Vec<u128>,
    /// Places of the pool that are free again.
    free: Vec<u32>,
}

/// The first number that stands for a place in the pool: sectors have less.
const POOLED: u32 = 16;

impl ByteSets {
    /// Empty ones of so many ways. Storage for sets with parts of sectors is there from the start if `has_parts`.
    pub fn new(ways: usize, has_parts: bool) -> Self {
        let places = if has_parts { ways } else { 0 };
        ByteSets {
            heads: vec![0; ways].into(),
            pool: Vec::with_capacity(places),
            free: Vec::with_capacity(places),
        }
    }

    /// The bytes of a way.
    #[inline]
    pub fn of(&self, way: Way) -> u128 {
        match self.heads[way.index()] {
            sectors @ ..POOLED => SectorSet::from_bits(sectors as u8).bytes(),
            place => self.pool[(place - POOLED) as usize],
        }
    }

    /// Adds bytes to those of a way.
    #[inline]
    pub fn add(&mut self, way: Way, bytes: u128) {
        let head = &mut self.heads[way.index()];
        if *head >= POOLED {
            self.pool[(*head - POOLED) as usize] |= bytes;
            return;
        }
        let sectors = SectorSet::of(bytes);
        if sectors.bytes() == bytes {
            *head |= u32::from(sectors.bits());
        } else {
            self.pool_with(way, bytes);
        }
    }

    /// Adds whole sectors.
    #[inline]
    pub fn add_sectors(&mut self, way: Way, sectors: SectorSet) {
        match &mut self.heads[way.index()] {
            head @ ..POOLED => *head |= u32::from(sectors.bits()),
            place => self.pool[(*place - POOLED) as usize] |= sectors.bytes(),
        }
    }

    /// Puts the sectors of a way into the pool, with bytes in addition.
    #[inline(never)]
    fn pool_with(&mut self, way: Way, bytes: u128) {
        let all = self.of(way) | bytes;
        let place = self.free.pop().unwrap_or_else(|| {
            self.pool.push(0);
            self.pool.len() as u32 - 1 + POOLED
        });
        self.pool[(place - POOLED) as usize] = all;
        self.heads[way.index()] = place;
    }

    /// Takes sectors away; true when any of their bytes were there.
    pub fn remove(&mut self, way: Way, sectors: SectorSet) -> bool {
        let before = self.of(way);
        match &mut self.heads[way.index()] {
            head @ ..POOLED => *head &= !u32::from(sectors.bits()),
            place => self.pool[(*place - POOLED) as usize] &= !sectors.bytes(),
        }
        before & sectors.bytes() != 0
    }

    /// Empties the set of a way.
    #[inline(always)]
    pub fn clear(&mut self, way: Way) {
        let head = std::mem::take(&mut self.heads[way.index()]);
        if head >= POOLED {
            self.free.push(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn sets_are_what_was_put_into_them() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let ways: Vec<Way> = (0..4).map(Way::new).collect();
        let mut sets = ByteSets::new(ways.len(), true);
        let mut plain = [0u128; 4];
        for _ in 0..10_000 {
            let number = rng.random_range(0..4);
            let (way, plain) = (ways[number], &mut plain[number]);
            let sectors = SectorSet::from_bits(rng.random_range(0..16));
            let part = u128::from(rng.random::<u64>()) << rng.random_range(0..64);
            match rng.random_range(0..8) {
                0..3 => {
                    sets.add_sectors(way, sectors);
                    *plain |= sectors.bytes();
                }
                3 => {
                    sets.add(way, part);
                    *plain |= part;
                }
                4 => {
                    sets.add(way, sectors.bytes());
                    *plain |= sectors.bytes();
                }
                5 => {
                    assert_eq!(sets.remove(way, sectors), *plain & sectors.bytes() != 0);
                    *plain &= !sectors.bytes();
                }
                _ => {
                    *plain = 0;
                    sets.clear(way);
                }
            }
            assert_eq!(sets.of(way), *plain);
        }
        for (way, plain) in ways.iter().zip(plain) {
            assert_eq!(sets.of(*way), plain);
        }
        // No place is lost.
        ways.iter().for_each(|way| sets.clear(*way));
        assert_eq!(sets.pool.len(), sets.free.len());
        assert!((1..=4).contains(&sets.pool.len()));
    }
}
