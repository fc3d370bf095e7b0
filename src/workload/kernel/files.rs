//! Files that a run file names: found beside it, read once, and their digests kept.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::config::unreadable::cannot_read;
use crate::error::{Error, Result};
use crate::workload::npy::Header;
use crate::workload::ptx_header::hexadecimal;

/// The start of a file of elements: what is known before they are read.
pub struct Elements {
    reader: Hashing,
    /// What the file says about itself; `None` for plain elements.
    pub header: Option<Header>,
    /// Bytes of the elements.
    pub bytes: u64,
}

/// A reader that takes the digest of what it reads.
struct Hashing {
    file: BufReader<File>,
    digest: Sha256,
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.digest.update(&buffer[..count]);
        Ok(count)
    }
}

/// Opens a file and tells its size.
fn open(path: &Path) -> Result<(File, u64)> {
    let cannot = |cause: std::io::Error| cannot_read(path, &cause);
    // Asked first: a pipe would keep `open` waiting.
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(Error::input("is not a plain file").in_file(path));
    }
    let file = File::open(path).map_err(cannot)?;
    let bytes = file.metadata().map_err(cannot)?.len();
    Ok((file, bytes))
}

impl Elements {
    /// Opens a NumPy file, or with `raw` one of plain elements.
    pub fn open(path: &Path, raw: bool) -> Result<Elements> {
        let (file, bytes) = open(path)?;
        let mut reader = Hashing { file: BufReader::new(file), digest: Sha256::new() };
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
        Ok(hexadecimal(&self.reader.digest.finalize()))
    }
}
