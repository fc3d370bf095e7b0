//! The `gsim` program: parses its arguments, runs the subcommand, prints the error.

use std::process::ExitCode;

use clap::Parser;
use gsim::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
