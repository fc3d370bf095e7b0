//! PTX as it is written.

use super::lexer::Place;

/// A PTX type, by its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    B8,
    B16,
    B32,
    B64,
    U16x2,
    S16x2,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Pred,
}

impl Type {
    /// The type of that name, without the dot.
    pub fn from_name(name: &str) -> Option<Type> {
        use Type::*;
        Some(match name {
            "u8" => U8,
            "u16" => U16,
            "u32" => U32,
            "u64" => U64,
            "s8" => S8,
            "s16" => S16,
            "s32" => S32,
            "s64" => S64,
            "b8" => B8,
            "b16" => B16,
            "b32" => B32,
            "b64" => B64,
            "u16x2" => U16x2,
            "s16x2" => S16x2,
            "f16" => F16,
            "f16x2" => F16x2,
            "bf16" => Bf16,
            "bf16x2" => Bf16x2,
            "f32" => F32,
            "f64" => F64,
            "pred" => Pred,
            _ => return None,
        })
    }

    /// Size `[bytes]`; 0 for predicates.
    pub fn bytes(self) -> u32 {
        use Type::*;
        match self {
            U8 | S8 | B8 => 1,
            U16 | S16 | B16 | F16 | Bf16 => 2,
            U32 | S32 | B32 | F32 | U16x2 | S16x2 | F16x2 | Bf16x2 => 4,
            U64 | S64 | B64 | F64 => 8,
            Pred => 0,
        }
    }

    /// Whether it is a signed integer.
    pub fn signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// Whether it is a floating-point number.
    pub fn float(self) -> bool {
        self.half() || matches!(self, Type::F32 | Type::F64)
    }

    /// Whether it is a floating-point number of 16 bits, or a pair of them.
    pub fn half(self) -> bool {
        matches!(self, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2)
    }
}

/// State space of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarSpace {
    /// `.global`
    Global,
    /// `.const`
    Const,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.param`
    Param,
}

/// A place in an initial value that holds an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Relocation {
    /// First byte in the value.
    pub start: u64,
    /// Bytes there.
    pub bytes: u8,
    /// Bits by which the address is shifted right before its low bytes are stored.
    pub shift: u8,
    /// Variable or function.
    pub name: String,
    /// Added to the address [bytes].
    pub offset: i64,
    /// Whether the address is a generic one.
    pub generic: bool,
    /// Where the name stands.
    pub at: Place,
}

/// The initial value of a variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Init {
    /// The bytes, as far as they are given; zero after that, and where an address stands.
    pub bytes: Vec<u8>,
    /// The addresses among them.
    pub relocations: Vec<Relocation>,
}

/// A variable or parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Where it lives.
    pub space: VarSpace,
    /// Its name.
    pub name: String,
    /// Type of an element.
    pub ty: Type,
    /// Alignment [bytes, a power of two].
    pub align: u32,
    /// Size of all elements `[bytes]`; `None` for `name[]`, whose size the launch decides.
    pub bytes: Option<u64>,
    /// Initial value; empty where none is given.
    pub init: Init,
    /// `.extern`: it is defined elsewhere, or, in shared memory, begins behind all that has a size.
    pub external: bool,
    /// Where it is declared.
    pub at: Place,
}

/// A name with what may follow it: `%tid.x`, `table+8`.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The name.
    pub name: String,
    /// What follows a dot.
    pub part: Option<String>,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A register, variable or label, plus a number of bytes for variables.
    Name(Name, i64),
    /// A predicate, inverted: `!%p1`.
    Not(Name),
    /// A whole number; negative ones in two's complement.
    Int(u64),
    /// Bits of a single-precision number.
    F32(u32),
    /// Bits of a double-precision number.
    F64(u64),
    /// `{a, b}`; elements are neither vectors nor addresses.
    Vector(Vec<Value>),
    /// `[base+offset]`.
    Address(Option<Name>, i64),
    /// `p|q`.
    Pair(Name, Name),
    /// `[base+offset, {x, y}]`: an element of a tensor, or of a texture, by its coordinates.
    Element(Option<Name>, i64, Vec<Value>),
    /// Other lists: no instruction that gsim executes has such an operand.
    Other,
}

/// An operand and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// The operand.
    pub value: Value,
    /// Where it starts.
    pub at: Place,
}

/// What a call names.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function, or the register that holds its address.
    pub target: Name,
    /// Variables that take what it returns.
    pub returns: Vec<Name>,
    /// Variables that hold its arguments.
    pub args: Vec<Value>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Guard predicate, and whether it is inverted.
    pub guard: Option<(Name, bool)>,
    /// What comes before the first dot.
    pub opcode: String,
    /// What follows the dots, in order.
    pub modifiers: Vec<String>,
    /// Operands; none for a call.
    pub operands: Vec<Operand>,
    /// What is called, for a call.
    pub call: Option<Box<Call>>,
    /// Where the opcode starts.
    pub at: Place,
}

impl Instruction {
    /// Opcode and modifiers, as written.
    pub fn full_name(&self) -> String {
        let mut name = self.opcode.clone();
        for modifier in &self.modifiers {
            name.push('.');
            name.push_str(modifier);
        }
        name
    }
}

/// A declaration of registers.
#[derive(Clone, Debug, PartialEq)]
pub struct RegDecl {
    /// Type of each.
    pub ty: Type,
    /// The name, or what comes before the number.
    pub name: String,
    /// `Some(n)` declares `name0` to `name(n-1)`.
    pub count: Option<u64>,
}

/// One statement of an entry's body; nested blocks are flat, between `Open` and `Close`.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Registers.
    Regs(RegDecl),
    /// A variable.
    Variable(Variable),
    /// A label.
    Label(String, Place),
    /// `.branchtargets`: its name, and labels.
    Targets(String, Vec<String>, Place),
    /// `.pragma "nounroll"`: the loop around what follows is to be left as it is.
    Nounroll,
    /// An instruction.
    Instruction(Instruction),
    /// `{`
    Open,
    /// `}`
    Close,
}

/// A kernel or a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Parameters, in order.
    pub params: Vec<Variable>,
    /// What a function returns; a kernel returns nothing.
    pub returns: Vec<Variable>,
    /// `.maxntid`: the most threads of a CTA.
    pub max_threads: Option<u64>,
    /// CTAs of a cluster that `.reqnctapercluster` asks for; 1 where it does not.
    pub cluster: u64,
    /// `.reqntid`: the threads of a CTA in x, y, z.
    pub required_threads: Option<[u64; 3]>,
    /// The body.
    pub body: Vec<Statement>,
    /// Where the name stands.
    pub at: Place,
}

/// A module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ast {
    /// Variables outside kernels.
    pub variables: Vec<Variable>,
    /// Kernels.
    pub entries: Vec<Entry>,
    /// Functions that have a body.
    pub functions: Vec<Entry>,
}

impl Ast {
    /// The variable of that name outside kernels that is not only declared.
    pub fn definition(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name && !variable.external)
    }
}
