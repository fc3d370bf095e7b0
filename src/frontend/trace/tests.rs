//! What is written is read, and nothing that is read makes the reader panic.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::codec::Codec;
use super::*;
use crate::config::machine::InstructionSet;
use crate::isa::{
    AccessKind, ArithClass, BarrierKind, BarrierUse, CacheOp, Cta, Inst, Kernel, LaneMask,
    LaunchSource, MemoryOp, Op, Operands, Reg, Rows, Space, WARP, WarpCursor, WarpStream, lanes,
};

/// Arithmetic, accesses of 4 bytes and of 1, a barrier, an exit.
fn insts() -> Vec<Inst> {
    let memory = |bytes: u8, kind: AccessKind| {
        Op::Memory(MemoryOp { space: Space::Global, kind, bytes, cache: CacheOp::Default })
    };
    let ops = [
        Op::Arith(ArithClass::IntAdd),
        memory(4, AccessKind::Load),
        memory(1, AccessKind::Store),
        Op::Barrier,
        Op::Exit,
    ];
    let inst = |op: &Op| Inst::new(*op, Operands::new(&[1]), Operands::new(&[0, 2]), 7);
    ops.iter().map(inst).collect()
}

fn kernel(ctas: u64) -> Kernel {
    Kernel {
        name: "k".to_owned(),
        insts: insts(),
        regs: 3,
        registers_per_thread: 8,
        shared_bytes: 64,
        local_bytes: 0,
        cta_threads: 64,
        ctas,
        buffers: vec![0x1000..0x2000, 0x4000..0x4100],
        overlaps_next: false,
    }
}

/// What a warp does, step by step.
#[derive(Clone, Debug)]
enum Step {
    Add(LaneMask, u32),
    Affine(LaneMask, u64, i32),
    Rows(u64, Rows),
    Scattered(LaneMask, u64, Vec<u32>),
    Bytes(LaneMask, LaneMask, Vec<u64>),
    Barrier(BarrierUse),
}

fn masks() -> impl Strategy<Value = LaneMask> {
    prop_oneof![Just(LaneMask::MAX), any::<LaneMask>(), (0..WARP as u32).prop_map(|lane| 1 << lane)]
}

fn steps() -> impl Strategy<Value = Step> {
    let words = || (1u64 << 40..1 << 46).prop_map(|word| 4 * word);
    let strides = || prop_oneof![Just(4), -64i32..64].prop_map(|words| 4 * words);
    let rows = (1..=4u32, strides(), strides());
    let rows = rows.prop_map(|(log, across, down)| Rows { width: 1 << log, across, down });
    let kinds = [BarrierKind::Wait, BarrierKind::Arrive, BarrierKind::Pass];
    let barrier = (0..16u8, 0..64u16, proptest::sample::select(kinds.to_vec()));
    prop_oneof![
        (masks(), 1..4u32).prop_map(|(mask, times)| Step::Add(mask, times)),
        (masks(), words(), strides()).prop_map(|(mask, base, step)| Step::Affine(mask, base, step)),
        (words(), rows).prop_map(|(base, rows)| Step::Rows(base, rows)),
        (masks(), words(), vec(any::<u32>(), WARP))
            .prop_map(|(mask, base, words)| Step::Scattered(mask | 1 << 9, base, words)),
        (masks(), masks(), vec(0u64..1 << 62, WARP)).prop_map(|(run, mask, bytes)| Step::Bytes(
            run,
            run & mask,
            bytes
        )),
        barrier.prop_map(|(id, warps, kind)| Step::Barrier(BarrierUse { id, warps, kind })),
    ]
}

fn stream(steps: &[Step]) -> WarpStream {
    let mut stream = WarpStream::default();
    for step in steps {
        match step {
            Step::Add(mask, times) => (0..*times).for_each(|_| stream.push(0, *mask)),
            Step::Affine(mask, base, stride) => {
                stream.push(1, *mask);
                stream.push_affine(*mask, *base, *stride);
            }
            Step::Rows(base, rows) => {
                stream.push(1, LaneMask::MAX);
                stream.push_rows(LaneMask::MAX, *base, *rows);
            }
            Step::Scattered(mask, base, words) => {
                stream.push(1, *mask);
                let words = std::array::from_fn(|lane| base + 4 * u64::from(words[lane]));
                stream.push_scattered(*mask, &words);
            }
            Step::Bytes(run, mask, bytes) => {
                stream.push(2, *run);
                stream.push_addresses(*mask, &std::array::from_fn(|lane| bytes[lane]));
            }
            Step::Barrier(barrier) => {
                stream.push(3, LaneMask::MAX);
                stream.push_barrier(*barrier);
            }
        }
    }
    stream.push(4, LaneMask::MAX);
    stream
}

/// One executed instruction, as a reader of the stream sees it.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Inst(u32, LaneMask),
    Addresses(LaneMask, Vec<u64>),
    Barrier(BarrierUse),
}

fn seen(warp: &WarpStream) -> Vec<Seen> {
    let mut cursor = WarpCursor::default();
    let mut seen = Vec::new();
    while let Some(run) = cursor.take_run(warp) {
        for pc in run.pc..run.pc + run.len {
            seen.push(Seen::Inst(pc, run.mask));
            match pc {
                1 | 2 => {
                    let addresses = cursor.addresses(warp);
                    let all = lanes(addresses.mask).map(|lane| addresses.of(lane)).collect();
                    seen.push(Seen::Addresses(addresses.mask, all));
                }
                3 => seen.push(Seen::Barrier(cursor.barrier(warp))),
                _ => {}
            }
        }
    }
    seen
}

fn cta(warps: &[Vec<Step>]) -> Cta {
    Cta { warps: warps.iter().map(|steps| stream(steps)).collect() }
}

proptest! {
    #[test]
    fn a_cta_comes_back_as_it_was_written(ctas in vec(vec(vec(steps(), 0..12), 2), 1..4)) {
        let (mut writer, mut reader) = (Codec::new(&insts()), Codec::new(&insts()));
        let mut read = Cta::default();
        for warps in &ctas {
            let cta = cta(warps);
            let mut bytes = Vec::new();
            writer.encode(&cta, &mut bytes);
            let instructions = reader.decode(&bytes, 2, &mut read).unwrap();
            prop_assert_eq!(instructions, cta.warps.iter().map(WarpStream::instructions).sum::<u64>());
            for (read, written) in read.warps.iter().zip(&cta.warps) {
                prop_assert_eq!(seen(read), seen(written));
            }
        }
    }

    /// What is taken for a CTA has whole instructions, aligned addresses, and an end.
    #[test]
    fn no_bytes_make_the_decoder_panic(
        warps in vec(vec(steps(), 0..8), 2),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = Vec::new();
        Codec::new(&insts()).encode(&cta(&warps), &mut bytes);
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if is_cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let mut read = Cta::default();
        if Codec::new(&insts()).decode(&bytes, 2, &mut read).is_ok() {
            for warp in &read.warps {
                let seen = seen(warp);
                prop_assert!(matches!(seen.last(), Some(Seen::Inst(4, _))));
                for pair in seen.windows(2) {
                    if let [Seen::Inst(pc, _), Seen::Addresses(_, addresses)] = pair {
                        let size = if *pc == 1 { 4 } else { 1 };
                        prop_assert!(addresses.iter().all(|one| *one < 1 << 62 && one % size == 0));
                    }
                }
            }
        }
    }
}

#[test]
fn a_warp_has_the_bytes_that_the_format_says() {
    let mut warp = WarpStream::default();
    warp.push_run(0, 2, LaneMask::MAX);
    warp.push_affine(LaneMask::MAX, 0x1000, 4);
    warp.push(1, 3);
    warp.push_addresses(1, &[0x1004; WARP]);
    warp.push_run(3, 2, 3);
    warp.push_barrier(BarrierUse { id: 2, warps: 0, kind: BarrierKind::Arrive });
    let mut bytes = Vec::new();
    Codec::new(&insts()).encode(&Cta { warps: vec![warp] }, &mut bytes);
    let expected = [
        // Two instructions of all lanes from place 0: affine, 0x1000 = 0x20 << 7 folded, stride 4.
        &[4, 0, 0, 0x80, 0x40, 8][..],
        // One at place 1, one before the last end, of lanes 3; lane 0 alone, 4 further, stride 0.
        &[3, 3, 1, 4, 1, 8, 0],
        // Two from place 3, one behind the last end, and the barrier.
        &[4, 2, 2, 0, 1],
        &[0],
    ];
    assert_eq!(bytes, expected.concat());
}

fn header(launches: u32) -> Header {
    let origin = Origin::AccelSim {
        list: "kernelslist.g".to_owned(),
        binary_version: 70,
        tracer_version: "4".to_owned(),
    };
    let gsim = env!("CARGO_PKG_VERSION").to_owned();
    Header { gsim, instructions: InstructionSet::Sass, launches, origin }
}

/// A trace of two launches in a folder.
fn written(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("two.gtrace");
    let mut file = TraceFile::create(&path, &header(2), 3).unwrap();
    for ctas in [1, 3] {
        file.begin(&kernel(ctas)).unwrap();
        for number in 0..ctas {
            let warps = [vec![Step::Affine(LaneMask::MAX, 0x1000 + 4 * number, 4)], vec![]];
            file.add(&cta(&warps)).unwrap();
        }
    }
    let (end, bytes) = file.finish().unwrap();
    assert_eq!(end, End { ctas: 4, warp_instructions: 12 });
    assert_eq!(bytes, fs::metadata(&path).unwrap().len());
    path
}

/// Reads a trace to its end; gives what it holds.
fn read(path: &Path) -> crate::error::Result<End> {
    let mut reader = TraceReader::open(path)?;
    let mut cta = Cta::default();
    while reader.begin()?.is_some() {
        while reader.next(&mut cta)? {}
    }
    Ok(reader.read())
}

#[test]
fn a_file_has_its_launches_and_its_end() {
    let folder = TempDir::new().unwrap();
    let path = written(&folder);
    // Nothing else is left of the writing.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let mut reader = TraceReader::open(&path).unwrap();
    assert_eq!(reader.header(), &header(2));
    // The first launch is passed over.
    assert_eq!(*reader.begin().unwrap().unwrap(), kernel(1));
    assert_eq!(*reader.begin().unwrap().unwrap(), kernel(3));
    let mut cta = Cta::default();
    let mut ctas = 0;
    while reader.next(&mut cta).unwrap() {
        let base = 0x1000 + 4 * ctas;
        let expected =
            Seen::Addresses(LaneMask::MAX, (0..32).map(|lane| base + 4 * lane).collect());
        assert_eq!(seen(&cta.warps[0])[1], expected);
        ctas += 1;
    }
    assert_eq!(ctas, 3);
    assert_eq!(reader.begin().unwrap(), None);
    assert_eq!(reader.begin().unwrap(), None);
    assert!(!reader.next(&mut cta).unwrap());
    assert_eq!(read(&path).unwrap(), End { ctas: 4, warp_instructions: 12 });
}

#[test]
fn a_file_that_is_cut_off_or_changed_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = written(&folder);
    let bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let error = read(&path).unwrap_err().to_string();
        let expected = match length < 12 {
            true => "two.gtrace: this is no trace of gsim",
            false => ": it is cut off (hint: capture or import it again)",
        };
        assert!(error.contains(expected), "{length}: {error}");
    }
    let mut unnoticed = 0;
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        fs::write(&path, &changed).unwrap();
        // The head of Zstandard's frame has bits that say nothing, or how much memory to keep ready.
        if let Ok(end) = read(&path) {
            assert_eq!(end, End { ctas: 4, warp_instructions: 12 });
            unnoticed += 1;
        }
    }
    assert!(unnoticed <= 4, "{unnoticed}");
    fs::write(&path, [&bytes[..], b"more"].concat()).unwrap();
    let error = read(&path).unwrap_err().to_string();
    let damaged = |what: &str| {
        format!(
            "two.gtrace: the trace is damaged in launch 1: {what} (hint: capture or import it again)"
        )
    };
    assert!(error.ends_with(&damaged("it has bytes behind its end")), "{error}");
    // The checksum is what the frame ends with.
    let mut other = bytes.clone();
    *other.last_mut().unwrap() ^= 1;
    fs::write(&path, other).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.ends_with(&damaged("its checksum is wrong")), "{error}");
    let mut later = bytes;
    later[8] = 9;
    fs::write(&path, later).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(
        error.contains(
            "the trace has format 9, and this gsim reads 2 (hint: capture or import it again)"
        ),
        "{error}"
    );
}

#[test]
fn what_is_no_trace_is_not_replaced() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("run.ron");
    fs::write(&path, "Run()").unwrap();
    let error = TraceFile::create(&path, &header(0), 3).err().unwrap().to_string();
    assert!(error.ends_with("run.ron: is no trace, so it is not replaced"), "{error}");
    let path = written(&folder);
    // A trace is, when the new one is whole.
    drop(TraceFile::create(&path, &header(1), 3).unwrap());
    assert_eq!(read(&path).unwrap().ctas, 4);
    TraceFile::create(&path, &header(0), 3).unwrap().finish().unwrap();
    assert_eq!(read(&path).unwrap(), End::default());
}

/// A trace of one launch without a CTA of its own to read; says what is wrong with the kernel.
#[track_caller]
fn check_refused(kernel: &Kernel, why: &str) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("k.gtrace");
    let mut file = TraceFile::create(&path, &header(1), 3).unwrap();
    file.begin(kernel).unwrap();
    file.finish().unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains(&format!("the trace is damaged: kernel k: {why}")), "{error}");
}

#[test]
fn kernels_that_no_machine_runs_are_refused() {
    let change = |change: &dyn Fn(&mut Kernel)| {
        let mut kernel = kernel(1);
        change(&mut kernel);
        kernel
    };
    check_refused(&change(&|kernel| kernel.ctas = 0), "it has 0 CTAs of 64 threads");
    check_refused(
        &change(&|kernel| kernel.cta_threads = 1 << 20),
        "it has 1 CTA of 1048576 threads",
    );
    check_refused(&change(&|kernel| kernel.ctas = 1 << 50), "it has 1125899906842624 CTAs");
    check_refused(&change(&|kernel| kernel.regs = 999), "it has 999 registers and 5 instructions");
    check_refused(&change(&|kernel| kernel.regs = 2), "instruction 0 names register 2 of 2");
    check_refused(
        &change(&|kernel| kernel.registers_per_thread = 1 << 30),
        "a thread has 1073741824 registers",
    );
    let guard = change(&|kernel| kernel.insts[0].guard = Some(1 as Reg));
    check_refused(&guard, "instruction 0 does not read its guard");
    let wide = change(&|kernel| {
        let Op::Memory(op) = &mut kernel.insts[1].op else { panic!() };
        op.bytes = 12;
    });
    check_refused(&wide, "instruction 1 accesses 12 bytes");
}

#[test]
fn names_of_the_format_stay() {
    let json = serde_json::to_string(&insts()[1]).unwrap();
    let expected =
        r#"{"op":{"Memory":{"space":"Global","kind":"Load","bytes":4,"cache":"Default"}},"#;
    assert!(json.starts_with(expected), "{json}");
    let many: Vec<Reg> = (0..9).collect();
    assert!(serde_json::from_str::<Operands>(&serde_json::to_string(&many).unwrap()).is_err());
    let origin = Origin::Run {
        name: "a".to_owned(),
        workload: crate::config::parse::stated("Stencil1d(element: Char)"),
        seed: 1,
        versions: BTreeMap::new(),
    };
    let text = serde_json::to_string(&origin).unwrap();
    assert_eq!(serde_json::from_str::<Origin>(&text).unwrap(), origin);
}
