//! Files that are read: opened, and their digests taken.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::unreadable::cannot_read;
use crate::error::{Error, Result};

/// The folder that a file is in: the present one where its path names none.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Opens a file.
///
/// # Errors
/// When it is none that can be read; a folder, a device or a pipe is not opened.
pub fn open(path: &Path) -> Result<File> {
    let cannot = |cause: std::io::Error| cannot_read(path, &cause);
    // Asked first: a device may have no end, and a pipe would keep `open` waiting.
    let is = std::fs::metadata(path).map_err(cannot)?;
    if is.is_dir() {
        return Err(cannot(ErrorKind::IsADirectory.into()));
    }
    if !is.is_file() {
        return Err(Error::input("is not a plain file").in_file(path));
    }
    File::open(path).map_err(cannot)
}

/// A reader that takes the digest of what it reads.
#[derive(Debug)]
pub struct Hashing<R> {
    reader: R,
    digest: Sha256,
}

impl<R> Hashing<R> {
    /// Reads from `reader`.
    pub fn new(reader: R) -> Self {
        Hashing { reader, digest: Sha256::new() }
    }

    /// The SHA-256 of what has been read, in hexadecimal.
    pub fn sha256(&self) -> String {
        hexadecimal(&self.digest.clone().finalize())
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.digest.update(&buffer[..count]);
        Ok(count)
    }
}

/// The SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// When it cannot be read.
pub fn sha256_of(path: &Path) -> Result<String> {
    let mut file = Hashing::new(open(path)?);
    std::io::copy(&mut file, &mut std::io::sink()).map_err(|cause| cannot_read(path, &cause))?;
    Ok(file.sha256())
}

/// The SHA-256 of a text, in hexadecimal.
pub fn sha256(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}
