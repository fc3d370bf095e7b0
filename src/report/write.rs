//! Result folders that are whole or absent.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::config::written::{cannot_write, replaced, said};
use crate::error::{Error, Result};
use crate::partial::{Partial, create_file, uninterrupted};
use crate::stats::{Ledger, Reason, ratio};

use super::plot;
use super::{REPORT_FILE, Report};

/// Whether a result folder gets pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures {
    /// The stall breakdown as SVG and PNG, and the page.
    All,
    /// None: numbers only.
    None,
}

impl Report {
    /// Writes `ROOT/NAME` with the report as JSON and as a page, the ledgers as a table, and the stall
    /// breakdown; returns the folder.
    ///
    /// The folder appears at once, whole. An older result of the same name is replaced; a folder that
    /// is no result is left alone, and that is an error.
    pub fn save(&self, root: &Path, pictures: Pictures) -> Result<PathBuf> {
        self.save_with(root, pictures, |_| Ok(()))
    }

    /// As [`Report::save`], with what `also` writes into the folder before it appears.
    pub fn save_with(
        &self,
        root: &Path,
        pictures: Pictures,
        also: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        write_folder(root, &self.name, REPORT_FILE, |folder| {
            also(folder)?;
            self.write(folder, pictures)
        })
    }

    /// Writes the report into `folder`, and what is made of it.
    pub fn write(&self, folder: &Path, pictures: Pictures) -> Result<()> {
        write_file(&folder.join(REPORT_FILE), self.to_json().as_bytes())?;
        self.write_beside(folder, pictures)
    }

    /// Writes into `folder`, which holds this report, all that is made of it. Each file appears whole, and others stay.
    pub fn draw(&self, folder: &Path) -> Result<()> {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let cannot = |why: io::Error| {
            Error::run(format!("cannot hold pictures: {}", why.kind())).in_file(here)
        };
        let new = Partial::new("new.partial-", here).map_err(cannot)?;
        self.write_beside(new.path(), Pictures::All)?;
        uninterrupted(|| {
            for entry in fs::read_dir(new.path()).map_err(cannot)? {
                let entry = entry.map_err(cannot)?;
                let place = here.join(entry.file_name());
                fs::rename(entry.path(), &place).map_err(|why| {
                    Error::run(format!("cannot be replaced: {}", said(&why))).in_file(&place)
                })?;
            }
            Ok(())
        })
    }

    /// All that a result folder has beside the report.
    fn write_beside(&self, folder: &Path, pictures: Pictures) -> Result<()> {
        write_file(&folder.join("ledgers.csv"), self.ledgers_csv().as_bytes())?;
        if !self.lines.is_empty() {
            write_file(&folder.join("lines.csv"), &self.lines_csv()?)?;
        }
        if !self.buffers.is_empty() {
            write_file(&folder.join("buffers.csv"), &self.buffers_csv()?)?;
        }
        if pictures == Pictures::None {
            return Ok(());
        }
        write_file(&folder.join("report.html"), self.to_html().as_bytes())?;
        plot::stalls(self).write(&folder.join("stalls"))
    }

    /// The ledgers as a table: all kernels together first, then each by its place in the launch order.
    pub fn ledgers_csv(&self) -> String {
        let mut text = "kernel,ledger,reason,amount,share\n".to_owned();
        let all = ("all".to_owned(), &self.ledgers);
        let each = self.kernels.iter().enumerate();
        let each = each.map(|(number, kernel)| ((number + 1).to_string(), &kernel.ledgers));
        for (kernel, ledgers) in std::iter::once(all).chain(each) {
            push_rows(&mut text, &kernel, "issue", &ledgers.issue);
            push_rows(&mut text, &kernel, "lsu", &ledgers.lsu);
            push_rows(&mut text, &kernel, "latency", &ledgers.latency);
            push_rows(&mut text, &kernel, "dram", &ledgers.dram);
        }
        text
    }
}

fn push_rows<R: Reason, const N: usize>(
    text: &mut String,
    kernel: &str,
    name: &str,
    ledger: &Ledger<R, N>,
) {
    for (reason, _, amount) in ledger.parts() {
        // Kernels are numbered and reasons are identifiers: nothing needs quoting.
        let written = match amount {
            0 => writeln!(text, "{kernel},{name},{reason},0,0.000000"),
            _ => {
                let share = ratio(amount, ledger.total());
                writeln!(text, "{kernel},{name},{reason},{amount},{share:.6}")
            }
        };
        written.expect("writing to memory does not fail");
    }
}

/// Writes one file and sees it onto the disk.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = create_file(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|why| cannot_write(path, &why))
}

/// Refuses to replace by a file of `kind` what is none: `is_one` looks at what it holds.
pub fn check_file(path: &Path, kind: &str, is_one: impl FnOnce(&[u8]) -> bool) -> Result<()> {
    let Some(mut old) = replaced(path)? else { return Ok(()) };
    let mut bytes = Vec::new();
    if old.read_to_end(&mut bytes).is_ok() && is_one(&bytes) {
        return Ok(());
    }
    Err(Error::input(format!("is no {kind}, so it is not replaced")).in_file(path))
}

/// Says beforehand what would keep [`write_folder`] from writing `ROOT/NAME`: nothing is left there. `instead` is what to do
/// about a folder of that name which holds something else.
pub fn check_folder(root: &Path, name: &str, marker: &str, instead: &str) -> Result<()> {
    check_replaceable(&root.join(name), marker, instead)?;
    // A relative path ends in the current folder.
    let here = |folder: &Path| match folder.as_os_str().is_empty() {
        true => Path::new(".").to_owned(),
        false => folder.to_owned(),
    };
    let cannot = |folder: &Path, why: &dyn std::fmt::Display| {
        Error::input(format!("cannot hold results: {why}"))
            .in_file(folder)
            .hint("--out names a folder")
    };
    if let Err(why) = fs::symlink_metadata(root)
        && why.kind() == io::ErrorKind::InvalidFilename
    {
        return Err(cannot(root, &why.kind()));
    }
    let above = root.ancestors().map(here).find(|folder| fs::symlink_metadata(folder).is_ok());
    let Some(above) = above else { return Ok(()) };
    if !above.is_dir() {
        return Err(cannot(&above, &"it is no folder"));
    }
    tempfile::tempfile_in(&above).map(drop).map_err(|why| cannot(&above, &why.kind()))
}

/// Lets `fill` write a folder that then appears as `ROOT/NAME` at once.
///
/// `fill` gets a folder `ROOT/NAME.partial-..`, which is put in its place when all went well and removed otherwise. A
/// folder `ROOT/NAME` that holds a file called `marker`, or nothing, is replaced: moved aside, and moved
/// back when the new one cannot take its place. Any other folder of that name is an error.
pub fn write_folder(
    root: &Path,
    name: &str,
    marker: &str,
    fill: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let strange = name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']);
    if strange {
        return Err(Error::input(format!("`{name}` cannot be the name of a result folder")));
    }
    let folder = root.join(name);
    check_replaceable(&folder, marker, "choose another --out")?;
    let cannot =
        |why: io::Error| Error::run(format!("cannot hold results: {}", why.kind())).in_file(root);
    let partial = || Partial::new(&format!("{name}.partial-"), root).map_err(cannot);
    fs::create_dir_all(root).map_err(cannot)?;
    let new = partial()?;
    fill(new.path())?;
    if !folder.exists() {
        return uninterrupted(|| {
            put_in_place(new.path(), &folder)?;
            new.keep();
            Ok(folder)
        });
    }
    let aside = partial()?;
    uninterrupted(|| {
        let old = aside.path().join("replaced");
        fs::rename(&folder, &old).map_err(|why| cannot_take(&folder, &why))?;
        if let Err(why) = put_in_place(new.path(), &folder) {
            if fs::rename(&old, &folder).is_ok() {
                return Err(why);
            }
            // The old result can neither be replaced nor go back.
            aside.keep();
            return Err(why.hint(format!("the old result is in {}", old.display())));
        }
        new.keep();
        let place = aside.path().to_owned();
        aside.close().map_err(|why| {
            Error::run(format!("cannot be removed: {}", why.kind())).in_file(&place)
        })?;
        Ok(folder)
    })
}

fn check_replaceable(folder: &Path, marker: &str, instead: &str) -> Result<()> {
    let Ok(mut entries) = fs::read_dir(folder) else {
        return match fs::symlink_metadata(folder) {
            Ok(_) => Err(Error::input("stands where the result folder goes").in_file(folder)),
            Err(_) => Ok(()),
        };
    };
    if entries.next().is_none() || folder.join(marker).is_file() {
        return Ok(());
    }
    Err(Error::input(format!("holds no {marker}, so it is not replaced"))
        .in_file(folder)
        .hint(format!("move it away, or {instead}")))
}

/// Renames `new` to `folder`, where nothing stands.
fn put_in_place(new: &Path, folder: &Path) -> Result<()> {
    fs::rename(new, folder).map_err(|why| cannot_take(folder, &why))
}

/// A new result cannot take the place of `folder`.
fn cannot_take(folder: &Path, why: &io::Error) -> Error {
    Error::run(format!("cannot be put in place: {}", said(why))).in_file(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use crate::stats::{DramReason, IssueReason, LatencyStage, LsuReason};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_result_folder_appears_whole_and_is_the_same_every_time() {
        let root = tempfile::tempdir().unwrap();
        let folder = sample::report().save(root.path(), Pictures::All).unwrap();
        let files = ["ledgers.csv", "report.html", "report.json", "stalls.png", "stalls.svg"];
        assert_eq!(names(&folder), files);
        let bytes = || files.map(|file| fs::read(folder.join(file)).unwrap());
        let first = bytes();
        sample::report().save(root.path(), Pictures::All).unwrap();
        assert!(bytes() == first);
        assert_eq!(names(root.path()), ["stencil-char"]);
    }

    #[test]
    fn a_failure_leaves_the_old_result_and_no_partial_one() {
        let root = tempfile::tempdir().unwrap();
        let write = |text: &'static str| {
            write_folder(root.path(), "run", REPORT_FILE, |folder| {
                write_file(&folder.join(REPORT_FILE), text.as_bytes())?;
                if text == "bad" { Err(Error::run("no")) } else { Ok(()) }
            })
        };
        write("good").unwrap();
        write("bad").unwrap_err();
        assert_eq!(fs::read_to_string(root.path().join("run/report.json")).unwrap(), "good");
        write("better").unwrap();
        assert_eq!(fs::read_to_string(root.path().join("run/report.json")).unwrap(), "better");
        assert_eq!(names(root.path()), ["run"]);
    }

    #[test]
    fn what_is_no_result_is_not_replaced() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("thesis")).unwrap();
        fs::write(root.path().join("thesis/chapter1.tex"), "years").unwrap();
        let error = write_folder(root.path(), "thesis", REPORT_FILE, |_| Ok(())).unwrap_err();
        assert!(error.message.contains("not replaced"), "{error}");
        assert_eq!(names(&root.path().join("thesis")), ["chapter1.tex"]);
        assert!(write_folder(root.path(), "../up", REPORT_FILE, |_| Ok(())).is_err());
    }

    #[test]
    fn the_table_has_every_ledger_of_every_kernel() {
        let csv = sample::report().ledgers_csv();
        let lines: Vec<_> = csv.lines().collect();
        let memory = LatencyStage::COUNT + DramReason::COUNT;
        let reasons = IssueReason::COUNT + LsuReason::COUNT + memory;
        assert_eq!(lines.len(), 1 + 5 * reasons);
        assert!(lines.contains(&"all,lsu,nocacheline,28,0.000010"), "{csv}");
    }
}
