//! Recursive descent over the words of PTX.
//!
//! Nothing recurses on input: nested blocks become flat statements, and vectors do not nest.
//!
//! Source: PTX ISA 9.0, chapters 4 "Syntax", 5 "State spaces, types, and variables" and
//! 11 "Directives".

use std::path::Path;

use super::ast::*;
use super::lexer::{Place, Token, lex};
use crate::error::{Error, Result};

/// Bytes that one variable may hold; more is taken for a mistake.
const MAX_VARIABLE_BYTES: u64 = 1 << 32;

/// Parses a module.
pub fn parse(text: &str, path: &Path) -> Result<Ast> {
    let mut parser = Parser { tokens: lex(text, path)?, next: 0, path };
    parser.module()
}

struct Parser<'a, 'p> {
    tokens: Vec<(Token<'a>, Place)>,
    next: usize,
    path: &'p Path,
}

impl<'a> Parser<'a, '_> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.next].0
    }

    fn place(&self) -> Place {
        self.tokens[self.next].1
    }

    fn bump(&mut self) -> Token<'a> {
        let token = self.peek();
        // The last word is the end of the file, which is never passed.
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, token: Token) -> bool {
        let found = self.peek() == token;
        if found {
            self.bump();
        }
        found
    }

    fn eat_char(&mut self, c: char) -> bool {
        self.eat(Token::Punct(c))
    }

    fn expected(&self, what: &str) -> Error {
        let message = format!("expected {what}, found {}", self.peek().describe());
        self.place().error(self.path, message)
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.eat_char(c) { Ok(()) } else { Err(self.expected(&format!("`{c}`"))) }
    }

    fn ident(&mut self, what: &str) -> Result<&'a str> {
        let Token::Ident(name) = self.peek() else { return Err(self.expected(what)) };
        self.bump();
        Ok(name)
    }

    fn unsigned(&mut self, what: &str) -> Result<u64> {
        let Token::Int(value) = self.peek() else { return Err(self.expected(what)) };
        self.bump();
        Ok(value)
    }

    /// Skips the rest of the line that the word before the next one is on.
    fn skip_line(&mut self, line: u32) {
        while self.peek() != Token::End && self.place().line == line {
            self.bump();
        }
    }

    /// Skips a block in braces, the first of which is next.
    fn skip_block(&mut self) -> Result<()> {
        let start = self.place();
        let mut depth = 0u64;
        loop {
            match self.bump() {
                Token::Punct('{') => depth += 1,
                Token::Punct('}') => depth = depth.saturating_sub(1),
                Token::End => return Err(start.error(self.path, "this `{` has no `}`")),
                _ => continue,
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn module(&mut self) -> Result<Ast> {
        let mut ast = Ast::default();
        let mut external = false;
        loop {
            let (at, line) = (self.place(), self.place().line);
            let name = match self.peek() {
                Token::End => return Ok(ast),
                Token::Punct(';') => {
                    self.bump();
                    continue;
                }
                Token::Dotted(name) => name,
                _ => return Err(self.expected("a directive")),
            };
            match name {
                "visible" | "weak" | "common" => {
                    self.bump();
                    continue;
                }
                "extern" => {
                    self.bump();
                    external = true;
                    continue;
                }
                "version" | "target" | "file" | "loc" => self.skip_line(line),
                "address_size" => {
                    self.bump();
                    if self.unsigned("32 or 64")? != 64 {
                        return Err(at
                            .error(self.path, "only 64-bit addresses are supported")
                            .hint("compile for a 64-bit host"));
                    }
                }
                "pragma" | "alias" => self.skip_past(';')?,
                "section" => {
                    while !matches!(self.peek(), Token::Punct('{') | Token::End) {
                        self.bump();
                    }
                    self.skip_block()?;
                }
                "func" => {
                    while !matches!(self.peek(), Token::Punct('{' | ';') | Token::End) {
                        self.bump();
                    }
                    if !self.eat_char(';') {
                        self.skip_block()?;
                    }
                }
                "entry" => {
                    self.bump();
                    ast.entries.push(self.entry()?);
                }
                _ => match self.space() {
                    Some(space) => ast.variables.extend(self.variables(space, external)?),
                    None => return Err(self.expected("an entry, function or variable")),
                },
            }
            external = false;
        }
    }

    fn skip_past(&mut self, c: char) -> Result<()> {
        loop {
            match self.bump() {
                Token::Punct(found) if found == c => return Ok(()),
                Token::End => return Err(self.expected(&format!("`{c}`"))),
                _ => {}
            }
        }
    }

    /// The state space of a variable, when one is next.
    fn space(&mut self) -> Option<VarSpace> {
        let Token::Dotted(name) = self.peek() else { return None };
        let space = match name {
            "global" => VarSpace::Global,
            "const" => VarSpace::Const,
            "shared" => VarSpace::Shared,
            "local" => VarSpace::Local,
            "param" => VarSpace::Param,
            _ => return None,
        };
        self.bump();
        Some(space)
    }

    fn entry(&mut self) -> Result<Entry> {
        let at = self.place();
        let name = self.ident("the name of an entry")?.to_owned();
        let mut entry = Entry {
            name,
            params: Vec::new(),
            max_threads: None,
            required_threads: None,
            body: Vec::new(),
            at,
        };
        if self.eat_char('(') && !self.eat_char(')') {
            loop {
                let Some(space) = self.space() else {
                    return Err(self.expected("`.param`"));
                };
                entry.params.push(self.variable(space, false)?);
                if self.eat_char(')') {
                    break;
                }
                self.expect(',')?;
            }
        }
        self.entry_directives(&mut entry)?;
        self.expect('{')?;
        self.body(&mut entry.body)?;
        Ok(entry)
    }

    /// `.maxntid 256, 1, 1` and its like, between header and body.
    fn entry_directives(&mut self, entry: &mut Entry) -> Result<()> {
        while let Token::Dotted(name) = self.peek() {
            self.bump();
            let mut numbers = [1; 3];
            let mut given = 0;
            while !matches!(self.peek(), Token::Punct('{') | Token::Dotted(_) | Token::End) {
                if let Token::Int(value) = self.bump()
                    && given < 3
                {
                    numbers[given] = value;
                    given += 1;
                }
            }
            let product = numbers.iter().fold(1u64, |all, n| all.saturating_mul(*n));
            match name {
                "maxntid" => entry.max_threads = Some(product),
                "reqntid" => entry.required_threads = Some(numbers),
                _ => {}
            }
        }
        Ok(())
    }

    fn body(&mut self, body: &mut Vec<Statement>) -> Result<()> {
        let mut depth = 0u64;
        loop {
            let at = self.place();
            match self.peek() {
                Token::End => return Err(self.expected("`}`")),
                Token::Punct('{') => {
                    self.bump();
                    depth += 1;
                    body.push(Statement::Open);
                }
                Token::Punct('}') => {
                    self.bump();
                    if depth == 0 {
                        return Ok(());
                    }
                    depth -= 1;
                    body.push(Statement::Close);
                }
                Token::Punct(';') => {
                    self.bump();
                }
                Token::Dotted("loc" | "file") => self.skip_line(at.line),
                Token::Dotted(
                    "pragma" | "branchtargets" | "calltargets" | "callprototype" | "alias",
                ) => self.skip_past(';')?,
                Token::Dotted("reg") => {
                    self.bump();
                    self.registers(body)?;
                }
                Token::Dotted("extern") => {
                    self.bump();
                    let Some(space) = self.space() else { return Err(self.expected("a space")) };
                    body.extend(self.variables(space, true)?.into_iter().map(Statement::Variable));
                }
                Token::Dotted(_) => {
                    let Some(space) = self.space() else {
                        return Err(self.expected("an instruction or declaration"));
                    };
                    body.extend(self.variables(space, false)?.into_iter().map(Statement::Variable));
                }
                Token::Ident(name) if self.tokens[self.next + 1].0 == Token::Punct(':') => {
                    self.bump();
                    self.bump();
                    body.push(Statement::Label(name.to_owned(), at));
                }
                _ => body.push(Statement::Instruction(self.instruction()?)),
            }
        }
    }

    fn a_type(&mut self) -> Result<Type> {
        if let Token::Dotted(name) = self.peek()
            && let Some(ty) = Type::from_name(name)
        {
            self.bump();
            return Ok(ty);
        }
        Err(self.expected("a type such as `.u32`"))
    }

    fn registers(&mut self, body: &mut Vec<Statement>) -> Result<()> {
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

    fn variables(&mut self, space: VarSpace, external: bool) -> Result<Vec<Variable>> {
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
    fn variable(&mut self, space: VarSpace, external: bool) -> Result<Variable> {
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
        let init = if self.eat_char('=') { self.init(ty)? } else { Init::None };
        if let (None, Init::Bytes(given), false) = (bytes, &init, external) {
            bytes = Some(given.len() as u64);
        }
        Ok(Variable { space, name, ty, align, bytes, init, at })
    }

    /// An initial value: one number, or numbers in braces; nested braces are flattened.
    fn init(&mut self, ty: Type) -> Result<Init> {
        let mut given = Vec::new();
        let mut symbolic = false;
        let mut depth = 0u64;
        let mut negative = false;
        loop {
            let sign = std::mem::take(&mut negative);
            match self.peek() {
                Token::Punct('{') => depth += 1,
                Token::Punct('}') if depth > 0 => depth -= 1,
                Token::Punct(',') if depth > 0 => {}
                Token::Punct('-') => negative = true,
                Token::Punct(';' | ',') if depth == 0 => break,
                Token::Int(value) => {
                    let value = if sign { value.wrapping_neg() } else { value };
                    let float = match ty {
                        Type::F32 => u64::from((value as i64 as f32).to_bits()),
                        Type::F64 => (value as i64 as f64).to_bits(),
                        _ => value,
                    };
                    given.extend(&float.to_le_bytes()[..ty.bytes() as usize]);
                }
                Token::F32(bits) => given.extend(bits.to_le_bytes()),
                Token::F64(bits) if ty == Type::F32 => {
                    given.extend((f64::from_bits(bits) as f32).to_le_bytes());
                }
                Token::F64(bits) => given.extend(bits.to_le_bytes()),
                Token::End => return Err(self.expected("`;`")),
                _ => symbolic = true,
            }
            self.bump();
        }
        Ok(if symbolic { Init::Symbolic } else { Init::Bytes(given) })
    }

    fn instruction(&mut self) -> Result<Instruction> {
        let mut guard = None;
        if self.eat_char('@') {
            let inverted = self.eat_char('!');
            guard = Some((self.name("a predicate")?, inverted));
        }
        let at = self.place();
        let opcode = self.ident("an instruction")?.to_owned();
        let mut modifiers = Vec::new();
        while let Token::Dotted(name) = self.peek() {
            self.bump();
            modifiers.push(name.to_owned());
        }
        let mut operands = Vec::new();
        if !self.eat_char(';') {
            if opcode == "call" {
                // Calls have a syntax of their own and are refused later, by name.
                self.skip_past(';')?;
                return Ok(Instruction { guard, opcode, modifiers, operands, at });
            }
            loop {
                operands.push(self.operand()?);
                if self.eat_char(';') {
                    break;
                }
                self.expect(',')?;
            }
        }
        Ok(Instruction { guard, opcode, modifiers, operands, at })
    }

    fn name(&mut self, what: &str) -> Result<Name> {
        let name = self.ident(what)?.to_owned();
        let mut part = None;
        if let Token::Dotted(word) = self.peek() {
            self.bump();
            part = Some(word.to_owned());
        }
        Ok(Name { name, part })
    }

    fn operand(&mut self) -> Result<Operand> {
        let at = self.place();
        let value = match self.peek() {
            Token::Punct('{') => {
                self.bump();
                let mut elements = Vec::new();
                loop {
                    elements.push(self.simple()?);
                    if self.eat_char('}') {
                        break;
                    }
                    self.expect(',')?;
                }
                Value::Vector(elements)
            }
            Token::Punct('[') => {
                self.bump();
                let mut base = None;
                if let Token::Ident(_) = self.peek() {
                    base = Some(self.name("an address")?);
                }
                let offset = self.offset(base.is_some())?;
                self.expect(']')?;
                Value::Address(base, offset)
            }
            _ => self.simple()?,
        };
        Ok(Operand { value, at })
    }

    /// A sum of signed numbers, such as `+-4`; after a name it may be empty.
    fn offset(&mut self, may_be_empty: bool) -> Result<i64> {
        let (mut sum, mut some) = (0u64, may_be_empty);
        loop {
            let mut negative = false;
            let mut signs = 0;
            while let Token::Punct(sign @ ('+' | '-')) = self.peek() {
                self.bump();
                negative ^= sign == '-';
                signs += 1;
            }
            if some && signs == 0 {
                return Ok(sum as i64);
            }
            let value = self.unsigned("an offset")?;
            sum = if negative { sum.wrapping_sub(value) } else { sum.wrapping_add(value) };
            some = true;
        }
    }

    fn simple(&mut self) -> Result<Value> {
        match self.peek() {
            Token::Ident(_) => {
                let name = self.name("an operand")?;
                if self.eat_char('|') {
                    return Ok(Value::Pair(name, self.name("a predicate")?));
                }
                let offset = self.offset(true)?;
                Ok(Value::Name(name, offset))
            }
            Token::Punct('!') => {
                self.bump();
                Ok(Value::Not(self.name("a predicate")?))
            }
            Token::Punct('-') => {
                self.bump();
                let value = match self.peek() {
                    Token::Int(value) => Value::Int(value.wrapping_neg()),
                    Token::F32(bits) => Value::F32(bits ^ 1 << 31),
                    Token::F64(bits) => Value::F64(bits ^ 1 << 63),
                    _ => return Err(self.expected("a number")),
                };
                self.bump();
                Ok(value)
            }
            Token::Int(value) => {
                self.bump();
                Ok(Value::Int(value))
            }
            Token::F32(bits) => {
                self.bump();
                Ok(Value::F32(bits))
            }
            Token::F64(bits) => {
                self.bump();
                Ok(Value::F64(bits))
            }
            _ => Err(self.expected("an operand")),
        }
    }
}
