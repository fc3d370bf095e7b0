//! What of a line is written to the DRAM.

/// The runs of neighbouring bursts that hold bytes of a line: where each begins, and how long it is [bytes]. Between two lie 32
/// bytes or more that need not be written, and a burst or more, so that a line has two at most.
pub(super) struct Runs {
    bytes: u128,
    burst: u32,
}

impl Runs {
    pub fn new(bytes: u128, burst_bytes: u32) -> Self {
        Runs { bytes, burst: burst_bytes }
    }
}

impl Iterator for Runs {
    type Item = (u32, u32);

    #[inline]
    fn next(&mut self) -> Option<(u32, u32)> {
        if self.bytes == 0 {
            return None;
        }
        let part = self.burst.max(32);
        let whole = u128::MAX >> (128 - part);
        let mut next = self.bytes.trailing_zeros() & !(part - 1);
        while next < 128 && self.bytes >> next & whole != 0 {
            next += part;
        }
        let rest = self.bytes & u128::MAX.checked_shl(next).unwrap_or(0);
        let run = self.bytes ^ rest;
        self.bytes = rest;
        let first = run.trailing_zeros() & !(self.burst - 1);
        let end = (128 - run.leading_zeros()).next_multiple_of(self.burst);
        Some((first, end - first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_without_a_byte_to_be_written_part_two_runs() {
        let runs = |bytes, burst| Runs::new(bytes, burst).collect::<Vec<_>>();
        assert_eq!(runs(0, 32), []);
        assert_eq!(runs(1, 32), [(0, 32)]);
        assert_eq!(runs(!0, 32), [(0, 128)]);
        assert_eq!(runs(1 | 1 << 127, 32), [(0, 32), (96, 32)]);
        assert_eq!(runs(1 << 32 | 1 << 64, 32), [(32, 64)]);
        assert_eq!(runs(1 << 31 | 1 << 64, 32), [(0, 32), (64, 32)]);
        assert_eq!(runs(1 | 1 << 127, 64), [(0, 128)]);
        assert_eq!(runs(1 << 100, 128), [(0, 128)]);
        // Bursts of 16 bytes: a gap of one is none.
        assert_eq!(runs(1 | 1 << 47, 16), [(0, 48)]);
        assert_eq!(runs(1 | 1 << 31 | 1 << 64, 16), [(0, 32), (64, 16)]);
    }
}
