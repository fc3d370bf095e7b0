//! Which bytes of each line a cache holds.

use super::sectors::SectorSet;
use super::tags::Way;

/// The bytes of one line. Most sets are whole sectors, or nothing, and those are small numbers; the others lie in a [`BytePool`],
/// always in the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSet(
    /// Sectors, or [`POOLED`] and above, the place in the pool.
    u32,
);

/// The first number that stands for a place in the pool: sectors have less.
const POOLED: u32 = 16;

/// Where sets lie that are not whole sectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BytePool {
    places: Vec<u128>,
    /// Those that are free again.
    free: Vec<u32>,
}

impl BytePool {
    /// Storage for so many sets is there from the start.
    pub fn new(sets: usize) -> Self {
        BytePool { places: Vec::with_capacity(sets), free: Vec::with_capacity(sets) }
    }

    /// The bytes of a set.
    #[inline]
    pub fn of(&self, set: ByteSet) -> u128 {
        match set.0 {
            sectors @ ..POOLED => SectorSet::from_bits(sectors as u8).bytes(),
            place => self.places[(place - POOLED) as usize],
        }
    }

    /// Adds bytes to a set.
    #[inline]
    pub fn add(&mut self, set: &mut ByteSet, bytes: u128) {
        if set.0 >= POOLED {
            self.places[(set.0 - POOLED) as usize] |= bytes;
            return;
        }
        let sectors = SectorSet::of(bytes);
        if sectors.bytes() == bytes {
            set.0 |= u32::from(sectors.bits());
        } else {
            self.add_parts(set, bytes);
        }
    }

    /// Adds whole sectors.
    #[inline]
    pub fn add_sectors(&mut self, set: &mut ByteSet, sectors: SectorSet) {
        match &mut set.0 {
            all @ ..POOLED => *all |= u32::from(sectors.bits()),
            place => self.places[(*place - POOLED) as usize] |= sectors.bytes(),
        }
    }

    /// Gives a set of sectors a place, with bytes in addition.
    #[inline(never)]
    fn add_parts(&mut self, set: &mut ByteSet, bytes: u128) {
        let all = self.of(*set) | bytes;
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(0);
            self.places.len() as u32 - 1 + POOLED
        });
        self.places[(place - POOLED) as usize] = all;
        set.0 = place;
    }

    /// Takes sectors away; true when any of their bytes were there.
    pub fn remove(&mut self, set: &mut ByteSet, sectors: SectorSet) -> bool {
        let before = self.of(*set);
        match &mut set.0 {
            all @ ..POOLED => *all &= !u32::from(sectors.bits()),
            place => self.places[(*place - POOLED) as usize] &= !sectors.bytes(),
        }
        before & sectors.bytes() != 0
    }

    /// Empties a set.
    #[inline(always)]
    pub fn clear(&mut self, set: &mut ByteSet) {
        self.make(set, SectorSet::default());
    }

    /// Makes a set that of all bytes of these sectors.
    #[inline(always)]
    pub fn make(&mut self, set: &mut ByteSet, sectors: SectorSet) {
        // As long as the pool holds nothing, the set need not be looked at: it has often left the processor's caches.
        if self.free.len() < self.places.len() && set.0 >= POOLED {
            self.free.push(set.0);
        }
        set.0 = u32::from(sectors.bits());
    }
}

/// A set of bytes for each way of a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteSets {
    sets: Box<[ByteSet]>,
    pool: BytePool,
}

impl ByteSets {
    /// Empty ones of so many ways. Storage for sets with parts of sectors is there from the start if `has_parts`.
    pub fn new(ways: usize, has_parts: bool) -> Self {
        ByteSets {
            sets: vec![ByteSet::default(); ways].into(),
            pool: BytePool::new(if has_parts { ways } else { 0 }),
        }
    }

    /// The bytes of a way.
    #[inline]
    pub fn of(&self, way: Way) -> u128 {
        self.pool.of(self.sets[way.index()])
    }

    /// Adds bytes to those of a way.
    #[inline]
    pub fn add(&mut self, way: Way, bytes: u128) {
        self.pool.add(&mut self.sets[way.index()], bytes);
    }

    /// Adds whole sectors.
    #[inline]
    pub fn add_sectors(&mut self, way: Way, sectors: SectorSet) {
        self.pool.add_sectors(&mut self.sets[way.index()], sectors);
    }

    /// Takes sectors away; true when any of their bytes were there.
    pub fn remove(&mut self, way: Way, sectors: SectorSet) -> bool {
        self.pool.remove(&mut self.sets[way.index()], sectors)
    }

    /// Empties the set of a way.
    #[inline(always)]
    pub fn clear(&mut self, way: Way) {
        self.pool.clear(&mut self.sets[way.index()]);
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
        assert_eq!(sets.pool.places.len(), sets.pool.free.len());
        assert!((1..=4).contains(&sets.pool.places.len()));
    }
}
