//! What moves bytes between memories, or reads them for a message.

use super::super::program::{AccessKind, AccessSpace, Copy, FrameSlot};
use super::memory::{LaneFault, Spaces, addresses, misaligned};
use super::registers::Registers;
use crate::isa::{LaneMask, WARP, WAY_SHIFT, WarpStream, lanes};
use crate::workload::DeviceMemory;

/// Bytes of a line, and of a sector.
const LINE: u64 = 128;
const SECTOR: u64 = 32;

/// A way that sectors of a line go: to one line of shared memory, and each to one place there.
#[derive(Clone, Copy, Default)]
struct Way {
    line: u64,
    target: u64,
    /// By sector.
    places: [Option<u64>; (LINE / SECTOR) as usize],
}

/// The addresses that a copy reads, with the numbers of the ways that the sectors of a line go: see [`WAY_SHIFT`].
fn with_ways(from: &[u64; WARP], to: &[u64; WARP], mask: LaneMask) -> [u64; WARP] {
    let (mut ways, mut known) = ([Way::default(); WARP], 0);
    let mut numbered = *from;
    for lane in lanes(mask) {
        let (line, target) = (from[lane] / LINE, to[lane] / LINE);
        let (sector, place) = ((from[lane] % LINE / SECTOR) as usize, to[lane] / SECTOR);
        let goes = |way: &Way| {
            way.target == target && way.places[sector].is_none_or(|other| other == place)
        };
        let of_line = (0..known).filter(|at| ways[*at].line == line);
        let found = of_line.clone().enumerate().find(|&(_, at)| goes(&ways[at]));
        let (number, at) = found.unwrap_or_else(|| (of_line.count(), known));
        known = known.max(at + 1);
        let way = &mut ways[at];
        (way.line, way.target, way.places[sector]) = (line, target, Some(place));
        numbered[lane] |= (number as u64) << WAY_SHIFT;
    }
    numbered
}

impl Spaces<'_> {
    /// Moves bytes within the local memory of each lane of `mask`.
    pub fn move_local(&mut self, mask: LaneMask, from: u32, to: u32, bytes: u32) {
        for lane in lanes(mask) {
            let start = lane * self.local_bytes as usize;
            let from = start + from as usize;
            self.local.copy_within(from..from + bytes as usize, start + to as usize);
        }
    }

    /// Copies from global to shared memory, zeros behind the bytes that are read.
    pub fn copy(
        &mut self,
        copy: &Copy,
        regs: &Registers,
        mask: LaneMask,
        stream: &mut WarpStream,
    ) -> Result<(), LaneFault> {
        let (from, to) = (addresses(&copy.from, regs), addresses(&copy.to, regs));
        let length = u64::from(copy.bytes);
        let mut reading = 0;
        for lane in lanes(mask) {
            let read = u64::from(regs.narrow[usize::from(copy.read)][lane]).min(length);
            let mut data = [0; 16];
            if read > 0 {
                reading |= 1 << lane;
                if from[lane] & (length - 1) != 0 {
                    return Err((lane, misaligned(AccessKind::Load, from[lane], length)));
                }
                let end = from[lane].checked_add(read);
                if !end.is_some_and(|end| self.in_buffer(from[lane], end)) {
                    let message =
                        self.outside(AccessSpace::Global, AccessKind::Load, from[lane], read);
                    return Err((lane, message));
                }
                let start = (from[lane] - DeviceMemory::BASE) as usize;
                let block = &self.global.block_mut()[start..][..read as usize];
                data[..read as usize].copy_from_slice(block);
            }
            if to[lane] & (length - 1) != 0 {
                return Err((lane, misaligned(AccessKind::Store, to[lane], length)));
            }
            if to[lane].checked_add(length).is_none_or(|end| end > self.shared.len() as u64) {
                let message =
                    self.outside(AccessSpace::Shared, AccessKind::Store, to[lane], length);
                return Err((lane, message));
            }
            self.shared.write(to[lane] as usize, &data[..length as usize]);
        }
        let from = if copy.past_l1 { with_ways(&from, &to, reading) } else { from };
        stream.push_addresses(reading, &from);
        Ok(())
    }

    /// What a failed assertion says: its arguments are the texts of the condition and of the file, a line,
    /// and the text of the function.
    #[cold]
    pub fn failed_assertion(&self, lane: usize, base: u32, args: &[FrameSlot]) -> String {
        let word = |place: usize| {
            let slot = args.get(place)?;
            let start = lane * self.local_bytes as usize + (base + slot.offset) as usize;
            let bytes = self.local.get(start..start + (slot.bytes as usize).min(8))?;
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            Some(u64::from_le_bytes(word))
        };
        let text = |place: usize| {
            let bytes = word(place).and_then(|address| {
                let buffer = self.global.find(address, 1)?;
                let start = (address - buffer.address) as usize;
                Some(&self.global.of(buffer)[start..])
            });
            let bytes = bytes.unwrap_or(b"?");
            let length = bytes.iter().take(200).position(|byte| *byte == 0);
            String::from_utf8_lossy(&bytes[..length.unwrap_or(bytes.len().min(200))]).into_owned()
        };
        let (condition, file, function) = (text(0), text(1), text(3));
        let line = word(2).unwrap_or(0);
        format!("assertion `{condition}` failed in {file}:{line}, function `{function}`")
    }
}
