//! Shared-memory banks: how many passes an instruction takes.
//!
//! Lanes that want the same word of a bank share a pass; different words of one bank take turns. 8-byte
//! accesses go a half-warp at a time and 16-byte ones a quarter-warp, each pass serving every bank once.
//! Source: CUDA C Programming Guide, "Compute Capability 2.x", shared memory.

use crate::config::machine::SharedMemoryConfig;
use crate::isa::{LaneAddresses, LaneMask, Shape, WARP, lanes};

/// The banks of one SM.
#[derive(Clone, Debug)]
pub struct Banks {
    bank_bits: u32,
    word_bits: u32,
}

impl Banks {
    /// As configured.
    pub fn new(config: &SharedMemoryConfig) -> Self {
        Banks {
            bank_bits: config.banks.get().trailing_zeros(),
            word_bits: config.bank_bytes.get().trailing_zeros(),
        }
    }

    /// Passes that a warp needs whose lanes each access `bytes` bytes; none without an active lane.
    pub fn passes(&self, addresses: &LaneAddresses, bytes: u32) -> u32 {
        let word = 1 << self.word_bits;
        if bytes <= word
            && let Some(passes) = self.passes_of_stride(addresses, bytes, word)
        {
            return passes;
        }
        let all = addresses.all();
        let lanes_at_once = (WARP as u32 * word / bytes.max(word)).max(1);
        let group: LaneMask = if lanes_at_once >= 32 { !0 } else { (1 << lanes_at_once) - 1 };
        (0..WARP as u32)
            .step_by(lanes_at_once as usize)
            .map(|first| self.degree(&all, addresses.mask & (group << first), bytes))
            .sum()
    }

    /// Passes that a warp needs whose lanes each change `bytes` bytes in passes of their own; none without an active lane.
    pub fn lane_passes(&self, addresses: &LaneAddresses, bytes: u32) -> u32 {
        let mut per_bank = [0u32; 64];
        for lane in lanes(addresses.mask) {
            let first = addresses.of(lane);
            for word in first >> self.word_bits..=(first + u64::from(bytes) - 1) >> self.word_bits {
                per_bank[(word & ((1 << self.bank_bits) - 1)) as usize] += 1;
            }
        }
        per_bank.into_iter().max().unwrap_or(0)
    }

    /// Whether accesses of `bytes` bytes at both of these addresses, and at any between them, want each bank for one word
    /// at most.
    #[inline]
    fn fit(&self, ends: [u64; 2], bytes: u32) -> bool {
        let (first, last) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let last = last.saturating_add(u64::from(bytes) - 1);
        (last >> self.word_bits) - (first >> self.word_bits) < 1 << self.bank_bits
    }

    /// Where all lanes are near each other, or every one has a word of its own, so many words from that of the lane before,
    /// or all have the same: the common cases.
    fn passes_of_stride(&self, addresses: &LaneAddresses, bytes: u32, word: u32) -> Option<u32> {
        let Shape::Affine { base, stride } = addresses.shape else { return None };
        if addresses.mask == 0 {
            return None;
        }
        if stride == 0 || self.fit([addresses.of(0), addresses.of(WARP - 1)], bytes) {
            return Some(1);
        }
        if !(stride as u32).is_multiple_of(word) || base as u32 % word + bytes > word {
            return None;
        }
        // Lanes so many apart want words of one bank, and no others do.
        let shared_bits = (stride.trailing_zeros() - self.word_bits).min(self.bank_bits);
        let apart = 1 << (self.bank_bits - shared_bits);
        match WARP as u32 / apart {
            0 | 1 => Some(1),
            conflicts => (addresses.mask == !0).then_some(conflicts),
        }
    }

    /// The most different words that the lanes of `group` want of one bank.
    fn degree(&self, addresses: &[u64; WARP], group: LaneMask, bytes: u32) -> u32 {
        let mut words = [0u64; 4 * WARP];
        let mut count = 0;
        for lane in lanes(group) {
            let first = addresses[lane] >> self.word_bits;
            let last = (addresses[lane] + u64::from(bytes) - 1) >> self.word_bits;
            for word in first..=last {
                words[count] = word;
                count += 1;
            }
        }
        let words = &mut words[..count];
        words.sort_unstable();
        let mut per_bank = [0u32; 64];
        let mut previous = None;
        for &word in words.iter() {
            if previous != Some(word) {
                per_bank[(word & ((1 << self.bank_bits) - 1)) as usize] += 1;
                previous = Some(word);
            }
        }
        per_bank.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn banks(count: u32) -> Banks {
        let config = format!(
            "(size: 49152, carve_out: Fixed, per_cta: 0, granule: 128, banks: {count}, bank_bytes: 4, latency: 26)"
        );
        Banks::new(&crate::config::parse::stated(&config))
    }

    fn passes(stride: i32, bytes: u32, mask: LaneMask) -> u32 {
        let addresses = LaneAddresses { mask, shape: Shape::Affine { base: 0x1000, stride } };
        banks(32).passes(&addresses, bytes)
    }

    proptest! {
        #[test]
        fn a_stride_takes_as_many_passes_as_its_addresses_one_by_one(
            first in 0u64..100, stride in -300i32..300, log in 0u32..5, count in 4u32..6, mask in any::<LaneMask>(),
        ) {
            let bytes = 1 << log;
            let stride = stride * bytes as i32;
            let base = 0x10_0000 + first * u64::from(bytes);
            let even = LaneAddresses { mask, shape: Shape::Affine { base, stride } };
            for mask in [mask, !0] {
                let even = LaneAddresses { mask, ..even.clone() };
                let shape = Shape::Scattered(std::array::from_fn(|lane| even.of(lane)));
                let one_by_one = LaneAddresses { mask, shape };
                let banks = banks(1 << count);
                prop_assert_eq!(banks.passes(&even, bytes), banks.passes(&one_by_one, bytes));
            }
        }
    }

    #[test]
    fn neighbouring_words_and_a_common_word_take_one_pass() {
        assert_eq!(passes(4, 4, !0), 1);
        assert_eq!(passes(0, 4, !0), 1);
        assert_eq!(passes(1, 1, !0), 1);
    }

    #[test]
    fn an_even_stride_of_words_conflicts_and_an_odd_one_does_not() {
        assert_eq!(passes(8, 4, !0), 2);
        assert_eq!(passes(128, 4, !0), 32);
        assert_eq!(passes(-16, 2, !0), 4);
        assert_eq!(passes(12, 4, !0), 1);
        assert_eq!(passes(132, 4, !0), 1);
    }

    #[test]
    fn wide_accesses_go_by_half_and_quarter_warps() {
        assert_eq!(passes(8, 8, !0), 2);
        assert_eq!(passes(16, 16, !0), 4);
        assert_eq!(passes(8, 8, 0xffff), 1);
    }

    #[test]
    fn lanes_that_change_one_bank_take_turns() {
        let turns = |stride, bytes, mask| {
            let addresses = LaneAddresses { mask, shape: Shape::Affine { base: 0x1000, stride } };
            banks(32).lane_passes(&addresses, bytes)
        };
        assert_eq!(turns(4, 4, !0), 1);
        assert_eq!(turns(8, 4, !0), 2);
        assert_eq!(turns(0, 4, !0), 32);
        assert_eq!(turns(0, 4, 0xff), 8);
        assert_eq!(turns(128, 4, !0), 32);
        assert_eq!(turns(8, 8, !0), 2);
        assert_eq!(turns(4, 4, 0), 0);
    }

    #[test]
    fn no_lane_takes_no_pass() {
        assert_eq!(passes(4, 4, 0), 0);
    }
}
