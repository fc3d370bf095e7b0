//! Registers of a warp: a row of 32 lanes for each, and how values are read from the rows.
//!
//! Registers of up to 32 bits share one file of `u32` rows, 64-bit ones have a file of `u64` rows, and
//! a predicate is a [`LaneMask`]. Constants, kernel parameters and special registers have rows of
//! their own, so an operand is always the number of a row.

use super::super::program::Micro;
use crate::isa::{LaneMask, WARP};

/// The registers of one warp.
pub struct Registers<'a> {
    /// Rows of up to 32 bits a lane.
    pub narrow: &'a mut [[u32; WARP]],
    /// Rows of 64 bits a lane.
    pub wide: &'a mut [[u64; WARP]],
    /// Predicates.
    pub preds: &'a mut [LaneMask],
}

impl Registers<'_> {
    /// The lanes of `mask` for which an instruction's guard holds.
    #[inline(always)]
    pub fn guarded(&self, micro: &Micro, mask: LaneMask) -> LaneMask {
        mask & (self.preds[usize::from(micro.guard)] ^ micro.guard_flip)
    }
}

/// What an operand's row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Up to 32 bits.
    Narrow,
    /// A single-precision number.
    F32,
    /// 64 bits.
    Wide,
    /// A double-precision number.
    F64,
    /// A predicate.
    Pred,
}

/// An element of a row.
pub trait Bits: Copy + Default {
    /// The row of that number.
    fn row<'a>(regs: &'a Registers, row: u16) -> &'a [Self; WARP];
    /// The row of that number, for change.
    fn row_mut<'a>(regs: &'a mut Registers, row: u16) -> &'a mut [Self; WARP];
}

impl Bits for u32 {
    #[inline(always)]
    fn row<'a>(regs: &'a Registers, row: u16) -> &'a [u32; WARP] {
        &regs.narrow[usize::from(row)]
    }

    #[inline(always)]
    fn row_mut<'a>(regs: &'a mut Registers, row: u16) -> &'a mut [u32; WARP] {
        &mut regs.narrow[usize::from(row)]
    }
}

impl Bits for u64 {
    #[inline(always)]
    fn row<'a>(regs: &'a Registers, row: u16) -> &'a [u64; WARP] {
        &regs.wide[usize::from(row)]
    }

    #[inline(always)]
    fn row_mut<'a>(regs: &'a mut Registers, row: u16) -> &'a mut [u64; WARP] {
        &mut regs.wide[usize::from(row)]
    }
}

/// A type of values, and how they lie in a row.
pub trait Lane {
    /// What arithmetic works on.
    type Value: Copy;
    /// What the row holds.
    type Row: Bits;
    /// The kind of such rows.
    const KIND: Kind;
    /// Reads a value.
    fn get(bits: Self::Row) -> Self::Value;
    /// Writes a value; values narrower than the register are extended by their sign.
    fn put(value: Self::Value) -> Self::Row;
}

macro_rules! integer_lanes {
    ($($ty:ident in $row:ident as $kind:ident),*) => {$(
        impl Lane for $ty {
            type Value = $ty;
            type Row = $row;
            const KIND: Kind = Kind::$kind;

            #[inline(always)]
            fn get(bits: $row) -> $ty {
                bits as $ty
            }

            #[inline(always)]
            fn put(value: $ty) -> $row {
                value as $row
            }
        }
    )*};
}

integer_lanes!(
    u8 in u32 as Narrow, i8 in u32 as Narrow, u16 in u32 as Narrow, i16 in u32 as Narrow,
    u32 in u32 as Narrow, i32 in u32 as Narrow, u64 in u64 as Wide, i64 in u64 as Wide
);

/// The NaN that single-precision instructions produce.
///
/// Source: PTX ISA 9.0, section 9.7.3 "Floating Point Instructions".
const NAN: u32 = 0x7fff_ffff;

impl Lane for f32 {
    type Value = f32;
    type Row = u32;
    const KIND: Kind = Kind::F32;

    #[inline(always)]
    fn get(bits: u32) -> f32 {
        f32::from_bits(bits)
    }

    #[inline(always)]
    fn put(value: f32) -> u32 {
        if value.is_nan() { NAN } else { value.to_bits() }
    }
}

/// Single precision with subnormal operands and results flushed to zero (`.ftz`).
pub struct Flushed;

/// Zero of the same sign in place of a subnormal number.
#[inline(always)]
pub fn flush(value: f32) -> f32 {
    if value.abs() < f32::MIN_POSITIVE { 0f32.copysign(value) } else { value }
}

impl Lane for Flushed {
    type Value = f32;
    type Row = u32;
    const KIND: Kind = Kind::F32;

    #[inline(always)]
    fn get(bits: u32) -> f32 {
        flush(f32::from_bits(bits))
    }

    #[inline(always)]
    fn put(value: f32) -> u32 {
        <f32 as Lane>::put(flush(value))
    }
}

impl Lane for f64 {
    type Value = f64;
    type Row = u64;
    const KIND: Kind = Kind::F64;

    #[inline(always)]
    fn get(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    #[inline(always)]
    fn put(value: f64) -> u64 {
        value.to_bits()
    }
}

/// Writes the lanes of `mask`.
#[inline(always)]
pub fn write<T: Copy>(row: &mut [T; WARP], mask: LaneMask, values: &[T; WARP]) {
    if mask == !0 {
        *row = *values;
        return;
    }
    for lane in 0..WARP {
        row[lane] = if mask & (1 << lane) != 0 { values[lane] } else { row[lane] };
    }
}

/// Packs a truth value a lane into a mask.
#[inline(always)]
pub fn pack(truth: &[bool; WARP]) -> LaneMask {
    let mut mask = 0;
    for (byte, eight) in truth.as_chunks::<8>().0.iter().enumerate() {
        let bytes = u64::from_le_bytes(eight.map(u8::from));
        // Each byte is 0 or 1; the product gathers them in its top byte, the first one lowest.
        let bits = bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= (bits as u32) << (8 * byte);
    }
    mask
}
