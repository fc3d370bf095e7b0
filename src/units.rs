//! The quantities of the model as types, so that a line address is never taken for a byte address.

use std::fmt;
use std::hint::select_unpredictable;
use std::ops::{Add, AddAssign, Sub};

use serde::Serialize;

/// CTAs of a grid in x, y, z, at most. Source: CUDA C++ Programming Guide, compute capabilities.
pub const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// Threads of a CTA, at most. Source: as above.
pub const MAX_CTA_THREADS: u64 = 1024;

/// The noun of a count: of its two forms the one that the count takes.
pub fn noun<'n>(count: u64, one: &'n str, many: &'n str) -> &'n str {
    if count == 1 { one } else { many }
}

/// A point in time, counted in cycles of the clock domain that the surrounding code belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Cycle(pub u64);

impl Cycle {
    /// A point in time that is never reached.
    pub const NEVER: Cycle = Cycle(u64::MAX);

    /// The later of two that are reached, where nobody can foretell which that is: the processor computes it, and does not guess.
    #[inline]
    pub fn later(self, other: Cycle) -> Cycle {
        let ahead = self.0.wrapping_sub(other.0) as i64;
        select_unpredictable(ahead < 0, other, self)
    }

    /// The sooner of two that are reached, likewise.
    #[inline]
    pub fn sooner(self, other: Cycle) -> Cycle {
        let behind = other.0.wrapping_sub(self.0) as i64;
        select_unpredictable(behind < 0, other, self)
    }

    /// Cycles from `earlier` to `self`; zero when `earlier` lies later.
    #[inline]
    pub fn since(self, earlier: Cycle) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Cycle {
    type Output = Cycle;
    #[inline]
    fn add(self, cycles: u64) -> Cycle {
        Cycle(self.0 + cycles)
    }
}

impl AddAssign<u64> for Cycle {
    #[inline]
    fn add_assign(&mut self, cycles: u64) {
        self.0 += cycles;
    }
}

impl Sub<Cycle> for Cycle {
    type Output = u64;
    #[inline]
    fn sub(self, earlier: Cycle) -> u64 {
        self.0 - earlier.0
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An address in units of one cache line: the byte address divided by the line size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct LineAddr(pub u64);

impl LineAddr {
    /// The line that holds byte `address`, for lines of `1 << line_bits` bytes.
    #[inline]
    pub fn of_byte(address: u64, line_bits: u32) -> LineAddr {
        LineAddr(address >> line_bits)
    }

    /// The first byte of the line, for lines of `1 << line_bits` bytes.
    #[inline]
    pub fn first_byte(self, line_bits: u32) -> u64 {
        self.0 << line_bits
    }
}

impl fmt::LowerHex for LineAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}

/// A number to divide by, again and again: a multiplication by its reciprocal is several times as fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    by: u64,
    reciprocal: u64,
    /// Below this number the reciprocal, rounded up, gives the quotient at once.
    near: u64,
}

impl Divisor {
    /// Not zero.
    pub fn new(by: u64) -> Self {
        let near = if by == 1 { 0 } else { u64::MAX / by };
        Divisor { by, reciprocal: u64::MAX / by, near }
    }

    /// The number itself.
    #[inline]
    pub fn get(self) -> u64 {
        self.by
    }

    /// Quotient of a number that is near.
    #[inline]
    fn near_quotient(self, number: u64) -> u64 {
        debug_assert!(number < self.near);
        // The reciprocal is too large by less than 1, so the product by less than 1 / `by`: no quotient is passed.
        ((u128::from(number) * u128::from(self.reciprocal + 1)) >> 64) as u64
    }

    /// Quotient of `number`.
    #[inline]
    pub fn quotient(self, number: u64) -> u64 {
        if number < self.near {
            return self.near_quotient(number);
        }
        if self.by == 1 { number } else { self.divide(number).0 }
    }

    /// Quotient and remainder of `number`.
    #[inline]
    pub fn divide(self, number: u64) -> (u64, u64) {
        // The reciprocal is too small by at most 1, so the product by less than 1: so is the quotient, or it is right.
        let quotient = ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64;
        let remainder = number - quotient * self.by;
        if remainder >= self.by {
            (quotient + 1, remainder - self.by)
        } else {
            (quotient, remainder)
        }
    }
}

/// Fibonacci hashing: the upper half of the product with the golden ratio's fraction [0..2^32].
#[inline]
pub fn fibonacci(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

/// The bits set in a number, lowest first.
#[derive(Clone, Copy, Debug)]
pub struct Bits(pub u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divisor_divides() {
        for by in [1, 2, 3, 7, 12, 231, 175, 1 << 32, (1 << 32) + 1, u64::MAX - 1, u64::MAX] {
            let divisor = Divisor::new(by);
            let numbers = (0..1000).chain((0..1000).map(|i| u64::MAX - i));
            for number in numbers.chain((1..1000u64).map(|i| i.wrapping_mul(by).wrapping_sub(1))) {
                assert_eq!(divisor.divide(number), (number / by, number % by), "{number} / {by}");
                assert_eq!(divisor.quotient(number), number / by, "{number} / {by}");
            }
        }
    }
}
