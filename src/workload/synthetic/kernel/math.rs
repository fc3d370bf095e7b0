//! The arithmetic of a generated kernel.

use super::code::{Code, Part, Reg, XOR_AND};
use crate::config::SyntheticSpec;
use crate::config::synthetic::{MathClass, Phase};

/// Accumulators of arithmetic that is independent, as in the synthetic streams.
const ACCUMULATORS: u32 = 8;
/// Instructions that are written for one access; more are a loop. A multiple of [`ACCUMULATORS`].
const UNIT: u32 = 32;

/// One, as a single-precision number.
pub const ONE: u32 = 0x3f80_0000;

/// What the instructions of a class work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Whole,
    Single,
    Double,
    /// Whole numbers and infinity, of which the power of two is exact.
    Special,
}

fn kind(class: MathClass) -> Kind {
    match class {
        MathClass::IntAdd | MathClass::IntMul | MathClass::IntMad | MathClass::IntDiv => {
            Kind::Whole
        }
        MathClass::FpAdd | MathClass::FpMul | MathClass::FpFma | MathClass::FpDiv => Kind::Single,
        MathClass::DpAdd | MathClass::DpMul | MathClass::DpFma | MathClass::DpDiv => Kind::Double,
        MathClass::Sfu => Kind::Special,
    }
}

/// The registers of the arithmetic.
#[derive(Clone, Debug)]
pub struct Math {
    /// Accumulators of each kind that some phase uses.
    accumulators: Vec<(Kind, Vec<Reg>)>,
    /// The operand of each slot: 32 bits, and 64.
    operands: Vec<(Reg, Reg)>,
    zero: Reg,
}

impl Math {
    /// Sets up what the phases of `spec` need.
    pub fn new(spec: &SyntheticSpec, zero: Reg, code: &mut Code) -> Self {
        let phases = || spec.phases.iter().filter(|phase| phase.arithmetic.get() > 0);
        let mut accumulators: Vec<(Kind, Vec<Reg>)> = Vec::new();
        for phase in phases() {
            let kind = kind(phase.class);
            let count = phases()
                .filter(|phase| self::kind(phase.class) == kind)
                .map(|phase| accumulators_of(phase))
                .max()
                .unwrap_or(0);
            if !accumulators.iter().any(|(known, _)| *known == kind) {
                let all = (0..count).map(|number| first(kind, number, zero, code)).collect();
                accumulators.push((kind, all));
            }
        }
        let slots = phases().map(|phase| phase.in_flight.get()).max().unwrap_or(0);
        let has = |wanted: &dyn Fn(Kind) -> bool| phases().any(|phase| wanted(kind(phase.class)));
        let (narrow, double) = (
            has(&|kind| matches!(kind, Kind::Whole | Kind::Single)),
            has(&|kind| kind == Kind::Double),
        );
        let operands = (0..slots)
            .map(|_| {
                let operand = (code.narrow(), code.wide());
                if narrow {
                    code.op(format_args!("mov.b32 {}, {ONE:#x}", operand.0));
                }
                if double {
                    code.op(format_args!("mov.b64 {}, 0x3ff0000000000000", operand.1));
                }
                operand
            })
            .collect();
        Math { accumulators, operands, zero }
    }

    fn accumulators(&self, phase: &Phase) -> &[Reg] {
        let kind = kind(phase.class);
        let found = self.accumulators.iter().find(|(known, _)| *known == kind);
        &found.expect("set up for all phases").1
    }

    /// Makes the operand of a slot from words that were loaded. With `is_plain` they are numbers to work on;
    /// else they may be any bits, and only make it wait.
    pub fn operand(
        &self,
        code: &mut Code,
        phase: &Phase,
        slot: u32,
        words: &[Reg],
        is_plain: bool,
    ) {
        let outer = code.part(Part::Operand);
        let (narrow, wide) = self.operands[slot as usize];
        let word = words[0];
        match (kind(phase.class), is_plain) {
            (Kind::Special, _) => {
                let first = self.accumulators(phase)[0];
                code.op(format_args!(
                    "lop3.b32 {first}, {first}, {word}, {}, {XOR_AND}",
                    self.zero
                ));
            }
            (Kind::Double, true) => {
                let high = words.get(1).unwrap_or(&word);
                code.op(format_args!("mov.b64 {wide}, {{{word}, {high}}}"));
            }
            (Kind::Double, false) => {
                let one = self.one(code, word);
                code.op(format_args!("mov.b64 {wide}, {{{one}, {one}}}"));
            }
            (_, true) => code.op(format_args!("mov.b32 {narrow}, {word}")),
            (_, false) => {
                let one = self.one(code, word);
                code.op(format_args!("mov.b32 {narrow}, {one}"));
            }
        }
        code.part(outer);
    }

    /// One, once `word` is there.
    fn one(&self, code: &mut Code, word: Reg) -> Reg {
        code.new_narrow("lop3.b32", format_args!("{ONE:#x}, {word}, {}, {XOR_AND}", self.zero))
    }

    /// Writes the arithmetic on the operand of a slot, which is that of access `access` of the phase.
    pub fn write(&self, code: &mut Code, phase: &Phase, slot: u32, access: u32) {
        let count = phase.arithmetic.get();
        let (rounds, rest) =
            if count > 2 * UNIT { (count / UNIT, count % UNIT) } else { (0, count) };
        if rounds > 0 {
            let rounds = code.begin(rounds.into());
            self.unit(code, phase, (slot, access), UNIT);
            code.end(rounds);
        }
        self.unit(code, phase, (slot, access), rest);
    }

    fn unit(&self, code: &mut Code, phase: &Phase, (slot, access): (u32, u32), count: u32) {
        if count == 0 {
            return;
        }
        let accumulators = self.accumulators(phase);
        let (narrow, wide) = self.operands[slot as usize];
        for number in 0..count {
            let stride = if phase.dependent { 1 } else { ACCUMULATORS };
            let (place, earlier) = (number % stride, number / stride);
            let a = accumulators[place as usize];
            // Instructions on this accumulator so far, modulo 2.
            let of_access = (count - place).div_ceil(stride);
            let is_odd = (access % 2 * of_access + earlier) % 2 == 1;
            if phase.class == MathClass::IntDiv {
                // A divisor that changes, so that its reciprocal is not computed once, and that is not 0.
                code.part(Part::Operand);
                code.op(format_args!("or.b32 {a}, {a}, 1"));
            }
            code.part(Part::Arithmetic);
            match phase.class {
                // In turns, or the assembler adds two at once.
                MathClass::IntAdd if is_odd => code.op(format_args!("xor.b32 {a}, {a}, {narrow}")),
                MathClass::IntAdd => code.op(format_args!("add.u32 {a}, {a}, {narrow}")),
                MathClass::IntMul => code.op(format_args!("mul.lo.u32 {a}, {a}, {narrow}")),
                MathClass::IntMad => {
                    code.op(format_args!("mad.lo.u32 {a}, {a}, {narrow}, {narrow}"))
                }
                MathClass::IntDiv => code.op(format_args!("div.u32 {a}, {narrow}, {a}")),
                MathClass::FpAdd => code.op(format_args!("add.rn.f32 {a}, {a}, {narrow}")),
                MathClass::FpMul => code.op(format_args!("mul.rn.f32 {a}, {a}, {narrow}")),
                MathClass::FpFma => {
                    code.op(format_args!("fma.rn.f32 {a}, {a}, 0f3F000000, {narrow}"));
                }
                MathClass::FpDiv => code.op(format_args!("div.rn.f32 {a}, {narrow}, {a}")),
                MathClass::DpAdd => code.op(format_args!("add.rn.f64 {a}, {a}, {wide}")),
                MathClass::DpMul => code.op(format_args!("mul.rn.f64 {a}, {a}, {wide}")),
                MathClass::DpFma => {
                    code.op(format_args!("fma.rn.f64 {a}, {a}, 0d3FE0000000000000, {wide}"));
                }
                MathClass::DpDiv => code.op(format_args!("div.rn.f64 {a}, {wide}, {a}")),
                MathClass::Sfu => code.op(format_args!("ex2.approx.ftz.f32 {a}, {a}")),
            }
        }
    }

    /// A word of the last result of a phase's arithmetic.
    pub fn last(&self, code: &mut Code, phase: &Phase) -> Reg {
        let accumulators = self.accumulators(phase);
        let number = phase.arithmetic.get() - 1;
        let a = accumulators[if phase.dependent { 0 } else { number % ACCUMULATORS } as usize];
        word(code, a)
    }

    /// All results in one word.
    pub fn fold(&self, code: &mut Code) -> Reg {
        let sum = code.new_narrow("mov.b32", 0);
        for &a in self.accumulators.iter().flat_map(|(_, all)| all) {
            let word = word(code, a);
            code.op(format_args!("xor.b32 {sum}, {sum}, {word}"));
        }
        sum
    }
}

/// Accumulators that a phase uses.
fn accumulators_of(phase: &Phase) -> u32 {
    if phase.dependent { 1 } else { phase.arithmetic.get().min(ACCUMULATORS) }
}

/// An accumulator's first value, which the assembler does not know, and which differs from that of others: else one
/// result would do for all.
fn first(kind: Kind, number: u32, zero: Reg, code: &mut Code) -> Reg {
    match kind {
        Kind::Whole => code.new_narrow("add.u32", format_args!("{zero}, {}", 2 * number + 1)),
        Kind::Single => code.new_narrow("add.u32", format_args!("{zero}, {:#x}", ONE + number)),
        Kind::Special => {
            let bits = (number as f32).to_bits();
            code.new_narrow("add.u32", format_args!("{zero}, {bits:#x}"))
        }
        Kind::Double => {
            let high =
                code.new_narrow("add.u32", format_args!("{zero}, {:#x}", 0x3ff0_0000 + number));
            code.new_wide("mov.b64", format_args!("{{{high}, {high}}}"))
        }
    }
}

/// 32 bits of a register that depend on all of it.
fn word(code: &mut Code, a: Reg) -> Reg {
    let Reg::Wide(_) = a else { return a };
    let (low, high) = (code.narrow(), code.narrow());
    code.op(format_args!("mov.b64 {{{low}, {high}}}, {a}"));
    code.new_narrow("xor.b32", format_args!("{low}, {high}"))
}
