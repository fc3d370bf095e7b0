//! What the slices hold when a kernel starts.

use std::ops::{DerefMut, Range};

use super::Memory;
use super::partition::Partition;
use crate::config::Machine;
use crate::config::machine::{L2AtStart, line_bits};
use crate::parts::AddressMap;
use crate::units::LineAddr;

/// What stays of a copy is in the last bytes of it, this many times what the L2 holds: sets do not fill evenly.
const LAST: u64 = 2;

/// What is done about it when the next kernel starts.
#[derive(Clone, Copy, Debug)]
pub struct L2Start {
    l2: L2AtStart,
    /// Which slice a line belongs to.
    map: AddressMap,
    line_bits: u32,
    /// The last lines of a copy of which some may stay.
    most: u64,
}

impl L2Start {
    /// Of the first kernel on `machine`.
    pub fn new(machine: &Machine) -> Self {
        let line_bits = line_bits(machine.l2.line.get());
        let bytes = u64::from(machine.l2.size.get()) * u64::from(machine.l2.slices.get());
        let most = (LAST * bytes) >> line_bits;
        L2Start { l2: machine.launch.l2, map: AddressMap::new(machine), line_bits, most }
    }

    /// The last lines of `buffers`, in order.
    fn last_lines(&self, buffers: &[Range<u64>]) -> impl Iterator<Item = u64> {
        let mut left = self.most;
        let mut last = Vec::new();
        for buffer in buffers.iter().rev() {
            let end = buffer.end.div_ceil(1 << self.line_bits);
            let first = (buffer.start >> self.line_bits).max(end.saturating_sub(left));
            left -= end - first;
            last.push(first..end);
        }
        last.into_iter().rev().flatten()
    }
}

impl<P: DerefMut<Target = Partition>, const WORDS: usize> Memory<'_, P, WORDS> {
    /// The slices hold what they are to when a kernel starts that may use these buffers.
    pub(super) fn prepare_slices(&mut self, buffers: &[Range<u64>]) {
        let start = self.hub.start;
        match start.l2 {
            L2AtStart::Cold => {}
            L2AtStart::Flushed => self.partitions.iter_mut().for_each(|one| one.invalidate_all()),
            L2AtStart::Warm => {
                // What is copied lies behind all buffers, and comes through the L2 as well.
                let end = buffers.iter().map(|one| one.end).max().unwrap_or(0);
                let behind = end.div_ceil(1 << start.line_bits);
                for line in start.last_lines(buffers) {
                    for (line, is_written) in
                        [(LineAddr(line + behind), false), (LineAddr(line), true)]
                    {
                        let (number, part) = self.hub.replies.home(start.map.home(line));
                        self.partitions[number].install(part, line, is_written);
                    }
                }
                self.hub.start.l2 = L2AtStart::Cold;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::presets;

    #[test]
    fn what_is_copied_last_stays() {
        let machine = presets::find("gtx480").unwrap().machine().unwrap();
        let start = L2Start { most: 5, ..L2Start::new(&machine) };
        let lines = |buffers: &[Range<u64>]| start.last_lines(buffers).collect::<Vec<_>>();
        assert_eq!(lines(&[0x100..0x180, 0x200..0x281]), [2, 4, 5]);
        assert_eq!(lines(&[0..0x100, 0x200..0x400]), [1, 4, 5, 6, 7]);
        assert_eq!(lines(&[0..0x100, 0x200..0x480, 0x500..0x500]), [4, 5, 6, 7, 8]);
        assert!(lines(&[]).is_empty());
    }
}
