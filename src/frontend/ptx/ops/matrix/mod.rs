//! Matrix products of a warp (`mma.sync`): D = A B + C.
//!
//! A has `rows` by `depth` elements, B `depth` by 8, C and D `rows` by 8. A lane holds a fragment of each: with `group = lane / 4` and
//! `place = lane % 4`,
//!
//! * of A, register r: elements of row `group + 8 (r % 2)`, or `group` where there are 8 rows, as many as a register holds from
//!   column `4 per (r / 2) + per place` on;
//! * of B, register r: those of column `group` from row `4 per r + per place` on;
//! * of C and D: row `group + 8 (i / 2)`, column `2 place + i % 2` of number i.
//!
//! Sources: PTX ISA 9.0, section 9.7.14 "Warp Level Matrix Multiply-Accumulate Instructions"; the arithmetic is in `sum`.

mod floats;
mod sum;

pub use floats::First;

use super::super::exec::{Bits, Registers, write};
use super::super::program::Micro;
use crate::isa::{LaneMask, WARP};

/// Columns of a product.
const COLUMNS: usize = 8;

/// The most rows of a product.
const MOST_ROWS: usize = 16;

/// Lanes with elements of a row of A, or of a column of B, in one register.
const QUADS: usize = 4;

/// The most columns of A, of whole numbers.
const MOST_DEPTH: usize = 32;

/// The type of the elements of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Half precision.
    F16,
    /// The format with the exponents of single precision and 8 bits.
    Bf16,
    /// The same with 11 bits, in 32.
    Tf32,
    /// Double precision.
    F64,
    /// Floating point of 8 bits, four of them for the exponent.
    E4m3,
    /// The same with five for the exponent.
    E5m2,
    /// Whole numbers of 8 bits, with a sign or without.
    Byte(bool),
    /// Bits.
    Bit,
}

impl Element {
    /// Its size.
    pub fn bits(self) -> usize {
        match self {
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 => 32,
            Element::F64 => 64,
            Element::E4m3 | Element::E5m2 | Element::Byte(_) => 8,
            Element::Bit => 1,
        }
    }

    /// Whether it is floating point of 8 bits.
    pub fn is_short(self) -> bool {
        matches!(self, Element::E4m3 | Element::E5m2)
    }

    /// Elements in a register.
    fn per_register(self) -> usize {
        32 / self.bits().min(32)
    }
}

/// How products are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// In half precision, two sums in a register.
    F16,
    /// In single precision.
    F32,
    /// In double precision.
    F64,
    /// In 32 bits with a sign, held at the ends of the range or not.
    S32 {
        /// `.satfinite`
        saturates: bool,
    },
    /// The bits that both factors have are counted, in 32 bits.
    CommonBits,
}

/// A matrix product.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Rows of A, C and D: 8 or 16.
    pub rows: usize,
    /// Columns of A, rows of B.
    pub depth: usize,
    /// Elements of A and B.
    pub factors: [Element; 2],
    /// What C and D hold.
    pub sum: Sum,
    /// Register rows of D.
    pub d: [u16; 4],
    /// Register rows of A.
    pub a: [u16; 8],
    /// Register rows of B.
    pub b: [u16; 4],
    /// Register rows of C.
    pub c: [u16; 4],
}

impl Product {
    /// Registers of a lane's fragment of A.
    pub fn a_registers(&self) -> usize {
        self.rows * self.depth / WARP / self.factors[0].per_register()
    }

    /// Registers of a lane's fragment of B.
    pub fn b_registers(&self) -> usize {
        self.depth * COLUMNS / WARP / self.factors[1].per_register()
    }

    /// Registers of a lane's fragment of C, and of D.
    pub fn sum_registers(&self) -> usize {
        let numbers = self.rows * COLUMNS / WARP;
        if self.sum == Sum::F16 { numbers / 2 } else { numbers }
    }

    /// Computes D, for all lanes.
    pub fn execute(&self, regs: &mut Registers) {
        let mut first = First::none();
        self.read_first(regs, &mut first);
        self.execute_with(&first, regs);
    }

    /// Computes D, for all lanes; `first` is what [`Product::read_first`] reads of the same A.
    pub fn execute_with(&self, first: &First, regs: &mut Registers) {
        match self.sum {
            Sum::F64 => self.in_double_precision(regs),
            Sum::F16 => self.in_half_precision(first, regs),
            Sum::F32 => self.in_single_precision(first, regs),
            Sum::S32 { saturates } => self.in_integers(regs, |a, b, c| {
                let products = a.iter().zip(b).map(|(a, b)| i64::from(*a) * i64::from(*b));
                let sum = i64::from(c as i32) + products.sum::<i64>();
                match saturates {
                    true => sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
                    false => sum as u32,
                }
            }),
            Sum::CommonBits => self.in_bits(regs),
        }
    }

    /// C as it is before.
    fn sum_before(&self, regs: &Registers, row: usize, column: usize) -> u32 {
        regs.narrow[usize::from(self.c[2 * (row / 8) + column % 2])][lane_of_sum(row, column)]
    }

    /// The registers of sums, of C or D.
    fn sums_of<'a>(&self, registers: &'a [u16; 4]) -> &'a [u16] {
        &registers[..self.sum_registers()]
    }

    /// Writes D, of which a lane has two numbers that follow each other in two registers.
    fn put<T: Bits>(&self, regs: &mut Registers, sums: &[[T; COLUMNS]; MOST_ROWS]) {
        for (number, &register) in self.sums_of(&self.d).iter().enumerate() {
            let rows = &sums.as_chunks::<8>().0[number / 2];
            let quads = T::row_mut(regs, register).as_chunks_mut::<QUADS>().0;
            for (row, lanes) in rows.iter().zip(quads) {
                *lanes = of_turns(row)[number % 2];
            }
        }
    }

    /// Where an element of A is: its register, its lane, and its place in the register.
    #[inline]
    fn place_in_a(&self, row: usize, column: usize) -> (usize, usize, usize) {
        let per = self.factors[0].per_register();
        let block = column / (4 * per);
        let register = if self.rows == 8 { block } else { 2 * block + row / 8 };
        (register, row % 8 * 4 + column / per % 4, column % per)
    }

    /// Where an element of B is.
    #[inline]
    fn place_in_b(&self, row: usize, column: usize) -> (usize, usize, usize) {
        let per = self.factors[1].per_register();
        (row / (4 * per), column * 4 + row / per % 4, row % per)
    }

    /// One fused multiply-add after the other, in the order of the columns of A.
    fn in_double_precision(&self, regs: &mut Registers) {
        let read = |row: u16, lane: usize| f64::from_bits(regs.wide[usize::from(row)][lane]);
        let mut sums = [[0; COLUMNS]; MOST_ROWS];
        for (row, sums) in sums.iter_mut().enumerate().take(self.rows) {
            for (column, sum) in sums.iter_mut().enumerate() {
                let before = self.c[2 * (row / 8) + column % 2];
                let before = read(before, lane_of_sum(row, column));
                let all = (0..self.depth).fold(before, |sum, at| {
                    let ((a, lane_of_a, _), (b, lane_of_b, _)) =
                        (self.place_in_a(row, at), self.place_in_b(at, column));
                    read(self.a[a], lane_of_a).mul_add(read(self.b[b], lane_of_b), sum)
                });
                *sum = all.to_bits();
            }
        }
        self.put(regs, &sums);
    }

    /// Products of whole numbers: `sum` has a row of A, a column of B, and C.
    fn in_integers(&self, regs: &mut Registers, sum: impl Fn(&[i16], &[i16], u32) -> u32) {
        let read = |row: u16, (lane, place): (usize, usize), element: Element| {
            let bits = regs.narrow[usize::from(row)][lane] >> (place * element.bits());
            match element {
                Element::Byte(true) => i16::from(bits as i8),
                _ => i16::from(bits as u8),
            }
        };
        let mut a = [0; MOST_ROWS * MOST_DEPTH];
        let mut b = [0; COLUMNS * MOST_DEPTH];
        let rows_of_a = &mut a[..self.rows * self.depth];
        let columns_of_b = &mut b[..COLUMNS * self.depth];
        for (at, number) in rows_of_a.iter_mut().enumerate() {
            let (register, lane, place) = self.place_in_a(at / self.depth, at % self.depth);
            *number = read(self.a[register], (lane, place), self.factors[0]);
        }
        for (at, number) in columns_of_b.iter_mut().enumerate() {
            let (register, lane, place) = self.place_in_b(at % self.depth, at / self.depth);
            *number = read(self.b[register], (lane, place), self.factors[1]);
        }
        let mut sums = [[0; COLUMNS]; MOST_ROWS];
        for (row, a) in rows_of_a.chunks(self.depth).enumerate() {
            for (column, b) in columns_of_b.chunks(self.depth).enumerate() {
                sums[row][column] = sum(a, b, self.sum_before(regs, row, column));
            }
        }
        self.put(regs, &sums);
    }

    /// Counts the bits that a row of A and a column of B have in common.
    fn in_bits(&self, regs: &mut Registers) {
        let mut sums = [[0; COLUMNS]; MOST_ROWS];
        for (row, sums) in sums.iter_mut().enumerate().take(self.rows) {
            for (column, sum) in sums.iter_mut().enumerate() {
                let words = (0..self.depth).step_by(32);
                let bits = words.map(|at| {
                    let ((a, lane_of_a, _), (b, lane_of_b, _)) =
                        (self.place_in_a(row, at), self.place_in_b(at, column));
                    let a = regs.narrow[usize::from(self.a[a])][lane_of_a];
                    let b = regs.narrow[usize::from(self.b[b])][lane_of_b];
                    (a & b).count_ones()
                });
                *sum = self.sum_before(regs, row, column).wrapping_add(bits.sum());
            }
        }
        self.put(regs, &sums);
    }
}

/// The even columns of a row, and the odd ones.
#[inline(always)]
fn of_turns<T: Copy>(row: &[T; COLUMNS]) -> [[T; QUADS]; 2] {
    [0, 1].map(|turn| std::array::from_fn(|pair| row[2 * pair + turn]))
}

/// Transposes a matrix of 8 by 8 numbers of 16 bits: lane 4 r + c holds numbers 2 c and 2 c + 1 of row r.
pub fn transposed(pairs: &[u32; WARP]) -> [u32; WARP] {
    let mut transposed = [0; WARP];
    for (row, lanes) in transposed.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        for (lane, pair) in lanes.iter_mut().enumerate() {
            let from = 8 * lane + row / 2;
            let [low, high] = [pairs[from], pairs[from + 4]];
            *pair = match row % 2 {
                0 => low & 0xffff | high << 16,
                _ => low >> 16 | high & 0xffff_0000,
            };
        }
    }
    transposed
}

/// `movmatrix`.
pub fn transpose(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let transposed = transposed(&regs.narrow[usize::from(micro.ops[1])]);
    write(&mut regs.narrow[usize::from(micro.ops[0])], mask, &transposed);
}

/// The lane that holds a number of C and D.
#[inline]
fn lane_of_sum(row: usize, column: usize) -> usize {
    row % 8 * 4 + column / 2
}
