//! The reports of a study's finished runs, kept on disk until the study is: an interrupted study goes on where it was, and
//! processes on several hosts each do a part of one.
//!
//! Every process has a file of its own in `ROOT/NAME.unfinished`, with a line for each report. It is written as soon as
//! a run is over, so that nothing but a torn last line is lost with the process. A kept report counts for a point whose inputs it
//! states, of a workload whose files are the same, when the same program wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::{Value, json};

use super::part::Part;
use super::{Event, Options, groups};
use crate::config::files::{sha256, sha256_of};
use crate::config::study::StudyPoint;
use crate::error::{Error, Result};
use crate::serial;
use crate::simulate::{Functional, inputs};

/// How the names of the files end.
const ENDING: &str = ".reports.jsonl";

/// The points of a study with the reports that there are.
pub struct Kept<'s> {
    points: &'s [StudyPoint],
    /// By the number of the point.
    reports: Vec<Option<Value>>,
    folder: PathBuf,
    /// Files that reports of the study are in, that of this process among them.
    files: BTreeSet<PathBuf>,
    /// Reports in other files: of other settings, or of another program.
    unused: usize,
}

impl<'s> Kept<'s> {
    /// What is kept of the study `name`, whose result folder is in `root`.
    pub fn of(points: &'s [StudyPoint], root: &Path, name: &str) -> Self {
        let folder = root.join(format!("{name}.unfinished"));
        let mut found = Found::new(&folder);
        let mut files = BTreeSet::new();
        let report = |point: &StudyPoint| {
            let (report, file) = found.report(point)?;
            files.insert(file);
            Some(report)
        };
        let reports = points.iter().map(report).collect();
        let others = found.counts.iter().filter(|(file, _)| !files.contains(*file));
        let unused = others.map(|(_, count)| count).sum();
        Kept { points, reports, folder, files, unused }
    }

    /// Runs that are over.
    pub fn finished(&self) -> usize {
        self.reports.iter().flatten().count()
    }

    /// Reports that are there and none of this study's: of other settings, or of another program.
    pub fn unused(&self) -> usize {
        self.unused
    }

    /// The points without a report, by number: those of `part`, or all.
    pub fn missing(&self, part: Option<Part>) -> Vec<usize> {
        let numbers = match part {
            Some(part) => part.of(&groups::groups(self.points).concat()).to_vec(),
            None => (0..self.points.len()).collect(),
        };
        numbers.into_iter().filter(|&number| self.reports[number].is_none()).collect()
    }

    /// Simulates points, by number, and keeps their reports.
    ///
    /// # Errors
    /// As [`super::simulate`], and when reports cannot be kept.
    pub fn simulate(
        &mut self,
        numbers: &[usize],
        options: &Options,
        observe: &(dyn Fn(Event) + Sync),
    ) -> Result<()> {
        if numbers.is_empty() {
            return Ok(());
        }
        let points: Vec<StudyPoint> =
            numbers.iter().map(|&number| self.points[number].clone()).collect();
        let file = Mutex::new(Keeping::create(&self.folder)?);
        let keep =
            |report: &Value| file.lock().unwrap_or_else(PoisonError::into_inner).keep(report);
        let reports = super::simulate_and(&points, options, observe, &keep);
        let file = file.into_inner().unwrap_or_else(PoisonError::into_inner);
        let kept = self.finished() + file.reports;
        if file.reports > 0 {
            self.files.insert(file.path);
        } else {
            forget(&self.folder, [file.path])?;
        }
        let reports = reports.map_err(|error| match kept {
            0 => error,
            _ => error.also_hint(format!("finished runs are kept: {kept}")),
        })?;
        for (&number, report) in numbers.iter().zip(reports) {
            self.reports[number] = Some(report);
        }
        Ok(())
    }

    /// Takes the report of every point.
    ///
    /// # Panics
    /// When a point is missing.
    pub fn take_reports(&mut self) -> Vec<Value> {
        let reports = std::mem::take(&mut self.reports).into_iter();
        reports.map(|report| report.expect("every point is simulated")).collect()
    }

    /// The folder that has what is kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes what is kept of this study.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn forget(self) -> Result<()> {
        forget(&self.folder, self.files)
    }
}

/// The file of a process.
struct Keeping {
    path: PathBuf,
    file: File,
    reports: usize,
}

impl Keeping {
    fn create(folder: &Path) -> Result<Self> {
        let cannot = |why: std::io::Error| {
            Error::input(format!("cannot hold reports of finished runs: {}", why.kind()))
                .in_file(folder)
                .hint("--out names a folder that holds the results and this one")
        };
        fs::create_dir_all(folder).map_err(cannot)?;
        // A name that nobody has, on any host.
        let named = tempfile::Builder::new().prefix("").rand_bytes(8).suffix(ENDING).make_in(
            folder,
            // With the rights of any new file.
            |path| File::create_new(path),
        );
        let (file, path) = named.map_err(cannot)?.keep().map_err(|why| cannot(why.error))?;
        let mut keeping = Keeping { path, file, reports: 0 };
        keeping.write(&HEADER).map_err(cannot)?;
        Ok(keeping)
    }

    fn keep(&mut self, report: &Value) -> Result<()> {
        self.write(report).map_err(|why| {
            let why = format!("cannot hold the report of a finished run: {}", why.kind());
            Error::run(why).in_file(&self.path)
        })?;
        self.reports += 1;
        Ok(())
    }

    /// A line at once, so that none is torn while the process lives; it has nothing of a line that was torn.
    fn write(&mut self, value: &Value) -> std::io::Result<()> {
        self.file.write_all(format!("\n{value}\n").as_bytes())
    }
}

fn forget(folder: &Path, files: impl IntoIterator<Item = PathBuf>) -> Result<()> {
    let cannot = |why: std::io::Error| {
        Error::run(format!("cannot be removed: {}", why.kind())).in_file(folder)
    };
    for file in files {
        match fs::remove_file(file) {
            Err(why) if why.kind() != ErrorKind::NotFound => return Err(cannot(why)),
            // Another process of the same study may have done it.
            _ => (),
        }
    }
    match fs::remove_dir(folder) {
        // What else is in there stays.
        Err(why) if ![ErrorKind::NotFound, ErrorKind::DirectoryNotEmpty].contains(&why.kind()) => {
            Err(cannot(why))
        }
        _ => Ok(()),
    }
}

/// What the first line of a file says: which program wrote it. That of another one may simulate otherwise.
static HEADER: LazyLock<Value> = LazyLock::new(|| {
    let program = std::env::current_exe().ok().and_then(|path| sha256_of(&path).ok());
    // Of a program that cannot be told from others, nothing is taken up.
    let program = program.unwrap_or_else(|| std::process::id().to_string());
    json!({"gsim": env!("CARGO_PKG_VERSION"), "program": program})
});

/// The reports that are kept in a folder.
struct Found {
    /// Report and file, by the digest of what the report states about its run.
    reports: BTreeMap<String, (Value, PathBuf)>,
    /// How many each file has, of whatever program.
    counts: BTreeMap<PathBuf, usize>,
    /// Versions of what takes part in a workload, where it can be read, by that which tells workloads apart.
    versions: BTreeMap<groups::Key, Option<BTreeMap<String, String>>>,
}

impl Found {
    fn new(folder: &Path) -> Self {
        let (mut reports, mut counts) = (BTreeMap::new(), BTreeMap::new());
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.to_string_lossy().ends_with(ENDING) {
                continue;
            }
            // A file that is removed or cannot be read is as one that is not there.
            let Ok(file) = File::open(&path) else { continue };
            let lines = BufReader::new(file).split(b'\n').map_while(std::io::Result::ok);
            // What is torn is no value.
            let mut values = lines.filter_map(|line| serde_json::from_slice::<Value>(&line).ok());
            let is_ours = values.next().is_some_and(|header| header == *HEADER);
            let mut count = 0;
            for report in values {
                count += 1;
                if is_ours {
                    let digest = digest(&report["name"], &report["inputs"]);
                    reports.insert(digest, (report, path.clone()));
                }
            }
            counts.insert(path, count);
        }
        Found { reports, counts, versions: BTreeMap::new() }
    }

    /// Report and file of a point. To know what its workload reads, the first point of each is made ready to be executed.
    fn report(&mut self, point: &StudyPoint) -> Option<(Value, PathBuf)> {
        if self.reports.is_empty() {
            return None;
        }
        let run = &point.run;
        let of_files = || Functional::new(run).ok().map(|part| part.versions().clone());
        let versions = self.versions.entry(groups::key(run)).or_insert_with(of_files).clone()?;
        let inputs = serial::to_json_value(&inputs(run, versions));
        self.reports.get(&digest(&run.config.name.as_str().into(), &inputs)).cloned()
    }
}

fn digest(name: &Value, inputs: &Value) -> String {
    sha256(&format!("{name} {inputs}"))
}
