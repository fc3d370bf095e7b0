//! Which memory instructions may change places.
//!
//! Two that only read may, and so may two of different memories, atomics among them. Where one writes, their bytes must not
//! be the same ones: that is known of two places at constant distance from one address, and of data that is only read
//! (`ld.global.nc`). Volatile ones of one memory keep their order. As `ptxas` 13.0 orders loads and stores of `sm_90`.

use super::super::ast::VarSpace;
use super::code::{Arg, Code};
use crate::isa::{CacheOp, MemoryOp, Op, Reg, Space};

/// What a memory instruction touches.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// `None` for what keeps its place among all memory instructions.
    op: Option<MemoryOp>,
    base: Base,
    /// Bytes from there.
    start: i64,
    /// Bytes of a lane.
    bytes: i64,
    /// Nothing writes there while the kernel runs.
    is_read_only: bool,
}

/// What an address is counted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    /// The value that an instruction gave a register; of before the code that is looked at for `u32::MAX`.
    Register(Reg, u32),
    /// The start of the memory.
    Memory,
    /// What nobody knows.
    Unknown,
}

impl Touch {
    /// What `pc` touches; `writers` has for each register the instruction that wrote it last.
    pub fn new(code: &Code, pc: usize, writers: &[u32]) -> Touch {
        let Op::Memory(op) = code.insts[pc].op else {
            return Touch {
                op: None,
                base: Base::Unknown,
                start: 0,
                bytes: 0,
                is_read_only: false,
            };
        };
        // Copies to shared memory touch two memories.
        let op = (code.opcode(pc) != "cp").then_some(op);
        let place = code.lines[pc].args.iter().find_map(|arg| match *arg {
            Arg::Address(reg, offset) => {
                Some((Base::Register(reg, writers[usize::from(reg)]), offset))
            }
            Arg::Symbol(VarSpace::Shared | VarSpace::Local, address) => {
                Some((Base::Memory, address as i64))
            }
            _ => None,
        });
        let (base, start) = place.unwrap_or((Base::Unknown, 0));
        let is_read_only = code.has(pc, "nc");
        Touch { op, base, start, bytes: op.map_or(0, |op| op.bytes.into()), is_read_only }
    }

    /// Whether it must stay behind `before`.
    pub fn stays_behind(&self, before: &Touch) -> bool {
        let (Some(op), Some(other)) = (self.op, before.op) else { return true };
        let is_volatile = |op: MemoryOp| op.cache == CacheOp::Volatile;
        if is_volatile(op) && is_volatile(other) && meet(op, other) {
            return true;
        }
        if op.kind.loads() && other.kind.loads() {
            return false;
        }
        if self.is_read_only || before.is_read_only || !meet(op, other) {
            return false;
        }
        let known = self.base == before.base && self.base != Base::Unknown;
        let end = |touch: &Touch| touch.start.saturating_add(touch.bytes);
        let apart = end(self) <= before.start || end(before) <= self.start;
        !(known && apart)
    }
}

/// Whether two instructions may reach the same memory.
fn meet(op: MemoryOp, other: MemoryOp) -> bool {
    let is_generic = |op: MemoryOp| op.space == Space::Generic;
    let never = |op: MemoryOp| op.space == Space::Constant;
    !never(op) && !never(other) && (op.space == other.space || is_generic(op) || is_generic(other))
}
