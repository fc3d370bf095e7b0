//! Stored reports, from the outside: shown again, and held against each other.

#[path = "common/command.rs"]
mod command;

use std::fs;
use std::path::Path;

use command::{gsim, succeed};
use tempfile::TempDir;

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
    // So few bytes stay in the L2.
    let end = "output equals the host reference (16,384 elements)\n\
               note: all that was stored is in the L2 at the end, and not in DRAM\n";
    assert!(summary.ends_with(end), "{summary}");
    // The file is as good as its folder, and several are shown one after the other.
    let both = ["report", "results/stencil-char/report.json", "results/stencil-char"];
    assert_eq!(succeed(folder.path(), &both), format!("{summary}\n{summary}"));
    assert_eq!(fs::read_dir(folder.path().join("results/stencil-char")).unwrap().count(), 2);
}

#[test]
fn a_result_folder_gets_its_pictures_and_keeps_all_that_it_had() {
    let folder = TempDir::new().unwrap();
    run(folder.path(), "spmv", &[]);
    // A folder has another name than the run, and more in it than the run's files.
    let result = folder.path().join("before");
    fs::rename(folder.path().join("results/spmv"), &result).unwrap();
    fs::write(result.join("NOTES.md"), "mine").unwrap();
    let kept = ["report.json", "ledgers.csv", "outputs/y.npy", "NOTES.md"];
    let bytes = || kept.map(|file| fs::read(result.join(file)).unwrap());
    let before = bytes();
    for quiet in [&[][..], &["--quiet"]] {
        let printed = succeed(folder.path(), &[&["report", "before", "--draw"], quiet].concat());
        assert!(bytes() == before);
        assert_eq!(printed.ends_with("\nPictures in before\n"), quiet.is_empty(), "{printed}");
    }
    let mut names: Vec<_> = fs::read_dir(&result)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let pictures = ["report.html", "stalls.png", "stalls.svg"];
    let mut want = [&["NOTES.md", "ledgers.csv", "outputs", "report.json"][..], &pictures].concat();
    want.sort_unstable();
    assert_eq!(names, want);
    // They are what the run would have written.
    let file = format!("{}/configs/runs/spmv.ron", env!("CARGO_MANIFEST_DIR"));
    succeed(folder.path(), &["run", &file]);
    for picture in pictures {
        let drawn = fs::read(result.join(picture)).unwrap();
        assert!(drawn == fs::read(folder.path().join("results/spmv").join(picture)).unwrap());
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
    assert!(text.contains("\n  l1.mshr_mergers             8          16\n"), "{text}");
    assert!(text.contains("\nLoad/store units: mean core cycles per load/store unit\n"), "{text}");

    let (code, _, error) = compare(&[base, other, "--tolerance", "5", "-q"]);
    assert_eq!(code, 1);
    let says = "error: not within 5 % of stencil-char: mergers-16: ";
    assert!(error.starts_with(says) && error.contains(" -> 0 (-"), "{error}");
    assert_eq!(error.lines().count(), 1);
    assert_eq!(compare(&[base, other, "--tolerance", "1000"]).0, 0);

    // The same is the same in every counter.
    let (code, text, _) = compare(&[base, base, "--tolerance", "0", "--counters"]);
    assert_eq!(code, 0);
    assert!(text.contains("stencil-char (2)") && !text.contains("counters"), "{text}");

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
            vec!["report", good, "broken.json", "--draw"],
            "broken.json:2:1: not a report: EOF while parsing a value",
        ),
        (
            vec!["compare", good, good, "--tolerance", "1 %"],
            "invalid value '1 %' for '--tolerance <PERCENT>': a number of percent [0..=1000000]",
        ),
        (
            vec!["compare", good, good, "--out", "results", "--name", "stencil-char"],
            "results/stencil-char: holds no comparison.csv, so it is not replaced \
             (hint: move it away, or choose another --name or --out)",
        ),
        (
            vec!["compare", good, good, "--out", "results", "--name", "../x"],
            "the name \"../x\" starts with a dot",
        ),
    ] {
        let (code, out, error) = gsim(folder.path(), &args);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(want) && error.lines().count() == 1, "{error}");
        assert_eq!(out, "");
    }
    assert_eq!(fs::read_dir(folder.path().join(good)).unwrap().count(), 2);
}
