//! Pictures are the same every time and say what they should.

use super::*;
use crate::report::sample;

fn types() -> Vec<String> {
    ["int", "short", "char"].map(str::to_owned).into()
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Normalised execution time by type: a reference beside each bar.
fn execution_time() -> Chart {
    let gsim = BarSeries::new("gsim", [1.0, 0.86, 0.93]);
    let paper = vec![Some(1.0), Some(0.84), Some(0.95)];
    Chart {
        title: "Execution time by element type".to_owned(),
        subtitle: "1D stencil on a GTX 480, normalised to int".to_owned(),
        note: "Paper: Lashgar and Baniasadi, 2014, figure 4, read off the plot.".to_owned(),
        body: Body::GroupedBars(GroupedBars {
            categories: types(),
            across: "element type".to_owned(),
            series: vec![gsim.with_reference(paper)],
            y: Axis::new("time, int = 1"),
            value_labels: true,
            reference_name: "paper".to_owned(),
            baseline: None,
        }),
    }
}

/// Performance of nine machines by type.
fn potential() -> Chart {
    let machines =
        ["baseline", "MSHR+", "MSHR-", "Mergers+", "Mergers-", "Sets+", "Sets-", "Ways+", "Ways-"];
    let int = BarSeries::new("int", [1.0, 1.01, 0.97, 1.0, 0.99, 1.02, 0.98, 1.02, 0.98]);
    let short = BarSeries::new("short", [1.16, 1.17, 1.12, 1.2, 0.66, 1.17, 1.15, 1.17, 1.14]);
    let char = BarSeries::new("char", [1.01, 1.02, 1.01, 1.29, 0.76, 1.02, 1.01, 1.01, 1.0]);
    let mut short = short;
    short.reference = vec![Some(1.14), None, None, None, Some(0.56)];
    Chart {
        title: "Performance with other resources".to_owned(),
        subtitle: "1D stencil, int on the GTX 480 = 1; + doubles a resource, - halves it"
            .to_owned(),
        note: String::new(),
        body: Body::GroupedBars(GroupedBars {
            categories: strings(&machines),
            across: String::new(),
            series: vec![int, short, char],
            y: Axis::new("performance"),
            value_labels: true,
            reference_name: "paper".to_owned(),
            baseline: Some(1.0),
        }),
    }
}

/// Stalls by type.
fn stacked(normalise: bool) -> Chart {
    Chart {
        title: "Stalls of the load/store units".to_owned(),
        subtitle: "SM cycles, all SMs together".to_owned(),
        note: String::new(),
        body: Body::StackedBars(StackedBars {
            categories: types(),
            across: "element type".to_owned(),
            parts: vec![
                BarSeries::new("nomerger", [40e3, 310e3, 820e3]),
                BarSeries::new("nomshrline", [120e3, 60e3, 11e3]),
                BarSeries::new("nocacheline", [30e3, 9e3, 2e3]),
                BarSeries::new("coalescing", [740e3, 390e3, 190e3]),
            ],
            y: if normalise {
                Axis::percent("share of the stalls")
            } else {
                Axis { format: Format::Prefixed, ..Axis::new("stall cycles") }
            },
            normalise,
            sum_labels: true,
        }),
    }
}

/// Four metrics by type.
fn metrics() -> Chart {
    let panel = |title: &str, axis: Axis, values: [f64; 3], paper: [f64; 3]| Chart {
        title: title.to_owned(),
        body: Body::GroupedBars(GroupedBars {
            categories: types(),
            across: String::new(),
            series: vec![BarSeries::new("", values).with_reference(paper.map(Some).into())],
            y: axis,
            value_labels: true,
            reference_name: "paper".to_owned(),
            baseline: None,
        }),
        ..Chart::default()
    };
    let prefixed = Axis { format: Format::Prefixed, ..Axis::new("packets") };
    Chart {
        title: "Memory behaviour by element type".to_owned(),
        subtitle: "1D stencil on a GTX 480".to_owned(),
        note: "The paper's values are scaled to gsim's int.".to_owned(),
        body: Body::Panels(vec![
            panel("Memory requests", prefixed, [212e3, 180e3, 163e3], [212e3, 183e3, 161e3]),
            panel("DRAM utilisation", Axis::percent(""), [0.61, 0.44, 0.39], [0.61, 0.47, 0.42]),
            panel(
                "Mean load latency",
                Axis::new("core cycles"),
                [612.0, 401.0, 240.0],
                [612.0, 380.0, 214.0],
            ),
            panel("L1 miss rate", Axis::percent(""), [0.31, 0.28, 0.276], [0.31, 0.285, 0.276]),
        ]),
    }
}

/// A sweep on a logarithmic axis.
fn sweep() -> Chart {
    let line = |name: &str, values: [f64; 5], dashed| LineSeries {
        name: name.to_owned(),
        points: [2.0, 4.0, 8.0, 16.0, 32.0].into_iter().zip(values).collect(),
        dashed,
        ..LineSeries::default()
    };
    let mut paper = line("char, paper", [0.3, 0.7, 1.0, 1.2, f64::NAN], true);
    paper.beside = Some(2);
    Chart {
        title: "More merger fields help small types".to_owned(),
        subtitle: "1D stencil on a GTX 480".to_owned(),
        note: String::new(),
        body: Body::Lines(Lines {
            x: Axis::log2("merger fields of an MSHR entry"),
            y: Axis::new("performance, int at 8 fields = 1"),
            series: vec![
                line("int", [0.96, 0.99, 1.0, 1.0, 1.0], false),
                line("short", [0.41, 0.66, 1.16, 1.2, 1.2], false),
                line("char", [0.39, 0.76, 1.01, 1.29, 1.36], false),
                line("bound", [0.4, 0.8, 1.2, 1.4, 1.42], true),
                paper,
            ],
        }),
    }
}

fn long_names() -> Chart {
    let names: Vec<_> = (0..9).map(|n| format!("l1.mshr_mergers = {}", 1 << n)).collect();
    let values = (0..9).map(|n| 1000.0 * f64::from(n + 1));
    let mut chart = stacked(false);
    chart.body = Body::GroupedBars(GroupedBars {
        categories: names,
        series: vec![BarSeries::new("cycles", values)],
        y: Axis::new("cycles"),
        value_labels: true,
        ..GroupedBars::default()
    });
    chart
}

/// More names than stand side by side.
fn many_names() -> Chart {
    let names: Vec<_> = (0..24).map(|n| format!("l1.mshr_mergers = {}", 1000 + n)).collect();
    let share = |n: u32| 0.3 + 0.5 * (0.3 * f64::from(n)).sin().abs();
    Chart {
        title: "L1 hits".to_owned(),
        body: Body::GroupedBars(GroupedBars {
            categories: names,
            across: "merger fields of an MSHR entry".to_owned(),
            series: vec![BarSeries::new("", (0..24).map(share))],
            y: Axis::percent("L1 hit rate").to(0.7),
            value_labels: true,
            ..GroupedBars::default()
        }),
        ..Chart::default()
    }
}

/// Errors below and above zero, and bars too narrow for their values.
fn errors() -> Chart {
    let values = |seed: f64| (0..14).map(move |n| (seed + 1.7 * f64::from(n)).sin() * 0.4);
    Chart {
        title: "Error against hardware".to_owned(),
        subtitle: "simulated over measured time, less one".to_owned(),
        note: String::new(),
        body: Body::GroupedBars(GroupedBars {
            categories: (1..=14).map(|n| format!("kernel {n}")).collect(),
            series: vec![
                BarSeries::new("A100", values(0.3)),
                BarSeries::new("H200", values(1.1)),
                BarSeries::new("GTX 480", values(2.0)),
            ],
            y: Axis::percent("error"),
            value_labels: true,
            ..GroupedBars::default()
        }),
    }
}

/// A curve on linear axes, and a missing value in the middle.
fn curve() -> Chart {
    let points: Vec<_> = (0..60).map(|n| f64::from(n) * 2.9).collect();
    let latency = |gbps: f64| (gbps, 410.0 + 9000.0 / (178.0 - gbps));
    let mut measured: Vec<_> = points.iter().copied().map(latency).collect();
    measured[7].1 = f64::NAN;
    let named = |name: &str, points, dashed| LineSeries {
        name: name.to_owned(),
        points,
        dashed,
        ..LineSeries::default()
    };
    Chart {
        title: "Latency under load".to_owned(),
        body: Body::Lines(Lines {
            x: Axis::new("bandwidth [GB/s]"),
            y: Axis::new("mean load latency [core cycles]").from_zero(),
            series: vec![
                named("gsim", measured, false),
                named("unloaded", vec![(0.0, 410.0), (171.0, 410.0)], true),
            ],
        }),
        ..Chart::default()
    }
}

/// Every reason charged, long names, many kernels, and no load at all.
fn crowded() -> Picture {
    let (mut inputs, mut kernels, check) = sample::parts();
    inputs.set.insert("l1.mshr_mergers".to_owned(), 16.into());
    kernels.extend(kernels.clone());
    kernels.extend(kernels.clone());
    for kernel in &mut kernels {
        kernel.name = "_Z24propagate_messages_upwardIsEvPKT_PS0_ii".to_owned();
        kernel.ledgers.latency = Default::default();
        kernel.latency_accesses = 0;
        for &reason in crate::stats::IssueReason::ALL {
            kernel.ledgers.issue.charge(reason, 9_000);
            kernel.ledgers.issue.add_total(9_000);
        }
    }
    let name =
        "stereo-matching-short-with-sixteen-merger-fields-and-the-two-level-scheduler-of-2011";
    stalls(&crate::report::Report::new(name, inputs, kernels, check).unwrap())
}

fn gallery() -> Vec<(&'static str, Picture)> {
    let (inputs, mut kernels, check) = sample::parts();
    kernels.truncate(1);
    let single = crate::report::Report::new("stencil-char-once", inputs, kernels, check).unwrap();
    vec![
        ("stalls", stalls(&sample::report())),
        ("stalls-one-kernel", stalls(&single)),
        ("execution-time", execution_time().picture()),
        ("potential", potential().picture()),
        ("stacked", stacked(false).picture()),
        ("stacked-share", stacked(true).picture()),
        ("metrics", metrics().picture()),
        ("sweep", sweep().picture()),
        ("errors", errors().picture()),
        ("curve", curve().picture()),
        ("stalls-crowded", crowded()),
        ("long-names", long_names().picture()),
        ("many-names", many_names().picture()),
    ]
}

/// Draws the gallery into `target/gallery`, for looking at.
#[test]
#[ignore = "draws pictures for people to look at"]
fn draw_the_gallery() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/gallery");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, picture) in gallery() {
        picture.write(&folder.join(name)).unwrap();
    }
}

#[test]
fn the_same_chart_gives_the_same_bytes() {
    for ((name, first), (_, second)) in gallery().into_iter().zip(gallery()) {
        assert_eq!(first.svg(), second.svg(), "{name}");
    }
    let picture = execution_time().picture();
    assert!(picture.png().unwrap() == picture.png().unwrap());
}

#[test]
fn the_stall_picture_names_every_reason_that_was_charged() {
    let report = sample::report();
    let picture = stalls(&report);
    let ledgers = &report.ledgers;
    let parts = ledgers.issue.parts().chain(ledgers.lsu.parts()).chain(ledgers.latency.parts());
    for (name, _, amount) in parts {
        if amount > 0 {
            assert!(picture.svg().contains(name), "{name} is missing");
        }
    }
    for words in ["stencil-char", "GeForce GTX 480", "177,174", "524,288 elements", "By kernel"] {
        assert!(picture.svg().contains(words), "{words} is missing");
    }
}

#[test]
fn a_chart_carries_its_labels_and_survives_odd_values() {
    let picture = metrics().picture();
    for words in ["Memory requests", "DRAM utilisation", "short", "39.0 %", "212 k", "paper"] {
        assert!(picture.svg().contains(words), "{words} is missing");
    }
    let odd = Chart {
        title: "<nothing> & more".to_owned(),
        body: Body::GroupedBars(GroupedBars {
            categories: types(),
            series: vec![BarSeries { values: vec![None, Some(0.0)], ..BarSeries::default() }],
            ..GroupedBars::default()
        }),
        ..Chart::default()
    };
    assert!(odd.picture().svg().contains("&lt;nothing&gt; &amp; more"));
    let sums = |values: Vec<Option<f64>>| {
        let parts = vec![BarSeries { values, ..BarSeries::default() }];
        let stack =
            StackedBars { categories: types(), parts, sum_labels: true, ..StackedBars::default() };
        let body = Body::StackedBars(stack);
        Chart { body, ..Chart::default() }.picture().svg().matches("font-weight=\"bold\"").count()
    };
    assert_eq!(sums(vec![Some(3.0), None, Some(0.0)]), 2, "a stack of nothing has no sum");
    odd.picture().png().unwrap();
    Chart::default().picture().png().unwrap();
}

#[test]
fn the_shares_of_a_stack_are_all_written_or_none() {
    let shares = |count: usize| {
        let part = |name: &str, value| BarSeries::new(name, vec![value; count]);
        let stack = StackedBars {
            categories: (0..count).map(|n| n.to_string()).collect(),
            parts: vec![part("nomerger", 9.0), part("coalescing", 91.0)],
            ..StackedBars::default()
        };
        let picture = Chart { body: Body::StackedBars(stack), ..Chart::default() }.picture();
        let written = |share: &str| picture.svg().lines().filter(|line| *line == share).count();
        (written("9 %"), written("91 %"))
    };
    assert_eq!(shares(3), (3, 3));
    assert_eq!(shares(60), (0, 0));
    for count in 4..60 {
        let (small, large) = shares(count);
        assert!(small == large && (small == 0 || small == count), "{count}: {small}, {large}");
    }
}

#[test]
fn a_letter_that_no_picture_can_have_is_replaced() {
    let titled = |title: &str| Chart { title: title.to_owned(), ..Chart::default() }.picture();
    let odd = titled("a\u{1b}b\0\u{ffff}");
    assert!(odd.svg().contains("a\u{fffd}b\u{fffd}\u{fffd}"), "{}", odd.svg());
    assert_eq!(odd.png().unwrap(), titled("a\u{fffd}b\u{fffd}\u{fffd}").png().unwrap());
}

#[test]
fn a_letter_that_the_font_lacks_is_a_question_mark_in_pixels_alone() {
    let titled = |title: &str| Chart { title: title.to_owned(), ..Chart::default() }.picture();
    let odd = titled("α = 10⁶ µs");
    assert!(odd.svg().contains("α = 10⁶ µs"));
    assert_eq!(odd.png().unwrap(), titled("? = 10? µs").png().unwrap());
    assert_ne!(odd.png().unwrap(), titled(" = 10 µs").png().unwrap());
}

#[test]
fn a_chart_without_room_is_still_a_picture() {
    let series = (0..200).map(|n| BarSeries::new(format!("series {n} with a long name"), [1.0]));
    let bars = Chart {
        body: Body::GroupedBars(GroupedBars {
            categories: types(),
            series: series.clone().collect(),
            ..GroupedBars::default()
        }),
        ..Chart::default()
    };
    let stacked = Chart {
        body: Body::StackedBars(StackedBars {
            categories: (0..500).map(|n| format!("category {n}")).collect(),
            parts: series.collect(),
            ..StackedBars::default()
        }),
        ..Chart::default()
    };
    let lines = Chart { body: Body::Lines(Lines::default()), ..Chart::default() };
    let mut panels = vec![bars, stacked, lines];
    for chart in panels.clone() {
        chart.picture().png().unwrap();
    }
    for _ in 0..4 {
        let inner = Chart { body: Body::Panels(panels.clone()), ..Chart::default() };
        panels = vec![inner, panels.pop().unwrap()];
    }
    Chart { body: Body::Panels(panels), ..Chart::default() }.picture().png().unwrap();
}
