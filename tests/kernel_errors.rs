//! What is wrong with a user's own kernel, its files, its arguments or its accesses is said in one line, with
//! exit code 2 for bad input and 1 for a wrong result, and leaves nothing behind.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use gsim::config::kernel::Scalar;
use gsim::workload::npy::Header;
use proptest::prelude::*;
use tempfile::TempDir;

/// Entries for every mistake: `scale` multiplies n numbers, the others are wrong in themselves.
const PTX: &str = r#".version 9.0
.target sm_75
.address_size 64

.visible .entry scale(.param .u64 scale_in, .param .u64 scale_out, .param .f32 scale_factor,
	.param .u32 scale_n)
{
	.reg .pred %p<2>;
	.reg .f32 %f<3>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<6>;
	ld.param.u64 %rd1, [scale_in];
	ld.param.u64 %rd2, [scale_out];
	ld.param.f32 %f1, [scale_factor];
	ld.param.u32 %r1, [scale_n];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r2, %r2, %r3, %r4;
	setp.ge.u32 %p1, %r2, %r1;
	@%p1 bra DONE;
	mul.wide.u32 %rd3, %r2, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	ld.global.f32 %f2, [%rd4];
	mul.f32 %f2, %f2, %f1;
	st.global.f32 [%rd5], %f2;
DONE:
	ret;
}
.visible .entry spin()
{
LOOP:
	bra.uni LOOP;
}
.visible .entry odd(.param .u64 odd_out)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd1, [odd_out];
	mov.u32 %r1, 1;
	st.global.u32 [%rd1+2], %r1;
	ret;
}
.visible .entry past()
{
	.reg .b32 %r<3>;
	.shared .align 4 .b8 tile[64];
	mov.u32 %r1, %tid.x;
	shl.b32 %r1, %r1, 2;
	st.shared.u32 [%r1], %r1;
	ret;
}
.visible .entry pair(.param .align 4 .b8 pair_of[8], .param .u64 pair_out)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [pair_of];
	ld.param.u32 %r2, [pair_of+4];
	ld.param.u64 %rd1, [pair_out];
	add.u32 %r1, %r1, %r2;
	st.global.u32 [%rd1], %r1;
	ret;
}
.visible .entry quotient(.param .u32 quotient_by)
{
	.reg .b32 %r<4>;
	ld.param.u32 %r1, [quotient_by];
	mov.u32 %r2, %tid.x;
	div.u32 %r3, %r2, %r1;
	ret;
}
.visible .entry unwritten()
{
	.reg .b32 %r<2>;
	.shared .align 4 .b8 cells[64];
	ld.shared.u32 %r1, [cells+8];
	ret;
}
.const .align 4 .b8 weights[36];
.global .align 4 .u32 table[4];
.extern .global .align 4 .b8 elsewhere[];
.shared .align 4 .b8 common[64];
"#;

const RUN: &str = r#"Run(
    name: "mine",
    machine: "gtx480",
    workload: Kernel(
        source: "k.ptx",
        parameters: {"n": 100},
        buffers: {
            "a": (type: F32, elements: "n", fill: Iota()),
            "b": (type: F32, elements: "n", output: "b.npy"),
        },
        launches: [
            Launch(
                entry: "scale",
                grid: "ceil_div(n, 32)",
                block: 32,
                args: [Buffer("a"), Buffer("b"), F32(0.5), U32("n")],
            ),
        ],
        instruction_limit: 10000,
    ),
)
"#;

/// A folder with the kernel and the run file, `change` made to it.
fn folder_with(change: impl Fn(&str) -> String) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("k.ptx"), PTX).unwrap();
    fs::write(folder.path().join("run.ron"), change(RUN)).unwrap();
    folder
}

fn gsim(folder: &Path, args: &[&str]) -> (i32, String) {
    let output = Command::cargo_bin("gsim")
        .unwrap()
        .current_dir(folder)
        .args(["run", "run.ron", "--quiet", "--no-plots"])
        .args(args)
        .output()
        .unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// Runs in `folder`; checks exit code and message, and that no result was left.
#[track_caller]
fn check_in(folder: &TempDir, args: &[&str], code: i32, want: &str) {
    let (have, error) = gsim(folder.path(), args);
    assert_eq!(error, format!("error: {want}\n"));
    assert_eq!(have, code);
    assert!(!folder.path().join("results").exists(), "something was left");
}

#[track_caller]
fn replaced(from: &str, to: &str) -> TempDir {
    assert_eq!(RUN.matches(from).count(), 1, "{from}");
    folder_with(|run| run.replace(from, to))
}

/// The run file with `from` replaced is bad input.
#[track_caller]
fn check(from: &str, to: &str, want: &str) {
    check_in(&replaced(from, to), &[], 2, want);
}

/// The launch of another entry fails.
#[track_caller]
fn check_launch(launch: &str, want: &str) {
    let set = format!("workload.launches=[Launch({launch})]");
    check_in(&folder_with(str::to_owned), &["--set", &set], 2, want);
}

fn npy(element: Scalar, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
    [&Header::write(element, shape)[..], bytes].concat()
}

fn floats(numbers: impl IntoIterator<Item = f32>) -> Vec<u8> {
    numbers.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// The n numbers that the good run gives.
fn right() -> impl Iterator<Item = f32> {
    (0..100).map(|index| index as f32 * 0.5)
}

#[test]
fn the_kernel_without_a_mistake_runs() {
    let folder = folder_with(str::to_owned);
    assert_eq!(gsim(folder.path(), &[]), (0, String::new()));
    let written = fs::read(folder.path().join("results/mine/outputs/b.npy")).unwrap();
    assert!(written == npy(Scalar::F32, &[100], &floats(right())));
}

#[test]
fn accesses_out_of_bounds_name_kernel_cta_thread_line_and_address() {
    check_in(
        &folder_with(str::to_owned),
        &["--set", "workload.buffers.b.elements=98"],
        2,
        "k.ptx:27:1: kernel `scale`, CTA (3,0,0), thread (2,0,0): writes 4 bytes at address 0x10000488, \
         outside every buffer, 392 bytes past the start of `b`, which has 392",
    );
    check(
        "Buffer(\"a\"),",
        "Element(\"a\", 1),",
        "k.ptx:25:1: kernel `scale`, CTA (3,0,0), thread (3,0,0): reads 4 bytes at address 0x10000190, \
         outside every buffer, 400 bytes past the start of `a`, which has 400",
    );
    check_launch(
        "entry: \"past\", grid: 2, block: (32, 2)",
        "k.ptx:51:1: kernel `past`, CTA (0,0,0), thread (16,0,0): writes 4 bytes at address 0x40, outside the \
         CTA's 64 bytes of shared memory",
    );
}

#[test]
fn a_misaligned_access_is_named() {
    check_launch(
        "entry: \"odd\", grid: 1, block: 1, args: [Buffer(\"a\")]",
        "k.ptx:42:1: kernel `odd`, CTA (0,0,0), thread (0,0,0): writes 4 bytes at address 0x10000002, which \
         is not aligned to 4 bytes",
    );
}

#[test]
fn a_division_by_zero_and_a_read_of_unwritten_shared_memory_end_the_run_unless_told_otherwise() {
    let mistakes = [
        ("quotient", "U32(0)", "divi", "checks: (division: false)"),
        ("unwritten", "", "shared", "checks: (uninitialised_shared: false)"),
    ];
    for (entry, args, what, allowed) in mistakes {
        let launch = format!("[Launch(entry: {entry:?}, grid: 1, block: 32, args: [{args}])]");
        let set = format!("workload.launches={launch}");
        let folder = folder_with(str::to_owned);
        let (code, error) = gsim(folder.path(), &["--set", &set]);
        assert_eq!(code, 2, "{error}");
        let line = PTX.lines().position(|line| {
            line.contains(if entry == "quotient" { "div.u32" } else { "[cells+8]" })
        });
        let place = format!("error: k.ptx:{}:", line.unwrap() + 1);
        assert!(error.starts_with(&place) && error.contains(what), "{error}");
        assert!(
            error.contains(&format!("kernel `{entry}`, CTA (0,0,0), thread (0,0,0)")),
            "{error}"
        );
        assert!(!folder.path().join("results").exists());
        let folder = folder_with(|run| {
            run.replace("instruction_limit: 10000", &format!("instruction_limit: 10000, {allowed}"))
        });
        assert_eq!(gsim(folder.path(), &["--set", &set]), (0, String::new()));
    }
}

#[test]
fn a_kernel_that_never_ends_meets_its_limit() {
    let folder = folder_with(str::to_owned);
    let set = "workload.launches=[Launch(entry: \"spin\", grid: 1, block: 32)]";
    let (code, error) = gsim(folder.path(), &["--set", set]);
    assert_eq!(code, 2);
    let start = "error: k.ptx:34:1: kernel `spin`, CTA (0,0,0), thread (0,0,0): ";
    assert!(error.starts_with(start) && error.contains("limit"), "{error}");
    assert_eq!(error.lines().count(), 1);
    assert!(!folder.path().join("results").exists());
}

#[test]
fn a_failed_run_leaves_an_older_result_as_it_was() {
    let folder = folder_with(str::to_owned);
    assert_eq!(gsim(folder.path(), &[]).0, 0);
    let report = fs::read(folder.path().join("results/mine/report.json")).unwrap();
    assert_eq!(gsim(folder.path(), &["--set", "workload.buffers.b.elements=98"]).0, 2);
    assert!(fs::read(folder.path().join("results/mine/report.json")).unwrap() == report);
    assert_eq!(fs::read_dir(folder.path().join("results")).unwrap().count(), 1);
}

#[test]
fn arguments_are_held_against_the_parameters() {
    for (from, to, want) in [
        (
            "F32(0.5)",
            "F64(0.5)",
            "run.ron:16:50: workload.launches.0.args.2: a floating-point number of 8 bytes is passed, but \
             parameter `scale_factor` of `scale` is .f32, 4 bytes",
        ),
        (
            "F32(0.5)",
            "I32(1)",
            "run.ron:16:50: workload.launches.0.args.2: a whole number of 4 bytes is passed, but parameter \
             `scale_factor` of `scale` is .f32, 4 bytes",
        ),
        (
            "U32(\"n\")",
            "Buffer(\"b\")",
            "run.ron:16:60: workload.launches.0.args.3: an address of 8 bytes is passed, but parameter \
             `scale_n` of `scale` is .u32, 4 bytes",
        ),
        (
            ", U32(\"n\")",
            "",
            "run.ron:16:23: workload.launches.0.args: 3 arguments for the 4 parameters of `scale` (hint: they \
             are (.u64, .u64, .f32, .u32))",
        ),
        (
            "entry: \"scale\"",
            "entry: \"scal\"",
            "run.ron:13:24: workload.launches.0.entry: k.ptx: there is no entry `scal` (hint: the module has: \
             scale, spin, odd, past, pair, quotient, unwritten)",
        ),
        (
            "U32(\"n\")",
            "U8(\"3 * n\")",
            "run.ron:16:60: workload: launches.0.args.3: 300 is outside 0..=255, the range of U8",
        ),
        (
            "Buffer(\"b\")",
            "Buffer(\"c\")",
            "run.ron:16:37: workload: launches.0.args.1: there is no buffer `c`: one of a, b",
        ),
        (
            "Buffer(\"b\")",
            "Element(\"b\", \"n\")",
            "run.ron:16:37: workload.launches.0.args.1: there is no element 100 in `b`, which has 100",
        ),
        (
            "Buffer(\"b\")",
            "Bytes(\"00f\")",
            "run.ron:16:37: workload: launches.0.args.1: 3 hexadecimal digits do not make whole bytes",
        ),
    ] {
        check(from, to, want);
    }
}

#[test]
fn a_struct_is_passed_by_its_bytes() {
    let folder = folder_with(str::to_owned);
    let launch = |bytes: &str| {
        format!(
            "workload.launches=[Launch(entry: \"pair\", grid: 1, block: 1, args: [Bytes(\"{bytes}\"), \
             Buffer(\"b\")])]"
        )
    };
    let (code, error) = gsim(folder.path(), &["--set", &launch("01020000 0000803f")]);
    assert_eq!((code, error.as_str()), (0, ""));
    let written = fs::read(folder.path().join("results/mine/outputs/b.npy")).unwrap();
    assert_eq!(written[128..132], (0x201u32 + 0x3f80_0000).to_le_bytes());
    let (code, error) = gsim(folder.path(), &["--set", &launch("0102")]);
    assert_eq!(code, 2);
    assert!(
        error.ends_with(
            "a structure of 2 bytes is passed, but parameter `pair_of` of `pair` is .align 4 .b8[8], 8 bytes\n"
        ),
        "{error}"
    );
}

#[test]
fn fields_of_a_struct_are_checked_one_by_one_and_together() {
    let folder = folder_with(str::to_owned);
    let check_fields = |fields: &str, want: &str| {
        let launch = format!(
            "Launch(entry: \"pair\", grid: 1, block: 1, args: [Struct({fields}), Buffer(\"b\")])"
        );
        let set = format!("workload.launches=[{launch}]");
        check_in(&folder, &["--set", &set], 2, &format!("--set {set}: {want}"));
    };
    check_fields("[]", "launches.0.args.0: a struct needs a field");
    check_fields(
        "[U32(1), Struct([U8(256)])]",
        "launches.0.args.0.1.0: 256 is outside 0..=255, the range of U8",
    );
    check_fields("[Buffer(\"c\")]", "launches.0.args.0.0: there is no buffer `c`: one of a, b");
    check_fields(
        "[U32(1), Element(\"a\", \"n\")]",
        "workload.launches.0.args.0.1: there is no element 100 in `a`, which has 100",
    );
    check_fields(
        "[U8(1), F64(2), Bytes(\"01\")]",
        "workload.launches.0.args.0: a structure of 24 bytes is passed, but parameter `pair_of` of `pair` is .align 4 \
         .b8[8], 8 bytes (hint: its fields start at bytes 0, 8, 16; Bytes fills gaps)",
    );
    check(
        "args: [Buffer(\"a\"), Buffer(\"b\"), F32(0.5)",
        "args: [Struct([Buffer(\"a\")]), Struct([Struct([I32(1), Buffer(\"d\")])]), F32(0.5)",
        "run.ron:16:71: workload: launches.0.args.1.0.1: there is no buffer `d`: one of a, b",
    );
}

#[test]
fn variables_that_cannot_be_filled_as_asked_are_named() {
    let folder = |symbols: &str| {
        folder_with(|run| {
            run.replace(
                "        launches:",
                &format!("        symbols: {{{symbols}}},\n        launches:"),
            )
        })
    };
    let check = |symbols: &str, want: &str| check_in(&folder(symbols), &[], 2, want);
    let at = |column: usize, rest: &str| format!("run.ron:11:{column}: workload{rest}");
    check(
        "\"weihgts\": (type: F32, fill: Zero)",
        &at(
            30,
            ".symbols.weihgts: the module has no variable `weihgts` (hint: did you mean weights?)",
        ),
    );
    check(
        "\"x\": (type: F32, fill: Zero)",
        &at(24, ".symbols.x: the module has no variable `x` (hint: one of weights, table)"),
    );
    for shared in ["common", "cells"] {
        let want = format!(
            ".symbols.{shared}: `{shared}` lies in shared memory, which holds nothing when a CTA starts"
        );
        check(&format!("{shared:?}: (type: F32, fill: Zero)"), &at(22 + shared.len() + 1, &want));
    }
    check(
        "\"elsewhere\": (type: F32, fill: Zero)",
        &at(32, ".symbols.elsewhere: `elsewhere` has no size in the PTX"),
    );
    check(
        "\"weights\": (type: F64, fill: Zero)",
        &at(37, ".symbols.weights.type: `weights` has 36 bytes, which are no whole F64 elements"),
    );
    let has = "but `weights` has 9 of type F32, 36 bytes";
    check(
        "\"weights\": (type: F32, elements: (2, 4), fill: Zero)",
        &at(52, &format!(".symbols.weights.elements: 8 elements, {has}")),
    );
    check(
        "\"weights\": (type: F32, fill: Values([1, 2]))",
        &at(48, &format!(".symbols.weights.fill: 2 values for 9 elements, {has}")),
    );
    check(
        "\"table\": (type: U8, fill: Iota(start: 250))",
        &at(
            45,
            ".symbols.table.fill: the last element: 265 is outside 0..=255, the range of U8, but `table` has 16 of \
                 type U8, 16 bytes",
        ),
    );
    check(
        "\"table\": (type: U8, fill: Constant(256))",
        &at(45, ": symbols.table.fill: 256 is outside 0..=255, the range of U8"),
    );
    check(
        "\"table\": (type: U64, fill: Ring())",
        &at(
            46,
            ": symbols.table.fill: a ring is for a buffer: a variable has no address before it is launched",
        ),
    );
    check("\"table\": (type: U64)", &at(28, ".symbols.table: field fill is missing"));
    let folder = folder("\"weights\": (type: F32, fill: Npy(\"w.npy\"))");
    let at = "run.ron:11:48: workload.symbols.weights.fill: ";
    check_in(&folder, &[], 2, &format!("{at}w.npy: no such file"));
    fs::write(folder.path().join("w.npy"), npy(Scalar::F32, &[100], &floats(right()))).unwrap();
    check_in(&folder, &[], 2, &format!("{at}w.npy has 100 elements, {has}"));
}

#[test]
fn a_wrong_field_is_pointed_at() {
    for (from, to, want) in [
        (
            "\"k.ptx\"",
            "\"k.cubin\"",
            "run.ron:5:17: workload: source: \"k.cubin\" ends neither in .ptx nor in .cu",
        ),
        ("\"k.ptx\"", "\"l.ptx\"", "run.ron:5:17: workload.source: l.ptx: no such file"),
        ("\"b\": (", "\"a\": (", "run.ron:9:18: workload.buffers: a is stated twice"),
        (
            "\"b\": (",
            "\"b c\": (",
            "run.ron:8:18: workload.buffers: \"b c\" is not a name: letters, digits and `_`, no digit first",
        ),
        (
            "elements: \"n\", output",
            "output",
            "run.ron:9:18: workload: buffers.b.elements is missing, which only a file or values say themselves",
        ),
        (
            "elements: \"n\", output",
            "elements: 68719476737, output",
            "run.ron:9:40: workload: buffers.b.elements: 68719476737 is outside 1..=68719476736",
        ),
        (
            "elements: \"n\", output",
            "elements: (131072, 262144), output",
            "run.ron:9:40: workload: buffers.b.elements: more than 68719476736 bytes, which all buffers may have",
        ),
        (
            "elements: \"n\", output",
            "elements: 2.5, output",
            "run.ron:9:40: workload: buffers.b.elements: expected a whole number, found 2.5",
        ),
        (
            "\"b.npy\"",
            "\"b.txt\"",
            "run.ron:9:53: workload: buffers.b.output: the name \"b.txt\" does not end in .npy",
        ),
        (
            "\"b.npy\"",
            "\"../b.npy\"",
            "run.ron:9:53: workload: buffers.b.output: the name \"../b.npy\" starts with a dot",
        ),
        (
            "Iota()",
            "Iota(begin: 3)",
            "run.ron:8:56: workload.buffers.a.fill: no field begin (hint: one of start, step)",
        ),
        (
            "Iota()",
            "Uniform(low: 2, high: 1)",
            "run.ron:8:51: workload: buffers.a.fill: low (2) to high (1) is no finite range",
        ),
        (
            "Iota()",
            "Permutation()",
            "run.ron:8:51: workload: buffers.a.fill: a permutation needs a type of whole numbers",
        ),
        (
            "Iota()",
            "Values([1, 2])",
            "run.ron:8:51: workload: buffers.a.fill: 2 values for 100 elements",
        ),
        (
            "\"ceil_div(n, 32)\"",
            "(1, 2, 3, 4)",
            "run.ron:14:23: workload: launches.0.grid: has 4 sizes, where x, y and z are the most",
        ),
        (
            "\"ceil_div(n, 32)\"",
            "\"n / (n - 100)\"",
            "run.ron:14:23: workload: launches.0.grid: \"n / (n - 100)\" divides by zero",
        ),
        (
            "block: 32",
            "block: (32, 33)",
            "run.ron:15:24: workload: launches.0.block: 1056 threads in a CTA, where 1024 are the most",
        ),
        (
            "block: 32",
            "block: 0",
            "run.ron:15:24: workload: launches.0.block: 0 is outside 1..=4294967295",
        ),
        (
            "            Launch(",
            "            Lunch(",
            "run.ron:12:13: workload.launches.0: no variant Lunch (hint: did you mean Launch?)",
        ),
        (
            "{\"n\": 100}",
            "{\"n\": \"m\", \"m\": 1}",
            "run.ron:6:27: workload: parameters.n: there is no parameter `m`; `parameters` is empty",
        ),
    ] {
        check(from, to, want);
    }
}

#[test]
fn loops_are_bounded_and_their_rounds_are_checked() {
    let folder = folder_with(str::to_owned);
    let launch = "Launch(entry: \"scale\", grid: \"i + 1\", block: 32, args: [Buffer(\"a\"), Element(\"b\", \
                  \"40 * i\"), F32(1), U32(20)])";
    let check = |steps: &str, want: &str| {
        let set = format!("workload.launches={steps}");
        check_in(&folder, &["--set", &set], 2, &format!("--set {set}: {want}"));
    };
    check(
        &format!("[Loop(times: 4, index: \"i\", body: [{launch}])]"),
        "workload.launches.0.body.0.args.1: there is no element 120 in `b`, which has 100",
    );
    check("[]", "the list is empty");
    check("[Loop(times: 0, body: [])]", "no launch is left: loops without rounds, or empty bodies");
    let untimed = "[Untimed(body: [Launch(entry: \"spin\", grid: 1, block: 1)])]";
    check(untimed, "all of them stand in `Untimed`");
    check(
        "[Loop(times: 1001, body: [Loop(times: 1000, body: [Launch(entry: \"spin\", grid: 1, block: 1)])])]",
        "launches: 1001000 in all, where 1000000 are the most",
    );
    check(
        "[Loop(times: 2, body: [], swap: [(\"a\", \"c\")])]",
        "launches.0.swap.0: there is no buffer `c`: one of a, b",
    );
    let small = replaced("elements: \"n\", output", "elements: 10, output");
    let set = "workload.launches=[Loop(times: 1, body: [Launch(entry: \"spin\", grid: 1, block: 1)], swap: \
               [(\"a\", \"b\")])]";
    let want = "workload.launches.0.swap.0: `a` has 400 bytes, and `b` has 40";
    check_in(&small, &["--set", set], 2, &format!("--set {set}: {want}"));
}

#[test]
fn files_that_are_not_what_the_buffer_needs_are_refused() {
    let folder = replaced("Iota()", "Npy(\"a.npy\")");
    let file = folder.path().join("a.npy");
    let check = |bytes: &[u8], want: &str| {
        fs::write(&file, bytes).unwrap();
        check_in(&folder, &[], 2, &format!("run.ron:8:51: workload.buffers.a.fill: a.npy: {want}"));
    };
    let numbers = floats(right());
    check(&npy(Scalar::F64, &[50], &numbers), "has elements of type F64, but F32 is stated");
    check(
        &npy(Scalar::F32, &[1 << 60], &numbers),
        "has 400 bytes after its header, but its shape (1152921504606846976,) of F32 needs \
         4611686018427387904",
    );
    check(&npy(Scalar::F32, &[0], &[]), "has no elements");
    check(b"", "is no .npy file: it is too short");
    check(&numbers, "is no .npy file: it does not start with \\x93NUMPY");
    let turned =
        String::from_utf8_lossy(&npy(Scalar::F32, &[50, 2], &[])[10..]).replace("False", "True ");
    let bytes = [&b"\x93NUMPY\x01\0\x76\0"[..], turned.as_bytes(), &numbers].concat();
    check(&bytes, "is in Fortran order; save numpy.ascontiguousarray(array)");
    fs::write(&file, npy(Scalar::F32, &[10, 5], &numbers[..200])).unwrap();
    check_in(
        &folder,
        &[],
        2,
        "run.ron:8:40: workload.buffers.a.elements: 100 elements, but a.npy has 50",
    );
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let folder_there = "run.ron:8:51: workload.buffers.a.fill: a.npy: is a folder, not a file";
    check_in(&folder, &[], 2, folder_there);

    fs::remove_dir(&file).unwrap();
    // Opening a pipe would wait for somebody to write.
    if cfg!(unix) && std::process::Command::new("mkfifo").arg(&file).status().unwrap().success() {
        check_in(
            &folder,
            &[],
            2,
            "run.ron:8:51: workload.buffers.a.fill: a.npy: is not a plain file",
        );
    }

    let folder = replaced("elements: \"n\", fill: Iota()", "fill: Raw(\"a.bin\")");
    fs::write(folder.path().join("a.bin"), [0; 7]).unwrap();
    let want = "a.bin: has 7 bytes, which are no whole F32 elements";
    check_in(&folder, &[], 2, &format!("run.ron:8:36: workload.buffers.a.fill: {want}"));
}

#[test]
fn every_kind_of_file_fills_a_buffer() {
    let big: Vec<u8> = right().flat_map(|number| (2.0 * number).to_be_bytes()).collect();
    let text = String::from_utf8_lossy(&npy(Scalar::F32, &[100], &[])[10..]).replace('<', ">");
    for (name, bytes) in [
        ("Raw(\"a\")", floats(right().map(|number| 2.0 * number))),
        ("Npy(\"a\")", npy(Scalar::F32, &[4, 25], &floats(right().map(|number| 2.0 * number)))),
        ("Npy(\"a\")", [&b"\x93NUMPY\x01\0\x76\0"[..], text.as_bytes(), &big].concat()),
    ] {
        let folder = replaced("Iota()", name);
        fs::write(folder.path().join("a"), bytes).unwrap();
        assert_eq!(gsim(folder.path(), &[]), (0, String::new()));
        let written = fs::read(folder.path().join("results/mine/outputs/b.npy")).unwrap();
        assert!(written == npy(Scalar::F32, &[100], &floats(right())));
    }
}

#[test]
fn a_result_that_differs_from_what_is_expected_is_a_failed_run() {
    let folder = replaced(
        "output: \"b.npy\"",
        "output: \"b.npy\", expect: (file: \"e.npy\", absolute: 0.25)",
    );
    let expect = |change: &dyn Fn(usize, f32) -> f32| {
        let numbers = right().enumerate().map(|(index, number)| change(index, number));
        fs::write(folder.path().join("e.npy"), npy(Scalar::F32, &[100], &floats(numbers))).unwrap();
    };
    expect(&|index, number| if index % 10 == 4 { number + 1.0 } else { number + 0.25 });
    check_in(
        &folder,
        &[],
        1,
        "run.ron:9:70: workload.buffers.b.expect: wrong result: 10 of 100 elements differ from e.npy, the first at [4]: \
         2.0, expected 3.0; the largest error is 1.000e0 absolute, 3.333e-1 relative",
    );
    expect(&|_, number| number - 0.25);
    let (code, error) = gsim(folder.path(), &[]);
    assert_eq!((code, error.as_str()), (0, ""));
    let report = fs::read_to_string(folder.path().join("results/mine/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["check"]["elements"], 100);
}

#[test]
fn an_expected_file_that_does_not_fit_is_refused_before_the_run() {
    let folder = replaced("output: \"b.npy\"", "expect: (file: \"e.npy\")");
    let at = "run.ron:9:53: workload.buffers.b.expect: e.npy:";
    check_in(&folder, &[], 2, &format!("{at} no such file"));
    fs::write(folder.path().join("e.npy"), npy(Scalar::F32, &[2], &[0; 8])).unwrap();
    let want = "has 2 elements of type F32, but the buffer has 100 of type F32";
    check_in(&folder, &[], 2, &format!("{at} {want}"));
    let folder = replaced("output: \"b.npy\"", "expect: (file: \"e.npy\", relative: -1)");
    let want = "run.ron:9:79: workload: buffers.b.expect.relative: -1 is no tolerance: 0 or more";
    check_in(&folder, &[], 2, want);
}

#[test]
fn cuda_without_nvrtc_says_what_to_do() {
    let folder = replaced("\"k.ptx\"", "\"k.cu\"");
    fs::write(folder.path().join("k.cu"), "extern \"C\" __global__ void scale() {}").unwrap();
    let (code, error) = gsim(folder.path(), &["--nvrtc", "/nowhere/libnvrtc.so.13"]);
    assert_eq!(code, 2);
    let start = "error: run.ron:5:17: workload.source: NVRTC cannot be loaded from /nowhere/libnvrtc.so.13: ";
    assert!(error.starts_with(start), "{error}");
    assert!(
        error.contains("pip install nvidia-cuda-nvrtc") && error.contains("nvcc -ptx"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1);
}

#[test]
fn an_nvrtc_in_the_current_folder_needs_no_folder_in_its_path() {
    let folder = replaced("\"k.ptx\"", "\"k.cu\"");
    fs::write(folder.path().join("k.cu"), "extern \"C\" __global__ void scale() {}").unwrap();
    fs::write(folder.path().join("libnvrtc.so.13"), "short").unwrap();
    let (code, error) = gsim(folder.path(), &["--nvrtc", "libnvrtc.so.13"]);
    assert_eq!(code, 2);
    // The loader found it.
    let start = "error: run.ron:5:17: workload.source: NVRTC cannot be loaded from ./libnvrtc.so.13: \
                 ./libnvrtc.so.13: ";
    assert!(error.starts_with(start) && !error.contains("No such file"), "{error}");
}

#[test]
fn a_mark_in_front_of_utf_8_is_no_part_of_ptx() {
    let folder = folder_with(str::to_owned);
    fs::write(folder.path().join("k.ptx"), format!("\u{feff}{PTX}")).unwrap();
    assert_eq!(gsim(folder.path(), &[]), (0, String::new()));
}

#[test]
fn cuda_is_compiled_where_nvrtc_is_installed_and_its_errors_have_their_place() {
    if gsim::nvrtc::Nvrtc::load(None).is_err() {
        println!("skipped: NVRTC is not installed");
        return;
    }
    let folder = replaced("\"k.ptx\"", "\"k.cu\"");
    let source = |factor: &str| {
        let text = format!(
            "#include \"factor.h\"\nextern \"C\" __global__ void scale(const float* in, float* out, float f, \
             unsigned n) {{\n  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = in[i] * \
             f * {factor};\n}}\n"
        );
        fs::write(folder.path().join("k.cu"), text).unwrap();
        fs::write(folder.path().join("factor.h"), "#define FACTOR 1.0f\n").unwrap();
    };
    source("factor");
    check_in(&folder, &[], 2, "k.cu:4:1: error: identifier \"factor\" is undefined");
    source("FACTOR");
    let (code, error) = gsim(folder.path(), &["--set", "workload.buffers.b.elements=98"]);
    assert_eq!(code, 2);
    assert!(error.starts_with("error: k.cu (PTX):") && error.contains("kernel `scale`"), "{error}");
    assert_eq!(gsim(folder.path(), &[]), (0, String::new()));
    let written = fs::read(folder.path().join("results/mine/outputs/b.npy")).unwrap();
    assert!(written == npy(Scalar::F32, &[100], &floats(right())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(768))]

    /// Whatever is cut out of a run file and put in: one line, at a place that the file has.
    #[test]
    fn a_damaged_run_file_is_refused_in_one_line(
        cut in 0.0..1.0f64,
        length in 0usize..12,
        put in "[\\PC\n(){}\\[\\]:,\"'/#*r0-9a-z]{0,8}",
    ) {
        let start = (cut * RUN.len() as f64) as usize;
        let end = (start + length).min(RUN.len());
        let damaged = format!("{}{put}{}", &RUN[..start], &RUN[end..]);
        let file = gsim::config::RunFile::from_text(Path::new("a.ron"), damaged.clone());
        match file.and_then(|file| file.resolve(&[])) {
            Err(error) => {
                prop_assert!(!error.to_string().contains('\n'), "{error}");
                let (line, column) = error.location.unwrap().position.unwrap();
                let row = damaged.split('\n').nth(line - 1);
                prop_assert!(row.is_some_and(|row| column <= row.chars().count() + 1));
            }
            Ok(run) => {
                // What a report keeps is what was run.
                let kept = gsim::serial::to_json(&run.config.workload);
                prop_assert_eq!(serde_json::from_str(&kept).ok(), Some(run.config.workload));
            }
        }
    }
}
