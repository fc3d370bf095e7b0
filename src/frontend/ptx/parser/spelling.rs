//! Instructions that are written as others, as the assembler makes several instructions of each.

use super::super::ast::{Instruction, Name, Operand, RegDecl, Statement, Type, Value};
use super::{short_mma, wmma};

/// The statements that an instruction means, behind those of `body`; `None` for what is not spelled out.
pub(super) fn spelled_out(instruction: &Instruction, body: &[Statement]) -> Option<Vec<Statement>> {
    if !matches!(instruction.opcode.as_str(), "mma" | "wmma") {
        return None;
    }
    let words: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
    let mut spelling = Spelling { of: instruction, statements: vec![Statement::Open] };
    match instruction.opcode.as_str() {
        "wmma" => wmma::spell_out(&mut spelling, &words, body)?,
        _ => short_mma::spell_out(&mut spelling, &words)?,
    }
    spelling.statements.push(Statement::Close);
    Some(spelling.statements)
}

/// A block of statements that stands for an instruction.
pub(super) struct Spelling<'i> {
    pub of: &'i Instruction,
    statements: Vec<Statement>,
}

impl Spelling<'_> {
    /// Adds an instruction.
    pub fn add(&mut self, name: &str, operands: impl IntoIterator<Item = Value>) {
        let at = self.of.at;
        let mut words = name.split('.').filter(|word| !word.is_empty()).map(str::to_owned);
        self.statements.push(Statement::Instruction(Instruction {
            guard: self.of.guard.clone(),
            opcode: words.next().unwrap_or_default(),
            modifiers: words.collect(),
            operands: operands.into_iter().map(|value| Operand { value, at }).collect(),
            call: None,
            at,
        }));
    }

    /// Declares registers of the block: one, or as many as are numbered.
    pub fn declare(&mut self, ty: Type, name: &str, count: Option<u64>) {
        self.statements.push(Statement::Regs(RegDecl { ty, name: name.to_owned(), count }));
    }
}

/// A register of that name.
pub(super) fn register(name: impl Into<String>) -> Value {
    Value::Name(Name { name: name.into(), part: None }, 0)
}

/// The registers in braces.
pub(super) fn elements(operand: &Operand) -> Option<Vec<Value>> {
    match &operand.value {
        Value::Vector(values) => Some(values.clone()),
        _ => None,
    }
}
