//! The command line: one file a subcommand.

mod calibrate;
mod compare;
mod machine;
mod native;
mod report;
mod run;
mod runs;
mod simulating;
mod slurm;
mod study;
mod trace;
mod usage;
mod workload;

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::config::overrides::assignment;
use crate::config::study::quoted;
use crate::config::written::said;
use crate::config::{Setting, Settings};
use crate::error::{Error, Result};
use crate::partial::remove_when_interrupted;
use crate::report::terminal::Style;

pub use compare::CompareArgs;
pub use report::ReportArgs;
pub use run::RunArgs;
pub use study::StudyArgs;

/// gsim simulates, cycle by cycle, the memory system of an NVIDIA-style GPU.
#[derive(Debug, Parser)]
#[command(
    version,
    propagate_version = true,
    after_help = "Examples:\n  \
        gsim run configs/runs/stencil-char.ron\n  \
        gsim run configs/runs/stencil-char.ron --set l1.mshr_mergers=16\n  \
        gsim machine list\n\n\
        Exit codes: 0 when all is well, 1 for a failed run, 2 for bad input."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Simulate one run and write its report.
    Run(RunArgs),
    /// Simulate every combination of a study's axes.
    Study(StudyArgs),
    /// Print stored reports again, and draw their pictures.
    Report(ReportArgs),
    /// Compare stored reports with the first of them.
    ///
    /// Ledgers are compared in mean core cycles per scheduler and per load/store unit, which add up to the run's cycles, and
    /// per load access, which add up to the mean latency. A reason's change is in percent of that whole, so that the
    /// changes add up as well. A rate's change is in percentage points, any other number's in percent of BASE's.
    Compare(CompareArgs),
    /// Run workloads on a GPU: verify, measure.
    #[command(subcommand)]
    Native(native::NativeCommand),
    /// Hold the simulator against what a GPU was measured to do.
    #[command(subcommand)]
    Calibrate(calibrate::CalibrateCommand),
    /// List, show and check machines, and say what they can do at most.
    #[command(subcommand)]
    Machine(machine::MachineCommand),
    /// Write instruction streams to files, and look into them.
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// List workloads, and compile their kernels.
    #[command(subcommand)]
    Workload(workload::WorkloadCommand),
    /// Print what a shell needs to complete gsim's commands and options.
    ///
    /// For bash: `gsim completions bash > ~/.local/share/bash-completion/completions/gsim`.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

impl Cli {
    /// What the arguments of this process ask for. Prints the help or the version where they ask for that, and ends the process.
    pub fn from_arguments() -> Result<Self> {
        Cli::try_parse().or_else(|found| {
            if found.use_stderr() {
                return Err(usage::mistake(&found));
            }
            printed(found.print().and_then(|()| io::stdout().flush()))?;
            process::exit(0)
        })
    }

    /// Runs the subcommand; without one, prints the help.
    pub fn run(self) -> Result<()> {
        remove_when_interrupted();
        match self.command {
            None => print(&Cli::command().render_help().to_string()),
            Some(Command::Run(args)) => run::run(args),
            Some(Command::Study(args)) => study::run(args),
            Some(Command::Report(args)) => report::run(&args),
            Some(Command::Compare(args)) => compare::run(&args),
            Some(Command::Native(command)) => native::run(command),
            Some(Command::Calibrate(command)) => calibrate::run(command),
            Some(Command::Machine(command)) => machine::run(command),
            Some(Command::Trace(command)) => trace::run(command),
            Some(Command::Workload(command)) => workload::run(command),
            Some(Command::Completions { shell }) => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Cli::command(), "gsim", &mut script);
                print(&String::from_utf8_lossy(&script))
            }
        }
    }
}

/// Writes a line to the standard error. Where nobody listens the exit code still tells.
pub fn complain(line: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes to the standard output.
fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What became of writing to the standard output. That its reader has gone, as `head` does, is no error.
fn printed(outcome: io::Result<()>) -> Result<()> {
    match outcome {
        Err(cause) if cause.kind() != ErrorKind::BrokenPipe => {
            Err(Error::run(format!("the output cannot be written: {}", said(&cause))))
        }
        _ => Ok(()),
    }
}

/// What `write` writes: coloured on a terminal, unless the environment says no.
fn written(write: impl FnOnce(Style, &mut Vec<u8>) -> io::Result<()>) -> String {
    let coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut text = Vec::new();
    write(if coloured { Style::Coloured } else { Style::Plain }, &mut text)
        .expect("writing to memory does not fail");
    String::from_utf8(text).expect("it is text")
}

/// `--set path=value`, any number of times.
#[derive(Debug, clap::Args)]
struct SetArgs {
    /// Change a field, by its path, to a RON value; several times, and the last one counts.
    ///
    /// Paths are those of the machine file (`l1.mshr_mergers`, `sm.policy`, `dram.timing.rcd`). Where runs are meant,
    /// also those of the workload (`workload.element`), `seed`, `machine` (another preset or file), and `name`
    /// (of the result folder). Values are as in the file: 16, Gto, 'TwoLevel(active: 8)'. Wins over `set` in
    /// the run file. All are in place before the checks, so that fields which depend on each other can
    /// change together.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
}

impl SetArgs {
    /// The pairs, in the order of the command line.
    fn pairs(&self) -> Result<Vec<(String, Setting)>> {
        self.set
            .iter()
            .map(|text| {
                assignment(text).map_err(|error| {
                    let message = format!("--set {text}: {}", error.message);
                    Error { message, ..error }
                })
            })
            .collect()
    }

    /// The arguments as a shell takes them, each behind a blank.
    fn words(&self) -> String {
        self.set.iter().map(|text| format!(" --set {}", quoted(text))).collect()
    }

    /// The same arguments for a child process.
    fn arguments(&self) -> Vec<String> {
        self.set.iter().flat_map(|text| ["--set".to_owned(), text.clone()]).collect()
    }

    /// The pairs by path; of several for one path the last.
    fn settings(&self) -> Result<Settings> {
        Ok(self.pairs()?.into_iter().collect())
    }
}

/// `--quiet`.
#[derive(Debug, clap::Args)]
struct Verbosity {
    /// Print nothing but errors, and notes on what makes the numbers of a run doubtful.
    #[arg(long, short)]
    quiet: bool,
}

impl Verbosity {
    /// Writes to the standard output, unless only errors are to be printed.
    fn say(&self, text: &str) -> Result<()> {
        if self.quiet { Ok(()) } else { print(text) }
    }
}

/// `--nvrtc`, where a run may compile a kernel.
#[derive(Debug, clap::Args)]
struct Compiler {
    /// Path of libnvrtc.so, for a kernel that is CUDA C++ [default: GSIM_NVRTC, else the system's loader].
    #[arg(long, value_name = "PATH")]
    nvrtc: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
