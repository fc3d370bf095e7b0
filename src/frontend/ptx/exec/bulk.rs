//! Bulk copies between global and shared memory, of bytes and of boxes of tensors: they are made at once.
//!
//! Source: PTX ISA 9.0, section 9.7.9 "cp.async.bulk".

use std::ops::Range;

use super::super::program::{AccessKind, AccessSpace, BulkPlace, BulkStep};
use super::CONST_WINDOW;
use super::mbarrier::{Mbarriers, places, shared_addresses};
use super::memory::{LaneFault, Spaces, addresses, misaligned};
use super::registers::Registers;
use super::tensor::Area;
use crate::isa::{BULK_PIECE, BulkCopy, BulkUse, LaneMask, WARP, WarpStream, lanes};
use crate::workload::{DeviceMemory, TensorMap};

/// What copies are multiples of, in places of memory.
const PIECE: usize = BULK_PIECE as usize;

/// What a lane copies.
struct Lane {
    lane: usize,
    kind: BulkCopy,
    /// Where it begins in shared memory.
    shared: u64,
    /// The mbarrier at which it arrives.
    mbarrier: u64,
}

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
        let shared = shared_addresses(&step.shared, regs);
        let barriers = match step.kind {
            BulkCopy::ToShared => places(&step.mbarrier, mask, regs, self.shared.len() as u64)?,
            BulkCopy::ToGlobal | BulkCopy::ToL2 => [0; WARP],
        };
        let global = match &step.global {
            BulkPlace::Bytes { first, .. } => addresses(first, regs),
            BulkPlace::Box { map, .. } => addresses(map, regs),
        };
        let mut copies = [BulkUse { address: 0, bytes: 0, mbarrier: 0, area: None }; WARP];
        let mut count = 0;
        for lane in lanes(mask) {
            let one =
                Lane { lane, kind: step.kind, shared: shared[lane], mbarrier: barriers[lane] };
            let copied = match &step.global {
                BulkPlace::Bytes { count, .. } => {
                    let bytes = regs.narrow[usize::from(*count)][lane];
                    self.bytes(&one, global[lane], bytes, mbarriers)?
                }
                BulkPlace::Box { map, coordinates, rank } => {
                    let at = coordinates.map(|row| regs.narrow[usize::from(row)][lane] as i32);
                    let area = self
                        .area(map.space, global[lane], &at[..*rank], step.kind)
                        .map_err(|message| (lane, message))?;
                    Some(self.box_of_tensor(&one, &area, mbarriers)?)
                }
            };
            if let Some(copied) = copied {
                copies[count] = copied;
                count += 1;
            }
        }
        stream.push_bulk(copies[..count].iter().copied());
        Ok(())
    }

    /// Copies bytes that follow each other, if there are any.
    fn bytes(
        &mut self,
        &Lane { lane, kind, shared, mbarrier }: &Lane,
        address: u64,
        bytes: u32,
        mbarriers: &mut Mbarriers,
    ) -> Result<Option<BulkUse>, LaneFault> {
        let fault = |message| (lane, message);
        if !bytes.is_multiple_of(BULK_PIECE) {
            let message = format!("a bulk copy of {bytes} bytes, no multiple of {BULK_PIECE}");
            return Err(fault(message));
        }
        let in_global = match kind {
            BulkCopy::ToGlobal => AccessKind::Store,
            BulkCopy::ToShared | BulkCopy::ToL2 => AccessKind::Load,
        };
        let place = self.range(AccessSpace::Global, in_global, address, bytes).map_err(fault)?;
        if bytes == 0 {
            return Ok(None);
        }
        let mut in_shared =
            |does| self.range(AccessSpace::Shared, does, shared, bytes).map_err(fault);
        let mbarrier = match kind {
            BulkCopy::ToShared => {
                let to = in_shared(AccessKind::Store)?;
                self.shared.write(to.start, &self.global.block_mut()[place]);
                mbarriers.complete(lane, mbarrier, bytes, self.shared)?
            }
            BulkCopy::ToGlobal => {
                let source = in_shared(AccessKind::Load)?;
                self.check_written(&source).map_err(fault)?;
                self.global.block_mut()[place].copy_from_slice(&self.shared.bytes()[source]);
                0
            }
            BulkCopy::ToL2 => 0,
        };
        Ok(Some(BulkUse { address, bytes, mbarrier, area: None }))
    }

    /// Copies a box of a tensor.
    fn box_of_tensor(
        &mut self,
        &Lane { lane, kind, shared, mbarrier }: &Lane,
        area: &Area,
        mbarriers: &mut Mbarriers,
    ) -> Result<BulkUse, LaneFault> {
        let fault = |message| (lane, message);
        if kind != BulkCopy::ToL2 {
            let does = match kind {
                BulkCopy::ToGlobal => AccessKind::Load,
                _ => AccessKind::Store,
            };
            let bytes = area.shared_bytes();
            if !shared.is_multiple_of(Area::ALIGN) {
                let what = format!("a box at address {shared:#x} of shared memory");
                return Err(fault(format!(
                    "{what}, which is not aligned to {} bytes",
                    Area::ALIGN
                )));
            }
            if shared.checked_add(bytes).is_none_or(|end| end > self.shared.len() as u64) {
                return Err(fault(self.outside(AccessSpace::Shared, does, shared, bytes)));
            }
        }
        // What is written over the tensor's edge may be behind its buffer, and a map may be made up.
        let copied = area.copied();
        let is_there = |place: Range<u64>| self.in_buffer(place.start, place.end);
        if copied.bytes_copied() > 0 && !copied.in_global().is_some_and(is_there) {
            let does = match kind {
                BulkCopy::ToGlobal => AccessKind::Store,
                _ => AccessKind::Load,
            };
            let Range { start, end } = copied.in_global().unwrap_or(copied.address..u64::MAX);
            return Err(fault(self.outside(AccessSpace::Global, does, start, end - start)));
        }
        let mbarrier = match kind {
            BulkCopy::ToShared => {
                area.load(shared as usize, self.global.block_mut(), self.shared);
                mbarriers.complete(lane, mbarrier, area.bytes(), self.shared)?
            }
            BulkCopy::ToGlobal => {
                let unwritten = area.store(shared as usize, self.global.block_mut(), self.shared);
                unwritten.map_err(|piece| fault(unwritten_piece(piece)))?;
                0
            }
            BulkCopy::ToL2 => 0,
        };
        Ok(BulkUse { mbarrier, ..copied })
    }

    /// The box at coordinates of the tensor whose map is at an address.
    fn area(
        &self,
        space: AccessSpace,
        address: u64,
        at: &[i32],
        kind: BulkCopy,
    ) -> Result<Area, String> {
        let place = match space {
            AccessSpace::Const | AccessSpace::Generic => address.checked_sub(CONST_WINDOW),
            _ => None,
        };
        let bytes = place.and_then(|place| self.consts.get(usize::try_from(place).ok()?..));
        let map = bytes.and_then(TensorMap::from_bytes).ok_or_else(|| {
            format!("no tensor map at address {address:#x}: gsim has those that are arguments")
        })?;
        Area::new(&map, at, kind)
    }

    /// Refuses to read pieces of shared memory that nothing was written to.
    fn check_written(&self, source: &Range<usize>) -> Result<(), String> {
        let mut pieces = source.clone().step_by(PIECE);
        let Some(piece) = pieces.find(|piece| !self.shared.is_written(*piece, PIECE)) else {
            return Ok(());
        };
        Err(unwritten_piece(piece))
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

fn unwritten_piece(piece: usize) -> String {
    let what = format!("reads {PIECE} bytes at address {piece:#x} of shared memory");
    format!("{what}, which nothing was written to")
}
