//! `gsim machine`: the machines that can be simulated.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use comfy_table::{Table, presets::NOTHING};

use super::{SetArgs, print};
use crate::config::machine::Calibration;
use crate::config::presets::PRESETS;
use crate::config::{Machine, overrides, parse, presets};
use crate::error::Result;

/// Subcommands of `gsim machine`.
#[derive(Debug, Subcommand)]
pub(super) enum MachineCommand {
    /// List the presets: name, compute capability, SMs, calibration.
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
    /// Check machine files: every field, every range, every rule between fields.
    #[command(after_help = "Example:\n  gsim machine check my.ron")]
    Check {
        /// The machine files.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
}

pub(super) fn run(command: MachineCommand) -> Result<()> {
    match command {
        MachineCommand::List => list(),
        MachineCommand::Show { machine, set } => show(&machine, &set),
        MachineCommand::Check { files } => {
            for file in &files {
                let machine: Machine = parse::read(file)?;
                let sms = machine.sm.count.get();
                print(&format!("{}: ok: {}, {sms} SMs\n", file.display(), machine.name))?;
            }
            Ok(())
        }
    }
}

fn list() -> Result<()> {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(["preset", "name", "CC", "SMs", "calibration"]);
    for preset in PRESETS {
        let machine = preset.machine()?;
        let (major, minor) = machine.compute_capability;
        let calibration = match &machine.calibration {
            Calibration::Uncalibrated(why) => format!("uncalibrated: {why}"),
        };
        table.add_row([
            preset.name.to_owned(),
            machine.name.clone(),
            format!("{major}.{minor}"),
            machine.sm.count.get().to_string(),
            calibration,
        ]);
    }
    print(&format!("{}\n", table.trim_fmt()))
}

fn show(reference: &str, set: &SetArgs) -> Result<()> {
    let machine = presets::machine(reference, Path::new(""))?;
    let settings = set.settings()?;
    if settings.is_empty()
        && let Ok(preset) = presets::find(reference)
    {
        return print(preset.text);
    }
    let machine = overrides::apply_to_machine(&machine, &settings).map_err(|error| {
        let message = format!("--set {}", error.message);
        crate::error::Error { message, ..error }
    })?;
    print(&format!("Machine{}\n", parse::to_text(&machine)))
}
