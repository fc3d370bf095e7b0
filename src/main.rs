//! The `gsim` program: parses its arguments, runs the subcommand, prints the error.

use std::io::{self, Write};
use std::process::ExitCode;

use gsim::cli::Cli;

fn main() -> ExitCode {
    match Cli::from_arguments().and_then(Cli::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where nobody listens the exit code still tells.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
