//! JSON text, as results are written.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// What lies between two values: a comma, where one came before, a new line, and the indentation of most depths.
const BREAK: &[u8] = b",\n                                ";
/// Spaces of one depth.
const STEP: usize = 2;
/// Room for the report of most machines.
const ROOM: usize = 1 << 17;

/// A value as text, with a newline at the end. It is what [`serde_json::to_string_pretty`] gives, which writes each step of the
/// indentation on its own and takes one and a half times as long.
pub fn to_json<T: Serialize>(value: &T) -> String {
    let mut text = Vec::with_capacity(ROOM);
    let mut serializer = Serializer::with_formatter(&mut text, Indented::default());
    value.serialize(&mut serializer).expect("maps have string keys");
    text.push(b'\n');
    String::from_utf8(text).expect("JSON is text")
}

/// One value a line.
#[derive(Default)]
struct Indented {
    /// Spaces before a value.
    spaces: usize,
    /// The value that ends has others in it.
    has_values: bool,
}

impl Indented {
    /// Begins a line, behind a comma unless it is the first one.
    #[inline]
    fn line<W: Write + ?Sized>(&self, writer: &mut W, is_first: bool) -> Result<()> {
        let most = BREAK.len() - 2;
        writer.write_all(&BREAK[usize::from(is_first)..2 + self.spaces.min(most)])?;
        (most..self.spaces).try_for_each(|_| writer.write_all(b" "))
    }

    fn begin<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> Result<()> {
        self.spaces += STEP;
        self.has_values = false;
        writer.write_all(bracket)
    }

    fn end<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> Result<()> {
        self.spaces -= STEP;
        if self.has_values {
            self.line(writer, true)?;
        }
        writer.write_all(bracket)
    }
}

impl Formatter for Indented {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        self.begin(writer, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        self.end(writer, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.line(writer, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _writer: &mut W) -> Result<()> {
        self.has_values = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        self.begin(writer, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        self.end(writer, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.line(writer, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _writer: &mut W) -> Result<()> {
        self.has_values = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_that_of_serde_json() {
        let mut deep = json!([]);
        for depth in 0..40 {
            deep = match depth % 3 {
                0 => json!([deep, {}]),
                1 => json!({ "a\n\"": deep, "ö": [1, -2.5, null, true] }),
                _ => json!([{}, [], deep, [[]], ""]),
            };
            let want = serde_json::to_string_pretty(&deep).unwrap() + "\n";
            assert_eq!(to_json(&deep), want);
        }
    }
}
