//! Files that a run file names: found beside it, read once, and their digests kept.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use crate::config::Origin;
use crate::config::files::{Hashing, open};
use crate::config::kernel::{Fill, Scalar};
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

/// A file that fills elements of a type, opened and not yet read.
pub struct Filling<'a> {
    path: PathBuf,
    /// The file as the run file has it.
    pub written: &'a str,
    element: Scalar,
    elements: Elements,
    /// The sizes along each dimension, as the file says.
    pub shape: Vec<u64>,
    /// Elements, at least one.
    pub count: u64,
}

impl<'a> Filling<'a> {
    /// Opens the file that a fill names; `None` where it names none.
    ///
    /// # Errors
    /// A file that cannot be read, or has no elements or those of another type.
    pub fn open(fill: &'a Fill, element: Scalar, origin: &Origin) -> Result<Option<Filling<'a>>> {
        let (written, raw) = match fill {
            Fill::Npy(file) => (file, false),
            Fill::Raw(file) => (file, true),
            _ => return Ok(None),
        };
        let path = origin.folder().join(written);
        let elements = Elements::open(&path, raw)?;
        let wrong = |why: String| Error::input(why).in_file(&path);
        let shape = match &elements.header {
            Some(header) if !header.has(element) => {
                let have = header.type_name();
                let why = format!("has elements of type {have}, but {element} is stated");
                return Err(wrong(why));
            }
            Some(header) => header.shape.clone(),
            None if elements.bytes % element.bytes() != 0 => {
                let have = elements.bytes;
                let why = format!("has {have} bytes, which are no whole {element} elements");
                return Err(wrong(why));
            }
            None => vec![elements.bytes / element.bytes()],
        };
        let count: u64 = shape.iter().product();
        if count == 0 {
            return Err(wrong("has no elements".to_owned()));
        }
        Ok(Some(Filling { path, written, element, elements, shape, count }))
    }

    /// Reads all elements; gives the SHA-256 of the file.
    pub fn read(self, place: &mut [u8]) -> Result<String> {
        self.elements.read(&self.path, self.element.bytes(), place)
    }
}
