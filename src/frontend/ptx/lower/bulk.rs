//! Bulk copies, which the SM makes without a thread.
//!
//! Source: PTX ISA 9.0, section 9.7.9 "cp.async.bulk".

use super::super::ast::{Instruction, Operand, Type, Value};
use super::super::cfg::Flow;
use super::super::exec::Kind;
use super::super::program::{
    Access, AccessKind, AccessSpace, AtomicOp, BulkPlace, BulkStep, Reduction, Step,
};
use super::copies::groups;
use super::memory::Words;
use super::{Decoded, Lowerer};
use crate::config::kernel::TENSOR_RANK;
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

/// The words of a copy of a box without those that say so, and the tensor's dimensions.
fn of_tensor<'w>(words: &[&'w str]) -> Option<(Vec<&'w str>, usize)> {
    // Of a prefetch, its own word comes first.
    let (before, rest) = match words {
        ["prefetch", rest @ ..] => (&words[..1], rest),
        rest => (&rest[..0], rest),
    };
    let ["tensor", dimensions, rest @ ..] = rest else { return None };
    let rank = dimensions.strip_suffix('d')?.parse().ok()?;
    // A tile is what the tensor map says as well.
    let (spaces, rest) = rest.split_at_checked(2)?;
    let rest = rest.strip_prefix(&["tile"]).unwrap_or(rest);
    let words = [before, spaces, rest].concat();
    (1..=TENSOR_RANK).contains(&rank).then_some((words, rank))
}

/// Takes the operation out of the words of a reduction, and the type of the numbers where the words say it.
fn take_reduction(words: &mut Vec<&str>) -> Option<Reduction> {
    let is_tensor = words.first() == Some(&"tensor");
    let place = if is_tensor { 4 } else { 3 };
    let op = AtomicOp::named(words.get(place)?)?;
    if is_tensor {
        words.remove(place);
        let is_known = !matches!(op, AtomicOp::Exch | AtomicOp::Cas);
        return is_known.then_some(Reduction { op, ty: None });
    }
    let ty = match &words[place + 1..] {
        // Sums of half precision keep subnormal numbers, and must say so.
        ["noftz", ty @ ("f16" | "bf16")] if op == AtomicOp::Add => ty,
        ["f16" | "bf16"] if op == AtomicOp::Add => return None,
        [ty] => ty,
        _ => return None,
    };
    let ty = Type::from_name(ty).filter(|ty| op.combines_in_bulk(*ty))?;
    words.truncate(place);
    Some(Reduction { op, ty: Some(ty) })
}

impl Lowerer<'_> {
    /// `cp.async.bulk`, or `cp.reduce.async.bulk`, of which these are the further words.
    pub(super) fn bulk(
        &mut self,
        instruction: &Instruction,
        words: &[&str],
        reduces: bool,
    ) -> Result<Decoded> {
        match (words, &instruction.operands[..]) {
            _ if reduces => {}
            (["commit_group"], []) => return Ok(groups(Copies::CommitBulk)),
            (["wait_group"], [left]) => {
                return Ok(groups(Copies::WaitBulk(self.left_under_way(left)?)));
            }
            (["wait_group", "read"], [left]) => {
                return Ok(groups(Copies::WaitBulkReads(self.left_under_way(left)?)));
            }
            _ => {}
        }
        // A cache policy decides nothing that shows. It comes last, but before what is done with bytes.
        let (mut words, mut operands) = (words.to_vec(), &instruction.operands[..]);
        let combines_bytes = reduces && words.first() != Some(&"tensor");
        let place = if combines_bytes { 3 } else { words.len().saturating_sub(1) };
        if words.get(place) == Some(&"L2::cache_hint") {
            words.remove(place);
            operands = operands.split_last().map_or(operands, |(_, others)| others);
        }
        let reduction = if reduces { take_reduction(&mut words) } else { None };
        let tensor = of_tensor(&words);
        let words = tensor.as_ref().map_or(&words, |(words, _)| words);
        let kind = match (way(words), reduces) {
            (Some(kind), false) => kind,
            (Some(BulkCopy::ToGlobal), true) if reduction.is_some() => BulkCopy::Reduce,
            _ => return Err(self.unsupported(instruction)),
        };
        // Of a box, the tensor map says how many bytes it has.
        let (global, bytes, shared, mbarrier) = match (kind, operands, &tensor) {
            (BulkCopy::ToShared, [to, from, bytes, mbarrier], None) => {
                (from, Some(bytes), Some(to), Some(mbarrier))
            }
            (BulkCopy::ToGlobal | BulkCopy::Reduce, [to, from, bytes], None) => {
                (to, Some(bytes), Some(from), None)
            }
            (BulkCopy::ToL2, [from, bytes], None) => (from, Some(bytes), None, None),
            (BulkCopy::ToShared, [to, from, mbarrier], Some(_)) => {
                (from, None, Some(to), Some(mbarrier))
            }
            (BulkCopy::ToGlobal | BulkCopy::Reduce, [to, from], Some(_)) => {
                (to, None, Some(from), None)
            }
            (BulkCopy::ToL2, [from], Some(_)) => (from, None, None, None),
            _ => return Err(self.few(instruction)),
        };
        let mut decoded = Decoded::new(Step::Bulk(self.bulks.len() as u32), Op::Bulk(kind));
        // What is recorded is no address, so the block ends.
        decoded.flow = Flow::Pause;
        let global = match &tensor {
            Some((_, rank)) => self.element(instruction, global, *rank, &mut decoded)?,
            None => BulkPlace::Bytes {
                first: self.place(instruction, Some(AccessSpace::Global), global, &mut decoded)?,
                count: self.read(bytes, Kind::Narrow, instruction, &mut decoded)?,
            },
        };
        let mut in_shared =
            |operand| self.place(instruction, Some(AccessSpace::Shared), operand, &mut decoded);
        let shared = shared.map(&mut in_shared).transpose()?;
        let mbarrier = mbarrier.map(&mut in_shared).transpose()?;
        self.bulks.push(BulkStep { kind, global, shared, mbarrier, reduction });
        Ok(decoded)
    }

    /// `[map, {x, y}]`, with the coordinates that a tensor of so many dimensions has.
    fn element(
        &mut self,
        instruction: &Instruction,
        operand: &Operand,
        rank: usize,
        decoded: &mut Decoded,
    ) -> Result<BulkPlace> {
        let Value::Element(name, offset, given) = &operand.value else {
            let message = "expected a tensor map and coordinates, such as `[%rd1, {%r1, %r2}]`";
            return Err(self.error(operand.at, message));
        };
        if given.len() != rank {
            let message = format!("{} coordinates, where the instruction has {rank}", given.len());
            return Err(self.error(operand.at, message));
        }
        let map = Value::Address(name.clone(), *offset);
        let map = self.place(instruction, None, &Operand { value: map, ..*operand }, decoded)?;
        let mut coordinates = [0; TENSOR_RANK];
        for (row, value) in coordinates.iter_mut().zip(given) {
            let one = Operand { value: value.clone(), ..*operand };
            *row = self.read(Some(&one), Kind::Narrow, instruction, decoded)?;
        }
        Ok(BulkPlace::Box { map, coordinates, rank })
    }

    /// An address that an instruction reads.
    fn place(
        &mut self,
        instruction: &Instruction,
        space: Option<AccessSpace>,
        operand: &Operand,
        decoded: &mut Decoded,
    ) -> Result<Access> {
        let words = Words {
            space,
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
