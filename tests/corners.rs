//! Machines at the edge of what a file may ask for, on which runs once failed.

#[path = "common/command.rs"]
mod command;

use std::fs;

use command::succeed;
use tempfile::TempDir;

/// A kernel of one pointer.
fn kernel(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .u64 %a<4>; .reg .u32 %r<80>; .reg .pred %p<2>; .local .align 4 .b8 own[256];\n\
         ld.param.u64 %a0, [p]; mov.u32 %r0, 7; mov.u32 %r3, 1;\n{body}ret;\n}}\n"
    )
}

/// Runs a kernel of so many CTAs with one and with two threads, which give the same report; its text.
fn check(body: &str, machine: &str, grid: u32, block: u32, changes: &str) -> String {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("k.ptx"), kernel(body)).unwrap();
    let workload = format!(
        "Kernel(source: \"k.ptx\", buffers: {{\"a\": (type: U32, elements: 4096)}}, launches: \
         [Launch(entry: \"k\", grid: {grid}, block: {block}, args: [Buffer(\"a\")])])"
    );
    check_workload(&folder, machine, &workload, changes)
}

fn check_workload(folder: &TempDir, machine: &str, workload: &str, changes: &str) -> String {
    let run =
        format!("Run(name: \"r\", machine: {machine:?}, workload: {workload}, set: {{{changes}}})");
    fs::write(folder.path().join("r.ron"), run).unwrap();
    let [one, two] = ["1", "2"].map(|threads| {
        succeed(folder.path(), &["run", "r.ron", "-q", "--no-plots", "--threads", threads]);
        fs::read_to_string(folder.path().join("results/r/report.json")).unwrap()
    });
    assert!(one == two, "threads change the report");
    one
}

#[test]
fn a_sector_that_stores_drop_comes_again_and_again() {
    let mut body = String::from("ld.global.cg.u32 %r1, [%a0]; ld.global.cg.u32 %r2, [%a0+32];\n");
    body += "add.u32 %r3, %r1, %r2; add.u32 %r3, %r3, %r3;\n";
    for load in 0..48 {
        let (reg, place) = (4 + load, 32 * (load % 2));
        body +=
            &format!("ld.global.u32 %r{reg}, [%a0+{place}]; st.global.u32 [%a0+{place}], %r0;\n");
        body += &"add.u32 %r3, %r3, %r3;\n".repeat(3);
    }
    check(
        &body,
        "gtx480",
        1,
        1,
        r#""l1.sector": 32, "l1.stores": Drop, "l1.mshr_entries": 1, "l1.mshr_mergers": 64,
           "l1.fill_latency": 256, "l1.hit_latency": 1, "l1.miss_queue": 64, "lsu.issue_latency": 1,
           "lsu.queue": 64, "noc.latency": 1, "l2.tag_latency": 0, "l2.data_latency": 1,
           "l2.sector": 32, "l2.fetch": 32"#,
    );
}

#[test]
fn a_copy_loses_sectors_that_others_still_wait_for() {
    let mut body = String::from("mov.u32 %r1, %ctaid.x; setp.eq.u32 %p0, %r1, 1;\n@%p0 bra B;\n");
    body += &"add.u32 %r3, %r3, %r3;\n".repeat(40);
    for load in 0..64 {
        let (reg, place) = (4 + load, 256 + 32 * (load % 4));
        body += &format!("ld.global.cg.u32 %r{reg}, [%a0+{place}];\n");
    }
    body += "ret;\nB:\n";
    body += &"st.global.u32 [%a0+256], %r0;\n".repeat(200);
    check(
        &body,
        "h200",
        2,
        1,
        r#""sm.count": 4, "sm.gpcs": [0, 2], "sm.tpc_sms": 1, "sm.instructions": Ptx, "sm.fetch": Ideal,
           "l2.partitions": Two(upper: [2], latency: 1, queue: 128), "l2.slices": 4, "dram.channels": 4,
           "l2.slice_hash": RoundRobin, "l2.coalescer": None, "l2.distance": Alike, "l2.sector": 32,
           "l2.fetch": 32, "l2.mshr_entries": 2, "l2.mshr_mergers": 64, "l2.reply_queue": 1,
           "l2.sector_latency": 0, "l2.tag_latency": 0, "l2.data_latency": 1, "l2.data_port": Unlimited,
           "noc.sm_port_bytes": 1, "noc.flit_bytes": 1, "noc.input_queue": 1, "noc.latency": 1,
           "noc.gpc_port": Unlimited, "l1.miss_queue": 64, "lsu.queue": 64, "launch.l2": Warm,
           "launch.retirement": Unlimited, "launch.latency": 0"#,
    );
}

/// Lines of local memory have the largest numbers, and with few slices the largest of all.
#[test]
fn two_slices_hold_local_memory() {
    let body = "mov.u64 %a1, own; mov.u32 %r0, 0;\nL:\nmul.wide.u32 %a2, %r0, 4; add.u64 %a3, %a1, %a2;\n\
                st.local.u32 [%a3], %r0;\nadd.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, 64;\n@%p0 bra L;\n\
                mov.u32 %r0, 0;\nM:\nmul.wide.u32 %a2, %r0, 4; add.u64 %a3, %a1, %a2;\n\
                ld.local.u32 %r4, [%a3];\nadd.u32 %r3, %r3, %r4; add.u32 %r0, %r0, 1;\n\
                setp.lt.u32 %p0, %r0, 64;\n@%p0 bra M;\nst.global.u32 [%a0], %r3;\n";
    let few = r#""sm.count": 4, "sm.gpcs": [0, 2], "l1.local_stores": Evict, "l1.local_loads": Bypass,
                 "l2.slice_hash": RoundRobin, "l2.slices": 2, "dram.channels": 2, "l2.partitions": "#;
    for partitions in ["One", "Two(upper: [2], latency: 69, queue: 128)"] {
        let report = check(body, "h200", 32, 256, &format!("{few}{partitions}"));
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let slices = report["components"]["l2"].as_array().unwrap();
        let sum =
            |name: &str| slices.iter().map(|slice| slice[name].as_u64().unwrap()).sum::<u64>();
        let (far, all) = (sum("far_write_sectors"), sum("write_sectors"));
        // Half of the lines are at home in the other partition.
        let expected = if partitions == "One" { 0 } else { all / 2 };
        assert!(far.abs_diff(expected) <= all / 50, "{far} of {all}");
    }
}

#[test]
fn a_slow_l2_is_asked_in_its_first_cycle() {
    let folder = TempDir::new().unwrap();
    check_workload(
        &folder,
        "gtx640",
        "Synthetic(ctas: 20, warps: 1, phases: [(accesses: 20, in_flight: 2, arithmetic: 10, mix: \
         [(pattern: Zipf(exponent: 0.9), footprint: 1048576, width: 8), \
         (pattern: Zipf(exponent: 0.9), footprint: 4096, width: 1)])])",
        r#""noc.latency": 2, "l2.tag_latency": 0, "clocks.core_khz": 3000000, "clocks.l2_khz": 100000"#,
    );
}

#[test]
fn lanes_of_an_instruction_may_access_several_spaces() {
    // Lane 0 reads global memory, the others their own.
    let body = "cvta.local.u64 %a1, own; mov.u32 %r1, %tid.x; mul.wide.u32 %a2, %r1, 4;\n\
                st.v4.u32 [%a1], {%r1, %r1, %r1, %r1}; setp.eq.u32 %p0, %r1, 0; selp.b64 %a1, %a0, %a1, %p0;\n\
                ld.v4.u32 {%r4, %r5, %r6, %r7}, [%a1]; add.u64 %a2, %a0, %a2; st.global.u32 [%a2+512], %r4;\n\
                @!%p0 atom.add.u64 %a3, [%a1], 1; @%p0 atom.add.u64 %a3, [%a0+256], 1;\n\
                add.u64 %a2, %a1, 8; selp.b64 %a2, %a0, %a2, %p0; atom.add.u64 %a3, [%a2], %a3;\n";
    for machine in ["gtx280", "gtx480", "gtx680", "h200"] {
        check(body, machine, 1, 32, "");
    }
}

#[test]
fn a_kernel_that_only_stores_at_its_end_stands_not_still() {
    // For three million cycles nothing but acknowledgements of stores arrives.
    let workload = "Synthetic(ctas: 120, warps: 6, registers: 20, phases: [(accesses: 20, in_flight: 1, address_ops: 0, \
                    mix: [(pattern: Stride(lane: 393216, access: 12582912, warp: 251658240), \
                    footprint: 0x100_0000_0000, width: 4, write_fraction: 1)])])";
    let changes = "\"lsu.queue\": 64, \"sm.count\": 30, \"clocks.dram_khz\": 1748255";
    check_workload(&TempDir::new().unwrap(), "gtx480", workload, changes);
}

#[test]
fn a_branch_holds_its_warp_also_where_that_waits_for_a_load() {
    let cycles = |latency: u32| {
        let body = "setp.eq.u32 %p0, %r3, 77; ld.global.u32 %r1, [%a0]; @%p0 bra B;\n\
                    add.u32 %r1, %r1, 1; st.global.u32 [%a0], %r1; ret;\nB:\n";
        let changes = format!(r#""sm.arithmetic.control.latency": {latency}"#);
        let report = check(body, "gtx480", 1, 32, &changes);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        report["totals"]["cycles"].as_u64().unwrap()
    };
    // The data is there after some 300 cycles.
    assert_eq!(cycles(10), cycles(4));
    assert_eq!(cycles(700) - cycles(500), 200);
}

/// A kernel that streams through memory, and one of an atomic after the other to one line.
const STREAM_AND_ATOMICS: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry stream(.param .u64 p, .param .u32 count) {
    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %a<3>;
    ld.param.u64 %a0, [p]; ld.param.u32 %r0, [count];
    mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; shl.b32 %r2, %r2, 2;
    shr.u32 %r1, %r1, 5; mul.lo.s32 %r1, %r1, %r0; shl.b32 %r1, %r1, 11; add.s32 %r2, %r2, %r1;
    cvt.u64.u32 %a1, %r2; add.s64 %a1, %a0, %a1; mov.u32 %r3, 0; mov.u32 %r4, 0;
L:  ld.global.cg.u32 %r5, [%a1]; ld.global.cg.u32 %r6, [%a1+512]; ld.global.cg.u32 %r7, [%a1+1024];
    ld.global.cg.u32 %r8, [%a1+1536]; add.s32 %r4, %r4, %r5; add.s32 %r4, %r4, %r6; add.s32 %r4, %r4, %r7;
    add.s32 %r4, %r4, %r8; add.s64 %a1, %a1, 2048; add.s32 %r3, %r3, 1; setp.lt.s32 %p1, %r3, %r0; @%p1 bra L;
    st.global.u32 [%a0], %r4; ret;
}
.visible .entry atomics(.param .u64 p, .param .u32 count) {
    .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %a<3>;
    ld.param.u64 %a0, [p]; ld.param.u32 %r0, [count]; mov.u32 %r1, %tid.x; mul.wide.u32 %a1, %r1, 4;
    add.s64 %a1, %a0, %a1; add.s64 %a1, %a1, 256; mov.u32 %r2, 0; mov.u32 %r3, 0;
L:  atom.global.add.u32 %r4, [%a1], %r3; add.s32 %r3, %r4, 1; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r0;
    @%p1 bra L; ret;
}
";

#[test]
fn a_full_way_to_the_sms_starves_neither_partition() {
    // The atomics are at home where the stream is; or come back to where it goes.
    for (sms, gpcs) in [(2, "[0, 1]"), (3, "[1, 1, 0]")] {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("k.ptx"), STREAM_AND_ATOMICS).unwrap();
        let workload = "Kernel(source: \"k.ptx\", parameters: {\"count\": 40, \"n\": 20}, buffers: {\"in\": (type: U32, \
             elements: \"32*count*512+1024\"), \"out\": (type: U32, elements: 4096)}, launches: [Concurrent(body: [\
             Launch(entry: \"stream\", grid: 1, block: 1024, args: [Buffer(\"in\"), I32(\"count\")]), \
             Launch(entry: \"atomics\", grid: 1, block: 32, args: [Buffer(\"out\"), I32(\"n\")])])])";
        let changes = format!(
            r#""sm.count": {sms}, "sm.tpc_sms": 1, "sm.gpcs": {gpcs}, "l2.slices": 2, "dram.channels": 2,
               "l2.mode": Cache, "l2.partitions": Two(upper: [1], latency: 4, queue: 8), "l2.slice_hash": RoundRobin,
               "l2.interleave": 256, "lsu.queue": 16, "l2.mshr_entries": 512, "l2.sets": 256, "l2.size": 262144,
               "l2.miss_queue": 64, "dram.queue": 128, "noc.flit_bytes": 8"#
        );
        let report = check_workload(&folder, "gtx480", workload, &changes);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let kernels = &report["kernels"][0]["concurrent"];
        let [stream, atomics] = [0, 1].map(|kernel| kernels[kernel]["end"].as_u64().unwrap());
        // Alone, the atomics take 3,500 cycles.
        assert!(stream > 100_000 && atomics < 5_000, "{sms} SMs: {stream} {atomics}");
    }
}
