//! What warps asked of each buffer, and where loads found it, for those who ask.
//!
//! An instruction goes to one buffer nearly always, so its accesses count for that as a whole. One whose lanes go to several counts for
//! none of them, but by itself: nothing is counted twice, and nothing is left out.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::journey::{Found, Journey};
use crate::isa::{AccessKind, BulkCopy, BulkUse, LOCAL_MEMORY, LaneAddresses, MemoryOp, lanes};
use crate::stats::{LatencyLedger, Stats};

crate::counters! {
    /// What warps asked of one buffer, and where loads found it.
    pub struct BufferCounters {
        /// Warp instructions that access it [instructions].
        instructions,
        /// Bytes that their lanes ask for, each lane for itself [bytes].
        bytes,
        /// Accesses that the coalescer made of loads [accesses].
        load_accesses,
        /// Accesses that the coalescer made of stores [accesses].
        store_accesses,
        /// Accesses that the coalescer made of atomics [accesses].
        atomic_accesses,
        /// Accesses of loads, and of atomics whose old values come back, that are done [accesses].
        loads,
        /// Of those, accesses that found their line in the L1 [accesses].
        l1_hits,
        /// Of those, accesses that waited in the L1 for a line that another one had asked for [accesses].
        l1_merged,
        /// Of those, accesses that found their line in the L2 [accesses].
        l2_hits,
        /// Of those, accesses that waited in the L2 for a line that another one had asked for [accesses].
        l2_merged,
        /// Of those, accesses whose line came from the DRAM for them [accesses].
        dram,
    }
}

/// What warps did with one buffer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BufferProfile {
    /// What they asked for, and what loads found.
    pub counters: BufferCounters,
    /// Where the loads spent their time.
    pub latency: LatencyLedger,
}

/// Where the lanes of an instruction go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// The buffer of this number.
    Buffer(usize),
    /// Local memory.
    Local,
    /// What no buffer holds: variables of a module, and constants.
    Elsewhere,
    /// More than one of them.
    Several,
}

/// Regions that are no buffers.
const OTHERS: [Region; 3] = [Region::Local, Region::Elsewhere, Region::Several];

impl Region {
    /// Its place in a list of all regions.
    fn place(self) -> usize {
        match self {
            Region::Local => 0,
            Region::Elsewhere => 1,
            Region::Several => 2,
            Region::Buffer(number) => OTHERS.len() + number,
        }
    }

    /// The region of a place.
    pub fn at(place: usize) -> Self {
        match place.checked_sub(OTHERS.len()) {
            Some(number) => Region::Buffer(number),
            None => OTHERS[place],
        }
    }
}

/// What an instruction asks of memory.
pub struct Asked<'a> {
    /// The instruction.
    pub op: MemoryOp,
    /// Where its lanes go.
    pub addresses: &'a LaneAddresses,
    /// Accesses that the coalescer makes of it.
    pub accesses: usize,
}

/// What the warps of one SM did with the buffers of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    /// Addresses of the buffers, in order.
    ranges: Vec<Range<u64>>,
    /// By the place of a region.
    profiles: Vec<BufferProfile>,
}

impl Buffers {
    /// The buffers of the kernels that run have these addresses, in order.
    pub fn expect(&mut self, ranges: &[Range<u64>]) {
        ranges.clone_into(&mut self.ranges);
        self.profiles.resize(OTHERS.len() + ranges.len(), BufferProfile::default());
    }

    /// What was counted so far, by the place of a region; it begins anew.
    pub fn take(&mut self) -> Vec<BufferProfile> {
        std::mem::take(&mut self.profiles)
    }

    /// Counts an instruction; gives the place of its region.
    pub fn count(&mut self, asked: &Asked<'_>) -> usize {
        let Asked { op, addresses, accesses } = asked;
        let place = self.region(addresses).place();
        let counters = &mut self.profiles[place].counters;
        // One whose guard is false for all lanes goes nowhere.
        counters.instructions += u64::from(addresses.mask != 0);
        counters.bytes += u64::from(addresses.mask.count_ones()) * u64::from(op.bytes);
        *match op.kind {
            AccessKind::Load | AccessKind::LoadMatrix | AccessKind::Copy => {
                &mut counters.load_accesses
            }
            AccessKind::Store => &mut counters.store_accesses,
            AccessKind::Atomic(_) => &mut counters.atomic_accesses,
        } += *accesses as u64;
        place
    }

    /// Counts a bulk copy of so many lines; gives the place of its region.
    pub fn count_bulk(&mut self, kind: BulkCopy, copy: &BulkUse, lines: u64) -> usize {
        // Where a box lies outside of its tensor altogether, nobody's bytes are copied.
        let first = copy.in_global().map_or(0, |place| place.start);
        let place = self.region_of(first).place();
        let counters = &mut self.profiles[place].counters;
        counters.instructions += 1;
        counters.bytes += copy.bytes_copied();
        *match kind {
            BulkCopy::ToGlobal => &mut counters.store_accesses,
            BulkCopy::Reduce => &mut counters.atomic_accesses,
            BulkCopy::ToShared | BulkCopy::ToL2 => &mut counters.load_accesses,
        } += lines;
        place
    }

    /// An access of a load, whose region has this place, has its data.
    pub fn access_done(&mut self, place: usize, journey: &Journey) {
        let BufferProfile { counters, latency } = &mut self.profiles[place];
        counters.loads += 1;
        *match journey.found() {
            Found::InL1 => &mut counters.l1_hits,
            Found::OnItsWayToL1 => &mut counters.l1_merged,
            Found::InL2 => &mut counters.l2_hits,
            Found::OnItsWayToL2 => &mut counters.l2_merged,
            Found::InDram => &mut counters.dram,
        } += 1;
        journey.charge_latency(latency);
    }

    /// Where the lanes of an instruction go; to one place when there is none.
    fn region(&self, addresses: &LaneAddresses) -> Region {
        let mut regions = lanes(addresses.mask).map(|lane| self.region_of(addresses.of(lane)));
        let first = regions.next().unwrap_or(Region::Elsewhere);
        if regions.all(|other| other == first) { first } else { Region::Several }
    }

    fn region_of(&self, address: u64) -> Region {
        if address >= LOCAL_MEMORY {
            return Region::Local;
        }
        let after = self.ranges.partition_point(|range| range.start <= address);
        match after.checked_sub(1) {
            Some(number) if self.ranges[number].contains(&address) => Region::Buffer(number),
            _ => Region::Elsewhere,
        }
    }
}

impl BufferProfile {
    /// Adds `other`.
    pub fn merge(&mut self, other: &Self) {
        self.counters.merge(&other.counters);
        self.latency.merge(&other.latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{CacheOp, Shape, Space};

    #[test]
    fn an_instruction_counts_for_the_buffer_that_all_of_its_lanes_go_to() {
        let mut buffers = Buffers::default();
        buffers.expect(&[0x1000..0x1100, 0x1200..0x1210]);
        let op = |kind| MemoryOp { space: Space::Global, kind, bytes: 4, cache: CacheOp::Default };
        let mut count = |kind, mask, base, stride| {
            let addresses = LaneAddresses { mask, shape: Shape::Affine { base, stride } };
            let asked = Asked { op: op(kind), addresses: &addresses, accesses: 2 };
            Region::at(buffers.count(&asked))
        };
        assert_eq!(count(AccessKind::Load, !0, 0x1000, 4), Region::Buffer(0));
        assert_eq!(count(AccessKind::Store, 0xf, 0x1200, 4), Region::Buffer(1));
        // Between two buffers, before the first one, behind the last one.
        for base in [0x1100, 0xfff, 0x1210] {
            assert_eq!(count(AccessKind::Load, 1, base, 0), Region::Elsewhere);
        }
        assert_eq!(count(AccessKind::Load, !0, LOCAL_MEMORY + 64, 4), Region::Local);
        assert_eq!(count(AccessKind::Load, 3, 0x1000, 0x200), Region::Several);
        assert_eq!(count(AccessKind::Load, 0, 0x1000, 4), Region::Elsewhere);
        let profiles = buffers.take();
        let of = |region: Region| &profiles[region.place()].counters;
        let first = of(Region::Buffer(0));
        assert_eq!((first.instructions, first.bytes, first.load_accesses), (1, 128, 2));
        let second = of(Region::Buffer(1));
        assert_eq!((second.bytes, second.load_accesses, second.store_accesses), (16, 0, 2));
        assert_eq!(of(Region::Elsewhere).instructions, 3);
        assert!((0..5).all(|place| Region::at(place).place() == place));
    }
}
