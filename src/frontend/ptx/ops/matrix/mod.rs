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

mod sum;

use sum::{Bf16, E4m3, E5m2, Factors, Format, Greatest, Half, Row, Single, Tf32};

use super::super::exec::{Bits, Registers, write};
use super::super::program::Micro;
use crate::isa::{LaneMask, WARP};

/// Columns of a product.
const COLUMNS: usize = 8;

/// The most rows of a product.
const MOST_ROWS: usize = 16;

/// Lanes with elements of a row of A, or of a column of B, in one register.
const QUADS: usize = 4;

/// Fragments of A and B, of half and single precision, at most; and of 8 bits.
const FRAGMENTS: usize = 4;
const BYTE_FRAGMENTS: usize = 8;

/// What one place of one register holds of eight rows of A: of eight lanes each, that is, of two rows.
type FragmentOfA = [Row; WARP / COLUMNS];

/// What one place of one register holds of B: rows, of which the lanes of a column have one each.
type FragmentOfB = [Row; QUADS];

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
        match self.sum {
            Sum::F64 => self.in_double_precision(regs),
            Sum::F16 => self.in_half_precision(regs),
            Sum::F32 => self.in_single_precision(regs),
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

    /// Writes D.
    fn put<T: Bits>(&self, regs: &mut Registers, sums: &[[T; COLUMNS]; MOST_ROWS]) {
        for register in 0..self.sum_registers() {
            *T::row_mut(regs, self.d[register]) = std::array::from_fn(|lane| {
                sums[lane / 4 + 8 * (register / 2)][lane % 4 * 2 + register % 2]
            });
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

    /// Sums of products in half precision, two in a register.
    fn in_half_precision(&self, regs: &mut Registers) {
        let mut c = [[0; COLUMNS]; MOST_ROWS];
        for register in 0..self.sum_registers() {
            let pairs = &regs.narrow[usize::from(self.c[register])];
            for (lane, pair) in pairs.iter().enumerate() {
                let row = &mut c[8 * register + lane / 4];
                (row[lane % 4 * 2], row[lane % 4 * 2 + 1]) = (pair & 0xffff, pair >> 16);
            }
        }
        let sums = match self.factors[0] {
            Element::F16 => self.sums_of_floats::<Half, Half, Half, FRAGMENTS>(regs, &c),
            _ => self.sums_of_bytes::<Half>(regs, &c),
        };
        for register in 0..self.sum_registers() {
            let pairs = &mut regs.narrow[usize::from(self.d[register])];
            for (lane, pair) in pairs.iter_mut().enumerate() {
                let row = &sums[8 * register + lane / 4];
                *pair = row[lane % 4 * 2] | row[lane % 4 * 2 + 1] << 16;
            }
        }
    }

    /// Sums of products in single precision.
    fn in_single_precision(&self, regs: &mut Registers) {
        let mut c = [[0; COLUMNS]; MOST_ROWS];
        for register in 0..self.sum_registers() {
            let numbers = &regs.narrow[usize::from(self.c[register])];
            for (lane, number) in numbers.iter().enumerate() {
                c[8 * (register / 2) + lane / 4][lane % 4 * 2 + register % 2] = *number;
            }
        }
        let sums = match self.factors[0] {
            Element::F16 => self.sums_of_floats::<Half, Half, Single, FRAGMENTS>(regs, &c),
            Element::Bf16 => self.sums_of_floats::<Bf16, Bf16, Single, FRAGMENTS>(regs, &c),
            Element::Tf32 => self.sums_of_floats::<Tf32, Tf32, Single, FRAGMENTS>(regs, &c),
            _ => self.sums_of_bytes::<Single>(regs, &c),
        };
        self.put(regs, &sums);
    }

    /// Sums of products of factors of 8 bits, which need not have the same format, and of C.
    fn sums_of_bytes<S: Format>(
        &self,
        regs: &Registers,
        c: &[[u32; COLUMNS]; MOST_ROWS],
    ) -> [[u32; COLUMNS]; MOST_ROWS] {
        use Element::{E4m3 as Four, E5m2 as Five};
        match self.factors {
            [Four, Five] => self.sums_of_floats::<E4m3, E5m2, S, BYTE_FRAGMENTS>(regs, c),
            [Five, Four] => self.sums_of_floats::<E5m2, E4m3, S, BYTE_FRAGMENTS>(regs, c),
            [Five, _] => self.sums_of_floats::<E5m2, E5m2, S, BYTE_FRAGMENTS>(regs, c),
            _ => self.sums_of_floats::<E4m3, E4m3, S, BYTE_FRAGMENTS>(regs, c),
        }
    }

    /// A in floating point: fragments of its first eight rows and of the next ones, as they lie in the registers.
    #[inline(always)]
    fn fragments_of_a<const MOST: usize>(
        &self,
        regs: &Registers,
        mut row: impl FnMut([u32; COLUMNS]) -> Row,
    ) -> [[FragmentOfA; MOST]; MOST_ROWS / 8] {
        let (per, blocks_of_rows) = (self.factors[0].per_register(), self.rows / 8);
        let bits = self.factors[0].bits();
        let mut a = [[[Row::ZERO; WARP / COLUMNS]; MOST]; MOST_ROWS / 8];
        for register in 0..self.a_registers() {
            let lanes = &regs.narrow[usize::from(self.a[register])];
            let first = per * (register / blocks_of_rows);
            let fragments = &mut a[register % blocks_of_rows][first..first + per];
            for (place, fragment) in fragments.iter_mut().enumerate() {
                for (part, lanes) in fragment.iter_mut().zip(lanes.as_chunks().0) {
                    *part = row(lanes.map(|lane| lane >> (bits * place)));
                }
            }
        }
        a
    }

    /// B in floating point: its rows in the order of those fragments.
    #[inline(always)]
    fn fragments_of_b<const MOST: usize>(
        &self,
        regs: &Registers,
        mut row: impl FnMut([u32; COLUMNS]) -> Row,
    ) -> [FragmentOfB; MOST] {
        let (per, bits_of_one) = (self.factors[1].per_register(), self.factors[1].bits());
        let mut b = [[Row::ZERO; QUADS]; MOST];
        for (register, fragments) in b.chunks_mut(per).take(self.b_registers()).enumerate() {
            let lanes = &regs.narrow[usize::from(self.b[register])];
            for (place, fragment) in fragments.iter_mut().enumerate() {
                for (quad, part) in fragment.iter_mut().enumerate() {
                    let mut bits = [0; COLUMNS];
                    for (number, lanes) in bits.iter_mut().zip(lanes.as_chunks::<QUADS>().0) {
                        *number = lanes[quad] >> (bits_of_one * place);
                    }
                    *part = row(bits);
                }
            }
        }
        b
    }

    /// Sums of products in floating point, and of C.
    #[inline(always)]
    fn sums_of_floats<A: Factors, B: Factors, S: Format, const MOST: usize>(
        &self,
        regs: &Registers,
        c: &[[u32; COLUMNS]; MOST_ROWS],
    ) -> [[u32; COLUMNS]; MOST_ROWS] {
        let [mut of_a, mut of_b, mut terms] = [const { Greatest::none() }; 3];
        let a = self.fragments_of_a::<MOST>(regs, |bits| of_a.with(A::row(bits)));
        let b = self.fragments_of_b::<MOST>(regs, |bits| of_b.with(B::row(bits)));
        let b = &b[..self.depth / QUADS];
        let mut sums = [[0; COLUMNS]; MOST_ROWS];
        for (row, (sums, c)) in sums.iter_mut().zip(c).enumerate().take(self.rows) {
            let totals = sum::of_row::<A, B>(&a[row / 8], row % 8, b, &terms.with(S::row(*c)));
            *sums = S::round(&totals, A::KEPT);
        }
        let is_special =
            of_a.reaches(A::INFINITE) || of_b.reaches(B::INFINITE) || terms.reaches(S::INFINITE);
        if is_special {
            self.put_special::<A, B, S, MOST>(regs, c, &mut sums);
        }
        sums
    }

    /// Puts infinities and NaNs among sums, where factors or terms are not finite.
    #[cold]
    fn put_special<A: Factors, B: Factors, S: Format, const MOST: usize>(
        &self,
        regs: &Registers,
        c: &[[u32; COLUMNS]; MOST_ROWS],
        sums: &mut [[u32; COLUMNS]; MOST_ROWS],
    ) {
        let a = self.fragments_of_a::<MOST>(regs, A::special_row);
        let b = self.fragments_of_b::<MOST>(regs, B::special_row);
        let b = &b[..self.depth / QUADS];
        for (row, (sums, c)) in sums.iter_mut().zip(c).enumerate().take(self.rows) {
            let special = sum::special_of_row(&a[row / 8], row % 8, b, &S::row(*c));
            for (sum, special) in sums.iter_mut().zip(special) {
                if !special.is_finite() {
                    *sum = S::special(special);
                }
            }
        }
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
