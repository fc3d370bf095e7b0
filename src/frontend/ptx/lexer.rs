//! Words of PTX text.
//!
//! Source: PTX ISA 9.0, chapter 4 "Syntax": identifiers, integer and floating-point literals.

use std::path::Path;

use crate::error::{Error, Result};

/// A place in the text; line and column count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column `[characters]`.
    pub column: u32,
}

impl Place {
    /// An input error at this place of `path`.
    pub fn error(self, path: &Path, message: impl Into<String>) -> Error {
        Error::input(message).at(path, self.line as usize, self.column as usize)
    }
}

/// A word of PTX.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    /// A name, such as `ld`, `%r1` or `$L__BB0_1`.
    Ident(&'a str),
    /// A name with a dot before it, such as `.global`; without the dot.
    Dotted(&'a str),
    /// A whole number.
    Int(u64),
    /// The bits of a single-precision number (`0f3F800000`).
    F32(u32),
    /// The bits of a double-precision number (`0d...`, `1.5`).
    F64(u64),
    /// A quoted text, without the quotes.
    Text(&'a str),
    /// Any other character.
    Punct(char),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The word as a message names it.
    pub fn describe(&self) -> String {
        match self {
            Token::Ident(name) => format!("`{name}`"),
            Token::Dotted(name) => format!("`.{name}`"),
            Token::Int(value) => format!("`{value}`"),
            Token::F32(_) | Token::F64(_) => "a floating-point number".into(),
            Token::Text(_) => "a text".into(),
            Token::Punct(character) => format!("`{character}`"),
            Token::End => "the end of the file".into(),
        }
    }
}

/// Splits the text into words with their places; the last one is [`Token::End`].
pub fn lex<'a>(text: &'a str, path: &Path) -> Result<Vec<(Token<'a>, Place)>> {
    let mut lexer = Lexer { text, at: 0, place: Place { line: 1, column: 1 }, path };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let place = lexer.place;
        let token = lexer.token()?;
        tokens.push((token, place));
        if token == Token::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a, 'p> {
    text: &'a str,
    at: usize,
    place: Place,
    path: &'p Path,
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

impl<'a> Lexer<'a, '_> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        if c == '\n' {
            self.place.line += 1;
            self.place.column = 1;
        } else {
            self.place.column += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, mut keep: impl FnMut(char) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&mut keep) {
            self.bump();
        }
        &self.text[start..self.at]
    }

    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                let start = self.place;
                let Some(length) = self.rest().find("*/") else {
                    return Err(start.error(self.path, "this comment has no end"));
                };
                let end = self.at + length + 2;
                while self.at < end {
                    self.bump();
                }
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token<'a>> {
        let start = self.place;
        let Some(c) = self.peek() else { return Ok(Token::End) };
        if c.is_ascii_digit() {
            let word = self.number_word();
            return number(word)
                .ok_or_else(|| start.error(self.path, format!("`{word}` is no number")));
        }
        if c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%') {
            let from = self.at;
            self.bump();
            self.take_while(in_name);
            return Ok(Token::Ident(&self.text[from..self.at]));
        }
        self.bump();
        match c {
            '.' => {
                let from = self.at;
                loop {
                    self.take_while(in_name);
                    if !self.rest().starts_with("::") {
                        break;
                    }
                    self.bump();
                    self.bump();
                }
                Ok(Token::Dotted(&self.text[from..self.at]))
            }
            '"' => {
                let from = self.at;
                self.take_while(|c| c != '"' && c != '\n');
                let to = self.at;
                match self.bump() {
                    Some('"') => Ok(Token::Text(&self.text[from..to])),
                    _ => Err(start.error(self.path, "this text has no closing quote")),
                }
            }
            _ if c.is_ascii_punctuation() => Ok(Token::Punct(c)),
            _ => Err(start.error(self.path, format!("`{}` is not PTX", c.escape_debug()))),
        }
    }

    /// Digits and letters, with a fraction when a digit follows the point.
    fn number_word(&mut self) -> &'a str {
        let start = self.at;
        self.take_while(in_name);
        let fraction = self.rest().strip_prefix('.').and_then(|rest| rest.chars().next());
        if fraction.is_some_and(|c| c.is_ascii_digit()) {
            self.bump();
            self.take_while(in_name);
        }
        let word = &self.text[start..self.at];
        let hex = word.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
        let exponent = word.ends_with(['e', 'E']) && !hex;
        if exponent && self.peek().is_some_and(|c| c == '+' || c == '-') {
            self.bump();
            self.take_while(in_name);
        }
        &self.text[start..self.at]
    }
}

fn number<'a>(word: &str) -> Option<Token<'a>> {
    let hex = |digits: &str, length: usize| {
        (digits.len() == length).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
    };
    if word.contains('.') {
        return Some(Token::F64(word.parse::<f64>().ok()?.to_bits()));
    }
    let lower = word.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0f") {
        return Some(Token::F32(hex(digits, 8)? as u32));
    }
    if let Some(digits) = lower.strip_prefix("0d") {
        return Some(Token::F64(hex(digits, 16)?));
    }
    let (digits, radix) = match lower.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None if lower.starts_with("0b") => (&lower[2..], 2),
        None if lower.starts_with('0') && lower.trim_end_matches('u').len() > 1 => (&lower[1..], 8),
        None => (lower.as_str(), 10),
    };
    let digits = digits.strip_suffix('u').unwrap_or(digits);
    match u64::from_str_radix(digits, radix) {
        Ok(value) => Some(Token::Int(value)),
        Err(_) if lower.contains('e') => Some(Token::F64(word.parse::<f64>().ok()?.to_bits())),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Token<'_>> {
        let tokens = lex(text, Path::new("t.ptx")).unwrap();
        tokens.into_iter().map(|(token, _)| token).filter(|token| *token != Token::End).collect()
    }

    #[test]
    fn numbers_are_read_in_every_notation() {
        let expected = [
            Token::Int(17),
            Token::Int(255),
            Token::Int(8),
            Token::Int(5),
            Token::Int(0),
            Token::F32(0x3f80_0000),
            Token::F64(0x3ff0_0000_0000_0000),
            Token::F64(2.5f64.to_bits()),
            Token::F64(1e-3f64.to_bits()),
        ];
        assert_eq!(words("17 0xFF 010U 0b101 0 0F3f800000 0d3FF0000000000000 2.5 1e-3"), expected);
    }

    #[test]
    fn a_sign_behind_a_hexadecimal_number_is_no_exponent() {
        let sum = [Token::Int(0x1e), Token::Punct('+'), Token::Int(2)];
        assert_eq!(words("0x1e+2"), sum);
        assert_eq!(words("0X1E+2"), sum);
        assert_eq!(words("1E+2"), [Token::F64(100f64.to_bits())]);
    }

    #[test]
    fn an_instruction_is_split_at_its_dots() {
        let tokens = words("@!%p1 ld.global.L1::no_allocate.u32 %r1, [%rd1+-4]; // end");
        assert_eq!(tokens[0], Token::Punct('@'));
        assert_eq!(tokens[4], Token::Dotted("global"));
        assert_eq!(tokens[5], Token::Dotted("L1::no_allocate"));
        assert_eq!(tokens.len(), 16);
    }

    #[test]
    fn an_error_names_line_and_column() {
        let told = |text| lex(text, Path::new("t.ptx")).unwrap_err().to_string();
        assert_eq!(told("ret;\n  \u{e9}"), "t.ptx:2:3: `\u{e9}` is not PTX");
        // What cannot be seen is told by its number.
        assert_eq!(told("\u{200b}ret;"), "t.ptx:1:1: `\\u{200b}` is not PTX");
    }
}
