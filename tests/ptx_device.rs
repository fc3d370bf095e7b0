//! Arithmetic instructions against what a GPU gave for the same operands; `tests/ptx/README.md` says how the
//! recording is made.

#[path = "ptx/values.rs"]
mod values;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use gsim::frontend::ptx::Module;
use gsim::isa::{Cta, CtaSource};
use gsim::workload::{Arg, DeviceMemory, Launch, PtxSource};

const TABLE: &str = include_str!("ptx/arithmetic.txt");
const RECORDED: &str = include_str!("ptx/arithmetic.device.txt");

/// Words of 64 bits that a case has for operands.
const OPERANDS: usize = 4;
/// Cases of an instruction with several operands.
const CASES: usize = 64;

/// How far a result may lie from the device's.
#[derive(Clone, Copy, Debug)]
enum Tolerance {
    Exact,
    /// Numbers between the two, and one.
    Ulp(u64),
    /// So much of the device's result.
    Relative(f64),
    /// So much.
    Absolute(f64),
    /// So much of the device's result where that is greater than one, else so much.
    Mixed(f64),
}

/// One instruction, or the few that show what one does.
struct Row {
    tolerance: Tolerance,
    text: String,
}

impl Row {
    /// The letters that follow a sign in the text.
    fn kinds(&self, sign: char) -> Vec<char> {
        let after = self.text.split(sign).skip(1);
        after.map(|rest| rest.chars().next().expect("a kind after each sign")).collect()
    }

    /// Operands of each case.
    fn cases(&self) -> Vec<[u64; OPERANDS]> {
        let kinds = self.kinds('$');
        let sets: Vec<&[u64]> = kinds.iter().map(|kind| values::of(*kind)).collect();
        let count = if let [only] = sets[..] { only.len() } else { CASES };
        // FNV-1a: any fixed choice does, but instructions should differ.
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let seed = self.text.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
        let choose = |case: usize, operand: usize| {
            let set = sets[operand];
            let core = &set[..set.len().min(values::CORE)];
            let hash = [case as u8, operand as u8, 1, 2].into_iter().fold(seed, mix) >> 20;
            match sets.len() {
                1 => set[case],
                // Every pair of the most telling values, then others.
                2 if case < values::CORE * values::CORE => {
                    core[[case % values::CORE, case / values::CORE][operand] % core.len()]
                }
                3.. if case < CASES / 3 => core[hash as usize % core.len()],
                _ => set[hash as usize % set.len()],
            }
        };
        let case = |case| {
            std::array::from_fn(
                |operand| {
                    if operand < sets.len() { choose(case, operand) } else { 0 }
                },
            )
        };
        (0..count).map(case).collect()
    }

    /// An entry that gives each thread one case. Results lie one behind the other in a word of 64 bits.
    fn kernel(&self, name: &str) -> String {
        let (mut loads, mut stores, mut text) = (String::new(), String::new(), self.text.clone());
        let (sources, results) = (self.kinds('$'), self.kinds('='));
        for (place, kind) in sources.iter().enumerate() {
            let (number, from) = (place + 1, 8 * place);
            let (register, class) = register(*kind, number);
            text = text.replacen(&format!("${kind}"), &register, 1);
            loads += &match class {
                "pred" => format!(
                    "ld.global.b32 %r{number}, [%w10+{from}]; setp.ne.b32 {register}, %r{number}, 0;\n"
                ),
                _ => format!("ld.global.{class} {register}, [%w10+{from}];\n"),
            };
        }
        for (place, kind) in results.iter().enumerate() {
            let (number, to) = (5 + place, 4 * place);
            let (register, class) = register(*kind, number);
            text = text.replacen(&format!("={kind}"), &register, 1);
            stores += &match class {
                "pred" => format!(
                    "selp.b32 %r3{place}, 1, 0, {register}; st.global.b32 [%w11+{to}], %r3{place};\n"
                ),
                _ => format!("st.global.{class} [%w11+{to}], {register};\n"),
            };
        }
        format!(
            ".visible .entry {name}(.param .u64 in, .param .u64 out) {{\n\
             .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %w<30>;\n\
             mov.u32 %r0, %tid.x; ld.param.u64 %w10, [in]; ld.param.u64 %w11, [out];\n\
             mul.wide.u32 %w12, %r0, {}; add.s64 %w10, %w10, %w12;\n\
             mul.wide.u32 %w12, %r0, 8; add.s64 %w11, %w11, %w12;\n\
             {loads}{text}\n{stores}ret;\n}}\n",
            8 * OPERANDS
        )
    }

    /// What gsim gives, or why it refuses.
    fn run(&self) -> gsim::error::Result<Vec<u64>> {
        let cases = self.cases();
        let mut memory = DeviceMemory::default();
        let input = memory.allocate("in", (cases.len() * OPERANDS * 8) as u64);
        let output = memory.allocate("out", (cases.len() * 8) as u64);
        let words = cases.iter().flatten();
        for (place, word) in memory.of_mut(input).chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let text = format!("{HEAD}{}", self.kernel("k"));
        let launch = Launch {
            ptx: Arc::new(PtxSource { path: "k.ptx".into(), text }),
            entry: "k".into(),
            grid: [1; 3],
            block: [cases.len() as u32, 1, 1],
            dynamic_shared: 0,
            args: vec![Arg::Buffer(input), Arg::Buffer(output)],
        };
        let module = Module::parse(&launch.ptx)?;
        module.launch(&launch, &mut memory)?.next(&mut Cta::default())?;
        let words = memory.of(output).as_chunks::<8>().0.iter();
        Ok(words.map(|word| u64::from_le_bytes(*word)).collect())
    }

    /// Whether a result is near enough to the device's.
    fn agrees(&self, got: u64, want: u64) -> bool {
        type Part = fn(u64) -> (f64, i64);
        let parts: &[Part] = match self.kinds('=')[0] {
            'f' => &[values::single],
            'd' => &[values::double],
            'h' => &[values::half],
            'e' => &[values::brain],
            'H' => &[values::half, |bits| values::half(bits >> 16)],
            'E' => &[values::brain, |bits| values::brain(bits >> 16)],
            _ => &[],
        };
        let near = |part: &Part| {
            let ((got, got_place), (want, want_place)) = (part(got), part(want));
            let difference = (got - want).abs();
            got.is_nan() && want.is_nan()
                || got == want
                || match self.tolerance {
                    Tolerance::Exact => false,
                    Tolerance::Ulp(most) => got_place.abs_diff(want_place) <= most,
                    Tolerance::Relative(most) => difference <= most * want.abs(),
                    Tolerance::Absolute(most) => difference <= most,
                    Tolerance::Mixed(most) => difference <= most * want.abs().max(1.0),
                }
        };
        let exact = matches!(self.tolerance, Tolerance::Exact);
        got == want || !exact && !parts.is_empty() && parts.iter().all(near)
    }
}

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// The register of an operand, and its type in loads and stores.
fn register(kind: char, number: usize) -> (String, &'static str) {
    let (family, class) = match kind {
        'p' => ("p", "pred"),
        'i' | 'v' | 'h' | 'e' => ("h", "b16"),
        'l' | 'w' | 'd' => ("w", "b64"),
        _ => ("r", "b32"),
    };
    (format!("%{family}{number}"), class)
}

/// The lines that stand for `text`: one for each choice of each `{a,b}`.
fn expand(text: &str) -> Vec<String> {
    let Some((head, rest)) = text.split_once('{') else { return vec![text.into()] };
    let (choices, tail) = rest.split_once('}').expect("braces are closed");
    let tails = expand(tail);
    let mut lines = Vec::new();
    for choice in choices.split(',') {
        lines.extend(tails.iter().map(|tail| format!("{head}{choice}{tail}")));
    }
    lines
}

fn rows() -> Vec<Row> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let each = lines.flat_map(|line| {
        let (tolerance, text) = line.split_once(": ").expect("TOLERANCE: TEXT");
        let (name, number) = tolerance.split_once(' ').unwrap_or((tolerance, "0"));
        let number: f64 = number.parse().expect("a number");
        let tolerance = match name {
            "exact" => Tolerance::Exact,
            "ulp" => Tolerance::Ulp(number as u64),
            "rel" => Tolerance::Relative(number.exp2()),
            "abs" => Tolerance::Absolute(number.exp2()),
            "mixed" => Tolerance::Mixed(number.exp2()),
            _ => panic!("no tolerance: {name}"),
        };
        expand(text).into_iter().map(move |text| Row { tolerance, text })
    });
    each.collect()
}

#[test]
fn every_instruction_gives_what_the_device_gave() {
    let rows = rows();
    let recorded: Vec<_> = RECORDED.lines().collect();
    assert_eq!(recorded.len(), rows.len(), "the recording is of another table");
    let mut wrong = String::new();
    for (row, line) in rows.iter().zip(recorded) {
        let (text, wants) = line.split_once(" => ").expect("TEXT => RESULTS");
        assert_eq!(text, row.text, "the recording is of another table");
        let wants: Vec<u64> = wants
            .split(' ')
            .map(|word| u64::from_str_radix(word, 16).expect("hexadecimal"))
            .collect();
        let gots = match row.run() {
            Ok(gots) => gots,
            Err(why) => {
                writeln!(wrong, "{text}: {why}").expect("strings grow");
                continue;
            }
        };
        assert_eq!(gots.len(), wants.len(), "{text}: the recording is of other values");
        for ((got, want), case) in gots.iter().zip(&wants).zip(row.cases()) {
            if !row.agrees(*got, *want) {
                let case = &case[..row.kinds('$').len()];
                writeln!(wrong, "{text} {case:x?}: {got:x}, the device {want:x}")
                    .expect("strings grow");
            }
        }
    }
    assert!(wrong.is_empty(), "{} results:\n{wrong}", wrong.lines().count());
}

/// Writes the module and the operands for `tests/ptx/device.cpp`.
#[test]
#[ignore = "writes files for a machine with a GPU"]
fn write_what_the_device_runs() {
    let (mut module, mut operands) = (String::from(HEAD), String::new());
    for (number, row) in rows().iter().enumerate() {
        let (name, cases) = (format!("k{number}"), row.cases());
        module += &row.kernel(&name);
        writeln!(operands, "{name} {}", row.text).expect("strings grow");
        for word in cases.iter().flatten() {
            write!(operands, "{word:x} ").expect("strings grow");
        }
        operands.push('\n');
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("arithmetic.ptx"), module).expect("the folder of tests is writable");
    std::fs::write(folder.join("operands.txt"), operands).expect("the folder of tests is writable");
    println!("{}", folder.display());
}
