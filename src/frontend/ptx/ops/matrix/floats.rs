//! Matrix products in floating point of up to 32 bits: factors as they lie in the registers, and sums row by row.

use arrayvec::ArrayVec;
use wide::u32x4;

use super::sum::{
    self, Bf16, E4m3, E5m2, Factors, Format, Greatest, Half, Numbers, Row, Single, Tf32,
};
use super::{COLUMNS, Element, MOST_ROWS, Product, QUADS, of_turns};
use crate::frontend::ptx::exec::Registers;
use crate::isa::WARP;

/// What one place of one register holds of eight rows of A: of eight lanes each, that is, of two rows.
pub(super) type FragmentOfA = [Row; WARP / COLUMNS];

/// What one place of one register holds of B: rows, of which the lanes of a column have one each.
pub(super) type FragmentOfB = [Row; QUADS];

/// A factor's fragments: at most eight, where elements have 8 bits.
type Fragments<T> = ArrayVec<T, 8>;

/// A in floating point: fragments of its first eight rows and of the next ones, as they lie in the registers. Several products may
/// have the same.
#[derive(Clone, Debug)]
pub struct First {
    fragments: [Fragments<FragmentOfA>; MOST_ROWS / 8],
    greatest: Greatest,
}

/// B in floating point: its rows in the order of those fragments.
type Second = Fragments<FragmentOfB>;

impl First {
    /// Before anything is put there. Were it a constant, all of it would be written.
    #[inline(always)]
    pub fn none() -> Self {
        First { fragments: [Fragments::new(), Fragments::new()], greatest: Greatest::none() }
    }
}

impl Product {
    /// Reads A, as far as it is in floating point of up to 32 bits. `first` holds nothing yet.
    pub fn read_first(&self, regs: &Registers, first: &mut First) {
        match self.factors[0] {
            Element::F16 => self.put_first(regs, Half::row, first),
            Element::Bf16 => self.put_first(regs, Bf16::row, first),
            Element::Tf32 => self.put_first(regs, Tf32::row, first),
            Element::E4m3 => self.put_first(regs, E4m3::row, first),
            Element::E5m2 => self.put_first(regs, E5m2::row, first),
            Element::F64 | Element::Byte(_) | Element::Bit => {}
        }
    }

    /// Sums of products in half precision, two in a register.
    pub(super) fn in_half_precision(&self, first: &First, regs: &mut Registers) {
        let mut sums = [[0; COLUMNS]; MOST_ROWS];
        for (rows, &register) in sums.as_chunks_mut::<8>().0.iter_mut().zip(self.sums_of(&self.c)) {
            let pairs = regs.narrow[usize::from(register)].as_chunks::<QUADS>().0;
            for (row, pairs) in rows.iter_mut().zip(pairs) {
                *row = in_turn(&pairs.map(|pair| pair & 0xffff), &pairs.map(|pair| pair >> 16));
            }
        }
        match self.factors[0] {
            Element::F16 => self.add_floats::<Half, Half, Half>(first, regs, &mut sums),
            _ => self.add_bytes::<Half>(first, regs, &mut sums),
        }
        for (rows, &register) in sums.as_chunks::<8>().0.iter().zip(self.sums_of(&self.d)) {
            let pairs = regs.narrow[usize::from(register)].as_chunks_mut::<QUADS>().0;
            for (row, pairs) in rows.iter().zip(pairs) {
                let [low, high] = of_turns(row);
                *pairs = std::array::from_fn(|pair| low[pair] | high[pair] << 16);
            }
        }
    }

    /// Sums of products in single precision, of which a lane has two that follow each other in two registers.
    pub(super) fn in_single_precision(&self, first: &First, regs: &mut Registers) {
        let mut sums = [[0; COLUMNS]; MOST_ROWS];
        let registers = self.sums_of(&self.c).as_chunks::<2>().0;
        for (rows, registers) in sums.as_chunks_mut::<8>().0.iter_mut().zip(registers) {
            let [even, odd] =
                registers.map(|row| regs.narrow[usize::from(row)].as_chunks::<QUADS>().0);
            for (row, (even, odd)) in rows.iter_mut().zip(even.iter().zip(odd)) {
                *row = in_turn(even, odd);
            }
        }
        match self.factors[0] {
            Element::F16 => self.add_floats::<Half, Half, Single>(first, regs, &mut sums),
            Element::Bf16 => self.add_floats::<Bf16, Bf16, Single>(first, regs, &mut sums),
            Element::Tf32 => self.add_floats::<Tf32, Tf32, Single>(first, regs, &mut sums),
            _ => self.add_bytes::<Single>(first, regs, &mut sums),
        }
        self.put(regs, &sums);
    }

    /// Adds products of factors of 8 bits, which need not have the same format.
    fn add_bytes<S: Format>(
        &self,
        first: &First,
        regs: &Registers,
        sums: &mut [[u32; COLUMNS]; MOST_ROWS],
    ) {
        use Element::{E4m3 as Four, E5m2 as Five};
        match self.factors {
            [Four, Five] => self.add_floats::<E4m3, E5m2, S>(first, regs, sums),
            [Five, Four] => self.add_floats::<E5m2, E4m3, S>(first, regs, sums),
            [Five, _] => self.add_floats::<E5m2, E5m2, S>(first, regs, sums),
            _ => self.add_floats::<E4m3, E4m3, S>(first, regs, sums),
        }
    }

    /// Puts A in its place in floating point, of rows that `row` makes of bits.
    #[inline(always)]
    fn put_first(
        &self,
        regs: &Registers,
        row: impl Fn([u32; COLUMNS]) -> Row,
        First { fragments, greatest }: &mut First,
    ) {
        let (per, bits) = (self.factors[0].per_register(), self.factors[0].bits());
        for (number, register) in self.a[..self.a_registers()].iter().enumerate() {
            let parts = regs.narrow[usize::from(*register)].as_chunks().0;
            for place in 0..per {
                let mut fragment = [Row::NONE; WARP / COLUMNS];
                for (rows, lanes) in fragment.iter_mut().zip(parts) {
                    *rows = greatest.with(row(lanes.map(|lane| lane >> (bits * place))));
                }
                fragments[number % (self.rows / 8)].push(fragment);
            }
        }
    }

    /// Puts B in its place in floating point, of rows that `row` makes of bits.
    #[inline(always)]
    fn put_second(
        &self,
        regs: &Registers,
        mut row: impl FnMut([u32; COLUMNS]) -> Row,
        second: &mut Second,
    ) {
        let (per, bits) = (self.factors[1].per_register(), self.factors[1].bits());
        for register in &self.b[..self.b_registers()] {
            let quads = by_quads(&regs.narrow[usize::from(*register)]);
            for place in 0..per {
                let mut fragment = [Row::NONE; QUADS];
                for (part, lanes) in fragment.iter_mut().zip(&quads) {
                    *part = row(lanes.map(|lane| lane >> (bits * place)));
                }
                second.push(fragment);
            }
        }
    }

    /// Adds products in floating point.
    #[inline(always)]
    fn add_floats<A: Factors, B: Factors, S: Format>(
        &self,
        first: &First,
        regs: &Registers,
        sums: &mut [[u32; COLUMNS]; MOST_ROWS],
    ) {
        const { assert!(S::ARE_VALUES, "terms are cut off as values") }
        let [mut of_b, mut of_c] = [const { Greatest::none() }; 2];
        let mut b = Second::new();
        self.put_second(regs, |bits| of_b.with(B::row(bits)), &mut b);
        let before = *sums;
        let pairs = sums.as_chunks_mut::<2>().0[..self.rows / 2].iter_mut();
        for (pair, sums) in pairs.enumerate() {
            let terms = [of_c.with(S::row(sums[0])), of_c.with(S::row(sums[1]))];
            let totals = sum::of_rows::<A, B>(&first.fragments[pair / 4], pair % 4, &b, &terms);
            for (sums, totals) in sums.iter_mut().zip(&totals) {
                *sums = S::round(totals, A::KEPT);
            }
        }
        let is_special = first.greatest.reaches(A::INFINITE)
            || of_b.reaches(B::INFINITE)
            || of_c.reaches(S::INFINITE);
        if is_special {
            self.put_special::<A, B, S>(regs, &before, sums);
        }
    }

    /// Puts infinities and NaNs among the sums, where factors or what they were before is not finite.
    #[cold]
    #[inline(never)]
    fn put_special<A: Factors, B: Factors, S: Format>(
        &self,
        regs: &Registers,
        before: &[[u32; COLUMNS]; MOST_ROWS],
        sums: &mut [[u32; COLUMNS]; MOST_ROWS],
    ) {
        let (mut first, mut b) = (First::none(), Second::new());
        self.put_first(regs, A::special_row, &mut first);
        self.put_second(regs, B::special_row, &mut b);
        for (row, (sums, before)) in sums.iter_mut().zip(before).enumerate().take(self.rows) {
            let (a, term) = (&first.fragments[row / 8], S::special_row(*before));
            let special = sum::special_of_row(a, row % 8, &b, &term);
            for (sum, special) in sums.iter_mut().zip(special) {
                if !special.is_finite() {
                    *sum = S::special(special);
                }
            }
        }
    }
}

/// What the lanes of each quad hold, where lane 4 c + q has what quad q has of column c.
#[inline(always)]
fn by_quads(lanes: &[u32; WARP]) -> [[u32; COLUMNS]; QUADS] {
    let of_half = |half: usize| {
        let columns = &lanes.as_chunks::<QUADS>().0[half * QUADS..][..QUADS];
        u32x4::transpose(std::array::from_fn(|column| u32x4::new(columns[column])))
    };
    let [first, second] = [of_half(0), of_half(1)];
    std::array::from_fn(|quad| bytemuck::cast([first[quad], second[quad]]))
}

/// A row whose even and odd columns these are.
#[inline(always)]
fn in_turn(even: &[u32; QUADS], odd: &[u32; QUADS]) -> [u32; COLUMNS] {
    std::array::from_fn(|column| if column % 2 == 0 { even } else { odd }[column / 2])
}
