//! From an address within the channel to row, bank and column, and back.

use crate::config::machine::DramConfig;

/// Where a byte lies in the chips of one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// Row of the bank.
    pub row: u64,
    /// Bank of the channel. Some of its bits are the bank group: see [`super::bank`].
    pub bank: u32,
    /// Column of the row, in bursts.
    pub column: u32,
    /// Byte of the burst.
    pub offset: u32,
}

/// Address bits that go as far down to a field.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// In the address.
    mask: u64,
    shift: u32,
}

impl Run {
    #[inline]
    fn gather(&self, address: u64) -> u64 {
        (address & self.mask) >> self.shift
    }
}

/// One field of a location: its bits, gathered from the address run by run.
#[derive(Clone, Debug, Default)]
struct Field {
    /// The first two runs: few fields have more.
    runs: [Run; 2],
    more: Vec<Run>,
}

impl Field {
    /// The field that takes the address bits where `bits`, lowest first, has `letter`.
    fn of(bits: &[char], letter: char) -> Field {
        let mut field = Field::default();
        for (bit, _) in (0u32..).zip(bits).filter(|&(_, &c)| c == letter) {
            field.append(1 << bit);
        }
        field
    }

    fn all_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().chain(&self.more)
    }

    /// Gives the field the neighbouring address bits of `mask`, on top of those that it has.
    fn append(&mut self, mask: u64) {
        let size: u32 = self.all_runs().map(|run| run.mask.count_ones()).sum();
        let shift = mask.trailing_zeros() - size;
        let mut runs = self.runs.iter_mut().chain(&mut self.more);
        match runs.find(|run| run.mask == 0 || run.shift == shift) {
            Some(run) => *run = Run { mask: run.mask | mask, shift },
            None => self.more.push(Run { mask, shift }),
        }
    }

    #[inline]
    fn gather(&self, address: u64) -> u64 {
        let first = self.runs[0].gather(address) | self.runs[1].gather(address);
        self.more.iter().fold(first, |field, run| field | run.gather(address))
    }

    fn scatter(&self, field: u64) -> u64 {
        self.all_runs().fold(0, |address, run| address | field << run.shift & run.mask)
    }
}

/// The bit pattern of [`DramConfig::mapping`], made ready for use.
///
/// Address bits that the pattern marks `0` are ignored: addresses that differ only there are the
/// same place.
#[derive(Clone, Debug)]
pub struct Mapping {
    row: Field,
    bank: Field,
    column: Field,
    offset: Field,
}

impl Mapping {
    /// Reads the pattern of `config`, which must have passed its check.
    pub fn new(config: &DramConfig) -> Mapping {
        let bits: Vec<char> =
            config.mapping.chars().rev().filter(|c| !matches!(c, '.' | ' ')).collect();
        let mut row = Field::of(&bits, 'R');
        if bits.len() < u64::BITS as usize {
            row.append(u64::MAX << bits.len());
        }
        Mapping {
            row,
            bank: Field::of(&bits, 'B'),
            column: Field::of(&bits, 'C'),
            offset: Field::of(&bits, 'S'),
        }
    }

    /// Where `address` lies.
    #[inline]
    pub fn locate(&self, address: u64) -> Location {
        Location {
            row: self.row.gather(address),
            bank: self.bank.gather(address) as u32,
            column: self.column.gather(address) as u32,
            offset: self.offset.gather(address) as u32,
        }
    }

    /// The row and the bank of `address`, which is all that a scheduler needs.
    #[inline]
    pub fn row_and_bank(&self, address: u64) -> (u64, u32) {
        (self.row.gather(address), self.bank.gather(address) as u32)
    }

    /// The address of `location`, with every ignored bit zero: the inverse of [`Mapping::locate`].
    pub fn address(&self, location: Location) -> u64 {
        self.row.scatter(location.row)
            | self.bank.scatter(u64::from(location.bank))
            | self.column.scatter(u64::from(location.column))
            | self.offset.scatter(u64::from(location.offset))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Check;
    use crate::dram::testing::gtx480;

    #[test]
    fn bits_go_where_the_gtx_480_pattern_says() {
        let mapping = Mapping::new(&gtx480());
        let at = |row, bank, column, offset| Location { row, bank, column, offset };
        assert_eq!(mapping.locate(0x3f), at(0, 0, 0, 63));
        assert_eq!(mapping.locate(0x40), at(0, 0, 1, 0));
        assert_eq!(mapping.locate(0x100), at(0, 1, 0, 0));
        assert_eq!(mapping.locate(0x200), at(0, 0, 4, 0));
        assert_eq!(mapping.locate(0x2000), at(0, 2, 0, 0));
        assert_eq!(mapping.locate(0x1_0000), at(1, 0, 0, 0));
    }

    #[test]
    fn row_bits_continue_above_the_pattern() {
        let mapping = Mapping::new(&gtx480());
        assert_eq!(mapping.locate(1 << 31).row, 1 << 15);
        assert_eq!(mapping.locate(1 << 32).row, 1 << 16);
        assert_eq!(mapping.locate(1 << 63).row, 1 << 47);
    }

    #[test]
    fn bits_marked_zero_are_ignored() {
        let mut config = gtx480();
        config.mapping = "RRRRRRRR.RRRRRRRR.BBBCCCCB.0CCSSSSSS".into();
        let mapping = Mapping::new(&config);
        assert_eq!(mapping.locate(0x1ff), mapping.locate(0x0ff));
        assert_eq!(mapping.address(mapping.locate(0x1ff)), 0x0ff);
    }

    proptest! {
        #[test]
        fn an_address_comes_back_from_its_location(
            address: u64,
            // Any order of the bits above a burst is a mapping.
            order in Just("RRRRRRRRBBBBCCCCCC".chars().collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let mut config = gtx480();
            config.mapping = order.into_iter().chain("SSSSSS".chars()).collect();
            prop_assert_eq!(config.check(), Ok(()));
            let mapping = Mapping::new(&config);
            prop_assert_eq!(mapping.address(mapping.locate(address)), address);
        }
    }
}
