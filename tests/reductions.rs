//! Bulk copies that are combined with what is in global memory: what an H200 made of them, and what is wrong with one is said in one line.

#[path = "common/command.rs"]
mod command;

use std::path::Path;

use tempfile::TempDir;

/// Runs the file beside this; gives the exit code, what was printed, and what was said to be wrong.
fn run(args: &[&str]) -> (i32, String, String) {
    let out = TempDir::new().unwrap();
    let run = [
        "run",
        "tests/reductions/reductions.ron",
        "--no-plots",
        "--out",
        out.path().to_str().unwrap(),
    ];
    command::gsim(Path::new(env!("CARGO_MANIFEST_DIR")), &[&run, args].concat())
}

#[test]
fn numbers_are_combined_as_on_an_h200() {
    let (code, printed, wrong) = run(&[]);
    assert_eq!((code, wrong.as_str()), (0, ""));
    assert!(printed.contains("output is as expected (73,248 elements)"), "{printed}");
}

#[test]
fn what_bulk_copies_do_not_combine_is_refused_with_its_line() {
    let said = |launch: &str| {
        let (code, _, wrong) = run(&["--set", &format!("workload.launches=[{launch}]")]);
        assert_eq!((code, wrong.lines().count()), (2, 1), "{wrong}");
        wrong
    };
    let boxed = |entry: &str, buffer: &str| {
        let map =
            format!("TensorMap(buffer: \"{buffer}\", dims: (4, 4), box_dims: (4, 4), strides: 96)");
        said(&format!(
            "Launch(entry: \"box_{entry}\", grid: 1, block: 128, args: [Buffer(\"any\"), I32(0), I32(0), {map}])"
        ))
    };
    for (entry, buffer, want) in [
        ("min", "f32", "`min` of a tensor of F32, which bulk copies have not"),
        ("add", "i64", "`add` of a tensor of I64"),
        ("inc", "u64", "`inc` of a tensor of U64"),
        ("or", "f64", "`or` of a tensor of F64"),
    ] {
        let wrong = boxed(entry, buffer);
        assert!(wrong.contains("reductions.ptx:") && wrong.contains(want), "{wrong}");
    }
    let to = |address: &str| {
        format!(
            "Launch(entry: \"add_u32\", grid: 1, block: 128, args: [Element(\"any\", 0), {address}])"
        )
    };
    let outside = said(&to("Element(\"u32\", 0)"));
    assert!(outside.contains("writes 4096 bytes") && outside.contains("u32"), "{outside}");
    let odd = said(&to("Element(\"u32\", 1)"));
    assert!(odd.contains("not aligned to 16 bytes"), "{odd}");
}
