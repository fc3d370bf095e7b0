//! A warp slot: where its warp is in its stream, and what it has under way.

use crate::isa::{LaneMask, Run, WarpReader, WarpStream};
use crate::parts::Stamp;

/// A warp slot, and how its warp stands, in one line of the processor's caches.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct WarpSlot {
    pub(super) reader: WarpReader,
    /// Place of the next instruction.
    pub(super) pc: u32,
    /// Instructions from there on that follow each other and that the same lanes execute.
    pub(super) left: u32,
    /// When the warp wakes, if it is in [`on_arithmetic`](super::warps::Warps::on_arithmetic); before which it does not, if it waits for
    /// a load or at a barrier.
    pub(super) wakes_at: Stamp,
    /// Memory instructions whose data has not all arrived.
    pub pending_loads: u32,
    /// Stores that the L2 has not acknowledged.
    pub pending_stores: u32,
    /// How many lanes execute the next instructions.
    pub(super) lanes: u8,
}

const _: () = assert!(size_of::<WarpSlot>() == 64);

impl WarpSlot {
    /// Begins with the next run of the warp's instructions, and gives the place of the first one; none at the end of its stream.
    #[inline]
    pub fn take_run(&mut self, stream: &WarpStream) -> Option<u32> {
        let Run { pc, len, mask } = self.reader.take_run(stream)?;
        (self.pc, self.left) = (pc, len);
        // Most often all, or one.
        self.lanes = match mask {
            LaneMask::MAX => LaneMask::BITS as u8,
            _ if mask.is_power_of_two() => 1,
            _ => mask.count_ones() as u8,
        };
        Some(pc)
    }

    /// Steps past the next instruction, and gives the place of the one after it; none when it was the last.
    #[inline(always)]
    pub fn advance<'a>(&mut self, stream: impl FnOnce() -> &'a WarpStream) -> Option<u32> {
        self.left -= 1;
        if self.left == 0 {
            return self.take_run(stream());
        }
        self.pc += 1;
        Some(self.pc)
    }
}
