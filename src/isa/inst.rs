//! Static instructions. They are written to traces, names and all: a change of a name is one of the format.

use serde::{Deserialize, Serialize};

use super::bulk::BulkCopy;

/// A register of the kernel, numbered from 0; predicates are registers too.
pub type Reg = u16;

/// The most registers that an instruction writes.
pub const MAX_RESULTS: usize = 8;

/// The most registers that an instruction reads: a matrix product in double precision has so many.
pub const MAX_SOURCES: usize = 17;

/// A short list of registers: of those that an instruction writes, if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Reg>", into = "Vec<Reg>")]
pub struct Operands<const MOST: usize = MAX_RESULTS> {
    regs: [Reg; MOST],
    len: u8,
}

/// Registers that an instruction reads.
pub type Sources = Operands<MAX_SOURCES>;

impl<const MOST: usize> Operands<MOST> {
    /// No register.
    pub const NONE: Self = Operands { regs: [0; MOST], len: 0 };

    /// The given registers, each once.
    ///
    /// # Panics
    /// When there are more than `MOST` different ones.
    pub fn new(regs: &[Reg]) -> Self {
        let mut operands = Self::NONE;
        for &reg in regs {
            operands.add(reg);
        }
        operands
    }

    /// Adds a register, unless it is there already.
    ///
    /// # Panics
    /// When it would be one more than `MOST`.
    pub fn add(&mut self, reg: Reg) {
        if !self.as_slice().contains(&reg) {
            self.regs[usize::from(self.len)] = reg;
            self.len += 1;
        }
    }

    /// The registers that `name` gives for these.
    pub fn renamed(&self, name: impl Fn(Reg) -> Reg) -> Self {
        let mut new = Self::NONE;
        self.as_slice().iter().for_each(|reg| new.add(name(*reg)));
        new
    }

    /// True when it takes no more registers.
    #[inline]
    pub fn is_full(&self) -> bool {
        usize::from(self.len) == MOST
    }

    /// The registers.
    #[inline]
    pub fn as_slice(&self) -> &[Reg] {
        &self.regs[..usize::from(self.len)]
    }
}

impl<const MOST: usize> From<Operands<MOST>> for Vec<Reg> {
    fn from(operands: Operands<MOST>) -> Self {
        operands.as_slice().to_vec()
    }
}

impl<const MOST: usize> TryFrom<Vec<Reg>> for Operands<MOST> {
    type Error = String;

    fn try_from(regs: Vec<Reg>) -> Result<Self, String> {
        let mut distinct = regs.clone();
        distinct.sort_unstable();
        distinct.dedup();
        match distinct.len() {
            few if few <= MOST => Ok(Operands::new(&regs)),
            many => {
                Err(format!("an instruction names {many} registers on one side, of {MOST} at most"))
            }
        }
    }
}

/// One instruction of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inst {
    /// What it does, as far as timing is concerned.
    pub op: Op,
    /// Registers it writes.
    pub dsts: Operands,
    /// Registers it reads: operands, address, guard predicate.
    pub srcs: Sources,
    /// The predicate that decides which lanes execute it; one of `srcs`.
    pub guard: Option<Reg>,
    /// Registers of 32 bits that it reads from the register file; 0 where nobody counted.
    pub reads: u8,
    /// The last of a block that another follows without a jump.
    pub ends_block: bool,
    /// Of a move: where in the constant bank its value is read `[bytes]`, which has the parameters of the kernel and the sizes of the
    /// launch. None where nothing is read there, or nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<u32>,
    /// Of a product of a warpgroup: the registers that it adds to, which it reads and writes. Nobody waits for them but by the product's
    /// group, so that machines have no use for them, and traces have none.
    #[serde(skip)]
    pub sums: Vec<Reg>,
    /// Line in the kernel's source text, from 1; 0 where there is none.
    pub line: u32,
}

impl Inst {
    /// An instruction without operands, of no line.
    pub fn bare(op: Op) -> Self {
        Inst::new(op, Operands::NONE, Operands::NONE, 0)
    }

    /// An instruction without a guard, whose reads nobody counted.
    pub fn new(op: Op, dsts: Operands, srcs: Sources, line: u32) -> Self {
        Inst {
            op,
            dsts,
            srcs,
            guard: None,
            reads: 0,
            ends_block: false,
            constant: None,
            sums: Vec::new(),
            line,
        }
    }

    /// The registers that it writes, all of them.
    pub fn written(&self) -> impl Iterator<Item = Reg> {
        self.dsts.as_slice().iter().chain(&self.sums).copied()
    }

    /// The registers that it reads, all of them.
    pub fn read(&self) -> impl Iterator<Item = Reg> {
        self.srcs.as_slice().iter().chain(&self.sums).copied()
    }
}

/// What an instruction does, as far as timing is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// Computes in an arithmetic pipeline.
    Arith(ArithClass),
    /// Goes to the load/store unit.
    Memory(MemoryOp),
    /// Finds which lanes have the same value. Its dynamic part is that of a memory instruction, with the lowest lane that has a lane's
    /// value in the place of the address.
    Match,
    /// Arrives at a barrier of the CTA and, as a rule, waits there. Its dynamic part is a
    /// [`BarrierUse`].
    Barrier,
    /// Arrives at a barrier in shared memory, or waits there. Its dynamic part is an [`MbarrierUse`].
    Mbarrier(Mbarrier),
    /// Orders the warp's accesses among those of others.
    Fence(Fence),
    /// Divides the warp's asynchronous copies into groups, or waits for them.
    Copies(Copies),
    /// Begins copies of many bytes, one for each lane. Its dynamic part is a [`BulkUse`](super::BulkUse) for each.
    Bulk(BulkCopy),
    /// Is about matrix products that a warpgroup makes while its warps go on.
    Warpgroup(Warpgroup),
    /// Ends the lanes that execute it; the stream ends with the warp's last one.
    Exit,
}

impl Op {
    /// Whether its dynamic part is one address a lane, or what takes the place of these.
    pub fn has_addresses(self) -> bool {
        matches!(self, Op::Memory(_) | Op::Match)
    }
}

/// What a fence orders.
///
/// Source: PTX ISA 9.0, sections 8 "Memory Consistency Model" and 9.7.13 "fence".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fence {
    /// The warp waits until its earlier accesses are visible to these.
    pub release: Option<Observer>,
    /// Its later loads see what others have made visible by now.
    pub acquire: bool,
}

impl Fence {
    /// What it is, in a word.
    pub fn name(self) -> &'static str {
        match self {
            Fence { release: None, .. } => "Acquire",
            Fence { acquire: false, .. } => "Release",
            Fence { .. } => "Fence",
        }
    }
}

/// Who is to see what a warp has done. A CTA always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Observer {
    /// All threads of the GPU.
    Gpu,
    /// The host and other GPUs as well.
    System,
}

/// What is done with the asynchronous copies of a warp ([`AccessKind::Copy`]).
///
/// Source: PTX ISA 9.0, section 9.7.9 "cp.async".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Copies {
    /// Those since the last commit are a group.
    Commit,
    /// The warp waits until no more than so many of its youngest groups are under way `[groups]`.
    WaitGroups(u8),
    /// The warp waits for all.
    WaitAll,
    /// The bulk copies to global memory since the last such commit are a group.
    CommitBulk,
    /// The warp waits until no more than so many of its youngest groups of bulk copies are under way `[groups]`.
    WaitBulk(u8),
    /// The same, until no more than so many have bytes of shared memory to read `[groups]`.
    WaitBulkReads(u8),
}

impl Copies {
    /// Whether it is about bulk copies.
    pub fn are_bulk(self) -> bool {
        matches!(self, Copies::CommitBulk | Copies::WaitBulk(_) | Copies::WaitBulkReads(_))
    }
}

/// What warps do about the matrix products of their warpgroup: four warps of a CTA that follow each other, the first one's number a
/// multiple of four.
///
/// Source: PTX ISA 9.0, section 9.7.15 "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Warpgroup {
    /// What the warp has written to registers is there for products that follow.
    Arrive,
    /// A product, which begins when all warps of the group have come.
    Multiply(GroupProduct),
    /// The products since the last commit are a group of products.
    Commit,
    /// The warp waits until no more than so many of its youngest groups of products are under way `[groups]`.
    Wait(u8),
}

/// A product of 64 rows, with 32 bytes in a row of the first factor: m64nNk16 of half precision, m64nNk8 of `.tf32`, m64nNk32 of numbers of
/// 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupProduct {
    /// Columns [8..=256, a multiple of 8].
    pub columns: u16,
    /// The first factor is in registers, and not in shared memory as the second one.
    pub from_registers: bool,
    /// It is the last one of its group of products, as [`Warpgroup::Commit`] says elsewhere.
    pub commits: bool,
}

/// Warps of a warpgroup.
pub const WARPGROUP: usize = 4;

/// How one execution of [`Op::Barrier`] uses a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierUse {
    /// Number of the barrier [0..[`BARRIERS`]].
    pub id: u8,
    /// Warps that must arrive before it opens; 0 for all of the CTA that still run.
    pub warps: u16,
    /// What the warp does there.
    pub kind: BarrierKind,
}

impl BarrierUse {
    /// Barrier 0 of all warps, as `__syncthreads()` uses it.
    pub const ALL: BarrierUse = BarrierUse { id: 0, warps: 0, kind: BarrierKind::Wait };
}

/// What a warp does at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// Arrives and waits until it opens.
    Wait,
    /// Arrives and goes on.
    Arrive,
    /// Goes on: some of its lanes wait there, and another execution, by the last of them, arrives
    /// for the warp.
    Pass,
}

impl BarrierKind {
    /// Its number in streams and traces.
    #[inline]
    pub fn code(self) -> u8 {
        match self {
            BarrierKind::Wait => 0,
            BarrierKind::Arrive => 1,
            BarrierKind::Pass => 2,
        }
    }

    /// The kind of that number.
    #[inline]
    pub fn of_code(code: u64) -> Option<Self> {
        match code {
            0 => Some(BarrierKind::Wait),
            1 => Some(BarrierKind::Arrive),
            2 => Some(BarrierKind::Pass),
            _ => None,
        }
    }
}

/// What a warp does at an mbarrier, which counts arrivals in shared memory, phase by phase.
///
/// Source: PTX ISA 9.0, section 9.7.13 "mbarrier".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mbarrier {
    /// Arrives and goes on.
    Arrive,
    /// Goes on, and arrives when the copies that it has begun are done.
    ArriveAfterCopies,
    /// Waits for the end of a phase.
    Wait,
}

/// How one execution of [`Op::Mbarrier`] uses an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MbarrierUse {
    /// Number of the mbarrier in its CTA, in the order of their first use.
    pub id: u16,
    /// Of who arrives, how many times it does: 0 or 1. Of who waits, how many times warps must have arrived since the CTA began.
    pub arrivals: u32,
}

/// Barriers of a CTA. Source: PTX ISA 9.0, section 9.7.13 "barrier".
pub const BARRIERS: usize = 16;

/// Class of an arithmetic operation: its pipeline and its time are the machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum ArithClass {
    /// Moves, and reads of special registers, kernel parameters and other constants.
    Move,
    /// Integer add, logic, shift, compare, select, convert, predicate operations.
    IntAdd,
    /// Integer multiply.
    IntMul,
    /// Integer multiply-add, and conversions from half to single precision, which run there.
    IntMad,
    /// Integer multiply and multiply-add with a product of 64 bits, all of it or its high half.
    IntMulWide,
    /// Integer division and remainder.
    IntDiv,
    /// Integer operations on values that are the same in all lanes, once for the warp.
    Uniform,
    /// Values of lanes that become values of the warp.
    ToUniform,
    /// Single-precision add.
    FpAdd,
    /// Single-precision and half-precision compare, select, minimum, and conversions of two numbers to shorter formats or from pairs
    /// of 8 bits: where integers are added.
    FpCompare,
    /// Single-precision multiply.
    FpMul,
    /// Single-precision fused multiply-add.
    FpFma,
    /// Single-precision division.
    FpDiv,
    /// Half precision and `bf16`, one number or two at a time: add, multiply, multiply-add.
    Half,
    /// The same where tensor cores take it: `HFMA2.MMA`.
    HalfTensor,
    /// Double-precision add, compare, convert.
    DpAdd,
    /// Double-precision multiply.
    DpMul,
    /// Double-precision fused multiply-add.
    DpFma,
    /// Double-precision division and square root.
    DpDiv,
    /// Special functions.
    Sfu,
    /// Special functions of two registers of 32 bits.
    SfuPair,
    /// Values that go from lane to lane: through the load/store unit.
    Shuffle,
    /// Votes of the lanes.
    Vote,
    /// Whether all lanes have the same value.
    MatchAll,
    /// Sums, minima and the like over the lanes.
    Reduce,
    /// A matrix product of 16 by 8, with 32 bytes in a row of the first factor: `HMMA.16816`, `HMMA.1688.F32.TF32`, `IMMA.16832`.
    Mma,
    /// The same with 16 bytes in a row: `HMMA.1688`, `HMMA.1684.F32.TF32`, `IMMA.16816`.
    MmaHalf,
    /// A matrix product of 8 by 8, with 16 bytes in a row: `IMMA.8816`.
    MmaSmall,
    /// A matrix product of 8 by 8 in double precision, with four numbers in a row: `DMMA.8x8x4`.
    DpMmaSmall,
    /// A matrix product of 16 by 8 in double precision, with four numbers in a row: `DMMA.16x8x4`.
    DpMma4,
    /// The same with eight: `DMMA.16x8x8`.
    DpMma8,
    /// The same with sixteen: `DMMA.16x8x16`.
    DpMma16,
    /// Branches and other control.
    Control,
    /// Branches that may not be taken.
    Branch,
    /// Where lanes that have parted meet.
    Converge,
}

impl ArithClass {
    /// Whether it is a matrix product.
    pub fn is_matrix_product(self) -> bool {
        use ArithClass::{DpMma4, DpMma8, DpMma16, DpMmaSmall, Mma, MmaHalf, MmaSmall};
        matches!(self, Mma | MmaHalf | MmaSmall | DpMmaSmall | DpMma4 | DpMma8 | DpMma16)
    }
}

/// A memory instruction. Its dynamic part is one address a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryOp {
    /// Address space.
    pub space: Space,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// Bytes of one lane's access, all elements of a vector together [1, 2, 4, 8, 16].
    pub bytes: u8,
    /// Cache operator.
    pub cache: CacheOp,
}

/// Address space of a memory instruction. Kernel parameters are constants: see [`ArithClass::Move`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Space {
    /// Global memory.
    Global,
    /// Shared memory of the CTA; addresses count from the CTA's first byte.
    Shared,
    /// Local memory of a thread, at global addresses.
    Local,
    /// Constant memory, at global addresses.
    Constant,
    /// Whatever the address says: shared memory from [`SHARED_WINDOW`] on, local memory from [`LOCAL_MEMORY`](super::LOCAL_MEMORY) on, else as
    /// global memory.
    Generic,
}

/// Generic address of the first byte of shared memory.
pub const SHARED_WINDOW: u64 = 1 << 48;

/// Direction of a memory instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Reads into registers.
    Load,
    /// Reads rows of matrices in shared memory, 16 bytes at each address (`ldmatrix`): all lanes get a part of each matrix of eight rows.
    LoadMatrix,
    /// Reads into shared memory, while the warp goes on; [`Copies`] waits for it.
    Copy,
    /// Writes from registers.
    Store,
    /// Reads, modifies and writes in one step, at the L2 for global memory. Without a destination it is a reduction, to which the
    /// L2 answers without data.
    Atomic(Turns),
}

/// First bit of the number of a way in an address of a copy past the L1.
///
/// A request of such a copy brings sectors of one line to one line of shared memory, each of them to one place of 32 bytes. Where the
/// lanes want a line of 128 bytes to go more ways than one, each way is a request, and lanes have its number in their addresses; 0 is the
/// first one. Source: measured on an H200, see `results/h200/README.md`.
pub const WAY_SHIFT: u32 = 48;

/// The number of the way of an address of such a copy, and what it reads.
#[inline]
pub fn way_and_place(address: u64) -> (u64, u64) {
    (address >> WAY_SHIFT, address & ((1 << WAY_SHIFT) - 1))
}

impl AccessKind {
    /// What it is, in a word.
    pub fn name(self) -> &'static str {
        match self {
            AccessKind::Load => "Load",
            AccessKind::LoadMatrix => "LoadMatrix",
            AccessKind::Copy => "Copy",
            AccessKind::Store => "Store",
            AccessKind::Atomic(_) => "Atomic",
        }
    }

    /// Whether it only reads, into registers.
    #[inline]
    pub fn loads(self) -> bool {
        matches!(self, AccessKind::Load | AccessKind::LoadMatrix)
    }

    /// Whether it only reads, wherever the data goes.
    #[inline]
    pub fn only_reads(self) -> bool {
        self.loads() || self == AccessKind::Copy
    }
}

/// How the lanes of an atomic take turns at a bank of shared memory. Elsewhere it says nothing.
///
/// Source: measured on an H100, see `results/h200/README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Turns {
    /// Each lane has a pass of its bank for itself, even where several want one word.
    Lanes,
    /// Each lane has two passes: compare and swap.
    LanesTwice,
    /// Lanes that want one word share a pass, as in a load: they are counted (`ATOMS.POPC.INC`, which `ptxas` makes for
    /// compute capability 8.0 and later).
    Words,
}

/// Cache operator of a memory instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheOp {
    /// What the machine does by default (`.ca` for loads, `.wb` for stores).
    Default,
    /// Cached in the L2 only (`.cg`).
    Global,
    /// Likely used once, to be evicted first (`.cs`, `.L1::evict_first`; `.L1::evict_unchanged` is taken for it).
    Streaming,
    /// Used for the last time: not to be kept where it is not here (`.lu`, `.L1::no_allocate`).
    LastUse,
    /// To be evicted last (`.L1::evict_last`).
    Keep,
    /// Not to be cached: read again each time (`.cv`, `.wt`, volatile).
    Volatile,
    /// Read-only for the whole kernel (`ld.global.nc`).
    ReadOnly,
}
