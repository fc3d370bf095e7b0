//! Sectors: the parts of a line that are fetched on their own.

/// How many of a line's parts of 32 bytes hold any of `bytes`: what GPUs count as sectors.
#[inline]
pub fn sectors_of(bytes: u128) -> u32 {
    SectorSet::of(bytes).count()
}

/// How many of them are in `bytes` as a whole.
#[inline]
pub fn whole_sectors_of(bytes: u128) -> u32 {
    4 - sectors_of(!bytes)
}

/// How many bytes a mask has. Most have all or none.
#[inline]
pub fn bytes_of(mask: u128) -> u32 {
    match mask {
        0 => 0,
        u128::MAX => 128,
        _ => mask.count_ones(),
    }
}

/// Parts of 32 bytes of a line, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectorSet(u8);

impl SectorSet {
    /// The bytes of each set.
    const BYTES: [u128; 16] = {
        let mut sets = [0; 16];
        let mut set = 0;
        while set < 16 {
            let mut number = 0;
            while number < 4 {
                sets[set] |= ((set as u128 >> number & 1) * u32::MAX as u128) << (32 * number);
                number += 1;
            }
            set += 1;
        }
        sets
    };

    /// The set of these bits, of which the lowest stands for the first sector.
    #[inline]
    pub fn from_bits(bits: u8) -> Self {
        debug_assert!(bits < 16, "a line has four sectors");
        SectorSet(bits)
    }

    /// The bits of the set.
    #[inline]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Those that hold any of `bytes`. Many masks have all.
    #[inline(always)]
    pub fn of(bytes: u128) -> Self {
        if bytes == u128::MAX {
            return SectorSet(0xf);
        }
        let of_half = |half: u64| u8::from(half as u32 != 0) | u8::from(half >> 32 != 0) << 1;
        SectorSet(of_half(bytes as u64) | of_half((bytes >> 64) as u64) << 2)
    }

    /// All bytes of these.
    #[inline]
    pub fn bytes(self) -> u128 {
        Self::BYTES[usize::from(self.0 % 16)]
    }

    /// True when there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many there are.
    #[inline]
    pub fn count(self) -> u32 {
        /// That of each set, in four bits.
        const COUNTS: u64 = 0x4332_3221_3221_2110;
        (COUNTS >> (4 * u32::from(self.0 % 16))) as u32 & 7
    }

    /// The first byte of the first one.
    #[inline]
    pub fn first_byte(self) -> u32 {
        32 * self.0.trailing_zeros()
    }

    /// True when some are in `other` as well.
    #[inline]
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Those of either.
    #[inline]
    pub fn with(self, other: Self) -> Self {
        SectorSet(self.0 | other.0)
    }

    /// Those of both.
    #[inline]
    pub fn within(self, other: Self) -> Self {
        SectorSet(self.0 & other.0)
    }

    /// Those that are not in `other`.
    #[inline]
    pub fn without(self, other: Self) -> Self {
        SectorSet(self.0 & !other.0)
    }
}

/// The sectors of a line. A line of one sector is a line that is fetched as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sectors {
    whole: u128,
    /// The bytes of the first one.
    first: u128,
    line: u32,
    sector: u32,
    /// A sector's bytes are two to this power.
    sector_bits: u32,
    /// The parts of 32 bytes of the first one, where a sector has no less.
    first_parts: u8,
    /// For each set of parts, those of the sectors that have any of it, in four bits.
    around_parts: u64,
}

impl Sectors {
    /// Lines of `line` bytes in sectors of `sector` bytes; powers of two, at most 128.
    pub fn new(line: u32, sector: u32) -> Self {
        let sector = sector.min(line);
        let sector_bits = sector.trailing_zeros();
        let first = |bytes: u32| u128::MAX >> (128 - bytes);
        let first_parts = ((1 << (sector / 32)) - 1) as u8;
        let around_parts = match sector {
            32 => 0xfedc_ba98_7654_3210,
            64 => 0xfffc_fffc_fffc_3330,
            _ => 0xffff_ffff_ffff_fff0,
        };
        let (whole, first) = (first(line), first(sector));
        Sectors { whole, first, line, sector, sector_bits, first_parts, around_parts }
    }

    /// Sectors of a line.
    #[inline]
    pub fn count(self) -> usize {
        (self.line >> self.sector_bits) as usize
    }

    /// Bytes of one sector.
    #[inline]
    pub fn bytes(self) -> u32 {
        self.sector
    }

    /// The sector that holds the byte at `offset` in the line.
    #[inline]
    pub fn of_offset(self, offset: u32) -> usize {
        (offset >> self.sector_bits) as usize
    }

    /// Every byte of a line.
    #[inline]
    pub fn whole(self) -> u128 {
        self.whole
    }

    /// The bytes of sector `number`.
    #[inline]
    pub fn of(self, number: usize) -> u128 {
        self.first << ((number as u32) << self.sector_bits)
    }

    /// All bytes of the sectors that hold any of `bytes`.
    #[inline]
    pub fn around(self, bytes: u128) -> u128 {
        if self.sector == self.line {
            return if bytes == 0 { 0 } else { self.whole };
        }
        if bytes == 0 || bytes == self.whole {
            return bytes;
        }
        let touched = |&sector: &u128| bytes & sector != 0;
        (0..self.count()).map(|number| self.of(number)).filter(touched).fold(0, |all, s| all | s)
    }

    /// The parts of 32 bytes of sector `number`, where a sector has no less.
    #[inline]
    pub fn parts_of(self, number: usize) -> SectorSet {
        SectorSet(self.first_parts << ((number as u32) << (self.sector_bits - 5)))
    }

    /// All parts of 32 bytes of the sectors that have any of `parts`, where a sector has no less.
    #[inline]
    pub fn around_parts(self, parts: SectorSet) -> SectorSet {
        SectorSet((self.around_parts >> (4 * u32::from(parts.0 % 16))) as u8 & 0xf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_lies_in_its_sector_and_in_no_other() {
        let sectors = Sectors::new(128, 32);
        assert_eq!(sectors.count(), 4);
        assert_eq!(sectors.around(1 << 33), 0xffff_ffff << 32);
        assert_eq!(sectors.around(1 | 1 << 127), 0xffff_ffff | 0xffff_ffff << 96);
        assert_eq!(sectors.around(0), 0);
    }

    #[test]
    fn a_set_has_the_sectors_that_hold_any_byte_and_gives_all_of_their_bytes() {
        let sectors = Sectors::new(128, 32);
        for bytes in [0, 1, 1 << 33 | 1 << 127, u128::MAX, u128::MAX >> 32, 0xff << 60] {
            let set = SectorSet::of(bytes);
            assert_eq!(set.bytes(), sectors.around(bytes));
            assert_eq!((set.count(), set.is_empty()), (sectors_of(bytes), bytes == 0));
        }
        let [low, high] = [1, 1 << 127].map(SectorSet::of);
        assert!(!low.meets(high) && low.with(high).meets(low));
        assert_eq!(low.with(high).without(low), high);
        assert_eq!([low, high].map(SectorSet::first_byte), [0, 96]);
    }

    #[test]
    fn parts_are_those_of_the_bytes() {
        for (line, sector) in [(128, 128), (128, 64), (128, 32), (64, 64), (64, 32), (32, 32)] {
            let sectors = Sectors::new(line, sector);
            for number in 0..sectors.count() {
                assert_eq!(sectors.parts_of(number), SectorSet::of(sectors.of(number)));
            }
            for parts in (0..1 << (line / 32)).map(SectorSet::from_bits) {
                let around = SectorSet::of(sectors.around(parts.bytes()));
                assert_eq!(sectors.around_parts(parts), around);
                assert_eq!(parts.count(), parts.bits().count_ones());
                assert_eq!(parts.within(around), parts);
            }
        }
    }

    #[test]
    fn a_line_of_one_sector_is_whole() {
        assert_eq!(Sectors::new(128, 128).around(4), u128::MAX);
        assert_eq!(Sectors::new(64, 128).around(4), u128::MAX >> 64);
        assert_eq!(Sectors::new(64, 64).count(), 1);
    }
}
