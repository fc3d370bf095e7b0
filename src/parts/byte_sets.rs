//! Which bytes of each line a cache holds.

use super::sectors::SectorSet;

/// The bytes of one line. Most sets are whole sectors, or nothing, and those are small numbers; the others lie in a [`BytePool`],
/// always in the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSet(
    /// Sectors, or [`POOLED`] and above, the place in the pool.
    u32,
);

/// The first number that stands for a place in the pool: sectors have less.
const POOLED: u32 = 16;

/// Sets that there is storage for to begin with.
const RESERVED: usize = 1 << 10;

/// Where sets lie that are not whole sectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BytePool {
    places: Vec<u128>,
    /// Those that are free again.
    free: Vec<u32>,
}

impl BytePool {
    /// For so many sets, of which some have storage from the start.
    pub fn new(sets: usize) -> Self {
        let some = sets.min(RESERVED);
        BytePool { places: Vec::with_capacity(some), free: Vec::with_capacity(some) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn sets_are_what_was_put_into_them() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut pool = BytePool::new(4);
        let mut sets = [ByteSet::default(); 4];
        let mut plain = [0u128; 4];
        for _ in 0..10_000 {
            let number = rng.random_range(0..4);
            let (set, plain) = (&mut sets[number], &mut plain[number]);
            let sectors = SectorSet::from_bits(rng.random_range(0..16));
            let part = u128::from(rng.random::<u64>()) << rng.random_range(0..64);
            match rng.random_range(0..8) {
                0..3 => {
                    pool.add_sectors(set, sectors);
                    *plain |= sectors.bytes();
                }
                3 => {
                    pool.add(set, part);
                    *plain |= part;
                }
                4 => {
                    pool.add(set, sectors.bytes());
                    *plain |= sectors.bytes();
                }
                5 => {
                    assert_eq!(pool.remove(set, sectors), *plain & sectors.bytes() != 0);
                    *plain &= !sectors.bytes();
                }
                _ => {
                    *plain = 0;
                    pool.clear(set);
                }
            }
            assert_eq!(pool.of(*set), *plain);
        }
        for (set, plain) in sets.iter().zip(plain) {
            assert_eq!(pool.of(*set), plain);
        }
        // No place is lost.
        sets.iter_mut().for_each(|set| pool.clear(set));
        assert_eq!(pool.places.len(), pool.free.len());
        assert!((1..=4).contains(&pool.places.len()));
    }
}
