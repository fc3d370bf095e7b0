//! `gsim native micro`: micro-benchmarks on the GPU.

use std::path::PathBuf;

use crate::cli::{SetArgs, Verbosity};
use crate::config::MicroFile;
use crate::error::Result;
use crate::native::{self, Device, MicroReport, Options};
use crate::report::{check_file, number};

/// Arguments of `gsim native micro`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct MicroArgs {
    /// The micro-benchmark file.
    #[arg(value_name = "MICRO.ron")]
    file: PathBuf,
    #[command(flatten)]
    set: SetArgs,
    /// Timed passes of each run, at most [1..=10000].
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    repeats: u32,
    /// The file that gets the answers.
    #[arg(long, value_name = "FILE", default_value = "results/micro.json")]
    out: PathBuf,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// Asks all questions and writes the answers.
pub(super) fn run(args: &MicroArgs) -> Result<()> {
    let file = MicroFile::read(&args.file)?;
    let points = file.points(&args.set.pairs()?)?;
    let is_one = |_: &[u8]| MicroReport::read(&args.out).is_ok();
    check_file(&args.out, "file of answers", is_one)?;
    let device = Device::open()?;
    let options = Options { repeats: args.repeats };
    let mut said = Ok(());
    let report = native::micro(&device, &file, &points, options, &mut |answer| {
        let place = [std::slice::from_ref(&answer.benchmark), &answer.labels].concat();
        let value = number::short(answer.value);
        // What was measured is kept, whether or not it can be shown.
        if said.is_ok() {
            said = args.verbosity.say(&format!("{}: {value} {}\n", place.join(", "), answer.unit));
        }
    })?;
    report.write(&args.out)?;
    said?;
    args.verbosity.say(&format!("Answers in {}\n", args.out.display()))
}
