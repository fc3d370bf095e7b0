//! The program's main job, from the outside: one command, one folder with the answer, and nothing half done.

#[path = "common/stencil.rs"]
mod stencil;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use gsim::config::ElementType;

const RUN: &str = "configs/runs/stencil-char.ron";
const SMALL: &str = "workload.elements=16384";

/// Runs `gsim run` with results in `out`; gives the exit code, standard output and standard error.
fn gsim(out: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("gsim")
        .unwrap()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["run", RUN, "--out"])
        .arg(out)
        .args(args)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// As [`gsim`], for a run that succeeds; gives its result folder.
fn result_of(out: &Path, args: &[&str]) -> PathBuf {
    let (code, _, error) = gsim(out, &[&["--set", SMALL], args].concat());
    assert_eq!((code, error.as_str()), (0, ""));
    out.join("stencil-char")
}

fn report_in(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap()
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn sum(parts: &Value) -> u64 {
    parts.as_object().unwrap().values().map(|part| part.as_u64().unwrap()).sum()
}

/// What scripts read: the totals, and three ledgers that sum.
#[track_caller]
fn check_numbers(numbers: &Value) {
    let totals = &numbers["totals"];
    let (cycles, instructions) =
        (totals["cycles"].as_u64().unwrap(), totals["warp_instructions"].as_u64().unwrap());
    assert!(cycles > 0 && instructions > 0);
    assert_eq!(totals["ipc"].as_f64().unwrap(), instructions as f64 / cycles as f64);
    let ledgers = numbers["ledgers"].as_object().unwrap();
    assert_eq!(ledgers.keys().collect::<Vec<_>>(), ["issue", "lsu", "latency", "dram"]);
    for (name, ledger) in ledgers {
        let keys = ledger.as_object().unwrap().keys().collect::<Vec<_>>();
        assert_eq!(keys, ["total", "parts"]);
        assert!(ledger["total"].as_u64().unwrap() > 0, "{name}");
        assert_eq!(ledger["total"].as_u64().unwrap(), sum(&ledger["parts"]), "{name}");
    }
    // 15 SMs of two schedulers: every cycle of each is explained.
    assert_eq!(ledgers["lsu"]["total"], cycles * 15);
    assert_eq!(ledgers["issue"]["total"], cycles * 15 * 2);
    assert_eq!(ledgers["issue"]["parts"]["issued"], instructions);
}

#[test]
fn a_run_writes_numbers_that_scripts_can_read() {
    let out = TempDir::new().unwrap();
    let report = report_in(&result_of(out.path(), &["--no-plots"]));
    check_numbers(&report);
    let kernels = report["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 4);
    for kernel in kernels {
        check_numbers(kernel);
        assert_eq!(kernel["name"], "stencil1d_char");
        assert_eq!((&kernel["ctas"], &kernel["cta_threads"]), (&64.into(), &256.into()));
    }
    let total = |path: &str| -> u64 {
        kernels.iter().map(|kernel| kernel.pointer(path).unwrap().as_u64().unwrap()).sum()
    };
    for path in ["/totals/cycles", "/totals/warp_instructions", "/ledgers/latency/total"] {
        assert_eq!(report.pointer(path).unwrap(), total(path), "{path}");
    }
    assert_eq!(report["check"]["elements"], 16384);
}

#[test]
fn a_report_has_the_counters_of_every_component() {
    let out = TempDir::new().unwrap();
    let report = report_in(&result_of(out.path(), &["--no-plots"]));
    let components = &report["components"];
    for (name, instances) in [("sm", 15), ("l1", 15), ("l2", 12), ("dram", 6)] {
        assert_eq!(components[name].as_array().unwrap().len(), instances, "{name}");
    }
    let packets = |network: &str| components[network]["packets"].as_u64().unwrap();
    assert!(packets("request_network") > 0);
    assert_eq!(packets("request_network"), packets("reply_network"));
    // Every counter is explained.
    for (group, counters) in [
        ("components.sm", &components["sm"][0]),
        ("components.l1", &components["l1"][0]),
        ("components.l2", &components["l2"][0]),
        ("components.dram", &components["dram"][0]),
        ("components.request_network", &components["request_network"]),
    ] {
        let glossary = report["glossary"][group].as_object().unwrap();
        for counter in counters.as_object().unwrap().keys() {
            assert!(glossary.contains_key(counter), "{group}: {counter}");
        }
    }
}

#[test]
fn a_report_holds_all_that_is_needed_to_run_it_again() {
    let out = TempDir::new().unwrap();
    let report = report_in(&result_of(out.path(), &["--no-plots", "--set", "seed=7"]));
    let inputs = &report["inputs"];
    let shown = Command::cargo_bin("gsim").unwrap().args(["machine", "show", "gtx480"]).output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    fs::write(out.path().join("shown.ron"), shown).unwrap();
    let machine = gsim::config::presets::machine("shown.ron", out.path()).unwrap();
    assert_eq!(inputs["machine"], machine.to_json());
    let workload = serde_json::json!({"Stencil1d":
        {"element": "Char", "elements": 16384, "block": 256, "iterations": 4}});
    assert_eq!(inputs["workload"], workload);
    assert_eq!(inputs["seed"], 7);
    assert_eq!(report["gsim"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["schema"], gsim::report::SCHEMA);
    let versions = inputs["versions"].as_object().unwrap();
    let ptx = "workloads/stencil1d/stencil1d.ptx";
    assert_eq!(versions[&format!("{ptx}: sha256")].as_str().unwrap().len(), 64);
    assert!(versions[&format!("{ptx}: compiler")].as_str().unwrap().contains("NVRTC"));
}

#[test]
fn the_program_writes_what_the_library_computes() {
    // Two processes: nothing depends on the order of a hash map or on an address.
    let out = TempDir::new().unwrap();
    let folder = result_of(out.path(), &["--no-plots", "--set", "workload.element=Char"]);
    let library = stencil::stencil(ElementType::Char, &[SMALL]).to_json();
    assert!(fs::read_to_string(folder.join("report.json")).unwrap() == library);
}

#[test]
fn a_run_draws_its_stalls_as_svg_and_png() {
    let out = TempDir::new().unwrap();
    let folder = result_of(out.path(), &[]);
    let names = ["ledgers.csv", "report.html", "report.json", "stalls.png", "stalls.svg"];
    assert_eq!(names_in(&folder), names);
    let svg = fs::read_to_string(folder.join("stalls.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let png = fs::read(folder.join("stalls.png")).unwrap();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    assert!(frame.width >= 600 && frame.height >= 300, "{} x {}", frame.width, frame.height);
    assert!(pixels.iter().any(|&byte| byte != pixels[0]), "the picture is empty");
}

#[test]
fn no_plots_means_numbers_only() {
    let out = TempDir::new().unwrap();
    let folder = result_of(out.path(), &["--no-plots"]);
    assert_eq!(names_in(&folder), ["ledgers.csv", "report.json"]);
}

#[test]
fn what_warps_did_by_line_and_by_buffer_changes_nothing_else() {
    let out = TempDir::new().unwrap();
    let without = report_in(&result_of(out.path(), &["--no-plots"]));
    let folder = result_of(out.path(), &["--lines"]);
    let tables = ["buffers.csv", "ledgers.csv", "lines.csv"];
    let others = ["report.html", "report.json", "stalls.png", "stalls.svg"];
    assert_eq!(names_in(&folder), [&tables[..], &others].concat());
    let mut with = report_in(&folder);
    let lines = with.as_object_mut().unwrap().shift_remove("lines").unwrap();
    let waits =
        lines.as_array().unwrap().iter().map(|line| line["waits"]["total"].as_u64().unwrap());
    let sms = with["components"]["sm"].as_array().unwrap();
    let resident = sms.iter().map(|sm| sm["resident_warp_cycles"].as_u64().unwrap());
    assert_eq!(waits.sum::<u64>(), resident.sum::<u64>());
    let buffers = with.as_object_mut().unwrap().shift_remove("buffers").unwrap();
    let loads = buffers.as_array().unwrap().iter().map(|buffer| &buffer["counters"]["loads"]);
    let loads = loads.map(|loads| loads.as_u64().unwrap());
    assert_eq!(loads.sum::<u64>(), with["totals"]["load_accesses"].as_u64().unwrap());
    for group in ["lines.counters", "lines.waits", "buffers.counters"] {
        assert!(with["glossary"].as_object_mut().unwrap().shift_remove(group).is_some(), "{group}");
    }
    assert_eq!(with, without);
}

#[test]
fn the_terminal_says_what_was_found_and_quiet_says_nothing() {
    let out = TempDir::new().unwrap();
    let (_, text, _) = gsim(out.path(), &["--no-plots", "--set", SMALL]);
    for line in ["nomerger", "output equals the host reference (16,384 elements)", "Results in "] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let (code, text, error) = gsim(out.path(), &["--no-plots", "--quiet", "--set", SMALL]);
    assert_eq!((code, text.as_str(), error.as_str()), (0, "", ""));
}

#[test]
fn a_changed_machine_changes_the_result_and_shows_in_the_inputs() {
    let out = TempDir::new().unwrap();
    let eight = report_in(&result_of(out.path(), &["--no-plots"]));
    let two = report_in(&result_of(out.path(), &["--no-plots", "--set", "l1.mshr_mergers=2"]));
    let mergers = |report: &Value| report["inputs"]["machine"]["l1"]["mshr_mergers"].clone();
    assert_eq!((mergers(&eight), mergers(&two)), (8.into(), 2.into()));
    assert_eq!(two["inputs"]["set"]["l1.mshr_mergers"].to_string().trim_matches('"'), "2");
    let cycles = |report: &Value| report["totals"]["cycles"].as_u64().unwrap();
    assert!(cycles(&two) > cycles(&eight));
    let stalls = |report: &Value| report["ledgers"]["lsu"]["parts"]["nomerger"].as_u64().unwrap();
    assert!(stalls(&two) > stalls(&eight));
}

#[test]
fn bad_input_ends_with_2_and_leaves_nothing_behind() {
    for set in [
        "l1.mshr_mergers=0",
        "l1.no_such_field=1",
        "workload.elements=many",
        // Valid alone, but no CTA of the workload fits.
        "sm.max_cta_threads=128",
        "sm.registers=1024",
    ] {
        let out = TempDir::new().unwrap();
        let (code, text, error) = gsim(out.path(), &["--set", SMALL, "--set", set]);
        assert_eq!((code, text.as_str()), (2, ""), "{set}");
        assert!(error.starts_with("error: ") && error.lines().count() == 1, "{error}");
        assert_eq!(names_in(out.path()), Vec::<String>::new(), "{set}");
    }
}

#[test]
fn a_folder_that_is_no_result_is_left_alone_and_nothing_is_simulated() {
    let out = TempDir::new().unwrap();
    let taken = out.path().join("stencil-char");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("notes.txt"), "mine").unwrap();
    let (code, text, error) = gsim(out.path(), &["--set", SMALL]);
    assert_eq!((code, text.as_str()), (2, ""));
    assert!(error.contains("holds no report.json, so it is not replaced"), "{error}");
    assert_eq!(names_in(out.path()), ["stencil-char"]);
    assert_eq!(names_in(&taken), ["notes.txt"]);
}

#[test]
fn a_place_where_no_folder_can_be_is_refused_before_the_run() {
    let out = TempDir::new().unwrap();
    let file = out.path().join("file");
    fs::write(&file, "").unwrap();
    let (code, text, error) = gsim(&file, &["--no-plots", "--set", SMALL]);
    assert_eq!((code, text.as_str()), (2, ""));
    assert_eq!(error.lines().count(), 1, "{error}");
    assert_eq!(names_in(out.path()), ["file"]);
}

/// A capture is stopped while its trace is under way.
#[cfg(unix)]
#[test]
fn an_interrupted_program_leaves_nothing() {
    let out = TempDir::new().unwrap();
    let names = || -> Vec<String> {
        let entries = fs::read_dir(out.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("gsim"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["trace", "capture", "configs/runs/matmul.ron", "--set", "workload.size=2048"])
        .arg("--out")
        .arg(out.path().join("m.gtrace"))
        .spawn()
        .unwrap();
    while names().is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its trace began");
    }
    assert!(names()[0].starts_with("m.gtrace.partial-"), "{:?}", names());
    let id = child.id().to_string();
    let stopped = std::process::Command::new("kill").args(["-s", "INT", &id]).status();
    assert!(stopped.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(names(), [""; 0]);
}
