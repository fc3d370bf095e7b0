//! Expressions in whole numbers.

use crate::config::names::suggest;

/// Nesting and length that an expression may have.
const MAX_DEPTH: usize = 32;
const MAX_LENGTH: usize = 1000;

/// Values that expressions may name.
pub type Scope = Vec<(String, i128)>;

/// The value of an expression. Every step is exact in 128 bits, or an error.
pub fn evaluate(text: &str, scope: &Scope) -> Result<i128, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("an expression has at most {MAX_LENGTH} bytes"));
    }
    let mut parser = Parser { text, rest: text, scope, depth: 0 };
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.unexpected("an operator")),
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    scope: &'a Scope,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        match self.eat(wanted) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{wanted}`"))),
        }
    }

    fn unexpected(&mut self, wanted: &str) -> String {
        match self.peek() {
            Some(c) => format!("expected {wanted} before `{c}` in {:?}", self.text),
            None => format!("expected {wanted} at the end of {:?}", self.text),
        }
    }

    fn word(&mut self, of_word: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c: char| !of_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn overflow(&self) -> String {
        format!("{:?} is out of all measure", self.text)
    }

    fn sum(&mut self) -> Result<i128, String> {
        let mut value = self.product()?;
        loop {
            let next = if self.eat('+') {
                value.checked_add(self.product()?)
            } else if self.eat('-') {
                value.checked_sub(self.product()?)
            } else {
                return Ok(value);
            };
            value = next.ok_or_else(|| self.overflow())?;
        }
    }

    fn product(&mut self) -> Result<i128, String> {
        let mut value = self.factor()?;
        loop {
            let (divides, next): (_, fn(i128, i128) -> Option<i128>) = match self.peek() {
                Some('*') => (false, i128::checked_mul),
                Some('/') => (true, i128::checked_div),
                Some('%') => (true, i128::checked_rem),
                _ => return Ok(value),
            };
            self.rest = &self.rest[1..];
            let factor = self.factor()?;
            if divides && factor == 0 {
                return Err(format!("{:?} divides by zero", self.text));
            }
            value = next(value, factor).ok_or_else(|| self.overflow())?;
        }
    }

    fn factor(&mut self) -> Result<i128, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("an expression is nested at most {MAX_DEPTH} deep"));
        }
        let value = match self.peek() {
            Some('-') => {
                self.rest = &self.rest[1..];
                self.factor()?.checked_neg().ok_or_else(|| self.overflow())?
            }
            Some('(') => {
                self.rest = &self.rest[1..];
                let value = self.sum()?;
                self.expect(')')?;
                value
            }
            Some('0'..='9') => {
                let digits = self.word(|c| c.is_ascii_alphanumeric() || c == '_').replace('_', "");
                let (digits, radix) = match digits.strip_prefix("0x") {
                    Some(digits) => (digits, 16),
                    None => (digits.as_str(), 10),
                };
                i128::from_str_radix(digits, radix)
                    .map_err(|_| format!("{digits:?} is not a whole number"))?
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
                if self.eat('(') { self.function(name)? } else { self.name(name)? }
            }
            _ => return Err(self.unexpected("a number, a parameter or `(`")),
        };
        self.depth -= 1;
        Ok(value)
    }

    fn name(&self, name: &str) -> Result<i128, String> {
        let found = self.scope.iter().rfind(|(known, _)| known == name);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<&str> = self.scope.iter().map(|(known, _)| known.as_str()).collect();
            match known.is_empty() {
                true => format!("there is no parameter `{name}`; `parameters` is empty"),
                false => format!("there is no parameter `{name}`: {}", suggest(name, &known)),
            }
        })
    }

    fn function(&mut self, name: &str) -> Result<i128, String> {
        let first = self.sum()?;
        self.expect(',')?;
        let second = self.sum()?;
        self.expect(')')?;
        match name {
            "min" => Ok(first.min(second)),
            "max" => Ok(first.max(second)),
            "ceil_div" if second <= 0 || first < 0 => {
                Err(format!("ceil_div({first}, {second}) is for numbers above zero"))
            }
            "ceil_div" => Ok((first / second).saturating_add(i128::from(first % second != 0))),
            _ => Err(format!("there is no function `{name}`: min, max or ceil_div")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope() -> Scope {
        vec![("n".to_owned(), 100), ("block".to_owned(), 32)]
    }

    #[test]
    fn expressions_have_the_usual_precedence() {
        for (text, want) in [
            ("7", 7),
            ("0x10 + 1_000", 1016),
            ("2 + 3 * 4 - 1", 13),
            ("(2 + 3) * -4", -20),
            ("10 - 2 - 3", 5),
            ("-7 / 2", -3),
            ("-7 % 2", -1),
            ("n * n", 10_000),
            ("ceil_div(n, block)", 4),
            ("ceil_div(96, block)", 3),
            ("min(n, block) + max(n, block)", 132),
            ("18446744073709551615", u64::MAX.into()),
        ] {
            assert_eq!(evaluate(text, &scope()), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, want) in [
            ("", "expected a number, a parameter or `(` at the end of \"\""),
            ("2 +", "expected a number, a parameter or `(` at the end of \"2 +\""),
            ("2 3", "expected an operator before `3` in \"2 3\""),
            ("(2", "expected `)` at the end of \"(2\""),
            ("n / (block - 32)", "\"n / (block - 32)\" divides by zero"),
            ("m", "there is no parameter `m`: one of n, block"),
            ("blok", "there is no parameter `blok`: did you mean block?"),
            ("log(n, 2)", "there is no function `log`: min, max or ceil_div"),
            ("12ab", "\"12ab\" is not a whole number"),
            ("ceil_div(n, 0)", "ceil_div(100, 0) is for numbers above zero"),
        ] {
            assert_eq!(evaluate(text, &scope()), Err(want.to_owned()), "{text}");
        }
        let large = vec!["n"; 100].join("*");
        assert!(evaluate(&large, &scope()).unwrap_err().ends_with("is out of all measure"));
        assert!(evaluate(&"(".repeat(900), &scope()).unwrap_err().contains("nested at most 32"));
        assert!(evaluate(&"-".repeat(900), &scope()).unwrap_err().contains("nested at most 32"));
        assert!(evaluate(&"1+".repeat(900), &scope()).unwrap_err().contains("at most 1000 bytes"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn any_text_has_a_value_or_an_error(text in "[-+*/%() 0-9a-znäx_,.]{0,40}") {
            let _ = evaluate(&text, &scope());
        }
    }
}
