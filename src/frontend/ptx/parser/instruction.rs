//! Instructions and their operands.

use super::super::ast::{Call, Instruction, Name, Operand, Value};
use super::super::lexer::Token;
use super::Parser;
use crate::error::Result;

impl Parser<'_, '_> {
    pub(super) fn instruction(&mut self) -> Result<Instruction> {
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
                let call = Some(Box::new(self.call()?));
                return Ok(Instruction { guard, opcode, modifiers, operands, call, at });
            }
            loop {
                operands.push(self.operand()?);
                if self.eat_char(';') {
                    break;
                }
                self.expect(',')?;
            }
        }
        Ok(Instruction { guard, opcode, modifiers, operands, call: None, at })
    }

    /// `(result), function, (arguments), prototype;`, where all but the function may be missing.
    fn call(&mut self) -> Result<Call> {
        let mut returns = Vec::new();
        if self.peek() == Token::Punct('(') {
            for value in self.group()? {
                let Value::Name(name, 0) = value else { return Err(self.expected("a variable")) };
                returns.push(name);
            }
            self.expect(',')?;
        }
        let target = self.name("a function")?;
        let mut args = Vec::new();
        if self.eat_char(',') {
            if self.peek() == Token::Punct('(') {
                args = self.group()?;
                if self.eat_char(',') {
                    self.ident("a prototype")?;
                }
            } else {
                self.ident("a prototype")?;
            }
        }
        self.expect(';')?;
        Ok(Call { target, returns, args })
    }

    /// Operands in parentheses.
    fn group(&mut self) -> Result<Vec<Value>> {
        self.expect('(')?;
        let mut values = Vec::new();
        while !self.eat_char(')') {
            values.push(self.simple()?);
            if self.peek() != Token::Punct(')') {
                self.expect(',')?;
            }
        }
        Ok(values)
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
            Token::Punct('{') => self.vector()?,
            Token::Punct('[') => self.address()?,
            _ => self.simple()?,
        };
        Ok(Operand { value, at })
    }

    /// `{a, b}`; or a list of lists, or one with a predicate, as textures have them.
    fn vector(&mut self) -> Result<Value> {
        self.expect('{')?;
        let mut elements = Vec::new();
        let value = loop {
            if self.is_list() {
                break self.rest_of_list('}')?;
            }
            elements.push(self.simple()?);
            if self.eat_char('}') {
                break Value::Vector(elements);
            }
            self.expect(',')?;
        };
        if self.eat_char('|') {
            self.name("a predicate")?;
            return Ok(Value::Other);
        }
        Ok(value)
    }

    /// `[a+4]`, or `[t, {x, y}]`; or another list that begins with a name.
    fn address(&mut self) -> Result<Value> {
        self.expect('[')?;
        if self.is_list() {
            return self.rest_of_list(']');
        }
        let mut base = None;
        if let Token::Ident(_) = self.peek() {
            base = Some(self.name("an address")?);
        }
        let offset = self.offset(base.is_some())?;
        if !self.eat_char(',') {
            self.expect(']')?;
            return Ok(Value::Address(base, offset));
        }
        if self.peek() != Token::Punct('{') {
            return self.rest_of_list(']');
        }
        let coordinates = self.vector()?;
        if self.eat_char(',') {
            return self.rest_of_list(']');
        }
        self.expect(']')?;
        Ok(match coordinates {
            Value::Vector(coordinates) => Value::Element(base, offset, coordinates),
            _ => Value::Other,
        })
    }

    fn is_list(&self) -> bool {
        matches!(self.peek(), Token::Punct('{' | '['))
    }

    /// The items of a list from the next one on, up to its `end`, with all lists in it.
    fn rest_of_list(&mut self, end: char) -> Result<Value> {
        let mut ends = vec![end];
        loop {
            while self.is_list() {
                ends.push(if self.bump() == Token::Punct('{') { '}' } else { ']' });
            }
            self.simple()?;
            while ends.pop_if(|end| self.eat_char(*end)).is_some() {}
            match ends.last() {
                None => return Ok(Value::Other),
                Some(_) if self.eat_char(',') => {}
                Some(end) => return Err(self.expected(&format!("`{end}`"))),
            }
        }
    }

    /// A sum of signed numbers, such as `+-4`; after a name it may be empty.
    pub(super) fn offset(&mut self, may_be_empty: bool) -> Result<i64> {
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

    pub(super) fn simple(&mut self) -> Result<Value> {
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
