//! Asynchronous copies, and prefetches.
//!
//! Source: PTX ISA 9.0, section 9.7.9 "cp.async", "prefetch, prefetchu".

use super::super::ast::{Instruction, Operand, Type, Value};
use super::super::exec::Kind;
use super::super::program::{AccessKind, AccessSpace, Copy, Step};
use super::memory::Words;
use super::{Decoded, Lowerer};
use crate::error::Result;
use crate::isa::{self, CacheOp, Copies, Op};

pub(super) fn groups(copies: Copies) -> Decoded {
    Decoded::new(Step::Nothing, Op::Copies(copies))
}

impl Lowerer<'_> {
    /// `prefetch` and `prefetchu`: a load without a register, into the L1 or past it. What is fetched into the L2 alone travels to the
    /// SM as well, where nobody waits for it.
    pub(super) fn prefetch(&mut self, instruction: &Instruction) -> Result<Decoded> {
        let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let (space, level) = match words[..] {
            ["global", level] => (AccessSpace::Global, level),
            ["local", level] => (AccessSpace::Local, level),
            [level] => (AccessSpace::Generic, level),
            _ => return Err(self.unsupported(instruction)),
        };
        let cache = match level {
            "L1" => CacheOp::Default,
            "L2" | "L2::evict_last" | "L2::evict_normal" => CacheOp::Global,
            _ => return Err(self.unsupported(instruction)),
        };
        let [address] = &instruction.operands[..] else { return Err(self.few(instruction)) };
        let (ty, space) = (Type::B8, Some(space));
        let words =
            Words { space, param: false, cache, elements: 1, atomic: None, policy: false, ty };
        let mut decoded = self.access(instruction, &words, AccessKind::Load, address)?;
        if let Step::Memory(access) = decoded.step {
            decoded.step = Step::Prefetch(access);
        }
        Ok(decoded)
    }

    /// How many groups of copies may be under way still. More than there can be are waited for by nobody.
    pub(super) fn left_under_way(&self, left: &Operand) -> Result<u8> {
        match left.value {
            Value::Int(left) => Ok(u8::try_from(left).unwrap_or(u8::MAX)),
            _ => Err(self.error(left.at, "expected a number of groups")),
        }
    }

    /// `cp.async`: a load from global memory whose data goes to shared memory. The machine sees the load, which ways its sectors go, and
    /// what waits for it; that its data passes over the banks is left out.
    pub(super) fn copy_async(&mut self, instruction: &Instruction) -> Result<Decoded> {
        let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        match (&words[1..], &instruction.operands[..]) {
            (["bulk", ..], _) => return self.bulk(instruction, &words[2..], false),
            (["mbarrier", ..], _) => return self.arrive_after_copies(instruction, &words[2..]),
            (["commit_group"], []) => return Ok(groups(Copies::Commit)),
            (["wait_all"], []) => return Ok(groups(Copies::WaitAll)),
            (["wait_group"], [left]) => {
                return Ok(groups(Copies::WaitGroups(self.left_under_way(left)?)));
            }
            _ => {}
        }
        let cache = match words[1..] {
            ["ca", "shared" | "shared::cta", "global", ..] => CacheOp::Default,
            ["cg", "shared" | "shared::cta", "global", ..] => CacheOp::Global,
            _ => return Err(self.unsupported(instruction)),
        };
        if !words[4..].iter().all(|word| word.starts_with("L2::")) {
            return Err(self.unsupported(instruction));
        }
        let policy = words.contains(&"L2::cache_hint");
        let (to, from, bytes, read) = match &instruction.operands[..] {
            [to, from, bytes] => (to, from, bytes, bytes),
            [to, from, bytes, _] if policy => (to, from, bytes, bytes),
            [to, from, bytes, read] | [to, from, bytes, read, _] => (to, from, bytes, read),
            _ => return Err(self.few(instruction)),
        };
        let size = match bytes.value {
            Value::Int(size @ (4 | 8 | 16)) => size as u8,
            _ => return Err(self.error(bytes.at, "`cp.async` copies 4, 8 or 16 bytes")),
        };
        if matches!(read.value, Value::Name(ref name, _) if self.names.kind(name) == Some(Kind::Pred))
        {
            return Err(self.unsupported(instruction));
        }
        let words = |space| Words {
            space: Some(space),
            param: false,
            cache,
            elements: size / 4,
            atomic: None,
            policy: false,
            ty: Type::B32,
        };
        let target =
            self.access(instruction, &words(AccessSpace::Shared), AccessKind::Store, to)?;
        let mut decoded =
            self.access(instruction, &words(AccessSpace::Global), AccessKind::Load, from)?;
        target.srcs.as_slice().iter().for_each(|reg| decoded.srcs.add(*reg));
        let read = self.read(Some(read), Kind::Narrow, instruction, &mut decoded)?;
        let (from, to) = (self.accesses.pop(), self.accesses.pop());
        if let (Some(from), Some(to)) = (from, to) {
            decoded.step = Step::Copy(self.copies.len() as u32);
            if let Op::Memory(op) = &mut decoded.op {
                op.kind = isa::AccessKind::Copy;
            }
            let past_l1 = cache == CacheOp::Global;
            self.copies.push(Copy { to, from, bytes: size, read, past_l1 });
        }
        Ok(decoded)
    }
}
