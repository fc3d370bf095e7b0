//! Registers and variables.

use super::super::ast::{Init, RegDecl, Relocation, Statement, Type, Value, VarSpace, Variable};
use super::super::lexer::Token;
use super::Parser;
use crate::config::kernel::MAX_SYMBOL_BYTES;
use crate::error::Result;

/// Bytes that one variable may hold; more is taken for a mistake.
const MAX_VARIABLE_BYTES: u64 = 1 << 32;

/// What the variables of one declaration have in common.
#[derive(Clone, Copy)]
struct Common {
    space: VarSpace,
    ty: Type,
    align: u32,
    /// Numbers that an element has.
    vector: u32,
    external: bool,
}

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
        let common = self.common(space, external)?;
        let mut variables = vec![self.declarator(common)?];
        while self.eat_char(',') {
            variables.push(self.declarator(common)?);
        }
        self.expect(';')?;
        Ok(variables)
    }

    /// A variable, after its space.
    pub(super) fn variable(&mut self, space: VarSpace, external: bool) -> Result<Variable> {
        let common = self.common(space, external)?;
        self.declarator(common)
    }

    /// Alignment, vector and type, after the space.
    fn common(&mut self, space: VarSpace, external: bool) -> Result<Common> {
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
        Ok(Common { space, ty, align, vector, external })
    }

    /// Name, dimensions and initial value.
    fn declarator(&mut self, common: Common) -> Result<Variable> {
        let Common { space, ty, align, vector, external } = common;
        let at = self.place();
        let name = self.ident("the name of a variable")?.to_owned();
        let (mut dimensions, mut is_open) = (Vec::new(), false);
        while self.eat_char('[') {
            if self.peek() == Token::Punct(']') && dimensions.is_empty() {
                is_open = true;
                dimensions.push(u64::MAX);
            } else {
                dimensions.push(self.unsigned("a number of elements")?);
            }
            self.expect(']')?;
        }
        if vector > 1 {
            dimensions.push(u64::from(vector));
        }
        let sizes = list_sizes(&dimensions);
        let (init, given) = match self.eat_char('=') {
            true => self.init(ty, &sizes)?,
            false => (Init::default(), 0),
        };
        let elements = match is_open {
            false => Some(sizes.first().copied().unwrap_or(1)),
            true => (given > 0 && !external).then_some(given),
        };
        let bytes = elements.map(|elements| elements.saturating_mul(u64::from(ty.bytes())));
        if bytes.is_some_and(|bytes| bytes > MAX_VARIABLE_BYTES) {
            return Err(at.error(self.path, format!("`{name}` is larger than 4 GiB")));
        }
        Ok(Variable { space, name, ty, align, bytes, init, external, at })
    }

    /// An initial value, and for how many elements it is: one number or address, or lists in braces. `sizes` has the elements of a list
    /// at each depth, outermost first; deeper ones have one. A list that gives fewer ends with zeros. Inner braces may be left out.
    fn init(&mut self, ty: Type, sizes: &[u64]) -> Result<(Init, u64)> {
        let size = ty.bytes() as usize;
        let mut init = Init::default();
        let row = sizes.get(1).map_or(1, |row| (*row).max(1));
        // Of each list that is open, the element behind its last one.
        let mut ends: Vec<u64> = Vec::new();
        let mut count = 0u64;
        loop {
            let (token, at) = (self.peek(), self.place());
            let end = ends.last().or(sizes.first()).copied().unwrap_or(1);
            let elements = match token {
                Token::Punct('{') => sizes.get(ends.len()).copied().unwrap_or(1),
                Token::Punct('}' | ',' | ';') | Token::End => 0,
                _ => 1,
            };
            if elements > end.saturating_sub(count) {
                return Err(at.error(self.path, "more initial values than there are elements"));
            }
            match token {
                Token::Punct('{') => {
                    if !count.is_multiple_of(elements.max(1)) {
                        return Err(at.error(self.path, "this list begins amid another one"));
                    }
                    ends.push(count + elements);
                }
                Token::Punct('}') if ends.len() > 1 => count = ends.pop().unwrap_or(count),
                Token::Punct('}') if !ends.is_empty() => {
                    ends.pop();
                    count = count.checked_next_multiple_of(row).unwrap_or(u64::MAX);
                }
                Token::Punct(',') if !ends.is_empty() => {}
                Token::Punct(';' | ',') if ends.is_empty() => return Ok((init, count)),
                _ => {
                    let start = count.saturating_mul(size as u64);
                    if start > MAX_SYMBOL_BYTES {
                        let message =
                            format!("this initial value lies behind {MAX_SYMBOL_BYTES} bytes");
                        return Err(at.error(self.path, message));
                    }
                    init.bytes.resize(start as usize, 0);
                    self.element(&mut init, ty)?;
                    count += 1;
                    continue;
                }
            }
            self.bump();
        }
    }

    /// One number or address of an initial value.
    fn element(&mut self, init: &mut Init, ty: Type) -> Result<()> {
        let size = ty.bytes() as usize;
        match self.peek() {
            Token::Ident(_) => self.address_in(init, size, 0),
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
                self.address_in(init, size, shift)?;
                self.expect(')')
            }
            Token::Punct('-') | Token::Int(_) | Token::F32(_) | Token::F64(_) => {
                let word = match (self.simple()?, ty) {
                    (Value::Int(value), Type::F32) => u64::from((value as i64 as f32).to_bits()),
                    (Value::Int(value), Type::F64) => (value as i64 as f64).to_bits(),
                    (Value::F64(bits), Type::F32) => {
                        u64::from((f64::from_bits(bits) as f32).to_bits())
                    }
                    (Value::Int(bits) | Value::F64(bits), _) => bits,
                    (Value::F32(bits), _) => u64::from(bits),
                    _ => return Err(self.expected("a number")),
                };
                init.bytes.extend(&word.to_le_bytes()[..size.min(8)]);
                Ok(())
            }
            _ => Err(self.expected("an initial value")),
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

/// How many elements a list in braces has at each depth, outermost first.
fn list_sizes(dimensions: &[u64]) -> Vec<u64> {
    let mut size = 1u64;
    let inner_first = dimensions.iter().rev().map(|dimension| {
        size = size.saturating_mul(*dimension);
        size
    });
    let mut sizes: Vec<u64> = inner_first.collect();
    sizes.reverse();
    sizes
}
