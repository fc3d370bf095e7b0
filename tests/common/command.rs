//! gsim as a user calls it.

use std::path::Path;

use assert_cmd::Command;

/// Runs gsim in `folder`; gives the exit code, standard output and standard error.
pub fn gsim(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output =
        Command::cargo_bin("gsim").unwrap().current_dir(folder).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// As [`gsim`], for a call that succeeds; gives the standard output.
#[track_caller]
#[allow(dead_code, reason = "not every test needs it")]
pub fn succeed(folder: &Path, args: &[&str]) -> String {
    let (code, out, error) = gsim(folder, args);
    assert_eq!((code, error.as_str()), (0, ""));
    out
}
