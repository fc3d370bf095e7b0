//! `gsim machine`: the machines that can be simulated.

mod diff;
mod limits;
mod list;

use std::path::Path;

use clap::Subcommand;

use super::{SetArgs, complain, print};
use crate::config::study::quoted;
use crate::config::{Machine, Settings, overrides, parse, presets};
use crate::error::{Error, Result};

/// Subcommands of `gsim machine`.
#[derive(Debug, Subcommand)]
pub(super) enum MachineCommand {
    /// List the presets: name, compute capability, SMs, caches, peak bandwidth, calibration.
    #[command(after_help = "Example:\n  gsim machine list")]
    List,
    /// Print a machine as RON, which can be saved and edited.
    ///
    /// For a preset without --set this is its own file, with the source of each value; otherwise every
    /// field as it was resolved.
    #[command(after_help = "Examples:\n  \
        gsim machine show gtx480 > my.ron\n  \
        gsim machine show gtx480 --set l1.mshr_mergers=16")]
    Show {
        /// A preset's name, or the path of a machine file (.ron).
        #[arg(value_name = "NAME|FILE")]
        machine: String,
        #[command(flatten)]
        set: SetArgs,
    },
    /// Compare two machines field by field.
    ///
    /// Prints the fields that differ, by the paths that --set takes. The exit code is 0 either way.
    #[command(after_help = "Examples:\n  \
        gsim machine diff gtx480 my.ron\n  \
        gsim machine diff my.ron other.ron")]
    Diff {
        /// A preset's name, or the path of a machine file (.ron).
        #[arg(value_name = "NAME|FILE")]
        first: String,
        /// The other one.
        #[arg(value_name = "NAME|FILE")]
        second: String,
    },
    /// Say what a machine can do at most, before any kernel runs.
    ///
    /// Prints the peak rate of every level and the narrowest one, what a load takes that is alone, what may be under way at
    /// once, and what must be under way to fill the DRAM. Latencies are simulated: a lane follows a random cycle. Everything
    /// else follows from the fields that stand beside it, by the paths that --set takes. Peaks are those without conflicts,
    /// refreshes and queues: a kernel gets less.
    #[command(after_help = "Examples:\n  \
        gsim machine limits gtx480\n  \
        gsim machine limits gtx480 --set l1.mshr_entries=16")]
    Limits {
        /// A preset's name, or the path of a machine file (.ron).
        #[arg(value_name = "NAME|FILE")]
        machine: String,
        #[command(flatten)]
        set: SetArgs,
    },
    /// Check machine files: every field, every range, every rule between fields.
    ///
    /// All of them are checked; one that is wrong makes the exit code 2.
    #[command(after_help = "Example:\n  gsim machine check my.ron other.ron")]
    Check {
        /// The machine files; a preset's name is one, too.
        #[arg(value_name = "FILE|NAME", required = true)]
        files: Vec<String>,
    },
}

pub(super) fn run(command: MachineCommand) -> Result<()> {
    match command {
        MachineCommand::List => print(&list::list()?),
        MachineCommand::Show { machine, set } => show(&machine, &set),
        MachineCommand::Diff { first, second } => {
            let of = |reference: &str| presets::machine(reference, Path::new(""));
            print(&diff::diff([&first, &second], [&of(&first)?, &of(&second)?]))
        }
        MachineCommand::Limits { machine, set } => {
            print(&limits::limits(&changed("limits", &machine, &set.settings()?)?)?)
        }
        MachineCommand::Check { files } => {
            let mut wrong = None;
            for file in &files {
                match check(file) {
                    Ok(machine) => {
                        let sms = machine.sm.count.get();
                        print(&format!("{file}: ok: {}, {sms} SMs\n", machine.name))?;
                    }
                    // The last one is told where every error is.
                    Err(error) => {
                        if let Some(earlier) = wrong.replace(error) {
                            complain(format_args!("error: {earlier}"));
                        }
                    }
                }
            }
            wrong.map_or(Ok(()), Err)
        }
    }
}

/// Reads a file, or a preset where there is no file of that name.
fn check(reference: &str) -> Result<Machine> {
    match Path::new(reference).exists() {
        true => parse::read(Path::new(reference)),
        false => presets::machine(reference, Path::new("")),
    }
}

fn show(reference: &str, set: &SetArgs) -> Result<()> {
    let settings = set.settings()?;
    let machine = changed("show", reference, &settings)?;
    if settings.is_empty()
        && let Ok(preset) = presets::find(reference)
    {
        return print(preset.text);
    }
    print(&format!("Machine{}\n", parse::to_text(&machine)))
}

/// The machine that `command` is asked for, with fields changed.
fn changed(command: &str, reference: &str, settings: &Settings) -> Result<Machine> {
    let machine = presets::machine(reference, Path::new(""))?;
    if let Some(other) = settings.get("machine") {
        return Err(Error::input(format!("--set machine={other}: no field machine"))
            .hint(format!("`gsim machine {command} {}` shows that one", quoted(&other.text()))));
    }
    if settings.is_empty() {
        return Ok(machine);
    }
    overrides::apply_to_machine(&machine, settings).map_err(|error| {
        let message = format!("--set {}", error.message);
        Error { message, ..error }
    })
}

/// Bytes a second, as all lists of machines have them.
fn gigabytes(bytes_per_second: f64) -> String {
    format!("{:.1} GB/s", bytes_per_second / 1e9)
}
