//! The points of a study that differ in their machine only share one execution of their workload. Their reports are
//! those of separate runs, whatever the window and the number of jobs.

use std::fs;
use std::sync::Mutex;

use gsim::config::StudyFile;
use gsim::config::kernel::Scalar;
use gsim::config::study::StudyPoint;
use gsim::error::{Error, ErrorKind, Result};
use gsim::gpu::Stepping;
use gsim::simulate::simulate;
use gsim::study::{self, Event, Options};
use gsim::workload::npy::Header;
use serde_json::Value;
use tempfile::TempDir;

/// Jobs and bytes of the window: none, some, and all that there is.
const OPTIONS: [Options; 5] = [
    Options { jobs: 1, window: 0 },
    Options { jobs: 2, window: 0 },
    Options { jobs: 3, window: 20_000 },
    Options { jobs: 1, window: 64 << 20 },
    Options { jobs: 2, window: 64 << 20 },
];

/// One PTX kernel, one that is launched several times, and a pattern.
const RUN: &str = r#"Run(name: "r", machine: "gtx480", workload: Matmul(element: Char, size: 48))"#;
const AXES: &str = r#"
    Together(name: "workload", points: [
        (label: "product", set: {}),
        (label: "stencil", set: {"workload": Stencil1d(element: Short, elements: 5000, iterations: 3)}),
        (label: "pattern", set: {"workload": Synthetic(
            ctas: 40, warps: 4,
            phases: [(accesses: 8, in_flight: 2, mix: [(pattern: Random(), footprint: 0x10_0000)])],
        )}),
    ]),
    Together(name: "machine", points: [
        (label: "gtx480", set: {}),
        (label: "few mergers", set: {"l1.mshr_mergers": 2}),
        (label: "gtx280", set: {"machine": "gtx280"}),
        (label: "v100", set: {"machine": "v100"}),
    ]),
"#;

struct Study {
    points: Vec<StudyPoint>,
    // The files are there as long as this is.
    _folder: TempDir,
}

impl Study {
    fn new(run: &str, axes: &str, others: &[(&str, &str)]) -> Study {
        let folder = TempDir::new().unwrap();
        let zeros = [Header::write(Scalar::U32, &[768]), vec![0; 768 * 4]].concat();
        fs::write(folder.path().join("zeros.npy"), zeros).unwrap();
        let path = |name: &str| folder.path().join(name);
        let study = format!("Study(name: \"s\", run: \"run.ron\", axes: [{axes}])");
        fs::write(path("run.ron"), run).unwrap();
        fs::write(path("study.ron"), study).unwrap();
        for (name, text) in others {
            fs::write(path(name), text).unwrap();
        }
        let file = StudyFile::read(&path("study.ron")).unwrap();
        let points = file.points().unwrap();
        Study { points, _folder: folder }
    }

    /// Simulates the study; gives what happened, in any order, too.
    fn run(&self, options: &Options) -> (Result<Vec<Value>>, Vec<Event>) {
        let events = Mutex::new(Vec::new());
        let observe = |event| events.lock().unwrap().push(event);
        let reports = study::simulate(&self.points, options, &observe);
        (reports, events.into_inner().unwrap())
    }
}

fn texts(reports: &[Value]) -> Vec<String> {
    reports.iter().map(|report| serde_json::to_string_pretty(report).unwrap()).collect()
}

#[test]
fn shared_execution_gives_the_bytes_of_separate_runs_and_happens_once() {
    let study = Study::new(RUN, AXES, &[]);
    let separate: Vec<String> = study
        .points
        .iter()
        .map(|point| simulate(&point.run, Stepping::SkipAhead, &mut |_| ()).unwrap())
        .map(|report| report.to_json().trim_end().to_owned())
        .collect();
    for options in OPTIONS {
        let (reports, events) = study.run(&options);
        assert!(texts(&reports.unwrap()) == separate, "{options:?}");
        let mut executed: Vec<u64> = events
            .iter()
            .filter_map(|event| match event {
                Event::Executed { ctas } => Some(*ctas),
                Event::Simulated => None,
            })
            .collect();
        executed.sort();
        // 5000 elements in blocks of 256, three times; 48 x 48 in blocks of 16 x 16; the pattern's.
        assert_eq!(executed, [9, 40, 60], "{options:?}");
        assert_eq!(events.len(), 3 + 12);
    }
}

/// `fill` writes a number a thread; the second launch goes past the end of the buffer in its fourth CTA.
const PTX: &str = include_str!("common/fill.ptx");

fn kernel(second_grid: u32, expect: &str) -> String {
    format!(
        r#"Run(name: "r", machine: "gtx480", workload: Kernel(
            source: "k.ptx",
            buffers: {{"out": (type: U32, elements: 768, {expect})}},
            launches: [
                Launch(entry: "fill", grid: 3, block: 256, args: [Buffer("out")]),
                Launch(entry: "fill", grid: {second_grid}, block: 256, args: [Buffer("out")]),
            ],
        ))"#
    )
}

const MACHINES: &str = r#"Together(name: "machine", points: [
    (label: "one", set: {}),
    (label: "two", set: {"l1.mshr_mergers": 2}),
    (label: "three", set: {"l1.mshr_mergers": 3}),
])"#;

/// Every way to run the study fails as its run at `label` does alone.
#[track_caller]
fn check_error(study: &Study, label: &str) -> Error {
    let point = study.points.iter().find(|point| point.labels == [label]).unwrap();
    let alone = simulate(&point.run, Stepping::SkipAhead, &mut |_| ()).unwrap_err();
    let message = format!("the run at machine {label}: {}", alone.message);
    let want = Error { message, ..alone.clone() };
    for options in OPTIONS {
        let (reports, _) = study.run(&options);
        assert_eq!(reports.unwrap_err(), want, "{options:?}");
    }
    alone
}

#[test]
fn an_error_of_a_kernel_is_that_of_the_first_point() {
    let study = Study::new(&kernel(40, ""), MACHINES, &[("k.ptx", PTX)]);
    let error = check_error(&study, "one");
    assert!(error.message.starts_with("kernel `fill`, CTA (3,0,0), thread (0,0,0): "), "{error}");
}

#[test]
fn a_kernel_that_cannot_be_read_is_an_error_of_the_first_point() {
    let study = Study::new(&kernel(3, ""), MACHINES, &[("k.ptx", "nonsense")]);
    check_error(&study, "one");
}

#[test]
fn a_wrong_result_is_an_error_of_the_first_point() {
    let study =
        Study::new(&kernel(3, "expect: (file: \"zeros.npy\")"), MACHINES, &[("k.ptx", PTX)]);
    let error = check_error(&study, "one");
    assert_eq!(error.kind, ErrorKind::Run);
}

#[test]
fn an_error_of_one_machine_does_not_stop_the_simulations_before_it() {
    // The points before are simulated to their end, those behind may be.
    let machines = MACHINES.replace("\"l1.mshr_mergers\": 2", "\"sm.max_cta_threads\": 128");
    let study = Study::new(&kernel(3, ""), &machines, &[("k.ptx", PTX)]);
    let error = check_error(&study, "two");
    assert!(error.message.contains("a CTA needs 256 threads"), "{error}");
    for options in OPTIONS {
        let (_, events) = study.run(&options);
        let simulated = events.iter().filter(|event| **event == Event::Simulated).count();
        assert!((2..=3).contains(&simulated), "{options:?}: {simulated}");
    }
}

#[test]
fn a_study_whose_simulations_all_fail_ends() {
    let machines = MACHINES.replace("{}", "{\"l1.mshr_mergers\": 1}");
    let machines = machines.replace("{\"", "{\"sm.max_cta_threads\": 128, \"");
    let study = Study::new(&kernel(3, ""), &machines, &[("k.ptx", PTX)]);
    let error = check_error(&study, "one");
    assert!(error.message.contains("a CTA needs 256 threads"), "{error}");
}
