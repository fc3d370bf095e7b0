//! The SIMT stack: which lanes are at which block.
//!
//! Lanes that part at a branch wait for each other at its block's immediate post-dominator. The frame
//! on top runs; a frame that reaches its meeting point is popped, and the frame below, which waits
//! there with the lanes of both ways, goes on. Frames on one another meet ever later, and frames with
//! one meeting point have no lane in common, so the stack's height is bounded by the kernel.

use super::super::program::NO_BLOCK;
use crate::isa::LaneMask;

/// Lanes that run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Their block.
    pub block: u32,
    /// Where they wait for others.
    pub meet: u32,
    /// The lanes.
    pub mask: LaneMask,
}

/// The frames of a warp.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    frames: Vec<Frame>,
}

impl Stack {
    /// Starts at the first block.
    pub fn start(&mut self, mask: LaneMask) {
        self.frames.clear();
        self.frames.push(Frame { block: 0, meet: NO_BLOCK, mask });
    }

    /// The lanes that run; `None` when all have exited.
    #[inline]
    pub fn top(&self) -> Option<Frame> {
        self.frames.last().copied()
    }

    /// The running lanes go on to a block.
    #[inline]
    pub fn go(&mut self, block: u32) {
        if let Some(top) = self.frames.last_mut() {
            top.block = block;
            if block == top.meet {
                self.frames.pop();
            }
        }
    }

    /// The running lanes of `taken` go to `target`, the others to `fall`; they part for good or
    /// until `meet`.
    pub fn branch(&mut self, taken: LaneMask, target: u32, fall: u32, meet: u32) {
        let Some(top) = self.top() else { return };
        let (taken, rest) = (top.mask & taken, top.mask & !taken);
        if rest == 0 || target == fall {
            return self.go(target);
        }
        if taken == 0 {
            return self.go(fall);
        }
        self.frames.pop();
        let meet = if meet == NO_BLOCK { top.meet } else { meet };
        if meet != top.meet {
            self.frames.push(Frame { block: meet, ..top });
        }
        for (block, mask) in [(fall, rest), (target, taken)] {
            // Lanes already at the meeting point wait in the frame below.
            if block != meet {
                self.frames.push(Frame { block, meet, mask });
            }
        }
    }

    /// Ends lanes; those of the running ones that are left go on to `next`.
    pub fn exit(&mut self, lanes: LaneMask, next: u32) {
        let rest = self.top().map_or(0, |top| top.mask & !lanes);
        for frame in &mut self.frames {
            frame.mask &= !lanes;
        }
        self.frames.retain(|frame| frame.mask != 0);
        if rest != 0 {
            self.go(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_meet_again_behind_an_if() {
        let mut stack = Stack::default();
        stack.start(0xff);
        stack.branch(0x0f, 2, 1, 3);
        assert_eq!(stack.top(), Some(Frame { block: 2, meet: 3, mask: 0x0f }));
        stack.go(3);
        assert_eq!(stack.top(), Some(Frame { block: 1, meet: 3, mask: 0xf0 }));
        stack.go(3);
        assert_eq!(stack.top(), Some(Frame { block: 3, meet: NO_BLOCK, mask: 0xff }));
    }

    #[test]
    fn a_loop_that_lanes_leave_one_by_one_does_not_grow_the_stack() {
        let mut stack = Stack::default();
        stack.start(!0);
        for lane in 0..31 {
            // Block 1 is the loop, block 2 behind it; one more lane leaves each time.
            stack.go(1);
            stack.branch(!(1 << lane), 1, 2, 2);
            assert_eq!(stack.frames.len(), 2);
        }
        stack.branch(0, 1, 2, 2);
        assert_eq!(stack.top(), Some(Frame { block: 2, meet: NO_BLOCK, mask: !0 }));
    }

    #[test]
    fn lanes_that_exit_are_not_waited_for() {
        let mut stack = Stack::default();
        stack.start(3);
        stack.branch(1, 2, 1, 3);
        stack.exit(1, 3);
        stack.go(3);
        assert_eq!(stack.top(), Some(Frame { block: 3, meet: NO_BLOCK, mask: 2 }));
        stack.exit(2, 4);
        assert_eq!(stack.top(), None);
    }
}
