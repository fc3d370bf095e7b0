//! The random numbers of `random` and the ranks of `zipf` as PTX. The formulas are in `workloads/PATTERNS.md`.

use std::fmt::{Display, Write};

use super::super::random::{GAMMA, MIX, Permutation};
use super::super::zipf::Zipf;
use super::code::{Code, Reg};

/// Mixes the 64 bits of `z`.
fn mix(code: &mut Code, z: Reg) -> Reg {
    let mut z = z;
    for (shift, factor) in [(30, MIX[0]), (27, MIX[1])] {
        let shifted = code.new_wide("shr.u64", format_args!("{z}, {shift}"));
        let mixed = code.new_wide("xor.b64", format_args!("{z}, {shifted}"));
        z = code.new_wide("mul.lo.u64", format_args!("{mixed}, {factor:#x}"));
    }
    let shifted = code.new_wide("shr.u64", format_args!("{z}, 31"));
    code.new_wide("xor.b64", format_args!("{z}, {shifted}"))
}

/// The draw of a sum of key and counter.
pub fn draw(code: &mut Code, sum: Reg) -> Reg {
    mix(code, sum)
}

/// The draw that follows `h`.
pub fn again(code: &mut Code, h: Reg) -> Reg {
    let sum = code.new_wide("add.u64", format_args!("{h}, {GAMMA:#x}"));
    mix(code, sum)
}

/// A number below `count`.
pub fn below(code: &mut Code, h: Reg, count: impl Display) -> Reg {
    code.new_wide("mul.hi.u64", format_args!("{h}, {count}"))
}

/// Whether a draw has the probability of `threshold`, which is neither 0 nor 2^32.
pub fn chance(code: &mut Code, h: Reg, threshold: u64) -> Reg {
    let high = code.new_wide("shr.u64", format_args!("{h}, 32"));
    code.new_pred("setp.lt.u64", format_args!("{high}, {threshold}"))
}

/// Where a permutation brings `place`.
pub fn permuted(code: &mut Code, permutation: &Permutation, place: Reg) -> Reg {
    let value = code.new_wide("mov.b64", place);
    let (high, low) = permutation.bits();
    if permutation.count() == 1 << (high + low) {
        encrypt(code, permutation, value);
        return value;
    }
    // Walked until it is back in the range.
    code.until_false(|code| {
        encrypt(code, permutation, value);
        code.new_pred("setp.ge.u64", format_args!("{value}, {}", permutation.count()))
    });
    value
}

/// One pass through the network, in place.
fn encrypt(code: &mut Code, permutation: &Permutation, value: Reg) {
    let (mut left_bits, mut right_bits) = permutation.bits();
    let mask = |bits: u32| (1u64 << bits) - 1;
    let mut left = code.new_wide("shr.u64", format_args!("{value}, {right_bits}"));
    let mut right = code.new_wide("and.b64", format_args!("{value}, {:#x}", mask(right_bits)));
    for key in permutation.keys() {
        let keyed = code.new_wide("xor.b64", format_args!("{right}, {key:#x}"));
        let mixed = mix(code, keyed);
        let cut = code.new_wide("and.b64", format_args!("{mixed}, {:#x}", mask(left_bits)));
        let next = code.new_wide("xor.b64", format_args!("{left}, {cut}"));
        (left, right) = (right, next);
        (left_bits, right_bits) = (right_bits, left_bits);
    }
    let high = code.new_wide("shl.b64", format_args!("{left}, {right_bits}"));
    code.op(format_args!("or.b64 {value}, {high}, {right}"));
}

/// The table of a Zipf distribution in constant memory.
#[derive(Clone, Debug)]
pub struct Table {
    /// Entries.
    count: usize,
    /// Levels of the search.
    levels: u32,
    /// Addresses of the ends, and of the pairs of first rank and number of ranks.
    ends: Reg,
    pairs: Reg,
}

impl Table {
    /// Bytes of constant memory that a table takes.
    pub fn bytes(ranks: &Zipf) -> usize {
        let count = ranks.ends().len();
        (count.next_power_of_two() + 2 * count) * 8
    }

    /// Declares a table in `module`, and brings its addresses into registers.
    pub fn new(name: &str, ranks: &Zipf, module: &mut String, code: &mut Code) -> Self {
        let count = ranks.ends().len();
        let levels = count.next_power_of_two().ilog2();
        // Behind the last end nothing is less than or equal to a draw, but for the very last draw.
        let ends = ranks.ends().iter().copied().chain(std::iter::repeat(u64::MAX));
        declare(module, &format!("{name}_ends"), ends.take(count.next_power_of_two()));
        let pairs = ranks.starts().windows(2).flat_map(|pair| [pair[0], pair[1] - pair[0]]);
        declare(module, &format!("{name}_ranks"), pairs);
        let ends = code.new_wide("mov.u64", format_args!("{name}_ends"));
        let pairs = code.new_wide("mov.u64", format_args!("{name}_ranks"));
        Table { count, levels, ends, pairs }
    }

    /// The rank of a draw, from 0.
    pub fn rank(&self, code: &mut Code, h: Reg) -> Reg {
        let mut at = code.new_wide("mov.b64", 0);
        if self.levels > 0 {
            let place = code.new_wide("mov.b64", self.ends);
            for level in (0..self.levels).rev() {
                let step = 8u64 << level;
                let end = code.new_wide("ld.const.u64", format_args!("[{place}+{}]", step - 8));
                let is_past = code.new_pred("setp.le.u64", format_args!("{end}, {h}"));
                code.op(format_args!("@{is_past} add.u64 {place}, {place}, {step}"));
            }
            let offset = code.new_wide("sub.u64", format_args!("{place}, {}", self.ends));
            let last = (self.count as u64 - 1) * 8;
            at = code.new_wide("min.u64", format_args!("{offset}, {last}"));
        }
        let twice = code.new_wide("shl.b64", format_args!("{at}, 1"));
        let pair = code.new_wide("add.u64", format_args!("{twice}, {}", self.pairs));
        let (first, count) = (code.wide(), code.wide());
        code.op(format_args!("ld.const.v2.u64 {{{first}, {count}}}, [{pair}]"));
        let second = again(code, h);
        let within = below(code, second, count);
        code.new_wide("add.u64", format_args!("{first}, {within}"))
    }
}

fn declare(module: &mut String, name: &str, words: impl Iterator<Item = u64>) {
    let words: Vec<String> = words.map(|word| format!("{word:#x}")).collect();
    let _ = writeln!(module, ".const .align 16 .b64 {name}[{}] = {{", words.len());
    for line in words.chunks(6) {
        let _ = writeln!(module, "\t{},", line.join(", "));
    }
    // The last word has no comma behind it.
    module.truncate(module.trim_end_matches(",\n").len());
    module.push_str("\n};\n");
}
