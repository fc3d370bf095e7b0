//! The runs for a GPU that a command line names: run files, and every point of study files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Compiler, SetArgs};
use crate::config::study::quoted;
use crate::config::unreadable::cannot_read;
use crate::config::{ResolvedRun, Setting, StudyFile, WorkloadSpec, load_run, parse};
use crate::error::{Error, Result};
use crate::workload::registry;

/// Where the run files that come with gsim are, from the root of its source tree.
const RUN_FOLDER: &str = "configs/runs";

/// Which runs, on the command line.
#[derive(Debug, clap::Args)]
pub(super) struct Selection {
    /// Run files, and study files, of which every point is run.
    #[arg(value_name = "FILE.ron", required_unless_present = "all")]
    files: Vec<PathBuf>,
    /// Every run file of configs/runs.
    #[arg(long, conflicts_with = "files")]
    all: bool,
    #[command(flatten)]
    compiler: Compiler,
}

impl Selection {
    /// The runs, each with the file that it is from.
    pub fn runs(&self, set: &SetArgs) -> Result<Vec<(PathBuf, ResolvedRun)>> {
        let files = if self.all { run_files(Path::new(RUN_FOLDER))? } else { self.files.clone() };
        expand(&files, &set.pairs()?, self.compiler.nvrtc.as_deref())
    }

    /// The files, as they were named.
    pub fn words(&self) -> String {
        match self.all {
            true => "--all".to_owned(),
            false => {
                let files: Vec<String> =
                    self.files.iter().map(|file| quoted(&file.display().to_string())).collect();
                files.join(" ")
            }
        }
    }

    /// What a child process needs to find NVRTC.
    pub fn nvrtc_arguments(&self) -> Vec<String> {
        let path = self.compiler.nvrtc.iter().map(|path| path.display().to_string());
        path.flat_map(|path| ["--nvrtc".to_owned(), path]).collect()
    }
}

/// The run files of a folder, by name.
fn run_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = |cause: std::io::Error| cannot_read(folder, &cause);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|extension| extension == "ron") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Every run of the files, all of them checked, each with a name of its own. A GPU can execute them.
///
/// A study's runs are called by the study's name and the labels of their points.
pub(super) fn expand(
    files: &[PathBuf],
    sets: &[(String, Setting)],
    nvrtc: Option<&Path>,
) -> Result<Vec<(PathBuf, ResolvedRun)>> {
    let mut runs = Vec::new();
    for file in files {
        if is_study(file)? {
            let study = StudyFile::read(file)?.with(sets)?;
            runs.extend(study.runs()?.into_iter().map(|run| (file.clone(), run)));
        } else {
            runs.push((file.clone(), load_run(file, sets)?));
        }
    }
    let mut names = BTreeSet::new();
    for (_, run) in &mut runs {
        // A trace can only be simulated; that it cannot be built is said here, before a GPU or its times are looked for.
        if let WorkloadSpec::Trace(_) = run.config.workload {
            registry::build(run)?;
        }
        run.nvrtc = nvrtc.map(Path::to_owned);
        if !names.insert(run.config.name.clone()) {
            let message = format!("two runs are called {:?}", run.config.name);
            return Err(Error::input(message).in_file(&run.path));
        }
    }
    Ok(runs)
}

/// Whether a file holds a study, which begins with that word.
fn is_study(file: &Path) -> Result<bool> {
    let text = parse::read_ron(file)?;
    let code = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("//"));
    Ok(code.is_some_and(|line| line.starts_with("Study")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_of_a_study_has_a_name_of_its_own() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let runs = expand(&[root.join("configs/studies/generations.ron")], &[], None).unwrap();
        assert_eq!(runs[0].1.config.name, "generations-stencil-int-9800gt");
        let all = run_files(&root.join(RUN_FOLDER)).unwrap();
        assert!(expand(&all, &[], None).unwrap().len() >= 9);
        let twice = [all[0].clone(), all[0].clone()];
        let error = expand(&twice, &[], None).unwrap_err();
        assert!(error.message.starts_with("two runs are called"), "{error}");
    }
}
