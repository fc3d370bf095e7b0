//! Ranks of a Zipf distribution, from a table whose size does not depend on the number of ranks.
//!
//! Rank `k` of `1..=n` has a probability in proportion to `k^-s`. The first 16 ranks have an entry each; above,
//! an octave has eight, in which all ranks are equally likely: the probability of the entry is
//! exact, and that of a rank is within `12.5 % x s`.

use super::random::{again, below};

/// Ranks with an entry of their own [log2].
const SINGLE_BITS: u32 = 4;
/// Entries of an octave [log2].
const OCTAVE_BITS: u32 = 3;
/// Entries of at most so many ranks are summed rank by rank, longer ones integrated.
const SUMMED: u64 = 256;

/// The table.
#[derive(Clone, Debug)]
pub struct Zipf {
    /// Draws below this belong to the entry or to one before it.
    ends: Vec<u64>,
    /// The entry of the least draw that begins with each byte, and the last entry.
    guide: Box<[u16; 257]>,
    /// First rank of each entry, from 0, and one past the last rank.
    starts: Vec<u64>,
}

impl Zipf {
    /// The table of `count` ranks for an exponent `s`.
    pub fn new(count: u64, s: f64) -> Self {
        let mut starts = Vec::new();
        let mut rank = 1;
        while rank <= count {
            starts.push(rank - 1);
            let octave = rank.ilog2();
            rank += if octave < SINGLE_BITS { 1 } else { 1 << (octave - OCTAVE_BITS) };
        }
        starts.push(count);
        let masses: Vec<f64> =
            starts.windows(2).map(|pair| mass(pair[0] + 1, pair[1] + 1, s)).collect();
        let total: f64 = masses.iter().sum();
        let mut sum = 0.0;
        let mut ends: Vec<u64> = masses
            .iter()
            .map(|mass| {
                sum += mass;
                // 2^64; the conversion saturates.
                (sum / total * 18_446_744_073_709_551_616.0) as u64
            })
            .collect();
        *ends.last_mut().expect("there is a rank") = u64::MAX;
        let mut guide = Box::new([(ends.len() - 1) as u16; 257]);
        for (first, entry) in (0u64..256).zip(guide.iter_mut()) {
            *entry = ends.partition_point(|&end| end <= first << 56) as u16;
        }
        Zipf { ends, guide, starts }
    }

    /// Draws below each of these belong to its entry or to one before it.
    pub fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// The first rank of each entry, from 0, and one past the last rank.
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// The rank of a draw, from 0, the most popular one.
    #[inline]
    pub fn rank(&self, h: u64) -> u64 {
        let byte = (h >> 56) as usize;
        let (from, to) = (usize::from(self.guide[byte]), usize::from(self.guide[byte + 1]));
        let entry = from + self.ends[from..to].partition_point(|&end| end <= h);
        let (start, end) = (self.starts[entry], self.starts[entry + 1]);
        start + below(again(h), end - start)
    }
}

/// Sum of `k^-s` over `from..to`.
///
/// Logarithms and powers are those of a library in Rust, not of the host, so that all hosts have the same
/// table.
fn mass(from: u64, to: u64, s: f64) -> f64 {
    if to - from <= SUMMED {
        return (from..to).map(|k| libm::pow(k as f64, -s)).sum();
    }
    // The midpoint rule backwards: its error is s (s + 1) / (24 k^2) of the sum, and k is above 2048.
    let (low, high) = (from as f64 - 0.5, to as f64 - 0.5);
    if s == 1.0 {
        return libm::log(high / low);
    }
    (libm::pow(high, 1.0 - s) - libm::pow(low, 1.0 - s)) / (1.0 - s)
}

#[cfg(test)]
mod tests {
    use super::super::random::draw;
    use super::*;

    #[test]
    fn the_probabilities_of_ranks_are_those_of_zipf() {
        let (count, s, draws) = (1000u64, 0.9, 200_000u64);
        let zipf = Zipf::new(count, s);
        let mut seen = vec![0u64; count as usize];
        for n in 0..draws {
            seen[zipf.rank(draw(3, n)) as usize] += 1;
        }
        let total: f64 = (1..=count).map(|k| (k as f64).powf(-s)).sum();
        for ranks in [0..1, 1..2, 2..4, 4..16, 16..64, 64..256, 256..1000] {
            let want: f64 = ranks.clone().map(|k| ((k + 1) as f64).powf(-s)).sum::<f64>() / total;
            let have = seen[ranks.start as usize..ranks.end as usize].iter().sum::<u64>() as f64;
            let (want, n) = (want * draws as f64, draws as f64);
            let deviation = (want * (1.0 - want / n)).sqrt();
            assert!((have - want).abs() < 5.0 * deviation, "{ranks:?}: {have}, not {want}");
        }
    }

    #[test]
    fn an_exponent_of_zero_is_uniform_and_a_large_footprint_needs_no_memory() {
        let zipf = Zipf::new(1 << 42, 0.0);
        assert!(zipf.ends.len() < 400);
        let low = (0..10_000).filter(|&n| zipf.rank(draw(1, n)) < 1 << 41).count();
        assert!((4750..5250).contains(&low), "{low}");
        assert_eq!(Zipf::new(1, 2.0).rank(u64::MAX), 0);
        assert_eq!(zipf.rank(u64::MAX) >> 39, 7);
    }

    #[test]
    fn sums_and_integrals_agree() {
        for s in [0.0, 0.5, 0.999_999, 1.0, 1.5, 4.0] {
            let sum: f64 = (4096..4608).map(|k| (k as f64).powf(-s)).sum();
            assert!((mass(4096, 4608, s) / sum - 1.0).abs() < 1e-6, "{s}");
        }
    }
}
