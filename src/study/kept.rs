//! The reports of a study's finished runs, kept on disk until the study is: an interrupted study goes on where it was, and
//! processes on several hosts each do a part of one.
//!
//! Every process has a file of its own in `ROOT/NAME.unfinished`, with a line for each report. It is written as soon as
//! a run is over, so that nothing but a torn last line is lost with the process. A kept report counts for a point whose inputs it
//! states, of a workload whose files are the same, when the same program wrote it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::part::Part;
use super::{Event, Options, groups};
use crate::config::files::sha256;
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
    /// The file of this process, from its first report on.
    file: Mutex<Option<File>>,
    /// Reports of this process.
    written: AtomicUsize,
}

impl<'s> Kept<'s> {
    /// What is kept of the study `name`, whose result folder is in `root`.
    pub fn of(points: &'s [StudyPoint], root: &Path, name: &str) -> Self {
        let folder = root.join(format!("{name}.unfinished"));
        let mut found = Found::new(&folder);
        let reports = points.iter().map(|point| found.report(point)).collect();
        Kept { points, reports, folder, file: Mutex::default(), written: AtomicUsize::new(0) }
    }

    /// Runs that are over.
    pub fn finished(&self) -> usize {
        self.reports.iter().flatten().count()
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
    /// As [`super::simulate`], and when a report cannot be kept.
    pub fn simulate(
        &mut self,
        numbers: &[usize],
        options: &Options,
        observe: &(dyn Fn(Event) + Sync),
    ) -> Result<()> {
        let points: Vec<StudyPoint> =
            numbers.iter().map(|&number| self.points[number].clone()).collect();
        let keep = |report: &Value| self.keep(report);
        let reports = super::simulate_and(&points, options, observe, &keep).map_err(|error| {
            let finished = self.finished() + self.written.load(Ordering::Relaxed);
            match finished {
                0 => error,
                _ => {
                    let kept = format!("{finished} finished runs are kept");
                    let hint =
                        error.hint.as_ref().map_or_else(String::new, |hint| format!("{hint}; "));
                    error.hint(hint + &kept)
                }
            }
        })?;
        for (&number, report) in numbers.iter().zip(reports) {
            self.reports[number] = Some(report);
        }
        Ok(())
    }

    /// The report of every point.
    ///
    /// # Panics
    /// When a point is missing.
    pub fn into_reports(self) -> Vec<Value> {
        self.reports.into_iter().map(|report| report.expect("every point is simulated")).collect()
    }

    /// The folder that has what is kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn keep(&self, report: &Value) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match &mut *file {
            Some(file) => write_line(file, report),
            none => self.create().and_then(|file| write_line(none.insert(file), report)),
        };
        written.map_err(|why| {
            let why = format!("cannot keep the reports of finished runs: {why}");
            Error::run(why).in_file(&self.folder)
        })?;
        self.written.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn create(&self) -> std::io::Result<File> {
        fs::create_dir_all(&self.folder)?;
        // A name that nobody has, on any host.
        let named = tempfile::Builder::new().prefix("").rand_bytes(8).suffix(ENDING).make_in(
            &self.folder,
            // With the rights of any new file.
            |path| File::create_new(path),
        )?;
        let (mut file, _) = named.keep()?;
        write_line(&mut file, &header())?;
        Ok(file)
    }
}

/// Forgets what is kept of the study whose folder of kept reports is `folder`.
///
/// # Errors
/// When a file cannot be removed.
pub fn forget(folder: &Path) -> Result<()> {
    let cannot = |why: std::io::Error| {
        Error::run(format!("cannot be removed: {}", why.kind())).in_file(folder)
    };
    for file in files(folder) {
        match fs::remove_file(file) {
            Err(why) if why.kind() != ErrorKind::NotFound => return Err(cannot(why)),
            // Another process of the same study may have done it.
            _ => (),
        }
    }
    match fs::remove_dir(folder) {
        // What else is in there is not gsim's.
        Err(why) if ![ErrorKind::NotFound, ErrorKind::DirectoryNotEmpty].contains(&why.kind()) => {
            Err(cannot(why))
        }
        _ => Ok(()),
    }
}

/// The files of kept reports in a folder, which need not be there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_ours = |path: &PathBuf| path.to_string_lossy().ends_with(ENDING);
    entries.map(|entry| entry.path()).filter(is_ours).collect()
}

/// A line at once, so that none is torn while the process lives.
fn write_line(file: &mut File, value: &Value) -> std::io::Result<()> {
    file.write_all(format!("{value}\n").as_bytes())
}

/// What the first line of a file says: which program wrote it. That of another one may simulate otherwise.
fn header() -> Value {
    let program = std::env::current_exe().and_then(fs::metadata);
    let program = program.and_then(|file| Ok((file.len(), file.modified()?)));
    // Of a program that cannot be told from others, nothing is taken up.
    let program = program.map_err(|_| std::process::id());
    json!({"gsim": env!("CARGO_PKG_VERSION"), "program": format!("{program:?}")})
}

/// The reports that are kept, by the digest of what they state about their run.
struct Found {
    reports: BTreeMap<String, Value>,
    /// Versions of what takes part in a workload, where it can be read, by that which tells workloads apart.
    versions: BTreeMap<groups::Key, Option<BTreeMap<String, String>>>,
}

impl Found {
    fn new(folder: &Path) -> Self {
        let mut reports = BTreeMap::new();
        for file in files(folder) {
            // A file that is removed or cannot be read is as one that is not there.
            let Ok(file) = File::open(file) else { continue };
            let mut lines = BufReader::new(file)
                .lines()
                .map_while(|line| serde_json::from_str::<Value>(&line.ok()?).ok());
            if lines.next() == Some(header()) {
                let key = |report: &Value| digest(&report["name"], &report["inputs"]);
                reports.extend(lines.map(|report| (key(&report), report)));
            }
        }
        Found { reports, versions: BTreeMap::new() }
    }

    fn report(&mut self, point: &StudyPoint) -> Option<Value> {
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
