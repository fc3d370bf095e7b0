//! No text may make the front end panic, recurse without bound, or run for ever.

use super::*;
use crate::config::machine::InstructionSet;
use proptest::prelude::*;

const RICH: &str = "
.reg .b64 %SPL; .local .align 8 .b8 depot[16]; .shared .align 4 .b8 tile[128];
mov.u64 %SPL, depot; st.local.u32 [%SPL], %r0; shl.b32 %r1, %r0, 2; mov.u32 %r2, tile;
add.u32 %r2, %r2, %r1; st.shared.u32 [%r2], %r0; bar.sync 0;
LOOP: setp.lt.and.s32 %p1|%p2, %r1, 100, !%p3; @!%p1 bra OUT; add.s32 %r1, %r1, 7;
cvt.rn.f32.s32 %f1, %r1; fma.rn.f32 %f2, %f1, 0f3F000000, %f1; cvt.rzi.sat.s32.f32 %r3, %f2;
shfl.sync.bfly.b32 %r4|%p4, %r3, 1, 31, -1; mov.b64 %a3, {%r3, %r4}; bra.uni LOOP;
OUT: { .reg .u32 t; lop3.b32 t, %r1, %r2, %r3, 0x96; mul.hi.s32 %r5, t, -3; }
atom.global.add.u32 %r6, [%a1], %r5; ld.global.nc.v2.u32 {%r7, %r8}, [%a0+0]; @%p2 exit; ret;";

/// Parses and, if that works, executes; every outcome but a panic is right.
fn survive(text: &str) {
    let ptx = source(text);
    let Ok(module) = Module::parse(&ptx) else { return };
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 4096);
    for entry in module.entries() {
        let mut args = vec![Arg::Buffer(buffer); 2];
        if module.parameters(entry).is_ok_and(|count| count == 3) {
            args.push(Arg::I32(64));
        }
        let launch = Launch {
            ptx: ptx.clone(),
            entry: entry.into(),
            grid: [2, 1, 1],
            block: [33, 1, 1],
            dynamic_shared: 16,
            args: args.clone(),
        };
        for set in [InstructionSet::Ptx, InstructionSet::Sass] {
            if let Ok(mut running) = module.launch_for(&launch, &mut memory, set) {
                running.limit = 2000;
                let _ = drain(&mut running);
            }
        }
    }
}

/// What compilers wrote, to be mutated.
const COMPILED: [&str; 3] =
    [include_str!("features.ptx"), include_str!("products.ptx"), include_str!("stencil_int.ptx")];

/// Pieces that a mutation may put in.
const PIECES: [&str; 32] = [
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    "@",
    "%r1",
    "%a1",
    "%p1",
    ".reg",
    ".v4",
    ".u64",
    ".s8",
    ".f64",
    "0",
    "-1",
    "99999999999999999999",
    "ret;",
    "bra LOOP;",
    "\u{e9}",
    "<70000>",
    ".shared",
    "_",
    "bar.sync 3, 64;",
    "call.uni (retval0), _Z6queensjjjj, (param0, param1, param2, param3);",
    "t: .branchtargets $L__BB0_1;",
    "brx.idx %r1, t;",
    ".param .b64 param0;",
    "generic(",
    "0xFF00(",
    ".func",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn random_text_is_refused(text in "\\PC{0,200}") {
        survive(&text);
    }

    #[test]
    fn mutated_kernels_are_executed_or_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..20, 0..=PIECES.len()), 1..5)
    ) {
        let mut text = kernel(RICH).into_bytes();
        for (place, removed, piece) in edits {
            let start = place.index(text.len());
            let end = (start + removed).min(text.len());
            let piece = PIECES.get(piece).copied().unwrap_or_default();
            text.splice(start..end, piece.bytes());
        }
        survive(&String::from_utf8_lossy(&text));
    }

    #[test]
    fn mutated_programs_of_a_compiler_are_executed_or_refused(
        seed in 0..COMPILED.len(),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0u8..5, any::<u8>()), 1..6,
        ),
    ) {
        let mut words: Vec<&str> = COMPILED[seed].split_inclusive([' ', '\t', '\n', ',']).collect();
        let changed: Vec<String> = edits.iter().map(|(at, _, _, byte)| {
            // One byte of a word.
            let mut word = words[at.index(words.len())].as_bytes().to_vec();
            let place = usize::from(*byte) % word.len();
            word[place] = byte.wrapping_mul(37) & 127;
            String::from_utf8_lossy(&word).into_owned()
        }).collect();
        for ((at, other, kind, byte), changed) in edits.iter().zip(&changed) {
            let (place, from) = (at.index(words.len()), other.index(words.len()));
            match kind {
                0 => words[place] = words[from],
                1 => drop(words.remove(place)),
                2 => words.insert(place, words[from]),
                3 => words[place] = PIECES[usize::from(*byte) % PIECES.len()],
                _ => words[place] = changed,
            }
        }
        survive(&words.concat());
    }

    #[test]
    fn misplaced_words_are_executed_or_refused(
        moves in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 1..4)
    ) {
        let text = kernel(RICH);
        let all: Vec<&str> = text.split(' ').collect();
        let mut words = all.clone();
        for [to, from] in moves {
            words[to.index(all.len())] = all[from.index(all.len())];
        }
        survive(&words.join(" "));
    }
}

#[test]
fn what_is_mutated_works() {
    for text in COMPILED {
        let ptx = source(text);
        let module = Module::parse(&ptx).unwrap();
        assert!(module.entries().all(|entry| module.parameters(entry).is_ok()));
    }
}

#[test]
fn the_kernel_that_is_mutated_works() {
    run(RICH, 32, &[0; 32]).unwrap();
}

#[test]
fn deep_nesting_and_many_registers_are_no_danger() {
    survive(&kernel(&format!("{}ret;{}", "{".repeat(100_000), "}".repeat(100_000))));
    survive(&"{".repeat(100_000));
    // Each block goes to the one before it.
    let chain: String =
        (1..30_000).map(|block| format!("B{block}: bra B{};\n", block - 1)).collect();
    survive(&kernel(&format!("bra B29999; B0: ret;\n{chain}")));
    survive(&kernel("mov.b64 {{{{%r1}}}}, %a1; ret;"));
    let many: String = (0..70_000).map(|reg| format!("mov.u32 %x{reg}, {reg};\n")).collect();
    let error = run(&format!(".reg .b32 %x<70000>;\n{many} ret;"), 32, &[]).unwrap_err();
    assert!(error.message.contains("65,535"), "{error}");
}
