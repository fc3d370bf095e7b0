//! Operands: registers, constants and names, as rows.

use super::super::ast::{Instruction, Name, Operand, Value, VarSpace};
use super::super::exec::{Kind, function_address};
use super::super::lexer::Place;
use super::super::lowering::Arg;
use super::super::program::{Constant, FALSE, INVERT, SINK, TRUE};
use super::{Decoded, Lowerer, names};
use crate::error::Result;
use crate::isa::Operands;

/// A decimal number in single precision.
fn single(bits: u64) -> Constant {
    Constant::Bits(u64::from((f64::from_bits(bits) as f32).to_bits()))
}

impl Lowerer<'_> {
    /// The row of an operand that is read.
    pub(super) fn read(
        &mut self,
        operand: Option<&Operand>,
        kind: Kind,
        instruction: &Instruction,
        decoded: &mut Decoded,
    ) -> Result<u16> {
        let operand = operand.ok_or_else(|| self.few(instruction))?;
        let wide = matches!(kind, Kind::Wide | Kind::F64);
        let bits = match (&operand.value, kind) {
            (Value::Name(name, 0), _) if self.names.kind(name).is_some() => {
                return self.register(name, operand.at, kind, &mut decoded.srcs);
            }
            (Value::Not(name), Kind::Pred) if decoded.imm & INVERT == 0 => {
                decoded.imm |= INVERT;
                return self.register(name, operand.at, kind, &mut decoded.srcs);
            }
            (Value::Int(value), Kind::Pred) => return Ok(if *value == 0 { FALSE } else { TRUE }),
            (Value::Name(name, offset), Kind::Narrow | Kind::Wide) => {
                self.symbol(name, *offset, operand.at, wide)?
            }
            (Value::Int(value), Kind::Narrow) => Constant::Bits(value & 0xffff_ffff),
            (Value::Int(value), Kind::Wide) => Constant::Bits(*value),
            (Value::F32(bits), Kind::Narrow | Kind::F32) => Constant::Bits(u64::from(*bits)),
            (Value::F64(bits), Kind::F32) => single(*bits),
            // Moves, selections and stores take any bits.
            (Value::F64(bits), Kind::Narrow)
                if instruction.modifiers.iter().any(|word| word == "f32") =>
            {
                single(*bits)
            }
            (Value::F64(bits), Kind::Wide | Kind::F64) => Constant::Bits(*bits),
            _ => return Err(self.error(operand.at, "this operand does not fit the instruction")),
        };
        self.constant(bits, wide, operand.at)
    }

    /// The row of an operand that is written.
    pub(super) fn write(
        &mut self,
        operand: &Operand,
        kind: Kind,
        decoded: &mut Decoded,
    ) -> Result<u16> {
        match &operand.value {
            Value::Name(name, 0) if name.name == "_" => match kind {
                Kind::Pred => Ok(SINK),
                _ => Ok(self.names.sink(matches!(kind, Kind::Wide | Kind::F64))),
            },
            Value::Name(name, 0) => self.register(name, operand.at, kind, &mut decoded.dsts),
            _ => Err(self.error(operand.at, "expected a register")),
        }
    }

    pub(super) fn register<const MOST: usize>(
        &mut self,
        name: &Name,
        at: Place,
        kind: Kind,
        list: &mut Operands<MOST>,
    ) -> Result<u16> {
        if let Some((row, reg)) = self.names.register(name, kind) {
            list.add(reg);
            return Ok(row);
        }
        let what = match self.names.kind(name) {
            None => format!("`{}` is not declared as a register", name.name),
            Some(_) => {
                let wanted = match kind {
                    Kind::Pred => "a predicate",
                    Kind::Wide | Kind::F64 => "a 64-bit",
                    _ => "a 32-bit or smaller",
                };
                format!("`{}` stands where {wanted} register is needed", name.name)
            }
        };
        Err(self.error(at, what))
    }

    /// The row of a constant.
    pub(super) fn constant(&mut self, value: Constant, wide: bool, at: Place) -> Result<u16> {
        self.names.constant(value, wide).ok_or_else(|| {
            self.error(at, "the entry names more than 65,535 registers and constants")
        })
    }

    /// A special register, or the address of a variable.
    pub(super) fn symbol(
        &mut self,
        name: &Name,
        offset: i64,
        at: Place,
        wide: bool,
    ) -> Result<Constant> {
        if name.name == "WARP_SZ" {
            return Ok(Constant::Bits(32));
        }
        match self.names.variable(&name.name) {
            Some((VarSpace::Global, index)) if wide => {
                return Ok(Constant::Global { index: index as u32, offset: offset as u64 });
            }
            Some((VarSpace::Global, _)) => return Err(self.error(at, "an address has 64 bits")),
            Some((VarSpace::Local, _)) if self.current > 0 && !wide => {
                return Err(self.error(at, "an address has 64 bits"));
            }
            Some((VarSpace::Local, address)) if self.current > 0 => {
                let offset = address.wrapping_add_signed(offset) as u32;
                return Ok(Constant::Frame { function: self.current as u32 - 1, offset });
            }
            Some((_, address)) => return Ok(Constant::Bits(address.wrapping_add_signed(offset))),
            None => {}
        }
        if name.part.is_none()
            && wide
            && let Some(number) = self.function_number(&name.name)
        {
            return Ok(Constant::Bits(function_address(number).wrapping_add_signed(offset)));
        }
        if let Some(special) = names::special(name)
            && offset == 0
        {
            return Ok(Constant::Special(special));
        }
        let full = match &name.part {
            Some(part) => format!("{}.{part}", name.name),
            None => name.name.clone(),
        };
        let refusal = self.layout.refusal(&name.name);
        let what = refusal.map_or("is not known here", |known| known.what);
        let error = self.error(at, format!("`{full}` {what}"));
        Err(match refusal {
            Some(known) => error.hint(known.hint),
            None if names::clock(&name.name).is_some() => error.hint("read the clock with `mov`"),
            None => error,
        })
    }

    /// The operands of a decoded instruction, for [`super::super::lowering`]; vectors and pairs one by one.
    pub(super) fn args(&mut self, instruction: &Instruction) -> Vec<Arg> {
        let mut args = Vec::with_capacity(instruction.operands.len());
        for operand in &instruction.operands {
            match &operand.value {
                Value::Vector(elements) => {
                    args.extend(elements.iter().map(|element| self.arg(element)));
                }
                Value::Element(name, offset, coordinates) => {
                    let base = Value::Address(name.clone(), *offset);
                    args.push(self.arg(&base));
                    args.extend(coordinates.iter().map(|one| self.arg(one)));
                }
                Value::Pair(first, second) => {
                    let pair = [first, second].map(|name| self.named(name, 0));
                    args.extend(pair);
                }
                value => args.push(self.arg(value)),
            }
        }
        args
    }

    fn arg(&mut self, value: &Value) -> Arg {
        match value {
            Value::Name(name, offset) => self.named(name, *offset),
            Value::Not(name) => self.named(name, 0),
            Value::Int(bits) | Value::F64(bits) => Arg::Number(*bits),
            Value::F32(bits) => Arg::Number(u64::from(*bits)),
            Value::Address(Some(name), offset) => match self.named(name, *offset) {
                Arg::Reg(reg) => Arg::Address(reg, *offset),
                arg => arg,
            },
            _ => Arg::Other,
        }
    }

    fn named(&mut self, name: &Name, offset: i64) -> Arg {
        if let Some(kind) = self.names.kind(name) {
            // An operand that does not fit has been refused before.
            return self.names.register(name, kind).map_or(Arg::Other, |(_, reg)| Arg::Reg(reg));
        }
        match self.names.variable(&name.name) {
            Some((space, address)) => Arg::Symbol(space, address.wrapping_add_signed(offset)),
            None => names::special(name).map_or(Arg::Other, Arg::Special),
        }
    }
}
