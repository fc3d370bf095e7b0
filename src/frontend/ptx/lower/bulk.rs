//! Bulk copies, which the SM makes without a thread.
//!
//! Source: PTX ISA 9.0, section 9.7.9 "cp.async.bulk".

use super::super::ast::{Instruction, Operand, Type};
use super::super::cfg::Flow;
use super::super::exec::Kind;
use super::super::program::{Access, AccessKind, AccessSpace, BulkStep, Step};
use super::copies::groups;
use super::memory::Words;
use super::{Decoded, Lowerer};
use crate::error::Result;
use crate::isa::{BulkCopy, CacheOp, Copies, Op};

/// Where a copy goes, if the words are those of one.
fn way(words: &[&str]) -> Option<BulkCopy> {
    match words {
        ["shared::cluster" | "shared::cta", "global", "mbarrier::complete_tx::bytes"] => {
            Some(BulkCopy::ToShared)
        }
        ["global", "shared::cta", "bulk_group"] => Some(BulkCopy::ToGlobal),
        ["prefetch", "L2", "global"] => Some(BulkCopy::ToL2),
        _ => None,
    }
}

impl Lowerer<'_> {
    /// `cp.async.bulk`, of which these are the further words.
    pub(super) fn bulk(&mut self, instruction: &Instruction, words: &[&str]) -> Result<Decoded> {
        match (words, &instruction.operands[..]) {
            (["commit_group"], []) => return Ok(groups(Copies::CommitBulk)),
            (["wait_group"], [left]) => {
                return Ok(groups(Copies::WaitBulk(self.left_under_way(left)?)));
            }
            (["wait_group", "read"], [left]) => {
                return Ok(groups(Copies::WaitBulkReads(self.left_under_way(left)?)));
            }
            _ => {}
        }
        // A cache policy decides nothing that shows.
        let (words, operands) = match (words, &instruction.operands[..]) {
            ([words @ .., "L2::cache_hint"], [operands @ .., _]) => (words, operands),
            (words, operands) => (words, operands),
        };
        let Some(kind) = way(words) else { return Err(self.unsupported(instruction)) };
        let (global, shared, bytes, mbarrier) = match (kind, operands) {
            (BulkCopy::ToShared, [to, from, bytes, mbarrier]) => (from, to, bytes, mbarrier),
            (BulkCopy::ToGlobal, [to, from, bytes]) => (to, from, bytes, from),
            (BulkCopy::ToL2, [from, bytes]) => (from, from, bytes, from),
            _ => return Err(self.few(instruction)),
        };
        let mut decoded = Decoded::new(Step::Bulk(self.bulks.len() as u32), Op::Bulk(kind));
        // What is recorded is no address, so the block ends.
        decoded.flow = Flow::Pause;
        let [global, shared, mbarrier] = [
            (AccessSpace::Global, global),
            (AccessSpace::Shared, shared),
            (AccessSpace::Shared, mbarrier),
        ]
        .map(|(space, operand)| self.place(instruction, space, operand, &mut decoded));
        let bytes = self.read(Some(bytes), Kind::Narrow, instruction, &mut decoded)?;
        let (global, shared, mbarrier) = (global?, shared?, mbarrier?);
        self.bulks.push(BulkStep { kind, global, shared, bytes, mbarrier });
        Ok(decoded)
    }

    /// An address that an instruction reads.
    fn place(
        &mut self,
        instruction: &Instruction,
        space: AccessSpace,
        operand: &Operand,
        decoded: &mut Decoded,
    ) -> Result<Access> {
        let words = Words {
            space: Some(space),
            param: false,
            cache: CacheOp::Default,
            elements: 1,
            atomic: None,
            policy: false,
            ty: Type::B8,
        };
        let access = self.access(instruction, &words, AccessKind::Load, operand)?;
        access.srcs.as_slice().iter().for_each(|reg| decoded.srcs.add(*reg));
        Ok(self.accesses.pop().expect("it was just put there"))
    }
}
