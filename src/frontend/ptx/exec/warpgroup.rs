//! Matrix products of warpgroups (`wgmma`). A warp makes its 16 rows of the 64 when it comes to the instruction, eight columns at a time;
//! where it waits for products it waits for the other warps of its group, too, which read the same matrices in shared memory.
//!
//! The first factor has 64 rows, the second one as many columns as the product; both are 32 bytes deep. A matrix in shared memory is made
//! of pieces of 16 bytes, and its descriptor says where they lie: its first byte, two distances, and whether pieces change places within
//! 32, 64 or 128 bytes. Along the depth (or, transposed, across it) these bytes follow each other; eight of them, one for each row (or
//! column), are a block, and blocks lie as far apart as the distances say.
//!
//! Sources: PTX ISA 9.0, section 9.7.15 "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions"; where bytes lie was compared
//! with an H200 for 384 descriptors of all kinds, what the sums are with `mma.sync` on the same card: they are the same bits.

use super::super::ops::matrix::{Element, First, Product, Sum, transposed};
use super::super::program::{FirstFactor, GroupStep};
use super::Fault;
use super::memory::LaneFault;
use super::registers::Registers;
use super::shared::SharedMemory;
use crate::isa::{LaneMask, WARP, WARPGROUP};

/// Rows of a warp.
const ROWS: usize = 16;
/// Columns of the products that one is made of.
const COLUMNS: usize = 8;
/// Bytes of a piece, which stays together.
const PIECE: u64 = 16;
/// Rows, or columns, of a block.
const BLOCK: u64 = 8;

/// Where the elements of a matrix in shared memory lie.
#[derive(Clone, Copy, Debug)]
struct Matrix {
    /// Address of its first byte.
    start: u64,
    /// The two distances [bytes].
    leading: u64,
    stride: u64,
    /// What is taken off the numbers of 128 bytes before pieces change places.
    offset: u64,
    /// Pieces that change places with each other are two to this power: 0 to 3.
    piece_bits: u32,
    /// Rows, or columns, follow each other in a piece, and not what is multiplied with each other.
    is_transposed: bool,
}

impl Matrix {
    /// That of a descriptor.
    fn new(descriptor: u64, is_transposed: bool) -> Self {
        let bytes = |from: u32| (descriptor >> from & 0x3fff) * PIECE;
        Matrix {
            start: bytes(0),
            leading: bytes(16),
            stride: bytes(32),
            offset: descriptor >> 49 & 7,
            piece_bits: [0, 3, 2, 1][(descriptor >> 62) as usize],
            is_transposed,
        }
    }

    /// The address of an element of so many bytes: the one at `depth` in a row, or a column.
    fn address(&self, row: u64, depth: u64, bytes: u64) -> u64 {
        let Matrix { start, leading, stride, piece_bits, .. } = *self;
        let pieces = 1 << piece_bits;
        // The number of the element among those that follow each other, and that of the others.
        let (along, across) = if self.is_transposed { (row, depth) } else { (depth, row) };
        let (piece, within) = (along * bytes / PIECE, along * bytes % PIECE);
        let block = across % BLOCK * PIECE * pieces;
        let far = match (piece_bits, self.is_transposed) {
            (0, false) => piece * leading + across / BLOCK * stride,
            (0, true) => piece * stride + across / BLOCK * leading,
            (_, false) => piece * PIECE + across / BLOCK * stride,
            (_, true) => {
                let (place, turn) = (piece & (pieces - 1), piece >> piece_bits);
                place * PIECE + turn * leading + across / BLOCK * stride
            }
        };
        let address = start + far + block + within;
        let turned = (address >> 7).wrapping_sub(self.offset) & (pieces - 1);
        address ^ (turned * PIECE)
    }

    /// One of the eight pieces that hold eight rows, or columns, from `first` on, a piece deep behind `block` others.
    fn piece(
        &self,
        shared: &SharedMemory,
        number: u64,
        (first, block): (u64, u64),
    ) -> Result<[u8; PIECE as usize], String> {
        // Of 16 bits each: others are not transposed.
        let (address, element) = match self.is_transposed {
            false => (self.address(first + number, PIECE * block, 1), 4),
            true => (self.address(first, BLOCK * block + number, 2), 2),
        };
        let place = address as usize;
        let Some(piece) = shared.bytes().get(place..).and_then(|bytes| bytes.first_chunk()) else {
            let all = shared.len();
            return Err(format!(
                "reads {PIECE} bytes at address {address:#x}, outside the CTA's {all} bytes of shared memory"
            ));
        };
        if !shared.are_all_written(place, PIECE as usize) {
            let mut elements = (place..place + PIECE as usize).step_by(element);
            if let Some(address) = elements.find(|place| !shared.is_written(*place, element)) {
                return Err(format!(
                    "reads {element} bytes at address {address:#x} of shared memory, which nothing was written to"
                ));
            }
        }
        Ok(*piece)
    }
}

/// The products of its warpgroup that a warp has made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Made {
    pub count: u64,
    /// The instruction of the last one.
    pub last: u32,
}

/// Whether the warps of a warpgroup have made as many products, as they make each of them together.
///
/// # Errors
/// Who has made the most, and how many each has.
pub fn check(made: &[Made], group: usize) -> Result<(), Fault> {
    let first = group * WARPGROUP;
    let of_group = &made[first..][..WARPGROUP];
    let counts: Vec<u64> = of_group.iter().map(|made| made.count).collect();
    let most = (0..WARPGROUP).max_by_key(|warp| counts[*warp]).unwrap_or_default();
    if counts.iter().all(|count| *count == counts[most]) {
        return Ok(());
    }
    let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
    let message = format!(
        "the warps of warpgroup {group} make their products together, and have made {} of them",
        counts.join(", ")
    );
    let (pc, warp) = (of_group[most].last, (first + most) as u32);
    Err(Fault { pc, warp, lane: 0, message })
}

impl GroupStep {
    /// Computes the rows of warp number `warp` of a CTA.
    ///
    /// # Errors
    /// The first lane, and what is wrong with a matrix in shared memory.
    pub fn execute(
        &self,
        regs: &mut Registers,
        shared: &SharedMemory,
        warp: usize,
    ) -> Result<(), LaneFault> {
        let mut part = self.part;
        let adds = match regs.preds[usize::from(self.adds.0)] ^ self.adds.1 {
            0 => false,
            LaneMask::MAX => true,
            some => {
                let lane = (some ^ (some & 1).wrapping_neg()).trailing_zeros() as usize;
                let message = "lanes have different predicates for the sums before";
                return Err((lane, message.to_owned()));
            }
        };
        let signs = self.negates.map(|negates| if negates { self.signs() } else { 0 });
        match self.first {
            FirstFactor::Registers(from) => {
                for (to, from) in part.a.into_iter().zip(from) {
                    regs.narrow[usize::from(to)] =
                        regs.narrow[usize::from(from)].map(|bits| bits ^ signs[0]);
                }
            }
            FirstFactor::Shared(descriptor) => {
                let matrix = self.matrix(regs, descriptor, self.transposed[0])?;
                let first = (warp % WARPGROUP * ROWS) as u64;
                for (register, to) in part.a[..part.a_registers()].iter().enumerate() {
                    let (half, block) = (register % 2, register / 2);
                    let first = first + BLOCK * half as u64;
                    read(&matrix, (first, block), shared, &mut regs.narrow[usize::from(*to)])
                        .map_err(|(lane, message)| {
                            (lane, format!("the first factor: {message}"))
                        })?;
                    regs.narrow[usize::from(*to)].iter_mut().for_each(|bits| *bits ^= signs[0]);
                }
            }
        }
        let mut factor = First::none();
        part.read_first(regs, &mut factor);
        let matrix = self.matrix(regs, self.second, self.transposed[1])?;
        let registers = part.sum_registers();
        for (column, sums) in self.sums.chunks(registers).enumerate() {
            for (register, to) in part.b[..part.b_registers()].iter().enumerate() {
                let first = (column * COLUMNS) as u64;
                read(&matrix, (first, register), shared, &mut regs.narrow[usize::from(*to)])
                    .map_err(|(lane, message)| (lane, format!("the second factor: {message}")))?;
                regs.narrow[usize::from(*to)].iter_mut().for_each(|bits| *bits ^= signs[1]);
            }
            part.d[..registers].copy_from_slice(sums);
            part.c = if adds { part.d } else { [self.zero; 4] };
            part.execute_with(&factor, regs);
        }
        Ok(())
    }

    /// The sign bits of a register of factors.
    fn signs(&self) -> u32 {
        match self.part.factors[0].bits() {
            8 => 0x8080_8080,
            16 => 0x8000_8000,
            _ => 0x8000_0000,
        }
    }

    /// The matrix of a descriptor, which is the same in all lanes.
    fn matrix(
        &self,
        regs: &Registers,
        descriptor: u16,
        is_transposed: bool,
    ) -> Result<Matrix, LaneFault> {
        let row = &regs.wide[usize::from(descriptor)];
        match row.iter().position(|other| *other != row[0]) {
            Some(lane) => Err((lane, "lanes have different descriptors of a matrix".to_owned())),
            None => Ok(Matrix::new(row[0], is_transposed)),
        }
    }
}

/// Reads a register of a fragment: of eight rows or columns from `first` on, the block of 16 bytes of that number.
fn read(
    matrix: &Matrix,
    (first, block): (u64, usize),
    shared: &SharedMemory,
    to: &mut [u32; WARP],
) -> Result<(), LaneFault> {
    for (number, words) in to.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let piece = matrix
            .piece(shared, number as u64, (first, block as u64))
            .map_err(|message| (4 * number, message))?;
        for (word, bytes) in words.iter_mut().zip(piece.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
    }
    if matrix.is_transposed {
        *to = transposed(to);
    }
    Ok(())
}

impl Product {
    /// A product of 16 by 8 by 32 bytes, whose factors are put in registers for it.
    pub fn of_warpgroup(
        (depth, factors, sum): (usize, [Element; 2], Sum),
        scratch: [u16; 6],
    ) -> Self {
        let [a0, a1, a2, a3, b0, b1] = scratch;
        Product {
            rows: ROWS,
            depth,
            factors,
            sum,
            d: [0; 4],
            a: [a0, a1, a2, a3, 0, 0, 0, 0],
            b: [b0, b1, 0, 0],
            c: [0; 4],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_lie_where_a_card_has_them() {
        // Start, distances, offset and kind of a descriptor; transposed or not; where an H200 found the elements of 16 bits of row 5 at
        // depth 3, row 12 at depth 9 and row 63 at depth 15.
        let card = [
            ([25600, 1552, 2736, 0, 0], false, [25686, 29954, 46430]),
            ([27648, 256, 736, 0, 0], true, [27706, 28664, 33182]),
            ([19456, 1216, 3152, 7, 1], false, [20198, 23090, 42382]),
            ([6144, 2080, 304, 3, 1], true, [6538, 6600, 7518]),
            ([608, 1888, 656, 2, 2], false, [950, 1570, 5646]),
            ([36864, 1968, 576, 4, 2], true, [37082, 37512, 39902]),
            ([14336, 1616, 640, 2, 3], false, [14518, 15122, 19070]),
            ([30720, 2240, 2480, 7, 3], true, [30842, 33256, 40174]),
        ];
        for ([start, leading, stride, offset, kind], is_transposed, want) in card {
            let fields =
                [(start / 16, 0), (leading / 16, 16), (stride / 16, 32), (offset, 49), (kind, 62)];
            let descriptor = fields.into_iter().fold(0, |all, (field, at)| all | field << at);
            let matrix = Matrix::new(descriptor, is_transposed);
            let places = [(5, 3), (12, 9), (63, 15)];
            let found = places.map(|(row, depth)| matrix.address(row, depth, 2));
            assert_eq!(found, want, "{matrix:?}");
        }
    }
}
