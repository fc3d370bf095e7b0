//! The shell commands that submit a study to Slurm.

use std::path::Path;

use super::study::StudyArgs;
use crate::config::StudyFile;
use crate::config::study::quoted;
use crate::config::written::said;
use crate::error::{Error, Result};

/// Submits so many jobs that simulate a part of the study each, and one behind them that writes its results.
///
/// # Errors
/// When this program's own path is not known.
pub(super) fn script(study: &StudyFile, args: &StudyArgs, parts: u32) -> Result<String> {
    let program = std::env::current_exe()
        .map_err(|why| Error::run(format!("the path of gsim is not known: {}", said(&why))))?;
    let shown = |path: &Path| quoted(&path.display().to_string());
    let mut command = study.command(&program.display().to_string());
    command += &format!(" --out={} --quiet", shown(&args.out));
    if let Some(nvrtc) = &args.compiler.nvrtc {
        command += &format!(" --nvrtc={}", shown(nvrtc));
    }
    // Without it, gsim asks how many cores the job has.
    let cores = match args.jobs.stated() {
        Some(jobs) => {
            command += &format!(" --jobs {jobs}");
            format!(" --cpus-per-task={jobs}")
        }
        None => String::new(),
    };
    let name = &study.name;
    let part = quoted(&format!("{command} --part \"$SLURM_ARRAY_TASK_ID/{parts}\""));
    let reports = if args.reports { " --reports" } else { "" };
    let rest = quoted(&format!("{command}{reports}"));
    Ok(format!(
        "# {parts} parts of the study {name}, then its results. Pipe this into sh.
# The environment has more for sbatch: SBATCH_PARTITION, SBATCH_TIMELIMIT.
set -e
parts=$(sbatch --parsable --job-name={name} --array=1-{parts}{cores} --wrap={part})
sbatch --job-name={name} --dependency=\"afterok:${{parts%%;*}}\" --kill-on-invalid-dep=yes{cores} --wrap={rest}
"
    ))
}
