//! Instructions that the machine writes as several.
//!
//! Lengths and classes are those of the code that `ptxas` 13.0 makes for `sm_90` of a kernel with this one instruction,
//! along the way that ordinary numbers take: no denormal, infinite or huge ones. For common sequences what each
//! instruction depends on is that code's, too; in others each depends on the one before.

use super::super::ast::Type;
use super::code::{Arg, Code, Fate, Sequence};
use crate::isa::{AccessKind, ArithClass, MemoryOp, Op, Turns};

/// Classes by letter: `m`ove, `i`nteger add, integer multiply-add `x`, the same with a `w`ide product, uniform integer `y`,
/// `f`loat add, float compare `q`, float multiply `u`, float multiply-add `F`, `d`ouble add, double multiply `U`, double
/// multiply-add `D`, `s`pecial function, the same of a `p`air, `c`ontrol, convergence `b`arrier.
pub fn classes(letters: &str) -> Vec<ArithClass> {
    steps(letters).into_iter().map(|step| step.class).collect()
}

/// One instruction of a sequence, and what it depends on.
#[derive(Clone, Debug)]
pub struct Step {
    pub class: ArithClass,
    /// The operands of the sequence.
    pub whole: bool,
    /// Their low halves.
    pub low: bool,
    /// Steps before it, by distance.
    pub back: Vec<usize>,
    /// The step that makes its guard, by distance.
    pub guard: Option<usize>,
    /// Operands that it reads from the register file; the same one twice counts once.
    pub reads: u8,
    /// What its result is.
    pub makes: Makes,
    /// The last before a label that others jump to.
    pub ends_block: bool,
}

impl Step {
    /// Whether it has a result.
    pub fn computes(&self) -> bool {
        !matches!(self.class, ArithClass::Control | ArithClass::Converge)
    }
}

/// What a step's result is to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Makes {
    /// An operand of later steps.
    Inner,
    /// The low half of the sequence's result.
    Low,
    /// The sequence's result.
    Whole,
}

/// Reads a sequence. Behind a step's letter are what it depends on: the steps so many places back, by digit; `0` for
/// the operands, `.` for their low halves; `!` before the place of its guard; without any the step before, or for the
/// first the operands. `*` says that it reads three operands and not two, `/` that it reads one; `=` and `-` that it makes
/// the result or its low half; without a `=` the last step but for control does. `|` ends a block.
pub fn steps(letters: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut guard = false;
    for letter in letters.chars() {
        let class = match letter {
            'm' => ArithClass::Move,
            'i' => ArithClass::IntAdd,
            'x' => ArithClass::IntMad,
            'w' => ArithClass::IntMulWide,
            'y' => ArithClass::Uniform,
            'f' => ArithClass::FpAdd,
            'q' => ArithClass::FpCompare,
            'u' => ArithClass::FpMul,
            'F' => ArithClass::FpFma,
            'd' => ArithClass::DpAdd,
            'U' => ArithClass::DpMul,
            'D' => ArithClass::DpFma,
            's' => ArithClass::Sfu,
            'p' => ArithClass::SfuPair,
            'c' => ArithClass::Control,
            'b' => ArithClass::Converge,
            mark => {
                let step = steps.last_mut().expect("a mark follows a letter");
                match mark {
                    '0' => step.whole = true,
                    '.' => step.low = true,
                    '!' => guard = true,
                    '*' => step.reads = 3,
                    '/' => step.reads = 1,
                    '|' => step.ends_block = true,
                    '=' => step.makes = Makes::Whole,
                    '-' => step.makes = Makes::Low,
                    _ => {
                        let back = mark.to_digit(10).expect("a mark of a step") as usize;
                        if std::mem::take(&mut guard) {
                            step.guard = Some(back);
                        } else {
                            step.back.push(back);
                        }
                    }
                }
                continue;
            }
        };
        steps.push(Step {
            class,
            whole: false,
            low: false,
            back: Vec::new(),
            guard: None,
            reads: 2,
            makes: Makes::Inner,
            ends_block: false,
        });
    }
    for place in 0..steps.len() {
        let before = (1..=place).find(|back| steps[place - back].computes());
        let step = &mut steps[place];
        if !step.whole && !step.low && step.back.is_empty() {
            match before {
                Some(back) if step.guard.is_none() => step.back.push(back),
                _ => step.whole = place == 0 || step.guard.is_none(),
            }
        }
    }
    if steps.iter().all(|step| step.makes != Makes::Whole)
        && let Some(last) = steps.iter_mut().rfind(|step| step.computes())
    {
        last.makes = Makes::Whole;
    }
    steps
}

/// The sum of two numbers of 64 bits: `IADD3`, `IADD3.X`.
const SUM: &str = "i.-i01";
/// A logical operation on each half.
const HALVES: &str = "i.-i0";
/// The product of two numbers of 64 bits: `IMAD`, `IMAD.WIDE.U32`, `IMAD`, `IADD3`.
pub const PRODUCT: &str = "x0w.-x.2i12";
/// The high half of the product of two numbers of 64 bits: `IMAD.WIDE.U32`, the same with a sum, the first again, `IADD3.X`, `MOV`,
/// `IADD3`, `IMAD.WIDE.U32.X`.
const HIGH: &str = "w0w01*w0i2/m3/i34w0123*";
/// Where one is a power of two of 32 bits: `IMAD.WIDE.U32`, the same with a sum, `IADD3.X`, `LEA.HI`, `MOV`, `IMAD.WIDE.U32.X`.
const HIGH_OF_SHIFTED: &str = "w0/w01i1/i02m3/w0123*";
/// The low 32 bits of that: `IMAD.WIDE.U32`, the same with a sum, `LEA.HI`, `IMAD.X`.
const HIGH_OF_SHIFTED_LOW: &str = "w0/w01i01x012*";
/// `IABS`, `I2F.RP`, `MUFU.RCP`, `F2I`, .. `LOP3`.
const DIV_S32: &str = "i0i0s2sxi0i0s3i2x0x3xi0w2*wx*ix!1i4!2i0i3x3!1ii1!4";
const REM_S32: &str = "i0i0s2i0i0s3xx0s2x0x2xw*wx*ii!1i0i2x3!1ii1!4";
const DIV_U32: &str = "s0i0i0s3isx0x2w*wix*ix2!1i5!2i2x2!1i";
const REM_U32: &str = "s0i0i0s3isx0x2w*wxx*ii2!1ix2!1i";
/// `BSSY`, `MUFU.RCP`, `FCHK`, five `FFMA`, the branch around what denormal numbers need, `BSYNC`.
const DIV_F32: &str = "m0s0p0F2FFF*F*=c6b0";
/// `BSSY`, `IADD3`, `MUFU.RSQ`, `ISETP`, the branch, two `FMUL`, two `FFMA`, `BSYNC`.
const SQRT_F32: &str = "m0i0s0i2cu3u4F2F12*=|b0";
/// `BSSY`, `IADD3`, `LOP3`, `ISETP`, the branch, `MUFU.RCP`, `FFMA`, `FADD`, `FFMA`, `BSYNC`.
const RCP_F32: &str = "m0i0iics0FfF=|b0";
/// `MOV`, `BSSY`, `MUFU.RCP64H`, `FSETP`, seven `DFMA` and a `DMUL`, `FFMA`, `FSETP`, the branch, `BSYNC`.
const DIV_F64: &str = "m0m0s0q0D2D/DDDUD*D12*=Fqcb0";

/// What a sequence is when all lanes have the same operands: nobody needs to meet behind a branch, and numbers of 64 bits
/// are computed once for the warp.
pub fn uniform(letters: &'static str) -> &'static str {
    match letters {
        SUM => "y.-y01",
        HALVES => "y.-y0",
        PRODUCT => "y.-y0y.1y13",
        DIV_F32 => "s0p0F2FFFF*=c6",
        SQRT_F32 => "i0s0i2cu3u4F2F12*=|",
        RCP_F32 => "i0iics0FfF=|",
        DIV_F64 => "m0s0q0D2D/DDDU/DD12*=Fqc",
        other => other,
    }
}

/// Replaces every instruction that is a sequence.
pub fn sequences(code: &mut Code) {
    for pc in 0..code.len() {
        if code.fates[pc] != Fate::Same {
            continue;
        }
        let letters = if code.is_pinned(pc) { control(code, pc) } else { sequence(code, pc) };
        if let Some(letters) = letters {
            let is_graph = letters.contains(|letter: char| !letter.is_alphabetic());
            code.fates[pc] = match letters {
                "" => Fate::Gone,
                letters => Fate::Into(Sequence {
                    classes: classes(letters),
                    graph: is_graph.then_some(letters),
                }),
            };
        }
    }
}

fn sequence(code: &Code, pc: usize) -> Option<&'static str> {
    use Type::*;
    let mut types = code.types(pc);
    let ty = types.next();
    Some(match (code.opcode(pc), ty?) {
        // `F2FP` from pairs of 8 bits, or to them: these are no types of registers.
        ("cvt", F16x2 | F32) if code.has(pc, "e4m3x2") || code.has(pc, "e5m2x2") => "q",
        ("cvt", to) => return conversion(code, pc, to, types.next()?),
        ("mul" | "mad", S32 | U32 | S16 | U16) if code.has(pc, "wide") => "w",
        ("mul" | "mad", S32 | U32) if code.has(pc, "hi") => "w",
        // Half of the corrections for negative operands fall away.
        ("mul", S64) if code.has(pc, "hi") && code.numbers(pc) > 0 => "xxxxxiiiiim",
        ("mul" | "mad", S64) if code.has(pc, "hi") => "xxxxxxxiiiiiiiiii",
        ("mul", U64) if code.has(pc, "hi") && is_power_of_two(code.arg(pc, 2)) => {
            if is_read_low(code, pc) { HIGH_OF_SHIFTED_LOW } else { HIGH_OF_SHIFTED }
        }
        ("mul", U64) if code.has(pc, "hi") => HIGH,
        ("mad", U64) if code.has(pc, "hi") => "xxxxiiiim",
        ("mul", S64 | U64 | B64) if is_unsigned_narrow(code, code.arg(pc, 2)) => {
            if is_unsigned_narrow(code, code.arg(pc, 1)) {
                "w"
            } else {
                "wxi"
            }
        }
        ("mul" | "mad", S64 | U64 | B64) => PRODUCT,
        ("mul24" | "mad24", _) => "iix",
        ("add" | "sub" | "addc" | "subc" | "neg", S64 | U64) => SUM,
        ("and", B64) if is_high_half(code.arg(pc, 2)) => "i",
        ("setp", S64 | U64 | B64)
            if code
                .maker(code.arg(pc, 1))
                .is_some_and(|and| code.opcode(and) == "and" && is_high_half(code.arg(and, 2))) =>
        {
            "i"
        }
        ("bfi", B64) if [3, 4].map(|place| code.arg(pc, place)) == [Arg::Number(32); 2] => "",
        ("and" | "or" | "xor" | "not", B64) => HALVES,
        ("shl" | "shr", B64 | U64 | S64) => "ii",
        ("abs", S64) => "iiiii",
        ("min" | "max", S64 | U64) => "iiii",
        ("selp", B64 | U64 | S64 | F64) => HALVES,
        ("setp" | "set", S64 | U64 | B64) => "ii",
        ("div", S32) => DIV_S32,
        ("rem", S32) => REM_S32,
        ("div", U32) => DIV_U32,
        ("rem", U32) => REM_U32,
        ("div" | "rem", S64) => {
            "mmcmmiiiixssisxxixxxmxxxxiixiixixxiixixiixxixxmxixxxxiixxiiiiiiiiiimmc"
        }
        ("div" | "rem", U64) => "mmcmsisxxixxxmxxxxiixiixixxmxxxxixixxxxixixixixiiixiiiimmcm",
        ("div" | "rem", S16) => "mmmmcimsffffiuiisisuiumxsimmc",
        ("div" | "rem", U16) => "mcsmiffffiusuiumsimc",
        ("clz", B32) => "si",
        ("clz", B64) => "iisiim",
        ("popc", B64) => "ssi",
        ("popc" | "brev" | "bfind" | "fns", B32 | U32 | S32) => "s",
        ("brev", B64) => "ss",
        ("bfe" | "szext", _) => "ii",
        ("bfi" | "bmsk", _) => "iii",
        ("mul", S16 | U16) => "iix",
        ("shr", S16 | U16) => "ii",
        ("div", F32) if code.has(pc, "rn") => DIV_F32,
        ("div", F32) if code.has(pc, "full") && code.has(pc, "ftz") => "fuusu",
        ("div", F32) if code.has(pc, "full") => "ffuuuusu",
        ("div", F32) if code.has(pc, "ftz") => "su",
        ("div", F32) => "fuusu",
        ("rcp", F32) if code.has(pc, "rn") => RCP_F32,
        ("rcp", F32) if code.has(pc, "ftz") => "s",
        ("rcp", F32) => "mffffusu",
        ("sqrt", F32) if code.has(pc, "rn") => SQRT_F32,
        ("sqrt" | "rsqrt" | "lg2" | "ex2", F32) if !code.has(pc, "ftz") => "fusu",
        // `MUFU` takes the two numbers of a pair one after the other.
        ("ex2" | "tanh", F16x2 | Bf16x2) => "s0s0",
        ("sqrt" | "rsqrt" | "lg2" | "ex2" | "tanh", F32 | F16 | Bf16) => "s",
        ("sin" | "cos", F32) => "us",
        ("div", F64) => DIV_F64,
        ("rcp", F64) if code.has(pc, "rn") => "csifDDDDDcc",
        ("sqrt", F64) => "mmcsiiUDDUDUimDDcc",
        ("rsqrt", F64) if !code.has(pc, "ftz") => "mmcsUDDUiDcc",
        ("rcp" | "rsqrt", F64) => "ms",
        ("min" | "max", F64) => "mdmiii",
        ("testp", _) => "ii",
        _ => return None,
    })
}

/// What keeps its place: where the lanes of a warp wait for each other they do so by their branches already, and hints are
/// `CCTL`.
fn control(code: &Code, pc: usize) -> Option<&'static str> {
    Some(match code.opcode(pc) {
        "bar" | "barrier" if code.has(pc, "warp") => "",
        "prefetch" | "prefetchu" | "discard" | "applypriority" => "i",
        _ => return None,
    })
}

fn conversion(code: &Code, pc: usize, to: Type, from: Type) -> Option<&'static str> {
    use Type::*;
    Some(match (to, from) {
        // I2FP is simple arithmetic, I2F of other sizes and F2I go through the special function unit.
        (F32, S32 | U32 | U16) => "i",
        (F32, U8) => "ii",
        (F32, _) if !from.float() => "s",
        (_, F64) => "p",
        (F64, _) => "s",
        (F32, F32) => "s",
        // `HADD2.F32` runs where products of integers do, and `F2FP` where integers are added.
        (F32, F16) => "x",
        (F16 | Bf16 | F16x2 | Bf16x2, F32) => "q",
        _ if !to.float() && from.float() => {
            if to.bytes() == 1 {
                "si"
            } else {
                "s"
            }
        }
        (S64, _) if from.bytes() <= 4 => "i",
        _ if to.bytes() == 8 => "",
        (S16 | U16, S8) => "ii",
        _ if code.has(pc, "sat") => "si",
        _ => "i",
    })
}

/// Whether only the low half of a register of 64 bits may differ from zero.
fn is_unsigned_narrow(code: &Code, arg: Arg) -> bool {
    match arg {
        Arg::Number(number) => number >> 32 == 0,
        _ => code.maker(arg).is_some_and(|maker| {
            code.opcode(maker) == "cvt" && code.has(maker, "u32")
                || code.opcode(maker) == "mul" && code.has(maker, "u16")
        }),
    }
}

/// A power of two that 32 bits hold, but for one.
fn is_power_of_two(arg: Arg) -> bool {
    matches!(arg, Arg::Number(number) if number.is_power_of_two() && number > 1 && number >> 32 == 0)
}

/// Whether only the low 32 bits of what `pc` makes are read.
fn is_read_low(code: &Code, pc: usize) -> bool {
    let reads_low = |reader: usize| {
        let is_cut = code.opcode(reader) == "cvt"
            && code.types(reader).next().is_some_and(|to| !to.float() && to.bytes() <= 4);
        is_cut || code.types(reader).all(|ty| ty.bytes() <= 4)
    };
    code.maker(code.arg(pc, 0)) == Some(pc) && code.readers(pc).all(reads_low)
}

/// A mask of the high half of 64 bits, with which compilers ask whether a division is one of 32 bits.
fn is_high_half(arg: Arg) -> bool {
    arg == Arg::Number(!0 << 32)
}

/// Moves that bring numbers into registers before an instruction: those that a memory instruction stores, and the halves
/// of numbers of 64 bits whose low half is not zero.
pub fn numbers_in_registers(code: &Code, pc: usize) -> usize {
    let numbers = code.lines[pc].args.iter().filter_map(|arg| match arg {
        Arg::Number(number) => Some(*number),
        _ => None,
    });
    match code.insts[pc].op {
        Op::Memory(MemoryOp { kind: AccessKind::Atomic(Turns::Words), .. }) => 0,
        Op::Memory(_) => numbers.filter(|number| *number != 0).count(),
        Op::Arith(ArithClass::DpAdd | ArithClass::DpMul | ArithClass::DpFma) => {
            2 * numbers.filter(|number| *number as u32 != 0).count()
        }
        _ => 0,
    }
}
