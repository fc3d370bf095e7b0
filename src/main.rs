//! The `gsim` program: parses its arguments, runs the subcommand, prints the error.

use std::process::ExitCode;

use gsim::cli::{Cli, complain};
use gsim::heap;

fn main() -> ExitCode {
    heap::use_large_pages();
    match Cli::from_arguments().and_then(Cli::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(format_args!("error: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
