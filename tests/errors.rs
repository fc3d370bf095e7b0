//! Bad input is answered by one line that says what and where, and by exit code 2.

#[path = "common/command.rs"]
mod command;

use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

const GOOD: &str = r#"// A run.
Run(
    name: "test",
    machine: "gtx480",
    workload: Stencil1d(element: Char, elements: 1024),
    set: {
        "l1.mshr_mergers": 16,
        "sm.policy": TwoLevel(active: 8),
    },
)
"#;

/// Exit code and standard error.
fn gsim(folder: &Path, args: &[&str]) -> (i32, String) {
    let (code, _, error) = command::gsim(folder, args);
    (code, error)
}

/// Runs `text` as a run file, with `args`; checks the one line on the standard error.
#[track_caller]
fn check(text: &str, args: &[&str], want: &str) {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("run.ron"), text).unwrap();
    let (code, error) = gsim(folder.path(), &[&["run", "run.ron"], args].concat());
    assert_eq!(error, format!("error: {want}\n"));
    assert_eq!(code, 2);
}

/// Runs the good file with `from` replaced by `to`.
#[track_caller]
fn check_with(from: &str, to: &str, want: &str) {
    assert_eq!(GOOD.matches(from).count(), 1, "{from}");
    check(&GOOD.replace(from, to), &[], want);
}

#[test]
fn a_missing_file_is_named() {
    let folder = TempDir::new().unwrap();
    let (code, error) = gsim(folder.path(), &["run", "none.ron"]);
    assert_eq!((code, error.as_str()), (2, "error: none.ron: no such file\n"));
    let (code, error) = gsim(folder.path(), &["machine", "check", "."]);
    assert_eq!((code, error.as_str()), (2, "error: .: is a folder, not a file\n"));
}

/// It would be read without an end.
#[cfg(unix)]
#[test]
fn what_is_no_plain_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let (code, error) = gsim(folder.path(), &["run", "/dev/zero"]);
    assert_eq!((code, error.as_str()), (2, "error: /dev/zero: is not a plain file\n"));
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("k.ptx")).unwrap();
    let (code, error) = gsim(folder.path(), &["workload", "show", "k.ptx"]);
    assert_eq!((code, error.as_str()), (2, "error: k.ptx: is not a plain file\n"));
}

#[test]
fn an_unknown_field_is_pointed_at() {
    check_with("machine:", "machin:", "run.ron:4:5: no field machin (hint: did you mean machine?)");
    check_with(
        "elements: 1024",
        "size: 1024",
        "run.ron:5:40: workload: no field size (hint: one of element, elements, block, iterations)",
    );
}

#[test]
fn a_missing_or_repeated_field_is_named() {
    check_with("    machine: \"gtx480\",\n", "", "run.ron:2:1: field machine is missing");
    check_with("element: Char, ", "", "run.ron:5:15: workload: field element is missing");
    check_with(
        "    machine: \"gtx480\",\n",
        "    machine: \"gtx480\", name: \"b\",\n",
        "run.ron:4:24: field name is stated twice",
    );
}

#[test]
fn a_value_out_of_range_is_pointed_at() {
    check_with("1024", "0", "run.ron:5:50: workload.elements: 0 is outside 1..=1073741824");
    check_with("1024", "-3", "run.ron:5:50: workload.elements: -3 is outside 1..=1073741824");
    check_with(
        "1024",
        "2.5",
        "run.ron:5:50: workload.elements: expected a whole number in 1..=1073741824, found 2.5",
    );
}

#[test]
fn an_unknown_variant_is_pointed_at() {
    check_with(
        "Char",
        "char",
        "run.ron:5:34: workload.element: no variant char (hint: did you mean Char?)",
    );
}

#[test]
fn a_bad_name_is_pointed_at() {
    check_with(
        "\"test\"",
        "\"a/b\"",
        "run.ron:3:11: name: the name \"a/b\" has '/'; it may hold letters, digits, '-', '_' and '.'",
    );
    check_with("\"test\"", "\"..\"", "run.ron:3:11: name: the name \"..\" starts with a dot");
    check_with("\"test\"", "\"\"", "run.ron:3:11: name: the name is empty");
}

#[test]
fn a_syntax_error_is_pointed_at() {
    check_with("\"test\",", "\"test\"", "run.ron:4:5: expected comma");
    check_with("},\n)", "},\n", "run.ron:11:1: the text ends too early");
    check_with("},\n)", "},\n))", "run.ron:10:2: non-whitespace trailing characters");
}

#[test]
fn a_file_of_another_kind_is_named() {
    let a_machine = "expected Run(..), found Machine(..) (hint: a run names it as its machine)";
    check("Machine()", &[], &format!("run.ron:1:1: {a_machine}"));
    let a_study = "expected Run(..), found Study(..) (hint: `gsim study` takes it)";
    check("// Not a run.\nStudy()", &[], &format!("run.ron:2:1: {a_study}"));
    check("run()", &[], "run.ron:1:1: expected Run(..), found run(..)");
    for text in ["", "# A title (of a page)", "{\"a\": 1}", "[package]", "int main() {}"] {
        let none = "no file of gsim begins like this (hint: one of `Run(`, `Study(`, `Machine(`, `Micro(`)";
        check(text, &[], &format!("run.ron:1:1: {none}"));
    }
}

#[test]
fn an_unknown_machine_is_pointed_at() {
    check_with(
        "gtx480",
        "gtx48",
        "run.ron:4:14: machine: no preset is called \"gtx48\" (hint: did you mean gtx480? presets are \
         9800gt, gtx280, gtx480, c2050, gtx580, gtx680, gtx640, v100, a100, h100, h200; a file's name ends in .ron)",
    );
    check_with("gtx480", "mine.ron", "run.ron:4:14: machine: mine.ron: no such file");
}

#[test]
fn an_override_of_the_file_is_pointed_at() {
    check_with(
        "l1.mshr_mergers",
        "l1.mshr_mergrs",
        "run.ron:7:27: l1.mshr_mergrs: no field mshr_mergrs in l1 (hint: did you mean mshr_mergers?)",
    );
    check_with("16,", "65,", "run.ron:7:28: l1.mshr_mergers: 65 is outside 1..=64");
    check_with("active: 8", "active: 65", "run.ron:8:22: sm.policy: active: 65 is outside 1..=64");
    check_with(
        "l1.mshr_mergers",
        "dram.channels",
        "run.ron:7:26: dram.channels: l2.slices (12) is not a multiple of dram.channels (16) \
         (hint: set l2.slices too)",
    );
    check_with(
        "\"l1.mshr_mergers\": 16,",
        "\"l1.ways\": 4, \"machine.l1.ways\": 4,",
        "run.ron:7:42: l1.ways: this field is set twice",
    );
    check_with(
        "\"l1.mshr_mergers\": 16,",
        "\"l1.ways\": 4, \"l1.ways\": 4,",
        "run.ron:7:23: set: l1.ways is stated twice",
    );
}

#[test]
fn an_override_of_the_command_line_is_named() {
    for (sets, want) in [
        (
            &["--set", "l1.mshr_mergrs=16"][..],
            "--set l1.mshr_mergrs=16: no field mshr_mergrs in l1 (hint: did you mean mshr_mergers?)",
        ),
        (&["--set", "machine.l1.mshr_mergers=0"], "--set l1.mshr_mergers=0: 0 is outside 1..=64"),
        (
            &["--set", "l1.sets=64"],
            "--set l1.sets=64: sets (64) x ways (4) x line (128) = 32768, but size is 16384 \
             (hint: set l1.ways, l1.line or l1.size too)",
        ),
        (
            &["--set", "workload.element=Long"],
            "--set workload.element=Long: no variant Long (hint: one of Int, Short, Char)",
        ),
        (
            &["--set", "l1.sets"],
            "--set l1.sets: \"l1.sets\" is not path=value (hint: for example l1.mshr_mergers=16)",
        ),
        (
            &[
                "--set",
                "machine=h200",
                "--set",
                "l2.partitions=Two(upper: [9], latency: 74, queue: 8)",
            ],
            "--set l2.partitions=Two(upper: [9], latency: 74, queue: 8): l2.partitions names GPC 9, \
             to which sm.gpcs gives no TPC (hint: set sm.gpcs too)",
        ),
        (&["--set", "name=.x"], "--set name=.x: the name \".x\" starts with a dot"),
        (
            &["--set", "machine=gtx4800"],
            "--set machine=gtx4800: no preset is called \"gtx4800\" (hint: did you mean gtx480? \
             presets are 9800gt, gtx280, gtx480, c2050, gtx580, gtx680, gtx640, v100, a100, h100, h200; a file's name ends in .ron)",
        ),
    ] {
        check(GOOD, sets, want);
    }
}

#[test]
fn a_machine_file_has_its_own_place() {
    let folder = TempDir::new().unwrap();
    let machine = |from: &str, to: &str| {
        let text = include_str!("../configs/gpus/gtx480.ron");
        assert_eq!(text.matches(from).count(), 1, "{from}");
        std::fs::write(folder.path().join("my.ron"), text.replace(from, to)).unwrap();
    };
    let line_of = |what: &str| {
        let text = include_str!("../configs/gpus/gtx480.ron");
        1 + text.lines().position(|line| line.contains(what)).unwrap()
    };
    std::fs::write(folder.path().join("run.ron"), GOOD.replace("gtx480", "my.ron")).unwrap();

    machine("size: 16384,", "size: 16385,");
    // The rule between the fields names `sets` first.
    let sets = line_of("sets: 32,");
    let want = format!(
        "error: my.ron:{sets}:15: l1: sets (32) x ways (4) x line (128) = 16384, but size is 16385\n"
    );
    assert_eq!(gsim(folder.path(), &["machine", "check", "my.ron"]), (2, want.clone()));
    assert_eq!(gsim(folder.path(), &["run", "run.ron"]), (2, want));

    machine("rcd: 12,", "rcd: 0,");
    let want =
        format!("error: my.ron:{}:18: dram.timing.rcd: 0 is outside 1..=255\n", line_of("rcd:"));
    assert_eq!(gsim(folder.path(), &["machine", "check", "my.ron"]), (2, want));

    machine("slices: 12,", "slices: 13,");
    let want = format!(
        "error: my.ron:{}:17: l2.slices (13) is not a multiple of dram.channels (6)\n",
        line_of("slices:")
    );
    assert_eq!(gsim(folder.path(), &["machine", "check", "my.ron"]), (2, want));
}

#[test]
fn every_machine_is_checked_and_a_preset_is_one() {
    let folder = TempDir::new().unwrap();
    let text = include_str!("../configs/gpus/gtx480.ron");
    let nameless = text.replace("name: \"GeForce GTX 480\"", "name: \"\"");
    let line = 1 + text.lines().position(|line| line.contains("name: \"")).unwrap();
    std::fs::write(folder.path().join("a.ron"), nameless).unwrap();
    let output = Command::cargo_bin("gsim")
        .unwrap()
        .current_dir(folder.path())
        .args(["machine", "check", "a.ron", "bad.ron", "gtx480"])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let wrong = format!(
        "error: a.ron:{line}:11: name is empty: reports call the machine by it\n\
         error: bad.ron: no such file\n"
    );
    assert_eq!((output.status.code(), error), (Some(2), wrong));
    assert_eq!(output.stdout, b"gtx480: ok: GeForce GTX 480, 15 SMs\n");
}

#[test]
fn a_mark_in_front_of_utf_8_is_no_part_of_the_text() {
    check(&format!("\u{feff}{}", GOOD.replace("1024", "0")), &[], {
        "run.ron:5:50: workload.elements: 0 is outside 1..=1073741824"
    });
}

#[test]
fn what_is_nested_too_deeply_is_said_to_be() {
    let deep = format!("{}1{}", "(".repeat(200), ")".repeat(200));
    let value = format!("l1.sets={deep}");
    let want = format!("--set {value}: the value is not RON: Nested too deeply");
    check(GOOD, &["--set", &value], &want);
}

#[test]
fn a_shown_machine_can_be_used_again() {
    let folder = TempDir::new().unwrap();
    for set in [&[][..], &["--set", "l1.mshr_mergers=16"]] {
        let show = [&["machine", "show", "GTX-480"], set].concat();
        let shown = Command::cargo_bin("gsim").unwrap().args(show).output().unwrap();
        assert!(shown.status.success());
        std::fs::write(folder.path().join("my.ron"), shown.stdout).unwrap();
        let (code, error) = gsim(folder.path(), &["machine", "check", "my.ron"]);
        assert_eq!((code, error.as_str()), (0, ""));
    }
}

#[test]
fn refreshes_must_leave_time_for_work() {
    let run = |refi: u32| {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("run.ron"), GOOD).unwrap();
        let set = format!("dram.timing.refi={refi}");
        gsim(folder.path(), &["run", "run.ron", "--no-plots", "--set", &set])
    };
    let (code, error) = run(122);
    let want = "error: --set dram.timing.refi=122: timing.refi (122) leaves no time between refreshes: \
                with timing.rfc (61), a bank needs 123 clocks (hint: set dram.timing.rfc too)\n";
    assert_eq!((code, error.as_str()), (2, want));
    // The least is enough.
    assert_eq!(run(123), (0, String::new()));
}

#[test]
fn without_nvrtc_the_compiler_is_asked_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::cargo_bin("gsim")
        .unwrap()
        .current_dir(root)
        .env("GSIM_NVRTC", "/nowhere/libnvrtc.so.13")
        .args(["workload", "build"])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.starts_with("error: NVRTC cannot be loaded from /nowhere/libnvrtc.so.13: "));
    assert!(error.contains("pip install nvidia-cuda-nvrtc"));
    assert_eq!(error.lines().count(), 1);

    let (code, _) = gsim(root, &["workload", "build", "--check"]);
    assert_eq!(code, 0);
    let (code, error) = gsim(root, &["workload", "build", "stencil2d"]);
    let want = "error: no kernel is called \"stencil2d\" (hint: did you mean stencil1d?)\n";
    assert_eq!((code, error.as_str()), (2, want));
}

#[test]
fn a_bare_call_prints_the_help() {
    let output = Command::cargo_bin("gsim").unwrap().output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().contains("Usage: gsim [COMMAND]"));
}

#[test]
fn a_pattern_that_no_kernel_can_have_is_pointed_at() {
    let text = r#"Run(
    name: "test",
    machine: "gtx480",
    workload: Synthetic(
        ctas: 1,
        warps: 1,
        phases: [
            (
                accesses: 4,
                mix: [(pattern: Chase(node: 4, order: Shuffled), footprint: 4096, width: 2)],
            ),
            (
                accesses: 4,
                mix: [(pattern: Chase(node: 4, order: Shuffled), footprint: 4096, width: 1)],
            ),
        ],
    ),
)
"#;
    check(
        text,
        &["--set", "workload.as_kernel=true"],
        "run.ron:14:90: workload.phases.1.mix.0.width: a width of 1 cannot hold the number of one of 1024 nodes \
         (hint: 8 holds an address)",
    );
}

#[test]
fn what_a_kernel_has_that_is_not_supported_is_shown() {
    let folder = TempDir::new().unwrap();
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
                .visible .entry texture(.param .u64 t) {\n.reg .b32 %r<5>;\n\
                \ttex.2d.v4.f32.s32 {%r1,%r2,%r3,%r4}, [t, {%r1,%r2}];\n\tret;\n}\n\
                .visible .entry fine() {\n\tret;\n}\n";
    std::fs::write(folder.path().join("k.ptx"), text).unwrap();
    let shown = command::succeed(folder.path(), &["workload", "show", "k.ptx"]);
    let refused = "k.ptx\n\nentry texture\n  \
                   cannot be run: k.ptx:6:2: `tex.2d.v4.f32.s32` is not supported \
                   (hint: textures and surfaces are not modelled: read a buffer)\n\n\
                   entry fine\n";
    assert!(shown.starts_with(refused) && shown.ends_with(": exit 1\n"), "{shown}");
}

#[test]
fn a_missing_source_is_named_before_its_compiler() {
    let folder = TempDir::new().unwrap();
    for check in [&[][..], &["--check"]] {
        let (code, error) =
            gsim(folder.path(), &[&["workload", "build", "none.cu"], check].concat());
        assert_eq!((code, error.as_str()), (2, "error: none.cu: no such file\n"));
    }
}

#[test]
fn a_file_is_written_only_where_one_can_be() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("run.ron"), GOOD).unwrap();
    let export = |out: &str| gsim(folder.path(), &["workload", "export", "run.ron", "--out", out]);
    let told = |what: &str| (2, format!("error: {what}\n"));
    assert_eq!(export("none/k.ptx"), told("none: no such folder"));
    assert_eq!(export("run.ron/k.ptx"), told("run.ron: is no folder"));
    assert_eq!(export("."), told(".: is a folder, not a file"));
    assert_eq!(export("run.ron"), told("run.ron: is no PTX, so it is not replaced"));
    assert_eq!(export("k.ptx"), (0, String::new()));
    assert_eq!(export("k.ptx"), (0, String::new()));
    if cfg!(unix) {
        assert_eq!(export("/dev/null"), told("/dev/null: is not a plain file"));
    }
}

#[test]
fn a_machine_is_no_field_of_a_machine() {
    let folder = TempDir::new().unwrap();
    for command in ["show", "limits"] {
        let args = ["machine", command, "h200", "--set", "machine=v100"];
        let want = format!(
            "error: --set machine=v100: no field machine (hint: `gsim machine {command} v100` shows that one)\n"
        );
        assert_eq!(gsim(folder.path(), &args), (2, want));
    }
}

#[test]
fn a_micro_benchmark_is_taken_by_two_commands() {
    check(
        "Micro()",
        &[],
        "run.ron:1:1: expected Run(..), found Micro(..) \
         (hint: `gsim calibrate micro` takes it, and on a GPU `gsim native micro`)",
    );
}

#[test]
fn a_folder_that_is_in_the_way_of_a_run_is_named() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("run.ron"), GOOD).unwrap();
    std::fs::create_dir_all(folder.path().join("results/test/old")).unwrap();
    let (code, error) = gsim(folder.path(), &["run", "run.ron"]);
    let want = "error: results/test: holds no report.json, so it is not replaced \
                (hint: move it away, or give the run another name)\n";
    assert_eq!((code, error.as_str()), (2, want));
}

/// On a device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    for args in [&[][..], &["--help"], &["--version"], &["run", "-h"], &["machine", "list"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_gsim"))
            .args(args)
            .stdout(full)
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let want = "error: the output cannot be written: no storage space\n";
        assert_eq!((output.status.code(), error.as_str()), (Some(1), want), "{args:?}");
    }
}
