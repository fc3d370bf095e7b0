//! What instructions compute: **a new opcode is one line in one of these tables.**
//!
//! * `integer` — integer arithmetic, shifts and bit fields; `bits` — those that PTX gives as programs;
//! * `packed` — several integers in one register;
//! * `carry` — sums of more than one word;
//! * `float` — single and double precision, special functions; `half` — half precision; `rounding` —
//!   rounding in every direction;
//! * `predicate` — comparison, selection and logic on predicates;
//! * `convert` — `cvt`; `short` — `cvt` to and from formats that have no arithmetic;
//! * `warp` — what looks across lanes: shuffles and votes; `matrix` — products of matrices that the lanes hold together;
//! * `map` — a function of one lane for all of them.
//!
//! A line is `"key" => rule!(Class, result = |operand: type, ..| expression)`. The key is the opcode
//! with its modifiers, less the types and what [`Opcode::new`] takes out; the table is chosen by the
//! last type. Memory and control instructions are decoded in `lower`.

mod bits;
mod carry;
mod convert;
mod float;
pub mod half;
mod integer;
mod map;
pub mod matrix;
pub mod moves;
mod packed;
mod predicate;
pub mod rounding;
mod short;
mod warp;

pub use warp::{finds_lanes, lowest_with_value, names_members};

use super::ast::{Instruction, Type};
use super::exec::Kind;
use super::program::Exec;
use crate::isa::ArithClass;

/// The part of an operand in an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Written.
    Dst(Kind),
    /// Read.
    Src(Kind),
    /// A predicate written when the destination is a pair `p|q`.
    SecondPred,
    /// A predicate read when the operand is there; false otherwise.
    OptionalPred,
    /// The thread's carry, if it is written.
    CarryOut(bool),
    /// The thread's carry, if it is read; false otherwise.
    CarryIn(bool),
}

/// How an instruction executes and what it costs.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The function.
    pub exec: Exec,
    /// The class.
    pub class: ArithClass,
    /// The operands in the order of the text.
    pub slots: &'static [Slot],
    /// A number for the function.
    pub imm: u32,
}

impl Rule {
    /// The same with a number for the function.
    fn with(mut self, imm: u32) -> Rule {
        self.imm = imm;
        self
    }
}

/// An instruction's name, taken apart.
#[derive(Clone, Debug)]
pub struct Opcode {
    /// Opcode and modifiers without types and without the modifiers below.
    pub key: String,
    /// Types, in order.
    pub types: Vec<Type>,
    /// `.ftz`
    pub ftz: bool,
}

impl Opcode {
    /// Takes a name apart.
    ///
    /// Left out of the key are `.ftz`, which is a flag, and `.approx` (but of a quotient, which has a range of its own), `.full` and, on
    /// single and double precision, `.rn`: gsim computes the correctly rounded value for each.
    pub fn new(instruction: &Instruction) -> Opcode {
        let mut opcode = Opcode { key: instruction.opcode.clone(), types: Vec::new(), ftz: false };
        for modifier in &instruction.modifiers {
            if let Some(ty) = Type::from_name(modifier) {
                opcode.types.push(ty);
            } else if modifier == "ftz" {
                opcode.ftz = true;
            } else if modifier != "full" && (modifier != "approx" || opcode.key == "div") {
                opcode.key.push('.');
                opcode.key.push_str(modifier);
            }
        }
        opcode
    }

    /// Whether it computes predicates from predicates alone, which have no `!` before them.
    pub fn is_logic_of_predicates(&self) -> bool {
        let has_key = matches!(self.key.as_str(), "and" | "or" | "xor" | "not" | "mov");
        has_key && self.ty() == Some(Type::Pred)
    }

    /// The last type.
    fn ty(&self) -> Option<Type> {
        self.types.last().copied()
    }
}

/// The rule for an instruction on registers; `wide` tells of each operand whether its register has
/// 64 bits, which conversions need to know. `None` when it is not supported.
pub fn select(opcode: &Opcode, wide: [bool; 2]) -> Option<Rule> {
    let root = opcode.key.split('.').next().unwrap_or_default();
    match root {
        "cvt" => convert::select(opcode, wide),
        "setp" | "set" | "selp" | "slct" | "testp" => predicate::select(opcode, root),
        "addc" | "subc" | "madc" => carry::select(opcode),
        _ if opcode.key.ends_with(".cc") => carry::select(opcode),
        "dp4a" | "dp2a" => bits::dot(opcode),
        "shfl" | "vote" | "activemask" | "match" | "redux" | "elect" => warp::select(opcode),
        _ if root.starts_with('v') && root.ends_with(['2', '4']) => packed::video(opcode),
        // The tables know one type an instruction; two would mean mixed precision.
        _ if opcode.types.len() > 1 => None,
        _ => match opcode.ty()? {
            Type::Pred => predicate::logic(opcode),
            Type::F32 | Type::F64 => float::select(opcode),
            ty if ty.half() => half::select(opcode),
            ty @ (Type::U16x2 | Type::S16x2) => packed::select(&opcode.key, ty),
            _ => integer::select(opcode),
        },
    }
}

/// A [`Rule`] from a class, the type of the result and a closure over the operands.
macro_rules! rule {
    (@make $class:ident, $d:ty, [$($t:ty),*], $map:ident, $f:expr) => {{
        use $crate::frontend::ptx::exec::{Lane, Registers};
        use $crate::frontend::ptx::ops::{Rule, Slot};
        use $crate::frontend::ptx::program::Micro;
        fn exec(regs: &mut Registers, micro: &Micro, mask: $crate::isa::LaneMask) {
            $crate::frontend::ptx::ops::map::$map::<$d, $($t),*>(regs, micro, mask, $f);
        }
        Rule {
            exec,
            class: $crate::isa::ArithClass::$class,
            slots: const { &[Slot::Dst(<$d as Lane>::KIND), $(Slot::Src(<$t as Lane>::KIND)),*] },
            imm: 0,
        }
    }};
    ($class:ident, $d:ty = |$a:ident: $ta:ty| $f:expr) => {
        rule!(@make $class, $d, [$ta], map1, |$a| $f)
    };
    ($class:ident, $d:ty = |$a:ident: $ta:ty, $b:ident: $tb:ty| $f:expr) => {
        rule!(@make $class, $d, [$ta, $tb], map2, |$a, $b| $f)
    };
    ($class:ident, $d:ty = |$a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty| $f:expr) => {
        rule!(@make $class, $d, [$ta, $tb, $tc], map3, |$a, $b, $c| $f)
    };
    ($class:ident, $d:ty = |$a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty,
        $e:ident: $te:ty| $f:expr) => {
        rule!(@make $class, $d, [$ta, $tb, $tc, $te], map4, |$a, $b, $c, $e| $f)
    };
}
pub(crate) use rule;
