//! The reports of a study's finished runs, kept on disk until the study is: an interrupted study goes on where it was, and
//! processes on several hosts each do a part of one.
//!
//! Every process has a file of its own in `ROOT/NAME.unfinished`, with a line for each report. It is written as soon as
//! a run is over, so that nothing but a torn last line is lost with the process. A kept report counts for a point whose inputs it
//! states, of a workload whose files are the same, when the same program wrote it. A run that does not fit its machine has a line
//! that states its inputs, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::{Value, json};

use super::part::Part;
use super::{Event, Options, Outcome, groups};
use crate::config::ResolvedRun;
use crate::config::files::{sha256, sha256_of};
use crate::config::study::{Misfits, StudyFile, StudyPoint};
use crate::error::{Error, ErrorKind, Result};
use crate::serial;
use crate::simulate::{Functional, inputs};

/// How the names of the files end.
const ENDING: &str = ".reports.jsonl";

/// What a line has instead of a report, where a run does not fit its machine: why.
const MISFIT: &str = "misfit";

/// The points of a study with what came of those that are over.
pub struct Kept<'s> {
    points: &'s [StudyPoint],
    misfits: Misfits,
    /// By the number of the point.
    outcomes: Vec<Option<Outcome>>,
    folder: PathBuf,
    /// Files that reports of the study are in, that of this process among them.
    files: BTreeSet<PathBuf>,
    /// Reports in other files: of other settings, or of another program.
    unused: usize,
}

impl<'s> Kept<'s> {
    /// What is kept of `study`, whose result folder is in `root`.
    pub fn of(study: &StudyFile, points: &'s [StudyPoint], root: &Path) -> Self {
        let folder = root.join(format!("{}.unfinished", study.name));
        let misfits = study.config.misfits;
        let mut found = Found::new(&folder);
        let mut files = BTreeSet::new();
        let outcome = |point: &StudyPoint| {
            let (outcome, file) = found.outcome(point)?;
            if misfits == Misfits::Stop && outcome.report().is_none() {
                return None;
            }
            files.insert(file);
            Some(outcome)
        };
        let outcomes = points.iter().map(outcome).collect();
        let others = found.counts.iter().filter(|(file, _)| !files.contains(*file));
        let unused = others.map(|(_, count)| count).sum();
        Kept { points, misfits, outcomes, folder, files, unused }
    }

    /// Runs that are over, those that do not fit their machines among them.
    pub fn finished(&self) -> usize {
        self.outcomes.iter().flatten().count()
    }

    /// Runs that do not fit their machines, as far as is known.
    pub fn misfits(&self) -> usize {
        self.outcomes.iter().flatten().filter(|outcome| outcome.report().is_none()).count()
    }

    /// Reports that are there and none of this study's: of other settings, or of another program.
    pub fn unused(&self) -> usize {
        self.unused
    }

    /// The points whose runs are not over, by number: those of `part`, or all.
    pub fn missing(&self, part: Option<Part>) -> Vec<usize> {
        let numbers = match part {
            Some(part) => part.of(&groups::groups(self.points).concat()).to_vec(),
            None => (0..self.points.len()).collect(),
        };
        numbers.into_iter().filter(|&number| self.outcomes[number].is_none()).collect()
    }

    /// Simulates points, by number, and keeps their reports.
    ///
    /// # Errors
    /// As [`super::simulate`], without misfits where the study skips them; and when reports cannot be kept.
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
        let workloads = Mutex::new(Workloads::default());
        let keep = |point: usize, outcome: &Outcome| {
            let misfit;
            let line = match outcome {
                Outcome::Report(report) => report,
                Outcome::Misfit(why) => {
                    let run = &points[point].run;
                    let mut workloads = workloads.lock().unwrap_or_else(PoisonError::into_inner);
                    // Without its inputs, it is found again.
                    let Some(inputs) = workloads.inputs(run) else { return Ok(()) };
                    misfit = json!({"name": run.config.name, "inputs": inputs, MISFIT: why});
                    &misfit
                }
            };
            file.lock().unwrap_or_else(PoisonError::into_inner).keep(line)
        };
        let outcomes = super::simulate_and(&points, self.misfits, options, observe, &keep);
        let file = file.into_inner().unwrap_or_else(PoisonError::into_inner);
        let kept = self.finished() + file.reports;
        if file.reports > 0 {
            self.files.insert(file.path);
        } else {
            forget(&self.folder, [file.path])?;
        }
        let outcomes = outcomes.map_err(|error| {
            let error = match error.kind {
                ErrorKind::Misfit => error.also_hint("or let the study have `misfits: Skip`"),
                _ => error,
            };
            match kept {
                0 => error,
                _ => error.also_hint(format!("finished runs are kept: {kept}")),
            }
        })?;
        for (&number, outcome) in numbers.iter().zip(outcomes) {
            self.outcomes[number] = Some(outcome);
        }
        Ok(())
    }

    /// Takes what came of every point.
    ///
    /// # Panics
    /// When a point is missing.
    pub fn take_outcomes(&mut self) -> Vec<Outcome> {
        let outcomes = std::mem::take(&mut self.outcomes).into_iter();
        outcomes.map(|outcome| outcome.expect("every point is simulated")).collect()
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
        let cannot = |why: io::Error| {
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
    fn write(&mut self, value: &Value) -> io::Result<()> {
        self.file.write_all(format!("\n{value}\n").as_bytes())
    }
}

fn forget(folder: &Path, files: impl IntoIterator<Item = PathBuf>) -> Result<()> {
    let cannot =
        |why: io::Error| Error::run(format!("cannot be removed: {}", why.kind())).in_file(folder);
    for file in files {
        match fs::remove_file(file) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(cannot(why)),
            // Another process of the same study may have done it.
            _ => (),
        }
    }
    match fs::remove_dir(folder) {
        // What else is in there stays.
        Err(why)
            if ![io::ErrorKind::NotFound, io::ErrorKind::DirectoryNotEmpty]
                .contains(&why.kind()) =>
        {
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

/// What reports state about their runs, for runs without one.
#[derive(Default)]
struct Workloads {
    /// Versions of what takes part in a workload, where it can be read, by that which tells workloads apart.
    versions: BTreeMap<groups::Key, Option<BTreeMap<String, String>>>,
}

impl Workloads {
    /// What a report on `run` states about it. To know what its workload reads, the first run of each is made ready to be
    /// executed; `None` where that fails.
    fn inputs(&mut self, run: &ResolvedRun) -> Option<Value> {
        let of_files = || Functional::new(run).ok().map(|part| part.versions().clone());
        let versions = self.versions.entry(groups::key(run)).or_insert_with(of_files).clone()?;
        Some(serial::to_json_value(&inputs(run, versions)))
    }
}

/// The reports that are kept in a folder.
struct Found {
    /// What came of a run, and the file, by the digest of what the line states about the run.
    outcomes: BTreeMap<String, (Outcome, PathBuf)>,
    /// How many each file has, of whatever program.
    counts: BTreeMap<PathBuf, usize>,
    workloads: Workloads,
}

impl Found {
    fn new(folder: &Path) -> Self {
        let (mut outcomes, mut counts) = (BTreeMap::new(), BTreeMap::new());
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if !path.to_string_lossy().ends_with(ENDING) {
                continue;
            }
            // A file that is removed or cannot be read is as one that is not there.
            let Ok(file) = File::open(&path) else { continue };
            let lines = BufReader::new(file).split(b'\n').map_while(io::Result::ok);
            // What is torn is no value.
            let mut values = lines.filter_map(|line| serde_json::from_slice::<Value>(&line).ok());
            let is_ours = values.next().is_some_and(|header| header == *HEADER);
            let mut count = 0;
            for line in values {
                count += 1;
                if is_ours {
                    let digest = digest(&line["name"], &line["inputs"]);
                    let outcome = match line[MISFIT].as_str() {
                        Some(why) => Outcome::Misfit(why.to_owned()),
                        None => Outcome::Report(line),
                    };
                    outcomes.insert(digest, (outcome, path.clone()));
                }
            }
            counts.insert(path, count);
        }
        Found { outcomes, counts, workloads: Workloads::default() }
    }

    /// What came of a point, and the file that says so.
    fn outcome(&mut self, point: &StudyPoint) -> Option<(Outcome, PathBuf)> {
        if self.outcomes.is_empty() {
            return None;
        }
        let run = &point.run;
        let inputs = self.workloads.inputs(run)?;
        self.outcomes.get(&digest(&run.config.name.as_str().into(), &inputs)).cloned()
    }
}

fn digest(name: &Value, inputs: &Value) -> String {
    sha256(&format!("{name} {inputs}"))
}
