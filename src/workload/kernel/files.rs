//! Files that a run file names: found beside it, read once, and their digests kept.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use crate::config::files::{Hashing, open};
use crate::config::unreadable::cannot_read;
use crate::error::{Error, Result};
use crate::workload::npy::Header;

/// The start of a file of elements: what is known before they are read.
pub struct Elements {
    reader: Hashing<BufReader<File>>,
    /// What the file says about itself; `None` for plain elements.
    pub header: Option<Header>,
    /// Bytes of the elements.
    pub bytes: u64,
}

impl Elements {
    /// Opens a NumPy file, or with `raw` one of plain elements.
    pub fn open(path: &Path, raw: bool) -> Result<Elements> {
        let file = open(path)?;
        let bytes = file.metadata().map_err(|cause| cannot_read(path, &cause))?.len();
        let mut reader = Hashing::new(BufReader::new(file));
        if raw {
            return Ok(Elements { reader, header: None, bytes });
        }
        let header =
            Header::read(&mut reader, bytes).map_err(|why| Error::input(why).in_file(path))?;
        let bytes = bytes - header.offset;
        Ok(Elements { reader, header: Some(header), bytes })
    }

    /// Reads the elements of `size` bytes each, as the device has them; gives the SHA-256 of the file.
    pub fn read(mut self, path: &Path, size: u64, place: &mut [u8]) -> Result<String> {
        self.reader.read_exact(place).map_err(|cause| cannot_read(path, &cause))?;
        if self.header.is_some_and(|header| header.big_endian) {
            place.chunks_exact_mut(size as usize).for_each(<[u8]>::reverse);
        }
        Ok(self.reader.sha256())
    }
}
