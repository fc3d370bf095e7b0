//! A study that was interrupted, or divided, goes on with the reports of its finished runs, and writes the bytes of one that
//! was not.

#[path = "common/command.rs"]
mod command;

use std::fs;
use std::path::{Path, PathBuf};

use command::{gsim, succeed};
use tempfile::TempDir;

const RUN: &str = r#"Run(name: "r", machine: "gtx480", workload: Kernel(
    source: "k.ptx",
    buffers: {"out": (type: U32, elements: 1024)},
    launches: [Launch(entry: "fill", grid: 4, block: 256, args: [Buffer("out")])],
))"#;

/// A thread writes its number.
const PTX: &str = include_str!("common/fill.ptx");

/// Two workloads on two machines, the last of which has room for a CTA where it has `threads`.
fn study(threads: u32) -> String {
    format!(
        r#"Study(name: "s", run: "run.ron", columns: ["totals.seconds_simulated"], axes: [
            Field(path: "workload.launches.0.grid", values: [2, 4]),
            Together(name: "machine", points: [
                (label: "one", set: {{}}),
                (label: "two", set: {{"sm.max_cta_threads": {threads}}}),
            ]),
        ])"#
    )
}

fn folder(threads: u32) -> TempDir {
    let folder = TempDir::new().unwrap();
    let files = [("run.ron", RUN), ("k.ptx", PTX), ("s.ron", &study(threads))];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Name and bytes of every file of the study's results in `out`.
fn results(folder: &Path, out: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder.join(out).join("s")).unwrap();
    let file = |path: PathBuf| (path.file_name().unwrap().into(), fs::read(path).unwrap());
    let mut files: Vec<_> = entries.map(|entry| file(entry.unwrap().path())).collect();
    files.sort();
    files
}

/// The only file of kept reports.
fn kept(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder.join("results/s.unfinished")).unwrap();
    let files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    files[0].clone()
}

/// The file of kept reports that was written last.
fn newest(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder.join("results/s.unfinished")).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
        .unwrap()
}

/// Simulates the study, which is to go on with `finished` of its four runs and to give what it gives in one go.
#[track_caller]
fn goes_on(folder: &Path, finished: usize) {
    goes_on_beside(folder, finished, 0);
}

/// The same where `unused` reports of other settings or programs are kept, and stay.
#[track_caller]
fn goes_on_beside(folder: &Path, finished: usize, unused: usize) {
    succeed(folder, &["study", "s.ron", "--out", "whole"]);
    let out = succeed(folder, &["study", "s.ron"]);
    let was = format!("{finished} of 4 runs are finished: results/s.unfinished\n");
    assert_eq!(out.contains("runs are finished"), finished > 0, "{out}");
    assert!(finished == 0 || out.starts_with(&was), "{out}");
    let ran =
        if finished == 3 { "1 run in ".to_owned() } else { format!("{} runs in ", 4 - finished) };
    assert!(out.contains(&ran), "{out}");
    assert!(results(folder, "results") == results(folder, "whole"));
    let stay = format!("which stay: {unused}, in results/s.unfinished\n");
    assert_eq!(out.contains(&stay), unused > 0, "{out}");
    assert_eq!(folder.join("results/s.unfinished").exists(), unused > 0);
}

#[test]
fn parts_of_a_study_are_taken_up_by_the_whole() {
    let folder = folder(1024);
    for part in ["2/3", "3/3"] {
        let out = succeed(folder.path(), &["study", "s.ron", "--part", part]);
        assert!(out.ends_with("Reports are kept in results/s.unfinished\n"), "{out}");
        assert!(!folder.path().join("results/s").exists());
    }
    // One part of three has one run, the others more.
    goes_on(folder.path(), 3);
    goes_on(folder.path(), 0);
}

#[test]
fn runs_that_were_over_when_one_failed_are_not_run_again() {
    let folder = folder(128);
    let (code, _, error) = gsim(folder.path(), &["study", "s.ron", "--jobs", "1"]);
    assert_eq!(code, 2);
    assert!(error.contains("the run at workload.launches.0.grid 2, machine two: "), "{error}");
    assert!(error.ends_with("finished runs are kept: 1)\n"), "{error}");
    fs::write(folder.path().join("s.ron"), study(1024)).unwrap();
    goes_on(folder.path(), 1);
}

/// A folder whose study goes on where a kernel does not fit: of its four runs two do not.
fn folder_with_misfits() -> TempDir {
    let folder = folder(128);
    let skips = study(128).replace("columns:", "misfits: Skip, columns:");
    fs::write(folder.path().join("s.ron"), skips).unwrap();
    folder
}

const WHY: &str = "kernel fill: a CTA needs 256 threads, but an SM of the GeForce GTX 480 has 128";

#[test]
fn a_study_that_skips_misfits_says_of_each_why_and_has_the_other_reports() {
    let folder = folder_with_misfits();
    for jobs in ["1", "3"] {
        let study = ["study", "s.ron", "--reports", "--jobs", jobs, "--out", jobs];
        let out = succeed(folder.path(), &study);
        assert!(out.contains(" s. 2 runs do not fit their machines.\n"), "{out}");
    }
    assert!(!folder.path().join("1/s.unfinished").exists());
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    let table = read("1/s/runs.csv");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.splitn(5, ',').collect()).collect();
    assert_eq!(rows[0][2..], ["totals.cycles", "totals.seconds_simulated", "misfit"]);
    for row in [2, 4] {
        assert_eq!(rows[row][1..], ["two", "", "", &format!("\"{WHY}\"")]);
        assert!(rows[row - 1][2].parse::<u64>().is_ok() && rows[row - 1][4].is_empty());
    }
    assert!(read("1/s/README.md").contains(&format!("| 2 | two | none | none | {WHY} |\n")));
    let reports = fs::read_dir(folder.path().join("1/s/reports")).unwrap();
    let mut names: Vec<_> = reports.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["1-2-one", "3-4-one"]);
    assert_eq!((&table, read("1/s/README.md")), (&read("3/s/runs.csv"), read("3/s/README.md")));
    // Those that fit are what they are where all do.
    fs::write(folder.path().join("s.ron"), study(1024)).unwrap();
    succeed(folder.path(), &["study", "s.ron", "--out", "all"]);
    let all = read("all/s/runs.csv");
    for row in [1, 3] {
        assert_eq!(table.lines().nth(row).unwrap(), format!("{},", all.lines().nth(row).unwrap()));
    }
}

#[test]
fn a_misfit_is_over_for_the_study_that_skips_it_alone() {
    let folder = folder_with_misfits();
    let folder = folder.path();
    // One group has two runs, one of which does not fit.
    let out = succeed(folder, &["study", "s.ron", "--part", "1/2"]);
    assert!(out.contains("2 runs in ") && out.contains(" 1 run does not fit its machine.\n"));
    goes_on(folder, 2);
    succeed(folder, &["study", "s.ron", "--part", "1/2"]);
    let skips = fs::read_to_string(folder.join("s.ron")).unwrap();
    fs::write(folder.join("s.ron"), study(128)).unwrap();
    let (code, _, error) = gsim(folder, &["study", "s.ron"]);
    let hints = "(hint: use a smaller block, or a machine with larger SMs; or let the study have `misfits: Skip`; \
                 finished runs are kept: ";
    let place = "the run at workload.launches.0.grid 2, machine two";
    assert_eq!(code, 2);
    assert!(error.starts_with(&format!("error: {place}: {WHY} {hints}")), "{error}");
    fs::write(folder.join("s.ron"), skips).unwrap();
    // The run of the other group that fits may or may not be over.
    let out = succeed(folder, &["study", "s.ron"]);
    assert!(out.contains(" of 4 runs are finished: "), "{out}");
    assert!(results(folder, "results") == results(folder, "whole"));
}

#[test]
fn a_study_of_which_no_run_fits_and_one_that_fails_otherwise_are_errors() {
    let folder = folder_with_misfits();
    let folder = folder.path();
    let set = ["--set", "sm.max_warps=4"];
    let (code, _, error) = gsim(folder, &[&["study", "s.ron", "-q"], &set[..]].concat());
    let why = "kernel fill: a CTA needs 8 warps, but an SM of the GeForce GTX 480 has 4";
    let want = format!("error: s.ron: no run of the study fits its machine; the first: {why}\n");
    assert_eq!((code, error), (2, want));
    assert!(!folder.join("results/s").exists());
    // A part may have such runs alone.
    fs::remove_dir_all(folder.join("results/s.unfinished")).unwrap();
    let part = ["study", "s.ron", "--part", "1/4"];
    assert!(succeed(folder, &[&part[..], &set].concat()).contains("1 run does not fit"));
    // What goes wrong in the others is still said.
    fs::write(folder.join("run.ron"), RUN.replace("1024", "768")).unwrap();
    let (code, _, error) = gsim(folder, &["study", "s.ron", "-q"]);
    assert_eq!(code, 2);
    let place = "the run at workload.launches.0.grid 4, machine one: kernel `fill`, CTA (3,0,0)";
    assert!(error.contains(place), "{error}");
}

#[test]
fn what_was_torn_changed_or_simulated_by_another_program_is_run_again() {
    let folder = folder(1024);
    let folder = folder.path();
    let part = || succeed(folder, &["study", "s.ron", "--part", "1/2"]);
    part();
    // The process ended within a line.
    let text = fs::read_to_string(kept(folder)).unwrap();
    fs::write(kept(folder), &text[..text.len() - 100]).unwrap();
    goes_on(folder, 1);
    part();
    fs::write(kept(folder), text.replacen("\"program\":\"", "\"program\":\"not ", 1)).unwrap();
    goes_on_beside(folder, 0, 2);
    part();
    fs::write(folder.join("k.ptx"), PTX.replace("256", "128")).unwrap();
    goes_on_beside(folder, 0, 4);
    part();
    fs::write(folder.join("run.ron"), RUN.replace("1024", "2048")).unwrap();
    goes_on_beside(folder, 0, 6);
    part();
    // What is torn within a file takes nothing with it.
    let text = fs::read_to_string(newest(folder)).unwrap();
    fs::write(newest(folder), text.replacen("\n{\"schema\"", "\n{\"schema\n{\"schema\"", 1))
        .unwrap();
    goes_on_beside(folder, 2, 6);
    part();
    // What is not gsim's stays.
    let notes = folder.join("results/s.unfinished/notes");
    fs::write(&notes, "mine").unwrap();
    succeed(folder, &["study", "s.ron"]);
    assert_eq!(fs::read_to_string(notes).unwrap(), "mine");
}

#[test]
fn a_part_that_is_none_is_a_mistake_of_the_command_line() {
    let folder = folder(1024);
    for part in ["0/2", "3/2", "2", "1/100001"] {
        let (code, _, error) = gsim(folder.path(), &["study", "s.ron", "--part", part]);
        assert_eq!(code, 2);
        assert!(error.contains("a part is its number and how many there are"), "{error}");
    }
    let both = ["study", "s.ron", "--part", "1/2", "--slurm", "2"];
    let (code, _, error) = gsim(folder.path(), &both);
    assert_eq!(code, 2);
    assert!(error.contains("'--part <K/N>' cannot be used with '--slurm <N>'"), "{error}");
    let out = succeed(folder.path(), &["study", "s.ron", "--part", "1/8"]);
    assert!(out.starts_with("0 runs in ") && !out.contains("kept"), "{out}");
    fs::create_dir(folder.path().join("results")).unwrap();
    fs::write(folder.path().join("results/s.unfinished"), "").unwrap();
    let (code, _, error) = gsim(folder.path(), &["study", "s.ron"]);
    assert_eq!(code, 2);
    assert!(error.contains("s.unfinished: cannot hold reports of finished runs: "), "{error}");
}

/// Does what Slurm's sbatch does with the options that gsim gives it, at once.
const SBATCH: &str = r#"#!/bin/sh
for argument; do
    case "$argument" in
        --array=1-*) parts=${argument#--array=1-} ;;
        --wrap=*) command=${argument#--wrap=} ;;
        --dependency=afterok:7) echo behind the parts ;;
        --parsable) echo '7;cluster' ;;
    esac
done
part=1
while [ $part -le ${parts:-1} ]; do
    SLURM_ARRAY_TASK_ID=$part sh -c "$command" >&2
    part=$((part + 1))
done
"#;

#[cfg(unix)]
#[test]
fn the_commands_for_slurm_simulate_the_parts_and_write_the_results() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    let folder = folder(1024);
    let folder = folder.path();
    fs::write(folder.join("sbatch"), SBATCH).unwrap();
    fs::set_permissions(folder.join("sbatch"), PermissionsExt::from_mode(0o755)).unwrap();
    let options = ["--out", "the whole", "--jobs", "1", "--set", "sm.policy=TwoLevel(active: 8)"];
    let study = [&["study", "s.ron"], &options[..]].concat();
    let script = succeed(folder, &[&study[..], &["--slurm", "3", "--reports"]].concat());
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env("PATH", path).current_dir(folder);
    let shell = shell.output().unwrap();
    assert_eq!(String::from_utf8(shell.stderr).unwrap(), "");
    assert_eq!(String::from_utf8(shell.stdout).unwrap(), "behind the parts\n");
    // The last job keeps the reports.
    fs::remove_dir_all(folder.join("the whole/s/reports")).unwrap();
    let of_slurm = results(folder, "the whole");
    succeed(folder, &study);
    assert!(results(folder, "the whole") == of_slurm);
}
