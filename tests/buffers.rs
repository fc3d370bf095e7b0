//! What warps do by buffer: what they ask for, and where loads find their lines.

mod common;
#[path = "common/stencil.rs"]
mod stencil;

use common::{Script, Step, gtx480, row, run};
use gsim::gpu::{BufferStatistics, Stepping};
use gsim::isa::LOCAL_MEMORY;
use gsim::simulate::simulate;
use gsim::sm::BufferCounters;

const BASE: u64 = 0x1000_0000;
/// A second buffer, of other L2 slices' lines.
const OTHER: u64 = BASE + 0x10_000;

fn named<'a>(buffers: &'a [BufferStatistics], name: &str) -> &'a BufferStatistics {
    let found = buffers.iter().find(|buffer| buffer.name == name);
    found.unwrap_or_else(|| panic!("no {name} among {buffers:#?}"))
}

#[test]
fn loads_find_their_lines_in_five_places() {
    let load = |src, dst, addresses| Step::Load { dst, src, addresses, bytes: 4 };
    let line = row(BASE, 4, 32);
    // Past the L1 a sector of 32 bytes is an access.
    let past_l1 =
        |dst, src, first| Step::LoadPastL1 { dst, src, addresses: row(first, 4, 8), bytes: 4 };
    let seen = run(&gtx480(&[]), || {
        let script = Script::new(1, 32, |_, _| {
            vec![
                // From the DRAM, and the same line before it has come.
                load(0, 1, line.clone()),
                load(0, 2, line.clone()),
                // It is there now; and it is in the L2 for who asks past the L1.
                load(2, 3, line.clone()),
                past_l1(4, 3, BASE),
                // Another one twice: the second load waits for the first one's line in the L2.
                past_l1(5, 4, BASE + 128),
                past_l1(6, 4, BASE + 128),
                Step::Store { addresses: row(OTHER, 128, 3), bytes: 2 },
                Step::Atomic { dst: 7, src: 0, addresses: row(OTHER, 0, 32), bytes: 4 },
            ]
        });
        script.buffer(BASE..BASE + 256).buffer(OTHER..OTHER + 4096)
    });
    let [first, second] = &seen.buffers[..] else { panic!("two buffers") };
    assert_eq!((first.name.as_str(), first.address, first.size), ("buffer 1", Some(BASE), 256));
    let counters = BufferCounters {
        instructions: 6,
        bytes: 3 * 128 + 3 * 32,
        load_accesses: 6,
        loads: 6,
        l1_hits: 1,
        l1_merged: 1,
        l2_hits: 1,
        l2_merged: 1,
        dram: 2,
        ..BufferCounters::default()
    };
    assert_eq!(first.profile.counters, counters);
    let counters = &second.profile.counters;
    assert_eq!((counters.instructions, counters.bytes), (2, 3 * 2 + 32 * 4));
    assert_eq!((counters.store_accesses, counters.atomic_accesses), (3, 1));
    // The old value comes back: it was where the store had left it.
    assert_eq!((counters.load_accesses, counters.loads), (0, 1));
    let both = first.profile.latency.total() + second.profile.latency.total();
    assert_eq!(both, seen.ledgers.latency.total());
}

#[test]
fn what_goes_to_no_buffer_or_to_several_counts_by_itself() {
    let seen = run(&gtx480(&[]), || {
        let script = Script::new(1, 32, |_, _| {
            vec![
                Step::Load { dst: 1, src: 0, addresses: row(BASE, OTHER - BASE, 2), bytes: 4 },
                Step::Load { dst: 2, src: 0, addresses: row(OTHER, 4, 32), bytes: 4 },
                Step::LoadLocal { dst: 3, src: 0, addresses: row(LOCAL_MEMORY, 4, 32), bytes: 4 },
                Step::Constants { dst: 4, addresses: row(0, 0, 32) },
            ]
        });
        script.buffer(BASE..BASE + 256).buffer(OTHER..OTHER + 4096)
    });
    let loads = |name| named(&seen.buffers, name).profile.counters.load_accesses;
    assert_eq!(["buffer 2", "local memory", "elsewhere"].map(loads), [1; 3]);
    assert_eq!(loads("several at once"), 2);
    assert_eq!(seen.buffers.len(), 4, "{:#?}", seen.buffers);
}

#[test]
fn a_run_has_the_workloads_names() {
    let buffers = |name: &str| {
        let mut run = stencil::load(name, &[]);
        run.by_line = true;
        simulate(&run, Stepping::SkipAhead, &mut |_| ()).unwrap().buffers
    };
    let spmv = buffers("spmv");
    let names: Vec<&str> = spmv.iter().map(|buffer| buffer.name.as_str()).collect();
    assert_eq!(names, ["row_offsets", "columns", "values", "x", "y"]);
    // Two words for each of 64 warps' rows, the second one shifted by a word; a line of results for each.
    let [offsets, y] = [&spmv[0], &spmv[4]];
    assert_eq!((offsets.size, offsets.profile.counters.instructions), (4 * 2049, 2 * 64));
    assert_eq!(offsets.profile.counters.load_accesses, 3 * 64);
    assert_eq!((y.profile.counters.store_accesses, y.profile.counters.loads), (64, 0));
    assert_eq!(y.profile.counters.bytes, y.size);
    // All launches together, and the second stencil buffer as often as the first.
    let stencil = buffers("stencil-char");
    let [a, b] = &stencil[..] else { panic!("two buffers") };
    assert_eq!(a.profile.counters.instructions, b.profile.counters.instructions);
    // Every element of a stream comes from the DRAM, once.
    let stream = buffers("stream");
    let [read, written] = &stream[..] else { panic!("{stream:#?}") };
    assert_eq!([&read.name, &written.name], ["Stream 1", "Stream 2"]);
    let counters = &read.profile.counters;
    assert_eq!(counters.dram, counters.loads);
    // Sixteen bytes a lane are four lines; two vectors are read for each that is written.
    assert_eq!(counters.load_accesses, 4 * counters.instructions);
    assert_eq!(counters.instructions, 2 * written.profile.counters.instructions);
}
