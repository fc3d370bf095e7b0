//! Random numbers without a state: each is a function of a key and a counter.
//!
//! So any access of any warp has the same address in whatever order CTAs are asked for, and a kernel on
//! a GPU can compute the same numbers.

/// The golden ratio times 2^64: steps between counters. Source: SplitMix64.
pub const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Factors of [`mix`].
pub const MIX: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// Mixes 64 bits, one to one: the output function of SplitMix64.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, with the
/// constants of Stafford's variant 13.
#[inline]
pub fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(MIX[0]);
    let z = (z ^ (z >> 27)).wrapping_mul(MIX[1]);
    z ^ (z >> 31)
}

/// The key of an access of a mixture: `mix(mix(mix(seed + G) + phase * G) + entry * G)`.
pub fn key(seed: u64, phase: usize, entry: usize) -> u64 {
    [phase as u64, entry as u64].into_iter().fold(mix(seed.wrapping_add(GAMMA)), |key, part| {
        mix(key.wrapping_add(part.wrapping_mul(GAMMA)))
    })
}

/// The draw of a counter: 64 random bits.
#[inline]
pub fn draw(key: u64, counter: u64) -> u64 {
    mix(key.wrapping_add(counter.wrapping_mul(GAMMA)))
}

/// A second draw, independent of the first one `h`; and so on.
#[inline]
pub fn again(h: u64) -> u64 {
    mix(h.wrapping_add(GAMMA))
}

/// A number below `count` of 64 random bits: the high half of the product.
#[inline]
pub fn below(h: u64, count: u64) -> u64 {
    ((u128::from(h) * u128::from(count)) >> 64) as u64
}

/// What the high half of a draw is compared with, so that it is less with this probability.
pub fn threshold(millionths: u32) -> u64 {
    (u64::from(millionths) << 32).div_ceil(1_000_000)
}

/// True with the probability of `threshold`.
#[inline]
pub fn chance(h: u64, threshold: u64) -> bool {
    h >> 32 < threshold
}

/// A pseudo-random permutation of `0..count`, computed without a table: a Feistel network on the next
/// power of two, walked until it is back in the range.
///
/// Source: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.
#[derive(Clone, Debug)]
pub struct Permutation {
    count: u64,
    low_bits: u32,
    high_bits: u32,
    keys: [u64; ROUNDS],
}

/// Rounds of the network. Source: Luby and Rackoff, 1988: four make a strong pseudo-random permutation.
/// Even, so that halves of different sizes end where they began.
const ROUNDS: usize = 4;

impl Permutation {
    /// The permutation of a key.
    pub fn new(count: u64, key: u64) -> Self {
        let bits = (u64::BITS - count.saturating_sub(1).leading_zeros()).max(2);
        let mut round = key;
        let keys = std::array::from_fn(|_| {
            round = again(round);
            round
        });
        Permutation { count, low_bits: bits / 2, high_bits: bits - bits / 2, keys }
    }

    /// Places.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Bits of the high and of the low part.
    pub fn bits(&self) -> (u32, u32) {
        (self.high_bits, self.low_bits)
    }

    /// The key of each round.
    pub fn keys(&self) -> [u64; ROUNDS] {
        self.keys
    }

    /// Where `place`, which is below the count, goes.
    #[inline]
    pub fn of(&self, place: u64) -> u64 {
        let mut value = place;
        loop {
            value = self.encrypt(value);
            if value < self.count {
                return value;
            }
        }
    }

    /// One pass through the network.
    #[inline]
    fn encrypt(&self, value: u64) -> u64 {
        let (high_mask, low_mask) = ((1 << self.high_bits) - 1, (1 << self.low_bits) - 1);
        let (mut high, mut low) = (value >> self.low_bits, value & low_mask);
        // In every other round the halves have changed places.
        for [first, second] in self.keys.as_chunks().0 {
            high ^= mix(low ^ first) & high_mask;
            low ^= mix(high ^ second) & low_mask;
        }
        high << self.low_bits | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mixer_is_that_of_splitmix64() {
        // The first outputs of SplitMix64 with seed 0, as published with its source code.
        let outputs = [1, 2, 3].map(|n: u64| mix(n.wrapping_mul(GAMMA)));
        let want = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!(outputs, want);
        assert_eq!(draw(0, 3), want[2]);
    }

    #[test]
    fn a_permutation_visits_every_place_once() {
        for count in (1..=70).chain([127, 128, 129, 1000, 4096, 5000]) {
            let permutation = Permutation::new(count, 7 + count);
            let mut seen = vec![false; count as usize];
            for place in 0..count {
                let to = permutation.of(place) as usize;
                assert!(!seen[to], "{count}: {to} comes twice");
                seen[to] = true;
            }
        }
    }

    #[test]
    fn a_permutation_leaves_no_pattern() {
        // Neighbours go anywhere: differences of images fall into 16 classes alike.
        let count = 1 << 14;
        let permutation = Permutation::new(count, 1);
        let mut classes = [0u32; 16];
        for place in 0..count - 1 {
            let step = permutation.of(place + 1).wrapping_sub(permutation.of(place)) % count;
            classes[(step * 16 / count) as usize] += 1;
        }
        let want = (count - 1) as f64 / 16.0;
        let chi2: f64 = classes.iter().map(|&n| (f64::from(n) - want).powi(2) / want).sum();
        // 15 degrees of freedom: above 44.3 once in 10,000 tries.
        assert!(chi2 < 44.3, "{chi2}");
    }

    #[test]
    fn a_chance_comes_as_often_as_it_says() {
        assert_eq!(threshold(0), 0);
        assert_eq!(threshold(1_000_000), 1 << 32);
        let hits = (0..100_000).filter(|&n| chance(draw(9, n), threshold(300_000))).count();
        // Standard deviation 145.
        assert!((29_400..=30_600).contains(&hits), "{hits}");
    }
}
