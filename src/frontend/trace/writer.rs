//! Writes traces.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use zstd::Encoder;

use super::codec::Codec;
use super::header::{CTA, END, End, HEADER, Header, KERNEL, MAGIC, MOST_BYTES, VERSION};
use crate::config::unreadable::cannot_read;
use crate::config::written::{cannot_write, existing_folder_of, replaced};
use crate::error::{Error, Result};
use crate::isa::{Cta, Kernel};
use crate::partial::{Partial, create_file, uninterrupted};

/// A trace under way. It is whole after [`TraceWriter::finish`].
pub struct TraceWriter<W: Write> {
    output: Encoder<'static, W>,
    codec: Codec,
    body: Vec<u8>,
    end: End,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace. `level` is Zstandard's.
    ///
    /// # Errors
    /// When `output` cannot be written.
    pub fn new(mut output: W, header: &Header, level: i32) -> io::Result<Self> {
        output.write_all(&MAGIC)?;
        output.write_all(&VERSION.to_le_bytes())?;
        let mut output = Encoder::new(output, level)?;
        output.include_checksum(true)?;
        let mut writer =
            TraceWriter { output, codec: Codec::default(), body: Vec::new(), end: End::default() };
        writer.write_json(HEADER, header)?;
        Ok(writer)
    }

    /// Begins the next launch.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn begin(&mut self, kernel: &Kernel) -> io::Result<()> {
        self.codec = Codec::new(&kernel.insts);
        self.write_json(KERNEL, kernel)
    }

    /// Adds the next CTA of the launch.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn add(&mut self, cta: &Cta) -> io::Result<()> {
        self.end.ctas += 1;
        self.end.warp_instructions += cta.warps.iter().map(|warp| warp.instructions()).sum::<u64>();
        self.body.clear();
        self.codec.encode(cta, &mut self.body);
        self.write_body(CTA)
    }

    /// Ends the trace, and says what it holds.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn finish(mut self) -> io::Result<(W, End)> {
        let end = self.end;
        self.write_json(END, &end)?;
        let mut output = self.output.finish()?;
        output.flush()?;
        Ok((output, end))
    }

    fn write_json(&mut self, letter: u8, value: &impl Serialize) -> io::Result<()> {
        self.body.clear();
        serde_json::to_writer(&mut self.body, value)?;
        self.write_body(letter)
    }

    fn write_body(&mut self, letter: u8) -> io::Result<()> {
        let length = self.body.len();
        if length > MOST_BYTES {
            let what = format!("a record of the trace has {length} bytes, of {MOST_BYTES} at most");
            return Err(io::Error::other(what));
        }
        self.output.write_all(&[letter])?;
        self.output.write_all(&(length as u32).to_le_bytes())?;
        self.output.write_all(&self.body)
    }
}

/// A trace that is written to a file, which is there when it is whole.
pub struct TraceFile {
    writer: TraceWriter<BufWriter<File>>,
    path: PathBuf,
    /// Where the file is as long.
    partial: Partial,
}

impl TraceFile {
    /// Begins a trace that becomes the file `path`; see [`TraceWriter::new`]. A trace of that name is replaced at the end.
    ///
    /// # Errors
    /// When the file cannot be written, or stands where another kind of file is.
    pub fn create(path: &Path, header: &Header, level: i32) -> Result<Self> {
        check_replaceable(path)?;
        let cannot = |cause: io::Error| cannot_write(path, &cause);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let partial = Partial::new(&format!("{name}.partial-"), existing_folder_of(path)?)
            .map_err(|cause| cannot_write(path, &cause.kind().into()))?;
        let file = create_file(&partial.path().join("trace")).map_err(cannot)?;
        let writer = TraceWriter::new(BufWriter::new(file), header, level).map_err(cannot)?;
        Ok(TraceFile { writer, path: path.to_owned(), partial })
    }

    /// Begins the next launch.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(&mut self, kernel: &Kernel) -> Result<()> {
        self.writer.begin(kernel).map_err(|cause| cannot_write(&self.path, &cause))
    }

    /// Adds the next CTA of the launch.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, cta: &Cta) -> Result<()> {
        self.writer.add(cta).map_err(|cause| cannot_write(&self.path, &cause))
    }

    /// Puts the trace in its place; says what it holds, and its size `[bytes]`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<(End, u64)> {
        let TraceFile { writer, path, partial } = self;
        let finished = writer.finish().and_then(|(file, end)| {
            let file = file.into_inner()?;
            file.sync_all()?;
            let bytes = file.metadata()?.len();
            uninterrupted(|| {
                fs::rename(partial.path().join("trace"), &path)?;
                // It is empty, and the trace is there.
                let _ = partial.close();
                Ok((end, bytes))
            })
        });
        finished.map_err(|cause| cannot_write(&path, &cause))
    }
}

/// Refuses to replace what is no trace.
fn check_replaceable(path: &Path) -> Result<()> {
    let Some(mut old) = replaced(path)? else { return Ok(()) };
    let mut start = [0; MAGIC.len()];
    // A short file is no trace either.
    let _ = old.read(&mut start).map_err(|cause| cannot_read(path, &cause))?;
    match start == MAGIC {
        true => Ok(()),
        false => Err(Error::input("is no trace, so it is not replaced").in_file(path)),
    }
}
