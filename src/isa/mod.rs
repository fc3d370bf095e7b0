//! The warp instruction: the one contract between the front ends and the timing model.
//!
//! A kernel is a table of static instructions ([`Inst`]). What a warp executed is a [`WarpStream`]:
//! the instructions in order, with the lanes that took part and the addresses they used. A front end
//! hands out CTAs in launch order through [`CtaSource`], one at a time, so that memory is bounded by
//! the resident CTAs whatever the size of the grid; the launches of a workload come through [`LaunchSource`].

mod bulk;
mod inst;
mod local;
mod pattern;
mod source;
mod stream;

use crate::units::Bits;

pub use bulk::{
    BULK_AXES, BULK_PIECE, BulkAxis, BulkBox, BulkCopy, BulkPosition, BulkRequest, BulkRow,
    BulkUse, MOST_OF_BOX,
};
pub use inst::{
    AccessKind, ArithClass, BARRIERS, BarrierKind, BarrierUse, CacheOp, Copies, Fence,
    GroupProduct, Inst, MAX_RESULTS, MAX_SOURCES, Mbarrier, MbarrierUse, MemoryOp, Observer, Op,
    Operands, Reg, SHARED_WINDOW, Sources, Space, Turns, WARPGROUP, WAY_SHIFT, Warpgroup,
    way_and_place,
};
pub use local::{LOCAL_MEMORY, LOCAL_WORD, local_address, local_shift};
pub use pattern::Rows;
pub use source::{Cta, CtaSource, Kernel, LaunchSource, OneLaunch, joint_name};
pub use stream::{LaneAddresses, Run, Shape, Spare, WarpCursor, WarpReader, WarpStream};

/// Lanes of a warp.
pub const WARP: usize = 32;

/// A bit for each lane of a warp, lane 0 the lowest.
pub type LaneMask = u32;

/// The lanes of a mask, lowest first.
#[inline]
pub fn lanes(mask: LaneMask) -> impl Iterator<Item = usize> {
    Bits(mask.into())
}
