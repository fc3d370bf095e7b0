//! Parts of a decoded kernel that need nothing else of it: blocks, special registers, accesses, copies, barriers, calls.

use super::ast::Type;
use crate::config::kernel::TENSOR_RANK;
use crate::isa::BulkCopy;

/// Instructions that execute one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First instruction.
    pub start: u32,
    /// One past the last instruction, the only one that may branch, wait or exit.
    pub end: u32,
    /// Where lanes that part at the end of this block meet again; [`NO_BLOCK`] when they do not.
    pub reconverge: u32,
}

/// No block.
pub const NO_BLOCK: u32 = u32::MAX;

/// Special registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// `%tid`, by axis.
    Tid(u8),
    /// `%ntid`, by axis.
    Ntid(u8),
    /// `%ctaid`, by axis.
    Ctaid(u8),
    /// `%nctaid`, by axis.
    Nctaid(u8),
    /// `%laneid`
    LaneId,
    /// `%warpid`
    WarpId,
    /// `%nwarpid`, taken as the warps of a CTA.
    WarpCount,
    /// `%lanemask_eq`
    MaskEq,
    /// `%lanemask_le`
    MaskLe,
    /// `%lanemask_lt`
    MaskLt,
    /// `%lanemask_ge`
    MaskGe,
    /// `%lanemask_gt`
    MaskGt,
    /// A register that is the same everywhere: `%smid` and its like, which gsim's values must not
    /// depend on.
    Fixed(u32),
    /// `%total_smem_size` and `%dynamic_smem_size`: the CTA's shared memory `[bytes]`.
    SharedBytes {
        /// Only what the launch adds.
        dynamic: bool,
    },
}

/// The register that an address starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// None: the offset is the address.
    None,
    /// A row of 32-bit registers.
    Narrow(u16),
    /// A row of 64-bit registers.
    Wide(u16),
}

/// Where an address points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessSpace {
    /// Global memory.
    Global,
    /// Shared memory of the CTA.
    Shared,
    /// Local memory of the thread.
    Local,
    /// Constant variables of the module.
    Const,
    /// Whatever window the address falls into.
    Generic,
}

/// What an access does with the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads, combines and writes; the old value goes to the first register.
    Atomic(AtomicOp),
}

/// How an atomic operation combines memory with its operands, by the name that PTX has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    Exch,
    Cas,
}

impl AtomicOp {
    /// The operation that PTX calls so.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "add" => AtomicOp::Add,
            "min" => AtomicOp::Min,
            "max" => AtomicOp::Max,
            "and" => AtomicOp::And,
            "or" => AtomicOp::Or,
            "xor" => AtomicOp::Xor,
            "inc" => AtomicOp::Inc,
            "dec" => AtomicOp::Dec,
            "exch" => AtomicOp::Exch,
            "cas" => AtomicOp::Cas,
            _ => return None,
        })
    }

    /// Whether bulk copies combine numbers of this type so.
    pub fn combines_in_bulk(self, ty: Type) -> bool {
        use Type::{B32, B64, Bf16, F16, F32, F64, S32, S64, U32, U64};
        match self {
            AtomicOp::Add => matches!(ty, U32 | S32 | U64 | F16 | Bf16 | F32 | F64),
            AtomicOp::Min | AtomicOp::Max => matches!(ty, U32 | S32 | U64 | S64 | F16 | Bf16),
            AtomicOp::Inc | AtomicOp::Dec => ty == U32,
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => matches!(ty, B32 | B64),
            AtomicOp::Exch | AtomicOp::Cas => false,
        }
    }
}

/// A memory access.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Where.
    pub space: AccessSpace,
    /// What.
    pub kind: AccessKind,
    /// Register of the address.
    pub base: Base,
    /// Added to it [bytes, two's complement].
    pub offset: u64,
    /// Type of an element in memory.
    pub ty: Type,
    /// Elements a lane.
    pub elements: u8,
    /// Bit for each element whose register is 64 bits wide.
    pub wide: u8,
    /// Data registers: loaded, stored, or an atomic's result and two operands.
    pub regs: [u16; 4],
}

/// A copy from global to shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// Where it writes.
    pub to: Access,
    /// What it reads.
    pub from: Access,
    /// Bytes written a lane [4, 8, 16].
    pub bytes: u8,
    /// Row of the bytes that are read; zeros follow.
    pub read: u16,
    /// Past the L1 (`.cg`).
    pub past_l1: bool,
}

/// An access to matrices of 8 by 8 numbers of 16 bits in shared memory, that the lanes of a warp hold together: lane 8 i + r has the
/// address of row r of matrix i.
#[derive(Clone, Copy, Debug)]
pub struct Matrices {
    /// Rows of 16 bytes, and a register for each matrix.
    pub access: Access,
    /// How many [1, 2, 4].
    pub count: u8,
    /// Rows of memory are columns of the registers.
    pub is_transposed: bool,
}

/// A barrier instruction.
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    /// What it does.
    pub kind: BarrierKind,
    /// Row of the barrier's number.
    pub id: u16,
    /// Row of the threads it is for; zero for all of the CTA.
    pub threads: u16,
    /// All lanes of a warp come to it together, as the program promises.
    pub aligned: bool,
}

/// An instruction on an mbarrier.
#[derive(Clone, Copy, Debug)]
pub struct MbarrierStep {
    /// What it does.
    pub kind: MbarrierKind,
    /// Where the mbarrier is: place in the list of accesses. Its first register is the row of the result, its second one that of the
    /// operand.
    pub access: u32,
}

/// Copies of many bytes, one for each lane.
#[derive(Clone, Copy, Debug)]
pub struct BulkStep {
    /// Where they go.
    pub kind: BulkCopy,
    /// What they copy in global memory.
    pub global: BulkPlace,
    /// Where they begin in shared memory; nowhere, where they go to the L2.
    pub shared: Option<Access>,
    /// Where the mbarriers are at which they arrive, of copies to shared memory.
    pub mbarrier: Option<Access>,
    /// What combines the bytes with those in global memory, where something does.
    pub reduction: Option<Reduction>,
}

/// What combines numbers with those in global memory.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// The operation.
    pub op: AtomicOp,
    /// The type of the numbers; of a box, its tensor map says that.
    pub ty: Option<Type>,
}

/// What bulk copies copy in global memory.
#[derive(Clone, Copy, Debug)]
pub enum BulkPlace {
    /// Bytes that follow each other.
    Bytes {
        /// The first one.
        first: Access,
        /// Row of how many.
        count: u16,
    },
    /// A box of a tensor.
    Box {
        /// The tensor map.
        map: Access,
        /// Rows of the coordinates of its first element, the innermost first.
        coordinates: [u16; TENSOR_RANK],
        /// How many of these there are.
        rank: usize,
    },
}

/// What an instruction does at an mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierKind {
    /// Begins its first phase, for so many arrivals.
    Init,
    /// Arrives so many times; the result is the state before that.
    Arrive {
        /// Later phases are for as many arrivals less.
        drops: bool,
    },
    /// Arrives once, and the phase is for so many more bytes.
    ArriveExpecting {
        /// Later phases are for an arrival less.
        drops: bool,
    },
    /// The phase is for so many more bytes.
    Expect,
    /// So many bytes have come.
    Complete,
    /// Arrives when the copies of the lane are done.
    ArriveAfterCopies {
        /// That arrival is one of those that the phase is for.
        counts: bool,
    },
    /// Waits for the end of the phase of a state.
    Wait,
    /// Waits for the end of the phase of a parity.
    WaitParity,
}

/// What a barrier instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// Arrives and waits.
    Sync,
    /// Arrives only.
    Arrive,
    /// Waits, and counts the threads whose predicate holds.
    Count,
    /// Waits, and tells whether the predicate holds for all.
    All,
    /// Waits, and tells whether the predicate holds for any.
    Any,
}

/// A place in a thread's frame of local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSlot {
    /// Bytes from the start of the frame.
    pub offset: u32,
    /// Size `[bytes]`.
    pub bytes: u32,
}

/// A call.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// What is called.
    pub target: Target,
    /// Where the arguments lie in the caller's frame.
    pub args: Vec<FrameSlot>,
    /// Where the results go in the caller's frame.
    pub returns: Vec<FrameSlot>,
    /// Bytes of the caller's frame.
    pub frame: u32,
}

/// What a call calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A function: index into [`Program::functions`].
    Function(u32),
    /// The function whose address a row holds.
    Row(u16),
}

/// A function that the kernel may call.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its place in the module, which decides its address.
    pub number: u32,
    /// First block.
    pub entry: u32,
    /// Frame of local memory `[bytes]`.
    pub frame: u32,
    /// Parameters in its frame.
    pub params: Vec<FrameSlot>,
    /// Results in its frame.
    pub returns: Vec<FrameSlot>,
    /// Rows of up to 32 bits that are its own.
    pub narrow: std::ops::Range<u16>,
    /// Rows of 64 bits that are its own.
    pub wide: std::ops::Range<u16>,
    /// Predicate rows that are its own.
    pub preds: std::ops::Range<u16>,
    /// Rows that hold an address in its frame, with the offset from its start.
    pub frame_rows: Vec<(u16, u32)>,
}
