//! Branches, barriers, fences, exits, and vector moves.
//!
//! Source: PTX ISA 9.0, sections 9.7.12 "Control Flow Instructions" and 9.7.13 "Parallel
//! Synchronization and Communication Instructions".

use super::super::ast::{Instruction, Operand, Type, Value};
use super::super::cfg::Flow;
use super::super::ops::moves;
use super::super::program::Step;
use super::{Decoded, Lowerer};
use crate::error::Result;
use crate::isa::{ArithClass, Op};

impl Lowerer<'_> {
    /// Decodes a control instruction or vector move; `None` for any other.
    pub(super) fn control(&mut self, instruction: &Instruction) -> Result<Option<Decoded>> {
        let guarded = instruction.guard.is_some();
        let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let control = Op::Arith(ArithClass::Control);
        let mut decoded = match (instruction.opcode.as_str(), words.as_slice()) {
            ("mov", _) => return self.vector_move(instruction),
            ("bra", [] | ["uni"]) => {
                let [Operand { value: Value::Name(name, 0), at }] = &instruction.operands[..]
                else {
                    return Err(self.error(instruction.at, "`bra` needs a label"));
                };
                let target = self.names.label(&name.name).ok_or_else(|| {
                    self.error(*at, format!("label `{}` is not in this entry", name.name))
                })?;
                let mut decoded = Decoded::new(Step::Branch(target), control);
                decoded.flow = Flow::Jump { target, guarded };
                return Ok(Some(decoded));
            }
            ("ret" | "exit", [] | ["uni"]) => {
                let mut decoded = Decoded::new(Step::Exit, Op::Exit);
                decoded.flow = Flow::Stop { guarded };
                decoded
            }
            ("trap", []) => Decoded::new(Step::Trap, control),
            ("bar", ["sync"] | ["cta", "sync"])
            | ("barrier", ["sync"] | ["sync", "aligned"] | ["cta", "sync"])
            | ("barrier", ["cta", "sync", "aligned"]) => {
                match &instruction.operands[..] {
                    [] => {}
                    [operand] if operand.value == Value::Int(0) => {}
                    _ => {
                        return Err(self
                            .error(instruction.at, "only barrier 0 of all threads is supported")
                            .hint("use __syncthreads()"));
                    }
                }
                let mut decoded = Decoded::new(Step::Barrier, Op::Barrier);
                decoded.flow = Flow::Pause;
                return Ok(Some(decoded));
            }
            // Lanes that execute together are in step anyway.
            ("bar", ["warp", "sync"]) => {
                return Ok(Some(Decoded::new(Step::Nothing, control)));
            }
            // Warps run one after the other and memory is always up to date.
            ("membar" | "fence", _) => Decoded::new(Step::Nothing, Op::Fence),
            ("call" | "brx" | "bra" | "ret" | "exit" | "bar" | "barrier", _) => {
                return Err(self.unsupported(instruction));
            }
            _ => return Ok(None),
        };
        if let Some(extra) = instruction.operands.first() {
            return Err(self.error(extra.at, "this instruction has no operands"));
        }
        decoded.imm = 0;
        Ok(Some(decoded))
    }

    /// `mov` with a vector on one side.
    fn vector_move(&mut self, instruction: &Instruction) -> Result<Option<Decoded>> {
        let [to, from] = &instruction.operands[..] else { return Ok(None) };
        let bytes = match &instruction.modifiers[..] {
            [ty] => Type::from_name(ty).map_or(0, Type::bytes),
            _ => 0,
        };
        let spread = |elements: &[Value], at| -> Vec<Operand> {
            elements.iter().map(|value| Operand { value: value.clone(), at }).collect()
        };
        let (rule, operands) = match (&to.value, &from.value) {
            (Value::Vector(elements), _) => {
                let mut operands = spread(elements, to.at);
                operands.push(from.clone());
                (moves::split(bytes, elements.len()), operands)
            }
            (_, Value::Vector(elements)) => {
                let mut operands = vec![to.clone()];
                operands.extend(spread(elements, from.at));
                (moves::join(bytes, elements.len()), operands)
            }
            _ => return Ok(None),
        };
        let rule = rule.ok_or_else(|| self.unsupported(instruction))?;
        let flat = Instruction { operands, ..instruction.clone() };
        self.apply(rule, &flat).map(Some)
    }
}
