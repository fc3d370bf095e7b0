//! Made-up but plausible results, for tests of what is drawn and printed.

use std::collections::BTreeMap;

use crate::config::parse::stated;
use crate::dram::DramStats;
use crate::gpu::{BufferStatistics, Components, KernelStatistics, Ledgers, LineStatistics};
use crate::l1::L1Stats;
use crate::l2::L2Stats;
use crate::noc::NocStats;
use crate::sm::{BufferCounters, BufferProfile, InstCounters, InstProfile, SmStats};
use crate::stats::{DramReason, IssueReason, LatencyStage, Ledger, LsuReason, Reason, WaitReason};
use crate::workload::Verdict;

use super::{Inputs, Report};

const SMS: u64 = 15;

fn ledger<R: Reason, const N: usize>(parts: &[(R, u64)]) -> Ledger<R, N> {
    let mut ledger = Ledger::default();
    for &(reason, amount) in parts {
        ledger.charge(reason, amount);
        ledger.add_total(amount);
    }
    ledger
}

fn ledgers(scale: u64) -> Ledgers {
    use DramReason as D;
    use IssueReason as I;
    use LatencyStage as L;
    use LsuReason as U;
    Ledgers {
        issue: ledger(&[
            (I::Issued, 4120 * scale),
            (I::LsuNoMerger, 3911 * scale),
            (I::LsuNoMshrLine, 88 * scale),
            (I::LsuCoalescing, 402 * scale),
            (I::LsuMissQueue, 61),
            (I::LsuServing, 377 * scale),
            (I::UnitBusy, 12),
            (I::Arithmetic, 940 * scale),
            (I::MemoryLsu, 1210 * scale),
            (I::MemoryL1, 356 * scale),
            (I::MemoryMerged, 612 * scale),
            (I::MemoryNoc, 133 * scale),
            (I::MemoryL2, 441 * scale),
            (I::MemoryDram, 801 * scale),
            (I::NoWarp, 290 * scale),
        ]),
        lsu: ledger(&[
            (U::Idle, 3001 * scale),
            (U::Serving, 1310 * scale),
            (U::NoMerger, 2511 * scale),
            (U::NoMshrLine, 43 * scale),
            (U::NoCacheLine, 7),
            (U::Coalescing, 322 * scale),
            (U::MissQueue, 19 * scale),
        ]),
        latency: ledger(&[
            (L::Lsu, 96_000 * scale),
            (L::L1, 61_000 * scale),
            (L::L1Merged, 88_000 * scale),
            (L::RequestNetwork, 9_100 * scale),
            (L::L2Queue, 44_000 * scale),
            (L::L2, 8_000 * scale),
            (L::L2Merged, 2_000 * scale),
            (L::DramQueue, 31_000 * scale),
            (L::DramService, 22_500 * scale),
            (L::ReplyNetwork, 11_900 * scale),
        ]),
        dram: ledger(&[
            (D::Read, 816 * scale),
            (D::Write, 300 * scale),
            (D::Turnaround, 141 * scale),
            (D::BankGroup, 95 * scale),
            (D::Row, 604 * scale),
            (D::Activates, 38 * scale),
            (D::Refresh, 62 * scale),
            (D::NoRequest, 1580 * scale),
        ]),
    }
}

fn components(scale: u64) -> Components {
    let sm = SmStats {
        warp_instructions: 4120 * scale / SMS * 2,
        thread_instructions: 4120 * 32 * scale / SMS * 2,
        ctas: 137,
        load_accesses: 2040 * scale / SMS,
        ..SmStats::default()
    };
    let l1 = L1Stats {
        load_hits: 610 * scale,
        load_merged: 280 * scale,
        load_misses: 110 * scale,
        ..L1Stats::default()
    };
    let l2 = L2Stats { read_hits: 70 * scale, read_misses: 55 * scale, ..L2Stats::default() };
    let dram = DramStats {
        clocks: 606 * scale,
        data_clocks: 186 * scale,
        read_bursts: 68 * scale,
        write_bursts: 25 * scale,
        ..DramStats::default()
    };
    let network = NocStats { packets: 1650 * scale, flits: 2900 * scale, contention: 17 };
    Components {
        sm: vec![sm; SMS as usize],
        l1: vec![l1; SMS as usize],
        request_network: network.clone(),
        reply_network: network,
        l2: vec![l2; 12],
        dram: vec![dram; 6],
    }
}

/// The arguments of `Report::new`, the name apart.
pub fn parts() -> (Inputs, Vec<KernelStatistics>, Verdict) {
    let machine = stated(include_str!("../../configs/gpus/gtx480.ron"));
    let workload = stated("Stencil1d(element: Char)");
    let inputs =
        Inputs { machine, workload, seed: 1, set: BTreeMap::new(), versions: BTreeMap::new() };
    let kernel = |scale: u64| KernelStatistics {
        name: "stencil1d_char".to_owned(),
        ctas: 2048,
        cta_threads: 256,
        resident_warps: 48,
        cycles: 459 * scale,
        concurrent: Vec::new(),
        ledgers: ledgers(scale),
        latency_accesses: 2040 * scale,
        components: components(scale),
        lines: Vec::new(),
        buffers: Vec::new(),
    };
    let kernels = vec![kernel(103), kernel(94), kernel(95), kernel(94)];
    (inputs, kernels, Verdict { elements: 524_288 })
}

/// A report of four launches.
pub fn report() -> Report {
    let (inputs, kernels, check) = parts();
    Report::new("stencil-char", inputs, kernels, check).expect("the ledgers sum")
}

/// A line where warps stood for data.
fn line(kernel: &str, line: u32, scale: u64) -> LineStatistics {
    LineStatistics {
        kernel: kernel.to_owned(),
        line,
        instructions: 1,
        profile: InstProfile {
            counters: InstCounters {
                issued: 3 * scale,
                threads: 96 * scale,
                accesses: 4 * scale,
                loads: 4 * scale,
                l1_hits: scale,
                ..InstCounters::default()
            },
            waits: ledger(&[
                (WaitReason::Issued, 3 * scale),
                (WaitReason::LsuTaken, 50 * scale),
                (WaitReason::Memory, 40 * scale),
            ]),
            latency: ledger(&[(LatencyStage::L1, 90 * scale), (LatencyStage::L2, 70 * scale)]),
        },
        ..LineStatistics::default()
    }
}

/// A buffer whose loads found their lines everywhere.
fn buffer(name: &str, address: Option<u64>, size: u64, scale: u64) -> BufferStatistics {
    let counters = BufferCounters {
        instructions: 20 * scale,
        bytes: 640 * scale,
        load_accesses: 20 * scale,
        loads: 20 * scale,
        l1_hits: 10 * scale,
        l1_merged: 6 * scale,
        l2_hits: 2 * scale,
        l2_merged: scale,
        dram: scale,
        ..BufferCounters::default()
    };
    let latency =
        ledger(&[(LatencyStage::L1, 2200 * scale), (LatencyStage::DramService, 1020 * scale)]);
    let profile = BufferProfile { counters, latency };
    BufferStatistics { name: name.to_owned(), address, size, profile }
}

/// The same with what warps did by line and by buffer: two launches of one kernel and one of another, whose source says where it comes from.
pub fn report_with_lines() -> Report {
    let (inputs, mut kernels, check) = parts();
    kernels[0].lines = vec![line("stencil1d_char", 3, 7), line("stencil1d_char", 4, 900)];
    kernels[1].lines = vec![line("stencil1d_char", 2, 1), line("stencil1d_char", 4, 100)];
    kernels[2].lines = vec![line("a_name_longer_than_all", 2, 600)];
    let [first, second] = [(0x1000_0000, 524_290), (0x1008_0200, 524_288)];
    kernels[0].buffers =
        vec![buffer("buffer 2", Some(second.0), second.1, 35), buffer("local memory", None, 0, 5)];
    kernels[1].buffers = vec![buffer("buffer 1", Some(first.0), first.1, 140)];
    kernels[2].buffers = vec![buffer("buffer 1", Some(first.0), first.1, 10)];
    let mut report = Report::new("stencil-char", inputs, kernels, check).expect("the ledgers sum");
    report.quote(
        "stencil1d_char",
        "{\n\tmov.u32 \t%r1, 0;\n\tret;\n\tld.global.s8 \t%r7, [%rd1+-1];",
    );
    report.quote("a_name_longer_than_all", ".loc 1 12 3\nadd.u32 %r1, %r1, 1;\n.file 1 \"my.cu\"");
    report
}
