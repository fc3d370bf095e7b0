//! Instructions that the machine writes as several.
//!
//! Lengths and classes are those of the code that `ptxas` 13.0 makes for `sm_90` of a kernel with this one instruction,
//! along the way that ordinary numbers take: no denormal, infinite or huge ones.

use super::super::ast::Type;
use super::code::{Arg, Code, Fate};
use crate::isa::{ArithClass, Op};

/// Classes by letter: `m`ove, `i`nteger add, integer multiply-add `x`, `f`loat add, float multiply `u`, float multiply-
/// add `F`, `d`ouble add, double multiply `U`, double multiply-add `D`, `s`pecial function, `c`ontrol.
fn classes(letters: &str) -> Vec<ArithClass> {
    let class = |letter| match letter {
        'm' => ArithClass::Move,
        'x' => ArithClass::IntMad,
        'f' => ArithClass::FpAdd,
        'u' => ArithClass::FpMul,
        'F' => ArithClass::FpFma,
        'd' => ArithClass::DpAdd,
        'U' => ArithClass::DpMul,
        'D' => ArithClass::DpFma,
        's' => ArithClass::Sfu,
        'c' => ArithClass::Control,
        _ => ArithClass::IntAdd,
    };
    letters.chars().map(class).collect()
}

/// Replaces every instruction that is a sequence.
pub fn sequences(code: &mut Code) {
    for pc in 0..code.len() {
        if code.fates[pc] != Fate::Same || code.is_pinned(pc) && code.insts[pc].op != Op::Fence {
            continue;
        }
        if let Some(letters) = sequence(code, pc) {
            code.fates[pc] = match letters {
                "" => Fate::Gone,
                letters => Fate::Into(classes(letters)),
            };
        }
    }
    code.index();
}

fn sequence(code: &Code, pc: usize) -> Option<&'static str> {
    use Type::*;
    let mut types = code.types(pc);
    let ty = types.next();
    let opcode = code.opcode(pc);
    if let Some(letters) = control(code, pc, opcode) {
        return Some(letters);
    }
    Some(match (opcode, ty?) {
        ("cvt", to) => return conversion(code, pc, to, types.next()?),
        ("mul" | "mad", S32 | U32 | S16 | U16) if code.has(pc, "wide") => "x",
        ("mul" | "mad", S32 | U32) if code.has(pc, "hi") => "x",
        // Half of the corrections for negative operands fall away.
        ("mul", S64) if code.has(pc, "hi") && code.numbers(pc) > 0 => "xxxxxiiiiim",
        ("mul" | "mad", S64) if code.has(pc, "hi") => "xxxxxxxiiiiiiiiii",
        ("mul" | "mad", U64) if code.has(pc, "hi") => "xxxxiiiim",
        ("mul", S64 | U64 | B64) if is_unsigned_narrow(code, code.arg(pc, 2)) => {
            if is_unsigned_narrow(code, code.arg(pc, 1)) {
                "x"
            } else {
                "xxi"
            }
        }
        ("mul" | "mad", S64 | U64 | B64) => "xxxx",
        ("mul24" | "mad24", _) => "iix",
        ("add" | "sub" | "addc" | "subc" | "neg", S64 | U64) => "ii",
        ("and", B64) if is_high_half(code.arg(pc, 2)) => "i",
        ("setp", S64 | U64 | B64)
            if code
                .maker(code.arg(pc, 1))
                .is_some_and(|and| code.opcode(and) == "and" && is_high_half(code.arg(and, 2))) =>
        {
            "i"
        }
        ("bfi", B64) if [3, 4].map(|place| code.arg(pc, place)) == [Arg::Number(32); 2] => "",
        ("and" | "or" | "xor" | "not" | "shl" | "shr", B64 | U64 | S64) => "ii",
        ("abs", S64) => "iiiii",
        ("min" | "max", S64 | U64) => "iiii",
        ("selp", B64 | U64 | S64 | F64) => "ii",
        ("setp" | "set", S64 | U64 | B64) => "ii",
        ("div", S32) => "iisiimsisxmxxxxiiiiiim",
        ("rem", S32) => "iisimsismxxxxxiiiiiim",
        ("div", U32) => "siisisxxxixiiiiii",
        ("rem", U32) => "siisisxxxixiiiii",
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
        ("div", F32) if code.has(pc, "rn") => "isfFFFFFcc",
        ("div", F32) if code.has(pc, "full") && code.has(pc, "ftz") => "fuusu",
        ("div", F32) if code.has(pc, "full") => "ffuuuusu",
        ("div", F32) if code.has(pc, "ftz") => "su",
        ("div", F32) => "fuusu",
        ("rcp", F32) if code.has(pc, "rn") => "ciiicsFfFc",
        ("rcp", F32) if code.has(pc, "ftz") => "s",
        ("rcp", F32) => "mffffusu",
        ("sqrt", F32) if code.has(pc, "rn") => "cisicuuFFc",
        ("sqrt" | "rsqrt" | "lg2" | "ex2", F32) if !code.has(pc, "ftz") => "fusu",
        ("sqrt" | "rsqrt" | "lg2" | "ex2" | "tanh", F32 | F16 | F16x2 | Bf16 | Bf16x2) => "s",
        ("sin" | "cos", F32) => "us",
        ("div", F64) => "mcsfDDDDDUDDFfcc",
        ("rcp", F64) if code.has(pc, "rn") => "csifDDDDDcc",
        ("sqrt", F64) => "mmcsiiUDDUDUimDDcc",
        ("rsqrt", F64) if !code.has(pc, "ftz") => "mmcsUDDUiDcc",
        ("rcp" | "rsqrt", F64) => "ms",
        ("min" | "max", F64) => "mdmiii",
        ("testp", _) => "ii",
        ("atom" | "red" | "ld" | "st", _) => return None,
        _ => return None,
    })
}

/// Instructions without a type that matters.
fn control(code: &Code, pc: usize, opcode: &str) -> Option<&'static str> {
    Some(match opcode {
        // MEMBAR with its checks; what it waits for is the fence's own time.
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
        (F64, _) | (_, F64) => "s",
        (F32, F32) => "s",
        (F32, F16) | (F16 | Bf16 | F16x2 | Bf16x2, F32) => "f",
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
        Op::Memory(_) => numbers.filter(|number| *number != 0).count(),
        Op::Arith(ArithClass::DpAdd | ArithClass::DpMul | ArithClass::DpFma) => {
            2 * numbers.filter(|number| *number as u32 != 0).count()
        }
        _ => 0,
    }
}
