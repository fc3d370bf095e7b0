//! Where each value of a RON text stands: the map from a field's path to a line and a column.
//!
//! The RON parser knows its own position only, which after an error is somewhere behind the
//! offending value. This reader finds the values themselves. It never fails: what it cannot read it
//! leaves out, for the parser proper reports every error.

/// A value of a RON text, and the values in it.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Byte offset of its first character.
    pub start: usize,
    /// Byte offset after its last character.
    pub end: usize,
    /// Fields, map entries and elements, in the order of the text.
    pub entries: Vec<Entry>,
    /// Whether it is a list, `[..]`.
    is_list: bool,
}

/// A field, a map entry or an element.
#[derive(Debug)]
pub(super) struct Entry {
    /// The field's name, the map's key without quotes, or the element's index.
    pub key: String,
    /// Byte offset of the key; of the value, for an element.
    pub key_start: usize,
    /// Whether the text states the key.
    pub named: bool,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The value of the whole text.
    pub fn parse(text: &str) -> Node {
        let mut reader = Reader { text, at: 0 };
        reader.skip_attributes();
        reader.value(0)
    }

    /// The last entry called `key`, through newtypes such as `Some(..)` or `Stencil1d((..))`.
    fn entry_called(&self, key: &str) -> Option<&Entry> {
        match self.entries.as_slice() {
            [only] if !only.named && only.key != key => only.value.entry_called(key),
            // The first element of `Values([..])`, and not the list.
            [only] if !only.named && !self.is_list && only.value.is_list => {
                only.value.entry_called(key)
            }
            entries => entries.iter().rfind(|entry| entry.key == key),
        }
    }

    /// The entry at `path`, the last one where a key is repeated.
    pub fn entry(&self, path: &[impl AsRef<str>]) -> Option<&Entry> {
        let (last, parents) = path.split_last()?;
        self.find(parents)?.entry_called(last.as_ref())
    }

    /// The value at `path`; the value itself for an empty path.
    pub fn find(&self, path: &[impl AsRef<str>]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| Some(&node.entry_called(key.as_ref())?.value))
    }

    /// Names of the fields, through newtypes; empty for a plain value.
    pub fn field_names(&self) -> Vec<&str> {
        match self.entries.as_slice() {
            [only] if !only.named => only.value.field_names(),
            entries => entries.iter().filter(|e| e.named).map(|e| e.key.as_str()).collect(),
        }
    }
}

/// Line and column of a byte offset; both count from 1, columns in characters.
pub(super) fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
}

/// Values nested deeper are left out, as the RON parser refuses them (it stops at 128).
const DEPTH: usize = 128;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    /// Goes to the end of the next `end`, or of the text.
    fn skip_past(&mut self, end: &str) {
        self.at =
            self.rest().find(end).map_or(self.text.len(), |found| self.at + found + end.len());
    }

    fn skip_blank(&mut self) {
        loop {
            self.at = self.text.len() - self.rest().trim_start().len();
            if self.eat("//") {
                self.skip_past("\n");
            } else if self.eat("/*") {
                let mut open = 1;
                while open > 0 && self.at < self.text.len() {
                    if self.eat("/*") {
                        open += 1;
                    } else if self.eat("*/") {
                        open -= 1;
                    } else {
                        self.at += self.peek().map_or(0, char::len_utf8);
                    }
                }
            } else {
                return;
            }
        }
    }

    fn skip_attributes(&mut self) {
        self.skip_blank();
        while self.eat("#!") {
            self.skip_past("]");
            self.skip_blank();
        }
    }

    /// Goes past a literal in quotes, whose opening quote has been read.
    fn skip_quoted(&mut self, quote: char) {
        let mut escaped = false;
        for (offset, c) in self.rest().char_indices() {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == quote {
                self.at += offset + c.len_utf8();
                return;
            }
        }
        self.at = self.text.len();
    }

    /// Goes past a raw string such as `r#".."#`, if there is one.
    fn skip_raw_string(&mut self) -> bool {
        let rest = self.rest().strip_prefix('b').unwrap_or(self.rest());
        let Some(rest) = rest.strip_prefix('r') else { return false };
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        if !rest[hashes..].starts_with('"') {
            return false;
        }
        self.at = self.text.len() - rest.len() + hashes + 1;
        self.skip_past(&format!("\"{}", "#".repeat(hashes)));
        true
    }

    fn value(&mut self, depth: usize) -> Node {
        self.skip_blank();
        let mut node = Node { start: self.at, ..Node::default() };
        if self.skip_raw_string() {
        } else if self.eat("\"") || self.eat("b\"") {
            self.skip_quoted('"');
        } else if self.eat("'") || self.eat("b'") {
            self.skip_quoted('\'');
        } else {
            let is_end = |c: char| c.is_whitespace() || "()[]{},:\"'/".contains(c);
            self.at += self.rest().find(is_end).unwrap_or(self.rest().len());
            let word_end = self.at;
            self.skip_blank();
            match self.peek() {
                Some('(') => self.entries(&mut node, ')', depth),
                Some('[') if word_end == node.start => {
                    node.is_list = true;
                    self.entries(&mut node, ']', depth);
                }
                Some('{') if word_end == node.start => self.entries(&mut node, '}', depth),
                _ => self.at = word_end,
            }
        }
        node.end = self.at;
        node
    }

    fn entries(&mut self, node: &mut Node, close: char, depth: usize) {
        self.at += 1;
        loop {
            self.skip_blank();
            match self.peek() {
                Some(c) if c == close => {
                    self.at += 1;
                    return;
                }
                None => return,
                Some(',') => {
                    self.at += 1;
                    continue;
                }
                Some(_) if depth >= DEPTH => {
                    self.at = self.text.len();
                    return;
                }
                Some(_) => {}
            }
            let first = self.value(depth + 1);
            if first.end == first.start {
                // Nothing that a value starts with, such as a stray bracket.
                self.at += self.peek().map_or(0, char::len_utf8);
                continue;
            }
            let key_start = first.start;
            self.skip_blank();
            let entry = if self.eat(":") {
                let key = self.text[first.start..first.end].trim_matches('"').to_owned();
                Entry { key, key_start, named: true, value: self.value(depth + 1) }
            } else {
                let key = node.entries.len().to_string();
                Entry { key, key_start, named: false, value: first }
            };
            node.entries.push(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_at<'a>(text: &'a str, path: &str) -> Option<&'a str> {
        let path: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
        Node::parse(text).find(&path).map(|node| &text[node.start..node.end])
    }

    #[test]
    fn values_are_found_among_comments_strings_and_newtypes() {
        let text = r##"#![enable(implicit_some)]
// a: 0
Run( /* b: ( /* c */ */ a: 1_0, b: Two(c: "x)\", :", d: [3, (4, 5)]), e: { "l1.sets": Gto },
  f: Some((g: 'x')), h: r#"a "b: "#, i: (), )"##;
        assert_eq!(text_at(text, "a"), Some("1_0"));
        assert_eq!(text_at(text, "b/c"), Some(r#""x)\", :""#));
        assert_eq!(text_at(text, "b/d/1/0"), Some("4"));
        assert_eq!(text_at(text, "b"), Some(r#"Two(c: "x)\", :", d: [3, (4, 5)])"#));
        assert_eq!(text_at(text, "e/l1.sets"), Some("Gto"));
        assert_eq!(text_at(text, "f/g"), Some("'x'"));
        assert_eq!(text_at(text, "h"), Some(r##"r#"a "b: "#"##));
        assert_eq!(text_at(text, "i"), Some("()"));
        assert_eq!(text_at(text, "j"), None);
        assert_eq!(Node::parse(text).field_names(), ["a", "b", "e", "f", "h", "i"]);
    }

    #[test]
    fn elements_of_a_list_in_a_newtype_are_its_own() {
        let text = "(a: [Struct([I(1), J(2)])], b: [[3]])";
        assert_eq!(text_at(text, "a/0"), Some("Struct([I(1), J(2)])"));
        assert_eq!(text_at(text, "a/0/0"), Some("I(1)"));
        assert_eq!(text_at(text, "a/0/1"), Some("J(2)"));
        assert_eq!(text_at(text, "b/0"), Some("[3]"));
    }

    #[test]
    fn broken_texts_end_somewhere() {
        for text in
            ["", "(", "(a: ", "(a: \"x", "(a: ] b: 3)", "/* /*", "(((", "r#\"", "(a::::)", "ä(ö: ü"]
        {
            Node::parse(text);
        }
        Node::parse(&"(".repeat(100_000));
        assert_eq!(text_at("(a: 1 b: 2, c: 3)", "c"), Some("3"));
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_column("ä\nöü x", 8), (2, 4));
        assert_eq!(line_column("", 0), (1, 1));
    }
}
