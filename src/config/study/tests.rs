//! What studies are made of, and what wrong ones are told.

use std::path::Path;

use super::file::quoted;
use super::*;
use crate::config::WorkloadSpec;
use crate::config::load::RunFile;
use crate::error::Result;

fn study(text: &str) -> Result<StudyFile> {
    let run = r#"Run(name: "r", machine: "gtx480", workload: Stencil1d(element: Char))"#;
    let path = Path::new("study.ron");
    let run = RunFile::from_text(Path::new("run.ron"), run.to_owned())?;
    StudyFile::new(path, text.to_owned(), |_| Ok(run))
}

#[test]
fn the_axes_are_crossed_and_the_last_one_varies_fastest() {
    let study = study(
        r#"Study(name: "s", run: "run.ron", set: {"seed": 3}, axes: [
            Field(path: "workload.element", values: [Int, Char]),
            Together(name: "L1", points: [
                (label: "16 KiB", set: {"l1.sets": 32}),
                (label: "32 KiB", set: {"l1.sets": 64, "l1.size": 32768}),
            ]),
        ])"#,
    )
    .unwrap();
    let points = study.points().unwrap();
    let labels: Vec<String> = points.iter().map(|point| point.labels.join(" ")).collect();
    assert_eq!(labels, ["Int 16 KiB", "Int 32 KiB", "Char 16 KiB", "Char 32 KiB"]);
    let sizes: Vec<u32> = points.iter().map(|point| point.run.machine.l1.size.get()).collect();
    assert_eq!(sizes, [16384, 32768, 16384, 32768]);
    assert!(points.iter().all(|point| point.run.config.seed == 3));
}

#[test]
fn the_command_of_a_study_has_what_was_set() {
    let text = r#"(name: "s", run: "r", axes: [Field(path: "seed", values: [1])])"#;
    let sets = [("l1.sets", "64"), ("name", "\"t\""), ("sm.policy", "TwoLevel(active: 8)")]
        .map(|(path, value)| (path.to_owned(), Setting::new(value)));
    let study = study(text).unwrap().with(&sets).unwrap();
    assert_eq!(
        study.command("gsim"),
        "gsim study study.ron --set name=t --set l1.sets=64 --set 'sm.policy=TwoLevel(active: 8)'"
    );
    assert_eq!((study.name.as_str(), study.config.name.as_str()), ("t", "s"));
    assert_eq!(quoted("a'b"), r"'a'\''b'");
    assert_eq!(
        study.with(&[("name".to_owned(), Setting::new("../t"))]).unwrap_err().to_string(),
        "--set name=../t: the name \"../t\" starts with a dot"
    );
}

#[test]
fn a_study_that_contradicts_itself_is_refused() {
    for (axes, want) in [
        (
            r#"[Field(path: "seed", values: [])]"#,
            "study.ron:1:40: axes: the axis \"seed\" has no points",
        ),
        (
            r#"[Field(path: "seed", values: [1]), Field(path: "seed", values: [2])]"#,
            "study.ron:1:40: axes: both \"seed\" and \"seed\" change seed",
        ),
        (
            r#"[Field(path: "seed", values: [1, 2, 1])]"#,
            "study.ron:1:76: axes.0.values.2: \"1\" is there twice",
        ),
        (
            r#"[Together(name: "a", points: [(label: "x", set: {}), (label: "x", set: {"seed": 2})])]"#,
            "study.ron:1:101: axes.0.points.1.label: \"x\" is there twice",
        ),
        (
            r#"[Field(path: "seed", values: [1, 2], names: {"1": "one", "3": "three"})]"#,
            "study.ron:1:102: axes.0.names.3: the axis \"seed\" has no such point",
        ),
        (
            r#"[Together(name: "seed", points: [(label: "x", set: {})]), Field(path: "seed", values: [2])]"#,
            "study.ron:1:98: axes.1: another axis is called \"seed\" too",
        ),
        (
            r#"[Field(path: "seed", values: [1, 2])], set: {"seed": 3}"#,
            "study.ron:1:93: set.seed: the axis \"seed\" varies this field",
        ),
        (
            r#"[Field(path: "seed", values: [1, 2])], set: {"name": "x"}"#,
            "study.ron:1:93: set.name: the runs of a study have no names of their own",
        ),
        (
            r#"[], figures: [(file: "x", title: "", panels: [])]"#,
            "study.ron:1:85: figures.0.panels: there is none",
        ),
        (
            r#"[], figures: [(file: "x", title: "", panels: [(y: "", across: "seed", bars: Stack([]))])]"#,
            "study.ron:1:116: figures.0.panels.0.bars: a stack of nothing",
        ),
        (
            r#"[Field(path: "seed", value: [1])]"#,
            "study.ron:1:61: axes.0: no field value (hint: did you mean values?)",
        ),
        (
            r#"[], figures: [(file: "../x", title: "", panels: [])]"#,
            "study.ron:1:61: figures.0.file: the name \"../x\" starts with a dot",
        ),
        (
            r#"[], figures: [(file: "/x", title: "", panels: [])]"#,
            "study.ron:1:61: figures.0.file: the name \"/x\" has '/'; it may hold letters, digits, \
             '-', '_' and '.'",
        ),
        (
            r#"[], figures: [(file: "", title: "", panels: [])]"#,
            "study.ron:1:61: figures.0.file: the name is empty",
        ),
        (
            r#"[], figures: [(file: "a", title: "", panels: [PANEL]), (file: "A", title: "", panels: [PANEL])]"#,
            "study.ron:1:149: figures.1.file: \"A\" is that of figures.0 already",
        ),
    ] {
        let panel = r#"(y: "t", across: "seed", bars: One("totals.cycles"))"#;
        let axes = axes.replace("PANEL", panel);
        let text = format!("Study(name: \"s\", run: \"run.ron\", axes: {axes})");
        assert_eq!(study(&text).unwrap_err().to_string(), want);
    }
    let text = r#"(name: "s", run: "r", axes: [Field(path: "seed", values: [1])])"#;
    let set = [("seed".to_owned(), Setting::new("2"))];
    assert_eq!(
        study(text).unwrap().with(&set).unwrap_err().to_string(),
        "--set seed=2: the axis \"seed\" varies this field (hint: change the axis in the study file)"
    );
    let text = r#"(name: "s", run: "r", axes: [Field(path: "l1.sets", values: [32, 64])])"#;
    assert_eq!(
        study(text).unwrap().points().unwrap_err().to_string(),
        "study.ron:1:66: axes.0.values.1: l1.sets=64: sets (64) x ways (4) x line (128) = 32768, but size is 16384 \
         (hint: set l1.ways, l1.line or l1.size too)"
    );
    let text = r#"(name: "s", run: "r", axes: [Together(name: "a", points: [(label: "b", set: {"l1.sets": 0})])])"#;
    assert_eq!(
        study(text).unwrap().points().unwrap_err().to_string(),
        "study.ron:1:89: axes.0.points.0.set.l1.sets: l1.sets=0: 0 is outside 1..=4096"
    );
    let text = r#"(name: "s", run: "r", axes: [])"#;
    let set = [("l1.mshr_mergers".to_owned(), Setting::new("65"))];
    assert_eq!(
        study(text).unwrap().with(&set).unwrap().points().unwrap_err().to_string(),
        "--set l1.mshr_mergers=65: 65 is outside 1..=64"
    );
}

#[test]
fn the_studies_that_come_with_gsim_are_right() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/studies")];
    let mut studies = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ron") {
                let study = StudyFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
                assert!(!study.points().unwrap_or_else(|error| panic!("{error}")).is_empty());
                studies += 1;
            }
        }
    }
    assert!(studies >= 3, "{studies}");
}

#[test]
fn an_axis_of_whole_workloads_goes_with_one_over_a_field_that_they_share() {
    let study = study(
        r#"Study(name: "s", run: "run.ron", axes: [
            Together(name: "application", points: [
                (label: "product", set: {"workload": Matmul(element: Int, size: 64)}),
                (label: "stereo", set: {"workload": Stereo(element: Int), "workload.width": 64}),
            ]),
            Field(path: "workload.element", values: [Int, Char]),
            Field(path: "machine", values: ["gtx480"]),
        ])"#,
    )
    .unwrap();
    let points = study.points().unwrap();
    let specs: Vec<WorkloadSpec> =
        points.into_iter().map(|point| point.run.config.workload).collect();
    let wanted = [
        "Matmul(element: Int, size: 64)",
        "Matmul(element: Char, size: 64)",
        "Stereo(element: Int, width: 64)",
        "Stereo(element: Char, width: 64)",
    ];
    assert_eq!(specs, wanted.map(crate::config::parse::stated));
}

/// The names of all fields that a value has.
fn names(value: &serde_json::Value, all: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            all.extend(fields.keys().cloned());
            fields.values().for_each(|field| names(field, all));
        }
        serde_json::Value::Array(entries) => entries.iter().for_each(|entry| names(entry, all)),
        _ => {}
    }
}

#[test]
fn the_page_about_studies_has_a_study_and_every_field() {
    let page = include_str!("../../../configs/studies/README.md");
    let example = page.split("```ron\n").nth(1).and_then(|text| text.split("```").next()).unwrap();
    let study = study(example).unwrap();
    assert_eq!(study.points().unwrap().len(), 6);
    // Without the names of fields that a study sets, and of its axes and points.
    let StudyFields { figures, comparisons, .. } = &*study.config;
    let mut all = BTreeSet::new();
    names(&crate::serial::to_json_value(&(&figures[0], &figures[0].panels[0])), &mut all);
    names(&crate::serial::to_json_value(&comparisons[0]), &mut all);
    all.extend(crate::serial::to_json_value(&*study.config).as_object().unwrap().keys().cloned());
    for name in
        all.iter().filter(|name| !["workload.element", "MSHR", "guess"].contains(&name.as_str()))
    {
        let is_there =
            [format!("`{name}`"), format!("`{name}("), format!("{name}: "), format!("({name}:")];
        assert!(is_there.iter().any(|text| page.contains(text)), "{name}");
    }
}
