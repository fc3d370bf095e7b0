//! What a run file gives a kernel besides buffers and numbers: variables of the module that begin with other values, and structs.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use gsim::config::kernel::Scalar;
use gsim::workload::npy::Header;
use serde_json::Value;
use tempfile::TempDir;

/// `weigh` reads constants at fixed addresses and by thread, `count` adds to a variable, `fields` takes a struct apart:
/// `struct { char a; const int* x; short b; struct { float c; double d; } e; }`.
const PTX: &str = r#".version 8.0
.target sm_75
.address_size 64
.const .align 4 .f32 pad = 7.0;
.const .align 4 .b8 weights[36];
.global .align 4 .u32 table[4] = {1, 2, 3, 4};
.visible .entry weigh(.param .u64 out) {
    .reg .b32 %r<3>; .reg .f32 %f<5>; .reg .b64 %a<5>;
    ld.param.u64 %a0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %a1, %r0, 4;
    mov.u64 %a2, weights; add.u64 %a3, %a2, %a1;
    ld.const.f32 %f0, [%a3]; ld.const.f32 %f1, [weights+32]; ld.const.f32 %f2, [pad];
    add.f32 %f3, %f0, %f1; add.f32 %f4, %f3, %f2;
    add.u64 %a4, %a0, %a1; st.global.f32 [%a4], %f4; ret;
}
.visible .entry count(.param .u64 out) {
    .reg .b32 %r<3>; .reg .b64 %a<5>;
    ld.param.u64 %a0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %a1, %r0, 4;
    mov.u64 %a2, table; add.u64 %a3, %a2, %a1; add.u64 %a4, %a0, %a1;
    ld.global.u32 %r1, [%a3]; st.global.u32 [%a4], %r1;
    add.u32 %r1, %r1, 10; st.global.u32 [%a3], %r1; ret;
}
.visible .entry fields(.param .align 8 .b8 p[40], .param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %a<4>; .reg .b16 %h<2>;
    ld.param.u64 %a0, [out]; ld.param.s8 %r0, [p]; ld.param.u64 %a1, [p+8]; ld.param.s16 %r2, [p+16];
    ld.global.u32 %r1, [%a1]; ld.param.u32 %r3, [p+24]; ld.param.u64 %a2, [p+32];
    st.global.u32 [%a0], %r0; st.global.u32 [%a0+8], %r1; st.global.u32 [%a0+16], %r2;
    st.global.u32 [%a0+24], %r3; st.global.u64 [%a0+32], %a2; ret;
}
"#;

/// Runs a kernel with nine threads at most; gives its report and the bytes of `out`.
#[track_caller]
fn run(folder: &Path, fields: &str, launches: &str, set: &[&str]) -> (Value, Vec<u8>) {
    fs::write(folder.join("k.ptx"), PTX).unwrap();
    let text = format!(
        r#"Run(name: "mine", machine: "gtx480", workload: Kernel(source: "k.ptx", {fields}
        launches: [{launches}]))"#
    );
    fs::write(folder.join("run.ron"), text).unwrap();
    let mut gsim = Command::cargo_bin("gsim").unwrap();
    gsim.current_dir(folder).args(["run", "run.ron", "--quiet", "--no-plots"]);
    let output = gsim.args(set.iter().flat_map(|set| ["--set", set])).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let result = folder.join("results/mine");
    let report = serde_json::from_slice(&fs::read(result.join("report.json")).unwrap()).unwrap();
    let bytes = fs::read(result.join("outputs/out.npy")).unwrap();
    let header = Header::read(&mut &bytes[..], bytes.len() as u64).unwrap();
    (report, bytes[header.offset as usize..].to_vec())
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|one| f32::from_le_bytes(one.try_into().unwrap())).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|one| u32::from_le_bytes(one.try_into().unwrap())).collect()
}

const WEIGH: &str = r#"Launch(entry: "weigh", grid: 1, block: 9, args: [Buffer("out")])"#;
const COUNT: &str = r#"Launch(entry: "count", grid: 1, block: 4, args: [Buffer("out")])"#;

#[test]
fn constants_begin_with_what_the_run_file_says_whichever_way_they_are_read() {
    let folder = TempDir::new().unwrap();
    let fields = |weights: &str| {
        format!(
            r#"buffers: {{"out": (type: F32, elements: 9, output: "out.npy")}}, symbols: {{"weights": {weights}}},"#
        )
    };
    let iota = fields("(type: F32, elements: (3, 3), fill: Iota(start: 0.5, step: 2))");
    // Element 8 and `pad`, which keeps its value, are read at their addresses.
    let want: Vec<f32> = (0..9).map(|i| 0.5 + 2.0 * i as f32 + 16.5 + 7.0).collect();
    for machine in ["gtx480", "h200"] {
        let machine = format!("machine={machine}");
        assert_eq!(floats(&run(folder.path(), &iota, WEIGH, &[&machine]).1), want);
    }
    let four = "workload.symbols.weights.fill=Constant(4)";
    assert_eq!(floats(&run(folder.path(), &iota, WEIGH, &[four]).1), [15.0; 9]);

    let numbers: Vec<u8> = (1..=9).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let want: Vec<f32> = (1..=9).map(|i| i as f32 + 16.0).collect();
    fs::write(folder.path().join("w.bin"), &numbers).unwrap();
    let npy = [&Header::write(Scalar::F32, &[9])[..], &numbers].concat();
    fs::write(folder.path().join("w.npy"), npy).unwrap();
    for (file, fill) in [
        ("w.npy", "(type: F32, fill: Npy(\"w.npy\"))"),
        ("w.bin", "(type: F32, fill: Raw(\"w.bin\"))"),
        ("w.bin", "(type: U8, elements: 36, fill: Raw(\"w.bin\"))"),
    ] {
        let (report, out) = run(folder.path(), &fields(fill), WEIGH, &[]);
        assert_eq!(floats(&out), want, "{fill}");
        assert!(report["inputs"]["versions"][format!("{file}: sha256")].is_string(), "{report}");
    }
}

#[test]
fn a_variable_begins_with_its_values_once_and_keeps_what_launches_write() {
    let folder = TempDir::new().unwrap();
    let buffers = r#"buffers: {"out": (type: U32, elements: 4, output: "out.npy")},"#;
    let three = format!("Loop(times: 3, body: [{COUNT}])");
    let (_, out) = run(folder.path(), buffers, &three, &[]);
    assert_eq!(words(&out), [21, 22, 23, 24]);
    let fields = format!(r#"{buffers} symbols: {{"table": (type: U32, fill: Iota(start: 5))}},"#);
    let (report, out) = run(folder.path(), &fields, &three, &[]);
    assert_eq!(words(&out), [25, 26, 27, 28]);
    let kept = &report["inputs"]["workload"]["Kernel"]["symbols"]["table"];
    assert_eq!(kept["fill"]["Iota"]["start"], 5);
    // The smallest and the largest elements that its size is a multiple of.
    let bytes = format!(r#"{buffers} symbols: {{"table": (type: U8, fill: Iota())}},"#);
    let (_, out) = run(folder.path(), &bytes, COUNT, &[]);
    assert_eq!(out, (0..16).collect::<Vec<u8>>());
    let pairs = format!(r#"{buffers} symbols: {{"table": (type: I64, fill: Values([-1, 2]))}},"#);
    let (_, out) = run(folder.path(), &pairs, COUNT, &[]);
    assert_eq!(words(&out), [u32::MAX, u32::MAX, 2, 0]);
}

#[test]
fn random_numbers_of_a_variable_are_its_own() {
    let folder = TempDir::new().unwrap();
    let fill = "fill: Uniform(low: 0, high: 1000000)";
    let fields = format!(
        r#"buffers: {{"out": (type: U32, elements: 4, output: "out.npy"), "table": (type: U32, elements: 4, {fill})}},
        symbols: {{"table": (type: U32, {fill})}},"#
    );
    let of = |launch: &str, set: &[&str]| run(folder.path(), &fields, launch, set).1;
    let numbers = of(COUNT, &[]);
    assert_eq!(of(COUNT, &[]), numbers);
    assert_ne!(of(COUNT, &["seed=7"]), numbers);
    let buffer = "workload.buffers.out.fill=Uniform(low: 0, high: 1000000)";
    let nothing = r#"Launch(entry: "count", grid: 1, block: 4, args: [Buffer("table")])"#;
    assert_ne!(of(nothing, &[buffer]), numbers);
}

#[test]
fn a_struct_has_its_fields_where_c_puts_them() {
    let folder = TempDir::new().unwrap();
    let fields = r#"parameters: {"n": 3}, buffers: {
        "x": (type: I32, elements: 8, fill: Iota(start: 100)),
        "out": (type: U64, elements: 5, output: "out.npy"),
    },"#;
    let launch = r#"Launch(entry: "fields", grid: 1, block: 1, args: [
        Struct([I8(-2), Element("x", "n"), I16("n * n"), Struct([F32(0.5), F64(-1)])]),
        Buffer("out"),
    ])"#;
    let want = [0xffff_fffe, 103, 9, u64::from(0.5f32.to_bits()), (-1f64).to_bits()];
    let as_words = |bytes: Vec<u8>| -> Vec<u64> {
        bytes.chunks_exact(8).map(|one| u64::from_le_bytes(one.try_into().unwrap())).collect()
    };
    assert_eq!(as_words(run(folder.path(), fields, launch, &[]).1), want);
    // Fields have paths as arguments have.
    let set = [
        "workload.launches.0.args.0.0=I8(5)",
        "workload.launches.0.args.0.1=Buffer(\"x\")",
        "workload.launches.0.args.0.3.1=F64(2)",
    ];
    let want = [5, 100, 9, u64::from(0.5f32.to_bits()), 2f64.to_bits()];
    assert_eq!(as_words(run(folder.path(), fields, launch, &set).1), want);
    // The same with all gaps written out.
    let launch = r#"Launch(entry: "fields", grid: 1, block: 1, args: [
        Struct([I8(5), Bytes("00 000000 000000"), Buffer("x"), Bytes("0900 000000000000"), F32(0.5), U32(0), F64(2)]),
        Buffer("out"),
    ])"#;
    assert_eq!(as_words(run(folder.path(), fields, launch, &[]).1), want);
}
