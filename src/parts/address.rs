//! Which slice and which channel a line belongs to, and where it lies inside them.

use crate::config::Machine;
use crate::config::machine::SliceHash;
use crate::units::{Divisor, LineAddr, fibonacci};

/// How addresses spread over L2 slices and DRAM channels.
///
/// `interleave` consecutive bytes belong to one slice, the next to the next slice, round and round; where
/// slices are hashed, each round starts at another one. Or two neighbouring slices of a partition are drawn for a chunk of
/// four blocks.
/// Neighbouring slices share a channel, in whose address space their blocks alternate. With two partitions, each slice
/// has a channel of its own, and an SM asks the slice of its own partition, among the line's own and its neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMap {
    /// Consecutive lines in one slice are two to this power.
    block_bits: u32,
    slices: Divisor,
    /// Lines in one round over the slices.
    round: Divisor,
    /// Slices of one channel.
    sharing: Divisor,
    hash: SliceHash,
    pairs: Pairs,
    /// Where there are two partitions.
    sides: Option<Sides>,
}

/// Which slices a chunk of four blocks belongs to, where that is drawn: two that follow each other in a partition take turns.
///
/// Some rounds over all slices of a partition are shuffled together: each of them is as often the first of two as any other, in
/// an order that follows no stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pairs {
    /// Partitions, which take turns at four chunks; slices belong to them in turn.
    partitions: u64,
    /// Slices of a partition.
    count: Divisor,
    rounds: u64,
    /// Chunks of a partition that are shuffled together, and the bits of their numbers.
    shuffled: Divisor,
    bits: u32,
}

/// Where a block lies, whose chunk was drawn.
struct Drawn {
    slice: u64,
    /// Its number in the slice.
    number: u64,
}

impl Pairs {
    /// Blocks of a chunk: two for each slice.
    const BLOCKS: u64 = 4;
    /// Chunks of one partition that follow each other.
    const CHUNKS: u64 = 4;

    fn new(slices: u64, partitions: u64, rounds: u64) -> Self {
        let count = (slices / partitions).max(1);
        let bits = (count * rounds).next_power_of_two().trailing_zeros();
        let (count, shuffled) = (Divisor::new(count), Divisor::new(count * rounds));
        Pairs { partitions, count, rounds, shuffled, bits }
    }

    #[inline]
    fn draw(&self, block: u64) -> Drawn {
        let (chunk, part) = (block / Self::BLOCKS, block % Self::BLOCKS);
        let (partition, chunk) = self.partition(chunk);
        let (shuffle, place) = self.shuffled.divide(chunk);
        let key = fibonacci(shuffle * self.partitions + partition);
        let (round, first) = self.count.divide(self.shuffle(key, place));
        // The chunk begins with one of the two.
        let second = (fibonacci(chunk) & 1) ^ (part % 2);
        let after = first + second;
        let slice = if after < self.count.get() { after } else { 0 };
        Drawn {
            slice: slice * self.partitions + partition,
            // In each round a slice is once the first of two, and once the second.
            number: ((shuffle * self.rounds + round) * 2 + second) * 2 + part / 2,
        }
    }

    /// The partition of a chunk, and the chunk's number there. Which partition goes first is drawn.
    #[inline]
    fn partition(&self, chunk: u64) -> (u64, u64) {
        if self.partitions == 1 {
            return (0, chunk);
        }
        let (turn, chunk) = (chunk / Self::CHUNKS, chunk % Self::CHUNKS);
        let both = turn / 2;
        ((turn ^ fibonacci(both)) & 1, both * Self::CHUNKS + chunk)
    }

    /// Another number of a chunk among those that are shuffled together; no two have the same.
    #[inline]
    fn shuffle(&self, key: u64, mut chunk: u64) -> u64 {
        let mask = (1u64 << self.bits) - 1;
        let half = self.bits.div_ceil(2);
        loop {
            // Every step can be undone: products with odd numbers, and sums with higher bits.
            chunk = ((chunk ^ key) * 0x9e5) & mask;
            chunk ^= chunk >> half;
            chunk = ((chunk + (key >> 16)) * 0xb4b) & mask;
            chunk ^= chunk >> half;
            chunk = (chunk * 0x6d5) & mask;
            chunk ^= chunk >> half;
            if chunk < self.shuffled.get() {
                return chunk;
            }
        }
    }
}

/// The SMs of the upper partition, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sides([u64; 4]);

impl Sides {
    /// Those of a machine with two partitions.
    fn new(machine: &Machine, upper_gpcs: u64) -> Self {
        let mut upper = Sides::default();
        for sm in 0..machine.sm.count.size() {
            upper.0[sm / 64] |= (upper_gpcs >> machine.sm.gpc_of(sm) & 1) << (sm % 64);
        }
        upper
    }

    /// 1 for an SM of the upper partition.
    #[inline]
    fn of(&self, sm: u16) -> usize {
        (self.0[usize::from(sm) / 64] >> (sm % 64) & 1) as usize
    }
}

impl AddressMap {
    /// The map of a machine.
    pub fn new(machine: &Machine) -> Self {
        let block = u64::from(machine.l2.interleave.get() / machine.l2.line.get());
        let (slices, channels) = (machine.l2.slices.get(), machine.dram.channels.get());
        let sharing = u64::from(slices / channels);
        let sides = machine.l2.partitions.upper_gpcs().map(|upper| Sides::new(machine, upper));
        let partitions = machine.l2.partitions.count() as u64;
        let (slices, hash) = (slices.into(), machine.l2.slice_hash);
        AddressMap { sides, ..AddressMap::of(block, (slices, partitions), sharing, hash) }
    }

    fn of(block: u64, (slices, partitions): (u64, u64), sharing: u64, hash: SliceHash) -> Self {
        let rounds = match hash {
            SliceHash::Pairs { rounds } => rounds.get().into(),
            SliceHash::RoundRobin | SliceHash::Hashed => 1,
        };
        AddressMap {
            block_bits: block.trailing_zeros(),
            slices: Divisor::new(slices),
            round: Divisor::new(block * slices),
            sharing: Divisor::new(sharing),
            hash,
            pairs: Pairs::new(slices, partitions, rounds),
            sides: None,
        }
    }

    /// The slice to which a line belongs: with two partitions, its home.
    #[inline]
    pub fn home(&self, line: LineAddr) -> usize {
        let block = line.0 >> self.block_bits;
        let (round, slice) = self.slices.divide(block);
        let slice = match self.hash {
            SliceHash::RoundRobin => slice,
            SliceHash::Hashed => self.slices.divide(slice + fibonacci(round)).1,
            SliceHash::Pairs { .. } => self.pairs.draw(block).slice,
        };
        slice as usize
    }

    /// The slice that SM `sm` asks for a line.
    #[inline]
    pub fn slice(&self, line: LineAddr, sm: u16) -> usize {
        let home = self.home(line);
        match &self.sides {
            None => home,
            Some(sides) => home & !1 | sides.of(sm),
        }
    }

    /// The line's number within its slice: without gaps, but among pairs that are drawn.
    #[inline(always)]
    pub fn within_slice(&self, line: LineAddr) -> LineAddr {
        let block = match self.hash {
            SliceHash::Pairs { .. } => self.pairs.draw(line.0 >> self.block_bits).number,
            SliceHash::RoundRobin | SliceHash::Hashed => self.round.quotient(line.0),
        };
        self.of_block(block, line)
    }

    /// What [`AddressMap::home`] and [`AddressMap::within_slice`] give: pairs are drawn once for both.
    #[inline]
    pub fn place(&self, line: LineAddr) -> (usize, LineAddr) {
        match self.hash {
            SliceHash::Pairs { .. } => {
                let Drawn { slice, number } = self.pairs.draw(line.0 >> self.block_bits);
                (slice as usize, self.of_block(number, line))
            }
            SliceHash::RoundRobin | SliceHash::Hashed => (self.home(line), self.within_slice(line)),
        }
    }

    /// The line of a block that lies there as `line` does in its own.
    #[inline(always)]
    fn of_block(&self, block: u64, line: LineAddr) -> LineAddr {
        LineAddr(block << self.block_bits | line.0 & ((1 << self.block_bits) - 1))
    }

    /// The place of slice `slice` among those of its channel.
    pub fn part(&self, slice: usize) -> u64 {
        self.sharing.divide(slice as u64).1
    }

    /// The number within its channel of the line that a slice numbers `local`, which has this place among those of the channel:
    /// without gaps.
    #[inline]
    pub fn within_channel(&self, part: u64, local: LineAddr) -> LineAddr {
        let block = local.0 >> self.block_bits;
        // Blocks of the others lie between those of the slice.
        LineAddr(local.0 + ((block * (self.sharing.get() - 1) + part) << self.block_bits))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_has_its_own_place_in_slice_and_channel() {
        for hash in [SliceHash::RoundRobin, SliceHash::Hashed] {
            check_places(AddressMap::of(2, (12, 1), 2, hash), (12, 2), 2 * 12 * 50);
        }
        for (slices, partitions) in [(12, 1), (12, 2), (14, 2)] {
            for rounds in [1, 4, 11] {
                let sharing = 2 / partitions;
                let map = AddressMap::of(2, (slices, partitions), sharing, pairs(rounds));
                let chunks = 4 * partitions * map.pairs.shuffled.get();
                check_places(map, (slices, sharing), 3 * chunks * Pairs::BLOCKS * 2);
            }
        }
    }

    fn pairs(rounds: u64) -> SliceHash {
        crate::config::parse::stated(&format!("Pairs(rounds: {rounds})"))
    }

    fn check_places(map: AddressMap, (slices, sharing): (u64, u64), lines: u64) {
        let place = |line| {
            let line = LineAddr(line);
            assert_eq!(map.place(line), (map.home(line), map.within_slice(line)));
            map.place(line)
        };
        let in_channel = |line| {
            let (slice, local) = place(line);
            (slice as u64 / sharing, map.within_channel(map.part(slice), local))
        };
        let places: BTreeSet<_> = (0..lines).map(place).collect();
        assert_eq!(places.len() as u64, lines);
        assert!(places.iter().all(|(_, local)| local.0 < lines / slices));
        let in_channels: BTreeSet<_> = (0..lines).map(in_channel).collect();
        assert_eq!(in_channels.len() as u64, lines);
        let channels = slices / sharing;
        assert!(
            in_channels
                .iter()
                .all(|(channel, line)| *channel < channels && line.0 < lines / channels)
        );
    }

    #[test]
    fn two_slices_of_a_partition_take_turns_at_four_blocks_and_are_drawn_at_random() {
        let map = AddressMap::of(2, (94, 2), 1, pairs(64));
        let slices: Vec<usize> = (0..1024).map(|line| map.home(LineAddr(line))).collect();
        // 4 KiB to one partition, and 4 KiB to the other one.
        for both in slices.chunks(64) {
            let of =
                |slices: &[usize]| slices.iter().map(|slice| slice % 2).collect::<BTreeSet<_>>();
            assert_eq!((of(&both[..32]).len(), of(&both[32..]).len()), (1, 1));
            assert_eq!(of(both).len(), 2);
        }
        for chunk in slices.chunks(8) {
            let (first, second) = (chunk[0], chunk[2]);
            assert_eq!(chunk, [first, first, second, second, first, first, second, second]);
            assert!([2, 92].contains(&first.abs_diff(second)), "{first} {second}");
        }
        // 528 KiB in chunks: about as many that begin with a slice, or go on there, as where each is thrown anew.
        for start in [0, 1 << 14, 1 << 20, 5 << 21] {
            let mut counts = [0; 94];
            for chunk in 0..528 {
                counts[map.home(LineAddr(8 * (start + chunk)))] += 1;
            }
            let most = counts.into_iter().max().unwrap();
            assert!((9..=18).contains(&most), "{counts:?}");
        }
    }

    #[test]
    fn neighbouring_blocks_go_to_neighbouring_slices() {
        let hash = SliceHash::RoundRobin;
        let map = AddressMap::of(2, (12, 1), 2, hash);
        let slices: Vec<_> = (0..6).map(|line| map.slice(LineAddr(line), 0)).collect();
        assert_eq!(slices, [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn with_two_partitions_the_sm_decides_which_slice_of_a_pair() {
        let sides = Sides([0b00_0011_1100, 0, 0, 0]);
        let map = AddressMap {
            sides: Some(sides),
            ..AddressMap::of(2, (6, 2), 1, SliceHash::RoundRobin)
        };
        for line in (0..48).map(LineAddr) {
            let home = map.home(line);
            assert_eq!(home, (line.0 / 2 % 6) as usize);
            let asked: Vec<_> = (0..10).map(|sm| map.slice(line, sm)).collect();
            let (low, high) = (home & !1, home | 1);
            assert_eq!(asked, [low, low, high, high, high, high, low, low, low, low]);
            assert_eq!(
                map.within_channel(map.part(home), map.within_slice(line)).0,
                line.0 / 12 * 2 + line.0 % 2
            );
        }
    }

    #[test]
    fn a_hash_spreads_a_stride_that_round_robin_leaves_in_one_slice() {
        let used = |hash| {
            let map = AddressMap::of(2, (12, 1), 2, hash);
            let lines = (0..12_000).map(|step| LineAddr(step * 24));
            let mut counts = [0; 12];
            lines.for_each(|line| counts[map.slice(line, 0)] += 1);
            (counts.into_iter().min().unwrap(), counts.into_iter().max().unwrap())
        };
        assert_eq!(used(SliceHash::RoundRobin), (0, 12_000));
        for hash in [SliceHash::Hashed, pairs(64)] {
            let (least, most) = used(hash);
            assert!(least > 800 && most < 1200, "{hash:?}: {least} to {most}");
        }
    }
}
