//! Copies between memory and rows of registers.

use super::super::ast::Type;
use super::super::program::Access;
use super::registers::{Registers, write};
use crate::isa::{LaneMask, Rows, WARP, lanes};

/// Where the lanes' bytes lie in the block of memory they access.
#[expect(clippy::large_enum_variant, reason = "it lives on the stack for one instruction")]
pub enum Places {
    /// At `first + lane * stride`, for all lanes.
    Affine {
        /// Place of lane 0.
        first: usize,
        /// Bytes from one lane to the next.
        stride: isize,
    },
    /// In rows of lanes, for all lanes.
    Rows {
        /// Place of lane 0.
        first: usize,
        /// From there to the others.
        rows: Rows,
    },
    /// One for each lane; those outside the mask mean nothing.
    Scattered([usize; WARP]),
}

impl Places {
    /// The place of a lane.
    #[inline(always)]
    pub fn of(&self, lane: usize) -> usize {
        match self {
            Places::Affine { first, stride } => first.wrapping_add_signed(stride * lane as isize),
            Places::Rows { first, rows } => first.wrapping_add_signed(rows.offset(lane) as isize),
            Places::Scattered(places) => places[lane],
        }
    }
}

/// Reads `$memory` values from memory, extended to `$row` by their sign.
macro_rules! read_lanes {
    ($memory:ty, $row:ty, $block:expr, $places:expr, $mask:expr, $at:expr, $to:expr) => {{
        const SIZE: usize = size_of::<$memory>();
        let mut out = [0; WARP];
        let is_row = match $places {
            Places::Affine { first, stride } if *stride == SIZE as isize => {
                let bytes = &$block[first + $at..][..WARP * SIZE];
                for (value, chunk) in out.iter_mut().zip(bytes.as_chunks::<SIZE>().0) {
                    *value = <$memory>::from_le_bytes(*chunk) as $row;
                }
                true
            }
            Places::Rows { first, rows } if rows.across == 0 || rows.across == SIZE as i32 => {
                // Lanes of a row read one value, or one after the other.
                let mut place = first + $at;
                for row in out.chunks_exact_mut(rows.width as usize) {
                    if rows.across == 0 {
                        let chunk = $block[place..].first_chunk::<SIZE>().expect("it was checked");
                        row.fill(<$memory>::from_le_bytes(*chunk) as $row);
                    } else {
                        let bytes = &$block[place..][..row.len() * SIZE];
                        for (value, chunk) in row.iter_mut().zip(bytes.as_chunks::<SIZE>().0) {
                            *value = <$memory>::from_le_bytes(*chunk) as $row;
                        }
                    }
                    place = place.wrapping_add_signed(rows.down as isize);
                }
                true
            }
            Places::Scattered(places) if $mask == !0 => {
                for (value, place) in out.iter_mut().zip(places) {
                    let chunk =
                        $block[place + $at..].first_chunk::<SIZE>().expect("it was checked");
                    *value = <$memory>::from_le_bytes(*chunk) as $row;
                }
                true
            }
            _ => {
                for lane in lanes($mask) {
                    let chunk = $block[$places.of(lane) + $at..].first_chunk::<SIZE>();
                    $to[lane] = <$memory>::from_le_bytes(*chunk.expect("it was checked")) as $row;
                }
                false
            }
        };
        if is_row {
            write($to, $mask, &out);
        }
    }};
}

/// Writes the low bytes of a row, as `$memory` values.
macro_rules! write_lanes {
    ($memory:ty, $block:expr, $places:expr, $mask:expr, $at:expr, $from:expr) => {{
        const SIZE: usize = size_of::<$memory>();
        match $places {
            Places::Affine { first, stride } if *stride == SIZE as isize => {
                let bytes = &mut $block[first + $at..][..WARP * SIZE];
                for (value, chunk) in $from.iter().zip(bytes.as_chunks_mut::<SIZE>().0) {
                    *chunk = (*value as $memory).to_le_bytes();
                }
            }
            _ => {
                for lane in lanes($mask) {
                    let chunk = ($from[lane] as $memory).to_le_bytes();
                    $block[$places.of(lane) + $at..][..SIZE].copy_from_slice(&chunk);
                }
            }
        }
    }};
}

/// Reads registers from memory.
pub fn load(block: &[u8], places: &Places, mask: LaneMask, access: &Access, regs: &mut Registers) {
    use Type::*;
    for element in 0..usize::from(access.elements) {
        let at = element * access.ty.bytes() as usize;
        let row = usize::from(access.regs[element]);
        if access.wide >> element & 1 == 1 {
            let to = &mut regs.wide[row];
            match access.ty {
                U8 | B8 => read_lanes!(u8, u64, block, places, mask, at, to),
                S8 => read_lanes!(i8, u64, block, places, mask, at, to),
                U16 | B16 | F16 | Bf16 => read_lanes!(u16, u64, block, places, mask, at, to),
                S16 => read_lanes!(i16, u64, block, places, mask, at, to),
                U32 | B32 | F32 | U16x2 | S16x2 | F16x2 | Bf16x2 => {
                    read_lanes!(u32, u64, block, places, mask, at, to)
                }
                S32 => read_lanes!(i32, u64, block, places, mask, at, to),
                U64 | S64 | B64 | F64 | Pred => {
                    read_lanes!(u64, u64, block, places, mask, at, to);
                }
            }
        } else {
            let to = &mut regs.narrow[row];
            match access.ty {
                U8 | B8 => read_lanes!(u8, u32, block, places, mask, at, to),
                S8 => read_lanes!(i8, u32, block, places, mask, at, to),
                U16 | B16 | F16 | Bf16 => read_lanes!(u16, u32, block, places, mask, at, to),
                S16 => read_lanes!(i16, u32, block, places, mask, at, to),
                _ => read_lanes!(u32, u32, block, places, mask, at, to),
            }
        }
    }
}

/// Writes registers to memory.
pub fn store(block: &mut [u8], places: &Places, mask: LaneMask, access: &Access, regs: &Registers) {
    for element in 0..usize::from(access.elements) {
        let at = element * access.ty.bytes() as usize;
        let row = usize::from(access.regs[element]);
        if access.wide >> element & 1 == 1 {
            let from = &regs.wide[row];
            match access.ty.bytes() {
                1 => write_lanes!(u8, block, places, mask, at, from),
                2 => write_lanes!(u16, block, places, mask, at, from),
                4 => write_lanes!(u32, block, places, mask, at, from),
                _ => write_lanes!(u64, block, places, mask, at, from),
            }
        } else {
            let from = &regs.narrow[row];
            match access.ty.bytes() {
                1 => write_lanes!(u8, block, places, mask, at, from),
                2 => write_lanes!(u16, block, places, mask, at, from),
                _ => write_lanes!(u32, block, places, mask, at, from),
            }
        }
    }
}
