//! Launches in `Untimed(..)` compute, and are in no report and no trace.

#[path = "common/command.rs"]
mod command;

use std::fs;
use std::path::Path;

use command::{gsim, succeed};
use serde_json::Value;
use tempfile::TempDir;

/// The borders are set, then a Jacobi iteration whose grids swap.
const BORDER: &str = r#"Launch(entry: "heat_border", grid: 1, block: 128, args: [Buffer("now"), I32(64), F32(100)])"#;
const STEPS: &str = r#"Loop(times: TIMES, swap: [("now", "next")], body: [Launch(
    entry: "jacobi", grid: (2, 8), block: (32, 8), args: [Buffer("now"), Buffer("next"), I32(64)],
)])"#;

/// Writes `NAME.ron`, with these launches.
fn write(folder: &Path, name: &str, launches: &str) {
    let ptx = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/runs/heat/heat.ptx");
    fs::copy(ptx, folder.join("heat.ptx")).unwrap();
    let text = format!(
        r#"Run(name: "{name}", machine: "gtx480", workload: Kernel(
            source: "heat.ptx",
            buffers: {{
                "now": (type: F32, elements: (64, 64), fill: Uniform(low: 0, high: 1), output: "heat.npy"),
                "next": (type: F32, elements: (64, 64)),
            }},
            launches: [{launches}],
        ))"#
    );
    fs::write(folder.join(format!("{name}.ron")), text).unwrap();
}

fn steps(times: u32) -> String {
    STEPS.replace("TIMES", &times.to_string())
}

/// Runs it; gives the kernels of the report by name and cycles, and the output.
fn run(folder: &Path, name: &str) -> (Vec<(String, u64)>, Vec<u8>) {
    succeed(folder, &["run", &format!("{name}.ron"), "-q", "--no-plots"]);
    let results = folder.join("results").join(name);
    let report = fs::read_to_string(results.join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let kernels = report["kernels"].as_array().unwrap();
    let kernel = |kernel: &Value| {
        (kernel["name"].as_str().unwrap().to_owned(), kernel["totals"]["cycles"].as_u64().unwrap())
    };
    let output = fs::read(results.join("outputs/heat.npy")).unwrap_or_default();
    (kernels.iter().map(kernel).collect(), output)
}

#[test]
fn untimed_launches_compute_and_are_not_simulated() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    write(folder, "all", &format!("{BORDER}, {}", steps(5)));
    let rest = format!("{}, Untimed(body: [{}])", steps(2), steps(1));
    write(folder, "some", &format!("Untimed(body: [{BORDER}, {}]), {rest}", steps(2)));
    // The same two steps, with nothing in the caches before them, on other values.
    write(folder, "alone", &steps(2));
    let [(all, result), (some, same), (alone, other)] =
        ["all", "some", "alone"].map(|name| run(folder, name));
    assert_eq!((all.len(), some.len()), (6, 2));
    assert!(same == result && other != result);
    assert_eq!(some, alone);

    succeed(folder, &["trace", "capture", "some.ron", "--out", "some.gtrace"]);
    let text = r#"Run(name: "traced", machine: "gtx480", workload: Trace(file: "some.gtrace"))"#;
    fs::write(folder.join("traced.ron"), text).unwrap();
    assert_eq!(run(folder, "traced").0, some);
}

#[test]
fn a_mistake_of_an_untimed_kernel_is_said_as_any_other() {
    let folder = TempDir::new().unwrap();
    let border = BORDER.replace("I32(64)", "I32(8192)").replace("grid: 1", "grid: 64");
    write(folder.path(), "bad", &format!("Untimed(body: [{border}]), {}", steps(1)));
    let (code, _, error) = gsim(folder.path(), &["run", "bad.ron", "-q"]);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("kernel `heat_border`, CTA (32,0,0), thread (0,0,0)"), "{error}");
    assert!(!folder.path().join("results").exists());
}
