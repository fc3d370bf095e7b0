//! Folders in which something is written before it is put in its place.
//!
//! They are removed when they are dropped. A program that is interrupted drops nothing: where it asks for it
//! ([`remove_when_interrupted`]), they are removed then, too. What is made in them, or moved out of them, is made with
//! [`uninterrupted`] or [`create_file`]: then nothing is made there while they are removed, and no interrupt leaves a part of them.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::{fs, io, process};

use tempfile::TempDir;

/// Exit code of a program that was interrupted: 128 and the signal's number, as shells have it.
const INTERRUPTED: i32 = 130;

/// Those that are to be removed when the program is interrupted.
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Held while something is made that an interrupt has to find whole, and from an interrupt to the end of the program. It is taken
/// before [`OPEN`].
static MAKING: Mutex<()> = Mutex::new(());

static IS_ASKED: AtomicBool = AtomicBool::new(false);

fn lock<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `work`, which is short: an interrupt waits for its end. After an interrupt it does not begin, and this does not return.
///
/// It must not come to another `uninterrupted`, to [`create_file`] or to [`Partial::new`].
pub fn uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let _making = lock(&MAKING);
    work()
}

/// Makes a file, or empties the one that stands there. After an interrupt it does not return.
///
/// # Errors
/// As [`File::create`].
pub fn create_file(path: &Path) -> io::Result<File> {
    match uninterrupted(|| File::create_new(path)) {
        // Nothing new is made. A pipe may wait here for its reader, which an interrupt must not wait for.
        Err(why) if why.kind() == ErrorKind::AlreadyExists => File::create(path),
        made => made,
    }
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
        lock(&OPEN).retain(|path| *path != self.0);
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
        uninterrupted(|| {
            let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
            let path = folder.path().to_owned();
            lock(&OPEN).push(path.clone());
            Ok(Partial { folder, listed: Listed(path) })
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
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
    // Both are held until the program has ended.
    let _making = lock(&MAKING);
    let open = lock(&OPEN);
    for path in open.iter() {
        // Another thread may just be removing it, too; a second look finds what that one has left.
        let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_dir_all(path));
    }
    process::exit(INTERRUPTED);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_or_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        drop(create_file(&file).unwrap());
        fs::write(&file, "old").unwrap();
        drop(create_file(&file).unwrap());
        assert_eq!(fs::read_to_string(&file).unwrap(), "");
        let lost = create_file(&folder.path().join("none/a")).unwrap_err();
        assert_eq!(lost.kind(), ErrorKind::NotFound);
    }
}
