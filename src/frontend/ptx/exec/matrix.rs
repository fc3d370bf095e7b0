//! Matrices between shared memory and the registers of a warp (`ldmatrix`, `stmatrix`).
//!
//! Lane 4 r + c holds numbers 2 c and 2 c + 1 of row r of each matrix; of a transposed one those of column r.
//!
//! Source: PTX ISA 9.0, section 9.7.14.5 "ldmatrix", "stmatrix".

use super::super::ops::matrix::transposed;
use super::super::program::{AccessKind, AccessSpace, Matrices};
use super::memory::{LaneFault, Order, Spaces, addresses};
use super::registers::Registers;
use crate::isa::{LaneMask, WARP, WarpStream};

/// Bytes of a row.
const ROW: usize = 16;

/// What is wrong where lanes of a warp do not execute an instruction that all of them must.
#[cold]
pub fn lanes_missing(mask: LaneMask) -> String {
    let lanes = mask.count_ones();
    format!("all {WARP} lanes of the warp must execute this together, and {lanes} do")
}

impl Spaces<'_> {
    /// Reads or writes matrices, and records the addresses of their rows.
    pub fn matrices(
        &mut self,
        matrices: &Matrices,
        regs: &mut Registers,
        mask: LaneMask,
        stream: &mut WarpStream,
    ) -> Result<(), LaneFault> {
        if mask == 0 {
            stream.push_affine(0, 0, 0);
            return Ok(());
        }
        if mask != LaneMask::MAX {
            return Err((mask.trailing_zeros() as usize, lanes_missing(mask)));
        }
        let Matrices { access, count, is_transposed } = matrices;
        let named = LaneMask::MAX >> (WARP - 8 * usize::from(*count));
        let mut addresses = addresses(access, regs);
        let space = match access.space {
            AccessSpace::Generic => self.window(named, &mut addresses),
            space => Some(space),
        };
        if space != Some(AccessSpace::Shared) {
            return Err((0, "the rows of a matrix are not in shared memory".to_owned()));
        }
        let (space, order) = (AccessSpace::Shared, Order::Unknown);
        let places = self.check(space, access.kind, &addresses, ROW as u64, named, order)?;
        self.follow(access, &addresses, &places, named)?;
        let memory = self.shared.bytes_mut();
        for (matrix, register) in access.regs[..usize::from(*count)].iter().enumerate() {
            let register = &mut regs.narrow[usize::from(*register)];
            let mut pairs = *register;
            if *is_transposed && access.kind == AccessKind::Store {
                pairs = transposed(&pairs);
            }
            for (row, pairs) in pairs.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let at = places.of(8 * matrix + row);
                for (bytes, pair) in memory[at..at + ROW].as_chunks_mut().0.iter_mut().zip(pairs) {
                    match access.kind {
                        AccessKind::Store => *bytes = pair.to_le_bytes(),
                        _ => *pair = u32::from_le_bytes(*bytes),
                    }
                }
            }
            match access.kind {
                AccessKind::Store => {}
                _ if *is_transposed => *register = transposed(&pairs),
                _ => *register = pairs,
            }
        }
        self.record(access.space, space, &addresses, named, order, stream);
        Ok(())
    }
}
