//! Shapes of instructions that several rules look for.

use super::super::ast::Type;
use super::code::{Arg, Code};

impl Code<'_> {
    /// Adds two values, or subtracts them.
    pub fn is_sum(&self, pc: usize) -> bool {
        matches!(self.opcode(pc), "add" | "sub")
            && self.is_whole(pc)
            && !self.has(pc, "cc")
            && !self.has(pc, "sat")
    }

    /// Works on whole numbers or bits of at least 32 bits.
    pub fn is_whole(&self, pc: usize) -> bool {
        use Type::*;
        matches!(self.types(pc).next(), Some(U32 | S32 | B32 | U64 | S64 | B64))
    }

    /// Shifts left by a number of bits; gives it.
    pub fn shift_left(&self, pc: usize) -> Option<u64> {
        match (self.opcode(pc), self.arg(pc, 2)) {
            ("shl", Arg::Number(bits)) => Some(bits),
            _ => None,
        }
    }

    /// A number of the type that the instruction has is a power of two.
    pub fn is_power(arg: Arg) -> bool {
        matches!(arg, Arg::Number(number) if number.is_power_of_two())
    }

    /// Operands that are not numbers.
    pub fn inputs(&self, pc: usize) -> Vec<Arg> {
        let args = self.lines[pc].args.iter().skip(1);
        args.filter(|arg| !matches!(arg, Arg::Number(_))).copied().collect()
    }

    /// How many operands are numbers.
    pub fn numbers(&self, pc: usize) -> usize {
        let args = self.lines[pc].args.iter().skip(1);
        args.filter(|arg| matches!(arg, Arg::Number(_))).count()
    }
}
