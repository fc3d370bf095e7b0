//! `gsim study`: many runs.

use std::path::PathBuf;
use std::time::Instant;

use super::simulating::Jobs;
use super::{Compiler, SetArgs, Verbosity, print, slurm};
use crate::config::StudyFile;
use crate::error::Result;
use crate::report::number;
use crate::study::{self, Kept, MOST_PARTS, Part, Reports, Table};

/// Arguments of `gsim study`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Reports of finished runs are kept in DIR/NAME.unfinished until the study is done: the same command goes on with an \
        interrupted study. A run that has changed since, or that another build of gsim simulated, is simulated anew.\n\n\
        A kernel that does not fit its machine ends the study, unless the file has misfits: Skip.\n\n\
        Examples:\n  \
        gsim study configs/studies/small-data-types.ron --jobs 4\n  \
        gsim study configs/studies/small-data-types.ron --reports && gsim report results/small-data-types/reports/01-* --draw\n  \
        gsim study configs/studies/small-data-types.ron --part 1/2    # on one host\n  \
        gsim study configs/studies/small-data-types.ron --part 2/2    # on another one\n  \
        gsim study configs/studies/small-data-types.ron               # afterwards\n  \
        gsim study configs/studies/small-data-types.ron --slurm 16 | sh"
)]
pub struct StudyArgs {
    /// The study file.
    #[arg(value_name = "STUDY.ron")]
    file: PathBuf,
    #[command(flatten)]
    set: SetArgs,
    #[command(flatten)]
    pub(super) jobs: Jobs,
    /// Folder of the results; this study's are in the folder of its name in it.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub(super) out: PathBuf,
    /// Simulate the K-th of N parts of the runs and keep their reports, for `gsim study` without `--part` to go on with.
    #[arg(long, value_name = "K/N")]
    part: Option<Part>,
    /// Print the shell commands that submit the study to Slurm, as an array of N jobs and one that writes the results.
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "part",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=MOST_PARTS as i64)
    )]
    slurm: Option<u32>,
    /// Also keep every run's report, in a folder of its own in NAME/reports, for `gsim report` and `gsim compare`; numbered as the
    /// rows of `runs.csv`, from 1 on.
    #[arg(long, conflicts_with = "part")]
    pub(super) reports: bool,
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(flatten)]
    pub(super) compiler: Compiler,
}

impl StudyArgs {
    fn kept_reports(&self) -> Reports {
        if self.reports { Reports::All } else { Reports::None }
    }
}

/// Loads and validates the study, simulates every point that is not kept, writes figures, tables and the page.
pub(super) fn run(args: StudyArgs) -> Result<()> {
    let study = StudyFile::read(&args.file)?.with(&args.set.pairs()?)?;
    let mut points = study.points()?;
    for point in &mut points {
        point.run.nvrtc.clone_from(&args.compiler.nvrtc);
    }
    study::check(&study, &points, &args.out)?;
    if let Some(parts) = args.slurm {
        return print(&slurm::script(&study, &args, parts)?);
    }
    let say = |text: &str| args.verbosity.say(text);
    let mut kept = Kept::of(&study, &points, &args.out);
    let missing = kept.missing(args.part);
    let folder = kept.folder().display().to_string();
    if kept.finished() > 0 {
        let (finished, all) = (kept.finished(), points.len());
        say(&format!("{finished} of {all} runs are finished: {folder}\n"))?;
    }
    if kept.unused() > 0 {
        let unused = kept.unused();
        say(&format!(
            "Reports of other settings or another gsim, which stay: {unused}, in {folder}\n"
        ))?;
    }
    let started = Instant::now();
    args.jobs.simulate(missing.len(), args.verbosity.quiet, |options, observe| {
        kept.simulate(&missing, options, observe)
    })?;
    let (runs, seconds) = (missing.len(), started.elapsed().as_secs_f64());
    let ran = number::counted(runs as u64, "run", "runs");
    let mut simulated = format!("{ran} in {seconds:.1} s.");
    if kept.misfits() > 0 {
        let (one, more) = ("run does not fit its machine", "runs do not fit their machines");
        simulated += &format!(" {}.", number::counted(kept.misfits() as u64, one, more));
    }
    if args.part.is_some() {
        let kept = if runs > 0 { format!("Reports are kept in {folder}\n") } else { String::new() };
        return say(&format!("{simulated}\n{kept}"));
    }
    let table = Table::new(&study.config.axes, kept.take_outcomes());
    let folder = study::save(&study, &table, &args.out, args.kept_reports())?;
    kept.forget()?;
    say(&format!("{simulated}\nResults in {}\n", folder.display()))
}
