//! Reads traces.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use zstd::Decoder;
use zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode::ZSTD_error_checksum_wrong;

use super::check::check;
use super::codec::Codec;
use super::header::{CTA, END, End, HEADER, Header, KERNEL, MAGIC, MOST_BYTES, VERSION};
use crate::config::files::open;
use crate::config::unreadable::cannot_read;
use crate::error::{Error, Result};
use crate::isa::{Cta, Kernel, LaunchSource};

/// What to do about a trace that is of no use.
const AGAIN: &str = "capture or import it again";

/// A trace that is being read, launch by launch and CTA by CTA.
pub struct TraceReader {
    records: Records,
    header: Header,
    launch: Option<Launch>,
    /// Launches that have begun.
    begun: u32,
    /// What has been read.
    read: End,
    /// Whether a CTA was passed over, whose instructions nobody counted.
    has_skipped: bool,
    is_at_end: bool,
}

/// The launch under way.
struct Launch {
    kernel: Arc<Kernel>,
    codec: Codec,
    /// CTAs to come.
    left: u64,
}

/// The records of a trace.
struct Records {
    path: PathBuf,
    input: Decoder<'static, BufReader<File>>,
    /// Content of the last record.
    body: Vec<u8>,
}

impl Records {
    fn open(path: &Path) -> Result<Self> {
        let mut file = open(path)?;
        let mut start = [0; MAGIC.len() + 4];
        let is_trace = match file.read_exact(&mut start) {
            Err(cause) if cause.kind() != ErrorKind::UnexpectedEof => {
                return Err(cannot_read(path, &cause));
            }
            read => read.is_ok() && start.starts_with(&MAGIC),
        };
        if !is_trace {
            return Err(Error::input("this is no trace of gsim")
                .hint("`gsim trace capture` writes traces, `gsim trace import` converts those of Accel-Sim")
                .in_file(path));
        }
        let version = u32::from_le_bytes(*start.last_chunk().expect("four bytes are left"));
        if version != VERSION {
            let message = format!("the trace has format {version}, and this gsim reads {VERSION}");
            return Err(Error::input(message).hint(AGAIN).in_file(path));
        }
        let input = Decoder::new(file).map_err(|cause| cannot_read(path, &cause))?;
        // What stands behind the frame is no part of the trace, and found at the end.
        let input = input.single_frame();
        Ok(Records { path: path.to_owned(), input, body: Vec::new() })
    }

    /// Reads the next record into the body; gives its letter, or what is wrong.
    fn take(&mut self) -> Result<u8, String> {
        let mut start = [0; 5];
        let mut read = self.input.read_exact(&mut start);
        if read.is_ok() {
            let length = u32::from_le_bytes(*start.last_chunk().expect("four bytes are left"));
            if length as usize > MOST_BYTES {
                return Err(format!("a record has {length} bytes, of {MOST_BYTES} at most"));
            }
            self.body.clear();
            // A length may be wrong: room is made for what comes.
            let content = self.input.by_ref().take(length.into()).read_to_end(&mut self.body);
            read = content.and_then(|count| match count == length as usize {
                true => Ok(()),
                false => Err(ErrorKind::UnexpectedEof.into()),
            });
        }
        match read {
            Ok(()) => Ok(start[0]),
            Err(cause) => Err(said(&cause)),
        }
    }

    /// The body of the last record, which is JSON.
    fn json<T: DeserializeOwned>(&self, what: &str) -> Result<T, String> {
        serde_json::from_slice(&self.body)
            .map_err(|cause| format!("its {what} is none of this gsim: {cause}"))
    }

    /// Checks that there is nothing more.
    fn end(&mut self) -> Result<(), String> {
        if self.input.read(&mut [0]).map_err(|cause| said(&cause))? > 0 {
            return Err("it goes on behind its end".to_owned());
        }
        // The frame is whole, and its checksum right.
        let behind = self.input.get_mut().fill_buf().map_err(|cause| said(&cause))?;
        match behind.is_empty() {
            true => Ok(()),
            false => Err("it has bytes behind its end".to_owned()),
        }
    }
}

/// What a cause says of a compressed trace.
pub(super) fn said(cause: &io::Error) -> String {
    let zstd = cause.get_ref().and_then(|cause| cause.downcast_ref::<zstd::Error>());
    match zstd {
        Some(zstd) if zstd.is(ZSTD_error_checksum_wrong) => "its checksum is wrong".to_owned(),
        _ if cause.kind() == ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
        _ => cause.to_string(),
    }
}

impl TraceReader {
    /// Opens the trace at `path`.
    ///
    /// # Errors
    /// When there is none that can be read.
    pub fn open(path: &Path) -> Result<Self> {
        let mut records = Records::open(path)?;
        let header = match records.take() {
            Ok(HEADER) => records.json("header"),
            Ok(_) => Err("it has no header".to_owned()),
            Err(what) => Err(what),
        };
        let header = header.map_err(|what| damaged(&records.path, "", &what))?;
        Ok(TraceReader {
            records,
            header,
            launch: None,
            begun: 0,
            read: End::default(),
            has_skipped: false,
            is_at_end: false,
        })
    }

    /// What the trace says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What has been read.
    pub fn read(&self) -> End {
        self.read
    }

    /// Reads what is left of the file, without a look at the instructions.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn finish(&mut self) -> Result<()> {
        while self.begin()?.is_some() {}
        Ok(())
    }

    /// Begins the next launch, or reads the end.
    fn take_kernel(&mut self) -> Result<Option<Arc<Kernel>>, String> {
        match self.records.take()? {
            KERNEL if self.begun < self.header.launches => {}
            END => {
                let end: End = self.records.json("end")?;
                self.records.end()?;
                let is_counted =
                    self.has_skipped || end.warp_instructions == self.read.warp_instructions;
                if self.begun < self.header.launches || end.ctas != self.read.ctas || !is_counted {
                    return Err("it holds something else than its end says".to_owned());
                }
                self.is_at_end = true;
                return Ok(None);
            }
            _ => return Err("it has a record where none belongs".to_owned()),
        }
        let kernel: Kernel = self.records.json("kernel")?;
        check(&kernel).map_err(|what| format!("kernel {}: {what}", kernel.name))?;
        let kernel = Arc::new(kernel);
        let codec = Codec::new(&kernel.insts);
        self.launch = Some(Launch { kernel: kernel.clone(), codec, left: kernel.ctas });
        self.begun += 1;
        Ok(Some(kernel))
    }

    /// Reads the bytes of the next CTA of the launch; `false` where there is none.
    fn take_cta(&mut self) -> Result<bool, String> {
        let Some(launch) = self.launch.as_mut().filter(|launch| launch.left > 0) else {
            return Ok(false);
        };
        if self.records.take()? != CTA {
            return Err("a CTA is missing".to_owned());
        }
        launch.left -= 1;
        self.read.ctas += 1;
        Ok(true)
    }

    /// Fills `cta` with the next one.
    fn take_streams(&mut self, cta: &mut Cta) -> Result<bool, String> {
        if !self.take_cta()? {
            return Ok(false);
        }
        let Some(Launch { kernel, codec, left }) = &mut self.launch else { return Ok(false) };
        let decoded = codec.decode(&self.records.body, kernel.cta_warps(), cta);
        let number = kernel.ctas - *left - 1;
        self.read.warp_instructions += decoded.map_err(|what| format!("CTA {number}: {what}"))?;
        Ok(true)
    }

    fn damaged(&self, what: &str) -> Error {
        let place = match self.begun {
            0 => String::new(),
            begun => format!(" in launch {}", begun - 1),
        };
        damaged(&self.records.path, &place, what)
    }
}

fn damaged(path: &Path, place: &str, what: &str) -> Error {
    Error::input(format!("the trace is damaged{place}: {what}")).hint(AGAIN).in_file(path)
}

impl LaunchSource for TraceReader {
    /// CTAs of the launch before that nobody has asked for are passed over.
    fn begin(&mut self) -> Result<Option<Arc<Kernel>>> {
        let next = (|| {
            while self.take_cta()? {
                self.has_skipped = true;
            }
            match self.is_at_end {
                true => Ok(None),
                false => self.take_kernel(),
            }
        })();
        next.map_err(|what: String| self.damaged(&what))
    }

    fn next(&mut self, cta: &mut Cta) -> Result<bool> {
        self.take_streams(cta).map_err(|what| self.damaged(&what))
    }
}
