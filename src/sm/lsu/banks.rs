//! Shared-memory banks: how many passes an instruction takes.
//!
//! Source: CUDA C Programming Guide 4.2, appendix F, "Shared Memory", F.3.3 for compute capability 1.x and F.4.3 for 2.x.

use super::half_warp::halves;
use crate::config::machine::{BankSharing, SharedMemoryConfig};
use crate::isa::{AccessKind, LaneAddresses, LaneMask, Shape, WARP, lanes};

/// The banks of one SM.
#[derive(Clone, Debug)]
pub struct Banks {
    bank_bits: u32,
    word_bits: u32,
    sharing: BankSharing,
}

/// What an instruction takes over the banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    pub count: u32,
    /// How many it takes where no lanes conflict: for its width, and for half-warps that go by themselves.
    pub least: u32,
}

/// The most banks.
const MOST: usize = 64;
/// Lanes of a quarter-warp.
const QUARTER: u32 = WARP as u32 / 4;

impl Banks {
    /// As configured.
    pub fn new(config: &SharedMemoryConfig) -> Self {
        Banks {
            bank_bits: config.banks.get().trailing_zeros(),
            word_bits: config.bank_bytes.get().trailing_zeros(),
            sharing: config.sharing,
        }
    }

    /// Passes that a warp needs whose lanes each load or store `bytes` bytes; none without an active lane.
    pub fn passes(&self, addresses: &LaneAddresses, bytes: u32, kind: AccessKind) -> u32 {
        match self.sharing {
            BankSharing::HalfWarps => {
                self.passes_of_halves(addresses, bytes, kind == AccessKind::Store)
            }
            BankSharing::Warps { quarter_extra } => {
                self.passes_of_warp(addresses, bytes, quarter_extra.get())
            }
        }
    }

    /// Passes that lanes of `mask` need for `bytes` bytes each where none of them conflict.
    pub fn least_passes(&self, mask: LaneMask, bytes: u32) -> u32 {
        let word = 1 << self.word_bits;
        match self.sharing {
            _ if mask == 0 => 0,
            BankSharing::HalfWarps => halves(mask).count() as u32 * bytes.div_ceil(word),
            BankSharing::Warps { .. } if bytes <= word => 1,
            BankSharing::Warps { .. } => {
                groups(word, bytes).filter(|group| mask & group != 0).count() as u32
            }
        }
    }

    /// Where half-warps go one after the other.
    #[inline(never)]
    fn passes_of_halves(&self, addresses: &LaneAddresses, bytes: u32, is_store: bool) -> u32 {
        let word = 1 << self.word_bits;
        let all = addresses.all();
        halves(addresses.mask)
            .flat_map(|half| (0..bytes).step_by(word).map(move |offset| (half, u64::from(offset))))
            .map(|(half, offset)| self.passes_of_half(&all, half, offset, is_store))
            .sum()
    }

    /// Passes for the lanes `left`, each of which wants part of the word `offset` bytes behind its address.
    fn passes_of_half(
        &self,
        addresses: &[u64; WARP],
        mut left: LaneMask,
        offset: u64,
        is_store: bool,
    ) -> u32 {
        let mut passes = 0;
        while left != 0 {
            // The guide leaves open which word all lanes get: it is that of the lowest lane.
            let broadcast = (addresses[left.trailing_zeros() as usize] + offset) >> self.word_bits;
            let mut taken = [None; MOST];
            for lane in lanes(left) {
                let word = (addresses[lane] + offset) >> self.word_bits;
                let bank = &mut taken[(word & ((1 << self.bank_bits) - 1)) as usize];
                let shares = match *bank {
                    None => true,
                    Some(address) if is_store => address == addresses[lane],
                    Some(_) => word == broadcast,
                };
                if shares {
                    *bank = Some(addresses[lane]);
                    left &= !(1 << lane);
                }
            }
            passes += 1;
        }
        passes
    }

    /// Where the lanes of a warp go together. `quarter_extra` passes more for each quarter-warp that goes by itself.
    fn passes_of_warp(&self, addresses: &LaneAddresses, bytes: u32, quarter_extra: u32) -> u32 {
        let word = 1 << self.word_bits;
        let extra = if lanes_at_once(word, bytes) == QUARTER { quarter_extra } else { 0 };
        if bytes <= word {
            if let Some(passes) = self.passes_of_stride(addresses, bytes, word) {
                return passes;
            }
        } else if self.are_groups_apart(addresses, bytes, word) {
            return self.least_passes(addresses.mask, bytes) * (1 + extra);
        }
        let all = addresses.all();
        groups(word, bytes)
            .map(|group| match self.degree(&all, addresses.mask & group, bytes) {
                0 => 0,
                conflicts => conflicts + extra,
            })
            .sum()
    }

    /// Passes that a warp needs whose lanes each change `bytes` bytes in passes of their own; none without an active lane.
    pub fn lane_passes(&self, addresses: &LaneAddresses, bytes: u32) -> u32 {
        match self.sharing {
            BankSharing::HalfWarps => {
                halves(addresses.mask).map(|half| self.lane_passes_of(addresses, half, bytes)).sum()
            }
            BankSharing::Warps { .. } => self.lane_passes_of(addresses, addresses.mask, bytes),
        }
    }

    /// Passes that lanes of `mask` need for changes of `bytes` bytes each where they lie as far apart as they can.
    pub fn least_lane_passes(&self, mask: LaneMask, bytes: u32) -> u32 {
        let words = bytes.div_ceil(1 << self.word_bits);
        let least = |lanes: LaneMask| (lanes.count_ones() * words).div_ceil(1 << self.bank_bits);
        match self.sharing {
            BankSharing::HalfWarps => halves(mask).map(least).sum(),
            BankSharing::Warps { .. } => least(mask),
        }
    }

    /// The same, of the lanes of `group`.
    fn lane_passes_of(&self, addresses: &LaneAddresses, group: LaneMask, bytes: u32) -> u32 {
        let mut per_bank = [0u32; MOST];
        for lane in lanes(group) {
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

    /// Whether the lanes of each group of wide accesses are so near each other that they want each bank for one word at most: the
    /// common case.
    #[inline]
    fn are_groups_apart(&self, addresses: &LaneAddresses, bytes: u32, word: u32) -> bool {
        let Shape::Affine { base, stride } = addresses.shape else { return false };
        let last = lanes_at_once(word, bytes) as usize - 1;
        (base as u32 | stride as u32).is_multiple_of(word)
            && self.fit([addresses.of(0), addresses.of(last)], bytes)
    }

    /// Whether each bank is wanted by one of the lanes of `group` at most. It may say no where lanes want the same words, or words
    /// on both sides of the last bank.
    #[inline]
    fn are_apart(&self, addresses: &[u64; WARP], group: LaneMask, bytes: u32) -> bool {
        let mut taken = 0u64;
        for lane in lanes(group) {
            let first = addresses[lane] >> self.word_bits;
            let further = ((addresses[lane] + u64::from(bytes) - 1) >> self.word_bits) - first;
            let bank = first & ((1 << self.bank_bits) - 1);
            let banks = u64::MAX >> (63 - further) << bank;
            if taken & banks != 0 || (bank + further) >> self.bank_bits != 0 {
                return false;
            }
            taken |= banks;
        }
        true
    }

    /// The most different words that the lanes of `group` want of one bank.
    fn degree(&self, addresses: &[u64; WARP], group: LaneMask, bytes: u32) -> u32 {
        if self.are_apart(addresses, group, bytes) {
            return u32::from(group != 0);
        }
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
        let mut per_bank = [0u32; MOST];
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

/// Lanes that go together where each wants `bytes` bytes, and banks have words of `word`.
fn lanes_at_once(word: u32, bytes: u32) -> u32 {
    (WARP as u32 * word / bytes.max(word)).max(1)
}

/// The lanes of a warp, as they go together.
fn groups(word: u32, bytes: u32) -> impl Iterator<Item = LaneMask> {
    let count = lanes_at_once(word, bytes);
    (0..WARP as u32)
        .step_by(count as usize)
        .map(move |first| LaneMask::MAX >> (WARP as u32 - count) << first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use AccessKind::{Load, Store};

    use super::*;

    fn banks_of(count: u32, sharing: &str) -> Banks {
        banks_with(count, 4, sharing)
    }

    fn banks_with(count: u32, bytes: u32, sharing: &str) -> Banks {
        let config = format!(
            "(size: 49152, carve_out: Fixed, per_cta: 0, granule: 128, banks: {count}, bank_bytes: {bytes}, \
              sharing: {sharing}, latency: 26, shuffle_extra: 0)"
        );
        Banks::new(&crate::config::parse::stated(&config))
    }

    fn banks(count: u32) -> Banks {
        banks_of(count, "Warps(quarter_extra: 0)")
    }

    fn affine(stride: i32, mask: LaneMask) -> LaneAddresses {
        LaneAddresses { mask, shape: Shape::Affine { base: 0x1000, stride } }
    }

    fn passes(stride: i32, bytes: u32, mask: LaneMask) -> u32 {
        banks(32).passes(&affine(stride, mask), bytes, Load)
    }

    /// Of a load and a store of compute capability 1.x.
    fn passes_of_halves(stride: i32, bytes: u32, mask: LaneMask) -> [u32; 2] {
        let banks = banks_of(16, "HalfWarps");
        [Load, Store].map(|kind| banks.passes(&affine(stride, mask), bytes, kind))
    }

    proptest! {
        #[test]
        fn no_access_takes_fewer_passes_than_one_without_conflicts(
            places in prop::array::uniform32(0u64..100), log in 0u32..5, mask in any::<LaneMask>(),
        ) {
            let bytes = 1 << log;
            let any = LaneAddresses { mask, shape: Shape::Scattered(places.map(|place| place * u64::from(bytes))) };
            let dense = LaneAddresses { mask, ..affine(bytes as i32, 0) };
            for (banks, kind) in [banks_of(16, "HalfWarps"), banks(32)].into_iter().flat_map(|banks| [(banks.clone(), Load), (banks, Store)]) {
                let least = banks.least_passes(mask, bytes);
                prop_assert!(banks.passes(&any, bytes, kind) >= least);
                if bytes >= 4 && banks.sharing != BankSharing::HalfWarps {
                    prop_assert_eq!(banks.passes(&dense, bytes, kind), least);
                }
            }
            let least = banks_of(16, "HalfWarps").least_passes(mask, 4);
            prop_assert_eq!(banks_of(16, "HalfWarps").passes(&LaneAddresses { mask, ..affine(4, 0) }, 4, Load), least);
        }

        #[test]
        fn no_change_takes_fewer_passes_than_one_without_conflicts(
            places in prop::array::uniform32(0u64..100), log in 0u32..4, mask in any::<LaneMask>(),
        ) {
            let bytes = 1 << log;
            let any = LaneAddresses { mask, shape: Shape::Scattered(places.map(|place| place * u64::from(bytes))) };
            let dense = LaneAddresses { mask, ..affine(bytes.max(4) as i32, 0) };
            for banks in [banks_of(16, "HalfWarps"), banks(32)] {
                let least = banks.least_lane_passes(mask, bytes);
                prop_assert!(banks.lane_passes(&any, bytes) >= least);
                if mask == !0 {
                    prop_assert_eq!(banks.lane_passes(&dense, bytes), least);
                }
            }
        }

        #[test]
        fn a_bank_takes_a_pass_for_each_of_its_words(
            places in prop::array::uniform32(0u64..200), log in 0u32..5, mask in any::<LaneMask>(),
        ) {
            let bytes = 1u64 << log;
            let addresses = places.map(|place| place * bytes);
            let mut expected = 0;
            for lanes in lanes(mask).collect::<Vec<_>>().chunk_by(|one, next| {
                let at_once = 32 * 4 / bytes.max(4) as usize;
                one / at_once == next / at_once
            }) {
                let words = lanes.iter().map(|lane| addresses[*lane]).flat_map(|at| at / 4..=(at + bytes - 1) / 4);
                let words = words.collect::<std::collections::BTreeSet<_>>();
                let of_bank = |bank: u64| words.iter().filter(|word| *word % 32 == bank).count();
                expected += (0..32).map(of_bank).max().unwrap_or(0);
            }
            let any = LaneAddresses { mask, shape: Shape::Scattered(addresses) };
            prop_assert_eq!(banks(32).passes(&any, bytes as u32, Load), expected as u32);
        }

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
                prop_assert_eq!(
                    banks.passes(&even, bytes, Load),
                    banks.passes(&one_by_one, bytes, Store)
                );
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
    fn quarter_warps_may_take_a_pass_more() {
        let banks = banks_of(32, "Warps(quarter_extra: 1)");
        let passes = |stride, bytes, mask| banks.passes(&affine(stride, mask), bytes, Load);
        assert_eq!(passes(16, 16, !0), 8);
        assert_eq!(passes(16, 16, 0xff), 2);
        assert_eq!(passes(128, 16, 0x3), 3);
        assert_eq!(passes(8, 8, !0), 2);
        assert_eq!(passes(4, 4, !0), 1);
        assert_eq!(passes(16, 16, 0), 0);
    }

    #[test]
    fn half_warps_go_one_after_the_other() {
        assert_eq!(passes_of_halves(4, 4, !0), [2, 2]);
        assert_eq!(passes_of_halves(4, 4, 0xffff), [1, 1]);
        // Lane 0 and lane 16 want one bank, and do not conflict.
        assert_eq!(passes_of_halves(64, 4, 0x1_0001), [2, 2]);
        // An odd stride of words, an even one, and one of all banks.
        assert_eq!(passes_of_halves(12, 4, !0), [2, 2]);
        assert_eq!(passes_of_halves(8, 4, !0), [4, 4]);
        assert_eq!(passes_of_halves(64, 4, !0), [32, 32]);
        assert_eq!(passes_of_halves(4, 4, 0), [0, 0]);
    }

    #[test]
    fn a_pass_of_a_half_warp_gives_one_word_to_many_lanes() {
        assert_eq!(passes_of_halves(0, 4, !0), [2, 2]);
        // Of four words with four lanes each, the first pass serves all lanes of one word and a lane of each other.
        assert_eq!(passes_of_halves(1, 1, 0xffff), [4, 4]);
        assert_eq!(passes_of_halves(2, 2, 0xffff), [2, 2]);
        let two_words = LaneAddresses {
            mask: 0xffff,
            shape: Shape::Scattered(std::array::from_fn(|lane| 4 * (lane as u64 / 8))),
        };
        let banks = banks_of(16, "HalfWarps");
        // The second word gives one lane its data in the pass of the first.
        assert_eq!(banks.passes(&two_words, 4, Load), 2);
        assert_eq!(banks.passes(&two_words, 4, Store), 1);
        assert_eq!(banks_of(16, "Warps(quarter_extra: 0)").passes(&two_words, 4, Load), 1);
    }

    #[test]
    fn wide_elements_of_half_warps_go_word_by_word() {
        // Two words a lane: two requests of a half-warp, each with conflicts of two lanes.
        assert_eq!(passes_of_halves(8, 8, 0xffff), [4, 4]);
        assert_eq!(passes_of_halves(16, 16, 0xffff), [16, 16]);
    }

    #[test]
    fn lanes_that_change_one_bank_take_turns() {
        let turns = |stride, bytes, mask| banks(32).lane_passes(&affine(stride, mask), bytes);
        assert_eq!(turns(4, 4, !0), 1);
        assert_eq!(turns(8, 4, !0), 2);
        assert_eq!(turns(0, 4, !0), 32);
        assert_eq!(turns(0, 4, 0xff), 8);
        assert_eq!(turns(128, 4, !0), 32);
        assert_eq!(turns(8, 8, !0), 2);
        assert_eq!(turns(4, 4, 0), 0);
        // Half-warps one after the other: one lane each, and 16 beside one.
        let halves = banks_of(16, "HalfWarps");
        let turns = |stride, mask| halves.lane_passes(&affine(stride, mask), 4);
        assert_eq!([turns(4, 0x2_0001), turns(4, !0), turns(0, 0x1_ffff)], [2, 2, 17]);
    }

    #[test]
    fn wide_banks_of_half_warps_take_wide_pieces() {
        let banks = banks_with(64, 8, "HalfWarps");
        let passes = |stride, bytes| banks.passes(&affine(stride, !0), bytes, Load);
        assert_eq!([passes(8, 8), passes(16, 16), passes(512, 8)], [2, 4, 32]);
    }

    #[test]
    fn no_lane_takes_no_pass() {
        assert_eq!(passes(4, 4, 0), 0);
        let halves = banks_of(16, "HalfWarps");
        let least = |mask| [halves.least_passes(mask, 4), halves.least_passes(mask, 8)];
        assert_eq!([0, 0xff, 0x74df_0000, 0x1_0001].map(least), [[0, 0], [1, 2], [1, 2], [2, 4]]);
    }
}
