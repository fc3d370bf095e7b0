//! Bulk copies between global and shared memory: they are made at once.
//!
//! Source: PTX ISA 9.0, section 9.7.9 "cp.async.bulk".

use super::super::program::{AccessKind, AccessSpace, BulkStep};
use super::mbarrier::{Mbarriers, places, shared_addresses};
use super::memory::{LaneFault, Spaces, addresses, misaligned};
use super::registers::Registers;
use crate::isa::{BULK_PIECE, BulkCopy, BulkUse, LaneMask, WARP, WarpStream, lanes};
use crate::workload::DeviceMemory;

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
        let mut copies = [BulkUse { address: 0, bytes: 0, mbarrier: 0 }; WARP];
        let mut count = 0;
        for lane in lanes(mask) {
            let bytes = regs.narrow[usize::from(step.bytes)][lane];
            let address = global[lane];
            let from = self.range_of_global(step.kind, address, bytes).map_err(|m| (lane, m))?;
            if bytes == 0 {
                continue;
            }
            let mut mbarrier = 0;
            if step.kind != BulkCopy::ToL2 {
                let to = self
                    .range_of_shared(step.kind, shared[lane], bytes)
                    .map_err(|message| (lane, message))?;
                let block = &mut self.global.block_mut()[from];
                if step.kind == BulkCopy::ToShared {
                    self.shared.write(to.start, block);
                    mbarrier = mbarriers.complete(lane, barriers[lane], bytes, self.shared)?;
                } else {
                    block.copy_from_slice(&self.shared.bytes()[to]);
                }
            }
            copies[count] = BulkUse { address, bytes, mbarrier };
            count += 1;
        }
        stream.push_bulk(copies[..count].iter().copied());
        Ok(())
    }

    /// The bytes of global memory that a copy reads or writes.
    fn range_of_global(
        &mut self,
        kind: BulkCopy,
        address: u64,
        bytes: u32,
    ) -> Result<std::ops::Range<usize>, String> {
        let does = match kind {
            BulkCopy::ToGlobal => AccessKind::Store,
            BulkCopy::ToShared | BulkCopy::ToL2 => AccessKind::Load,
        };
        if !bytes.is_multiple_of(BULK_PIECE) {
            return Err(format!("a bulk copy of {bytes} bytes, no multiple of {BULK_PIECE}"));
        }
        if !address.is_multiple_of(BULK_PIECE.into()) {
            return Err(misaligned(does, address, BULK_PIECE.into()));
        }
        let end = address.checked_add(bytes.into());
        if !end.is_some_and(|end| bytes == 0 || self.in_buffer(address, end)) {
            return Err(self.outside(AccessSpace::Global, does, address, bytes.into()));
        }
        let start = address.wrapping_sub(DeviceMemory::BASE) as usize;
        Ok(start..start.wrapping_add(bytes as usize))
    }

    /// The bytes of shared memory that a copy writes or reads.
    fn range_of_shared(
        &self,
        kind: BulkCopy,
        address: u64,
        bytes: u32,
    ) -> Result<std::ops::Range<usize>, String> {
        let does = match kind {
            BulkCopy::ToShared => AccessKind::Store,
            BulkCopy::ToGlobal | BulkCopy::ToL2 => AccessKind::Load,
        };
        if !address.is_multiple_of(BULK_PIECE.into()) {
            return Err(misaligned(does, address, BULK_PIECE.into()));
        }
        let end = address.checked_add(bytes.into());
        if end.is_none_or(|end| end > self.shared.len() as u64) {
            return Err(self.outside(AccessSpace::Shared, does, address, bytes.into()));
        }
        let range = address as usize..address as usize + bytes as usize;
        let unwritten = range.clone().step_by(BULK_PIECE as usize).find(|piece| {
            kind == BulkCopy::ToGlobal && !self.shared.is_written(*piece, BULK_PIECE as usize)
        });
        match unwritten {
            None => Ok(range),
            Some(piece) => Err(format!(
                "reads {BULK_PIECE} bytes at address {piece:#x} of shared memory, which nothing was written to"
            )),
        }
    }
}
