//! Mistakes on the command line, told in one line as all others are.

use std::error::Error as _;
use std::num::{IntErrorKind, ParseIntError};

use clap::error::{ContextKind, ErrorKind};

use crate::error::Error;

/// What clap found wrong. It says so in paragraphs: the mistake, tips, how the command is used, where to read more.
pub(super) fn mistake(found: &clap::Error) -> Error {
    let text = found.render().to_string();
    let (mut message, mut hints) = (String::new(), Vec::new());
    for paragraph in text.split("\n\n") {
        let words: Vec<_> = paragraph.split_whitespace().collect();
        match *words.as_slice() {
            ["error:", ref what @ ..] => message = what.join(" "),
            ["tip:", ref what @ ..] => hints.push(what.join(" ").replace(" tip: ", "; ")),
            ["Usage:", ref how @ ..] => hints.push(format!("usage: {}", how.join(" "))),
            _ => {}
        }
    }
    if let (Some(cause), Some(value)) = (found.source(), found.get(ContextKind::InvalidValue))
        && let Some(number) = cause.downcast_ref::<ParseIntError>()
        && let Some(place) = message.strip_suffix(&number.to_string())
    {
        let wrong = match number.kind() {
            IntErrorKind::PosOverflow => "is too large",
            _ => "is not a whole number from 0 on",
        };
        message = format!("{place}{value} {wrong}");
    }
    if hints.is_empty() || found.kind() == ErrorKind::InvalidSubcommand && hints.len() == 1 {
        hints.push("--help says more".to_owned());
    }
    Error::input(message).hint(hints.join("; "))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_mistake_is_one_line_with_a_hint() {
        for (arguments, line) in [
            (
                &["run"][..],
                "the following required arguments were not provided: <RUN.ron> \
                 (hint: usage: gsim run <RUN.ron>)",
            ),
            (
                &["run", "a.ron", "--treads", "2"],
                "unexpected argument '--treads' found \
                 (hint: a similar argument exists: '--threads'; usage: gsim run --threads <N> <RUN.ron>)",
            ),
            (
                &["run", "a.ron", "--threads", "0"],
                "invalid value '0' for '--threads <N>': 0 is not in 1..=256 (hint: --help says more)",
            ),
            (
                &["run", "a.ron", "--threads", "-1"],
                "invalid value '-1' for '--threads <N>': -1 is not in 1..=256 (hint: --help says more)",
            ),
            (
                &["trace", "dump", "a.gtrace", "--cta", "-1"],
                "invalid value '-1' for '--cta <N>': -1 is not a whole number from 0 on \
                 (hint: --help says more)",
            ),
            (
                &["trace", "dump", "a.gtrace", "--warp", "x"],
                "invalid value 'x' for '--warp <N>': x is not a whole number from 0 on \
                 (hint: --help says more)",
            ),
            (
                &["trace", "dump", "a.gtrace", "--cta=99999999999999999999"],
                "invalid value '99999999999999999999' for '--cta <N>': 99999999999999999999 is too large \
                 (hint: --help says more)",
            ),
            (
                &["compare", "a", "b", "--tolerance", "-0.5"],
                "invalid value '-0.5' for '--tolerance <PERCENT>': a number of percent [0..=1000000] \
                 (hint: --help says more)",
            ),
            (
                &["simulate"],
                "unrecognized subcommand 'simulate' (hint: usage: gsim [COMMAND]; --help says more)",
            ),
            (
                &["machine", "shw"],
                "unrecognized subcommand 'shw' \
                 (hint: a similar subcommand exists: 'show'; usage: gsim machine <COMMAND>)",
            ),
        ] {
            let found = Cli::try_parse_from([&["gsim"], arguments].concat()).unwrap_err();
            let error = mistake(&found);
            assert_eq!((error.to_string().as_str(), error.exit_code()), (line, 2));
        }
    }
}
