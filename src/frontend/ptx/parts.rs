//! Parts of a decoded kernel that few instructions have: copies, barriers, calls.

use super::program::Access;

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
