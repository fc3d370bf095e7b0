//! The trace of a kernel as lines: what it says of the launch, and its CTAs.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use lzma_rust2::XzReader;

use super::head::{Head, number, shown};
use super::line::Line;
use crate::config::files::open;
use crate::config::unreadable::cannot_read;
use crate::error::{Error, Result};
use crate::frontend::trace::reader::said;
use crate::units::noun;

/// A part of a trace behind its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// The CTA of this number in the grid begins.
    Begin(u64),
    /// The instructions of the warp of this number come.
    Warp(u32),
    /// An instruction: [`Text::line`] has it.
    Instruction,
    /// The CTA ends.
    End,
}

/// Where in a trace a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Between CTAs.
    Outside,
    /// In a CTA whose place in the grid has not been said yet.
    Begun,
    /// In a CTA.
    Cta,
}

/// Bytes of a line, at most. Addresses of a warp take under 1 KiB, and names of kernels no more than some.
const MOST_LINE: u64 = 1 << 20;

/// A trace that is being read.
pub struct Text {
    path: PathBuf,
    input: Box<dyn BufRead>,
    is_compressed: bool,
    head: Head,
    line: String,
    number: usize,
    part: Part,
    /// Whether a warp has been named whose instructions have not been counted yet.
    has_warp: bool,
    /// How many instructions the warp has, and the line that says so.
    counted: Option<(u64, usize)>,
    /// Instructions of the warp that are still to come.
    left: u64,
}

impl Text {
    /// Opens the trace at `path`, of which [`xz`](https://tukaani.org/xz/) may have made `.xz`, and reads its head.
    ///
    /// # Errors
    /// When it is none that gsim understands.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open(path)?;
        let is_compressed = path.extension().is_some_and(|extension| extension == "xz");
        let input: Box<dyn Read> = match is_compressed {
            true => Box::new(XzReader::new(BufReader::new(file), true)),
            false => Box::new(file),
        };
        let mut text = Text {
            path: path.to_owned(),
            input: Box::new(BufReader::with_capacity(1 << 16, input)),
            is_compressed,
            head: Head::default(),
            line: String::new(),
            number: 0,
            part: Part::Outside,
            has_warp: false,
            counted: None,
            left: 0,
        };
        text.read_head()?;
        Ok(text)
    }

    /// What it says of its launch.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// What it says of its launch, alone.
    pub fn into_head(self) -> Head {
        self.head
    }

    /// The last line.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The number of the last line, from 1 on.
    pub fn line_number(&self) -> usize {
        self.number
    }

    /// An error about the last line.
    pub fn wrong(&self, what: impl Into<String>) -> Error {
        Error::input(what).at(&self.path, self.number.max(1), 1)
    }

    /// An error about the value that the last line ends with.
    fn wrong_value(&self, value: &str, what: String) -> Error {
        let before = self.line.strip_suffix(value).unwrap_or_default();
        Error::input(what).at(&self.path, self.number.max(1), before.chars().count() + 1)
    }

    /// The next part; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read, is cut off, or has something else.
    pub fn next(&mut self) -> Result<Option<Item>> {
        loop {
            if !self.next_line()? {
                return match self.part {
                    Part::Outside => Ok(None),
                    Part::Begun | Part::Cta => Err(self.wrong("the trace ends within a CTA")),
                };
            }
            let line = self.line.as_str();
            if self.left > 0 && !line.is_empty() {
                if line.starts_with(|c: char| c.is_ascii_hexdigit()) {
                    self.left -= 1;
                    return Ok(Some(Item::Instruction));
                }
                let what =
                    noun(self.left, "instruction of the warp is", "instructions of the warp are");
                return Err(self.wrong(format!("{} {what} missing", self.left)));
            }
            let item = match line.split_once(" = ") {
                Some(("thread block", place)) => {
                    let cta = self.head.cta(place).map_err(|why| self.wrong_value(place, why))?;
                    Item::Begin(cta)
                }
                Some(("warp", text)) => {
                    let warp = number(text, u32::MAX.into());
                    Item::Warp(warp.map_err(|why| self.wrong_value(text, why))?)
                }
                Some(("insts", text)) => {
                    let count = number(text, u64::MAX);
                    let count = count.map_err(|why| self.wrong_value(text, why))?;
                    if !std::mem::take(&mut self.has_warp) {
                        return Err(self.wrong("instructions of no warp"));
                    }
                    self.left = count;
                    self.counted = Some((count, self.number));
                    continue;
                }
                // Where in its cluster.
                Some(("cluster id" | "cluster cta" | "cluster rank", _)) => continue,
                _ if line.is_empty() => continue,
                _ if line.starts_with("#BEGIN_TB") => {
                    if self.part != Part::Outside {
                        return Err(self.elsewhere());
                    }
                    self.part = Part::Begun;
                    continue;
                }
                _ if line.starts_with("#END_TB") => Item::End,
                _ => return Err(self.not_understood()),
            };
            let belongs = match item {
                Item::Begin(_) => Part::Begun,
                _ => Part::Cta,
            };
            if self.part != belongs {
                return Err(self.elsewhere());
            }
            self.part = if item == Item::End { Part::Outside } else { Part::Cta };
            self.has_warp = matches!(item, Item::Warp(_));
            self.counted = None;
            return Ok(Some(item));
        }
    }

    fn elsewhere(&self) -> Error {
        self.wrong("this belongs elsewhere: a CTA is #BEGIN_TB, thread block, its warps, #END_TB")
    }

    /// Why a line is none of a trace, or none here.
    fn not_understood(&self) -> Error {
        match self.counted {
            Some((count, number)) if Line::parse(&self.line, self.head.has_lines).is_ok() => {
                let said = format!("the `insts = {count}` of line {number}");
                self.wrong(format!("the warp has more instructions than {said}"))
            }
            _ => self.wrong(format!("{:?} is not understood", shown(&self.line))),
        }
    }

    /// Reads lines up to that which names the format.
    fn read_head(&mut self) -> Result<()> {
        while self.next_line()? {
            if self.line.starts_with('#') {
                return self.check_head();
            }
            let Some(entry) = self.line.strip_prefix('-') else {
                if self.line.is_empty() {
                    continue;
                }
                break;
            };
            let Some((key, value)) = entry.split_once('=') else {
                return Err(self.wrong(format!("{:?} has no value", shown(entry))));
            };
            let value = value.trim();
            let taken = self.head.take(key.trim(), value);
            taken.map_err(|why| self.wrong_value(value, why))?;
        }
        Err(self.wrong("no trace of Accel-Sim begins like this").hint(
            "kernel-N.traceg, as its post-processing writes it, begins with -kernel name = ..",
        ))
    }

    fn check_head(&self) -> Result<()> {
        let version = self.head.tracer_version;
        if version < 3 {
            let found = format!("tracer version {version}, of which gsim reads 3 and later");
            return Err(self.wrong(found).hint("post-process the traces again"));
        }
        match self.head.missing() {
            Some(key) => Err(self.wrong(format!("-{key} = (x,y,z) is missing"))),
            None => Ok(()),
        }
    }

    /// Reads a line; `false` at the end of the file.
    fn next_line(&mut self) -> Result<bool> {
        let mut bytes = std::mem::take(&mut self.line).into_bytes();
        bytes.clear();
        let read = self.input.by_ref().take(MOST_LINE).read_until(b'\n', &mut bytes);
        let count = match read {
            Err(cause) if self.is_compressed => return Err(self.damaged(&cause)),
            read => read.map_err(|cause| cannot_read(&self.path, &cause))?,
        };
        if count > 0 {
            self.number += 1;
        }
        if count as u64 == MOST_LINE {
            return Err(self.wrong("the line does not end"));
        }
        self.line = String::from_utf8(bytes).map_err(|_| self.wrong("this is no text"))?;
        self.line.truncate(self.line.trim_end().len());
        Ok(count > 0)
    }

    /// An error about the compressed file, in which lines are no places.
    fn damaged(&self, cause: &io::Error) -> Error {
        Error::input(format!("the compressed file is damaged: {}", said(cause))).in_file(&self.path)
    }
}
