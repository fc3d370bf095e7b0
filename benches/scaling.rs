//! How time and memory grow with the work and with the machine: writes `results/performance/scaling.csv` and its
//! pictures.
//!
//! `cargo bench --bench scaling`. Every point is a process of its own, the fastest of three; memory is the peak that
//! Linux tells of it.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

#[path = "../tests/common/peak.rs"]
mod peak;

use gsim::report::plot::{Axis, Body, Chart, LineSeries, Lines};

/// Where the table and the pictures go.
const FOLDER: &str = "results/performance";
/// Runs of a point.
const TIMES: usize = 3;

/// One point.
struct Point {
    seconds: f64,
    /// Peak resident set.
    mib: f64,
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::env::set_current_dir(root).expect("the repository is there");
    let mut table = "series,x,seconds,peak_mib\n".to_owned();
    let elements: Vec<u64> = (14..=26).step_by(2).map(|bits| 1 << bits).collect();
    let by_elements: Vec<_> = ["Int", "Short", "Char"]
        .map(|element| {
            let set = |&x: &u64| {
                vec![
                    format!("workload.element={element}"),
                    format!("workload.elements={x}"),
                    "workload.iterations=1".to_owned(),
                ]
            };
            series(&format!("stencil of {element} on the GTX 480"), &elements, set, &mut table)
        })
        .into();
    let sms = [1, 2, 4, 8, 16, 33, 66, 132];
    let by_sms: Vec<_> = [("2^17", 1u64 << 17), ("2^20", 1 << 20)]
        .map(|(name, elements)| {
            let set = |&x: &u64| {
                vec![
                    "machine=h200".to_owned(),
                    format!("sm.count={x}"),
                    format!("workload.elements={elements}"),
                    "workload.iterations=1".to_owned(),
                ]
            };
            series(&format!("stencil of Char, {name} elements, H200"), &sms, set, &mut table)
        })
        .into();
    std::fs::write(Path::new(FOLDER).join("scaling.csv"), table).expect("the folder is there");
    draw("elements", "elements", &by_elements);
    draw("sms", "SMs", &by_sms);
}

/// A series of points, which are added to the table.
fn series(
    name: &str,
    at: &[u64],
    set: impl Fn(&u64) -> Vec<String>,
    table: &mut String,
) -> (String, Vec<(f64, Point)>) {
    let points = at.iter().map(|x| {
        let point = measure(&set(x));
        println!("{name}: {x}: {:.3} s, {:.0} MiB", point.seconds, point.mib);
        let _ = writeln!(table, "\"{name}\",{x},{:.4},{:.1}", point.seconds, point.mib);
        (*x as f64, point)
    });
    (name.to_owned(), points.collect())
}

/// The fastest of several runs, and the least peak.
fn measure(set: &[String]) -> Point {
    let runs = (0..TIMES).map(|_| run(set));
    runs.reduce(|a, b| Point { seconds: a.seconds.min(b.seconds), mib: a.mib.min(b.mib) })
        .expect("there are some")
}

fn run(set: &[String]) -> Point {
    let out = tempfile::tempdir().expect("a folder");
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_gsim"))
        .args(["run", "configs/runs/stencil-char.ron", "--quiet", "--no-plots", "--out"])
        .arg(out.path())
        .args(set.iter().flat_map(|set| ["--set", set]))
        .stdout(Stdio::null())
        .spawn()
        .expect("gsim starts");
    let mib = peak::peak_of(&mut child) as f64 / f64::from(1 << 20);
    let seconds = begin.elapsed().as_secs_f64();
    Point { seconds, mib }
}

fn draw(stem: &str, label: &str, all: &[(String, Vec<(f64, Point)>)]) {
    let chart = |title: &str, unit: &str, value: fn(&Point) -> f64| Chart {
        title: title.to_owned(),
        subtitle:
            "One thread; the whole process, with functional execution and the check of the result."
                .to_owned(),
        body: Body::Lines(Lines {
            x: Axis::log2(label),
            y: Axis::log2(unit),
            series: all
                .iter()
                .map(|(name, points)| LineSeries {
                    name: name.clone(),
                    points: points.iter().map(|(x, point)| (*x, value(point))).collect(),
                    ..LineSeries::default()
                })
                .collect(),
        }),
        ..Chart::default()
    };
    let pictures = [
        (
            "seconds",
            chart(&format!("Time by {label}"), "run time of gsim [s]", |point| point.seconds),
        ),
        ("memory", chart(&format!("Memory by {label}"), "memory of gsim [MiB]", |point| point.mib)),
    ];
    for (what, chart) in pictures {
        let path = Path::new(FOLDER).join(format!("{what}-by-{stem}"));
        chart.picture().write(&path).expect("the folder is there");
    }
}
