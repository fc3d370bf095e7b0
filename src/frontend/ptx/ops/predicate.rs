//! Comparison, selection, and logic on predicates.
//!
//! Source: PTX ISA 9.0, section 9.7.6 "Comparison and Selection Instructions".

use super::super::ast::Type;
use super::super::exec::{Bits, Flushed, Kind, Lane, Registers, test2, write};
use super::super::program::{INVERT, Micro};
use super::{Opcode, Rule, Slot};
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
        _ => None,
    }
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
            let mut third = regs.preds[usize::from(micro.ops[4])];
            if micro.imm & INVERT != 0 {
                third = !third;
            }
            let combine = |value: LaneMask| match micro.imm & !INVERT {
                AND => value & third,
                OR => value | third,
                XOR => value ^ third,
                _ => value,
            };
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

/// `set`: writes a number, [`Micro::imm`], where the comparison holds, and zero elsewhere.
struct SetNumber;

impl Use for SetNumber {
    fn rule<L: Lane<Value: PartialOrd>, R: Relation>() -> Rule {
        fn exec<L: Lane<Value: PartialOrd>, R: Relation>(
            regs: &mut Registers,
            micro: &Micro,
            mask: LaneMask,
        ) {
            let holds = test2::<L>(regs, micro, 1, R::holds);
            let out =
                std::array::from_fn(|lane| if holds >> lane & 1 == 1 { micro.imm } else { 0 });
            write(u32::row_mut(regs, micro.ops[0]), mask, &out);
        }
        let slots = const { &[Slot::Dst(Kind::Narrow), Slot::Src(L::KIND), Slot::Src(L::KIND)] };
        Rule { exec: exec::<L, R>, class: compare_class(L::KIND), slots, imm: 0 }
    }
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

/// The rule for a comparison or selection.
pub fn select(opcode: &Opcode, root: &str) -> Option<Rule> {
    let mut words = opcode.key.split('.').skip(1);
    let ty = opcode.ty()?;
    match root {
        "setp" => {
            let rule = typed::<SetPredicate>(words.next()?, ty, opcode.ftz)?;
            let combine = match words.next() {
                None => 0,
                Some("and") => AND,
                Some("or") => OR,
                Some("xor") => XOR,
                _ => return None,
            };
            words.next().is_none().then(|| rule.with(combine))
        }
        "set" => {
            let rule = typed::<SetNumber>(words.next()?, ty, opcode.ftz)?;
            let truth = match opcode.types[..] {
                [Type::U32 | Type::S32 | Type::B32, _] => !0,
                [Type::F32, _] => 1f32.to_bits(),
                _ => return None,
            };
            words.next().is_none().then(|| rule.with(truth))
        }
        "selp" if opcode.key == "selp" => Some(match ty {
            Type::F32 => choose::<f32>(),
            Type::F64 => choose::<f64>(),
            _ if ty.bytes() == 8 => choose::<u64>(),
            _ if ty.bytes() >= 2 => choose::<u32>(),
            _ => return None,
        }),
        "slct" if opcode.key == "slct" => Some(match (opcode.types[..].first()?.bytes(), ty) {
            (8, Type::S32) => choose_by_sign::<u64, i32>(),
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
