//! Boxes of tensors: where their rows lie in global and in shared memory, and what of them is there.
//!
//! Source: PTX ISA 9.0, section 5.5 "Tensors"; CUDA driver API 13.0, `cuTensorMapEncodeTiled`; and what an H200 does where neither
//! says: a row begins at a multiple of 16 bytes, rows of a pattern lie as far apart as it is wide, pieces change places by their address
//! in shared memory, a barrier is told of all bytes of the box, and a box that is written begins at no negative coordinate and goes
//! over the tensor's edge up to a multiple of 16 bytes (`results/h200/README.md`).

use super::super::ast::Type;
use super::super::program::AtomicOp;
use super::atomic;
use super::shared::SharedMemory;
use crate::config::kernel::{
    OobFill, Scalar, Swizzle, TENSOR_BOX_BYTES, TENSOR_PIECE, TENSOR_RANK, TensorAxis,
};
use crate::isa::{BULK_AXES, BULK_PIECE, BulkAxis, BulkBox, BulkCopy, BulkUse, MOST_OF_BOX};
use crate::workload::{DeviceMemory, TensorMap};

const PIECE: usize = TENSOR_PIECE as usize;
// What a tensor map allows, a copy can be.
const _: () = assert!(BULK_AXES == TENSOR_RANK - 1 && BULK_PIECE as u64 == TENSOR_PIECE);
const _: () = assert!(TENSOR_BOX_BYTES <= MOST_OF_BOX);
/// What elements outside of the tensor are made of, if they are no zeros.
const NAN: [u8; 2] = 0x7ff7u16.to_le_bytes();

/// A box of a tensor.
pub struct Area {
    copied: BulkUse,
    swizzle: Swizzle,
    oob_fill: OobFill,
    element: Scalar,
}

impl Area {
    /// What its place in shared memory is a multiple of `[bytes]`.
    pub const ALIGN: u64 = 128;

    /// The box whose first element has these coordinates, the innermost first.
    ///
    /// # Errors
    /// Coordinates that no box has.
    pub fn new(map: &TensorMap, at: &[i32], kind: BulkCopy) -> Result<Area, String> {
        if at.len() != map.rank {
            let (given, rank) = (at.len(), map.rank);
            return Err(format!("{given} coordinates of a tensor of {rank} dimensions"));
        }
        let is_written = kind.changes_global();
        if let Some(at) = at.iter().find(|at| **at < 0 && is_written) {
            return Err(format!("writes a box at coordinate {at}: a GPU refuses negative ones"));
        }
        let mut first = [0; TENSOR_RANK];
        first[..at.len()].copy_from_slice(at);
        let size = map.axes[0].stride;
        let begins = i64::from(first[0]) * size as i64;
        if begins % TENSOR_PIECE as i64 != 0 {
            let element = first[0];
            return Err(format!(
                "the box begins at element {element} of a row, which is no multiple of {TENSOR_PIECE} bytes"
            ));
        }
        let (row, outer) = map.axes.split_first().expect("there are five");
        let bytes = u32::from(row.window) * size as u32;
        let (from, to) = inside(row, first[0]);
        let mut inside_row = [from, to].map(|element| u32::from(element) * size as u32);
        // Writes are of whole pieces: the last one may go over the edge.
        if is_written && to > from {
            inside_row[1] = inside_row[1].next_multiple_of(TENSOR_PIECE as u32);
        }
        let mut rows = BulkBox {
            inside: inside_row.into(),
            pitch: map.swizzle.span().map_or(bytes as u16, |span| span as u16),
            parts_halves: kind == BulkCopy::ToShared,
            axes: [BulkAxis::NONE; BULK_AXES],
        };
        let mut address = map.address.wrapping_add_signed(begins);
        for ((axis, of_map), at) in rows.axes.iter_mut().zip(outer).zip(&first[1..]) {
            *axis = BulkAxis {
                count: of_map.copied(),
                inside: inside(of_map, *at),
                stride: of_map.stride * u64::from(of_map.step),
            };
            let offset = i64::from(*at).wrapping_mul(of_map.stride as i64);
            address = address.wrapping_add_signed(offset);
        }
        let copied = BulkUse { address, bytes, mbarrier: 0, area: Some(rows) };
        let TensorMap { swizzle, oob_fill, element, .. } = *map;
        Ok(Area { copied, swizzle, oob_fill, element })
    }

    /// An operation on its elements.
    ///
    /// # Errors
    /// One that elements of this type have not.
    pub fn reduction(&self, op: AtomicOp) -> Result<(AtomicOp, Type), String> {
        let bits = matches!(op, AtomicOp::And | AtomicOp::Or | AtomicOp::Xor);
        let ty = match self.element {
            Scalar::U32 | Scalar::I32 if bits => Type::B32,
            Scalar::U64 | Scalar::I64 if bits => Type::B64,
            Scalar::U32 => Type::U32,
            Scalar::I32 => Type::S32,
            Scalar::U64 => Type::U64,
            Scalar::I64 => Type::S64,
            Scalar::F16 => Type::F16,
            Scalar::BF16 => Type::Bf16,
            Scalar::F32 => Type::F32,
            Scalar::F64 => Type::F64,
            _ => Type::B8,
        };
        match op.combines_in_bulk(ty) {
            true => Ok((op, ty)),
            false => {
                let name = format!("{op:?}").to_lowercase();
                Err(format!("`{name}` of a tensor of {}, which bulk copies have not", self.element))
            }
        }
    }

    /// How the copy is recorded, but for its mbarrier.
    pub fn copied(&self) -> BulkUse {
        self.copied
    }

    fn rows(&self) -> &BulkBox {
        self.copied.area.as_ref().expect("it is the copy of a box")
    }

    fn count(&self) -> u64 {
        self.rows().axes.iter().map(|axis| u64::from(axis.count)).product()
    }

    /// Bytes of the box, with those that lie outside of the tensor. Shared memory has room for them, so that they are few.
    pub fn bytes(&self) -> u32 {
        (self.count() * u64::from(self.copied.bytes)) as u32
    }

    /// Bytes of shared memory from its first one to the last one of its last row.
    pub fn shared_bytes(&self) -> u64 {
        self.count() * u64::from(self.rows().pitch)
    }

    /// Calls `see` with each piece of 16 bytes: where it lies in shared memory, and in the block of global memory the bytes that are there,
    /// with where they begin in the piece.
    fn for_each_piece<E>(
        &self,
        shared: usize,
        mut see: impl FnMut(usize, usize, std::ops::Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        let rows = self.rows();
        let (from, to) = (rows.inside.0 as usize, rows.inside.1 as usize);
        let mut next = Some([0; BULK_AXES]);
        let mut row_in_shared = shared;
        while let Some(row) = next {
            let (is_there, start) = (rows.holds(row), self.copied.start_of(row));
            for at in (0..self.copied.bytes as usize).step_by(PIECE) {
                let place = (row_in_shared + at) as u64;
                let (first, end) = match is_there {
                    true => (from.clamp(at, at + PIECE), to.clamp(at, at + PIECE)),
                    false => (at, at),
                };
                let global = start.wrapping_sub(DeviceMemory::BASE) as usize;
                let there = global.wrapping_add(first)..global.wrapping_add(end.max(first));
                see(self.swizzle.place(place) as usize, first - at, there)?;
            }
            row_in_shared += usize::from(rows.pitch);
            next = rows.behind(row);
        }
        Ok(())
    }

    /// Brings it to shared memory.
    pub fn load(&self, shared: usize, global: &[u8], to: &mut SharedMemory) {
        let outside: [u8; PIECE] = match self.oob_fill {
            OobFill::Zero => [0; PIECE],
            OobFill::Nan => std::array::from_fn(|byte| NAN[byte % NAN.len()]),
        };
        let Ok(()) = self.for_each_piece(shared, |place, first, there| {
            let mut piece = outside;
            if !there.is_empty() {
                piece[first..][..there.len()].copy_from_slice(&global[there]);
            }
            to.write(place, &piece);
            Ok::<_, std::convert::Infallible>(())
        });
    }

    /// Takes from shared memory what of it lies in the tensor, or combines it with that.
    ///
    /// # Errors
    /// A piece of shared memory that nothing was written to.
    pub fn store(
        &self,
        shared: usize,
        global: &mut [u8],
        from: &SharedMemory,
        reduction: Option<(AtomicOp, Type)>,
    ) -> Result<(), usize> {
        self.for_each_piece(shared, |place, first, there| {
            if there.is_empty() {
                return Ok(());
            }
            if !from.is_written(place, PIECE) {
                return Err(place);
            }
            let from = &from.bytes()[place + first..][..there.len()];
            match reduction {
                Some((op, ty)) => atomic::combine_all(op, ty, &mut global[there], from),
                None => global[there].copy_from_slice(from),
            }
            Ok(())
        })
    }
}

/// Which of the elements that a box has along an axis lie in the tensor, where the first one has coordinate `at`: from one up to another.
fn inside(axis: &TensorAxis, at: i32) -> (u16, u16) {
    let (at, step) = (i64::from(at), i64::from(axis.step));
    // Elements in front of a coordinate.
    let before = |coordinate: i64| {
        let count = (coordinate - at).max(0) as u64;
        count.div_ceil(step as u64).min(axis.copied().into()) as u16
    };
    (before(0), before(axis.size as i64))
}
