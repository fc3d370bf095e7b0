//! The trace of a kernel as lines: what it says of the launch, and its CTAs.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use lzma_rust2::XzReader;

use crate::config::files::open;
use crate::config::unreadable::cannot_read;
use crate::error::{Error, Result};

/// What a trace says of its launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Name of the kernel.
    pub name: String,
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z.
    pub block: [u32; 3],
    /// Shared memory of a CTA `[bytes]`.
    pub shared: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Compute capability of the code, times ten.
    pub binary_version: u32,
    /// Version of the tracer.
    pub tracer_version: u32,
    /// Where generic addresses of shared memory begin; 0 where that is not said.
    pub shared_base: u64,
    /// Where generic addresses of local memory begin; 0 where that is not said.
    pub local_base: u64,
    /// Whether instructions begin with their line in the source text.
    pub has_lines: bool,
}

/// A part of a trace behind its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A CTA begins.
    Begin,
    /// The instructions of the warp of this number come.
    Warp(u32),
    /// An instruction: [`Text::line`] has it.
    Instruction,
    /// The CTA ends.
    End,
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
    is_in_cta: bool,
    /// Whether a warp has been named whose instructions have not been counted yet.
    has_warp: bool,
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
            is_in_cta: false,
            has_warp: false,
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

    /// An error about the last line.
    pub fn wrong(&self, what: impl Into<String>) -> Error {
        Error::input(what).at(&self.path, self.number.max(1), 1)
    }

    /// The next part; `None` at the end.
    ///
    /// # Errors
    /// When the file cannot be read, is cut off, or has something else.
    pub fn next(&mut self) -> Result<Option<Item>> {
        loop {
            if !self.next_line()? {
                return match self.is_in_cta {
                    true => Err(self.wrong("the trace ends within a CTA")),
                    false => Ok(None),
                };
            }
            let line = self.line.as_str();
            if self.left > 0 && !line.is_empty() {
                if line.starts_with(|c: char| c.is_ascii_hexdigit()) {
                    self.left -= 1;
                    return Ok(Some(Item::Instruction));
                }
                return Err(
                    self.wrong(format!("{} instructions of the warp are missing", self.left))
                );
            }
            let item = match line.split_once(" = ") {
                Some(("warp", number)) => Item::Warp(self.number_in(number)?),
                Some(("insts", count)) => {
                    self.left = self.number_in(count)?;
                    if !std::mem::take(&mut self.has_warp) {
                        return Err(self.wrong("instructions of no warp"));
                    }
                    continue;
                }
                // Where in the grid and in its cluster.
                Some(("thread block" | "cluster id" | "cluster cta" | "cluster rank", _)) => {
                    continue;
                }
                _ if line.is_empty() => continue,
                _ if line.starts_with("#BEGIN_TB") => Item::Begin,
                _ if line.starts_with("#END_TB") => Item::End,
                _ => return Err(self.wrong(format!("{:?} is not understood", shown(line)))),
            };
            let belongs = match item {
                Item::Begin => !self.is_in_cta,
                _ => self.is_in_cta,
            };
            if !belongs {
                return Err(
                    self.wrong("this belongs elsewhere: a CTA is #BEGIN_TB, its warps, #END_TB")
                );
            }
            match item {
                Item::Begin => self.is_in_cta = true,
                Item::End => (self.is_in_cta, self.has_warp) = (false, false),
                Item::Warp(_) => self.has_warp = true,
                Item::Instruction => {}
            }
            return Ok(Some(item));
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
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            match key.as_str() {
                "kernel name" => self.head.name = value,
                "grid dim" => self.head.grid = self.sizes(&value)?,
                "block dim" => self.head.block = self.sizes(&value)?,
                "shmem" => self.head.shared = self.number_in(&value)?,
                "nregs" => self.head.registers = self.number_in(&value)?,
                "binary version" => self.head.binary_version = self.number_in(&value)?,
                "accelsim tracer version" => self.head.tracer_version = self.number_in(&value)?,
                "shmem base_addr" => self.head.shared_base = self.address(&value)?,
                "local mem base_addr" => self.head.local_base = self.address(&value)?,
                "enable lineinfo" => self.head.has_lines = self.number_in::<u32>(&value)? != 0,
                // What does not matter here: streams, versions of NVBit.
                _ => {}
            }
        }
        Err(self.wrong("no trace of Accel-Sim begins like this").hint(
            "kernel-N.traceg, as its post-processing writes it, begins with -kernel name = ..",
        ))
    }

    fn check_head(&self) -> Result<()> {
        let Head { tracer_version, grid, block, .. } = &self.head;
        if *tracer_version < 3 {
            let found = format!("tracer version {tracer_version}, of which gsim reads 3 and later");
            return Err(self.wrong(found).hint("post-process the traces again"));
        }
        let sizes = block.iter().map(|size| u64::from(*size));
        let threads = sizes.fold(1, u64::saturating_mul);
        let has_none = |sizes: &[u32; 3]| sizes.contains(&0);
        if has_none(grid) || has_none(block) || threads > 1024 {
            return Err(self.wrong(format!("a launch of {grid:?} CTAs of {block:?} threads")));
        }
        if self.head.registers > 256 {
            return Err(self.wrong(format!("{} registers of a thread", self.head.registers)));
        }
        Ok(())
    }

    /// Reads a line; `false` at the end of the file.
    fn next_line(&mut self) -> Result<bool> {
        let mut bytes = std::mem::take(&mut self.line).into_bytes();
        bytes.clear();
        let read = self.input.by_ref().take(MOST_LINE).read_until(b'\n', &mut bytes);
        let count = match read {
            Err(cause) if self.is_compressed => {
                return Err(self.wrong(format!("the compressed file is damaged: {cause}")));
            }
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

    fn number_in<N: std::str::FromStr>(&self, text: &str) -> Result<N> {
        text.parse().map_err(|_| self.wrong(format!("{:?} is no number here", shown(text))))
    }

    fn address(&self, text: &str) -> Result<u64> {
        u64::from_str_radix(text.trim_start_matches("0x"), 16)
            .map_err(|_| self.wrong(format!("{:?} is no address", shown(text))))
    }

    /// `(1,2,3)`.
    fn sizes(&self, text: &str) -> Result<[u32; 3]> {
        let inner = text.trim_start_matches('(').trim_end_matches(')');
        let sizes: Vec<u32> =
            inner.split(',').map(|size| self.number_in(size.trim())).collect::<Result<_>>()?;
        sizes.try_into().map_err(|_| self.wrong(format!("{:?} is no size", shown(text))))
    }
}

/// The beginning of a text from a file, for a message.
pub fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}
