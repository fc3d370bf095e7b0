//! Stored reports, from the outside: shown again, and held against each other.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

/// Runs gsim in `folder`; gives the exit code, standard output and standard error.
fn gsim(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output =
        Command::cargo_bin("gsim").unwrap().current_dir(folder).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// As [`gsim`], for a call that succeeds; gives the standard output.
#[track_caller]
fn succeed(folder: &Path, args: &[&str]) -> String {
    let (code, out, error) = gsim(folder, args);
    assert_eq!((code, error.as_str()), (0, ""));
    out
}

/// Runs a bundled run of which `changes` make a small one, without pictures; gives what it prints.
fn run(folder: &Path, run: &str, changes: &[&str]) -> String {
    let file = format!("{}/configs/runs/{run}.ron", env!("CARGO_MANIFEST_DIR"));
    let mut args = vec!["run", &file, "--no-plots"];
    args.extend(changes.iter().flat_map(|change| ["--set", change]));
    succeed(folder, &args)
}

/// `results/stencil-char`, small.
fn stencil(folder: &Path, changes: &[&str]) -> String {
    run(folder, "stencil-char", &[&["workload.elements=16384"], changes].concat())
}

#[test]
fn a_stored_report_is_shown_as_the_run_showed_it() {
    let folder = TempDir::new().unwrap();
    let printed = stencil(folder.path(), &[]);
    let summary = succeed(folder.path(), &["report", "results/stencil-char"]);
    assert!(printed.starts_with(&summary), "{summary}");
    assert!(summary.ends_with("output equals the host reference (16,384 elements)\n"));
    // The file is as good as its folder, and several are shown one after the other.
    let both = ["report", "results/stencil-char/report.json", "results/stencil-char"];
    assert_eq!(succeed(folder.path(), &both), format!("{summary}\n{summary}"));
    assert_eq!(fs::read_dir(folder.path().join("results/stencil-char")).unwrap().count(), 2);
}

#[test]
fn a_result_folder_gets_its_pictures_and_keeps_all_that_it_had() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), "spmv", &[]);
    let result = folder.path().join("results/spmv");
    let kept = ["report.json", "ledgers.csv", "outputs/y.npy"];
    let bytes = || kept.map(|file| fs::read(result.join(file)).unwrap());
    let before = bytes();
    succeed(folder.path(), &["report", "results/spmv", "--out", "results", "--quiet"]);
    assert!(bytes() == before);
    for picture in ["stalls.svg", "stalls.png", "report.html"] {
        assert!(result.join(picture).is_file(), "{picture}");
    }
}

#[test]
fn reports_are_compared_number_by_number() {
    let folder = TempDir::new().unwrap();
    let compare = |args: &[&str]| gsim(folder.path(), &[&["compare"], args].concat());
    let [base, other] = ["results/stencil-char", "results/mergers-16"];
    stencil(folder.path(), &[]);
    stencil(folder.path(), &["l1.mshr_mergers=16", "name=mergers-16"]);

    let (code, text, error) = compare(&[base, other]);
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(text.contains("\n  l1.mshr_mergers  8  16\n"), "{text}");
    assert!(text.contains("\nLoad/store units: core cycles of one, on average\n"), "{text}");

    let (code, _, error) = compare(&[base, other, "--tolerance", "5", "-q"]);
    assert_eq!(code, 1);
    let says = "error: more than 5 % off stencil-char: ";
    assert!(error.starts_with(says) && error.contains(" of mergers-16 -"), "{error}");
    assert_eq!(error.lines().count(), 1);
    assert_eq!(compare(&[base, other, "--tolerance", "1000"]).0, 0);

    // Two of one name are called by where they are; the same is the same in every counter.
    let (code, text, _) =
        compare(&[base, "./results/stencil-char", "--tolerance", "0", "--counters"]);
    assert_eq!(code, 0);
    assert!(text.contains("./results/stencil-char") && !text.contains("counters"), "{text}");

    let (code, text, _) = compare(&[base, other, "--out", "results", "--name", "both"]);
    assert_eq!(code, 0);
    assert!(text.ends_with("\nResults in results/both\n"), "{text}");
    for file in ["comparison.csv", "comparison.svg", "comparison.png"] {
        assert!(folder.path().join("results/both").join(file).is_file(), "{file}");
    }
}

#[test]
fn what_is_no_report_is_an_error_and_nothing_is_written() {
    let folder = TempDir::new().unwrap();
    stencil(folder.path(), &[]);
    fs::write(folder.path().join("broken.json"), "{\"schema\": 1,\n").unwrap();
    let good = "results/stencil-char";
    for (args, want) in [
        (vec!["report", "none"], "none: no such file"),
        (vec!["compare", good, "results"], "results/report.json: no such file"),
        (
            vec!["report", good, "broken.json", "--out", "again"],
            "broken.json:2:0: not a report: EOF while parsing a value",
        ),
        (
            vec!["compare", good, good, "--tolerance", "1 %"],
            "invalid value '1 %' for '--tolerance <PERCENT>': a number of percent, at least 0",
        ),
        (
            vec!["compare", good, good, "--out", "results", "--name", "stencil-char"],
            "holds no comparison.csv",
        ),
    ] {
        let (code, out, error) = gsim(folder.path(), &args);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(want) && error.lines().count() == 1, "{error}");
        assert_eq!(out, "");
    }
    assert!(!folder.path().join("again").exists());
}
