//! Mbarriers: barriers in shared memory that count arrivals, phase by phase.
//!
//! Source: PTX ISA 9.0, section 9.7.13 "mbarrier".

use super::super::ast::{Instruction, Operand, Type, Value};
use super::super::cfg::Flow;
use super::super::exec::Kind;
use super::super::ops::moves;
use super::super::program::{AccessKind, AccessSpace, MbarrierKind, MbarrierStep, Step};
use super::memory::Words;
use super::{Decoded, Lowerer};
use crate::error::Result;
use crate::isa::{ArithClass, CacheOp, Mbarrier, Op};

/// Which space the words name, if they are those of an mbarrier less its kind; the rest orders memory, which is always up to date.
fn space(words: &[&str]) -> Option<AccessSpace> {
    let mut space = AccessSpace::Generic;
    let (last, words) = words.split_last()?;
    for word in words {
        match *word {
            // A CTA is its own cluster.
            "shared" | "shared::cta" | "shared::cluster" => space = AccessSpace::Shared,
            "release" | "acquire" | "relaxed" | "cta" | "cluster" => {}
            _ => return None,
        }
    }
    (*last == "b64").then_some(space)
}

impl Lowerer<'_> {
    /// Decodes an instruction on an mbarrier; `None` for any other.
    pub(super) fn mbarrier(&mut self, instruction: &Instruction) -> Result<Option<Decoded>> {
        if instruction.opcode != "mbarrier" {
            return Ok(None);
        }
        let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let (kind, rest) = match &words[..] {
            ["init", rest @ ..] => (MbarrierKind::Init, rest),
            ["inval", rest @ ..] if space(rest).is_some() => {
                let control = Op::Arith(ArithClass::Control);
                return Ok(Some(Decoded::new(Step::Nothing, control)));
            }
            ["pending_count", "b64"] => return self.pending_count(instruction).map(Some),
            ["expect_tx", rest @ ..] => (MbarrierKind::Expect, rest),
            ["complete_tx", rest @ ..] => (MbarrierKind::Complete, rest),
            [arrive @ ("arrive" | "arrive_drop"), "expect_tx", rest @ ..] => {
                (MbarrierKind::ArriveExpecting { drops: *arrive == "arrive_drop" }, rest)
            }
            [arrive @ ("arrive" | "arrive_drop"), "noComplete", rest @ ..]
            | [arrive @ ("arrive" | "arrive_drop"), rest @ ..] => {
                (MbarrierKind::Arrive { drops: *arrive == "arrive_drop" }, rest)
            }
            ["test_wait" | "try_wait", "parity", rest @ ..] => (MbarrierKind::WaitParity, rest),
            ["test_wait" | "try_wait", rest @ ..] => (MbarrierKind::Wait, rest),
            _ => return Err(self.unsupported(instruction)),
        };
        let Some(space) = space(rest) else { return Err(self.unsupported(instruction)) };
        let one = Operand { value: Value::Int(1), at: instruction.at };
        let (result, address, operand) = match (kind, &instruction.operands[..]) {
            (MbarrierKind::Wait | MbarrierKind::WaitParity, [result, address, phase])
            // For how long the lane sleeps at most.
            | (MbarrierKind::Wait | MbarrierKind::WaitParity, [result, address, phase, _]) => {
                (Some((result, Kind::Pred)), address, phase)
            }
            (MbarrierKind::Init | MbarrierKind::Expect | MbarrierKind::Complete, [address, count]) => {
                (None, address, count)
            }
            (MbarrierKind::Arrive { .. }, [result, address]) => {
                (Some((result, Kind::Wide)), address, &one)
            }
            (
                MbarrierKind::Arrive { .. } | MbarrierKind::ArriveExpecting { .. },
                [result, address, count],
            ) => (Some((result, Kind::Wide)), address, count),
            _ => return Err(self.few(instruction)),
        };
        self.use_of_mbarrier(instruction, kind, space, (result, address, operand)).map(Some)
    }

    /// `cp.async.mbarrier.arrive`
    pub(super) fn arrive_after_copies(
        &mut self,
        instruction: &Instruction,
        words: &[&str],
    ) -> Result<Decoded> {
        let (counts, rest) = match words {
            ["arrive", "noinc", rest @ ..] => (true, rest),
            ["arrive", rest @ ..] => (false, rest),
            _ => return Err(self.unsupported(instruction)),
        };
        let Some(space) = space(rest) else { return Err(self.unsupported(instruction)) };
        let [address] = &instruction.operands[..] else { return Err(self.few(instruction)) };
        let one = Operand { value: Value::Int(1), at: instruction.at };
        let kind = MbarrierKind::ArriveAfterCopies { counts };
        self.use_of_mbarrier(instruction, kind, space, (None, address, &one))
    }

    fn use_of_mbarrier(
        &mut self,
        instruction: &Instruction,
        kind: MbarrierKind,
        space: AccessSpace,
        (result, address, operand): (Option<(&Operand, Kind)>, &Operand, &Operand),
    ) -> Result<Decoded> {
        let words = Words {
            space: (space != AccessSpace::Generic).then_some(space),
            param: false,
            cache: CacheOp::Default,
            elements: 1,
            atomic: None,
            policy: false,
            ty: Type::B64,
        };
        let mut decoded = self.access(instruction, &words, AccessKind::Store, address)?;
        let access = self.accesses.len() - 1;
        let index = self.mbarriers.len() as u32;
        // Where lanes may wait, and where the record is no address, the block ends.
        (decoded.step, decoded.flow) = match kind {
            MbarrierKind::Init => (Step::InitMbarrier(index), Flow::Next),
            _ => (Step::Mbarrier(index), Flow::Pause),
        };
        decoded.op = match kind {
            MbarrierKind::Init => decoded.op,
            MbarrierKind::Wait | MbarrierKind::WaitParity => Op::Mbarrier(Mbarrier::Wait),
            MbarrierKind::ArriveAfterCopies { .. } => Op::Mbarrier(Mbarrier::ArriveAfterCopies),
            _ => Op::Mbarrier(Mbarrier::Arrive),
        };
        let to = match result {
            Some((result, kind)) => self.write(result, kind, &mut decoded)?,
            None => self.names.sink(true),
        };
        let of = if kind == MbarrierKind::Wait { Kind::Wide } else { Kind::Narrow };
        let from = self.read(Some(operand), of, instruction, &mut decoded)?;
        self.accesses[access].regs[..2].copy_from_slice(&[to, from]);
        self.mbarriers.push(MbarrierStep { kind, access: access as u32 });
        Ok(decoded)
    }

    /// `mbarrier.pending_count`: a part of a state.
    fn pending_count(&mut self, instruction: &Instruction) -> Result<Decoded> {
        let [to, state] = &instruction.operands[..] else { return Err(self.few(instruction)) };
        let mut decoded =
            Decoded::new(Step::Compute(moves::pending_count), Op::Arith(ArithClass::IntAdd));
        decoded.ops[0] = self.write(to, Kind::Narrow, &mut decoded)?;
        decoded.ops[1] = self.read(Some(state), Kind::Wide, instruction, &mut decoded)?;
        Ok(decoded)
    }
}
