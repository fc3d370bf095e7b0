//! A kernel decoded for execution.

use super::ast::Type;
use super::exec::Registers;
use super::lexer::Place;
use super::lowering::Issued;
use super::ops::matrix::Product;
pub use super::parts::*;
use crate::isa::{Inst, LaneMask};

/// Executes a register-to-register instruction for the lanes of a mask.
pub type Exec = fn(&mut Registers, &Micro, LaneMask);

/// The predicate row that always holds.
pub const TRUE: u16 = 0;
/// The predicate row that never holds.
pub const FALSE: u16 = 1;
/// The predicate row that is written and never read.
pub const SINK: u16 = 2;
/// Predicate rows with a meaning of their own.
pub const FIXED_PREDS: u16 = 3;

/// Bit of [`Micro::imm`] that inverts a predicate operand.
pub const INVERT: u32 = 1 << 31;

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Micro {
    /// What to do.
    pub step: Step,
    /// Guard predicate.
    pub guard: u16,
    /// All ones when the guard is inverted, else 0.
    pub guard_flip: LaneMask,
    /// Rows of the operands, destinations first.
    pub ops: [u16; 8],
    /// A number that the instruction needs, such as its rounding mode.
    pub imm: u32,
}

/// What a decoded instruction does.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Works on registers alone.
    Compute(Exec),
    /// The same across lanes, and says which of them have the same value.
    Match(Exec),
    /// The same as either across lanes, where these may come one after the other: it ends its block, and waits for all members, whose row is
    /// the operand of that number.
    Meet(Exec, u8),
    /// Divides whole numbers; the third operand must not be zero.
    Divide(Exec, DivisorBits),
    /// Accesses memory: index into [`Program::accesses`].
    Memory(u32),
    /// Reads or writes the parameters of a call, which the machine passes in registers: index into
    /// [`Program::accesses`].
    Param(u32),
    /// Asks for an address, and reads nothing: index into [`Program::accesses`].
    Prefetch(u32),
    /// Copies from global to shared memory: index into [`Program::copies`].
    Copy(u32),
    /// Multiplies matrices that all lanes of the warp hold together: index into [`Program::products`].
    Product(u32),
    /// Reads or writes matrices in shared memory: index into [`Program::matrices`].
    Matrices(u32),
    /// Makes the warp's part of a product of its warpgroup: index into [`Program::group_products`].
    GroupProduct(u32),
    /// Waits for the warpgroup to come here.
    GroupWait,
    /// Reads a clock, which counts the warp's own instructions.
    Clock,
    /// Does nothing that shows, such as a fence: warps run one after the other.
    Nothing,
    /// Goes to a block where the guard holds.
    Branch(u32),
    /// Goes to a block by a number: index into [`Program::tables`].
    Indexed(u32),
    /// Calls a function: index into [`Program::calls`].
    Call(u32),
    /// Returns from a function.
    Return,
    /// Arrives at a barrier: index into [`Program::barriers`].
    Barrier(u32),
    /// Begins the first phase of an mbarrier: index into [`Program::mbarriers`].
    InitMbarrier(u32),
    /// Arrives or waits at an mbarrier: index into [`Program::mbarriers`].
    Mbarrier(u32),
    /// Begins bulk copies: index into [`Program::bulks`].
    Bulk(u32),
    /// Waits for lanes of the warp.
    WarpSync,
    /// Ends the lanes where the guard holds.
    Exit,
    /// Stops the launch with an error.
    Trap,
    /// `printf`: counted, and nothing printed.
    Print,
    /// A failed assertion: index into [`Program::calls`], for the arguments.
    Assert(u32),
}

/// A product of a warpgroup.
#[derive(Clone, Debug)]
pub struct GroupStep {
    /// A product of the 16 rows of a warp and eight columns, which reads its factors in rows of its own.
    pub part: Product,
    /// Rows of its sums, those of eight columns after those of eight others.
    pub sums: Vec<u16>,
    /// Where the first factor is.
    pub first: FirstFactor,
    /// Row of the descriptor of the second one.
    pub second: u16,
    /// The predicate that tells whether the sums before are added, and all ones where it is inverted, else 0.
    pub adds: (u16, LaneMask),
    /// Row of zeros.
    pub zero: u16,
    /// By factor: it is taken with the other sign.
    pub negates: [bool; 2],
    /// By factor: in shared memory, its rows, or its columns, lie one beside the other.
    pub transposed: [bool; 2],
}

/// Where the first factor of a product of a warpgroup is.
#[derive(Clone, Copy, Debug)]
pub enum FirstFactor {
    /// In these rows of the warp.
    Registers([u16; 4]),
    /// In shared memory: row of the descriptor.
    Shared(u16),
}

/// How many bits of a divisor count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivisorBits {
    /// The low 16 bits of a row of up to 32.
    Half,
    /// All of a row of up to 32.
    Narrow,
    /// A row of 64.
    Wide,
}

/// A value that a row has from the start of a launch or CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    /// These bits.
    Bits(u64),
    /// The parameter bytes at `offset`, read as `ty` and extended.
    Param {
        /// Place in the parameter block `[bytes]`.
        offset: u32,
        /// Type in memory.
        ty: Type,
    },
    /// A special register.
    Special(Special),
    /// An address in the frame of a function; written when it is called.
    Frame {
        /// The function: index into [`Program::functions`].
        function: u32,
        /// Bytes from the start of its frame.
        offset: u32,
    },
    /// An address in a variable of the module in global memory.
    Global {
        /// The variable: index into [`Program::globals`].
        index: u32,
        /// Bytes from its start, in two's complement.
        offset: u64,
    },
}

/// A variable in global memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// Its name.
    pub name: String,
    /// Where it is declared, if that is inside a body: other blocks may have its name.
    pub inner: Option<Place>,
    /// Its size `[bytes]`.
    pub bytes: u64,
    /// Its first bytes; the rest is zero.
    pub init: Vec<u8>,
}

/// An address that is written into a variable when the kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The variable in global memory; `None` for constant memory.
    pub global: Option<u32>,
    /// First byte in the variable, or in constant memory.
    pub start: u64,
    /// Bytes written.
    pub bytes: u8,
    /// Bits by which the address is shifted right.
    pub shift: u8,
    /// The address.
    pub value: Constant,
}

/// A constant row.
#[derive(Clone, Copy, Debug)]
pub struct ConstantRow {
    /// Whether it is a row of 64 bits a lane.
    pub wide: bool,
    /// Its number.
    pub row: u16,
    /// Its value.
    pub value: Constant,
}

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its place in the parameter block `[bytes]`.
    pub offset: u32,
    /// Its size `[bytes]`.
    pub bytes: u32,
}

/// A kernel decoded for execution.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name of the entry.
    pub name: String,
    /// What each instruction reads and writes, and its line.
    pub insts: Vec<Inst>,
    /// What the machine sees.
    pub issued: Issued,
    /// For execution, one for each instruction.
    pub micros: Vec<Micro>,
    /// Memory accesses.
    pub accesses: Vec<Access>,
    /// Copies to shared memory.
    pub copies: Vec<Copy>,
    /// Matrix products.
    pub products: Vec<Product>,
    /// Accesses to matrices in shared memory.
    pub matrices: Vec<Matrices>,
    /// Products of warpgroups.
    pub group_products: Vec<GroupStep>,
    /// Barrier instructions.
    pub barriers: Vec<Barrier>,
    /// Instructions on mbarriers.
    pub mbarriers: Vec<MbarrierStep>,
    /// Instructions that begin bulk copies.
    pub bulks: Vec<BulkStep>,
    /// Blocks of indirect branches.
    pub tables: Vec<Vec<u32>>,
    /// Calls.
    pub calls: Vec<CallSite>,
    /// Functions that may be called.
    pub functions: Vec<Function>,
    /// Whether a function may call itself, directly or through others.
    pub recursive: bool,
    /// Basic blocks in the order of the text; execution starts at the first.
    pub blocks: Vec<Block>,
    /// Constant rows.
    pub constants: Vec<ConstantRow>,
    /// Rows of up to 32 bits.
    pub narrow_rows: u16,
    /// Rows of 64 bits.
    pub wide_rows: u16,
    /// Predicates.
    pub pred_rows: u16,
    /// 32-bit registers that a thread occupies: an estimate, see the `liveness` module.
    pub registers_per_thread: u32,
    /// Parameters, in order.
    pub params: Vec<Param>,
    /// Shared memory that the kernel declares; dynamic shared memory starts here `[bytes]`.
    pub shared_bytes: u32,
    /// Local memory of a thread, with the frames of all calls `[bytes]`.
    pub local_bytes: u32,
    /// Constant variables.
    pub consts: Vec<u8>,
    /// Where the parameter block starts in constant memory `[bytes]`.
    pub param_start: u32,
    /// Variables in global memory.
    pub globals: Vec<Global>,
    /// Addresses in initial values.
    pub patches: Vec<Patch>,
    /// `.maxntid`
    pub max_threads: Option<u64>,
    /// `.reqntid`
    pub required_threads: Option<[u64; 3]>,
}
