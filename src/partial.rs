//! Folders in which something is written before it is put in its place.
//!
//! They are removed when they are dropped. A program that is interrupted drops nothing: where it asks for it
//! ([`remove_when_interrupted`]), they are removed then, too.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::{fs, io, process};

use tempfile::TempDir;

/// Exit code of a program that was interrupted: 128 and the signal's number, as shells have it.
const INTERRUPTED: i32 = 130;

/// Those that are to be removed when the program is interrupted.
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

static IS_ASKED: AtomicBool = AtomicBool::new(false);

fn open() -> MutexGuard<'static, Vec<PathBuf>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on an interrupt (Ctrl-C, a request to end) removes what is under way and ends the program.
pub fn remove_when_interrupted() {
    IS_ASKED.store(true, Ordering::Relaxed);
}

/// A folder under way.
#[derive(Debug)]
pub struct Partial {
    folder: TempDir,
    listed: Listed,
}

/// A folder of [`OPEN`].
#[derive(Debug)]
struct Listed(PathBuf);

impl Listed {
    fn take_out(&self) {
        open().retain(|path| *path != self.0);
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.take_out();
    }
}

impl Partial {
    /// A new folder in `parent`, whose name begins with `prefix`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(prefix: &str, parent: &Path) -> io::Result<Self> {
        static HANDLER: Once = Once::new();
        if IS_ASKED.load(Ordering::Relaxed) {
            // Where somebody else handles interrupts, folders stay.
            HANDLER.call_once(|| drop(ctrlc::try_set_handler(end)));
        }
        let mut open = open();
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        let path = folder.path().to_owned();
        open.push(path.clone());
        Ok(Partial { folder, listed: Listed(path) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// From now on an interrupt leaves it: it may hold what is nowhere else.
    pub fn leave(&self) {
        self.listed.take_out();
    }

    /// Removes it.
    ///
    /// # Errors
    /// When something of it cannot be removed.
    pub fn close(self) -> io::Result<()> {
        self.folder.close()
    }

    /// Lets it stay.
    pub fn keep(self) -> PathBuf {
        self.listed.take_out();
        self.folder.keep()
    }
}

/// Removes all that is under way, and ends the program.
fn end() {
    let open = open();
    for path in open.iter() {
        // Another thread may just be writing there; a second look finds what it wrote.
        let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_dir_all(path));
    }
    process::exit(INTERRUPTED);
}
