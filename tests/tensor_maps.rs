//! Boxes of tensors: what an H200 made of them, and what is wrong with a tensor map or a box is said in one line.

#[path = "common/command.rs"]
mod command;

use std::path::Path;

use tempfile::TempDir;

/// Runs the file beside this; gives the exit code, what was printed, and what was said to be wrong.
fn run(args: &[&str]) -> (i32, String, String) {
    let out = TempDir::new().unwrap();
    let run =
        ["run", "tests/tensor_maps/boxes.ron", "--no-plots", "--out", out.path().to_str().unwrap()];
    command::gsim(Path::new(env!("CARGO_MANIFEST_DIR")), &[&run, args].concat())
}

/// What is said of one launch: of `entry`, with coordinates, with the tensor map.
fn said(entry: &str, coordinates: &str, map: &str) -> String {
    let rest = match entry.starts_with("get") {
        true => ", Buffer(\"out\")",
        false => "",
    };
    let launches = format!(
        "workload.launches=[Launch(entry: \"{entry}\", grid: 1, block: 32, args: [{coordinates}, I32(128), I32(0), \
         TensorMap({map}){rest}])]"
    );
    let (code, _, wrong) = run(&["--set", &launches]);
    assert_ne!(code, 0, "{launches}");
    assert_eq!(wrong.lines().count(), 1, "{wrong}");
    wrong
}

const AT_ZERO: &str = "I32(0), I32(0), I32(0), I32(0), I32(0)";

#[test]
fn boxes_are_those_of_an_h200() {
    let (code, printed, wrong) = run(&[]);
    assert_eq!((code, wrong.as_str()), (0, ""));
    assert!(printed.contains("output is as expected (92,160 elements)"), "{printed}");
}

#[test]
fn a_tensor_map_that_no_gpu_takes_is_refused_with_its_field() {
    for (map, want) in [
        ("buffer: \"u7\", dims: 64, box_dims: 16", "args.7.buffer: there is no buffer `u7`"),
        ("buffer: \"u8\", dims: (), box_dims: 16", "args.7.dims: expected a number, or several"),
        ("buffer: \"u8\", dims: (16, 1, 1, 1, 1, 1), box_dims: 16", "args.7.dims: 6 dimensions"),
        (
            "buffer: \"u8\", dims: (64, 2), box_dims: 16",
            "args.7.box_dims: 1 in the list, where 2 go with",
        ),
        (
            "buffer: \"u8\", dims: (64, 0), box_dims: (16, 1)",
            "args.7.dims: 0 is outside 1..=4294967296",
        ),
        (
            "buffer: \"u8\", dims: (64, 2), box_dims: (16, 257)",
            "args.7.box_dims: 257 is outside 1..=256",
        ),
        (
            "buffer: \"u8\", dims: (24, 2), box_dims: (16, 1)",
            "args.7.dims: without `strides`, rows lie 24 bytes apart, where a multiple of 16",
        ),
        (
            "buffer: \"u8\", dims: (24, 2), box_dims: (16, 1), strides: 40",
            "args.7.strides: 40 bytes apart, where a multiple of 16 below 2^40 may be",
        ),
        (
            "buffer: \"f16\", dims: (64, 2), box_dims: (12, 1)",
            "args.7.box_dims: a row has 24 bytes",
        ),
        (
            "buffer: \"f32\", dims: (64, 2), box_dims: (16, 1), swizzle: B32",
            "args.7.swizzle: a row of the box has 64 bytes, where 32 are the most",
        ),
        (
            "buffer: \"u8\", dims: (64, 2), box_dims: (16, 1), element_strides: (2, 1)",
            "args.7.element_strides: the first is 1",
        ),
        (
            "buffer: \"u8\", dims: (64, 2), box_dims: (16, 1), element_strides: (1, 9)",
            "args.7.element_strides: 9 is outside 1..=8",
        ),
        ("buffer: \"u8\", dims: 64, box_dims: 16, oob_fill: Nan", "args.7.oob_fill: U8 has no NaN"),
        (
            "buffer: \"u8\", dims: (16, 1, 1, 1, 1), box_dims: (256, 256, 256, 256, 256)",
            "args.7.box_dims: a box has 1099511627776 bytes, where 16777216 are the most",
        ),
        (
            "buffer: \"u8\", dims: (64, 257), box_dims: (16, 1)",
            "args.7.dims: the tensor ends at byte 16448 of `u8`, which has 16384",
        ),
        (
            "buffer: \"u8\", dims: (64, 4294967296), strides: 1099511627760, box_dims: (16, 1)",
            "args.7.dims: the tensor ends at byte 2^64 of `u8`",
        ),
        (
            "buffer: \"f32\", first: 3, dims: 64, box_dims: 16",
            "args.7.first: the tensor begins at byte 12 of `f32`, which is no multiple of 16",
        ),
        (
            "buffer: \"u8\", first: 16385, dims: 64, box_dims: 16",
            "args.7.first: 16385 is outside 0..=16384",
        ),
    ] {
        let wrong = said("get2", AT_ZERO, map);
        assert!(wrong.contains(&format!("0.{want}")), "{wrong}");
    }
    let wrong = said("put1", AT_ZERO, "buffer: \"u8\", dims: 64, box_dims: 16, swizle: B32");
    assert!(wrong.contains("swizle"), "{wrong}");
}

#[test]
fn a_box_that_no_gpu_copies_is_refused_with_its_line() {
    for (entry, coordinates, map, want) in [
        (
            "get2",
            "I32(8), I32(0), I32(0), I32(0), I32(0)",
            "buffer: \"u8\", dims: (64, 64), box_dims: (32, 4)",
            "the box begins at element 8 of a row, which is no multiple of 16 bytes",
        ),
        (
            "put2",
            "I32(0), I32(-1), I32(0), I32(0), I32(0)",
            "buffer: \"u8\", dims: (64, 64), box_dims: (32, 4)",
            "writes a box at coordinate -1: a GPU refuses negative ones",
        ),
        (
            "get1",
            AT_ZERO,
            "buffer: \"u8\", dims: (64, 64), box_dims: (32, 4)",
            "1 coordinates of a tensor of 2 dimensions",
        ),
        (
            "get2",
            AT_ZERO,
            "buffer: \"u8\", dims: (64, 64), box_dims: (64, 200)",
            "writes 12800 bytes at address 0x0",
        ),
    ] {
        let wrong = said(entry, coordinates, map);
        assert!(wrong.contains("boxes.ptx:") && wrong.contains(want), "{wrong}");
    }
}

#[test]
fn what_is_written_over_the_edge_stays_in_its_buffer() {
    // The tensor ends in the middle of the last 16 bytes, and so does the buffer.
    let map = "TensorMap(buffer: \"u8\", first: 16368, dims: 12, box_dims: 16)";
    let launches = format!(
        "workload.launches=[Launch(entry: \"put1\", grid: 1, block: 32, args: [{AT_ZERO}, U32(0), I32(0), {map}])]"
    );
    let set = ["--set", &launches, "--set", "workload.buffers.u8.elements=16380"];
    let (code, _, wrong) = run(&set);
    assert_eq!(code, 2, "{wrong}");
    assert!(wrong.contains("writes 16 bytes at address"), "{wrong}");
}

#[test]
fn a_parameter_that_holds_no_tensor_map_is_named() {
    let bytes = "00".repeat(128);
    let launches = format!(
        "workload.launches=[Launch(entry: \"put1\", grid: 1, block: 32, args: [{AT_ZERO}, U32(0), I32(0), Bytes(\"{bytes}\")])]"
    );
    let (code, _, wrong) = run(&["--set", &launches]);
    assert_eq!(code, 2, "{wrong}");
    assert!(wrong.contains("no tensor map at address"), "{wrong}");
    // A map where a number is wanted.
    let map = "TensorMap(buffer: \"u8\", dims: 64, box_dims: 16)";
    let args = format!("{map}, I32(0), I32(0), I32(0), I32(0), U32(0), I32(0), {map}");
    let launches =
        format!("workload.launches=[Launch(entry: \"put1\", grid: 1, block: 32, args: [{args}])]");
    let (code, _, wrong) = run(&["--set", &launches]);
    assert_eq!(code, 2);
    assert!(wrong.contains("args.0: a tensor map of 128 bytes is passed"), "{wrong}");
}

#[test]
fn a_map_may_be_named_by_its_parameter_where_that_is_aligned() {
    let run = |align: u32| {
        let folder = TempDir::new().unwrap();
        let ptx = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .align {align} .b8 m[128]) {{\n\
             .reg .b32 %r<2>;\nmov.u32 %r1, 0;\ncp.async.bulk.prefetch.tensor.2d.L2.global.tile [m, {{%r1, 8}}];\nret;\n}}\n"
        );
        let file = "Run(name: \"named\", machine: \"h200\", workload: Kernel(source: \"k.ptx\", \
             buffers: {\"x\": (type: F32, elements: (16, 16))}, launches: [Launch(entry: \"k\", grid: 1, block: 1, args: [\
             TensorMap(buffer: \"x\", dims: (16, 16), box_dims: (8, 2))])]))";
        std::fs::write(folder.path().join("k.ptx"), ptx).unwrap();
        std::fs::write(folder.path().join("run.ron"), file).unwrap();
        let (code, _, wrong) = command::gsim(folder.path(), &["run", "run.ron", "--no-plots"]);
        (code, wrong)
    };
    assert_eq!(run(64), (0, String::new()));
    let (code, wrong) = run(8);
    assert_eq!(code, 2);
    let want = "a tensor map is passed, which lies at a multiple of 64 bytes, but parameter `m` of `k` is .align 8 .b8[128]";
    assert!(wrong.contains(want), "{wrong}");
}

#[test]
fn a_map_that_is_made_up_is_taken_for_none() {
    // The bytes that gsim makes of a map, with a step of zero, and with an address where no buffer is.
    let axis = |size: u64, stride: u64, window: u16, step: u8| {
        [&size.to_le_bytes()[..], &stride.to_le_bytes(), &window.to_le_bytes(), &[step]].concat()
    };
    let said_of = |address: u64, step: u8| {
        let none = axis(1, 0, 1, 1);
        let axes = [axis(512, 1, 64, 1), axis(32, 512, 16, step), none.clone(), none.clone(), none];
        let head = [&b"gsim map"[..], &address.to_le_bytes(), &[4, 0, 0, 2]].concat();
        let mut bytes = [head, axes.concat()].concat();
        bytes.resize(128, 0);
        let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let launches = format!(
            "workload.launches=[Launch(entry: \"get2\", grid: 1, block: 32, args: [{AT_ZERO}, I32(1024), I32(0), Bytes(\"{bytes}\"), \
             Buffer(\"out\")])]"
        );
        let (code, _, wrong) = run(&["--set", &launches]);
        assert_eq!((code, wrong.lines().count()), (2, 1), "{wrong}");
        wrong
    };
    assert!(said_of(0x1000_0000, 0).contains("no tensor map at address"));
    assert!(said_of(0x12_3456_7800, 1).contains("reads 7744 bytes at address 0x1234567800"));
}

#[test]
fn a_map_in_a_struct_lies_at_a_multiple_of_64_bytes() {
    // The struct has the map alone, or behind a number.
    let map = "TensorMap(buffer: \"to_u8\", dims: 64, box_dims: 16)";
    let launches = |last: &str| {
        format!(
            "workload.launches=[Launch(entry: \"put1\", grid: 1, block: 32, args: [{AT_ZERO}, U32(0), I32(0), {last}])]"
        )
    };
    let only = "workload.buffers.to_u8.expect.absolute=255";
    let (code, _, wrong) = run(&["--set", &launches(&format!("Struct([{map}])")), "--set", only]);
    // Other buffers differ from what they hold after all launches; this one was written.
    assert_eq!(code, 1);
    assert!(wrong.contains("wrong result"), "{wrong}");
    let (code, _, wrong) = run(&["--set", &launches(&format!("Struct([U8(1), {map}])"))]);
    assert_eq!(code, 2);
    assert!(wrong.contains("its fields start at bytes 0, 64"), "{wrong}");
}
