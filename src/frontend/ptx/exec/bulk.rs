//! Bulk copies between global and shared memory, of bytes and of boxes of tensors: they are made at once.
//!
//! Source: PTX ISA 9.0, section 9.7.9 "cp.async.bulk".

use std::ops::Range;

use super::super::program::{AccessKind, AccessSpace, BulkPlace, BulkStep, Reduction};
use super::CONST_WINDOW;
use super::atomic;
use super::mbarrier::{Mbarriers, places, shared_addresses};
use super::memory::{LaneFault, Spaces, addresses, misaligned};
use super::registers::Registers;
use super::tensor::Area;
use crate::isa::{BULK_PIECE, BulkCopy, BulkUse, LaneMask, WARP, WarpStream, lanes};
use crate::workload::{DeviceMemory, TensorMap};

/// What copies are multiples of, in places of memory.
const PIECE: usize = BULK_PIECE as usize;

/// The copy of a lane.
struct Turn {
    lane: usize,
    kind: BulkCopy,
    /// Where it begins in shared memory.
    shared: u64,
    /// The mbarrier at which it arrives.
    mbarrier: u64,
    /// What combines it with what is in global memory.
    reduction: Option<Reduction>,
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
        let nowhere = [0; WARP];
        let shared = step.shared.as_ref().map_or(nowhere, |at| shared_addresses(at, regs));
        let barriers = match &step.mbarrier {
            Some(at) => places(at, mask, regs, self.shared.len() as u64)?,
            None => nowhere,
        };
        let global = match &step.global {
            BulkPlace::Bytes { first, .. } => addresses(first, regs),
            BulkPlace::Box { map, .. } => addresses(map, regs),
        };
        let mut copies = [BulkUse { address: 0, bytes: 0, mbarrier: 0, area: None }; WARP];
        let mut count = 0;
        for lane in lanes(mask) {
            let turn = Turn {
                lane,
                kind: step.kind,
                shared: shared[lane],
                mbarrier: barriers[lane],
                reduction: step.reduction,
            };
            let copied = match &step.global {
                BulkPlace::Bytes { count, .. } => {
                    let bytes = regs.narrow[usize::from(*count)][lane];
                    self.bytes(&turn, global[lane], bytes, mbarriers)?
                }
                BulkPlace::Box { map, coordinates, rank } => {
                    let at = coordinates.map(|row| regs.narrow[usize::from(row)][lane] as i32);
                    let area = self
                        .area(map.space, global[lane], &at[..*rank], step.kind)
                        .map_err(|message| (lane, message))?;
                    Some(self.box_of_tensor(&turn, &area, mbarriers)?)
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
        &Turn { lane, kind, shared, mbarrier, reduction }: &Turn,
        address: u64,
        bytes: u32,
        mbarriers: &mut Mbarriers,
    ) -> Result<Option<BulkUse>, LaneFault> {
        let fault = |message| (lane, message);
        if !bytes.is_multiple_of(BULK_PIECE) {
            let message = format!("a bulk copy of {bytes} bytes, no multiple of {BULK_PIECE}");
            return Err(fault(message));
        }
        let count = u64::from(bytes);
        let (in_global, in_shared) = accesses(kind);
        let place = self.range(AccessSpace::Global, in_global, address, count).map_err(fault)?;
        if bytes == 0 {
            return Ok(None);
        }
        let mut range = || self.range(AccessSpace::Shared, in_shared, shared, count).map_err(fault);
        let mbarrier = match kind {
            BulkCopy::ToShared => {
                let to = range()?;
                self.shared.write(to.start, &self.global.block_mut()[place]);
                mbarriers.complete(lane, mbarrier, bytes, self.shared)?
            }
            BulkCopy::ToGlobal | BulkCopy::Reduce => {
                let source = range()?;
                self.check_written(&source).map_err(fault)?;
                let (to, from) =
                    (&mut self.global.block_mut()[place], &self.shared.bytes()[source]);
                match reduction {
                    Some(Reduction { op, ty }) => {
                        let ty = ty.expect("a reduction of bytes says their type");
                        atomic::combine_all(op, ty, to, from);
                    }
                    None => to.copy_from_slice(from),
                }
                0
            }
            BulkCopy::ToL2 => 0,
        };
        Ok(Some(BulkUse { address, bytes, mbarrier, area: None }))
    }

    /// Copies a box of a tensor.
    fn box_of_tensor(
        &mut self,
        &Turn { lane, kind, shared, mbarrier, reduction }: &Turn,
        area: &Area,
        mbarriers: &mut Mbarriers,
    ) -> Result<BulkUse, LaneFault> {
        let fault = |message| (lane, message);
        let (in_global, in_shared) = accesses(kind);
        if kind != BulkCopy::ToL2 {
            if !shared.is_multiple_of(Area::ALIGN) {
                let what = format!("a box at address {shared:#x} of shared memory");
                let align = Area::ALIGN;
                return Err(fault(format!("{what}, which is not aligned to {align} bytes")));
            }
            self.range(AccessSpace::Shared, in_shared, shared, area.shared_bytes())
                .map_err(fault)?;
        }
        // What is written over the tensor's edge may be behind its buffer, and a map may be made up.
        let copied = area.copied();
        if copied.bytes_copied() > 0 {
            let Range { start, end } = copied.in_global().unwrap_or(0..u64::MAX);
            self.range(AccessSpace::Global, in_global, start, end - start).map_err(fault)?;
        }
        let mbarrier = match kind {
            BulkCopy::ToShared => {
                area.load(shared as usize, self.global.block_mut(), self.shared);
                mbarriers.complete(lane, mbarrier, area.bytes(), self.shared)?
            }
            BulkCopy::ToGlobal | BulkCopy::Reduce => {
                let reduction = reduction.map(|reduction| area.reduction(reduction.op));
                let reduction = reduction.transpose().map_err(fault)?;
                let unwritten =
                    area.store(shared as usize, self.global.block_mut(), self.shared, reduction);
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
        bytes: u64,
    ) -> Result<Range<usize>, String> {
        if !address.is_multiple_of(BULK_PIECE.into()) {
            return Err(misaligned(does, address, BULK_PIECE.into()));
        }
        let end = address.checked_add(bytes);
        let is_inside = end.is_some_and(|end| match space {
            _ if bytes == 0 => true,
            AccessSpace::Shared => end <= self.shared.len() as u64,
            _ => self.in_buffer(address, end),
        });
        if !is_inside {
            return Err(self.outside(space, does, address, bytes));
        }
        let base = if space == AccessSpace::Shared { 0 } else { DeviceMemory::BASE };
        let start = address.wrapping_sub(base) as usize;
        Ok(start..start.wrapping_add(bytes as usize))
    }
}

/// What a copy does in global memory, and in shared memory.
fn accesses(kind: BulkCopy) -> (AccessKind, AccessKind) {
    match kind {
        BulkCopy::ToGlobal | BulkCopy::Reduce => (AccessKind::Store, AccessKind::Load),
        BulkCopy::ToShared | BulkCopy::ToL2 => (AccessKind::Load, AccessKind::Store),
    }
}

fn unwritten_piece(piece: usize) -> String {
    let what = format!("reads {PIECE} bytes at address {piece:#x} of shared memory");
    format!("{what}, which nothing was written to")
}
