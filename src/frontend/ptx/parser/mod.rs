//! Recursive descent over the words of PTX.
//!
//! Nothing recurses on input: nested blocks become flat statements, and what nested lists hold is not kept.
//!
//! Source: PTX ISA 9.0, chapters 4 "Syntax", 5 "State spaces, types, and variables" and
//! 11 "Directives".

mod declaration;
mod instruction;
mod order;
mod short_mma;
mod spelling;
mod wmma;

use std::path::Path;

use super::ast::*;
use super::lexer::{Place, Token, lex};
use crate::error::{Error, Result};

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
            let at = self.place();
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
                "version" | "target" | "file" | "loc" => self.skip_origin(name)?,
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
                    self.bump();
                    if let Some(function) = self.function()? {
                        self.refuse_second("function", &function, &ast.functions)?;
                        ast.functions.push(function);
                    }
                }
                "entry" => {
                    self.bump();
                    let entry = self.entry()?;
                    self.refuse_second("entry", &entry, &ast.entries)?;
                    ast.entries.push(entry);
                }
                _ => match self.space() {
                    Some(space) => ast.variables.extend(self.variables(space, external)?),
                    None => return Err(self.expected("an entry, function or variable")),
                },
            }
            external = false;
        }
    }

    /// Skips a directive of that name that says what the text is written for or comes from.
    fn skip_origin(&mut self, name: &str) -> Result<()> {
        self.bump();
        match name {
            "version" => match self.peek() {
                Token::Int(_) | Token::F64(_) => {
                    self.bump();
                }
                _ => return Err(self.expected("a version such as `8.0`")),
            },
            "target" => {
                self.ident("a target such as `sm_75`")?;
                while self.eat_char(',') {
                    self.ident("a target such as `sm_75`")?;
                }
            }
            "file" => {
                self.unsigned("the number of a file")?;
                let Token::Text(_) = self.peek() else { return Err(self.expected("a file")) };
                self.bump();
                // When it was changed, and how large it is.
                while self.eat_char(',') {
                    self.unsigned("a time or size")?;
                }
            }
            _ => self.skip_line_of_source()?,
        }
        Ok(())
    }

    /// Skips what follows `.loc`: file, line and column, the function's name as a place in debug text, and where it was inlined.
    fn skip_line_of_source(&mut self) -> Result<()> {
        let numbers = ["the number of a file", "a line", "a column"];
        for what in numbers {
            self.unsigned(what)?;
        }
        while self.eat_char(',') {
            match self.peek() {
                Token::Ident("function_name") => {
                    self.bump();
                    let (Token::Ident(_) | Token::Dotted(_)) = self.peek() else {
                        return Err(self.expected("a label"));
                    };
                    self.bump();
                    self.offset(true)?;
                }
                Token::Ident("inlined_at") => {
                    self.bump();
                    for what in numbers {
                        self.unsigned(what)?;
                    }
                }
                _ => return Err(self.expected("`function_name` or `inlined_at`")),
            }
        }
        Ok(())
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
        let mut entry = self.header("the name of an entry", Vec::new())?;
        self.expect('{')?;
        self.body(&mut entry.body)?;
        Ok(entry)
    }

    /// A function; `None` for one that is only declared.
    fn function(&mut self) -> Result<Option<Entry>> {
        let returns = self.parameters()?;
        let mut function = self.header("the name of a function", returns)?;
        if self.eat_char(';') {
            return Ok(None);
        }
        self.expect('{')?;
        self.body(&mut function.body)?;
        Ok(Some(function))
    }

    /// Which of two bodies with one name is meant, nobody can tell.
    fn refuse_second(&self, what: &str, second: &Entry, others: &[Entry]) -> Result<()> {
        let Some(first) = others.iter().find(|other| other.name == second.name) else {
            return Ok(());
        };
        let message = format!("a second {what} is named `{}`", second.name);
        Err(second
            .at
            .error(self.path, message)
            .hint(format!("the first is in line {}", first.at.line)))
    }

    fn header(&mut self, what: &str, returns: Vec<Variable>) -> Result<Entry> {
        let at = self.place();
        let name = self.ident(what)?.to_owned();
        let params = self.parameters()?;
        let mut entry = Entry {
            name,
            params,
            returns,
            max_threads: None,
            cluster: 1,
            required_threads: None,
            body: Vec::new(),
            at,
        };
        self.entry_directives(&mut entry)?;
        Ok(entry)
    }

    /// `(.param .u64 a, .param .u32 b)`, if it is there.
    fn parameters(&mut self) -> Result<Vec<Variable>> {
        let mut params = Vec::new();
        if !self.eat_char('(') {
            return Ok(params);
        }
        while !self.eat_char(')') {
            if self.peek() == Token::Dotted("reg") {
                return Err(self
                    .place()
                    .error(self.path, "parameters in registers are not supported")
                    .hint("declare them with `.param`, as compilers do"));
            }
            let Some(space) = self.space() else { return Err(self.expected("`.param`")) };
            params.push(self.variable(space, false)?);
            if self.peek() != Token::Punct(')') {
                self.expect(',')?;
            }
        }
        Ok(params)
    }

    /// `.maxntid 256, 1, 1` and its like, between header and body.
    fn entry_directives(&mut self, entry: &mut Entry) -> Result<()> {
        while let Token::Dotted(name) = self.peek() {
            self.bump();
            let mut numbers = [1; 3];
            let mut given = 0;
            while !matches!(self.peek(), Token::Punct('{' | ';') | Token::Dotted(_) | Token::End) {
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
                "reqnctapercluster" => entry.cluster = product,
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
                Token::Dotted(name @ ("loc" | "file")) => self.skip_origin(name)?,
                Token::Dotted("branchtargets") => {
                    self.bump();
                    let Some(Statement::Label(name, at)) = body.pop() else {
                        return Err(at.error(self.path, "`.branchtargets` needs a name before it"));
                    };
                    let mut labels = Vec::new();
                    while !self.eat_char(';') {
                        labels.push(self.ident("a label")?.to_owned());
                        if self.peek() != Token::Punct(';') {
                            self.expect(',')?;
                        }
                    }
                    body.push(Statement::Targets(name, labels, at));
                }
                Token::Dotted("pragma") => {
                    self.bump();
                    if self.peek() == Token::Text("nounroll") {
                        body.push(Statement::Nounroll);
                    }
                    self.skip_past(';')?;
                }
                Token::Dotted("calltargets" | "callprototype" | "alias") => {
                    self.skip_past(';')?;
                }
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
                _ => {
                    let instruction = self.instruction()?;
                    match spelling::spelled_out(&instruction, body) {
                        Some(statements) => body.extend(statements),
                        None => body.extend(order::spelled_out(instruction)),
                    }
                }
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
}
