//! What a study that cannot be right is told, before it simulates, and what its page says.

#[path = "common/command.rs"]
mod command;

use std::fs;

use command::gsim;
use tempfile::TempDir;

const RUN: &str =
    r#"Run(name: "r", machine: "gtx480", workload: Stencil1d(element: Char, elements: 1024))"#;

/// A study of one axis, with what `more` says.
fn study(more: &str) -> String {
    format!(
        "Study(\n    name: \"s\",\n    run: \"run.ron\",\n    \
         axes: [Field(path: \"workload.element\", values: [Int, Char])],\n    {more}\n)\n"
    )
}

/// A folder with a run file and a study.
fn folder(study: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("run.ron"), RUN).unwrap();
    fs::write(folder.path().join("s.ron"), study).unwrap();
    folder
}

#[test]
fn the_page_has_the_whole_command_and_the_folder_the_given_name() {
    let folder = folder(&study(""));
    let set = ["--set", "sm.policy=TwoLevel(active: 8)", "--set", "name=two-level"];
    let (code, _, error) = gsim(folder.path(), &[&["study", "s.ron", "-q"], &set[..]].concat());
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(!folder.path().join("results/s").exists());
    let page = fs::read_to_string(folder.path().join("results/two-level/README.md")).unwrap();
    assert!(page.starts_with("# two-level\n"), "{page}");
    let command =
        "Made by `gsim study s.ron --set name=two-level --set 'sm.policy=TwoLevel(active: 8)'`";
    assert!(page.contains(command), "{page}");
}

#[test]
fn every_runs_report_is_kept_where_that_is_asked_for() {
    let folder = folder(&study("columns: [\"totals.cycles\"],"));
    let (code, _, error) = gsim(folder.path(), &["study", "s.ron", "-q", "--reports"]);
    assert_eq!((code, error.as_str()), (0, ""));
    let results = folder.path().join("results/s");
    let table = fs::read_to_string(results.join("runs.csv")).unwrap();
    for (row, name) in table.lines().skip(1).zip(["1-Int", "2-Char"]) {
        let place = results.join("reports").join(name);
        let report = fs::read_to_string(place.join("report.json")).unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["name"], name);
        let cycles = report["totals"]["cycles"].to_string();
        assert!(row.ends_with(&format!(",{cycles}")), "{row}: {cycles}");
        // It is as any other.
        let (code, summary, _) = gsim(folder.path(), &["report", place.to_str().unwrap()]);
        assert_eq!((code, summary.starts_with(&format!("{name} on GeForce"))), (0, true));
    }
    assert!(table.lines().count() == 3 && results.join("reports/1-Int/ledgers.csv").exists());
    // Without it, they are gone with the older result.
    assert_eq!(gsim(folder.path(), &["study", "s.ron", "-q"]).0, 0);
    assert!(results.join("runs.csv").exists() && !results.join("reports").exists());
}

/// Runs a study with `more`, whose simulations would fail as no CTA fits on an SM; checks the error that comes before them.
#[track_caller]
fn check(more: &str, args: &[&str], want: &str) {
    let folder = folder(&study(more));
    fs::write(folder.path().join("file"), "").unwrap();
    fs::create_dir_all(folder.path().join("full/s")).unwrap();
    fs::write(folder.path().join("full/s/thesis.tex"), "years").unwrap();
    let unfit = ["study", "s.ron", "--set"];
    let unfit = [&unfit[..], &["sm.max_cta_threads=32"], args].concat();
    let (code, _, error) = gsim(folder.path(), &unfit);
    assert_eq!(error, format!("error: {want}\n"));
    assert_eq!(code, 2);
    assert!(!folder.path().join("results").exists());
}

#[test]
fn what_a_study_shows_is_checked_before_it_simulates() {
    check(
        r#"columns: ["totals.ipc", "totals.ipcs"],"#,
        &[],
        "s.ron:5:29: columns.1: no report has a number \"totals.ipcs\" \
         (hint: a metric is a path into report.json, such as totals.cycles)",
    );
    let panel = |panel: &str| {
        format!("figures: [(file: \"a\", title: \"a\", panels: [(y: \"y\", {panel})])],")
    };
    check(
        &panel(r#"across: "element", bars: One("totals.cycles")"#),
        &[],
        "s.ron:5:65: figures.0.panels.0.across: there is no axis \"element\" \
         (hint: the axes are: workload.element)",
    );
    check(
        &panel(r#"across: "workload.element", bars: Axis(name: "x", metric: "totals.cycles")"#),
        &[],
        "s.ron:5:102: figures.0.panels.0.bars.name: there is no axis \"x\" \
         (hint: the axes are: workload.element)",
    );
    check(
        &panel(
            r#"across: "workload.element", bars: One("totals.cycles"), at: {"workload.element": "Long"}"#,
        ),
        &[],
        "s.ron:5:117: figures.0.panels.0.at: axis \"workload.element\" has no point \"Long\" \
         (hint: its points are: Int, Char)",
    );
    check(
        r#"comparisons: [(title: "t", rows: [(what: "w", metric: "totals.time", at: {})])],"#,
        &[],
        "s.ron:5:59: comparisons.0.rows.0.metric: no report has a number \"totals.time\" \
         (hint: a metric is a path into report.json, such as totals.cycles)",
    );
}

#[test]
fn where_the_results_go_is_checked_before_anything_is_simulated() {
    let is_file = "file: cannot hold results: it is no folder (hint: --out names a folder)";
    check("", &["--out", "file"], is_file);
    check("", &["--out", "file/inner"], is_file);
    check(
        "",
        &["--out", "full"],
        "full/s: holds no runs.csv, so it is not replaced \
         (hint: move it away, or give the study another name)",
    );
    let folder = folder("");
    fs::write(folder.path().join("file"), "").unwrap();
    let (code, _, error) = gsim(folder.path(), &["run", "run.ron", "--out", "file"]);
    assert_eq!((code, error), (2, format!("error: {is_file}\n")));
}

#[test]
fn a_file_that_a_study_names_and_is_not_there_is_pointed_at() {
    check("findings: \"found.md\",", &[], "s.ron:5:15: findings: found.md: no such file");
    let folder = folder(&study("").replace("run.ron", "rum.ron"));
    let (code, _, error) = gsim(folder.path(), &["study", "s.ron"]);
    let want = "error: s.ron:3:10: run: rum.ron: no such file (hint: did you mean run.ron?)\n";
    assert_eq!((code, error.as_str()), (2, want));
}
