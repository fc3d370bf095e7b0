//! Comparison, selection, and logic on predicates.
//!
//! Source: PTX ISA 9.0, section 9.7.6 "Comparison and Selection Instructions".

use super::super::ast::Type;
use super::super::exec::{Bits, Flushed, Kind, Lane, Registers, pack, write};
use super::super::program::{INVERT, Micro};
use super::map::test2;
use super::{Opcode, Rule, Slot, half};
use crate::isa::{ArithClass, LaneMask};

/// A comparison.
trait Relation {
    fn holds<V: PartialOrd>(a: V, b: V) -> bool;
}

macro_rules! relations {
    ($($name:ident = |$a:ident, $b:ident| $holds:expr;)*) => {$(
        struct $name;

        impl Relation for $name {
            #[inline(always)]
            #[allow(clippy::eq_op, clippy::neg_cmp_op_on_partial_ord, reason = "NaN is unlike itself")]
            fn holds<V: PartialOrd>($a: V, $b: V) -> bool {
                $holds
            }
        }
    )*};
}

relations! {
    Eq = |a, b| a == b;
    Ne = |a, b| (a < b) | (a > b);
    Lt = |a, b| a < b;
    Le = |a, b| a <= b;
    Gt = |a, b| a > b;
    Ge = |a, b| a >= b;
    Equ = |a, b| !((a < b) | (a > b));
    Neu = |a, b| !(a == b);
    Ltu = |a, b| !(a >= b);
    Leu = |a, b| !(a > b);
    Gtu = |a, b| !(a <= b);
    Geu = |a, b| !(a < b);
    Num = |a, b| (a == a) & (b == b);
    Nan = |a, b| !((a == a) & (b == b));
}

/// What is done with the lanes where a comparison holds.
trait Use {
    fn rule<L: Lane<Value: PartialOrd>, R: Relation>() -> Rule;
}

/// The rule of a comparison by name; those for NaN are of floating-point types only.
fn relation<U: Use, L: Lane<Value: PartialOrd>>(name: &str, float: bool) -> Option<Rule> {
    Some(match name {
        "eq" => U::rule::<L, Eq>(),
        "ne" => U::rule::<L, Ne>(),
        "lt" | "lo" => U::rule::<L, Lt>(),
        "le" | "ls" => U::rule::<L, Le>(),
        "gt" | "hi" => U::rule::<L, Gt>(),
        "ge" | "hs" => U::rule::<L, Ge>(),
        _ if !float => return None,
        "equ" => U::rule::<L, Equ>(),
        "neu" => U::rule::<L, Neu>(),
        "ltu" => U::rule::<L, Ltu>(),
        "leu" => U::rule::<L, Leu>(),
        "gtu" => U::rule::<L, Gtu>(),
        "geu" => U::rule::<L, Geu>(),
        "num" => U::rule::<L, Num>(),
        "nan" => U::rule::<L, Nan>(),
        _ => return None,
    })
}

fn typed<U: Use>(name: &str, ty: Type, ftz: bool) -> Option<Rule> {
    match ty {
        Type::U16 | Type::B16 => relation::<U, u16>(name, false),
        Type::S16 => relation::<U, i16>(name, false),
        Type::U32 | Type::B32 => relation::<U, u32>(name, false),
        Type::S32 => relation::<U, i32>(name, false),
        Type::U64 | Type::B64 => relation::<U, u64>(name, false),
        Type::S64 => relation::<U, i64>(name, false),
        Type::F32 if ftz => relation::<U, Flushed>(name, true),
        Type::F32 => relation::<U, f32>(name, true),
        Type::F64 => relation::<U, f64>(name, true),
        Type::F16 if ftz => relation::<U, half::Single<false, true>>(name, true).map(as_float),
        Type::F16 => relation::<U, half::Single<false, false>>(name, true).map(as_float),
        Type::Bf16 if !ftz => relation::<U, half::Single<true, false>>(name, true).map(as_float),
        _ => None,
    }
}

/// Numbers of 16 bits share a kind of register with integers, but not their time.
fn as_float(rule: Rule) -> Rule {
    Rule { class: ArithClass::FpAdd, ..rule }
}

fn compare_class(kind: Kind) -> ArithClass {
    match kind {
        Kind::F32 => ArithClass::FpAdd,
        Kind::F64 => ArithClass::DpAdd,
        _ => ArithClass::IntAdd,
    }
}

/// How `setp` combines the comparison with a predicate.
const AND: u32 = 1;
const OR: u32 = 2;
const XOR: u32 = 3;

/// `setp`: writes predicates.
struct SetPredicate;

impl Use for SetPredicate {
    fn rule<L: Lane<Value: PartialOrd>, R: Relation>() -> Rule {
        fn exec<L: Lane<Value: PartialOrd>, R: Relation>(
            regs: &mut Registers,
            micro: &Micro,
            mask: LaneMask,
        ) {
            let holds = test2::<L>(regs, micro, 2, R::holds);
            let third = regs.preds[usize::from(micro.ops[4])];
            let combine = |value: LaneMask| combine(micro.imm, value, third);
            // The second predicate goes first: the sink may stand for it, never for the first.
            let values = [(micro.ops[1], combine(!holds)), (micro.ops[0], combine(holds))];
            for (row, value) in values {
                let row = &mut regs.preds[usize::from(row)];
                *row = *row & !mask | value & mask;
            }
        }
        let slots = const {
            &[
                Slot::Dst(Kind::Pred),
                Slot::SecondPred,
                Slot::Src(L::KIND),
                Slot::Src(L::KIND),
                Slot::OptionalPred,
            ]
        };
        Rule { exec: exec::<L, R>, class: compare_class(L::KIND), slots, imm: 0 }
    }
}

/// How comparison and predicate are combined, in [`Micro::imm`].
const COMBINE: u32 = 3;
/// What `set` writes where the comparison holds: its place in [`TRUTHS`], in [`Micro::imm`].
const TRUTH: u32 = 2;
const TRUTHS: [u32; 5] = [!0, 0xffff, 0x3f80_0000, 0x3c00, 0x3f80];

fn combine(how: u32, holds: LaneMask, third: LaneMask) -> LaneMask {
    let third = if how & INVERT != 0 { !third } else { third };
    match how & COMBINE {
        AND => holds & third,
        OR => holds | third,
        XOR => holds ^ third,
        _ => holds,
    }
}

/// `set`: writes a number where the comparison holds, and zero elsewhere.
struct SetNumber;

impl Use for SetNumber {
    fn rule<L: Lane<Value: PartialOrd>, R: Relation>() -> Rule {
        fn exec<L: Lane<Value: PartialOrd>, R: Relation>(
            regs: &mut Registers,
            micro: &Micro,
            mask: LaneMask,
        ) {
            let third = regs.preds[usize::from(micro.ops[3])];
            let holds = combine(micro.imm, test2::<L>(regs, micro, 1, R::holds), third);
            let truth = TRUTHS[((micro.imm & !INVERT) >> TRUTH) as usize % TRUTHS.len()];
            let out = std::array::from_fn(|lane| if holds >> lane & 1 == 1 { truth } else { 0 });
            write(u32::row_mut(regs, micro.ops[0]), mask, &out);
        }
        let slots = const {
            &[Slot::Dst(Kind::Narrow), Slot::Src(L::KIND), Slot::Src(L::KIND), Slot::OptionalPred]
        };
        Rule { exec: exec::<L, R>, class: compare_class(L::KIND), slots, imm: 0 }
    }
}

type Comparison = (&'static str, fn(f64, f64) -> bool);

/// The comparisons of pairs, by name.
const PAIRWISE: [Comparison; 14] = [
    ("eq", Eq::holds),
    ("ne", Ne::holds),
    ("lt", Lt::holds),
    ("le", Le::holds),
    ("gt", Gt::holds),
    ("ge", Ge::holds),
    ("equ", Equ::holds),
    ("neu", Neu::holds),
    ("ltu", Ltu::holds),
    ("leu", Leu::holds),
    ("gtu", Gtu::holds),
    ("geu", Geu::holds),
    ("num", Num::holds),
    ("nan", Nan::holds),
];
/// Place of the comparison in [`PAIRWISE`], in [`Micro::imm`].
const PAIR_RELATION: u32 = 8;
const PAIR_BRAIN: u32 = 1 << 16;
const PAIR_FTZ: u32 = 1 << 17;

/// The lanes where a comparison of pairs holds: of the low numbers, and of the high ones.
fn compare_pairs(regs: &Registers, micro: &Micro, first: usize, third: LaneMask) -> [LaneMask; 2] {
    let format = half::format(if micro.imm & PAIR_BRAIN != 0 { Type::Bf16 } else { Type::F16 });
    let Some(format) = format else { return [0; 2] };
    let (_, holds) = PAIRWISE[(micro.imm >> PAIR_RELATION & 15) as usize % PAIRWISE.len()];
    let [a, b] = [first, first + 1].map(|place| u32::row(regs, micro.ops[place]));
    let value = |bits: u32| half::read(bits as u16, format, micro.imm & PAIR_FTZ != 0);
    [0, 16].map(|shift| {
        let truth =
            std::array::from_fn(|lane| holds(value(a[lane] >> shift), value(b[lane] >> shift)));
        combine(micro.imm, pack(&truth), third)
    })
}

/// `setp` of pairs: a predicate for each half.
fn set_pair_predicates(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let third = regs.preds[usize::from(micro.ops[4])];
    let [low, high] = compare_pairs(regs, micro, 2, third);
    for (row, value) in [(micro.ops[1], high), (micro.ops[0], low)] {
        let row = &mut regs.preds[usize::from(row)];
        *row = *row & !mask | value & mask;
    }
}

/// `set` of pairs: a number for each half.
fn set_pair_numbers(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
    let third = regs.preds[usize::from(micro.ops[3])];
    let [low, high] = compare_pairs(regs, micro, 1, third);
    let truth = TRUTHS[((micro.imm & 0xff) >> TRUTH) as usize % TRUTHS.len()] & 0xffff;
    let part = |mask: LaneMask, lane: usize| if mask >> lane & 1 == 1 { truth } else { 0 };
    let out = std::array::from_fn(|lane| part(high, lane) << 16 | part(low, lane));
    write(u32::row_mut(regs, micro.ops[0]), mask, &out);
}

/// The rule for a comparison of pairs.
fn pairs(name: &str, ty: Type, ftz: bool, predicates: bool) -> Option<Rule> {
    const NARROW: Slot = Slot::Src(Kind::Narrow);
    let place = PAIRWISE.iter().position(|(known, _)| *known == name)? as u32;
    let brain = if ty == Type::Bf16x2 { PAIR_BRAIN } else { 0 };
    let imm = place << PAIR_RELATION | brain | if ftz { PAIR_FTZ } else { 0 };
    let (exec, slots): (super::Exec, &[Slot]) = if predicates {
        let slots = &[Slot::Dst(Kind::Pred), Slot::SecondPred, NARROW, NARROW, Slot::OptionalPred];
        (set_pair_predicates, slots)
    } else {
        (set_pair_numbers, &[Slot::Dst(Kind::Narrow), NARROW, NARROW, Slot::OptionalPred])
    };
    Some(Rule { exec, class: ArithClass::FpAdd, slots, imm })
}

/// `testp`: the kind of a number.
fn test_kind(opcode: &Opcode) -> Option<Rule> {
    fn exec<L: Lane, const TEST: usize>(regs: &mut Registers, micro: &Micro, mask: LaneMask)
    where
        L::Row: Into<u64>,
    {
        let (bits, places) = if L::KIND == Kind::F32 { (32, 23) } else { (64, 52) };
        let row = L::Row::row(regs, micro.ops[1]);
        let truth = std::array::from_fn(|lane| {
            let bits_of: u64 = row[lane].into();
            let magnitude = bits_of & (!0 >> (65 - bits));
            let infinity = ((1u64 << (bits - 1 - places)) - 1) << places;
            match TESTS[TEST] {
                "finite" => magnitude < infinity,
                "infinite" => magnitude == infinity,
                "number" => magnitude <= infinity,
                "notanumber" => magnitude > infinity,
                // Zero counts as normal.
                "normal" => magnitude == 0 || magnitude >> places != 0 && magnitude < infinity,
                _ => magnitude >> places == 0 && magnitude != 0,
            }
        });
        let row = &mut regs.preds[usize::from(micro.ops[0])];
        *row = *row & !mask | pack(&truth) & mask;
    }
    const TESTS: [&str; 6] = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
    let name = opcode.key.strip_prefix("testp.")?;
    macro_rules! of {
        ($ty:ty, $($place:literal)*) => {
            match TESTS.iter().position(|known| *known == name)? {
                $($place => exec::<$ty, $place> as super::Exec,)*
                _ => return None,
            }
        };
    }
    let (exec, slots, class): (_, &[Slot], _) = match opcode.types[..] {
        [Type::F32] => {
            let slots = &[Slot::Dst(Kind::Pred), Slot::Src(Kind::F32)];
            (of!(f32, 0 1 2 3 4 5), slots, ArithClass::FpAdd)
        }
        [Type::F64] => {
            let slots = &[Slot::Dst(Kind::Pred), Slot::Src(Kind::F64)];
            (of!(f64, 0 1 2 3 4 5), slots, ArithClass::DpAdd)
        }
        _ => return None,
    };
    Some(Rule { exec, class, slots, imm: 0 })
}

/// `d = p ? a : b`.
fn choose<L: Lane>() -> Rule {
    fn exec<L: Lane>(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
        let mut chosen = regs.preds[usize::from(micro.ops[3])];
        if micro.imm & INVERT != 0 {
            chosen = !chosen;
        }
        let mut out = *L::Row::row(regs, micro.ops[2]);
        write(&mut out, chosen, L::Row::row(regs, micro.ops[1]));
        write(L::Row::row_mut(regs, micro.ops[0]), mask, &out);
    }
    let slots = const {
        &[Slot::Dst(L::KIND), Slot::Src(L::KIND), Slot::Src(L::KIND), Slot::Src(Kind::Pred)]
    };
    Rule { exec: exec::<L>, class: ArithClass::IntAdd, slots, imm: 0 }
}

/// `d = c >= 0 ? a : b`.
fn choose_by_sign<L: Lane, C: Lane<Value: PartialOrd + Default>>() -> Rule {
    fn exec<L: Lane, C: Lane<Value: PartialOrd + Default>>(
        regs: &mut Registers,
        micro: &Micro,
        mask: LaneMask,
    ) {
        let (a, b) = (L::Row::row(regs, micro.ops[1]), L::Row::row(regs, micro.ops[2]));
        let c = C::Row::row(regs, micro.ops[3]);
        let out = std::array::from_fn(|lane| {
            if C::get(c[lane]) >= C::Value::default() { a[lane] } else { b[lane] }
        });
        write(L::Row::row_mut(regs, micro.ops[0]), mask, &out);
    }
    let slots =
        const { &[Slot::Dst(L::KIND), Slot::Src(L::KIND), Slot::Src(L::KIND), Slot::Src(C::KIND)] };
    Rule { exec: exec::<L, C>, class: ArithClass::IntAdd, slots, imm: 0 }
}

fn combination(word: Option<&str>) -> Option<u32> {
    match word {
        None => Some(0),
        Some("and") => Some(AND),
        Some("or") => Some(OR),
        Some("xor") => Some(XOR),
        _ => None,
    }
}

/// The rule for a comparison or selection.
pub fn select(opcode: &Opcode, root: &str) -> Option<Rule> {
    let mut words = opcode.key.split('.').skip(1);
    let ty = opcode.ty()?;
    match root {
        "setp" => {
            let name = words.next()?;
            let rule = match ty {
                Type::F16x2 | Type::Bf16x2 => pairs(name, ty, opcode.ftz, true)?,
                _ => typed::<SetPredicate>(name, ty, opcode.ftz)?,
            };
            let how = combination(words.next())?;
            words.next().is_none().then(|| rule.with(rule.imm | how))
        }
        "set" => {
            let name = words.next()?;
            let pair = matches!(ty, Type::F16x2 | Type::Bf16x2);
            let rule = match pair {
                true => pairs(name, ty, opcode.ftz, false)?,
                false => typed::<SetNumber>(name, ty, opcode.ftz)?,
            };
            let &[to, _] = &opcode.types[..] else { return None };
            let truth = match to {
                Type::U32 | Type::S32 | Type::B32 => 0,
                Type::U16 | Type::S16 | Type::B16 if !pair => 1,
                Type::F32 if !pair => 2,
                Type::F16 if !pair => 3,
                Type::Bf16 if !pair => 4,
                Type::F16x2 if ty == to => 3,
                Type::Bf16x2 if ty == to => 4,
                _ => return None,
            };
            let how = combination(words.next())? | truth << TRUTH;
            words.next().is_none().then(|| rule.with(rule.imm | how))
        }
        "testp" => test_kind(opcode),
        "selp" if opcode.key == "selp" => Some(match ty {
            Type::F32 => choose::<f32>(),
            Type::F64 => choose::<f64>(),
            _ if ty.bytes() == 8 => choose::<u64>(),
            _ if ty.bytes() >= 2 => choose::<u32>(),
            _ => return None,
        }),
        "slct" if opcode.key == "slct" => Some(match (opcode.types[..].first()?.bytes(), ty) {
            (8, Type::S32) => choose_by_sign::<u64, i32>(),
            (8, Type::F32) if opcode.ftz => choose_by_sign::<u64, Flushed>(),
            (2 | 4, Type::F32) if opcode.ftz => choose_by_sign::<u32, Flushed>(),
            (8, Type::F32) => choose_by_sign::<u64, f32>(),
            (2 | 4, Type::S32) => choose_by_sign::<u32, i32>(),
            (2 | 4, Type::F32) => choose_by_sign::<u32, f32>(),
            _ => return None,
        }),
        _ => None,
    }
}

/// A function of two masks.
trait Logic {
    fn of(a: LaneMask, b: LaneMask) -> LaneMask;
}

fn masks<F: Logic>(slots: &'static [Slot]) -> Rule {
    fn exec<F: Logic>(regs: &mut Registers, micro: &Micro, mask: LaneMask) {
        let a = regs.preds[usize::from(micro.ops[1])];
        let b = regs.preds[usize::from(micro.ops[2])];
        let row = &mut regs.preds[usize::from(micro.ops[0])];
        *row = *row & !mask | F::of(a, b) & mask;
    }
    Rule { exec: exec::<F>, class: ArithClass::IntAdd, slots, imm: 0 }
}

/// A name for a function of masks.
struct Named<const OP: u8>;

impl<const OP: u8> Logic for Named<OP> {
    #[inline(always)]
    fn of(a: LaneMask, b: LaneMask) -> LaneMask {
        match OP {
            b'&' => a & b,
            b'|' => a | b,
            b'^' => a ^ b,
            b'!' => !a,
            _ => a,
        }
    }
}

/// The rule for logic on predicates.
pub fn logic(opcode: &Opcode) -> Option<Rule> {
    const ONE: &[Slot] = &[Slot::Dst(Kind::Pred), Slot::Src(Kind::Pred)];
    const TWO: &[Slot] = &[Slot::Dst(Kind::Pred), Slot::Src(Kind::Pred), Slot::Src(Kind::Pred)];
    Some(match opcode.key.as_str() {
        "and" => masks::<Named<b'&'>>(TWO),
        "or" => masks::<Named<b'|'>>(TWO),
        "xor" => masks::<Named<b'^'>>(TWO),
        "not" => masks::<Named<b'!'>>(ONE),
        "mov" => masks::<Named<b'='>>(ONE),
        _ => return None,
    })
}
