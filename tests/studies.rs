//! What a study that cannot be right is told, before it simulates, and what its page says.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
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

fn gsim(folder: &Path, args: &[&str]) -> (i32, String) {
    let output =
        Command::cargo_bin("gsim").unwrap().current_dir(folder).args(args).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn the_page_has_the_whole_command_and_the_folder_the_given_name() {
    let folder = folder(&study(""));
    let set = ["--set", "sm.policy=TwoLevel(active: 8)", "--set", "name=two-level"];
    let (code, error) = gsim(folder.path(), &[&["study", "s.ron", "-q"], &set[..]].concat());
    assert_eq!((code, error.as_str()), (0, ""));
    assert!(!folder.path().join("results/s").exists());
    let page = fs::read_to_string(folder.path().join("results/two-level/README.md")).unwrap();
    assert!(page.starts_with("# two-level\n"), "{page}");
    let command =
        "Made by `gsim study s.ron --set name=two-level --set 'sm.policy=TwoLevel(active: 8)'`";
    assert!(page.contains(command), "{page}");
}
