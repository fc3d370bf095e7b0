//! Registers and variables.

use super::super::ast::{Init, RegDecl, Relocation, Statement, Type, Value, VarSpace, Variable};
use super::super::lexer::Token;
use super::Parser;
use crate::error::Result;

/// Bytes that one variable may hold; more is taken for a mistake.
const MAX_VARIABLE_BYTES: u64 = 1 << 32;

impl Parser<'_, '_> {
    pub(super) fn registers(&mut self, body: &mut Vec<Statement>) -> Result<()> {
        let ty = self.a_type()?;
        loop {
            let name = self.ident("a register")?.to_owned();
            let mut count = None;
            if self.eat_char('<') {
                count = Some(self.unsigned("a number of registers")?);
                self.expect('>')?;
            }
            body.push(Statement::Regs(RegDecl { ty, name, count }));
            if self.eat_char(';') {
                return Ok(());
            }
            self.expect(',')?;
        }
    }

    pub(super) fn variables(&mut self, space: VarSpace, external: bool) -> Result<Vec<Variable>> {
        let mut variables = vec![self.variable(space, external)?];
        while self.eat_char(',') {
            let first = &variables[0];
            let (ty, align) = (first.ty, first.align);
            variables.push(self.declarator(space, ty, align, external)?);
        }
        self.expect(';')?;
        Ok(variables)
    }

    /// A variable, after its space.
    pub(super) fn variable(&mut self, space: VarSpace, external: bool) -> Result<Variable> {
        let (mut ty, mut align, mut vector, mut pointer) = (None, None, 1, false);
        while let Token::Dotted(name) = self.peek() {
            let at = self.place();
            self.bump();
            match name {
                "align" => {
                    let value = self.unsigned("an alignment")?;
                    if !value.is_power_of_two() || value > 1 << 16 {
                        return Err(at.error(self.path, format!("alignment {value} is no good")));
                    }
                    // After `.ptr` it is the alignment of what the pointer points to.
                    if !pointer {
                        align = Some(value as u32);
                    }
                }
                "ptr" => pointer = true,
                "v2" => vector = 2,
                "v4" => vector = 4,
                "attribute" => self.skip_past(')')?,
                // Space of a pointer parameter's target: no matter here.
                "global" | "shared" | "const" | "local" if pointer => {}
                // Handles: what uses them is refused where it stands.
                "texref" | "samplerref" | "surfref" => ty = Some(Type::B64),
                _ => match Type::from_name(name) {
                    Some(found) => ty = Some(found),
                    None => {
                        return Err(at.error(self.path, format!("`.{name}` is not supported here")));
                    }
                },
            }
        }
        let ty = ty.ok_or_else(|| self.expected("a type"))?;
        let align = align.unwrap_or((ty.bytes() * vector).max(1));
        let mut variable = self.declarator(space, ty, align, external)?;
        variable.bytes = variable.bytes.map(|bytes| bytes * u64::from(vector));
        Ok(variable)
    }

    /// Name, dimensions and initial value.
    fn declarator(
        &mut self,
        space: VarSpace,
        ty: Type,
        align: u32,
        external: bool,
    ) -> Result<Variable> {
        let at = self.place();
        let name = self.ident("the name of a variable")?.to_owned();
        let mut bytes = Some(u64::from(ty.bytes()));
        while self.eat_char('[') {
            if self.eat_char(']') {
                bytes = None;
                continue;
            }
            let elements = self.unsigned("a number of elements")?;
            bytes = bytes.map(|bytes| bytes.saturating_mul(elements));
            self.expect(']')?;
        }
        if bytes.is_some_and(|bytes| bytes > MAX_VARIABLE_BYTES) {
            return Err(at.error(self.path, format!("`{name}` is larger than 4 GiB")));
        }
        let init = if self.eat_char('=') { self.init(ty)? } else { Init::default() };
        if bytes.is_none() && !init.bytes.is_empty() && !external {
            bytes = Some(init.bytes.len() as u64);
        }
        Ok(Variable { space, name, ty, align, bytes, init, at })
    }

    /// An initial value: one number or address, or a list in braces; nested braces are flattened.
    fn init(&mut self, ty: Type) -> Result<Init> {
        let size = ty.bytes() as usize;
        let mut init = Init::default();
        let mut depth = 0u64;
        loop {
            match self.peek() {
                Token::Punct('{') => depth += 1,
                Token::Punct('}') if depth > 0 => depth -= 1,
                Token::Punct(',') if depth > 0 => {}
                Token::Punct(';' | ',') if depth == 0 => return Ok(init),
                Token::Ident(_) => {
                    self.address_in(&mut init, size, 0)?;
                    continue;
                }
                Token::Int(mask)
                    if matches!(self.tokens.get(self.next + 1), Some((Token::Punct('('), _))) =>
                {
                    // `0xFF00(name)`: the byte of the address that the mask names.
                    let at = self.place();
                    self.bump();
                    self.bump();
                    let shift = mask.trailing_zeros() as u8;
                    if mask == 0 || !shift.is_multiple_of(8) || mask >> shift != 0xff {
                        return Err(at.error(self.path, "this mask selects no byte"));
                    }
                    self.address_in(&mut init, size, shift)?;
                    self.expect(')')?;
                    continue;
                }
                Token::Punct('-') | Token::Int(_) | Token::F32(_) | Token::F64(_) => {
                    let word = match (self.simple()?, ty) {
                        (Value::Int(value), Type::F32) => {
                            u64::from((value as i64 as f32).to_bits())
                        }
                        (Value::Int(value), Type::F64) => (value as i64 as f64).to_bits(),
                        (Value::F64(bits), Type::F32) => {
                            u64::from((f64::from_bits(bits) as f32).to_bits())
                        }
                        (Value::Int(bits) | Value::F64(bits), _) => bits,
                        (Value::F32(bits), _) => u64::from(bits),
                        _ => return Err(self.expected("a number")),
                    };
                    init.bytes.extend(&word.to_le_bytes()[..size.min(8)]);
                    continue;
                }
                _ => return Err(self.expected("an initial value")),
            }
            self.bump();
        }
    }

    /// `name+4` or `generic(name)+4` in an initial value.
    fn address_in(&mut self, init: &mut Init, size: usize, shift: u8) -> Result<()> {
        let at = self.place();
        let mut name = self.ident("a name")?;
        let generic = name == "generic" && self.eat_char('(');
        if generic {
            name = self.ident("a variable")?;
        }
        let mut offset = if generic { 0 } else { self.offset(true)? };
        if generic {
            self.expect(')')?;
            offset = self.offset(true)?;
        }
        init.relocations.push(Relocation {
            start: init.bytes.len() as u64,
            bytes: size.min(8) as u8,
            shift,
            name: name.to_owned(),
            offset,
            generic,
            at,
        });
        init.bytes.extend(std::iter::repeat_n(0, size));
        Ok(())
    }
}
