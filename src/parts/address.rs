//! Which slice and which channel a line belongs to, and where it lies inside them.

use crate::config::Machine;
use crate::units::LineAddr;

/// How addresses spread over L2 slices and DRAM channels.
///
/// `interleave` consecutive bytes belong to one slice, the next to the next slice, round and round.
/// Neighbouring slices share a channel, in whose address space their blocks alternate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMap {
    /// Consecutive lines in one slice.
    block: u64,
    slices: u64,
    /// Slices of one channel.
    sharing: u64,
}

impl AddressMap {
    /// The map of a machine.
    pub fn new(machine: &Machine) -> Self {
        AddressMap {
            block: u64::from(machine.l2.interleave.get() / machine.l2.line.get()),
            slices: u64::from(machine.l2.slices.get()),
            sharing: u64::from(machine.l2.slices.get() / machine.dram.channels.get()),
        }
    }

    /// The slice of a line.
    #[inline]
    pub fn slice(&self, line: LineAddr) -> usize {
        (line.0 / self.block % self.slices) as usize
    }

    /// The line's number within its slice: without gaps.
    #[inline]
    pub fn within_slice(&self, line: LineAddr) -> LineAddr {
        LineAddr(line.0 / (self.block * self.slices) * self.block + line.0 % self.block)
    }

    /// The channel of a slice.
    #[inline]
    pub fn channel(&self, slice: usize) -> usize {
        slice / self.sharing as usize
    }

    /// The number within its channel of the line that slice `slice` numbers `local`: without gaps.
    #[inline]
    pub fn within_channel(&self, slice: usize, local: LineAddr) -> LineAddr {
        let part = slice as u64 % self.sharing;
        LineAddr((local.0 / self.block * self.sharing + part) * self.block + local.0 % self.block)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_has_its_own_place_in_slice_and_channel() {
        let map = AddressMap { block: 2, slices: 12, sharing: 2 };
        let lines = 2 * 12 * 50;
        let place = |line| {
            let slice = map.slice(LineAddr(line));
            (slice, map.within_slice(LineAddr(line)))
        };
        let in_channel = |line| {
            let (slice, local) = place(line);
            (map.channel(slice), map.within_channel(slice, local))
        };
        let places: BTreeSet<_> = (0..lines).map(place).collect();
        assert_eq!(places.len() as u64, lines);
        assert!(places.iter().all(|(_, local)| local.0 < lines / 12));
        let in_channels: BTreeSet<_> = (0..lines).map(in_channel).collect();
        assert_eq!(in_channels.len() as u64, lines);
        assert!(in_channels.iter().all(|(channel, line)| *channel < 6 && line.0 < lines / 6));
    }

    #[test]
    fn neighbouring_blocks_go_to_neighbouring_slices() {
        let map = AddressMap { block: 2, slices: 12, sharing: 2 };
        let slices: Vec<_> = (0..6).map(|line| map.slice(LineAddr(line))).collect();
        assert_eq!(slices, [0, 0, 1, 1, 2, 2]);
    }
}
