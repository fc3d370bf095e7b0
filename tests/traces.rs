//! Traces: what is captured runs as its source does, on every machine; traces of Accel-Sim become gsim's; bad ones are refused.

#[path = "common/command.rs"]
mod command;

use std::fs;
use std::path::Path;

use command::{gsim, succeed};
use gsim::config::{RunFile, load_run};
use gsim::frontend::trace::accelsim::import;
use gsim::gpu::Stepping;
use gsim::report::Report;
use gsim::simulate::{capture, simulate};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;
use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The one line that a refused call prints.
#[track_caller]
fn refuse(folder: &Path, args: &[&str], code: i32) -> String {
    let (found, out, error) = gsim(folder, args);
    assert_eq!((found, out.as_str()), (code, ""), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    error.trim_end().to_owned()
}

/// A report without what names its input and its check.
fn measured(report: &Report) -> Value {
    let mut json: Value = serde_json::from_str(&report.to_json()).unwrap();
    let fields = json.as_object_mut().unwrap();
    assert!(fields.remove("inputs").is_some() && fields.remove("check").is_some());
    json
}

fn settings(changes: &[&str]) -> Vec<(String, gsim::config::Setting)> {
    let pair = |change: &&str| gsim::config::overrides::assignment(change).unwrap();
    changes.iter().map(pair).collect()
}

/// A run file in `folder` that simulates a trace there under the name `name`.
fn replay(folder: &Path, name: &str, trace: &str) -> RunFile {
    let text =
        format!("Run(name: {name:?}, machine: \"gtx480\", workload: Trace(file: {trace:?}))");
    RunFile::from_text(&folder.join("replay.ron"), text).unwrap()
}

/// Every kind of workload, with all that streams may hold: loops, barriers, shared memory, atomics, guards, local memory, scattered
/// addresses; as PTX and as machine code.
const RUNS: &[(&str, &[&str])] = &[
    ("stencil-char", &["workload.elements=16384", "workload.iterations=2"]),
    ("matmul", &["workload.size=45"]),
    ("matmul", &["workload.size=45", "machine=h200"]),
    ("stereo", &["workload.width=13", "workload.height=9"]),
    ("stream", &["workload.ctas=20"]),
    ("gather", &["workload.ctas=20", "machine=v100"]),
    ("mixture", &["workload.ctas=10", "workload.repeats=2", "workload.launches=2"]),
    ("chase", &["workload.phases.0.accesses=100"]),
    ("spmv", &[]),
    ("spmv", &["machine=h200"]),
    ("concurrent", &["workload.parameters.steps=4"]),
    ("heat", &["workload.parameters.n=48"]),
    ("convolution", &["workload.parameters.rows=45"]),
    (
        "tensor-matmul",
        &["workload.parameters.rows=64", "workload.parameters.depth=64", "machine=h200"],
    ),
    (
        "warpgroup-matmul",
        &[
            "workload.parameters.rows=128",
            "workload.parameters.columns=128",
            "workload.parameters.depth=128",
            "machine=h200",
        ],
    ),
    ("tensor-map-matmul", &[TILES, "machine=h200"]),
    ("fp8-matmul", &[SHORT_TILES, "machine=h200"]),
    ("../../tests/tensor_maps/boxes", &["machine=h200"]),
    ("../../tests/reductions/reductions", &["machine=h200"]),
    ("pipeline", &["workload.parameters.tiles=30", "workload.parameters.ctas=5", "machine=h200"]),
    (
        "pipeline",
        &[IN_BULK, "workload.parameters.tiles=30", "workload.parameters.ctas=5", "machine=h200"],
    ),
    ("convolution", &["workload.parameters.rows=45", "machine=h200"]),
    ("../micro/lanes-of-a-warp", &[MATCHES, "workload.parameters.times=64", "machine=gtx480"]),
    ("../micro/lanes-of-a-warp", &[MATCHES, "workload.parameters.times=64", "machine=h200"]),
    ("../micro/barriers", &[COUNTS, "workload.parameters.threads=192", "machine=h200"]),
];
const TILES: &str = "workload.parameters={\"rows\": 128, \"columns\": 128, \"depth\": 192}";
const SHORT_TILES: &str = "workload.parameters={\"rows\": 128, \"columns\": 128, \"depth\": 256}";
const IN_BULK: &str = "workload.launches.0.entry=in_bulk";
const MATCHES: &str = "workload.launches.0.entry=matches_and_shuffles";
const COUNTS: &str = "workload.launches.0.entry=popc";

/// What a match says of its lanes stays its own where loads and stores of several iterations change places with it.
#[test]
fn matches_and_addresses_are_not_mixed_up() {
    let folder = TempDir::new().unwrap();
    let kernel = ".version 9.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
    .reg .b32 %r<16>; .reg .b64 %a<8>; .reg .pred %p<4>;
    mov.u32 %r0, %tid.x;
    ld.param.u64 %a0, [in];
    ld.param.u64 %a1, [out];
    mul.wide.u32 %a2, %r0, 4;
    add.s64 %a0, %a0, %a2;
    add.s64 %a1, %a1, %a2;
    mov.u32 %r1, 0;
L:
    ld.global.u32 %r2, [%a0];
    ld.global.u32 %r3, [%a0+128];
    add.u32 %r4, %r0, %r1;
    shr.u32 %r4, %r4, 3;
    match.any.sync.b32 %r5, %r4, -1;
    add.u32 %r6, %r2, %r3;
    add.u32 %r6, %r6, %r5;
    st.global.u32 [%a1], %r6;
    add.s64 %a0, %a0, 128;
    add.s64 %a1, %a1, 128;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 7;
    @%p1 bra L;
    ret;
}";
    let run = r#"Run(name: "k", machine: "h200", workload: Kernel(source: "k.ptx", buffers: {
        "in": (type: U32, elements: 1024), "out": (type: U32, elements: 1024),
    }, launches: [Launch(entry: "k", grid: 1, block: 32, args: [Buffer("in"), Buffer("out")])]))"#;
    fs::write(folder.path().join("k.ptx"), kernel).unwrap();
    fs::write(folder.path().join("run.ron"), run).unwrap();
    for machine in ["machine=gtx480", "machine=h200"] {
        let args = ["trace", "capture", "run.ron", "--set", machine, "--out", "k.gtrace"];
        succeed(folder.path(), &args);
        let listing = succeed(folder.path(), &["trace", "dump", "k.gtrace"]);
        let of = |what| listing.lines().filter(move |line: &&str| line.contains(what));
        // Four values where lanes begin at a multiple of eight, five elsewhere.
        let values: Vec<&str> =
            of("  Match ").map(|line| line.rsplit("  ").next().unwrap()).collect();
        let rows = ["4 values"].into_iter().chain(["5 values"; 6]).collect::<Vec<_>>();
        assert_eq!(values, rows, "{machine}\n{listing}");
        assert_eq!((of("Load.Global").count(), of("Store.Global").count()), (14, 7), "{listing}");
        for line in of(".Global") {
            assert!(line.ends_with(" + 4 lane") && line.contains("  0x1000"), "{machine}: {line}");
        }
    }
}

#[test]
fn a_trace_runs_as_its_source_does() {
    for (run, changes) in RUNS {
        let folder = TempDir::new().unwrap();
        let file = Path::new(ROOT).join(format!("configs/runs/{run}.ron"));
        let source = load_run(&file, &settings(changes)).unwrap();
        let captured =
            capture(&source, &folder.path().join("a.gtrace"), 3, &mut |_, _| ()).unwrap();
        let expected = simulate(&source, Stepping::SkipAhead, &mut |_| ()).unwrap();
        assert_eq!(captured.end.warp_instructions, expected.totals.warp_instructions, "{run}");

        let machine: Vec<&str> =
            changes.iter().filter(|change| change.starts_with("machine")).copied().collect();
        let name = run.rsplit('/').next().expect("it has one");
        let traced = replay(folder.path(), name, "a.gtrace").resolve(&settings(&machine)).unwrap();
        for stepping in [Stepping::SkipAhead, Stepping::threads(2)] {
            let report = simulate(&traced, stepping, &mut |_| ()).unwrap();
            assert!(measured(&report) == measured(&expected), "{run} {changes:?}");
        }
        // A trace of the trace is the same trace but for where it is from.
        let again = capture(&traced, &folder.path().join("b.gtrace"), 3, &mut |_, _| ()).unwrap();
        assert_eq!((again.launches, again.end), (captured.launches, captured.end), "{run}");
    }
}

#[test]
fn some_launches_of_a_trace_can_be_chosen() {
    let folder = TempDir::new().unwrap();
    let file = Path::new(ROOT).join("configs/runs/stencil-char.ron");
    let source = load_run(&file, &settings(&["workload.elements=16384"])).unwrap();
    capture(&source, &folder.path().join("a.gtrace"), 3, &mut |_, _| ()).unwrap();
    let run = replay(folder.path(), "a", "a.gtrace");
    let launches = |launches: &str| {
        let run = run.resolve(&settings(&[&format!("workload.launches={launches}")]))?;
        simulate(&run, Stepping::SkipAhead, &mut |_| ())
    };
    assert_eq!(launches("[]").unwrap().kernels.len(), 4);
    let (first, third) = (launches("[0]").unwrap(), launches("[2]").unwrap());
    assert_eq!(first.kernels.len(), 1);
    // The arrays are swapped after each launch, so that the first and the third are alike.
    assert_eq!(measured(&first), measured(&third));
    assert_eq!(launches("[1, 2]").unwrap().kernels.len(), 2);

    // Of launches at the same time, those stay so that follow each other.
    let file = Path::new(ROOT).join("configs/runs/concurrent.ron");
    let source = load_run(&file, &settings(&["workload.parameters.steps=4"])).unwrap();
    capture(&source, &folder.path().join("b.gtrace"), 3, &mut |_, _| ()).unwrap();
    let run = replay(folder.path(), "b", "b.gtrace");
    let concurrent = |launches: &str| {
        let run = run.resolve(&settings(&[&format!("workload.launches={launches}")])).unwrap();
        let report = simulate(&run, Stepping::SkipAhead, &mut |_| ()).unwrap();
        report.kernels.iter().map(|kernel| kernel.concurrent.len()).collect::<Vec<_>>()
    };
    assert_eq!(concurrent("[]"), [2]);
    assert_eq!(concurrent("[0, 1]"), [2]);
    assert_eq!(concurrent("[0]"), [0]);
    assert_eq!(concurrent("[1]"), [0]);
    let error = launches("[4]").unwrap_err().to_string();
    assert!(
        error.contains("there is no launch 4") && error.contains("has 4, from 0 on"),
        "{error}"
    );
    let error = launches("[2, 1]").unwrap_err().to_string();
    assert!(error.contains("launches: their numbers must rise"), "{error}");
}

#[test]
fn the_trace_of_the_repository_is_what_its_run_executes() {
    let source = load_run(&Path::new(ROOT).join("configs/runs/spmv.ron"), &[]).unwrap();
    let run = load_run(&Path::new(ROOT).join("traces/spmv.ron"), &[]).unwrap();
    let [replayed, executed] =
        [&run, &source].map(|run| simulate(run, Stepping::SkipAhead, &mut |_| ()).unwrap());
    assert_eq!(replayed.totals, executed.totals);
    assert_eq!(replayed.ledgers, executed.ledgers);
}

#[test]
fn the_command_line_shows_what_a_trace_holds() {
    let folder = TempDir::new().unwrap();
    let run = format!("{ROOT}/configs/runs/stencil-char.ron");
    let set = ["--set", "workload.elements=4096", "--set", "workload.iterations=2"];
    let captured = succeed(folder.path(), &[&["trace", "capture", &run], &set[..]].concat());
    assert!(captured.starts_with("2 launches, 32 CTAs, 7,188 warp instructions: "), "{captured}");
    assert!(captured.trim_end().ends_with(": stencil-char.gtrace"), "{captured}");
    let info = succeed(folder.path(), &["trace", "info", "stencil-char.gtrace"]);
    for part in [
        "2 launches, Ptx instructions, written by gsim",
        "captured from the run stencil-char, seed 1:\n  Stencil1d(",
        "element: Char,\n",
        "workloads/stencil1d/stencil1d.ptx: sha256: ",
        "1  stencil1d_char    16      256          8       0            33              3,594        516",
    ] {
        assert!(info.contains(part), "{part}: {info}");
    }
    let dump =
        ["trace", "dump", "stencil-char.gtrace", "--launch", "1", "--cta", "3", "--warp", "7"];
    let dump = succeed(folder.path(), &dump);
    assert!(dump.starts_with("launch 1: stencil1d_char, 16 CTAs of 256 threads\nCTA 3, warp 7: "));
    assert!(dump.contains("ffffffff  Load.Global 1 B r"), "{dump}");
    assert!(dump.trim_end().ends_with("Exit"), "{dump}");
}

#[test]
fn traces_of_accel_sim_are_converted() {
    let folder = TempDir::new().unwrap();
    let list = format!("{ROOT}/tests/traces/kernelslist.g");
    let converted = succeed(folder.path(), &["trace", "import", &list, "--out", "a.gtrace"]);
    assert!(converted.starts_with("2 launches, 3 CTAs, 34 warp instructions: "), "{converted}");
    assert!(converted.ends_with("note: kernel-2.traceg.xz has 1 of the 4 CTAs of its grid\n"));
    let listing = |args: &[&str]| {
        let text = succeed(folder.path(), &[&["trace", "dump", "a.gtrace"], args].concat());
        let (_, listing) = text.split_once("lanes     instruction\n").unwrap();
        listing.to_owned()
    };
    // Pairs of registers, local and generic addresses, predicated exits.
    let first = "    0  ffffffff  Move r1
    1  ffffffff  Sfu r0
    2  ffffffff  IntAdd <- r0
    3  00000000  Exit
    4  ffffffff  IntMulWide r2 r3 <- r0
    5  ffffffff  Load.Global 4 B r4 <- r2 r3  0x7f0000001000 + 4 lane
    6  ffffffff  Store.Shared 4 B <- r1 r4  0x0 + 4 lane
    7  ffffffff  Barrier 0 of all warps, Wait
    8  ffffffff  Store.Local 4 B <- r1 r4  0x100000001fff00 + 4 lane
    9  ffffffff  Load.Generic 4 B r6 <- r8 r9  0x10000000000000 + 4 lane
   10  ffffffff  Store.Global 4 B <- r2 r3 r4  0x7f0000001000 + 4 lane
   11  ffffffff  Exit
";
    assert_eq!(listing(&[]), first);
    assert!(
        listing(&["--warp", "1"])
            .contains("    9  00000003  Load.Generic 4 B r6 <- r8 r9  0x1000000000004 + 12 lane\n")
    );
    // A warp that the trace does not have still ends.
    assert_eq!(listing(&["--cta", "1", "--warp", "1"]), "   11  ffffffff  Exit\n");
    // A branch that always jumps is none that may fall through.
    let second =
        "    0  ffffffff  Load.Global.nc 16 B r4 r5 r6 r7 <- r2 r3  0x7f0000001000 + 16 lane
    1  ffffffff  Branch
    0  ffffffff  Load.Global.nc 16 B r4 r5 r6 r7 <- r2 r3  0x7f0000001200 + 16 lane
    1  0000ffff  Branch
    2  ffff0000  Atomic.Global 4 B <- r2 r3 r5  0x7f0000002000 + 0 lane
    3  ffffffff  Control
    4  ffffffff  Exit
";
    assert_eq!(listing(&["--launch", "1"]), second);
    for machine in ["gtx280", "gtx480", "v100", "h200"] {
        let run = replay(folder.path(), "a", "a.gtrace");
        let run = run.resolve(&settings(&[&format!("machine={machine}")])).unwrap();
        let report = simulate(&run, Stepping::SkipAhead, &mut |_| ()).unwrap();
        assert_eq!(report.totals.warp_instructions, 34, "{machine}");
    }
}

/// Instructions whose first operand is a predicate, stores of pairs, copies, and barriers of copies.
#[test]
fn registers_of_machine_code_are_those_that_the_operands_have() {
    let folder = TempDir::new().unwrap();
    let head = "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-nregs = 32\n\
                -binary version = 80\n-accelsim tracer version = 5\n\n#traces format = ..\n\n#BEGIN_TB\n\n\
                thread block = 0,0,0\n\nwarp = 0\ninsts = 9\n";
    let body = "0000 ffffffff 0 SHFL.DOWN 2 R5 R2 0 16
0010 ffffffff 0 SHFL.IDX 4 R255 R255 R255 R255 0 0
0020 ffffffff 0 ATOMG.E.ADD.STRONG.GPU 3 R3 R4 R6 4 1 0x7f0000001000 0 0
0030 ffffffff 0 STG.E.64 2 R255 R8 8 1 0x7f0000001000 8 0
0040 ffffffff 1 R2 DFMA 3 R4 R6 R8 0 0
0050 ffffffff 0 LDGSTS.E.BYPASS.128 2 R10 R12 16 1 0x7f0000002000 16 0
0060 ffffffff 0 DEPBAR.LE 0 0 1
0070 ffffffff 0 DEPBAR.LE 0 0 0
0080 ffffffff 0 EXIT 0 0 0

#END_TB
";
    fs::write(folder.path().join("k.traceg"), head.to_owned() + body).unwrap();
    succeed(folder.path(), &["trace", "import", "k.traceg", "--out", "k.gtrace"]);
    let listing = succeed(folder.path(), &["trace", "dump", "k.gtrace"]);
    let (_, listing) = listing.split_once("lanes     instruction\n").unwrap();
    let expected = "    0  ffffffff  Shuffle r5 <- r2
    1  ffffffff  Shuffle
    2  ffffffff  Atomic.Global 4 B r3 <- r4 r5 r6  0x7f0000001000 + 0 lane
    3  ffffffff  Store.Global 8 B <- r8 r9  0x7f0000001000 + 8 lane
    4  ffffffff  DpFma r2 r3 <- r4 r5 r6 r7 r8 r9
    5  ffffffff  Copy.Global.cg 16 B <- r10 r12 r13  0x7f0000002000 + 16 lane
    6  ffffffff  Copies WaitGroups(1)
    7  ffffffff  Copies WaitGroups(0)
    8  ffffffff  Exit
";
    assert_eq!(listing, expected);
}

#[test]
fn what_a_trace_of_accel_sim_must_not_have_is_named_with_its_line() {
    let folder = TempDir::new().unwrap();
    let whole = fs::read_to_string(format!("{ROOT}/tests/traces/kernel-1.traceg")).unwrap();
    let refused = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        fs::write(folder.path().join("k.traceg"), whole.replacen(from, to, 1)).unwrap();
        let error = refuse(folder.path(), &["trace", "import", "k.traceg", "--out", "k.gtrace"], 2);
        assert!(!folder.path().join("k.gtrace").exists());
        error.strip_prefix("error: k.traceg:").unwrap_or(&error).to_owned()
    };
    assert_eq!(
        refused("IMAD.WIDE", "HMMA.884.F32.F32.STEP0"),
        "27:1: HMMA: products of 884 are not simulated"
    );
    assert_eq!(refused("IMAD.WIDE", "NEWOP"), "27:1: NEWOP: this opcode is not known");
    assert_eq!(refused("1 0x7f0000001000 4", "7 0x7f0000001000"), "28:1: addresses of form 7");
    assert_eq!(
        refused("1 0x7f0000001000 4", "1 0x7f0000001002 4"),
        "28:1: an access of 4 bytes at 0x7f0000001002"
    );
    assert_eq!(refused("insts = 12", "insts = 13"), "36:1: 1 instruction of the warp is missing");
    assert_eq!(
        refused("insts = 12", "insts = 11"),
        "34:1: the warp has more instructions than the `insts = 11` of line 22"
    );
    assert_eq!(refused("insts = 12", "insts = 10").split(' ').next(), Some("33:1:"));
    assert_eq!(
        refused("warp = 1", "warp = 2"),
        "36:1: warp 2 of 2, once each, in a CTA of 64 threads"
    );
    assert_eq!(
        refused("warp = 1", "warp = 0"),
        "36:1: warp 0 of 2, once each, in a CTA of 64 threads"
    );
    assert_eq!(refused("(64,1,1)", "(64,1)"), "4:14: \"(64,1)\" is no size");
    assert_eq!(
        refused("tracer version = 4", "tracer version = 2"),
        "15:1: tracer version 2, of which gsim reads 3 and later (hint: post-process the traces again)"
    );
    let exit = "0030 ffffffff 0 EXIT 0 0 \n";
    let cut = refused(&format!("{exit}\n#END_TB\n"), exit);
    assert_eq!(cut, "60:1: the trace ends within a CTA");
    assert_eq!(refused("warp = 1\n", "\n"), "37:1: instructions of no warp");
    assert_eq!(
        refused("(64,1,1)", "(2147483648,2147483648,4)"),
        "4:14: a CTA of (2147483648,2147483648,4) threads, where 1 to 1024 in all are possible"
    );
    for grid in ["(0,1,1)", "(2147483648,1,1)", "(99999999,99999999,99999999)"] {
        let expected = format!(
            "3:13: a grid of {grid} CTAs, where (1,1,1) to (2147483647,65535,65535) are possible"
        );
        assert_eq!(refused("(2,1,1)", grid), expected);
    }
    let missing = refused("-grid dim = (2,1,1)\n", "");
    assert_eq!(missing, "14:1: -grid dim = (x,y,z) is missing");
    assert_eq!(refused("nregs = 16", "nregs = -1"), "6:10: \"-1\" is no number from 0 to 256");
    assert_eq!(
        refused("thread block = 1,0,0", "thread block = 0,0,0"),
        "54:1: the CTA (0,0,0) is there twice, first in line 19"
    );
    assert_eq!(
        refused("thread block = 1,0,0", "thread block = 2,0,0"),
        "54:16: the CTA (2,0,0) is not in the grid, which is (2,1,1)"
    );
    assert_eq!(
        refused("thread block = 0,0,0\n", "\n"),
        "21:1: this belongs elsewhere: a CTA is #BEGIN_TB, thread block, its warps, #END_TB"
    );
    // Also where the instruction was met before with another width.
    for (form, line) in [("1 R2 4 1", 28), ("1 R2 4 2", 43)] {
        let expected =
            format!("{line}:1: LDG.E.SYS of 3 bytes, where 1, 2, 4, 8 and 16 are possible");
        assert_eq!(refused(form, &form.replace('4', "3")), expected);
    }
    let error = refuse(folder.path(), &["trace", "import", "none.g", "--out", "k.gtrace"], 2);
    assert_eq!(error, "error: none.g: no such file");
}

#[test]
fn a_compressed_trace_that_is_damaged_is_refused_without_a_line() {
    let folder = TempDir::new().unwrap();
    let [from, to] = ["k.traceg.xz", "k.gtrace"].map(|name| folder.path().join(name));
    let damaged = |bytes: &[u8]| {
        fs::write(&from, bytes).unwrap();
        let error = import(&from, &to, 1, &mut |_, _| ()).unwrap_err().to_string();
        assert!(!to.exists());
        let place = format!("{}: the compressed file is damaged: ", from.display());
        error.strip_prefix(&place).unwrap_or(&error).to_owned()
    };
    let whole = fs::read(format!("{ROOT}/tests/traces/kernel-2.traceg.xz")).unwrap();
    for length in 0..whole.len() {
        assert_eq!(damaged(&whole[..length]), "it is cut off", "{length}");
    }
    assert_eq!(damaged(b"this is no xz"), "invalid XZ magic bytes");
}

/// A kernel of one warp, whose `body` is its instructions and their number.
fn one_warp(body: &str) -> String {
    format!(
        "-kernel name = vec\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-nregs = 16\n\
         -binary version = 70\n-accelsim tracer version = 3\n\n#traces format = ..\n\n#BEGIN_TB\n\n\
         thread block = 0,0,0\n\nwarp = 0\n{body}\n#END_TB\n"
    )
}

/// An exit is added only to a kernel that has none.
#[test]
fn a_kernel_of_accel_sim_has_its_own_instructions() {
    let folder = TempDir::new().unwrap();
    let three = "insts = 3\n0000 ffffffff 1 R1 MOV 0 0\n\
                 0010 ffffffff 1 R2 LDG.E 1 R4 4 1 0x7f1000000000 4\n0020 ffffffff 0 EXIT 0 0\n";
    let two = "insts = 2\n0000 ffffffff 1 R1 MOV 0 0\n\
               0010 ffffffff 1 R2 LDG.E 1 R4 4 1 0x7f1000000000 4\n";
    for body in [three, two] {
        fs::write(folder.path().join("v.traceg"), one_warp(body)).unwrap();
        succeed(folder.path(), &["trace", "import", "v.traceg", "--out", "v.gtrace"]);
        let info = succeed(folder.path(), &["trace", "info", "v.gtrace"]);
        let row: Vec<&str> = info.trim_end().lines().last().unwrap().split_whitespace().collect();
        assert_eq!(row, ["0", "vec", "1", "32", "16", "0", "3", "3", "1"], "{info}");
        let dump = succeed(folder.path(), &["trace", "dump", "v.gtrace"]);
        let head = "launch 0: vec, 1 CTA of 32 threads\nCTA 0, warp 0: 3 instructions\n";
        assert!(dump.starts_with(head), "{dump}");
    }
}

#[test]
fn a_trace_keeps_its_instruction_set() {
    let folder = TempDir::new().unwrap();
    let run = format!("{ROOT}/configs/runs/chase.ron");
    let set =
        ["--set", "workload.phases.0.accesses=50", "--set", "machine=h200", "--out", "a.gtrace"];
    succeed(folder.path(), &[&["trace", "capture", &run], &set[..]].concat());
    let text = "Run(name: \"a\", machine: \"gtx480\", workload: Trace(file: \"a.gtrace\"))";
    fs::write(folder.path().join("run.ron"), text).unwrap();
    let note = "note: the trace has Sass instructions, and the machine's times are those of Ptx ones (sm.instructions)\n";
    assert!(succeed(folder.path(), &["run", "run.ron", "--no-plots"]).contains(note));
    let on_h200 = ["run", "run.ron", "--no-plots", "--set", "machine=h200"];
    assert!(!succeed(folder.path(), &on_h200).contains("note"));
    // The report keeps it.
    succeed(folder.path(), &["run", "run.ron"]);
    assert!(succeed(folder.path(), &["report", "results/a"]).contains(note));
    let page = fs::read_to_string(folder.path().join("results/a/report.html")).unwrap();
    assert!(page.contains("Note: the trace has Sass instructions"));
    // Also where another machine reads it.
    succeed(folder.path(), &["trace", "capture", "run.ron", "--out", "b.gtrace"]);
    let info = succeed(folder.path(), &["trace", "info", "b.gtrace"]);
    assert!(info.contains("1 launch, Sass instructions, written by gsim"), "{info}");
}

#[test]
fn bad_traces_are_refused_in_one_line() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let run = format!("{ROOT}/configs/runs/chase.ron");
    let set = ["--set", "workload.phases.0.accesses=50", "--out", "a.gtrace"];
    succeed(folder.path(), &[&["trace", "capture", &run], &set[..]].concat());
    let bytes = fs::read(path("a.gtrace")).unwrap();
    fs::write(path("cut.gtrace"), &bytes[..bytes.len() - 9]).unwrap();
    fs::write(path("text.gtrace"), "hello").unwrap();
    let error = refuse(folder.path(), &["trace", "info", "cut.gtrace"], 2);
    let cut = "cut.gtrace: the trace is damaged: it is cut off (hint: capture or import it again)";
    assert_eq!(error, format!("error: {cut}"));
    let error = refuse(folder.path(), &["trace", "info", "text.gtrace"], 2);
    assert!(error.starts_with("error: text.gtrace: this is no trace of gsim (hint: "), "{error}");
    let error = refuse(folder.path(), &["trace", "dump", "a.gtrace", "--cta", "1"], 2);
    assert_eq!(error, "error: a.gtrace: there is no CTA 1 (hint: synthetic has 1, from 0 on)");
    let error = refuse(folder.path(), &["trace", "dump", "a.gtrace", "--launch", "9"], 2);
    assert_eq!(error, "error: a.gtrace: there is no launch 9 (hint: the trace has 1, from 0 on)");
    let error = refuse(folder.path(), &["trace", "dump", "a.gtrace", "--warp", "9"], 2);
    assert_eq!(
        error,
        "error: a.gtrace: there is no warp 9 (hint: a CTA of synthetic has 1, from 0 on)"
    );

    let write = |trace: &str| {
        let text = format!(
            "Run(\n    name: \"a\",\n    machine: \"gtx480\",\n    workload: Trace(file: {trace:?}),\n)"
        );
        fs::write(path("run.ron"), text).unwrap();
    };
    write("b.gtrace");
    let error = refuse(folder.path(), &["run", "run.ron"], 2);
    let expected = "error: run.ron:4:27: workload.file: b.gtrace: no such file";
    assert_eq!(error, expected);
    write("cut.gtrace");
    let error = refuse(folder.path(), &["run", "run.ron"], 2);
    assert_eq!(error, format!("error: run.ron:4:27: workload.file: {cut}"));
    let error = refuse(folder.path(), &["run", "a.gtrace"], 2);
    let expected = "error: a.gtrace: is not UTF-8 text \
                    (hint: a trace is what a run file names: workload: Trace(file: \"..\"))";
    assert_eq!(error, expected);
    write("a.gtrace");
    let expected = "error: run.ron:4:15: workload: a trace has instructions and no kernel \
                    (hint: `gsim run` simulates it; what is executed needs PTX or CUDA C++)";
    for command in [
        ["workload", "export"],
        ["native", "run"],
        ["native", "counters"],
        ["calibrate", "correlate"],
    ] {
        assert_eq!(refuse(folder.path(), &[&command[..], &["run.ron"]].concat(), 2), expected);
    }
    // Nothing is left of what was refused.
    assert!(!path("results").exists());
    let error = refuse(folder.path(), &["trace", "capture", "run.ron", "--out", "run.ron"], 2);
    assert_eq!(error, "error: run.ron: is no trace, so it is not replaced");
    let error =
        refuse(folder.path(), &["trace", "capture", "run.ron", "--out", "none/a.gtrace"], 2);
    assert_eq!(error, "error: none: no such folder");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// What a changed trace says may be odd, and so may be its time; it is simulated or refused.
    #[test]
    fn no_trace_makes_a_machine_panic(
        changes in vec((any::<prop::sample::Index>(), select(b"0123456789abcdefx RST.\n".to_vec())), 1..4),
    ) {
        let mut text = fs::read(format!("{ROOT}/tests/traces/kernel-1.traceg")).unwrap();
        for (place, byte) in changes {
            let place = place.index(text.len());
            text[place] = byte;
        }
        let folder = TempDir::new().unwrap();
        let [from, to] = ["k.traceg", "a.gtrace"].map(|name| folder.path().join(name));
        fs::write(&from, text).unwrap();
        if import(&from, &to, 1, &mut |_, _| ()).is_ok() {
            for machine in ["gtx480", "h200"] {
                let run = replay(folder.path(), "a", "a.gtrace");
                let run = run.resolve(&settings(&[&format!("machine={machine}")])).unwrap();
                let _ = simulate(&run, Stepping::SkipAhead, &mut |_| ());
            }
        }
    }
}
