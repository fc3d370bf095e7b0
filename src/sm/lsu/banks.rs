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
        if bytes <= word && self.is_conflict_free(addresses, word) {
            return 1;
        }
        let lanes_at_once = (WARP as u32 * word / bytes.max(word)).max(1);
        let group: LaneMask = if lanes_at_once >= 32 { !0 } else { (1 << lanes_at_once) - 1 };
        (0..WARP as u32)
            .step_by(lanes_at_once as usize)
            .map(|first| self.degree(addresses, addresses.mask & (group << first), bytes))
            .sum()
    }

    /// Word-wide and affine with all lanes in one word or in neighbouring words: the common case.
    fn is_conflict_free(&self, addresses: &LaneAddresses, word: u32) -> bool {
        let Shape::Affine { stride, .. } = addresses.shape else { return false };
        addresses.mask != 0
            && (stride == 0 || (stride as u32 == word && 1 << self.bank_bits >= WARP as u32))
    }

    /// The most different words that the lanes of `group` want of one bank.
    fn degree(&self, addresses: &LaneAddresses, group: LaneMask, bytes: u32) -> u32 {
        let mut words = [0u64; 4 * WARP];
        let mut count = 0;
        for lane in lanes(group) {
            let first = addresses.of(lane) >> self.word_bits;
            let last = (addresses.of(lane) + u64::from(bytes) - 1) >> self.word_bits;
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
    use super::*;

    fn passes(stride: i32, bytes: u32, mask: LaneMask) -> u32 {
        let config = "(size: 49152, carve_out: Fixed, per_cta: 0, granule: 128, banks: 32, \
                      bank_bytes: 4, latency: 26)";
        let addresses = LaneAddresses { mask, shape: Shape::Affine { base: 0, stride } };
        Banks::new(&ron::from_str(config).unwrap()).passes(&addresses, bytes)
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
    fn no_lane_takes_no_pass() {
        assert_eq!(passes(4, 4, 0), 0);
    }
}
