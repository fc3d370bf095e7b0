//! Bulk copies between global and shared memory: they are made at once.
//!
//! Source: PTX ISA 9.0, section 9.7.9 "cp.async.bulk".

use std::ops::Range;

use super::super::program::{AccessKind, AccessSpace, BulkStep};
use super::mbarrier::{Mbarriers, places, shared_addresses};
use super::memory::{LaneFault, Spaces, addresses, misaligned};
use super::registers::Registers;
use crate::isa::{BULK_PIECE, BulkCopy, BulkUse, LaneMask, WARP, WarpStream, lanes};
use crate::workload::DeviceMemory;

/// What copies are multiples of, in places of memory.
const PIECE: usize = BULK_PIECE as usize;

impl Spaces<'_> {
    /// Makes the copies of the lanes of `mask`, and records them.
    pub fn bulk(
        &mut self,
        step: &BulkStep,
        mask: LaneMask,
        regs: &Registers,
        mbarriers: &mut Mbarriers,
        stream: &mut WarpStream,
    ) -> Result<(), LaneFault> {
        let global = addresses(&step.global, regs);
        let shared = shared_addresses(&step.shared, regs);
        let barriers = match step.kind {
            BulkCopy::ToShared => places(&step.mbarrier, mask, regs, self.shared.len() as u64)?,
            BulkCopy::ToGlobal | BulkCopy::ToL2 => [0; WARP],
        };
        let in_global = match step.kind {
            BulkCopy::ToGlobal => AccessKind::Store,
            BulkCopy::ToShared | BulkCopy::ToL2 => AccessKind::Load,
        };
        let mut copies = [BulkUse { address: 0, bytes: 0, mbarrier: 0 }; WARP];
        let mut count = 0;
        for lane in lanes(mask) {
            let bytes = regs.narrow[usize::from(step.bytes)][lane];
            let address = global[lane];
            let fault = |message| (lane, message);
            if !bytes.is_multiple_of(BULK_PIECE) {
                let message = format!("a bulk copy of {bytes} bytes, no multiple of {BULK_PIECE}");
                return Err(fault(message));
            }
            let place =
                self.range(AccessSpace::Global, in_global, address, bytes).map_err(fault)?;
            if bytes == 0 {
                continue;
            }
            let mut in_shared =
                |does| self.range(AccessSpace::Shared, does, shared[lane], bytes).map_err(fault);
            let mbarrier = match step.kind {
                BulkCopy::ToShared => {
                    let to = in_shared(AccessKind::Store)?;
                    self.shared.write(to.start, &self.global.block_mut()[place]);
                    mbarriers.complete(lane, barriers[lane], bytes, self.shared)?
                }
                BulkCopy::ToGlobal => {
                    let source = in_shared(AccessKind::Load)?;
                    self.check_written(&source).map_err(fault)?;
                    self.global.block_mut()[place].copy_from_slice(&self.shared.bytes()[source]);
                    0
                }
                BulkCopy::ToL2 => 0,
            };
            copies[count] = BulkUse { address, bytes, mbarrier };
            count += 1;
        }
        stream.push_bulk(copies[..count].iter().copied());
        Ok(())
    }

    /// Refuses to read pieces of shared memory that nothing was written to.
    fn check_written(&self, source: &Range<usize>) -> Result<(), String> {
        let mut pieces = source.clone().step_by(PIECE);
        let Some(piece) = pieces.find(|piece| !self.shared.is_written(*piece, PIECE)) else {
            return Ok(());
        };
        let what = format!("reads {PIECE} bytes at address {piece:#x} of shared memory");
        Err(format!("{what}, which nothing was written to"))
    }

    /// Where in the block of a space the bytes lie that a copy reads or writes there.
    fn range(
        &mut self,
        space: AccessSpace,
        does: AccessKind,
        address: u64,
        bytes: u32,
    ) -> Result<Range<usize>, String> {
        if !address.is_multiple_of(BULK_PIECE.into()) {
            return Err(misaligned(does, address, BULK_PIECE.into()));
        }
        let end = address.checked_add(bytes.into());
        let is_inside = end.is_some_and(|end| match space {
            _ if bytes == 0 => true,
            AccessSpace::Shared => end <= self.shared.len() as u64,
            _ => self.in_buffer(address, end),
        });
        if !is_inside {
            return Err(self.outside(space, does, address, bytes.into()));
        }
        let base = if space == AccessSpace::Shared { 0 } else { DeviceMemory::BASE };
        let start = address.wrapping_sub(base) as usize;
        Ok(start..start.wrapping_add(bytes as usize))
    }
}
